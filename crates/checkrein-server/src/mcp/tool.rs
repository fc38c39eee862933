//! One tool: its name, who may use it, what it takes. The type its handler takes is what is described, so
//! the description cannot drift from the code.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use checkrein_core::frame::FrameCommand;
use checkrein_engine::Act;
use rmcp::model::{InputRequiredResult, JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::asking::Asking;
use crate::ask::{Body, MaybeJson};
use crate::error::{Kind, Problem};
use crate::route::inline;

/// What a tool works on, without which it is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Store,
    /// The attempt of a job's phase: that of this process, or one the store knows.
    Phase,
    /// The same, or the attempt of a step.
    Attempt,
}

/// What a call does to things, as clients are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Looks,
    Changes,
}

/// What a tool has to say.
pub enum Told {
    Json(Value),
    Text(String),
    /// A page for whoever reads, and the same as data.
    Both(String, Value),
    /// It has to know something first.
    Input(Box<InputRequiredResult>),
}

impl Told {
    pub fn json(value: &impl Serialize) -> Result<Told, Problem> {
        let failed = |error| Problem::new(Kind::Internal, format!("the answer cannot be written: {error}"));
        serde_json::to_value(value).map(Told::Json).map_err(failed)
    }
}

type Telling = Pin<Box<dyn Future<Output = Result<Told, Problem>> + Send>>;
type Handler = dyn Fn(Asking, Bytes) -> Telling + Send + Sync;

#[derive(Clone)]
pub struct Tool {
    pub name: &'static str,
    /// What it is for, to a model.
    pub about: &'static str,
    pub act: Act,
    pub needs: Needs,
    pub effect: Effect,
    /// Whether arguments that reading would change are refused.
    pub exact: bool,
    pub schema: Arc<JsonObject>,
    pub handler: Arc<Handler>,
}

impl Tool {
    pub fn new<B, F, W>(name: &'static str, about: &'static str, act: Act, handler: F) -> Tool
    where
        B: Body + 'static,
        F: Fn(Asking, B) -> W + Send + Sync + 'static,
        W: Future<Output = Result<Told, Problem>> + Send + 'static,
    {
        let shape = B::schema(&mut inline());
        let answer = move |asking: Asking, arguments: Bytes| -> Telling {
            match B::read(&arguments, shape.as_ref()) {
                Ok(arguments) => Box::pin(handler(asking, arguments)),
                Err(problem) => Box::pin(std::future::ready(Err(misread(name, problem)))),
            }
        };
        let effect = if act == Act::Read { Effect::Looks } else { Effect::Changes };
        let (needs, schema) = (Needs::Store, Arc::new(schema::<B>()));
        Tool { name, about, act, needs, effect, exact: B::EXACT, schema, handler: Arc::new(answer) }
    }

    /// A tool that asks something of the caller's session of frames. Every one of them takes the
    /// session beside its own arguments, so that a client's hook can say which is meant.
    pub fn of_frames<B>(
        name: &'static str,
        about: &'static str,
        act: Act,
        required: &'static [&'static str],
        command: fn(B) -> FrameCommand,
    ) -> Tool
    where
        B: DeserializeOwned + JsonSchema + Default + Send + 'static,
    {
        let handler = move |asking: Asking, arguments: Bytes| -> Telling {
            let read = session_and_rest(&arguments, required).and_then(|(session, rest)| {
                MaybeJson::<B>::read(&rest, None).map(|MaybeJson(rest)| (session, command(rest)))
            });
            match read {
                Ok((session, command)) => Box::pin(async move { asking.frames(session, command).await }),
                Err(problem) => Box::pin(std::future::ready(Err(misread(name, problem)))),
            }
        };
        let mut schema = schema::<MaybeJson<B>>();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            let about = "The session; the one that was active last if absent";
            properties.insert(SESSION.to_owned(), json!({"type": "string", "description": about}));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        let effect = if act == Act::Read { Effect::Looks } else { Effect::Changes };
        Tool {
            name,
            about,
            act,
            needs: Needs::Store,
            effect,
            exact: false,
            schema: Arc::new(schema),
            handler: Arc::new(handler),
        }
    }

    pub fn needs(self, needs: Needs) -> Tool {
        Tool { needs, ..self }
    }

    pub fn looks(self) -> Tool {
        Tool { effect: Effect::Looks, ..self }
    }

    /// As clients list it.
    pub fn described(&self) -> rmcp::model::Tool {
        let looks = self.effect == Effect::Looks;
        // Asking again without an id of one's own asks about something else.
        let again = !matches!(self.act, Act::AskForCheckpoint | Act::KeepFrames) || looks;
        let annotations =
            ToolAnnotations::new().read_only(looks).destructive(false).idempotent(again).open_world(false);
        rmcp::model::Tool::new(self.name, self.about, Arc::clone(&self.schema)).with_annotations(annotations)
    }
}

/// The argument by which a tool of frames knows the session.
const SESSION: &str = "session";

fn session_and_rest(arguments: &[u8], required: &[&str]) -> Result<(Option<String>, Vec<u8>), Problem> {
    let read: Value = serde_json::from_slice(arguments).unwrap_or_default();
    let Value::Object(mut fields) = read else { return Ok((None, arguments.to_vec())) };
    let session = match fields.remove(SESSION) {
        None | Some(Value::Null) => None,
        Some(Value::String(session)) => Some(session),
        Some(other) => {
            return Err(Problem::new(Kind::Invalid, format!("`session` is no text: `{other}`")));
        }
    };
    if let Some(missing) = required.iter().find(|name| fields.get(**name).is_none_or(Value::is_null)) {
        return Err(Problem::new(Kind::Invalid, format!("`{missing}` is missing")));
    }
    let rest = serde_json::to_vec(&fields).unwrap_or_default();
    Ok((session, rest))
}

/// Arguments are always an object; what is left out may be left out.
fn schema<B: Body>() -> JsonObject {
    let mut schema = match B::schema(&mut inline()) {
        Some(Value::Object(schema)) => schema,
        _ => JsonObject::new(),
    };
    for name in ["$schema", "title", "description"] {
        schema.remove(name);
    }
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    schema
}

/// A model mends its call when it is told what to look at.
fn misread(name: &str, problem: Problem) -> Problem {
    let hint = match problem.errors.iter().any(|fault| fault.hint.is_some()) {
        true => None,
        false => Some(format!("look at the input schema of {name}, and call it again")),
    };
    Problem { hint: problem.hint.clone().or(hint), ..problem }
}
