use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::answer::Reply;
use crate::ask::Json;
use crate::call::Call;
use crate::error::{Kind, Problem, ProblemJson};
use crate::route::Route;
use crate::wire::Object;
use crate::wire::checkpoint::{BadVerdict, Checkpoint, VerdictBody};

/// Nobody looks at more at once.
const VERDICTS_MAX: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Verdicts {
    /// Each with its own verdict
    #[schemars(length(min = 1, max = 100))]
    verdicts: Vec<OneVerdict>,
}

#[derive(Debug, JsonSchema)]
struct OneVerdict {
    /// The checkpoint
    id: String,
    #[schemars(flatten)]
    verdict: VerdictBody,
}

/// By hand: what is flattened takes fields nobody knows, and a misspelt `digest` would bind a verdict to nothing.
impl<'de> Deserialize<'de> for OneVerdict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OneVerdict, D::Error> {
        let mut fields = Object::deserialize(deserializer)?;
        let id = match fields.remove("id") {
            Some(Value::String(id)) => id,
            Some(_) => return Err(D::Error::custom("`id` is not a text")),
            None => return Err(D::Error::missing_field("id")),
        };
        let verdict = VerdictBody::deserialize(Value::Object(fields)).map_err(D::Error::custom)?;
        Ok(OneVerdict { id, verdict })
    }
}

#[derive(Debug, Serialize, JsonSchema)]
struct Given {
    /// In the order they were given
    items: Vec<GivenVerdict>,
}

/// What became of one verdict: the checkpoint, or why it was not decided.
#[derive(Debug, Serialize, JsonSchema)]
struct GivenVerdict {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint: Option<Checkpoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<ProblemJson>,
}

pub fn route() -> Route {
    Route::post("/v1/verdicts", give)
        .about(
            "giveVerdicts",
            "Decide several checkpoints, one after the other; one that cannot be decided does not keep the rest from it",
        )
        .to(Act::GiveVerdict)
}

async fn give(call: Call, Json(Verdicts { verdicts }): Json<Verdicts>) -> Result<Reply<Given>, Problem> {
    if verdicts.is_empty() || verdicts.len() > VERDICTS_MAX {
        let detail = format!("`verdicts` has {} entries; 1 to {VERDICTS_MAX} are taken", verdicts.len());
        return Err(Problem::new(Kind::Invalid, detail));
    }
    let by = call.by()?;
    let mut items = Vec::new();
    for OneVerdict { id, verdict } in verdicts {
        let given: Result<_, Problem> = match verdict.try_into() {
            Ok(request) => call.engine().give_verdict(by, &id, &request).await.map_err(Problem::from),
            Err(bad) => Err(BadVerdict::into(bad)),
        };
        let (checkpoint, problem) = match given {
            Ok(checkpoint) => (Some(Checkpoint::from(&checkpoint)), None),
            Err(problem) => (None, Some(problem.json())),
        };
        items.push(GivenVerdict { id, checkpoint, problem });
    }
    Ok(Reply::new(Given { items }))
}
