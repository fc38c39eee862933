use checkrein_core::report::{Format, Style};
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use super::super::asking::Asking;
use super::super::tool::{Told, Tool};
use crate::ask::Json;
use crate::error::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// The run
    id: String,
    /// What it is written as
    #[serde(rename = "as", default)]
    kind: Written,
    /// How much a text tells
    #[serde(default)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Written {
    #[default]
    Markdown,
    Text,
    Json,
}

pub fn tool() -> Tool {
    Tool::new("show_report", "What a run found, and what can be done about it.", Act::Read, show)
}

async fn show(asking: Asking, Json(wanted): Json<Wanted>) -> Result<Told, Problem> {
    let engine = asking.engine()?;
    let view = engine.run(asking.by(), &wanted.id).await;
    let view = view.map_err(|error| super::not_found(error, "list_runs shows what there is"))?;
    let report = view.report(engine.now());
    match wanted.kind {
        Written::Markdown => Ok(Told::Text(report.markdown())),
        Written::Text => Ok(Told::Text(report.text(wanted.format, Style::default()))),
        Written::Json => Told::json(&report.json()),
    }
}
