use checkrein_core::run::{RunId, log};
use checkrein_engine::Act;
use schemars::SchemaGenerator;
use serde_json::{Value, json};

use crate::answer::{Answer, Sent, Written};
use crate::ask::Nothing;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/log", show)
        .about("showRunLog", "The records of a run: one JSON object per line")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

struct Lines {
    text: String,
    run: RunId,
}

impl Answer for Lines {
    fn described(generator: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let step = generator.subschema_for::<log::StepResponse>();
        let execution = generator.subschema_for::<log::WorkflowExecution>();
        let about = "Each line is one of these";
        let content = json!({"schema": {"type": "string"}, "x-item-schema": {"anyOf": [step, execution]}});
        vec![(200, json!({"description": about, "content": {"application/jsonl": content}}))]
    }

    fn sent(self) -> Result<Sent, Problem> {
        let written = Written { media_type: "application/jsonl", text: self.text };
        Ok(Sent { about: Some(self.run), ..written.sent_as() })
    }
}

async fn show(call: Call, _: Nothing) -> Result<Lines, Problem> {
    let view = call.engine().run(call.by()?, call.path("id")).await?;
    let records = log::records(&view.run.id, &view.run.definition, &view.history);
    let lines = records.iter().map(|record| serde_json::to_string(record).unwrap_or_default() + "\n");
    Ok(Lines { text: lines.collect(), run: view.run.id.clone() })
}
