use checkrein_core::principal::Principal;
use checkrein_forge::{EntryKind, ForgeError, TreePath};
use checkrein_search::{DOCUMENT_BYTES_MAX, DocumentKind, blocks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::{Lines, lines};
use super::workspace::{clean, kind};
use super::{ReadTool, told};
use crate::{Engine, EngineError};

/// Which file, which lines of it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct FileWanted {
    /// Its path from the root of the workspace
    pub path: String,
    /// As it is in this commit: `head` (the default), `base`, `main`, `start`, a branch, a phase or a commit
    pub at: Option<String>,
    /// The line to begin with, from 1
    #[schemars(range(min = 1))]
    pub first_line: Option<usize>,
    /// How many lines at most, 400 by default
    #[schemars(range(min = 1, max = 2000))]
    pub lines: Option<usize>,
}

/// A file of a workspace, as far as it was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct WorkspaceFile {
    pub path: String,
    pub commit: String,
    /// `file`, `executable`, or `link`, whose text is where it points.
    pub kind: &'static str,
    pub size_bytes: u64,
    /// What a document of another kind says in words, where it is no text itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_as: Option<&'static str>,
    #[serde(flatten)]
    pub lines: Lines,
}

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<FileWanted>(
        "read_workspace_file",
        "Reads a file of the job's workspace, some lines at a time. PDF and DOCX are read as their text.",
        |engine, by, job, wanted| {
            Box::pin(async move { told(&engine.workspace_file(by, job, &wanted).await?) })
        },
    )
}

impl Engine {
    pub async fn workspace_file(
        &self,
        by: &Principal,
        job: &str,
        wanted: &FileWanted,
    ) -> Result<WorkspaceFile, EngineError> {
        let (path, at) = (wanted.path.trim_start_matches("./").to_owned(), wanted.at.clone());
        let (run, commit, entry, content) = self
            .in_workspace(by, job, move |workspace| {
                let commit = workspace.commit(at.as_deref())?;
                let wanted = TreePath::from(path.as_str());
                let none = || EngineError::NoFile { path: path.clone(), commit: commit.to_string() };
                let bare = &workspace.repository.bare;
                let entry = bare.list_files(&commit)?.into_iter().find(|entry| entry.path == wanted);
                let entry = entry.ok_or_else(none)?;
                if entry.kind == EntryKind::Submodule {
                    return Err(EngineError::NotAText(path.clone()));
                }
                match bare.show_file(&commit, &wanted, DOCUMENT_BYTES_MAX) {
                    Err(ForgeError::NoFile { .. }) => Err(none()),
                    read => Ok((workspace.run.id.clone(), commit, entry, read?)),
                }
            })
            .await?;
        let path = entry.path.to_string();
        let binary = content.bytes.contains(&0) || std::str::from_utf8(&content.bytes).is_err();
        let (text, read_as) = match DocumentKind::of(&path) {
            Some(as_kind @ (DocumentKind::Pdf | DocumentKind::Docx)) => {
                let as_word = if as_kind == DocumentKind::Pdf { "pdf" } else { "docx" };
                (words(as_kind, &content.bytes, &path)?, Some(as_word))
            }
            _ if binary && !content.cut => return Err(EngineError::NotAText(path)),
            _ => (String::from_utf8_lossy(&content.bytes).into_owned(), None),
        };
        let text = clean(self, &run, text.as_bytes());
        Ok(WorkspaceFile {
            path,
            commit: commit.to_string(),
            kind: kind(entry.kind),
            size_bytes: content.size_bytes,
            read_as,
            lines: lines(&text, wanted.first_line, wanted.lines),
        })
    }
}

/// What a document says, under its headings.
fn words(kind: DocumentKind, bytes: &[u8], path: &str) -> Result<String, EngineError> {
    let blocks = blocks(kind, bytes).map_err(|_| EngineError::NotAText(path.to_owned()))?;
    let (mut text, mut heading) = (String::new(), String::new());
    for block in blocks {
        if block.heading != heading {
            text.push_str(&format!("# {}\n\n", block.heading));
            heading = block.heading;
        }
        text.push_str(&block.text);
        text.push_str("\n\n");
    }
    Ok(text)
}
