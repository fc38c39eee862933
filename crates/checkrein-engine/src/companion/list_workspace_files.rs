use checkrein_core::principal::Principal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workspace::kind;
use super::{ReadTool, told};
use crate::search::is_of;
use crate::{Engine, EngineError};

/// Which files.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct FilesWanted {
    /// Only this file, this directory, or files of this pattern, such as `archive/**`
    pub file: Option<String>,
    /// As they are in this commit: `head` (the default), `base`, `main`, `start`, a branch, a phase or a commit
    pub at: Option<String>,
    /// Go on after this path, as an answer names it in `next`
    pub after: Option<String>,
    /// How many at most, 200 by default
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Files of a workspace, in the order of their paths.
#[derive(Clone, Debug, Serialize)]
pub struct WorkspaceFiles {
    pub commit: String,
    pub files: Vec<WorkspaceEntry>,
    /// How many fit the question, here and on other pages.
    pub files_total: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
pub struct WorkspaceEntry {
    pub path: String,
    /// `file`, `executable`, `link` or `submodule`.
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
}

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<FilesWanted>(
        "list_workspace_files",
        "The files of the job's workspace, with their sizes.",
        |engine, by, job, wanted| {
            Box::pin(async move { told(&engine.workspace_files(by, job, &wanted).await?) })
        },
    )
}

impl Engine {
    pub async fn workspace_files(
        &self,
        by: &Principal,
        job: &str,
        wanted: &FilesWanted,
    ) -> Result<WorkspaceFiles, EngineError> {
        let wanted = wanted.clone();
        self.in_workspace(by, job, move |workspace| {
            let commit = workspace.commit(wanted.at.as_deref())?;
            let entries = workspace.repository.bare.list_files(&commit)?.into_iter();
            let entries = entries.map(|entry| WorkspaceEntry {
                path: entry.path.to_string(),
                kind: kind(entry.kind),
                size_bytes: entry.size_bytes,
            });
            let fits = |entry: &WorkspaceEntry| {
                wanted.file.as_deref().is_none_or(|pattern| pattern.is_empty() || is_of(pattern, &entry.path))
            };
            let found: Vec<WorkspaceEntry> = entries.filter(fits).collect();
            let limit = wanted.limit.unwrap_or(200).clamp(1, 1_000);
            let files_total = found.len();
            let from = match &wanted.after {
                None => 0,
                // What is listed is in git's order, which is not that of texts.
                Some(after) => {
                    found.iter().position(|entry| entry.path == *after).map_or(files_total, |at| at + 1)
                }
            };
            let files: Vec<WorkspaceEntry> = found.into_iter().skip(from).take(limit).collect();
            let more = from.saturating_add(files.len()) < files_total;
            let next = files.last().filter(|_| more).map(|last| last.path.clone());
            Ok(WorkspaceFiles { commit: commit.to_string(), files, files_total, next })
        })
        .await
    }
}
