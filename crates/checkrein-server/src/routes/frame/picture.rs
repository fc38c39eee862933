use checkrein_core::frame::{FlameStyle, FlameWidth};
use checkrein_engine::Act;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, Sent, Written};
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// What the width of a frame stands for
    #[serde(default)]
    width: FlameWidth,
    /// Frames that do not mention this fade
    search: Option<String>,
}

pub fn route() -> Route {
    Route::get("/v1/frames/{id}/picture", picture)
        .about(
            "showFramePicture",
            "The tree of a session as a flame graph, as SVG: width by tokens or time, colour by status",
        )
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::Invalid])
}

struct Picture(Written);

impl Answer for Picture {
    fn described(_: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let content = json!({"image/svg+xml": {"schema": {"type": "string"}}});
        vec![(200, json!({"description": "Done", "content": content}))]
    }

    fn sent(self) -> Result<Sent, Problem> {
        Ok(self.0.sent_as())
    }
}

async fn picture(call: Call, Query(wanted): Query<Wanted>) -> Result<Picture, Problem> {
    let now_ms = u64::try_from(call.engine().now().as_millisecond()).unwrap_or(0);
    let style = FlameStyle { width: wanted.width, link: None, search: wanted.search.as_deref(), now_ms };
    let text = call.engine().flame_graph(call.by()?, &super::wanted(&call), style).await?;
    Ok(Picture(Written { media_type: "image/svg+xml", text }))
}
