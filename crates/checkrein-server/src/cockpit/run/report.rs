use std::collections::BTreeMap;

use checkrein_core::finding::{FindingKind, Severity};
use checkrein_core::report::{Noted, Report, status_words};
use maud::{Markup, html};

use super::chart::{Bar, bars};
use super::show::phase_word;
use super::{Tab, name_of, tabs};
use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{count, duration, empty, excerpt, passage, severity, shown, status};
use crate::cockpit::view::{Live, View};
use crate::cockpit::visit::Visit;
use crate::error::Problem;

/// Findings that are on the page; the files have all of them.
const FINDINGS: usize = 300;
const FILES: [(&str, &str); 6] = [
    ("html", "HTML"),
    ("markdown", "Markdown"),
    ("text", "Text"),
    ("json", "JSON"),
    ("junit", "JUnit"),
    ("sarif", "SARIF"),
];

pub fn page() -> Page {
    Page::get("/runs/{id}/report", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let view = visit.engine().run(visit.by()?, visit.path("id")).await?;
    let report = view.report(visit.now());
    let id = &view.run.id;
    let name = name_of(&view);
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/runs" { "Runs" } " / " a href=(link::run(id.as_str())) { (id) } " / report" }
            h1 { (name) }
        }
        (tabs(&view.run, Tab::Report))
        p class="meta" {
            "Download: "
            @for (index, (kind, name)) in FILES.iter().enumerate() {
                @if index > 0 { " · " }
                a href=(format!("/v1/runs/{id}/report?as={kind}")) download=(format!("report-{id}.{kind}")) { (name) }
            }
        }
        div id="report" data-region="" {
            section class="card" {
                dl class="pairs" {
                    dt { "Status" } dd {
                        (status(report.status.name()))
                        @let words = status_words(report.status);
                        @if !words.eq_ignore_ascii_case(&report.status.name().replace('_', " ")) { " " (words) }
                    }
                    @if let Some(reason) = &report.reason { dt { "Reason" } dd { (shown(reason)) } }
                    dt { "Took" } dd { (duration(report.duration_ms)) }
                    dt { "Found" } dd { (count(report.tally.errors, "error")) ", " (count(report.tally.warnings, "warning")) }
                    @if report.truncated.errors + report.truncated.warnings > 0 {
                        dt { "Not kept" } dd { (count(report.truncated.errors, "error")) ", " (count(report.truncated.warnings, "warning")) }
                    }
                }
            }
            @if report.findings.is_empty() {
                (empty("Nothing was found", html! { p { "No step reported a warning or an error." } }))
            } @else {
                div class="charts" { (charts(&report)) }
            }
            (remedies(&report))
            (phase_table(&report))
            (findings(&report))
        }
    };
    Ok(View::new(format!("Report of {name}"), body)
        .at(Place::Runs)
        .live(Live::Run(id.to_string()))
        .about(id)
        .full_width())
}

const KINDS: [(&str, &str); 2] = [("bad", "Errors"), ("waits", "Warnings")];

fn charts(report: &Report) -> Markup {
    let by_phase: Vec<Bar> = report
        .phases
        .iter()
        .map(|phase| Bar {
            label: shown(&phase.name),
            parts: vec![("bad", phase.errors.total()), ("waits", phase.warnings.total())],
        })
        .collect();
    let of = |severity: Severity, kind: FindingKind| {
        let is = |noted: &&Noted| noted.finding.severity == severity && noted.finding.kind == kind;
        report.findings.iter().filter(is).count() as u64
    };
    let by_severity: Vec<Bar> = Severity::ALL
        .into_iter()
        .rev()
        .map(|severity| Bar {
            label: severity.name().to_owned(),
            parts: vec![
                ("bad", of(severity, FindingKind::Error)),
                ("waits", of(severity, FindingKind::Warning)),
            ],
        })
        .collect();
    let mut categories: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for noted in &report.findings {
        let entry = categories.entry(noted.finding.category.to_string()).or_default();
        match noted.finding.kind {
            FindingKind::Error => entry.0 += 1,
            FindingKind::Warning => entry.1 += 1,
        }
    }
    let mut by_category: Vec<Bar> = categories
        .into_iter()
        .map(|(label, (errors, warnings))| Bar {
            label: shown(&label),
            parts: vec![("bad", errors), ("waits", warnings)],
        })
        .collect();
    by_category.sort_by_key(|bar| std::cmp::Reverse(bar.parts.iter().map(|(_, count)| *count).sum::<u64>()));
    by_category.truncate(20);
    html! {
        (bars("By phase", &KINDS, &by_phase))
        (bars("By severity", &KINDS, &by_severity))
        (bars("By category", &KINDS, &by_category))
    }
}

fn remedies(report: &Report) -> Markup {
    html! {
        @if !report.remedies.is_empty() {
            section class="card" {
                h2 { "What can be done" }
                ol class="remedies" {
                    @for remedy in &report.remedies {
                        li {
                            @if let Some((_, level, _)) = &remedy.finding { (severity(*level)) " " }
                            strong { (excerpt(&remedy.title(), 300)) }
                            @if let Some(choice) = remedy.choice { " " span class="badge" { (choice.name()) } }
                            @if remedy.title() != remedy.description { p { (excerpt(&remedy.description, 600)) } }
                            @if let Some(command) = &remedy.command { (passage("Command", "text", shown(command))) }
                            @if let Some(file) = &remedy.file { p class="meta" { "in " code { (shown(file)) } } }
                            p class="meta" { (shown(&remedy.task)) }
                        }
                    }
                }
                p class="hint" { "Commands of remedies run where the work is: " code { "checkrein report " (report.run) } " offers each of them." }
            }
        }
    }
}

fn phase_table(report: &Report) -> Markup {
    html! {
        @if !report.phases.is_empty() {
            section class="card" {
                h2 { "Phases" }
                div class="scroll" tabindex="0" role="region" aria-label="Phases" {
                    table {
                        thead { tr { th scope="col" { "Phase" } th scope="col" { "Status" } th scope="col" class="number" { "Steps" }
                            th scope="col" class="number" { "Errors" } th scope="col" class="number" { "Warnings" } } }
                        tbody {
                            @for phase in &report.phases {
                                tr {
                                    th scope="row" { (shown(&phase.name)) }
                                    td { (status(phase_word(phase, report.status))) }
                                    td class="number" { (phase.steps_done) "/" (phase.steps) }
                                    td class="number" { (phase.errors.total()) }
                                    td class="number" { (phase.warnings.total()) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn findings(report: &Report) -> Markup {
    html! {
        @for (kind, heading) in [(FindingKind::Error, "Errors"), (FindingKind::Warning, "Warnings")] {
            @let found = report.by_step(kind);
            @if !found.is_empty() {
                section class="card" {
                    h2 { (heading) }
                    ul class="findings" {
                        @for noted in found.iter().take(FINDINGS) {
                            li {
                                (severity(noted.finding.severity)) " "
                                span class="meta" { (shown(&noted.finding.category.to_string())) " · " (shown(&noted.task)) @if noted.attempt > 1 { ", attempt " (noted.attempt) } }
                                p { (shown(&noted.finding.text)) }
                                @if let Some(analysis) = &noted.analysis { p class="hint" { (shown(analysis)) } }
                                @if let Some(fix) = &noted.finding.suggested_fix { p class="hint" { "Fix: " (shown(&fix.description)) } }
                            }
                        }
                        @if found.len() > FINDINGS { li class="quiet" { "and " (found.len() - FINDINGS) " more, in the files above" } }
                    }
                }
            }
        }
    }
}
