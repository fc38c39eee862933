//! Reading and changing files, within the directory the agent works in.

use std::path::{Component, Path, PathBuf};

/// The directory, and nothing else.
#[derive(Debug)]
pub struct Files {
    root: PathBuf,
}

const READ_BYTES_MAX: u64 = 2 << 20;
const LINES_MAX: usize = 2_000;
const LISTED_MAX: usize = 1_000;
const WRITE_BYTES_MAX: usize = 8 << 20;

impl Files {
    pub fn open(root: &Path) -> Result<Files, String> {
        let root = root.canonicalize().map_err(|error| format!("`{}`: {error}", root.display()))?;
        Ok(Files { root })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A path of the agent's as one within the directory, wherever links lead.
    pub fn within(&self, wanted: &str) -> Result<PathBuf, String> {
        let outside = || format!("`{wanted}` is outside of the directory you work in");
        let wanted_path = Path::new(wanted);
        let mut path = self.root.clone();
        let relative = match wanted_path.strip_prefix(&self.root) {
            Ok(relative) => relative,
            Err(_) if wanted_path.is_absolute() => return Err(outside()),
            Err(_) => wanted_path,
        };
        for component in relative.components() {
            match component {
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir => {
                    if path == self.root || !path.pop() {
                        return Err(outside());
                    }
                }
                Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
        }
        // What is there already may be a link; what is not has a directory that may be one.
        let mut there = path.as_path();
        let real = loop {
            match there.canonicalize() {
                Ok(real) => break real,
                Err(_) if there.symlink_metadata().is_ok() => {
                    return Err(format!("`{wanted}` is a link that leads nowhere"));
                }
                Err(_) => there = there.parent().ok_or_else(outside)?,
            }
        };
        if real.starts_with(&self.root) { Ok(path) } else { Err(outside()) }
    }

    /// The same for a file that is to be changed: git's own are not.
    fn to_change(&self, wanted: &str) -> Result<PathBuf, String> {
        let path = self.within(wanted)?;
        let own = path
            .strip_prefix(&self.root)
            .is_ok_and(|path| path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")));
        if own { Err(format!("`{wanted}` belongs to git; use git to change it")) } else { Ok(path) }
    }

    pub fn read(&self, wanted: &str, offset: usize, limit: Option<usize>) -> Result<String, String> {
        let path = self.within(wanted)?;
        let text = text_of(&path, wanted)?;
        let total = text.lines().count();
        let limit = limit.unwrap_or(LINES_MAX).min(LINES_MAX);
        let lines = text.lines().enumerate().skip(offset.saturating_sub(1)).take(limit);
        let shown: String = lines.map(|(at, line)| format!("{:>6}\t{line}\n", at + 1)).collect();
        let end = offset.saturating_sub(1) + limit;
        Ok(match (shown.is_empty(), total > end) {
            (true, _) => format!("(`{wanted}` has {total} lines)"),
            (false, true) => format!("{shown}… ({total} lines in all)"),
            (false, false) => shown,
        })
    }

    pub fn write(&self, wanted: &str, content: &str) -> Result<String, String> {
        let path = self.to_change(wanted)?;
        if content.len() > WRITE_BYTES_MAX {
            return Err(format!("a file of {} bytes is too large", content.len()));
        }
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&path, content)).map_err(|error| format!("`{wanted}`: {error}"))?;
        Ok(format!("wrote {} lines to `{wanted}`", content.lines().count()))
    }

    pub fn edit(&self, wanted: &str, old: &str, new: &str, everywhere: bool) -> Result<String, String> {
        let path = self.to_change(wanted)?;
        let text = text_of(&path, wanted)?;
        if old.is_empty() {
            return Err("`old` is empty; write_file makes a new file".to_owned());
        }
        let found = text.matches(old).count();
        let changed = match (found, everywhere) {
            (0, _) => return Err(format!("`old` is not in `{wanted}`; read it again")),
            (1, _) | (_, true) => text.replace(old, new),
            (found, false) => {
                return Err(format!(
                    "`old` is {found} times in `{wanted}`; give more of what is around it, or `all`"
                ));
            }
        };
        std::fs::write(&path, changed).map_err(|error| format!("`{wanted}`: {error}"))?;
        Ok(format!("changed {found} in `{wanted}`"))
    }

    pub fn list(&self, wanted: &str, depth: usize) -> Result<String, String> {
        let top = self.within(if wanted.is_empty() { "." } else { wanted })?;
        let mut out = Vec::new();
        let mut left = vec![(top.clone(), 1)];
        while let Some((directory, level)) = left.pop() {
            let entries = std::fs::read_dir(&directory).map_err(|error| format!("`{wanted}`: {error}"))?;
            let mut entries: Vec<_> = entries.flatten().collect();
            entries.sort_by_key(std::fs::DirEntry::file_name);
            for entry in entries {
                let path = entry.path();
                let shown = path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().into_owned();
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_directory && entry.file_name() == ".git" {
                    continue;
                }
                if out.len() >= LISTED_MAX {
                    out.push("… and more".to_owned());
                    return Ok(out.join("\n"));
                }
                out.push(if is_directory { format!("{shown}/") } else { shown });
                if is_directory && level < depth {
                    left.push((path, level + 1));
                }
            }
        }
        out.sort();
        Ok(if out.is_empty() { "(empty)".to_owned() } else { out.join("\n") })
    }
}

fn text_of(path: &Path, wanted: &str) -> Result<String, String> {
    let broken = |error: std::io::Error| format!("`{wanted}`: {error}");
    let found = std::fs::metadata(path).map_err(broken)?;
    if !found.is_file() {
        return Err(format!("`{wanted}` is not a file"));
    }
    if found.len() > READ_BYTES_MAX {
        return Err(format!(
            "`{wanted}` has {} bytes, which is too much to read; search in it instead",
            found.len()
        ));
    }
    let bytes = std::fs::read(path).map_err(broken)?;
    String::from_utf8(bytes).map_err(|_| format!("`{wanted}` is not text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_is_reached() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("clone");
        std::fs::create_dir_all(root.join("src")).unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(directory.path().join("secret"), "s").unwrap();
        std::os::unix::fs::symlink(directory.path(), root.join("up")).unwrap();
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        std::os::unix::fs::symlink("../new", root.join("dangling")).unwrap();
        let files = Files::open(&root).unwrap();
        for path in
            ["../secret", "/etc/passwd", "src/../../secret", "up/secret", "link", "dangling", "up/new/x"]
        {
            assert!(files.read(path, 1, None).is_err(), "{path}");
            assert!(files.write(path, "x").is_err(), "{path}");
        }
        assert!(files.write(".git/config", "x").is_err());
        assert!(files.write("src/.GIT/hooks/x", "x").is_err());
        assert_eq!(std::fs::read_to_string(directory.path().join("secret")).unwrap(), "s");
        files.write("src/deep/a.txt", "one\ntwo\n").unwrap();
        let absolute = root.canonicalize().unwrap().join("src/deep/a.txt");
        assert_eq!(files.read(absolute.to_str().unwrap(), 2, None).unwrap(), "     2\ttwo\n");
        files.edit("src/deep/a.txt", "two", "three", false).unwrap();
        assert!(files.edit("src/deep/a.txt", "e", "x", false).unwrap_err().contains("3 times"));
        assert!(files.list("", 3).unwrap().contains("src/deep/a.txt"));
    }
}
