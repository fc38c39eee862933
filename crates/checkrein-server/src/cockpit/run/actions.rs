//! What can be done with a run, as forms.

use checkrein_core::policy::{Level, Scope};
use checkrein_core::run::{CommandKind, Run, allowed};
use checkrein_engine::Act;
use maud::{Markup, html};

use crate::cockpit::link;
use crate::cockpit::visit::Visit;

pub fn actions(visit: &Visit, run: &Run) -> Markup {
    let id = run.id.as_str();
    let to = |verb: &str| link::to(&["runs", id, verb]);
    let can = |command: CommandKind| allowed(run.state.status, command).is_some();
    let manages = visit.may(Act::ManageRuns);
    html! {
        div class="actions" {
            @if manages && can(CommandKind::Resume) {
                (visit.form(&to("resume"), "", html! { button class="primary" { "Resume" } }))
            }
            @if manages && can(CommandKind::Pause) {
                (visit.form(&to("pause"), "", html! { button { "Pause" } }))
            }
            @if visit.may(Act::StartRun) && run.state.status.is_at_rest() {
                (visit.form(&to("rerun"), "", html! { button { "Run again" } }))
            }
            @if manages && run.job().is_some() && !run.state.status.is_over() {
                (level(visit, run, &to("level")))
            }
            @if manages && can(CommandKind::Cancel) {
                details class="action" id="cancel" {
                    summary class="button" { "Cancel…" }
                    (visit.form(&to("cancel"), "card", html! {
                        p { "Ends the run for good, with what runs in it. What the agent did so far is kept." }
                        label { "Why" input name="reason" maxlength="4000"; }
                        p { button class="bad" { "Cancel the run" } }
                    }))
                }
            }
        }
    }
}

fn level(visit: &Visit, run: &Run, action: &str) -> Markup {
    let current = run.policy().level.as_deref().unwrap_or_default();
    html! {
        details class="action" id="level" {
            summary class="button" { "Change the level…" }
            (visit.form(action, "card", html! {
                (levels("level-choice", current, ""))
                label { "Or settings of your own, as JSON"
                    textarea name="block" rows="2" placeholder="{\"level\": \"guided\", \"error_tolerance\": \"low\"}" {}
                }
                p class="hint" { "It acts from the next boundary on. What waits for review still waits." }
                p { button class="primary" { "Change" } }
            }))
        }
    }
}

/// The levels of jobs to choose from.
pub fn levels(id: &str, current: &str, hint: &str) -> Markup {
    html! {
        fieldset {
            legend { "Level" }
            @for level in Level::of(Scope::Job).filter(|level| level.name != "custom") {
                label class="check" for={ (id) "-" (level.name) } {
                    input type="radio" id={ (id) "-" (level.name) } name="level" value=(level.name) checked[level.name == current];
                    span { strong { (level.name) } ": " (level.about) }
                }
            }
            @if !hint.is_empty() { p class="hint" { (hint) } }
        }
    }
}
