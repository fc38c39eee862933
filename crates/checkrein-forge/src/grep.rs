//! Where a text stands in the files of a commit, letter by letter.

use crate::error::ForgeError;
use crate::oid::Oid;
use crate::path::TreePath;
use crate::repository::Bare;

/// A line with the text in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    pub path: TreePath,
    /// Counted from 1.
    pub line: u32,
    /// The byte of the line it begins at, counted from 1.
    pub column: u32,
    /// The line; what is not text is replaced.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letters {
    AsTheyAre,
    /// Large or small.
    Either,
}

/// Where it was found, in the order of paths and lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occurrences {
    pub found: Vec<Occurrence>,
    /// Whether there is more than was read.
    pub cut: bool,
}

impl Bare {
    /// Every line of a commit's text files that has a text in it. The text is no pattern: it is found as it is
    /// written. It has to be one line.
    pub fn grep(
        &self,
        commit: &Oid,
        text: &str,
        letters: Letters,
        limit_bytes: usize,
    ) -> Result<Occurrences, ForgeError> {
        if text.is_empty() || text.contains(['\n', '\0']) {
            return Ok(Occurrences::default());
        }
        let call = self.call(["grep", "-I", "-n", "--column", "-z", "-F", "--full-name", "--threads=1"]);
        let call = call.args(["--no-color", "--no-textconv"]);
        let call = call.args(matches!(letters, Letters::Either).then_some("-i"));
        let call = call.args(["-e", text, commit.as_str(), "--"]).output_bytes(limit_bytes);
        let place = call.place();
        let answer = call.answer()?;
        if !answer.cut && !matches!(answer.code, 0 | 1) {
            return Err(answer.failure(place));
        }
        let mut lines: Vec<&[u8]> = answer.output.split(|b| *b == b'\n').collect();
        // Behind the last line break is nothing, or half a line.
        lines.pop();
        let prefix = format!("{commit}:");
        let found = lines.into_iter().filter_map(|line| occurrence(line, prefix.as_bytes())).collect();
        Ok(Occurrences { found, cut: answer.cut })
    }
}

/// `commit:path NUL line NUL column NUL text`
fn occurrence(record: &[u8], prefix: &[u8]) -> Option<Occurrence> {
    let mut fields = record.splitn(4, |b| *b == 0);
    let path = fields.next()?.strip_prefix(prefix)?;
    let mut number = || std::str::from_utf8(fields.next()?).ok()?.parse().ok();
    let (line, column) = (number()?, number()?);
    let text = String::from_utf8_lossy(fields.next()?).into_owned();
    Some(Occurrence { path: TreePath::new(path), line, column, text })
}
