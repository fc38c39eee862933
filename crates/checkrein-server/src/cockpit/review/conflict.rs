//! What does not fit together, and settling it.

use checkrein_engine::Act;
use maud::{Markup, html};
use serde_json::Value;

use super::material::Material;
use crate::cockpit::link;
use crate::cockpit::parts::shown;
use crate::cockpit::visit::Visit;

/// Every file in conflict with both sides, and what it is to be.
pub fn section(visit: &Visit, material: &Material) -> Markup {
    let review = &material.review;
    let list = |name: &str| review.conflict.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let (texts, messages) = (list("texts"), list("messages"));
    let base = review.conflict.get("base").and_then(Value::as_str);
    let kept = review.conflict.get("kept_on").and_then(Value::as_str);
    html! {
        @if review.open && !review.conflict.is_null() {
            section class="card conflict" id="conflict" {
                h2 { "Conflict" }
                p {
                    @if let Some(kept) = kept {
                        "What the agent did does not fit what was pushed meanwhile. Its work is kept on " code { (shown(kept)) } "."
                    } @else if let Some(base) = base {
                        "Branch " code { (shown(base)) } " changed the same lines since the job began. Nothing was merged. Settle it here, or merge "
                        code { (shown(base)) } " into " code { (shown(&review.branch)) } " yourself; then approve again."
                    } @else {
                        "The branch does not fit what it is to be merged into. Nothing is lost, and nothing is merged until both fit."
                    }
                }
                @if !messages.is_empty() {
                    ul { @for message in &messages { li { (shown(message.as_str().unwrap_or_default())) } } }
                }
                @if visit.may(Act::PushToBranches) && !texts.is_empty() {
                    form method="post" action=(link::to(&["reviews", &review.id, "settlement"])) {
                        (visit.proof())
                        input type="hidden" name="head" value=(review.head);
                        @for (index, file) in texts.iter().enumerate() { (one(index, file, kept.is_some())) }
                        p { button class="primary" { "Settle with one commit" } }
                        p class="hint" { "The commit is in your name and joins both sides. Nothing is approved by it." }
                    }
                    p class="hint" { "Or request changes, and let the agent settle it." }
                }
            }
        }
    }
}

fn one(index: usize, file: &Value, kept: bool) -> Markup {
    let text = |name: &str| file.get(name).and_then(Value::as_str);
    let path = text("path").unwrap_or_default();
    let cut = file.get("cut").and_then(Value::as_bool).unwrap_or(false);
    let writable = text("text").filter(|_| !cut);
    let other = if kept { "the agent's" } else { "the other side's" };
    html! {
        fieldset {
            legend { (shown(path)) }
            input type="hidden" name="path" value=(path);
            label for={ "take-" (index) } { "Take" }
            select id={ "take-" (index) } name="take" {
                @if writable.is_some() { option value="text" { "the text below" } }
                option value="ours" { "the branch's version" }
                option value="theirs" { (other) " version" }
                option value="delete" { "neither: delete the file" }
            }
            @if let Some(text) = writable {
                label for={ "text-" (index) } { "Text; take out the lines with <<<<<<<, ======= and >>>>>>>" }
                textarea id={ "text-" (index) } name="text" rows=(rows(text)) class="code" spellcheck="false" { "\n" (text) }
            } @else {
                input type="hidden" name="text" value="";
                p class="hint" { "It is no text, or too long to edit here." }
            }
        }
    }
}

/// As many lines as there are, within reason.
pub fn rows(text: &str) -> usize {
    text.lines().count().saturating_add(2).clamp(6, 30)
}
