//! Files that an agent can put something else in the place of: a pipe is not waited for, a link not followed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// What such a file is opened with.
pub const WITHOUT_WAITING: i32 = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).bits().cast_signed();
/// No file that means anything is longer.
const BYTES_MAX: u64 = 64 << 20;

pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::options().read(true).custom_flags(WITHOUT_WAITING).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut content = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// Puts a file in the place of whatever had its name; nobody ever sees half of it.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("writing");
    let _ = std::fs::remove_file(&beside);
    let mut file = File::options().create_new(true).write(true).mode(0o600).open(&beside)?;
    file.write_all(content)?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_or_a_link_in_its_place_does_no_harm() {
        let directory = tempfile::tempdir().unwrap();
        let (path, mine) = (directory.path().join("x.json"), directory.path().join("mine"));
        std::fs::write(&mine, "mine").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .unwrap();
        assert!(read(&path).is_err());
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&mine, &path).unwrap();
        std::os::unix::fs::symlink(&mine, path.with_extension("writing")).unwrap();
        assert!(read(&path).is_err());
        replace(&path, b"new").unwrap();
        assert_eq!((read(&path).unwrap(), read(&mine).unwrap()), (b"new".to_vec(), b"mine".to_vec()));
    }
}
