//! Files on the branch of a review, and what people change in them.

use checkrein_engine::{BranchFile, BranchFiles, Edit, FileEdit, Settled, Settlement};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The files of a commit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Tree {
    pub commit: String,
    /// In the order of their paths
    pub files: Vec<TreeFile>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TreeFile {
    pub path: String,
    /// As git writes it, such as 100755
    pub mode: String,
    pub size_bytes: Option<u64>,
}

/// One file of a commit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct File {
    pub commit: String,
    pub path: String,
    pub mode: String,
    pub size_bytes: u64,
    /// Null where it is no text, or too long
    pub text: Option<String>,
}

impl From<&BranchFiles> for Tree {
    fn from(files: &BranchFiles) -> Tree {
        let file = |entry: &checkrein_forge::TreeEntry| TreeFile {
            path: entry.path.to_string(),
            mode: entry.kind.mode().to_owned(),
            size_bytes: entry.size_bytes,
        };
        Tree { commit: files.commit.to_string(), files: files.files.iter().map(file).collect() }
    }
}

impl From<&BranchFile> for File {
    fn from(file: &BranchFile) -> File {
        File {
            commit: file.commit.to_string(),
            path: file.path.clone(),
            mode: file.kind.mode().to_owned(),
            size_bytes: file.content.size_bytes,
            text: file.text().map(str::to_owned),
        }
    }
}

/// Which state of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SideWord {
    /// Before the phase
    Base,
    /// On the branch
    #[default]
    Head,
}

impl From<SideWord> for checkrein_engine::Side {
    fn from(word: SideWord) -> checkrein_engine::Side {
        match word {
            SideWord::Base => checkrein_engine::Side::Base,
            SideWord::Head => checkrein_engine::Side::Head,
        }
    }
}

/// Changes to files, as one commit in the name of whoever sends them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditBody {
    /// The commit that was looked at: `head` of the review
    pub head: String,
    /// What the commit says
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[schemars(length(min = 1))]
    pub files: Vec<EditedFile>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditedFile {
    #[schemars(length(min = 1))]
    pub path: String,
    pub action: EditWord,
    /// What is in it from now on
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditWord {
    /// A file that is there
    Write,
    /// A file that is not there
    Create,
    Delete,
}

/// Why a change cannot be one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`text` of `{0}` is missing")]
pub struct NoText(String);

impl TryFrom<EditBody> for Edit {
    type Error = NoText;

    fn try_from(body: EditBody) -> Result<Edit, NoText> {
        let edit = |EditedFile { path, action, text }| match (action, text) {
            (EditWord::Delete, _) => Ok(FileEdit::Delete { path }),
            (EditWord::Write, Some(content)) => Ok(FileEdit::Write { path, content }),
            (EditWord::Create, Some(content)) => Ok(FileEdit::Create { path, content }),
            (EditWord::Write | EditWord::Create, None) => Err(NoText(path)),
        };
        let files = body.files.into_iter().map(edit).collect::<Result<_, _>>()?;
        Ok(Edit { head: body.head, message: body.message, files })
    }
}

/// What every file of a conflict is to be, as one commit that joins both sides.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettlementBody {
    /// The commit that was looked at: `head` of the review
    pub head: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[schemars(length(min = 1))]
    pub files: Vec<SettledFile>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SettledFile {
    #[schemars(length(min = 1))]
    pub path: String,
    pub take: TakeWord,
    /// With `take: text`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TakeWord {
    Text,
    /// As it is on the branch under review
    Ours,
    /// As it is on the other side
    Theirs,
    Delete,
}

impl TryFrom<SettlementBody> for Settlement {
    type Error = NoText;

    fn try_from(body: SettlementBody) -> Result<Settlement, NoText> {
        let settled = |SettledFile { path, take, text }| match (take, text) {
            (TakeWord::Text, Some(text)) => Ok((path, Settled::Text(text))),
            (TakeWord::Text, None) => Err(NoText(path)),
            (TakeWord::Ours, _) => Ok((path, Settled::Ours)),
            (TakeWord::Theirs, _) => Ok((path, Settled::Theirs)),
            (TakeWord::Delete, _) => Ok((path, Settled::Deleted)),
        };
        let files = body.files.into_iter().map(settled).collect::<Result<_, _>>()?;
        Ok(Settlement { head: body.head, message: body.message, files })
    }
}

/// What came of a change.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Edited {
    /// Of the branch now
    pub head: String,
    /// Whether anything was different
    pub changed: bool,
}

impl From<&checkrein_engine::Edited> for Edited {
    fn from(edited: &checkrein_engine::Edited) -> Edited {
        Edited { head: edited.head.clone(), changed: edited.changed }
    }
}
