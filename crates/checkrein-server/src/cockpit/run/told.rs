//! What happened in a run, each event in a sentence.

use checkrein_core::decision::Outcome;
use checkrein_core::finding::{Finding, FindingKind};
use checkrein_core::run::job::{ForgeNews, Settled, Spent, Work};
use checkrein_core::run::{Attempt, Decided, HoldKind, Interruption, RunEvent, RunId};
use maud::{Markup, html};

use crate::cockpit::link;
use crate::cockpit::parts::{count, duration, excerpt, pull_request, sentence, severity, shown, status};

/// How an event looks, and what it says.
pub struct Told {
    pub tone: &'static str,
    pub text: Markup,
}

fn told(tone: &'static str, text: Markup) -> Told {
    Told { tone, text }
}

/// The phase an event begins, which a new part of the timeline starts with.
pub fn begins(event: &RunEvent) -> Option<&str> {
    match event {
        RunEvent::PhaseStarted { phase } | RunEvent::PhaseSkipped { phase, .. } => Some(phase),
        _ => None,
    }
}

#[expect(clippy::too_many_lines, reason = "one sentence for each kind of event")]
pub fn tell(id: &RunId, event: &RunEvent) -> Told {
    match event {
        RunEvent::RunCreated { by, rerun_of, .. } => told(
            "still",
            html! {
                "Given by " strong { (shown(by)) }
                @if let Some(of) = rerun_of { ", again after " a href=(link::run(of)) { (of) } }
            },
        ),
        RunEvent::RunStarted => told("still", html! { "Started" }),
        RunEvent::PhaseSkipped { phase, .. } => {
            told("still", html! { "Phase " strong { (shown(phase)) } " is skipped" })
        }
        RunEvent::PhaseStarted { phase } => {
            told("still", html! { "Phase " strong { (shown(phase)) } " begins" })
        }
        RunEvent::AttemptStarted { task, attempt, .. } => told(
            "busy",
            html! {
                (shown(task)) " starts" @if *attempt > 1 { ", attempt " (attempt) }
            },
        ),
        RunEvent::AttemptFinished(attempt) => finished(attempt),
        RunEvent::AttemptInterrupted { task, why, .. } => told(
            "waits",
            html! {
                (shown(task)) " was interrupted: "
                (match why {
                    Interruption::Lost => "its engine was gone",
                    Interruption::Paused => "paused",
                    Interruption::Cancelled => "cancelled",
                })
            },
        ),
        RunEvent::Decided(decided) => decision(decided),
        RunEvent::CheckedIn { warnings, errors, .. } => told(
            "still",
            html! {
                "Checked in: " (count(*errors, "error")) ", " (count(*warnings, "warning")) " since the last time"
            },
        ),
        RunEvent::RunHeld { hold, kind, reason, round, .. } => told(
            "waits",
            html! {
                strong { "Waits for a person" } ": " (shown(reason))
                @if *round > 1 { " (round " (round) ")" }
                @let checkpoint = format!("{id}.{hold}");
                " " a href=(if *kind == HoldKind::Review { link::review(&checkpoint) } else { link::checkpoint(&checkpoint) }) {
                    @if *kind == HoldKind::Review { "Review" } @else { "Checkpoint" }
                }
            },
        ),
        RunEvent::HoldReleased { by, .. } => told("good", html! { "Approved by " strong { (shown(by)) } }),
        RunEvent::HoldRejected { by, reason, .. } => told(
            "bad",
            html! {
                "Rejected by " strong { (shown(by)) } (quoted(reason.as_deref()))
            },
        ),
        RunEvent::LoopedBack { from, to, because, retry, .. } => told(
            "waits",
            html! {
                "Back from " (shown(from)) " to " (shown(to)) ", retry " (retry) ": " (excerpt(because, 300))
            },
        ),
        RunEvent::AttemptSpent { task, used, .. } => {
            let cost = Some(used.cost).filter(|cost| *cost > 0.0);
            let used = checkrein_core::activity::used(used.tokens, cost);
            told("still", html! { (shown(task)) " used " (used) " before it was ended" })
        }
        RunEvent::PhaseWorked(work) => worked(work),
        RunEvent::PhaseRepeated { phase, because } => told(
            "waits",
            html! {
                (shown(phase)) " is made again: " (excerpt(because, 300))
            },
        ),
        RunEvent::PhasePassed { phase, .. } => {
            told("good", html! { (shown(phase)) " passes without a review" })
        }
        RunEvent::ChangesRequested { by, reason, start_over, .. } => told(
            "waits",
            html! {
                "Changes requested by " strong { (shown(by)) }
                @if *start_over { ", on a new branch" }
                (quoted(reason.as_deref()))
            },
        ),
        RunEvent::ReviewMoved { files_total, lapsed, .. } => told(
            "waits",
            html! {
                "Somebody pushed to the branch under review: " (count(*files_total as u64, "changed file")) " now"
                (no_longer_approved(lapsed))
            },
        ),
        RunEvent::Forge(news) => forge(news),
        RunEvent::LandingConflicted { phase, .. } => {
            told("bad", html! { (shown(phase)) " does not merge: there is a conflict" })
        }
        RunEvent::PhaseLanded { phase, landed } => told(
            "good",
            html! {
                (shown(phase)) @if landed.changed { " is merged" } @else { " changed nothing" }
                @if let Some(published) = &landed.published { "; " (shown(published)) }
                @for note in &landed.notes { "; " (shown(note)) }
            },
        ),
        RunEvent::PolicyChanged { by, level, .. } => told(
            "still",
            html! {
                "Level changed by " strong { (shown(by)) } ": " (level.as_deref().map_or_else(|| "settings of their own".to_owned(), shown))
            },
        ),
        RunEvent::Commented(comment) => told(
            "still",
            html! {
                strong { (shown(&comment.by)) } " commented"
                @if let Some(file) = &comment.file { " on " code { (shown(file)) @if let Some(line) = comment.line { ":" (line) } } }
                (quoted(Some(&comment.text)))
            },
        ),
        RunEvent::FileMarked { file, by, mark, .. } => told(
            "still",
            html! {
                strong { (shown(by)) } @if mark.is_some() { " marked " } @else { " unmarked " } code { (shown(file)) }
            },
        ),
        RunEvent::ThreadResolved { comment, resolved, by } => told(
            "still",
            html! {
                strong { (shown(by)) } @if *resolved { " settled " } @else { " opened again " } "thread " (shown(comment))
            },
        ),
        RunEvent::RemedyChosen(chosen) => told(
            "still",
            html! {
                "Remedy " (chosen.choice.name()) " by " strong { (shown(&chosen.by)) } ": " (shown(&chosen.title))
            },
        ),
        RunEvent::PhaseEnded { phase, status: ended } => told(
            "still",
            html! {
                "Phase " strong { (shown(phase)) } " ended: " (status(word(ended)))
            },
        ),
        RunEvent::RunPaused { by, reason, retry_at } => told(
            "waits",
            html! {
                "Paused by " strong { (shown(by)) } (quoted(reason.as_deref()))
                @if let Some(at) = retry_at { " Tried again at " (at.strftime("%H:%M:%S")) " UTC" }
            },
        ),
        RunEvent::RunResumed { by } => told("busy", html! { "Resumed by " strong { (shown(by)) } }),
        RunEvent::RunCancelled { by, reason } => told(
            "bad",
            html! {
                "Cancelled by " strong { (shown(by)) } (quoted(reason.as_deref()))
            },
        ),
        RunEvent::RunEnded { status: ended, rule, reason, .. } => told(
            "still",
            html! {
                "Ended: " (status(ended.name()))
                @if let Some(reason) = reason { " " (shown(reason)) }
                @if let Some(rule) = rule { " " code { (rule) } }
            },
        ),
    }
}

fn word(status: &checkrein_core::run::PhaseStatus) -> &'static str {
    use checkrein_core::run::PhaseStatus::{Failure, NotRun, Skipped, Success, Warning};
    match status {
        Success => "success",
        Warning => "warning",
        Failure => "failure",
        Skipped => "skipped",
        NotRun => "not run",
    }
}

fn quoted(text: Option<&str>) -> Markup {
    html! { @if let Some(text) = text { blockquote { (shown(text)) } } }
}

fn finished(attempt: &Attempt) -> Told {
    let response = &attempt.response;
    let bad = !response.errors.is_empty();
    let odd = !response.warnings.is_empty();
    let tone = if bad {
        "bad"
    } else if odd {
        "waits"
    } else {
        "good"
    };
    told(
        tone,
        html! {
            (shown(&attempt.task)) " finished in " (duration(attempt.duration_ms))
            @if attempt.attempt > 1 { ", attempt " (attempt.attempt) }
            @if let Some(code) = attempt.exit_code.filter(|code| *code != 0) { ", exit code " (code) }
            @if let Some(message) = &response.message { ": " (excerpt(message, 300)) }
            (findings(&response.errors, FindingKind::Error))
            (findings(&response.warnings, FindingKind::Warning))
            @for note in &response.notes { p class="hint" { (shown(note)) } }
        },
    )
}

fn findings(found: &[Finding], kind: FindingKind) -> Markup {
    /// The report has all of them.
    const SHOWN: usize = 20;
    html! {
        @if !found.is_empty() {
            ul class="findings" {
                @for finding in found.iter().take(SHOWN) {
                    li {
                        (severity(finding.severity)) " " (kind) " · " (shown(&finding.category.to_string())) ": " (excerpt(&finding.text, 400))
                        @if let Some(fix) = &finding.suggested_fix { p class="hint" { "Fix: " (excerpt(&fix.description, 300)) } }
                    }
                }
                @if found.len() > SHOWN { li class="quiet" { "and " (found.len() - SHOWN) " more" } }
            }
        }
    }
}

fn decision(decided: &Decided) -> Told {
    let (tone, word) = match decided.outcome {
        Outcome::Proceed => ("good", "go on"),
        Outcome::Hold => ("waits", "hold"),
        Outcome::Stop => ("bad", "stop"),
    };
    told(
        tone,
        html! {
            "The policy says " strong { (word) }
            @if !decided.because.is_empty() {
                ul class="because" {
                    @for (rule, text) in &decided.because {
                        li { (sentence(text)) " " code { (rule) } }
                    }
                }
            }
        },
    )
}

fn worked(work: &Work) -> Told {
    let result = &work.result;
    told(
        "good",
        html! {
            "Work is on the branch: " (count(work.files_total as u64, "file")) ", " (count(work.commits as u64, "commit"))
            @if let Some(confidence) = result.confidence { ", confidence " (format!("{:.0} %", confidence * 100.0)) }
            @if let Some(milestone) = &result.milestone { ", milestone " (shown(milestone)) }
            (no_longer_approved(&work.lapsed))
            @if !result.summary.is_empty() { blockquote { (excerpt(&result.summary, 600)) } }
            @if let Some(spent) = spent(&result.usage) { p class="hint" { (spent) } }
        },
    )
}

/// Files whose approval ended because they changed.
fn no_longer_approved(lapsed: &[String]) -> Markup {
    html! {
        @if !lapsed.is_empty() { "; no longer approved: " (excerpt(&lapsed.join(", "), 300)) }
    }
}

/// Tokens and cost, where any were recorded.
pub fn spent(spent: &Spent) -> Option<String> {
    let mut parts = Vec::new();
    if spent.tokens > 0 {
        parts.push(count(spent.tokens, "token"));
    }
    if spent.cost > 0.0 {
        parts.push(format!("cost {:.4}", spent.cost));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// What was learnt of the forge, or done there.
fn forge(news: &ForgeNews) -> Told {
    match news {
        ForgeNews::PullOpened { pull } => told(
            "still",
            html! {
                (pull_request(pull.number, &pull.url)) " is opened for " (shown(&pull.phase))
            },
        ),
        ForgeNews::PullShown { number, .. } => {
            told("still", html! { "Pull request " (number) " shows what the agent did" })
        }
        ForgeNews::PullSettled { number, how: Settled::Merged } => {
            told("good", html! { "Pull request " (number) " is merged" })
        }
        ForgeNews::PullSettled { number, how: Settled::Closed } => {
            told("still", html! { "Pull request " (number) " is closed" })
        }
        ForgeNews::Barred { text } => told("bad", html! { (excerpt(text, 300)) }),
        ForgeNews::Heard { .. } => told("still", html! { "Somebody spoke in the forge" }),
        ForgeNews::Trouble { text: Some(text) } => {
            told("bad", html! { "Trouble with the forge: " (excerpt(text, 300)) })
        }
        ForgeNews::Trouble { text: None } => told("good", html! { "No trouble with the forge any more" }),
    }
}
