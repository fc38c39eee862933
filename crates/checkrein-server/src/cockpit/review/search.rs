//! Searching the workspace under review: a box beside the review, and what was found. Without a script the box leads to
//! a page of its own.

use std::time::Duration;

use checkrein_engine::{SearchAnswer, SearchBy, SearchHit, SearchRequest};
use maud::{Markup, html};

use super::below;
use crate::cockpit::link;
use crate::cockpit::mask::Mask;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{count, shown};
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

pub fn page() -> Page {
    Page::get("/reviews/{id}/search", show)
}

/// A question is a sentence or two.
const QUERY_CHARS_MAX: usize = 1_000;
const HITS: usize = 20;
/// What was just frozen is read before the page comes, if that is soon done.
const PATIENCE: Duration = Duration::from_secs(2);

/// Ways to look, as the form names them.
const WAYS: [(&str, SearchBy, &str); 3] = [
    ("both", SearchBy::Both, "words and meaning"),
    ("words", SearchBy::Words, "words alone"),
    ("meaning", SearchBy::Meaning, "meaning alone"),
];

async fn show(visit: Visit) -> Result<View, Problem> {
    let (engine, by) = (visit.engine(), visit.by()?);
    let checkpoint = engine.checkpoint(by, visit.path("id")).await?.checkpoint;
    let id = checkpoint.id.to_string();
    let none = || Problem::new(Kind::NotFound, format!("`{id}` is no review of a job"));
    let run = checkpoint.run.as_deref().map(checkrein_core::run::RunId::new).ok_or_else(none)?;
    let asked = Asked::of(&visit);
    let found = match &asked.query {
        None => None,
        Some(query) => {
            let request = SearchRequest {
                query: query.clone(),
                by: asked.by,
                file: asked.file.clone(),
                phase: asked.phase.clone(),
                limit: HITS,
                patience: PATIENCE,
            };
            Some(match engine.search(by, run.as_str(), &request).await.map_err(Problem::from) {
                // That there is nothing to search, and why, is an answer.
                Err(problem) if matches!(problem.kind, Kind::RunRefused | Kind::Internal) => Err(problem),
                answer => Ok(answer?),
            })
        }
    };
    let mask = Mask::new(&visit.call.app, std::slice::from_ref(&run));
    let body = html! {
        div class="head" {
            p class="crumbs" { a href=(link::review(&id)) { "Review" } " / Search" }
            h1 { "Search the workspace" }
        }
        (form(&id, &asked))
        div id="found" class="found" data-region="" aria-live="polite" {
            @match &found {
                None => { p class="empty" { "Ask for words, or a question: plans, todos, the archive and every Markdown file are searched." } }
                Some(Err(problem)) => { p class="notice waits" { (shown(&problem.detail)) } }
                Some(Ok(answer)) => { (answered(&id, answer, &mask)) }
            }
        }
    };
    let title = asked.query.as_deref().map_or("Search".to_owned(), |query| format!("Search: {query}"));
    Ok(View::new(title, body).at(Place::Inbox).about(&run).with_file("review.css"))
}

/// What the form says.
struct Asked {
    query: Option<String>,
    by: SearchBy,
    file: Option<String>,
    phase: Option<String>,
}

impl Asked {
    fn of(visit: &Visit) -> Asked {
        let text =
            |name: &str| visit.query.filled(name).map(|text| text.chars().take(QUERY_CHARS_MAX).collect());
        let way = visit.query.get("by").and_then(|by| WAYS.iter().find(|(name, _, _)| *name == by));
        Asked {
            query: text("q"),
            by: way.map_or(SearchBy::Both, |(_, by, _)| *by),
            file: text("file"),
            phase: text("phase"),
        }
    }
}

/// The box beside a review.
pub fn small(id: &str) -> Markup {
    html! {
        section class="card search" id="search" {
            h2 { "Search" }
            form method="get" action=(below(id, "search", &[])) role="search" data-search="" {
                label for="search-q" class="vh" { "Search the workspace" }
                input id="search-q" type="search" name="q" required maxlength=(QUERY_CHARS_MAX) placeholder="words, or a question" autocomplete="off";
                button { "Search" }
            }
            div id="search-found" aria-live="polite" {}
        }
    }
}

/// The whole form, with what can be chosen.
fn form(id: &str, asked: &Asked) -> Markup {
    html! {
        form method="get" action=(below(id, "search", &[])) role="search" class="card search-form" {
            div class="field" {
                label for="q" { "Words, or a question" }
                input id="q" type="search" name="q" required maxlength=(QUERY_CHARS_MAX) value=[asked.query.as_deref()] autocomplete="off";
            }
            div class="field" {
                label for="by" { "By" }
                select id="by" name="by" {
                    @for (name, by, words) in WAYS { option value=(name) selected[asked.by == by] { (words) } }
                }
            }
            div class="field" {
                label for="file" { "File" }
                input id="file" name="file" value=[asked.file.as_deref()] placeholder="plan.md, archive/**";
            }
            div class="field" {
                label for="phase" { "Phase" }
                input id="phase" name="phase" value=[asked.phase.as_deref()] placeholder="2";
            }
            button class="primary" { "Search" }
        }
    }
}

fn answered(id: &str, answer: &SearchAnswer, mask: &Mask<'_>) -> Markup {
    html! {
        p class="meta" {
            (count(answer.hits.len() as u64, "passage")) " of " (answer.chunks) ", as held at "
            code { (answer.head.get(..10).unwrap_or(&answer.head)) } " (" (shown(&answer.phase)) ")"
        }
        @for note in &answer.notes { p class="notice waits" { (shown(note)) } }
        @if answer.hits.is_empty() { p class="empty" { "Nothing was found." } }
        ol class="hits" { @for hit in &answer.hits { (shown_hit(id, hit, mask)) } }
    }
}

fn shown_hit(id: &str, hit: &SearchHit, mask: &Mask<'_>) -> Markup {
    let line = hit.first_line.to_string();
    let address = below(id, "files", &[("path", &hit.file), ("as", "source")]);
    let lines = match hit.first_line == hit.last_line {
        true => format!("line {line}"),
        false => format!("lines {line}–{}", hit.last_line),
    };
    html! {
        li class="hit" data-row="" {
            p class="place" {
                a href={ (address) "#L" (line) } data-open="" { strong { (shown(&hit.file)) } " " span class="quiet" { (lines) } }
                @if let Some(phase) = &hit.phase { " " span class="badge" { (shown(phase)) } }
            }
            @if !hit.heading.is_empty() { p class="heading quiet" { (shown(&hit.heading)) } }
            p class="snippet" { (marked(&hit.snippet.text, &hit.snippet.marks, mask)) }
        }
    }
}

/// A text with what was asked for marked. A mark must not cut a secret in two: where there is one, nothing is marked.
fn marked(text: &str, marks: &[(usize, usize)], mask: &Mask<'_>) -> Markup {
    let clean = mask.string(text);
    if clean != text {
        return html! { (shown(&clean)) };
    }
    let part = |from: usize, to: usize| -> String {
        shown(&text.chars().skip(from).take(to.saturating_sub(from)).collect::<String>())
    };
    let mut at = 0;
    let mut pieces = Vec::new();
    for (from, to) in marks.iter().filter(|(from, to)| from < to) {
        if *from < at {
            continue;
        }
        pieces.push((part(at, *from), part(*from, *to)));
        at = *to;
    }
    let rest = part(at, usize::MAX);
    html! { @for (before, mark) in &pieces { (before) mark { (mark) } } (rest) }
}
