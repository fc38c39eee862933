//! Comments on a review: what people write at a line, a file or the whole, and what the agent replies.

use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::{Move, Refusal, RunEvent};
use super::JobState;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// `c1`, `c2`, … in the order they were made.
    pub id: String,
    pub phase: String,
    pub round: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Of the file as it is on the branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    pub by: String,
    /// Written by the agent, in answer to another one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_agent: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    pub written_at: Timestamp,
    /// The start of the attempt whose brief has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<u64>,
    /// The agent has had it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delivered: bool,
    /// Of the request it came with, where that may be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Who said that its thread is settled; of the first comment of a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_by: Option<String>,
    /// What it is in the forge, where it was written there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// A comment on its way to a review.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewComment {
    pub file: Option<String>,
    pub line: Option<u32>,
    pub text: String,
    pub reply_to: Option<String>,
    /// Of the request it comes with, where that may be sent again.
    pub key: Option<String>,
    /// What it is in the forge, where it was written there.
    pub origin: Option<String>,
}

/// Who wrote a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Person,
    /// What it writes, it knows already.
    Agent,
}

/// The word a comment begins with; never a verdict (X13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Tag {
    Fix,
    Question,
    Approve,
}

impl Tag {
    pub const ALL: [Tag; 3] = [Tag::Fix, Tag::Question, Tag::Approve];

    pub const fn name(self) -> &'static str {
        match self {
            Tag::Fix => "FIX",
            Tag::Question => "QUESTION",
            Tag::Approve => "APPROVE",
        }
    }

    pub fn of(text: &str) -> Option<Tag> {
        let word = text.trim_start().strip_prefix('[')?.split_once(']')?.0;
        Tag::ALL.into_iter().find(|tag| tag.name().eq_ignore_ascii_case(word.trim()))
    }
}

/// What a person thinks of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileMark {
    Approved,
    ChangesRequested,
}

impl FileMark {
    pub const fn name(self) -> &'static str {
        match self {
            FileMark::Approved => "approved",
            FileMark::ChangesRequested => "changes_requested",
        }
    }
}

/// A file that a person marked, and the content they marked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredMark")]
pub struct MarkedFile {
    pub mark: FileMark,
    /// Its mode and its object; marks of earlier versions do not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// As it is kept, and as it was in earlier versions.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredMark {
    Bare(FileMark),
    Marked {
        mark: FileMark,
        #[serde(default)]
        content: Option<String>,
    },
}

impl From<StoredMark> for MarkedFile {
    fn from(stored: StoredMark) -> MarkedFile {
        match stored {
            StoredMark::Bare(mark) => MarkedFile { mark, content: None },
            StoredMark::Marked { mark, content } => MarkedFile { mark, content },
        }
    }
}

/// The marks on the files of a review, for whoever shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileMarks {
    marks: IndexMap<String, MarkedFile>,
    lapsed: Vec<String>,
}

impl FileMarks {
    pub fn of(job: &JobState) -> FileMarks {
        FileMarks { marks: job.marks.clone(), lapsed: job.lapsed.clone() }
    }

    pub fn mark(&self, path: &str) -> Option<FileMark> {
        self.marks.get(path).map(|marked| marked.mark)
    }

    /// Whether a file was approved, and is not what was approved any more.
    pub fn is_lapsed(&self, path: &str) -> bool {
        self.lapsed.iter().any(|lapsed| lapsed == path)
    }
}

pub(in crate::run) fn comment(
    moved: &mut Move<'_>,
    new: NewComment,
    by: String,
    author: Author,
) -> Result<(), Refusal> {
    let id = moved.run.id.clone();
    let Some((_, job)) = moved.run.job() else { return Err(Refusal::NotAJob { id }) };
    if let Some(to) = &new.reply_to
        && !job.comments.iter().any(|comment| comment.id == *to)
    {
        return Err(Refusal::NoComment { id, comment: to.clone() });
    }
    // A reply stands where its comment stands.
    let above = job.comments.iter().find(|comment| Some(&comment.id) == new.reply_to.as_ref());
    let (file, line) = match above {
        Some(above) => (above.file.clone(), above.line),
        None => (new.file, new.line),
    };
    let comment = Comment {
        id: format!("c{}", job.commented.saturating_add(1)),
        phase: job.phase.name(),
        round: job.phase.round,
        file,
        line,
        tag: Tag::of(&new.text),
        text: new.text.trim().to_owned(),
        by,
        from_agent: author == Author::Agent,
        reply_to: new.reply_to,
        written_at: moved.now,
        given: None,
        delivered: author == Author::Agent,
        key: new.key,
        resolved_by: None,
        origin: new.origin,
    };
    moved.record(RunEvent::Commented(Box::new(comment)));
    Ok(())
}

pub(in crate::run) fn mark(
    moved: &mut Move<'_>,
    file: String,
    mark: Option<FileMark>,
    by: String,
    content: Option<String>,
) -> Result<(), Refusal> {
    if moved.run.job().is_none() {
        return Err(Refusal::NotAJob { id: moved.run.id.clone() });
    }
    moved.record(RunEvent::FileMarked { file, mark, by, content });
    Ok(())
}

/// Settles the thread a comment belongs to, or opens it again.
pub(in crate::run) fn resolve(
    moved: &mut Move<'_>,
    comment: String,
    resolved: bool,
    by: String,
) -> Result<(), Refusal> {
    let id = moved.run.id.clone();
    let Some((_, job)) = moved.run.job() else { return Err(Refusal::NotAJob { id }) };
    let Some(first) = first_of(&job.comments, &comment) else {
        return Err(Refusal::NoComment { id, comment });
    };
    if first.resolved_by.is_some() != resolved {
        let comment = first.id.clone();
        moved.record(RunEvent::ThreadResolved { comment, resolved, by });
    }
    Ok(())
}

/// The comment that began the thread of another one.
pub fn first_of<'c>(comments: &'c [Comment], id: &str) -> Option<&'c Comment> {
    let find = |id: &str| comments.iter().find(|comment| comment.id == id);
    let mut first = find(id)?;
    // No thread is deeper than there are comments.
    for _ in comments {
        match first.reply_to.as_deref().and_then(find) {
            Some(above) => first = above,
            None => break,
        }
    }
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leading_word_in_brackets_is_a_tag() {
        for (text, expected) in [
            ("[FIX] this", Some(Tag::Fix)),
            (" [question] why?", Some(Tag::Question)),
            ("[APPROVE]", Some(Tag::Approve)),
            ("[LATER] x", None),
            ("see [FIX]", None),
            ("plain", None),
        ] {
            assert_eq!(Tag::of(text), expected, "{text}");
        }
    }
}
