//! Which host this is: the place that the files of runs are in.

use std::io::Write;
use std::path::Path;

/// The host as people call it, without what makes it different from others of that name.
pub fn host_name(identity: &str) -> &str {
    identity.split_once('#').map_or(identity, |(name, _)| name)
}

/// Who shares this directory is on the same host, also in another container. The first one to ask gives it a name.
pub(crate) fn identity(directory: &Path) -> String {
    let path = directory.join("host");
    let known = || {
        let text = std::fs::read_to_string(&path).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    if let Some(known) = known() {
        return known;
    }
    let random = uuid::Uuid::new_v4().simple().to_string();
    let own = format!("{}#{}", machine_name(), random.get(..8).unwrap_or_default());
    // Whole or not at all, and of two only the first.
    let kept = std::fs::create_dir_all(directory).and_then(|()| {
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        writeln!(file, "{own}")?;
        std::fs::hard_link(file.path(), &path)
    });
    match kept {
        Ok(()) => own,
        Err(_) => known().unwrap_or(own),
    }
}

fn machine_name() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = told.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default().trim().to_owned();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(64).collect();
    if name.is_empty() { "host".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_share_a_directory_are_on_one_host() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("files");
        let named: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| identity(&place))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(named.iter().all(|name| *name == named[0]), "{named:?}");
        assert_ne!(identity(&directory.path().join("other")), named[0]);
        assert_eq!(host_name("build-3#0a1b2c3d"), "build-3");
        assert_eq!(host_name(&named[0]), machine_name());
    }
}
