use checkrein_core::decision::{Answer, Request};
use checkrein_engine::{Act, Decided};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::answer::Reply;
use crate::ask::{Body, Expected};
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::post("/v1/policies/decide", decide)
        .about(
            "decide",
            "Decide a situation; reads nothing but the request. Only `scope` and `boundary.kind` are required",
        )
        .to(Act::Read)
        .changes_nothing()
}

/// The request as it came, since its mistakes are told by place.
pub struct Asked(pub String);

impl Body for Asked {
    const EXPECTED: Expected = Expected::Required;

    fn schema(generator: &mut SchemaGenerator) -> Option<Value> {
        Some(generator.subschema_for::<Request>().to_value())
    }

    fn read(body: &[u8], _: Option<&Value>) -> Result<Asked, Problem> {
        let text = std::str::from_utf8(body);
        text.map(|text| Asked(text.to_owned()))
            .map_err(|_| Problem::new(Kind::Malformed, "the body is not UTF-8"))
    }
}

#[derive(Serialize, JsonSchema)]
pub struct Decision {
    #[serde(flatten)]
    pub answer: Answer,
    /// What is odd about the request, but legal
    pub warnings: Vec<String>,
}

async fn decide(call: Call, Asked(request): Asked) -> Result<Reply<Decision>, Problem> {
    let Decided { answer, odd } = call.engine().decide(call.by()?, &request)?;
    Ok(Reply::new(Decision { answer, warnings: odd }))
}
