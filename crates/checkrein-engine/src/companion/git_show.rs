use checkrein_core::principal::Principal;
use checkrein_forge::DiffLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::git_diff::{DiffPart, Diffed, parent_or_nothing};
use super::git_log::GitCommit;
use super::workspace::clean;
use super::{ReadTool, told};
use crate::{Engine, EngineError};

/// Which commit.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct GitShowWanted {
    /// A commit, as git_log names it, `head` (the default), `base`, `main`, `start`, a branch or a phase
    pub commit: Option<String>,
    #[serde(flatten)]
    pub part: DiffPart,
}

/// A commit, and what it changed beside its first parent.
#[derive(Clone, Debug, Serialize)]
pub struct GitShow {
    #[serde(flatten)]
    pub commit: GitCommit,
    #[serde(flatten)]
    pub diffed: Diffed,
}

pub(super) fn tool() -> ReadTool {
    ReadTool::new::<GitShowWanted>(
        "git_show",
        "One commit of the job: who made it, what it says, and what it changed, as a diff.",
        |engine, by, job, wanted| Box::pin(async move { told(&engine.git_show(by, job, &wanted).await?) }),
    )
}

impl Engine {
    pub async fn git_show(
        &self,
        by: &Principal,
        job: &str,
        wanted: &GitShowWanted,
    ) -> Result<GitShow, EngineError> {
        let named = wanted.commit.clone();
        let (run, commit, diff) = self
            .in_workspace(by, job, move |workspace| {
                let bare = &workspace.repository.bare;
                let oid = workspace.commit(named.as_deref())?;
                let none =
                    || EngineError::NoRevision { id: workspace.run.id.clone(), revision: oid.to_string() };
                let commit = bare.log(None, &oid, 1)?.pop().ok_or_else(none)?;
                let before = parent_or_nothing(bare, &commit.parents)?;
                let diff = bare.diff(&before, &oid, &DiffLimits::default())?;
                Ok((workspace.run.id.clone(), commit, diff))
            })
            .await?;
        let diffed = wanted.part.of(diff, |text| clean(self, &run, text.as_bytes()));
        Ok(GitShow { commit: GitCommit::of(&commit), diffed })
    }
}
