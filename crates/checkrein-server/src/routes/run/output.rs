use std::fmt::Write;

use checkrein_core::shown::{harmless, one_line};
use checkrein_engine::Act;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::Written;
use crate::ask::Query;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::route::Route;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only of this step, such as `build:implement`
    step: Option<String>,
}

pub fn route() -> Route {
    Route::get("/v1/runs/{id}/output", show)
        .about("showRunOutput", "What the steps of a run wrote")
        .to(Act::Read)
        .refuses(&[Kind::NotFound, Kind::SeveralRuns])
}

async fn show(call: Call, Query(wanted): Query<Wanted>) -> Result<Written, Problem> {
    let outputs = call.engine().run_output(call.by()?, call.path("id"), wanted.step.as_deref()).await?;
    let mut text = String::new();
    for output in outputs {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let again = if output.attempt > 1 { format!(" (attempt {})", output.attempt) } else { String::new() };
        let _ = writeln!(text, "── {}{again}", one_line(&output.task));
        for stream in [&output.stdout, &output.stderr] {
            // What a step wrote must not command the terminal of whoever looks.
            text.push_str(&harmless(&String::from_utf8_lossy(stream)));
        }
    }
    Ok(Written { media_type: "text/plain; charset=utf-8", text })
}
