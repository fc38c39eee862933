//! A question to the policy, and its answer with the reasons.

use checkrein_core::decision::Outcome;
use checkrein_core::finding::{FindingKind, Severity};
use checkrein_core::policy::Resolution;
use checkrein_engine::Decided;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use crate::cockpit::parts::{choice, sentence, severity, shown as text};
use crate::cockpit::problem;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

const BOUNDARIES: [(&str, &str); 7] = [
    ("phase", "the end of a phase"),
    ("phase_entry", "the entry of a phase"),
    ("step", "the end of a step"),
    ("complete", "the end of everything"),
    ("deliverable", "a deliverable of a worker"),
    ("phase_transition", "a phase transition of a worker"),
    ("final_output", "the final output of a worker"),
];

pub fn shown(visit: &Visit, resolution: &Resolution) -> Result<Markup, Problem> {
    let asked = visit.query.get("ask").is_some();
    let answer = if asked { Some(answered(visit, resolution)) } else { None };
    Ok(html! {
        section class="card" id="what-if" {
            h2 { "What if" }
            p class="quiet" { "What this policy would decide. Nothing happens." }
            (form(visit))
            @match &answer {
                None => {}
                Some(Ok(decided)) => (decision(decided)),
                Some(Err(problem)) => (problem::notice(problem)),
            }
        }
    })
}

fn answered(visit: &Visit, resolution: &Resolution) -> Result<Decided, Problem> {
    let request = request(visit, resolution)?.to_string();
    Ok(visit.engine().decide_by(visit.by()?, &request, &resolution.policy)?)
}

/// The question as programs send it to `POST /v1/policies/decide`.
fn request(visit: &Visit, resolution: &Resolution) -> Result<Value, Problem> {
    let said = |name: &str| visit.query.filled(name);
    let number = |name: &str| -> Result<Option<Value>, Problem> {
        let read = |said: &str| {
            serde_json::from_str::<serde_json::Number>(said)
                .map(Value::Number)
                .map_err(|_| Problem::new(Kind::Invalid, format!("`{said}` is not a number")))
        };
        said(name).map(read).transpose()
    };
    let mut boundary = Map::new();
    boundary.insert("kind".to_owned(), json!(said("other_kind").or(said("kind")).unwrap_or("phase")));
    for name in ["phase", "phase_kind", "milestone"] {
        if let Some(said) = said(name) {
            boundary.insert(name.to_owned(), json!(said));
        }
    }
    for name in ["phase_number", "confidence"] {
        if let Some(number) = number(name)? {
            boundary.insert(name.to_owned(), number);
        }
    }
    if said("job_complete").is_some() {
        boundary.insert("job_complete".to_owned(), json!(true));
    }
    let mut request = json!({
        "scope": resolution.policy.scope,
        "boundary": boundary,
        "totals": {
            "warnings": number("warnings")?.unwrap_or(json!(0)),
            "errors": number("errors")?.unwrap_or(json!(0)),
        },
        "findings_since_check_in": number("since")?.unwrap_or(json!(0)),
    });
    if let (Some(found), Some(map)) = (said("finding"), request.as_object_mut()) {
        let finding = match said("severity") {
            Some(severity) => json!({"text": found, "severity": severity}),
            None => json!(found),
        };
        let list = if said("finding_kind") == Some("error") { "errors" } else { "warnings" };
        map.insert("response".to_owned(), json!({(list): [finding]}));
    }
    Ok(request)
}

fn form(visit: &Visit) -> Markup {
    let said = |name: &str| visit.query.filled(name).unwrap_or_default();
    let kept = ["scope", "worker", "expert", "autonomy"];
    let severities: Vec<(&str, &str)> = std::iter::once(("", "told by its words"))
        .chain(Severity::ALL.iter().map(|one| (one.name(), one.name())))
        .collect();
    html! {
        form method="get" action="/policy#what-if" {
            @for name in kept { @if !said(name).is_empty() { input type="hidden" name=(name) value=(said(name)); } }
            input type="hidden" name="ask" value="1";
            div class="columns" {
                div class="field" { label for="kind" { "At" } (choice("kind", "kind", said("kind"), BOUNDARIES)) }
                div class="field" { label for="other_kind" { "Or a type of your own" } input id="other_kind" name="other_kind" value=(said("other_kind")); }
                div class="field" { label for="phase" { "Phase" } input id="phase" name="phase" value=(said("phase")); }
                div class="field" { label for="phase_kind" { "Kind of phase" }
                    (choice("phase_kind", "phase_kind", said("phase_kind"), [("", "–"), ("strategic", "strategic: plans"), ("tactical", "tactical: does")])) }
                div class="field" { label for="phase_number" { "Number of the phase" } input id="phase_number" name="phase_number" inputmode="numeric" value=(said("phase_number")); }
                div class="field" { label for="confidence" { "Confidence, 0 to 1" } input id="confidence" name="confidence" inputmode="decimal" value=(said("confidence")); }
                div class="field" { label for="milestone" { "Milestone" } input id="milestone" name="milestone" value=(said("milestone")); }
                div class="field" { label class="check" { input type="checkbox" name="job_complete" value="1" checked[!said("job_complete").is_empty()]; span { "The job says it is complete" } } }
            }
            fieldset {
                legend { "With a finding" }
                div class="field" { label for="finding" { "Text" } input id="finding" name="finding" value=(said("finding")); }
                div class="columns" {
                    div class="field" { label for="finding_kind" { "It is" } (choice("finding_kind", "finding_kind", said("finding_kind"), [("warning", "a warning"), ("error", "an error")])) }
                    div class="field" { label for="severity" { "Severity" } (choice("severity", "severity", said("severity"), severities)) }
                }
            }
            div class="columns" {
                div class="field" { label for="warnings" { "Warnings before" } input id="warnings" name="warnings" inputmode="numeric" value=(said("warnings")); }
                div class="field" { label for="errors" { "Errors before" } input id="errors" name="errors" inputmode="numeric" value=(said("errors")); }
                div class="field" { label for="since" { "Findings since the last check-in" } input id="since" name="since" inputmode="numeric" value=(said("since")); }
            }
            p { button class="primary" { "Ask" } }
        }
    }
}

fn decision(decided: &Decided) -> Markup {
    let answer = &decided.answer;
    let (tone, word, about) = match answer.outcome {
        Outcome::Proceed => ("good", "Proceed", "The work goes on."),
        Outcome::Hold => ("waits", "Hold", "The work waits for a person."),
        Outcome::Stop => ("bad", "Stop", "The run ends as failed, with a report."),
    };
    html! {
        div class={ "notice " (tone) } role="status" id="decision" {
            h3 { (word) }
            p { (about) @if answer.check_in { " A check-in is recorded." } }
            @if answer.because.is_empty() { p { "No rule speaks against it." } }
            @else {
                ul class="because" { @for one in &answer.because { li { (sentence(&one.text)) " " code { (one.rule) } } } }
            }
            @for (kind, findings) in [(FindingKind::Error, &answer.exceeding.errors), (FindingKind::Warning, &answer.exceeding.warnings)] {
                @for finding in findings { p { (severity(finding.severity)) " " (kind) " over tolerance: " (text(&finding.text)) } }
            }
            @for (kind, findings) in [(FindingKind::Error, &answer.collected.errors), (FindingKind::Warning, &answer.collected.warnings)] {
                @for finding in findings { p { (severity(finding.severity)) " " (kind) " is tolerated: " (text(&finding.text)) } }
            }
            @for odd in &decided.odd { p class="hint" { (text(odd)) } }
        }
    }
}
