//! A path inside a tree. Git knows bytes, people write text, so both are here.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePath(Vec<u8>);

impl TreePath {
    pub fn new(bytes: impl Into<Vec<u8>>) -> TreePath {
        TreePath(bytes.into())
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn as_os_str(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    /// The path of an entry of this directory; the root is the empty path.
    pub(crate) fn join(&self, name: &[u8]) -> TreePath {
        let mut bytes = self.0.clone();
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(name);
        TreePath(bytes)
    }

    /// Every directory above, nearest first, without the root.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &[u8]> {
        let slashes = self.0.iter().enumerate().rev().filter(|(_, b)| **b == b'/');
        slashes.filter_map(|(at, _)| self.0.get(..at))
    }

    /// Names that git or a file system would take for something else are no path of a file.
    pub fn is_plain(&self) -> bool {
        !self.0.contains(&0)
            && self.0.split(|b| *b == b'/').all(|name| {
                !matches!(name, b"" | b"." | b"..") && !is_repository_name(name) && name.len() <= 255
            })
    }
}

impl From<&str> for TreePath {
    fn from(text: &str) -> TreePath {
        TreePath(text.as_bytes().to_vec())
    }
}

/// What is not text is shown with replacement characters.
impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// The text in quotes as git reads it: any byte is safe in it.
pub(crate) fn quoted(bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![b'"'];
    for byte in bytes {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', *byte]),
            0x20..=0x7e => text.push(*byte),
            _ => text.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    text.push(b'"');
    text
}

/// Whether some file system takes this name for `.git`: git refuses to check such a name out, so a tree
/// with it could never be cloned again.
pub(crate) fn is_repository_name(name: &[u8]) -> bool {
    is_like(name, b".git", b"git~1")
}

/// Whether this name is `.gitmodules` somewhere; git refuses a link of that name.
pub(crate) fn is_modules_name(name: &[u8]) -> bool {
    let short = |digit: u8| [b"gitmod~".as_slice(), &[digit]].concat();
    is_like(name, b".gitmodules", b"gi7eba~1") || (b'1'..=b'4').any(|d| is_like(name, b"", &short(d)))
}

fn is_like(name: &[u8], long: &[u8], short: &[u8]) -> bool {
    // One file system ignores what follows a colon and dots and spaces at the end, another one ignores
    // characters without a width; both ignore case.
    let stream = name.split(|b| *b == b':').next().unwrap_or_default();
    let stream = String::from_utf8_lossy(stream).into_owned();
    let seen: String = stream.chars().filter(|c| !is_ignored(*c)).collect();
    let seen = seen.trim_end_matches(['.', ' ']);
    let same = |expected: &[u8]| !expected.is_empty() && seen.as_bytes().eq_ignore_ascii_case(expected);
    same(long) || same(short)
}

fn is_ignored(character: char) -> bool {
    matches!(character, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_a_repository_somewhere() {
        for name in
            [".git", ".GIT", ".git.", ".git ", "git~1", "GIT~1", ".git::$INDEX_ALLOCATION", ".g\u{200c}it"]
        {
            assert!(is_repository_name(name.as_bytes()), "{name}");
        }
        for name in [".gitignore", "git", "git~2", ".gi", "a.git", ".github"] {
            assert!(!is_repository_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn names_that_are_gitmodules_somewhere() {
        for name in [".gitmodules", ".GitModules", "GITMOD~1", "gi7eba~1"] {
            assert!(is_modules_name(name.as_bytes()), "{name}");
        }
        assert!(!is_modules_name(b"gitmodules"));
    }

    #[test]
    fn any_byte_is_quoted() {
        assert_eq!(quoted(b"a\n\"\\\xff "), b"\"a\\012\\\"\\\\\\377 \"");
    }

    #[test]
    fn parents_are_nearest_first() {
        let path = TreePath::from("a/b/c");
        assert_eq!(path.parents().collect::<Vec<_>>(), [b"a/b".as_slice(), b"a"]);
    }
}
