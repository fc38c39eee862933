//! The companion of a job: what was said, what is proposed, and a place to ask. The panel is part of the form that gives a
//! job, of the page of a job and of its review, and a page of its own.

pub mod ask;
pub mod before;
pub mod settle;
pub mod show;

use checkrein_core::companion::{Message, MessageStatus, Proposal, ProposalStatus, Proposed, Stage};
use checkrein_core::run::RunId;
use checkrein_engine::{Act, ChatOf, ChatView};
use maud::{Markup, PreEscaped, html};

use super::link;
use super::parts::{ago, count, passage, shown};
use super::render::markdown::{self, Links};
use super::visit::Visit;
use crate::error::Problem;

/// The newest messages that are shown.
const SHOWN: usize = 200;

/// A conversation, and where it is.
pub struct Talk<'v> {
    view: &'v ChatView,
    /// The page that has its panel; the script looks at it again.
    page: String,
    /// Where its form leads without a script.
    form: String,
    /// Where its questions go over HTTP, and where it is followed; nowhere before it is begun.
    at: Option<(String, String)>,
}

impl<'v> Talk<'v> {
    /// The one about a job.
    pub fn about(run: &RunId, view: &'v ChatView) -> Talk<'v> {
        let page = link::to(&["runs", run.as_str(), "chat"]);
        let over_http = link::to(&["v1", "runs", run.as_str(), "chat"]);
        Talk { view, form: page.clone(), page, at: Some((over_http.clone(), over_http)) }
    }

    /// One before there is a job, which somebody has begun or not.
    pub fn before_job(view: &'v ChatView) -> Talk<'v> {
        match &view.id {
            Some(id) => {
                let over_http = link::to(&["v1", "chats", id]);
                let at = (format!("{over_http}/messages"), over_http);
                Talk { view, page: before::address(id), form: link::to(&["chats", id]), at: Some(at) }
            }
            None => Talk { view, page: "/jobs/new".to_owned(), form: "/chats".to_owned(), at: None },
        }
    }
}

/// What was said about a job, the newest of it.
pub async fn of(visit: &Visit, run: &RunId) -> Result<ChatView, Problem> {
    newest(visit, &ChatOf::Run(run.to_string())).await
}

/// The newest of a conversation.
pub async fn newest(visit: &Visit, of: &ChatOf) -> Result<ChatView, Problem> {
    let (engine, by) = (visit.engine(), visit.by()?);
    let mut view = engine.chat(by, of, 0, SHOWN).await?;
    while let Some(next) = view.next {
        let more = engine.chat(by, of, next, SHOWN).await?;
        view.messages.extend(more.messages);
        view.next = more.next;
        let old = view.messages.len().saturating_sub(SHOWN);
        view.messages.drain(..old);
    }
    Ok(view)
}

/// The panel; `back` is where its forms lead.
pub fn panel(visit: &Visit, talk: &Talk<'_>, back: &str) -> Markup {
    let Talk { view, page, form, at } = talk;
    let (asks, follows) = at.as_ref().map(|(asks, follows)| (asks.as_str(), follows.as_str())).unzip();
    let begins = at.is_none().then_some("/v1/chats");
    html! {
        section class="card chat" id="chat" aria-labelledby="chat-title" data-page=(page) data-asks=[asks] data-follows=[follows] data-begins=[begins] {
            h2 id="chat-title" { "Companion" }
            p class="hint" id="chat-about" { (about(visit, view.stage)) }
            @for note in &view.notes { div class="notice md" { (PreEscaped(markdown::render(note, &Links::NONE))) } }
            (said(visit, view, back))
            @if visit.may(Act::Ask) {
                form method="post" action=(form) data-ask="" {
                    (visit.proof())
                    input type="hidden" name="back" value=(back);
                    label for="ask" { "Your question" }
                    textarea id="ask" name="text" rows="2" maxlength="20000" data-draft="ask" {}
                    p class="actions" { button class="primary" { "Ask" } }
                    p class="openings" id="chat-openings" role="group" aria-label="Questions to begin with" {
                        @for question in view.stage.questions() {
                            button name="question" value=(question) { (question) }
                        }
                    }
                }
            } @else {
                p class="hint" { "A reviewer asks; your role reads." }
            }
        }
    }
}

/// What it is good for now, and what stays a person's.
fn about(visit: &Visit, stage: Stage) -> Markup {
    html! {
        "It " (stage.about()) ". "
        @match stage {
            Stage::BeforeJob => { "What it writes down fills in the form; you give the job." }
            Stage::PostMortem => { "It changes nothing." }
            Stage::PlanReview | Stage::MidExecution | Stage::ResultReview => {
                @if visit.may(Act::Ask) { "What it proposes is done by you, in your name; it decides nothing." }
                @else { "What it proposes is done by a person, in their name; it decides nothing." }
            }
        }
    }
}

/// The part that is fetched again when something was said.
fn said(visit: &Visit, view: &ChatView, back: &str) -> Markup {
    html! {
        div id="chat-said" class="said" role="log" aria-label="Conversation with the companion" tabindex="0" {
            @for message in &view.messages {
                (one(visit, message))
                @if let Some(run) = &view.run {
                    @for proposal in view.proposals.iter().filter(|proposal| proposal.message == message.id) {
                        (proposed(visit, run, proposal, back))
                    }
                }
            }
            @if view.messages.is_empty() { p class="quiet" { "Nobody has asked anything yet." } }
        }
    }
}

fn one(visit: &Visit, message: &Message) -> Markup {
    let by = message.speaker.person();
    html! {
        article class={ "message" @if by.is_none() { " companion" } } data-id=(message.id) data-status=(message.status.name()) {
            p class="meta" {
                strong { (shown(by.unwrap_or("Companion"))) } " · " (ago(message.said_at, visit.now()))
                @match message.status {
                    MessageStatus::Done => {}
                    MessageStatus::Writing => { " " span class="badge busy" { "is writing" } }
                    MessageStatus::BrokenOff => { " " span class="badge bad" { "broken off" } }
                }
            }
            @if by.is_some() { p class="asked" { (shown(&message.text)) } }
            @else { div class="md" { (PreEscaped(markdown::render(&message.text, &Links::NONE))) } }
            @if !message.uses.is_empty() {
                details class="uses" {
                    summary { "Looked with " (count(message.uses.len() as u64, "tool")) }
                    ul { @for used in &message.uses { li { code { (shown(&used.tool)) } " " (shown(&used.about)) @if used.failed { " (found nothing)" } } } }
                }
            }
            @if let Some(note) = &message.note { p class="hint" { (shown(note)) } }
        }
    }
}

fn proposed(visit: &Visit, run: &RunId, proposal: &Proposal, back: &str) -> Markup {
    let (act, what, verb) = match &proposal.proposed {
        Proposed::File { .. } => (Act::PushToBranches, "a change of ", "Apply as a commit in my name"),
        Proposed::Comment { .. } => (Act::Comment, "a comment", "Post it in my name"),
    };
    let action = link::to(&["runs", run.as_str(), "chat", &proposal.id]);
    html! {
        article class="proposal" id={ "proposal-" (proposal.id) } data-status=(proposal.status.name()) {
            p class="meta" {
                strong { (proposal.id) } " proposes " (what)
                @match &proposal.proposed {
                    Proposed::File { path, .. } => { code { (shown(path)) } }
                    Proposed::Comment { file: Some(file), line, .. } => {
                        " on " code { (shown(file)) @if let Some(line) = line { ":" (line) } }
                    }
                    Proposed::Comment { file: None, .. } => {}
                }
                " for " (shown(&proposal.asked_by))
            }
            @match &proposal.proposed {
                Proposed::File { diff, .. } => { (passage("What would change", "text difference", coloured(diff))) }
                Proposed::Comment { text, .. } => { blockquote { (shown(text)) } }
            }
            @match (proposal.status, &proposal.settled) {
                (ProposalStatus::Proposed, _) if visit.may(act) => {
                    form method="post" action=(action) class="actions" {
                        (visit.proof())
                        input type="hidden" name="back" value=(back);
                        button name="do" value="apply" class="primary" { (verb) }
                        button name="do" value="discard" { "Discard" }
                    }
                }
                (ProposalStatus::Proposed, _) => { p class="hint" { "A reviewer decides whether it is done." } }
                (status, Some((by, at))) => {
                    p class="hint" {
                        span class={ "badge " @if status == ProposalStatus::Applied { "good" } } { (status.name()) }
                        " by " (shown(by)) " " (ago(*at, visit.now()))
                        @if let Some(outcome) = &proposal.outcome { ": " code { (shown(&outcome.chars().take(10).collect::<String>())) } }
                    }
                }
                (status, None) => { p class="hint" { (status.name()) } }
            }
        }
    }
}

fn coloured(diff: &str) -> Markup {
    html! {
        @for line in diff.lines() {
            @let class = match line.as_bytes().first() {
                Some(b'+') => Some("plus"),
                Some(b'-') => Some("minus"),
                _ => None,
            };
            span class=[class] { (shown(line)) } "\n"
        }
    }
}
