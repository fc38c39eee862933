use std::fmt::Write;

use checkrein_core::run::RunId;
use checkrein_core::shown::{harmless, one_line};
use checkrein_engine::Act;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::answer::{Answer, Sent, Written};
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;
use crate::wire::run::AttemptOutput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only of this step, such as `build:implement`
    step: Option<String>,
    /// What it is written as
    #[serde(rename = "as", default)]
    kind: OutputKind,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum OutputKind {
    #[default]
    Text,
    Json,
}

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/output", show)
        .about("showRunOutput", "What the steps of a run wrote")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

struct Wrote {
    written: Written,
    run: RunId,
}

impl Answer for Wrote {
    fn described(generator: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let list = generator.subschema_for::<Vec<AttemptOutput>>();
        let content = json!({
            "text/plain": {"schema": {"type": "string"}},
            "application/json": {"schema": list},
        });
        vec![(200, json!({"description": "Done", "content": content}))]
    }

    fn sent(self) -> Result<Sent, Problem> {
        Ok(Sent { about: Some(self.run), ..self.written.sent_as() })
    }
}

async fn show(call: Call, Query(wanted): Query<Wanted>) -> Result<Wrote, Problem> {
    let by = call.by()?;
    let run = RunId::new(call.engine().run_id(by, call.path("id")).await?);
    let outputs = call.engine().run_output(by, run.as_str(), wanted.step.as_deref()).await?;
    // What a step wrote must not command the terminal of whoever looks.
    let shown = |stream: &[u8]| harmless(&String::from_utf8_lossy(stream));
    let outputs = outputs.into_iter().map(|output| AttemptOutput {
        task: output.task,
        attempt: output.attempt,
        stdout: shown(&output.stdout),
        stderr: shown(&output.stderr),
    });
    let written = match wanted.kind {
        OutputKind::Json => {
            let outputs: Vec<AttemptOutput> = outputs.collect();
            let text = serde_json::to_string(&outputs).unwrap_or_default();
            Written { media_type: "application/json", text }
        }
        OutputKind::Text => Written { media_type: "text/plain; charset=utf-8", text: text(outputs) },
    };
    Ok(Wrote { written, run })
}

fn text(outputs: impl Iterator<Item = AttemptOutput>) -> String {
    let mut text = String::new();
    for output in outputs {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let again = if output.attempt > 1 { format!(" (attempt {})", output.attempt) } else { String::new() };
        let _ = writeln!(text, "── {}{again}", one_line(&output.task));
        text.push_str(&output.stdout);
        text.push_str(&output.stderr);
    }
    text
}
