use checkrein_core::frame::{FlameStyle, FlameWidth, Frame, FrameTree, flame_graph};
use checkrein_core::shown::harmless;
use checkrein_engine::SessionWanted;
use maud::{Markup, PreEscaped, html};

use crate::cockpit::link;
use crate::cockpit::navigation::Place;
use crate::cockpit::page::Page;
use crate::cockpit::parts::{ago, count, passage, shown, status};
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::get("/frames/{id}", show)
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let wanted = SessionWanted { id: Some(visit.path("id").to_owned()), directory: None };
    let stored = visit.engine().frame_session(visit.by()?, &wanted).await?;
    let (session, id) = (&stored.session, stored.session.id.clone());
    let width = match visit.query.filled("width") {
        Some("time") => FlameWidth::Time,
        _ => FlameWidth::Tokens,
    };
    let search = visit.query.filled("search");
    let picked = visit.query.filled("frame");
    let here = link::to(&["frames", &id]);
    let frame = match picked {
        Some(picked) => Some(session.named(Some(picked)).map_err(checkrein_engine::EngineError::from)?),
        None => session.tree.current(),
    };
    let log = match frame {
        Some(frame) => visit.engine().frame_log(visit.by()?, &wanted, Some(&frame.id)).await?,
        None => String::new(),
    };
    let query = [("width", width.name()), ("search", search.unwrap_or_default()), ("frame", "")];
    // The id of a frame is added at the end, so the last field is left open.
    let lead = format!("{}&frame=", link::with_query(&here, &query));
    let now_ms = u64::try_from(visit.now().as_millisecond()).unwrap_or(0);
    let picture = flame_graph(&session.tree, FlameStyle { width, link: Some(&lead), search, now_ms });
    let goal = session.tree.roots().next().map_or("No frame yet", |root| root.goal.as_str());
    let body = html! {
        div class="head" {
            p class="crumbs" { a href="/frames" { "Frames" } " / " (id) }
            h1 { (shown(goal)) }
            p class="meta" {
                @if let Some(client) = &session.state.client { (shown(client)) " · " }
                @if let Some(directory) = &stored.directory { (shown(directory)) " · " }
                "changed " (ago(stored.updated_at, visit.now()))
            }
        }
        form method="get" action=(here) class="inline" {
            label { "Search" input type="search" name="search" value=(search.unwrap_or_default()) data-search=""; }
            label { "Width by"
                select name="width" {
                    @for one in FlameWidth::ALL {
                        option value=(one.name()) selected[one == width] { (one.name()) }
                    }
                }
            }
            @if let Some(picked) = picked { input type="hidden" name="frame" value=(picked); }
            button { "Show" }
        }
        // INVARIANT: whatever agents wrote is escaped where the picture is made.
        section id="flame" data-region="" class="card" aria-label="Flame graph" { (PreEscaped(picture)) }
        @let pending = pending(&visit, session);
        section id="suggested" data-region="" {
            @if !pending.is_empty() {
                h2 { "Suggested" }
                ul { @for line in &pending { li { (shown(line)) } } }
            }
        }
        @if let Some(frame) = frame { (detail(&session.tree, frame, &lead, &log)) }
        (outline(&session.tree, &lead))
    };
    Ok(View::new(format!("Frames of {id}"), body).at(Place::Frames).with_file("frames.js").full_width())
}

fn pending(visit: &Visit, session: &checkrein_core::frame::FrameSession) -> Vec<String> {
    let now_ms = u64::try_from(visit.now().as_millisecond()).unwrap_or(0);
    session.suggestions.pending(&session.id, now_ms).map(|suggestion| suggestion.text()).collect()
}

/// One frame: what it is for, what came of it, and its log.
fn detail(tree: &FrameTree, frame: &Frame, lead: &str, log: &str) -> Markup {
    let path: Vec<&Frame> = tree.ancestors(&frame.id).collect();
    html! {
        section id="frame" data-region="" class="card" {
            p class="crumbs" {
                @for above in path.iter().rev() { a href={ (lead) (above.id) } { (above.id) } " / " }
                (frame.id)
            }
            h2 { (shown(&frame.goal)) }
            p { (status(frame.status.name()))
                @if let Some(agent) = &frame.agent { " · " (shown(agent)) }
                " · " (count(frame.signals.messages, "message")) " · " (count(frame.signals.files.len() as u64, "file")) " · "
                (count(frame.signals.errors, "error")) " · " (count(frame.signals.tokens, "token"))
            }
            @if let Some(summary) = &frame.summary { h3 { "Summary" } (passage("Summary", "text", harmless(summary))) }
            @if let Some(reason) = &frame.invalidation_reason { h3 { "Withdrawn because" } p { (shown(reason)) } }
            @for (heading, texts) in [("Artifacts", &frame.artifacts), ("Decisions", &frame.decisions)] {
                @if !texts.is_empty() {
                    h3 { (heading) }
                    ul { @for text in texts { li { (shown(text)) } } }
                }
            }
            h3 { "Log" }
            @if log.is_empty() { p class="quiet" { "Nothing is written yet." } }
            @else { (passage("Log", "text", harmless(log))) }
            @if let Some(path) = &frame.log_path { p class="meta" { "The whole log: " code { (shown(path)) } } }
        }
    }
}

/// The same tree as text, for whoever does not see the picture.
fn outline(tree: &FrameTree, lead: &str) -> Markup {
    html! {
        details id="outline" class="card" {
            summary { "All frames as a list" }
            ol id="frames" data-region="" {
                @for frame in tree.listed() {
                    li {
                        a href={ (lead) (frame.id) } { (frame.id) } " " (status(frame.status.name())) " " (shown(&frame.goal))
                        @if let Some(parent) = &frame.parent { span class="meta" { " below " (parent) } }
                    }
                }
            }
        }
    }
}
