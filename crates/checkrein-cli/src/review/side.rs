//! Where a review is looked at and answered: at a store, or with a server. The same verbs for both.

use std::borrow::Cow;

use checkrein_core::checkpoint::TIMEOUT;
use checkrein_core::principal::Principal;
use checkrein_core::run::RunId;
use checkrein_core::run::job::{FileMark, NewComment};
use checkrein_engine::{Engine, VerdictRequest};
use checkrein_server::wire::checkpoint::{Checkpoint, VerdictBody};
use checkrein_server::wire::review::{Comment, CommentBody, MarkWord, Review as Told};
use serde_json::{Value, json};

use super::model::Review;
use crate::error::CliError;
use crate::output::one_line;
use crate::remote::Remote;

#[derive(Clone, Copy)]
pub enum Side<'a> {
    Here { engine: &'a Engine, by: &'a Principal },
    There(&'a Remote),
}

impl Side<'_> {
    /// A review with everything git has to show for it, by its own id or that of its job.
    pub async fn told(&self, id: &str) -> Result<Told, CliError> {
        match self {
            Side::Here { engine, by } => {
                let reviewed = engine.review(by, id).await?;
                let material = engine.review_material(by, &reviewed).await?;
                let told = Told::of(&reviewed, &material).here(&material);
                masked(engine, told)
            }
            Side::There(remote) => remote.get_async(&["checkpoints", id, "review"], &[]).await,
        }
    }

    /// The same as it is shown.
    pub async fn look(&self, id: &str) -> Result<Review, CliError> {
        self.told(id).await.map(Review::of)
    }

    /// Whether there is a place for all of these comments. A server is asked for the files alone: it looks at
    /// each line when it comes.
    pub async fn check(&self, told: &Told, comments: &[NewComment]) -> Result<(), CliError> {
        match self {
            Side::Here { engine, by } => {
                let view = engine.run(by, &told.run_id).await?;
                Ok(engine.check_comments(&view, comments).await?)
            }
            Side::There(_) => {
                let known = |file: &str| {
                    told.diff.files.iter().any(|f| f.path == file || f.from.as_deref() == Some(file))
                };
                let mut files = comments.iter().filter_map(|comment| comment.file.as_deref());
                files.find(|file| !known(file)).map_or(Ok(()), |file| Err(unchanged(file, &told.id)))
            }
        }
    }

    /// Gives the id of the comment.
    pub async fn comment(&self, id: &str, new: NewComment) -> Result<String, CliError> {
        match self {
            Side::Here { engine, by } => Ok(engine.comment(by, id, new, None).await?.id),
            Side::There(remote) => {
                let body = CommentBody::from(new);
                let said: Comment = remote.post_async(&["checkpoints", id, "comments"], &body).await?;
                Ok(said.id)
            }
        }
    }

    /// Marks a file as it is in the commit that was looked at.
    pub async fn mark(
        &self,
        id: &str,
        file: &str,
        mark: Option<FileMark>,
        head: &str,
    ) -> Result<(), CliError> {
        match self {
            Side::Here { engine, by } => Ok(engine.mark_file(by, id, file, mark, Some(head), None).await?),
            Side::There(remote) => {
                let body = json!({"file": file, "mark": MarkWord::from(mark), "head": head});
                remote.post_async::<Value>(&["checkpoints", id, "files"], &body).await.map(drop)
            }
        }
    }

    /// Says of a thread whether it is settled.
    pub async fn settle(&self, id: &str, comment: &str, resolved: bool) -> Result<(), CliError> {
        match self {
            Side::Here { engine, by } => {
                engine.resolve_thread(by, id, comment, resolved).await?;
                Ok(())
            }
            Side::There(remote) => {
                let body = json!({"comment": comment, "resolved": resolved});
                remote.post_async::<Value>(&["checkpoints", id, "threads"], &body).await.map(drop)
            }
        }
    }

    /// Waits until a checkpoint is settled by somebody else, or by its deadline; what is said of that. Trouble on the
    /// way settles nothing.
    pub async fn settled(&self, id: &str) -> String {
        let found: Result<Checkpoint, CliError> = match self {
            Side::Here { engine, by } => {
                let waited = engine.wait_for_checkpoint(by, id, None).await;
                waited.map(|view| (&view.checkpoint).into()).map_err(Into::into)
            }
            Side::There(remote) => remote.settled_checkpoint(id).await,
        };
        let Ok(settled) = found else { return std::future::pending().await };
        match (settled.resolved_by.as_deref(), settled.resolved_at) {
            (Some(TIMEOUT), Some(at)) => {
                format!("Nobody answered by {at:.0}: it was rejected by its deadline.\n")
            }
            (by, _) => format!(
                "Somebody was faster: it was {} by {}.\n",
                settled.status.name().replace('_', " "),
                one_line(by.unwrap_or("somebody"))
            ),
        }
    }

    pub async fn decide(&self, id: &str, request: &VerdictRequest) -> Result<Checkpoint, CliError> {
        match self {
            Side::Here { engine, by } => Ok((&engine.give_verdict(by, id, request).await?).into()),
            Side::There(remote) => {
                remote.post_async(&["checkpoints", id, "verdict"], &VerdictBody::from(request)).await
            }
        }
    }
}

/// Without what is secret here and of its job, as a server answers.
fn masked(engine: &Engine, told: Told) -> Result<Told, CliError> {
    let odd = |error| CliError::failed(format!("the review cannot be written: {error}"));
    let run = RunId::new(&told.run_id);
    let json = serde_json::to_vec(&told).map_err(odd)?;
    match engine.redacted_json(&json, Some(&run)) {
        Cow::Borrowed(_) => Ok(told),
        Cow::Owned(clean) => serde_json::from_slice(&clean).map_err(odd),
    }
}

/// A file that nobody can say anything about here.
pub fn unchanged(file: &str, id: &str) -> CliError {
    CliError::conflict(format!("`{}` did not change here", one_line(file)))
        .hint(format!("`checkrein review {} --stat` lists what did", one_line(id)))
}
