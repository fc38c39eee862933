use std::sync::LazyLock;

use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::answer::{Answer, Sent, Written};
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::Problem;
use crate::route::{Access, Route};

pub fn route() -> Route {
    Route::get("/v1/openapi.json", openapi).about("openapi", "This description").access(Access::Open)
}

/// It never changes while the server runs.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| crate::openapi::document().to_string());

struct Described;

impl Answer for Described {
    fn described(_: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let content = json!({"application/json": {"schema": {"type": "object"}}});
        vec![(200, json!({"description": "OpenAPI 3.1", "content": content}))]
    }

    fn sent(self) -> Result<Sent, Problem> {
        Ok(Written { media_type: "application/json", text: DOCUMENT.clone() }.sent_as())
    }
}

async fn openapi(_: Call, _: Nothing) -> Result<Described, Problem> {
    Ok(Described)
}
