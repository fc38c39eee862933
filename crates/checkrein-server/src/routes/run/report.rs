use axum::http::{HeaderValue, header};
use checkrein_core::report::{Format, ReportJson, Style};
use checkrein_core::run::RunId;
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
    /// What it is written as
    #[serde(rename = "as", default)]
    kind: ReportKind,
    /// How much a text tells
    #[serde(default)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ReportKind {
    #[default]
    Json,
    Text,
    Markdown,
    Html,
    Junit,
    Sarif,
}

impl ReportKind {
    const ALL: [ReportKind; 6] = [
        ReportKind::Json,
        ReportKind::Text,
        ReportKind::Markdown,
        ReportKind::Html,
        ReportKind::Junit,
        ReportKind::Sarif,
    ];

    const fn media_type(self) -> &'static str {
        match self {
            ReportKind::Json => "application/json",
            ReportKind::Text => "text/plain; charset=utf-8",
            ReportKind::Markdown => "text/markdown; charset=utf-8",
            ReportKind::Html => "text/html; charset=utf-8",
            ReportKind::Junit => "application/xml",
            ReportKind::Sarif => "application/sarif+json",
        }
    }
}

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/report", show)
        .about("showRunReport", "What a run found, and what can be done about it")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

struct Reported {
    written: Written,
    run: RunId,
}

impl Answer for Reported {
    fn described(generator: &mut SchemaGenerator) -> Vec<(u16, Value)> {
        let report = generator.subschema_for::<ReportJson<'_>>();
        let content = ReportKind::ALL.map(|kind| {
            let essence = kind.media_type().split(';').next().unwrap_or_default();
            let schema = match kind {
                ReportKind::Json => json!(report),
                ReportKind::Sarif => json!({"type": "object"}),
                _ => json!({"type": "string"}),
            };
            (essence.to_owned(), json!({"schema": schema}))
        });
        let content: serde_json::Map<String, Value> = content.into_iter().collect();
        vec![(200, json!({"description": "Done", "content": content}))]
    }

    fn sent(self) -> Result<Sent, Problem> {
        let page = self.written.media_type == ReportKind::Html.media_type();
        let mut sent = Sent { about: Some(self.run), ..self.written.sent_as() };
        if page {
            // It says itself what it may load; what it may not is to act for whoever looks at it.
            let policy = HeaderValue::from_static("sandbox allow-scripts; frame-ancestors 'none'");
            sent.headers.push((header::CONTENT_SECURITY_POLICY, policy));
        }
        Ok(sent)
    }
}

async fn show(call: Call, Query(wanted): Query<Wanted>) -> Result<Reported, Problem> {
    let view = call.engine().run(call.by()?, call.path("id")).await?;
    let report = view.report(call.engine().now());
    let written = |value: serde_json::Result<String>| {
        value.map_err(|error| Problem::new(Kind::Internal, format!("the report cannot be written: {error}")))
    };
    let text = match wanted.kind {
        ReportKind::Json => written(serde_json::to_string(&report.json()))?,
        ReportKind::Text => report.text(wanted.format, Style::default()),
        ReportKind::Markdown => report.markdown(),
        ReportKind::Html => report.html(),
        ReportKind::Junit => report.junit(),
        ReportKind::Sarif => written(serde_json::to_string(&report.sarif()))?,
    };
    let written = Written { media_type: wanted.kind.media_type(), text };
    Ok(Reported { written, run: view.run.id.clone() })
}
