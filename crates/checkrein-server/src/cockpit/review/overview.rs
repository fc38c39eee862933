//! What a review is about, before its files.

use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::material::Material;
use super::show::short;
use crate::cockpit::parts::{ago, count, passage, sentence, severity, shown as words};
use crate::cockpit::render::markdown::{self, Links};

fn about(material: &Material) -> Markup {
    let review = &material.review;
    let file = |path: &str| super::below(&review.id, "files", &[("path", path)]);
    let links = Links { directory: "", file: Some(&file) };
    html! {
        section class="card overview" {
            h2 { (heading(review.context.as_str().unwrap_or_default())) }
            @if let Some(summary) = review.summary.as_str().filter(|text| !text.trim().is_empty()) {
                div class="md" { (PreEscaped(markdown::render(summary, &links))) }
            }
            @if !review.because.is_empty() {
                h3 { "Why it waits" }
                ul class="because" { @for reason in &review.because { li { (sentence(reason)) } } }
            }
            @if let Some(confidence) = review.confidence.as_f64() {
                p class="meta" { "The agent is " strong { ((confidence * 100.0).round()) " %" } " sure." }
            }
            @let protected = texts(&review.protected);
            @if !protected.is_empty() {
                p class="notice waits" { "Files that the policy protects: " (words(&protected.join(", "))) }
            }
            (todos("Todos of this phase", &review.todos))
            (todos("To do next, once this is approved", &review.next_todos))
            @let deliverables = texts(&review.deliverables);
            @if !deliverables.is_empty() {
                p class="meta" { "Deliverables: " (words(&deliverables.join(", "))) }
            }
        }
    }
}

pub fn shown(material: &Material) -> Markup {
    let review = &material.review;
    html! {
        (about(material))
        @if !review.findings.is_empty() {
            section class="card" {
                h2 { "Findings" }
                ul class="findings" {
                    @for finding in &review.findings {
                        li {
                            (tone(&finding.severity)) " "
                            span class="meta" { (finding.kind) " · " (words(&finding.category)) " · " (words(&finding.phase)) }
                            " " (words(&finding.text))
                        }
                    }
                }
            }
        }
        (documents(material))
    }
}

fn tone(word: &str) -> Markup {
    use checkrein_core::finding::Severity;
    severity(match word {
        "high" => Severity::High,
        "low" => Severity::Low,
        _ => Severity::Medium,
    })
}

fn heading(context: &str) -> &'static str {
    match context {
        "initial_strategic" => "The plan",
        "strategic" => "The next plan",
        "tactical" => "Work",
        "job_complete" => "The result of the job",
        _ => "Review",
    }
}

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn todos(heading: &str, todos: &Value) -> Markup {
    let todos: Vec<(&str, bool)> = todos
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|todo| {
            let done = todo.get("done").and_then(Value::as_bool).unwrap_or(false);
            Some((todo.get("content")?.as_str()?, done))
        })
        .collect();
    html! {
        @if !todos.is_empty() {
            h3 { (heading) }
            ul class="todos" {
                @for (text, done) in todos {
                    li {
                        span role="img" aria-label=(if done { "done" } else { "to do" }) { (if done { "☑" } else { "☐" }) }
                        " " (words(text))
                    }
                }
            }
        }
    }
}

/// The job's documents that did not change in what is reviewed: to look something up.
fn documents(material: &Material) -> Markup {
    let review = &material.review;
    let changed = |path: &str| review.diff.files.iter().any(|file| file.path == path);
    let file = |path: &str| super::below(&review.id, "files", &[("path", path)]);
    let links = Links { directory: material.own.trim_end_matches('/'), file: Some(&file) };
    html! {
        @for (index, artefact) in review.artefacts.iter().enumerate() {
            @if !changed(&artefact.path) {
                details class="card document" id={ "doc-" (index) } {
                    summary { h2 { (words(&artefact.path)) span class="quiet" { " did not change" } } }
                    @if artefact.path.ends_with(".md") {
                        div class="md" { (PreEscaped(markdown::render(&artefact.text, &links))) }
                    } @else {
                        (passage(&words(&artefact.path), "text", words(&artefact.text)))
                    }
                }
            }
        }
    }
}

pub fn commits(material: &Material) -> Markup {
    let review = &material.review;
    let now = checkrein_engine::now();
    let total = u64::try_from(review.commits.len()).unwrap_or(u64::MAX);
    html! {
        section class="card" id="commits" {
            h2 { (count(total, "commit")) }
            ol class="commits" {
                @for commit in &review.commits {
                    li {
                        code { (short(&commit.id)) } " "
                        (words(commit.message.lines().next().unwrap_or_default()))
                        span class="meta" {
                            " by " (words(&commit.author))
                            @if commit.human { " " span class="badge busy-still" { "a person" } }
                            @if let Some(at) = commit.at { ", " (ago(at, now)) }
                        }
                    }
                }
            }
            @if let Some(url) = &review.clone_url {
                p class="meta" { "To work on it with git: " code { "git clone " (url) } }
            }
        }
    }
}
