use checkrein_core::principal::Principal;
use checkrein_forge::{Commit, LogWanted, Oid, TreePath};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::shortened;
use super::{ReadTool, told};
use crate::{Engine, EngineError};

/// Which commits.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct GitLogWanted {
    /// What led to this one: `head` (the default), `base`, `main`, `start`, a branch, a phase or a commit
    pub at: Option<String>,
    /// Without what is in this one; `start` by default, so that only commits of the job are told
    pub since: Option<String>,
    /// Only commits that changed this file or directory
    pub file: Option<String>,
    /// Leave out so many of the newest, as an answer names it in `next`
    pub after: Option<usize>,
    /// How many at most, 30 by default
    #[schemars(range(min = 1, max = 200))]
    pub limit: Option<usize>,
}

/// Commits, the newest first.
#[derive(Clone, Debug, Serialize)]
pub struct GitLog {
    pub head: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    pub commits: Vec<GitCommit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
pub struct GitCommit {
    pub commit: String,
    pub parents: Vec<String>,
    pub author: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    pub title: String,
    /// What the message says below its first line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub body: String,
}

const BODY_CHARS_MAX: usize = 2_000;

impl GitCommit {
    pub(super) fn of(commit: &Commit) -> GitCommit {
        let body = commit.message.split_once('\n').map_or("", |(_, rest)| rest.trim());
        GitCommit {
            commit: commit.oid.to_string(),
            parents: commit.parents.iter().map(Oid::to_string).collect(),
            author: format!("{} <{}>", commit.author_name, commit.author_email),
            at: Timestamp::from_second(commit.authored_at_seconds).ok(),
            title: shortened(commit.title(), BODY_CHARS_MAX),
            body: shortened(body, BODY_CHARS_MAX),
        }
    }
}

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<GitLogWanted>(
        "git_log",
        "The commits of the job, the newest first: who made them, when, and what they say.",
        |engine, by, job, wanted| Box::pin(async move { told(&engine.git_log(by, job, &wanted).await?) }),
    )
}

impl Engine {
    pub async fn git_log(
        &self,
        by: &Principal,
        job: &str,
        wanted: &GitLogWanted,
    ) -> Result<GitLog, EngineError> {
        let wanted = wanted.clone();
        self.in_workspace(by, job, move |workspace| {
            let head = workspace.commit(wanted.at.as_deref())?;
            let start = workspace.commit(Some(wanted.since.as_deref().unwrap_or("start")))?;
            // Its own start is a commit of the job as well.
            let since = Some(start).filter(|start| *start != head);
            let path = wanted
                .file
                .as_deref()
                .map(|file| TreePath::from(file.trim_start_matches("./").trim_end_matches('/')));
            if path.as_ref().is_some_and(|path| !path.is_plain()) {
                let path = wanted.file.clone().unwrap_or_default();
                return Err(EngineError::NoFile { path, commit: head.to_string() });
            }
            let (skip, limit) = (wanted.after.unwrap_or(0), wanted.limit.unwrap_or(30).clamp(1, 200));
            let asked =
                LogWanted { since: since.as_ref(), head: &head, path: path.as_ref(), skip, limit: limit + 1 };
            let found = workspace.repository.bare.log_of(&asked)?;
            let next = (found.len() > limit).then(|| skip.saturating_add(limit));
            Ok(GitLog {
                commits: found.iter().take(limit).map(GitCommit::of).collect(),
                since: since.map(|since| since.to_string()),
                head: head.to_string(),
                next,
            })
        })
        .await
    }
}
