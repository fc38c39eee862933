use checkrein_core::checkpoint::{Checkpoint as Stored, CheckpointStatus};
use checkrein_engine::{Act, NewCheckpoint};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::asking::{Asking, Look};
use super::super::elicit::{Notice, Telling, tell};
use super::super::tool::{Told, Tool};
use crate::ask::ExactJson;
use crate::error::{Kind, Problem};
use crate::wire::checkpoint::{Checkpoint, CheckpointRequest};

pub fn tool() -> Tool {
    Tool::new(
        "request_checkpoint",
        "Ask a person to approve something before you go on. The worker's policy says whether one has to look: \
         `not_required` and `approved` go on, `pending` waits for a person, who decides elsewhere. Give an `id` of \
         your own, so that asking again gives the answer there already is.",
        Act::AskForCheckpoint,
        request,
    )
}

/// A checkpoint as an agent is told of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Asked {
    #[serde(flatten)]
    checkpoint: Checkpoint,
    /// Where a person looks at it: a link, or a command for a terminal
    look_at: String,
    /// Whether the person at the client was told; never a verdict
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    notice: Option<Notice>,
    /// What to do now
    next: String,
}

impl Asked {
    pub fn of(checkpoint: &Stored, look: &Look) -> Asked {
        let look_at = look.at(checkpoint.id.as_str(), &checkpoint.kind);
        let next = match checkpoint.status {
            CheckpointStatus::Pending => format!(
                "do not go on yet: tell a person to look at `{look_at}`, and call check_checkpoint with this id"
            ),
            CheckpointStatus::Approved | CheckpointStatus::NotRequired => "go on".to_owned(),
            CheckpointStatus::Rejected => "do not do it; `reason` says why".to_owned(),
            CheckpointStatus::ChangesRequested => {
                "change it as `reason` says, then ask again under another id".to_owned()
            }
            CheckpointStatus::Withdrawn => "stop: what it belonged to is gone".to_owned(),
        };
        Asked { checkpoint: checkpoint.into(), look_at, notice: None, next }
    }
}

async fn request(asking: Asking, ExactJson(asked): ExactJson<CheckpointRequest>) -> Result<Told, Problem> {
    let engine = asking.engine()?;
    // A client that comes back from asking its person names what it asked about.
    let again = asking.request.request_state.as_deref().filter(|_| asking.request.input_responses.is_some());
    let checkpoint = match again {
        Some(id) => engine.checkpoint(asking.by(), id).await?.checkpoint,
        None => {
            let new =
                NewCheckpoint::try_from(asked).map_err(|bad| Problem::new(Kind::Invalid, bad.to_string()))?;
            engine.create_checkpoint(asking.by(), new).await.map_err(|error| {
                let problem = Problem::from(error);
                match problem.kind {
                    Kind::OtherContent => {
                        problem.hint("an id stands for one content; take another id for this one")
                    }
                    _ => problem,
                }
            })?
        }
    };
    let mut answer = Asked::of(&checkpoint, &asking.caller.look);
    if checkpoint.status == CheckpointStatus::Pending {
        let message = format!(
            "{} asks for an approval ({}). Look at it and decide: {}\nWhat you choose here only says that you saw it.",
            checkrein_core::shown::one_line(&checkpoint.worker),
            checkrein_core::shown::one_line(&checkpoint.kind),
            answer.look_at,
        );
        let link = match &asking.caller.look {
            Look::Server(_) => Some(answer.look_at.clone()),
            Look::Command => None,
        };
        match tell(&asking, checkpoint.id.as_str(), message, link).await {
            Telling::Told(Notice::NoAnswer) => {}
            Telling::Told(notice) => answer.notice = Some(notice),
            Telling::Ask(input) => return Ok(Told::Input(input)),
        }
    }
    Told::json(&answer)
}
