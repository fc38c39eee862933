//! Which paths are covered and by what.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use super::Sandbox;
use super::error::SandboxError;
use super::masks::sockets_below;
use super::mountinfo::{Mount, elsewhere};

/// What is put at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The same, as writable as it was.
    Writable,
    /// The same, read-only.
    Readable,
    /// An empty directory that stays so.
    Masked,
    /// An empty file that stays so.
    Blank,
    /// A directory with what was in it but for some names. Who replaces a file that is covered by another
    /// also takes the cover away, in every namespace; a file in such a list can be replaced, and the new one
    /// does not appear.
    Listed { without: Vec<OsString> },
    /// An empty directory to write to.
    Private,
    /// Devices that have no power.
    Devices,
}

impl Kind {
    /// Whether nothing of what was below is there any more.
    pub fn hides(&self) -> bool {
        matches!(self, Kind::Masked | Kind::Private | Kind::Devices)
    }
}

/// What is put where. INVARIANT: a path comes after all that contain it, as paths are ordered by their parts.
pub(super) type Plan = BTreeMap<PathBuf, Kind>;

/// Where everybody may write on other days.
const PRIVATE: [&str; 2] = ["/tmp", "/var/tmp"];

/// A directory with more entries is not listed: each of them takes a mount.
const LISTED_MAX: usize = 4096;

/// Looks at what is there, and decides.
pub(super) fn plan(sandbox: &Sandbox, mounts: &[Mount]) -> Result<Plan, SandboxError> {
    let mut masked = Vec::new();
    for path in &sandbox.masked {
        let Some(path) = resolve(path)? else { continue };
        masked.extend(elsewhere(mounts, &path).into_iter().filter(|path| path.exists()));
        masked.push(path);
    }
    for directory in &sandbox.socketless {
        let Some(directory) = resolve(directory)? else { continue };
        let others = |path: &PathBuf| !sandbox.writable.iter().any(|place| path.starts_with(place));
        masked.extend(sockets_below(&directory).into_iter().filter(others));
    }
    // A variable may name what lies below the home as well.
    masked.sort();
    masked.dedup();
    let is_directory = |path: &PathBuf| fs::metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let (directories, files) = masked.into_iter().partition(is_directory);
    let private = PRIVATE.iter().map(PathBuf::from).filter(|path| {
        // It may be a link to the other one.
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
    });
    lay_out(sandbox, private.collect(), directories, files, can_be_listed)
}

fn lay_out(
    sandbox: &Sandbox,
    private: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    files: Vec<PathBuf>,
    can_be_listed: impl Fn(&Path) -> bool,
) -> Result<Plan, SandboxError> {
    let mut plan = Plan::new();
    for (paths, kind) in [(&sandbox.writable, Kind::Writable), (&sandbox.readable, Kind::Readable)] {
        for path in paths {
            check(path)?;
            if plan.insert(path.clone(), kind.clone()).is_some_and(|other| other != kind) {
                return Err(twice(path));
            }
        }
    }
    for path in directories {
        check(&path)?;
        match plan.insert(path.clone(), Kind::Masked) {
            None | Some(Kind::Masked) => {}
            Some(_) => return Err(twice(&path)),
        }
    }
    // What somebody says about these is stronger.
    for path in private {
        plan.entry(path).or_insert(Kind::Private);
    }
    let devices = PathBuf::from("/dev");
    if plan.insert(devices.clone(), Kind::Devices).is_some() {
        return Err(odd(&devices));
    }
    for path in files {
        if plan.contains_key(&path) {
            return Err(twice(&path));
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(odd(&path)) };
        match above(&plan, &path) {
            Some(kind) if kind.hides() => {}
            Some(Kind::Writable) => _ = plan.insert(path, Kind::Blank),
            _ if parent == Path::new("/") || !can_be_listed(parent) => _ = plan.insert(path, Kind::Blank),
            _ => match plan.entry(parent.to_owned()).or_insert(Kind::Readable) {
                Kind::Listed { without } => without.push(name.to_owned()),
                kind => *kind = Kind::Listed { without: vec![name.to_owned()] },
            },
        }
    }
    Ok(plan)
}

/// What is decided about the place a path is in, if anything.
pub(super) fn above<'a>(plan: &'a Plan, path: &Path) -> Option<&'a Kind> {
    path.ancestors().skip(1).find_map(|ancestor| plan.get(ancestor))
}

/// What a path leads to. What cannot be reached from here cannot be reached by the command either.
fn resolve(path: &Path) -> Result<Option<PathBuf>, SandboxError> {
    check(path)?;
    match path.canonicalize() {
        Ok(path) => Ok(Some(path)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied => Ok(None),
            _ => Err(SandboxError::at(path, "cannot be masked")(error)),
        },
    }
}

fn check(path: &Path) -> Result<(), SandboxError> {
    let plain = path.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if path.is_absolute() && plain && path != Path::new("/") { Ok(()) } else { Err(odd(path)) }
}

fn can_be_listed(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|entries| entries.take(LISTED_MAX + 1).count() <= LISTED_MAX)
}

fn odd(path: &Path) -> SandboxError {
    let why = "cannot be covered: only absolute paths can, but for the root and `/dev`";
    SandboxError::Refused { path: path.to_owned(), why }
}

fn twice(path: &Path) -> SandboxError {
    let why = "is to be two of writable, readable and masked at once";
    SandboxError::Refused { path: path.to_owned(), why }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    fn planned(
        writable: &[&str],
        readable: &[&str],
        directories: &[&str],
        files: &[&str],
    ) -> Result<String, SandboxError> {
        let sandbox = Sandbox { writable: paths(writable), readable: paths(readable), ..Sandbox::default() };
        let listable = |directory: &Path| directory != Path::new("/huge");
        let plan = lay_out(&sandbox, paths(&["/tmp"]), paths(directories), paths(files), listable)?;
        let shown: Vec<String> = plan
            .iter()
            .filter(|(path, kind)| **kind != Kind::Devices && path.as_path() != Path::new("/tmp"))
            .map(|(path, kind)| format!("{} {kind:?}", path.display()))
            .collect();
        Ok(shown.join(" · "))
    }

    #[test]
    fn masked_files_are_left_out_of_their_directory_where_that_can_be() {
        for (writable, readable, directories, files, expected) in [
            (&[][..], &[][..], &["/s"][..], &[][..], "/s Masked"),
            (&["/s/j/c"], &[], &["/s"], &[], "/s Masked · /s/j/c Writable"),
            (&[], &[], &[], &["/h/a", "/h/b"], r#"/h Listed { without: ["a", "b"] }"#),
            (&[], &["/h"], &[], &["/h/a"], r#"/h Listed { without: ["a"] }"#),
            (
                &[],
                &["/h"],
                &[],
                &["/h/a", "/h/d/b"],
                r#"/h Listed { without: ["a"] } · /h/d Listed { without: ["b"] }"#,
            ),
            (&["/h"], &[], &[], &["/h/a"], "/h Writable · /h/a Blank"),
            (&["/h"], &[], &[], &["/h/d/a"], "/h Writable · /h/d/a Blank"),
            (&[], &[], &["/h"], &["/h/d/a"], "/h Masked"),
            (&[], &[], &[], &["/tmp/a"], ""),
            (&[], &["/tmp/h"], &[], &["/tmp/h/a"], r#"/tmp/h Listed { without: ["a"] }"#),
            (&[], &[], &[], &["/a", "/huge/b"], "/a Blank · /huge/b Blank"),
        ] {
            assert_eq!(planned(writable, readable, directories, files).unwrap(), expected);
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (writable, readable, directories, files) in [
            (&["/a"][..], &["/a"][..], &[][..], &[][..]),
            (&["/a"], &[], &["/a"], &[]),
            (&["/a"], &[], &[], &["/a"]),
            (&["a"], &[], &[], &[]),
            (&["/a/../b"], &[], &[], &[]),
            (&["/"], &[], &[], &[]),
            (&[], &[], &["/"], &[]),
            (&["/dev"], &[], &[], &[]),
        ] {
            planned(writable, readable, directories, files).unwrap_err();
        }
    }
}
