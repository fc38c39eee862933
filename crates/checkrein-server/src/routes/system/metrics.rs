use checkrein_engine::Act;
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::answer::{Answer, Sent, Written};
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::get("/metrics", metrics).about("metrics", "What the server does, for Prometheus").to(Act::Read)
}

const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct Numbers(String);

impl Answer for Numbers {
    fn described(_: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let content = json!({"application/openmetrics-text": {"schema": {"type": "string"}}});
        vec![(200, json!({"description": "OpenMetrics", "content": content}))]
    }

    fn sent(self) -> Result<Sent, Problem> {
        Ok(Written { media_type: MEDIA_TYPE, text: self.0 }.sent_as())
    }
}

async fn metrics(call: Call, _: Nothing) -> Result<Numbers, Problem> {
    let pending = call.engine().count_pending(call.by()?).await?;
    let text = call.app.metrics().written(pending);
    text.map(Numbers).ok_or_else(|| Problem::new(Kind::Internal, "the metrics cannot be written"))
}
