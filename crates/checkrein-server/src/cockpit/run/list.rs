use checkrein_core::run::{PhaseStatus, RunStatus};
use checkrein_engine::Act;
use checkrein_store::{RunFilter, RunKind, RunRow, StoredRun};
use jiff::Timestamp;
use maud::{Markup, html};

use super::title;
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, choice, count, empty, excerpt, newer_and_older, shown, status};
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;

const ROWS: usize = 50;

pub fn page() -> Page {
    Page::get("/runs", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let query = |name: &str| visit.query.filled(name).unwrap_or_default().to_owned();
    let (kind, wanted, workflow) = (query("kind"), query("status"), query("workflow"));
    let filter = RunFilter {
        kind: match kind.as_str() {
            "job" => Some(RunKind::Job),
            "workflow" => Some(RunKind::Workflow),
            _ => None,
        },
        status: RunStatus::parse(&wanted),
        workflow: Some(workflow.clone()).filter(|workflow| !workflow.is_empty()),
        ..RunFilter::default()
    };
    let filtered = filter != RunFilter::default();
    let before = visit.query.filled("before").and_then(|before| before.parse().ok());
    let by = visit.by()?;
    let page = visit.engine().runs(by, &filter, before, ROWS).await?;
    let mut rows = Vec::new();
    for stored in &page.items {
        rows.push((stored, visit.engine().level_of(by, &stored.run).await?));
    }
    let address = |before: &str| {
        link::with_query(
            "/runs",
            &[("kind", &kind), ("status", &wanted), ("workflow", &workflow), ("before", before)],
        )
    };
    let older = page.next.map(|next| address(&next.to_string()));
    let now = visit.now();
    let body = html! {
        div class="head" {
            h1 { "Runs and jobs" }
            @if visit.may(Act::GiveJob) { a class="button primary" href="/jobs/new" { "New job" } }
        }
        details class="filters" open[filtered] {
            summary { "Filter" }
            form method="get" action="/runs" class="inline" {
                label { "Kind" (choice("kind", "kind", &kind, [("", "all"), ("job", "jobs"), ("workflow", "workflows")])) }
                label { "Status"
                    select name="status" {
                        option value="" { "any" }
                        @for one in RunStatus::ALL {
                            option value=(one.name()) selected[one.name() == wanted] { (one.name().replace('_', " ")) }
                        }
                    }
                }
                label { "Workflow or expert" input name="workflow" value=(workflow) data-search=""; }
                button { "Apply" }
                @if filtered { a href="/runs" { "Show all" } }
            }
        }
        div id="runs" class="rows" data-region="rows" data-newest=[before.is_none().then_some("first")] {
            @for (stored, level) in &rows { (row(stored, level.as_deref(), now)) }
            @if rows.is_empty() { (nothing(&visit, filtered || before.is_some())) }
        }
        div id="more" data-region="" { (newer_and_older(before.map(|_: i64| address("")), older)) }
    };
    let view = View::new("Runs and jobs", body).at(Place::Runs);
    let view = page.items.iter().fold(view, |view, stored| view.about(&stored.run.id));
    // Looking at older ones, new ones are elsewhere.
    Ok(if before.is_none() { view.live(Live::Everything) } else { view })
}

fn row(stored: &StoredRun, level: Option<&str>, now: Timestamp) -> Markup {
    let run = &stored.run;
    let id = run.id.as_str();
    let tally = &run.state.tally;
    html! {
        article class="card run" id={ "r-" (id) } data-key=(id) data-row="" data-stays="" {
            header {
                h2 { a href=(link::run(id)) data-open="" { (excerpt(title(run.target.as_deref(), &run.workflow), 120)) } }
                (status(run.state.status_word()))
            }
            p class="meta" {
                // A job without an expert has no other name than that.
                @if run.state.job.is_none() { "Workflow · " (shown(&run.workflow)) }
                @else if run.workflow == "job" { "Job" }
                @else { "Job · " (shown(&run.workflow)) }
                @if let Some(level) = level { " · level " strong { (shown(level)) } }
                " · " (progress(run))
                @if tally.errors + tally.warnings > 0 {
                    " · " (count(tally.errors, "error")) ", " (count(tally.warnings, "warning"))
                }
                " · " (ago(run.state.created_at, now)) " · " code { (id) }
            }
        }
    }
}

/// How far it is, in words.
pub fn progress(run: &RunRow) -> String {
    if let Some(job) = &run.state.job {
        if job.phase.number == 0 {
            return "not begun".to_owned();
        }
        let todos = &job.phase.todos;
        let done = todos.iter().filter(|todo| todo.done).count();
        let todos = if todos.is_empty() { String::new() } else { format!(", {done}/{} todos", todos.len()) };
        let round = if job.phase.round > 1 { format!(", round {}", job.phase.round) } else { String::new() };
        return format!("phase {} ({}){round}{todos}", job.phase.number, job.phase.kind());
    }
    let phases = &run.state.phases;
    let done = phases.iter().filter(|phase| phase.status != PhaseStatus::NotRun).count();
    format!("{done}/{} phases", phases.len())
}

fn nothing(visit: &Visit, narrowed: bool) -> Markup {
    if narrowed {
        return empty("No such runs", html! { p { a href="/runs" { "Show all" } } });
    }
    empty(
        "Nothing has run yet",
        html! {
            @if visit.may(Act::GiveJob) {
                p { a class="button primary" href="/jobs/new" { "Give an agent a job" } }
            }
            p { "Or run a workflow in a terminal: " code { "checkrein run flow.yaml" } "." }
        },
    )
}
