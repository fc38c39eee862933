//! Beside the review: where one is, the files, and the verdict.

use checkrein_core::run::job::FileMark;
use checkrein_engine::Act;
use maud::{Markup, html};

use super::material::Material;
use super::search;
use super::show::{at, short};
use crate::cockpit::link;
use crate::cockpit::parts::{checkpoint_status, count, omitted, shown as words};
use crate::cockpit::visit::Visit;
use crate::wire::diff::FileDiff;

pub fn shown(visit: &Visit, material: &Material) -> Markup {
    html! {
        aside class="beside" aria-label="Verdict and files" {
            (verdict(visit, material))
            (search::small(&material.review.id))
            (list(material))
            (rounds(material))
        }
    }
}

fn verdict(visit: &Visit, material: &Material) -> Markup {
    let review = &material.review;
    let action = link::to(&["reviews", &review.id, "verdict"]);
    let marked: Vec<&str> = review
        .diff
        .files
        .iter()
        .filter(|file| file.mark == Some(FileMark::ChangesRequested))
        .map(|file| file.path.as_str())
        .collect();
    // Whether the branch a job started from fits by now is found out when it is approved.
    let held_by_conflict = review.conflict.is_object()
        && ["kept_on", "base"]
            .iter()
            .all(|with| review.conflict.get(with).is_none_or(serde_json::Value::is_null));
    let undelivered =
        review.comments.iter().filter(|comment| !comment.delivered && !comment.from_agent).count();
    html! {
        section class="card verdict" id="verdict" {
            h2 { "Decision" }
            @if !review.open {
                p { (checkpoint_status(review.status)) }
                @if let Some(reason) = &review.reason { blockquote { (words(reason)) } }
                p { a href=(link::run(&review.run_id)) { "To the job" } }
            } @else if !visit.may(Act::GiveVerdict) {
                p class="hint" { "A reviewer decides this; your role looks." }
            } @else {
                form method="post" action=(action) {
                    (visit.proof())
                    input type="hidden" name="digest" value=(review.digest);
                    input type="hidden" name="head" value=(review.head);
                    p class="hint" { "About commit " code { (short(&review.head)) } "." }
                    @if held_by_conflict {
                        p class="notice bad" { "It cannot be merged: " a href="#conflict" { "settle the conflict" } " first, or let the agent do it." }
                    } @else {
                        @if !marked.is_empty() {
                            p class="notice waits" { "Changes are requested of " (words(&marked.join(", "))) "." }
                        }
                        (omitted(&review.not_shown))
                        @if !marked.is_empty() || !review.not_shown.is_empty() {
                            label class="check" {
                                input type="checkbox" name="confirmed" value="yes";
                                span { "Approve all the same" }
                            }
                        }
                        p { button name="verdict" value="approve" class="primary wide" data-approve="" { "Approve & merge" } }
                    }
                    details class="otherwise" id="changes-wanted" {
                        summary data-otherwise="" { "Request changes…" }
                        label for="reason-changes" { "What should change?" }
                        textarea id="reason-changes" name="reason" rows="4" maxlength="20000" data-draft="changes" {}
                        @if undelivered > 0 {
                            p class="hint" { "The agent gets this and " (count(undelivered as u64, "comment")) "." }
                        }
                        label class="check" {
                            input type="checkbox" name="start_over" value="yes";
                            span { "Start over on a new branch" }
                        }
                        p { button name="verdict" value="request_changes" class="wide" { "Request changes" } }
                    }
                    details class="otherwise" id="rejection" {
                        summary data-reject="" { "Reject…" }
                        label for="reason-reject" { "Why? The job ends, its branch is kept." }
                        textarea id="reason-reject" name="reason_reject" rows="3" maxlength="20000" data-draft="reject" {}
                        p { button name="verdict" value="reject" class="bad wide" { "Reject and cancel the job" } }
                    }
                }
            }
        }
    }
}

fn list(material: &Material) -> Markup {
    let review = &material.review;
    let talk = |path: &str| {
        review
            .threads
            .iter()
            .filter(|thread| thread.file.as_deref() == Some(path) && thread.resolved_by.is_none())
            .count()
    };
    html! {
        nav class="card contents" aria-label="Files" {
            details open id="contents" {
                summary { h2 { "Files" } }
                ol {
                    @for (index, file) in review.diff.files.iter().enumerate() {
                        li {
                            a href={ "#f-" (index) } {
                                (mark(file)) " " span class="path" { (words(&file.path)) }
                            }
                            span class="count" {
                                @let threads = talk(&file.path);
                                @if threads > 0 { span class="badge busy-still" title="open threads" { (threads) } " " }
                                span class="plus" { "+" (file.added) } " " span class="minus" { "−" (file.removed) }
                            }
                        }
                    }
                }
                p { a href="#talk" { "Conversation" } " · " a href="#commits" { "Commits" } }
            }
        }
    }
}

pub fn mark(file: &FileDiff) -> Markup {
    html! {
        @match file.mark {
            Some(FileMark::Approved) => { span class="mark good" role="img" aria-label="approved" { "✓" } }
            Some(FileMark::ChangesRequested) => { span class="mark bad" role="img" aria-label="changes requested" { "✗" } }
            None if file.mark_lapsed => { span class="mark waits" role="img" aria-label="no longer approved: it has changed since" { "!" } }
            None => { span class="mark" aria-hidden="true" { "·" } }
        }
    }
}

fn rounds(material: &Material) -> Markup {
    html! {
        @if material.rounds.len() > 1 {
            section class="card rounds" {
                h2 { "Rounds" }
                ol {
                    @for round in &material.rounds {
                        li {
                            strong { "Round " (round.number) } " " (checkpoint_status(round.status))
                            @if let Some(by) = &round.resolved_by { " by " (words(by)) }
                            @if let Some(reason) = &round.reason { blockquote { (words(reason)) } }
                            @if round.number < material.review.round {
                                p { a href=(at(material, &[("since", &round.number.to_string()), ("seen", "")])) { "What changed since" } }
                            }
                        }
                    }
                }
            }
        }
    }
}
