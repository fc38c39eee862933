//! Events: what happened, page by page or as it happens.

pub mod list;

use checkrein_engine::EventsOf;
use checkrein_store::Position;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};

use axum::http::{HeaderName, StatusCode, header};

use crate::answer::{Answer, Content, Reply, Sent};
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::tail::Listener;
use crate::wire::event::Event;
use crate::wire::page::{Limit, Page};

/// From where, and how much.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Go on after this position, as an answer names it in `next`
    after: Option<i64>,
    /// How many at most, in a page
    #[serde(default)]
    limit: Limit,
}

/// A page, or a stream for whoever accepts `text/event-stream`.
pub enum Events {
    Page(Page<Event>),
    Stream(Box<Listener>),
}

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

impl Answer for Events {
    fn described(generator: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let mut described = <Reply<Page<Event>>>::described(generator);
        let event = generator.subschema_for::<Event>();
        for (_, answer) in &mut described {
            if let Some(content) = answer.get_mut("content").and_then(Value::as_object_mut) {
                let stream = json!({
                    "schema": {"type": "string"},
                    "x-item-schema": {
                        "type": "object",
                        "required": ["data"],
                        "properties": {
                            "id": {"type": "string", "description": "The position; send it as `Last-Event-ID`"},
                            "data": {
                                "type": "string",
                                "contentMediaType": "application/json",
                                "contentSchema": event,
                            },
                        },
                    },
                });
                content.insert("text/event-stream".to_owned(), stream);
            }
        }
        described
    }

    fn sent(self) -> Result<Sent, Problem> {
        match self {
            Events::Page(page) => Reply::<_, 200>::new(page).sent(),
            Events::Stream(listener) => Ok(Sent {
                status: StatusCode::OK,
                // A proxy that gathers pieces would keep what happens to itself.
                headers: vec![(
                    HeaderName::from_static("x-accel-buffering"),
                    header::HeaderValue::from_static("no"),
                )],
                content: Content::Stream { media_type: "text/event-stream", body: listener.into_body() },
                about: None,
            }),
        }
    }
}

/// What happened, in the form that is accepted. `start` is where a stream begins if nothing is said.
pub async fn answer(call: &Call, wanted: Wanted, of: EventsOf, start: Start) -> Result<Events, Problem> {
    let by = call.by()?;
    let streaming =
        call.header(header::ACCEPT).is_some_and(|accepted| accepted.contains("text/event-stream"));
    let resumed = match call.header(LAST_EVENT_ID) {
        Some(text) => Some(text.trim().parse::<i64>().map_err(|_| {
            Problem::new(Kind::Malformed, "`Last-Event-ID` is not a position")
                .hint("send back the `id` of the last event")
        })?),
        None => None,
    };
    let after = resumed.or(wanted.after).map(Position);
    if streaming {
        let after = match (after, start) {
            (Some(after), _) => after,
            (None, Start::Beginning) => Position(0),
            (None, Start::Now) => call.engine().last_position().await?,
        };
        let session = call.session().map(|session| session.id.clone());
        return Ok(Events::Stream(Box::new(Listener::new(&call.app, by.clone(), session, of, after))));
    }
    let limit = wanted.limit.get();
    let mut events = call.engine().events(by, &of, after.unwrap_or_default(), limit + 1).await?;
    let more = events.len() > limit;
    events.truncate(limit);
    let next = events.last().filter(|_| more).map(|event| event.position.0);
    Ok(Events::Page(Page { items: events.iter().map(Event::from).collect(), next }))
}

/// Where a stream begins.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    Beginning,
    Now,
}
