use checkrein_core::run::{PhaseStatus, RunEvent, RunStatus};
use checkrein_engine::{Act, AskKind, AttemptOutput, CheckpointView, JobView, RunView};
use jiff::Timestamp;
use maud::{Markup, PreEscaped, html};

use super::actions::actions;
use super::told::{self, spent};
use super::{Tab, name_of, tabs};
use crate::cockpit::chat;
use crate::cockpit::checkpoint::decide;
use crate::cockpit::link;
use crate::cockpit::mask::Mask;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{
    ago, count, duration, excerpt, passage, pull_request, sentence, settled, shown, status, words_of,
};
use crate::cockpit::render::markdown::{self, Links};
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use checkrein_core::activity;
use checkrein_core::report::{PhaseRow, Report};

/// The end of the log that is shown here; the page of the output has all of it.
const LOG_BYTES: u64 = 16 << 10;
/// The newest events that are shown here; the page of the audit has all of them.
const EVENTS: usize = 1_000;

pub fn page() -> Page {
    Page::get("/runs/{id}", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let by = visit.by()?;
    let run = visit.engine().run(by, visit.path("id")).await?;
    let (run, job) = if run.run.job().is_some() {
        let job = visit.engine().job(by, run.run.id.as_str()).await?;
        (job.view.clone(), Some(job))
    } else {
        (run, None)
    };
    let asked = match &run.checkpoint {
        Some(id) => Some(visit.engine().checkpoint(by, id).await?),
        None => None,
    };
    let chat = match &job {
        Some(job) if visit.may(Act::ReadChat) => Some(chat::of(&visit, &job.view.run.id).await?),
        _ => None,
    };
    let log = visit.engine().run_output_end(by, &run, LOG_BYTES).await?;
    let so_far = visit.engine().run_activity(by, run.run.id.as_str(), None, 0).await?;
    let now = visit.now();
    let report = run.report(now);
    let name = name_of(&run);
    let id = &run.run.id;
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/runs" { "Runs" } " / " (id) }
            h1 { (name) }
            div id="status" data-region="" { (status(run.run.state.status_word())) }
        }
        (tabs(&run.run, Tab::Overview))
        div id="waits" data-region="" {
            @if let Some(asked) = &asked { (waits(&visit, asked)?) }
            @if let Some(reason) = report.reason.as_ref().filter(|_| asked.is_none()) {
                p class="notice" { (shown(reason)) }
            }
        }
        div id="actions" data-region="" { (actions(&visit, &run.run)) }
        div class="sides" {
            div {
                @if let Some(job) = &job { (asked_for(&visit, job)) }
                @if let Some(view) = &chat { (chat::panel(&visit, &chat::Talk::about(id, view), &link::run(id.as_str()))) }
                section id="timeline" data-region="" class="card" aria-label="Timeline" {
                    h2 { "What happened" }
                    (timeline(&run, now))
                }
            }
            div {
                section id="facts" data-region="" class="card" { (facts(&run, &report, now)) }
                section id="phases" data-region="" class="card" { (phases(&report)) }
                @if let Some(job) = &job { (todos(job)) }
                section class="card" aria-labelledby="log-title" {
                    h2 id="log-title" { "Log" }
                    div id="agent" data-region="" {
                        @if run.run.state.under_way.is_some() || so_far.tokens > 0 {
                            p class="meta" {
                                @if run.run.state.under_way.is_some() { span data-works="" { "An agent or a step works. " } }
                                @if so_far.tokens > 0 { (activity::used(so_far.tokens, so_far.cost)) " so far" }
                            }
                        }
                    }
                    div id="log" data-region="" data-tail="" class="log" tabindex="0" role="region" aria-label="The end of the log" {
                        (end_of_log(log.as_ref()))
                    }
                    p { a href=(link::to(&["runs", id.as_str(), "output"])) { "All output" } }
                    @if run.run.job().is_some() && !run.run.state.status.is_over() && visit.may(Act::Comment) {
                        (message(&visit, id.as_str()))
                    }
                }
                section id="artefacts" data-region="" class="card" { (artefacts(&report, job.as_ref())) }
            }
        }
    };
    let view = View::new(name, body).at(Place::Runs).live(Live::Run(id.to_string())).about(id).full_width();
    Ok(match chat {
        Some(_) => view.with_file("chat.css").with_file("chat.js"),
        None => view,
    })
}

/// What it asks right now, to be answered here.
fn waits(visit: &Visit, asked: &CheckpointView) -> Result<Markup, Problem> {
    let asks = visit.engine().asks(&asked.checkpoint, asked.content.as_ref())?;
    let id = asked.checkpoint.id.as_str();
    let page = match asks.kind {
        AskKind::Review => link::review(id),
        AskKind::Worker | AskKind::CheckIn => link::checkpoint(id),
    };
    Ok(html! {
        section class="notice waits" aria-label="Waits for a person" {
            h2 { a href=(page) { (shown(&asks.question)) } }
            @if !asks.because.is_empty() {
                ul class="because" { @for reason in &asks.because { li { (sentence(reason)) } } }
            }
            @if !asks.about.is_empty() { p { (excerpt(&asks.about, 400)) } }
            @if visit.may(Act::GiveVerdict) {
                (decide::form(visit, &asked.checkpoint, &asks, Some(page.as_str()).filter(|_| asks.kind == AskKind::Review)))
            }
        }
    })
}

fn facts(run: &RunView, report: &Report, now: Timestamp) -> Markup {
    let state = &run.run.state;
    let policy = run.run.policy();
    html! {
        h2 { "At a glance" }
        dl class="pairs" {
            dt { "Level" } dd { (policy.level.as_deref().map_or_else(|| "as its settings say".to_owned(), shown)) }
            @if run.run.job().is_none() { dt { "Workflow" } dd { (shown(&run.row.workflow)) } }
            @else if run.row.workflow != "job" { dt { "Expert" } dd { (shown(&run.row.workflow)) } }
            @if let Some(work_id) = &run.row.work_id { dt { "Work item" } dd { (shown(work_id)) } }
            @if let Some(of) = &run.row.rerun_of { dt { "Again after" } dd { a href=(link::run(of)) { (of) } } }
            @if let Some((number, url, settled)) = pull(run) {
                dt { "Forge" } dd { (pull_request(number, &url)) (settled) }
            }
            dt { "Given" } dd { (ago(state.created_at, now)) }
            dt { "Took" } dd { (duration(report.duration_ms)) }
            @if report.waited.holds > 0 {
                dt { "Waited" } dd { (duration(report.waited.waited_ms)) " in " (count(report.waited.holds, "hold")) }
            }
            dt { "Found" } dd { (count(state.tally.errors, "error")) ", " (count(state.tally.warnings, "warning")) }
            dt { "Used" } dd { (report.spent.as_ref().and_then(spent).unwrap_or_else(|| "no tokens recorded".to_owned())) }
            @if let Some(stopped) = &state.stopped { dt { "Stopped by" } dd { (shown(&stopped.reason)) } }
        }
    }
}

/// The pull request of the phase a job is in.
fn pull(run: &RunView) -> Option<(u64, String, &'static str)> {
    let link = run.forge_link(&run.run.job()?.1.phase.name())?;
    Some((link.number?, link.url?, settled(link.settled)))
}

fn phases(report: &Report) -> Markup {
    html! {
        h2 { "Phases" }
        @if report.phases.is_empty() { p class="quiet" { "None has begun." } }
        ol class="phases" {
            @for phase in &report.phases {
                li {
                    strong { (shown(&phase.name)) } " " (status(phase_word(phase, report.status)))
                    span class="meta" { " " (facts_of(phase).join(" · ")) }
                }
            }
        }
    }
}

/// What is to be known of a phase beside its status.
fn facts_of(phase: &PhaseRow) -> Vec<String> {
    let steps = (phase.steps > 0).then(|| format!("{}/{} steps", phase.steps_done, phase.steps));
    let (errors, warnings) = (phase.errors.total(), phase.warnings.total());
    let found = (errors + warnings > 0)
        .then(|| format!("{}, {}", count(errors, "error"), count(warnings, "warning")));
    [steps, phase.review.as_deref().map(shown), found].into_iter().flatten().collect()
}

/// A phase is under way only while its run is.
pub fn phase_word(phase: &PhaseRow, run: RunStatus) -> &'static str {
    match phase.status {
        PhaseStatus::Skipped => "skipped",
        PhaseStatus::Failure => "failure",
        _ if phase.unfinished && run.is_at_rest() => run.name(),
        _ if phase.unfinished => "under way",
        PhaseStatus::NotRun => "not run",
        PhaseStatus::Warning => "warning",
        PhaseStatus::Success => "success",
    }
}

/// What a job is to do, in the words it was given in, and how its agent means to do it.
fn asked_for(visit: &Visit, job: &JobView) -> Markup {
    let Some((definition, _)) = job.view.run.job() else { return Markup::default() };
    // Rendered, a secret may be in pieces; it is taken out before.
    let mask = Mask::new(&visit.call.app, std::slice::from_ref(&job.view.run.id));
    let plan = job.plan.as_deref().map(|plan| markdown::render(&mask.string(plan), &Links::NONE));
    html! {
        section id="plan" data-region="" class="card" {
            h2 { "What was asked" }
            p class="lines" { (shown(definition.description.trim_end())) }
            @if let Some(plan) = plan {
                details id="plan-text" { summary { "The plan" } div class="md" { (PreEscaped(plan)) } }
            }
        }
    }
}

fn todos(job: &JobView) -> Markup {
    let Some((_, state)) = job.view.run.job() else { return Markup::default() };
    let list = |heading: &str, todos: &[checkrein_core::run::job::Todo]| {
        html! {
            @if !todos.is_empty() {
                h3 { (heading) }
                ul class="todos" {
                    @for todo in todos {
                        li class=[todo.done.then_some("done")] {
                            span aria-hidden="true" { @if todo.done { "☑" } @else { "☐" } } " "
                            (shown(&todo.content)) @if todo.done { span class="unseen" { " (done)" } }
                        }
                    }
                }
            }
        }
    };
    html! {
        section id="todos" data-region="" class="card" {
            h2 { "Todos" }
            @if state.phase.todos.is_empty() && state.staged.is_empty() { p class="quiet" { "None yet: the plan makes them." } }
            (list("In this phase", &state.phase.todos))
            (list("Next", &state.staged))
        }
    }
}

fn artefacts(report: &Report, job: Option<&JobView>) -> Markup {
    let work = job.and_then(|job| job.view.run.job()).and_then(|(_, state)| state.phase.work.as_deref());
    let documents = job
        .and_then(|job| job.view.run.job())
        .map(|(definition, _)| definition.documents.as_slice())
        .unwrap_or_default();
    let branches = job.map(|job| job.branches.as_slice()).unwrap_or_default();
    let none = report.artifacts.is_empty() && work.is_none() && documents.is_empty() && branches.is_empty();
    html! {
        h2 { "Artefacts" }
        @if none { p class="quiet" { "None yet." } }
        @if !report.artifacts.is_empty() {
            ul { @for artifact in &report.artifacts { li { code { (shown(&words_of(artifact))) } } } }
        }
        @if let Some(work) = work {
            @let (_, files, total) = work.looked_at();
            h3 { (count(total as u64, "file")) " changed" }
            ul class="files" {
                @for file in files.iter().take(50) {
                    li { code { (shown(&file.path)) } span class="meta" { " " (shown(&file.change)) " +" (file.added) " −" (file.removed) } }
                }
                @if total > 50 { li class="quiet" { "and " (total - 50) " more" } }
            }
            @if !work.result.deliverables.is_empty() {
                h3 { "Deliverables" }
                ul { @for path in &work.result.deliverables { li { code { (shown(path)) } } } }
            }
        }
        @if !documents.is_empty() {
            h3 { "Documents it was given" }
            ul { @for name in documents { li { code { (shown(name)) } } } }
        }
        @if !branches.is_empty() {
            h3 { "Branches" }
            ul { @for (name, head) in branches { li { code { (shown(name)) } span class="meta" { " " (head.to_string().chars().take(10).collect::<String>()) } } } }
        }
    }
}

/// Something to say to an agent that works, or will.
fn message(visit: &Visit, id: &str) -> Markup {
    visit.form(
        &link::to(&["runs", id, "message"]),
        "",
        html! {
            label { "Say something to the agent" textarea name="text" rows="2" required maxlength="4000" {} }
            p { button { "Send" } }
        },
    )
}

fn end_of_log(log: Option<&AttemptOutput>) -> Markup {
    let text = |bytes: &[u8]| shown(&activity::told(&String::from_utf8_lossy(bytes)));
    html! {
        @match log {
            None => p class="quiet" { "Nothing was written yet." },
            Some(log) => {
                p class="meta" { (shown(&log.task)) @if log.attempt > 1 { ", attempt " (log.attempt) } }
                @if log.stdout.is_empty() && log.stderr.is_empty() { p class="quiet" { "It wrote nothing." } }
                @if !log.stdout.is_empty() { (passage("Output", "", text(&log.stdout))) }
                @if !log.stderr.is_empty() { (passage("Standard error", "stderr", text(&log.stderr))) }
            }
        }
    }
}

/// A phase, and what happened in it.
type Part<'r> = (String, Vec<&'r (u64, Timestamp, RunEvent)>);

/// By phase; what is over is folded away.
fn timeline(run: &RunView, now: Timestamp) -> Markup {
    let skipped = run.history.len().saturating_sub(EVENTS);
    let mut parts: Vec<Part<'_>> = vec![("Start".to_owned(), Vec::new())];
    for entry in run.history.iter().skip(skipped) {
        if let Some(phase) = told::begins(&entry.2) {
            parts.push((phase.to_owned(), Vec::new()));
        }
        if let Some((_, entries)) = parts.last_mut() {
            entries.push(entry);
        }
    }
    parts.retain(|(_, entries)| !entries.is_empty());
    let last = parts.len().saturating_sub(1);
    let id = &run.run.id;
    html! {
        @if skipped > 0 {
            p class="hint" { "The newest " (EVENTS) " of " (run.history.len()) " events. "
                a href=(link::to(&["runs", id.as_str(), "audit"])) { "All of them" } }
        }
        @for (index, (phase, entries)) in parts.iter().enumerate() {
            details id={ "part-" (entries.first().map_or(0, |entry| entry.0)) } open[index + 3 > last || parts.len() < 6] {
                summary { strong { (shown(phase)) } span class="meta" { " " (count(entries.len() as u64, "event")) } }
                ol class="timeline" {
                    @for (seq, at, event) in entries {
                        @let told = told::tell(id, event);
                        li class=(told.tone) id={ "e-" (seq) } {
                            div { (told.text) }
                            (ago(*at, now))
                        }
                    }
                }
            }
        }
    }
}
