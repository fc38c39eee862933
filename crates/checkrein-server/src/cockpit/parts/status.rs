//! States as badges: a word, and a colour that says no more than the word.

use checkrein_core::checkpoint::CheckpointStatus;
use checkrein_core::finding::Severity;
use maud::{Markup, html};

/// A state of a run or a job, by its word.
pub fn status(word: &str) -> Markup {
    let tone = match word {
        "running" | "processing" | "in_progress" => "busy",
        "held" | "pending_review" | "paused" | "completed_with_warnings" | "warning" | "blocked" => "waits",
        "completed" | "success" => "good",
        "failed" | "failure" => "bad",
        _ => "still",
    };
    badge(tone, &word.replace('_', " "))
}

pub fn checkpoint_status(status: CheckpointStatus) -> Markup {
    let tone = match status {
        CheckpointStatus::Pending => "waits",
        CheckpointStatus::Approved => "good",
        CheckpointStatus::Rejected => "bad",
        CheckpointStatus::ChangesRequested => "busy-still",
        CheckpointStatus::Withdrawn | CheckpointStatus::NotRequired => "still",
    };
    badge(tone, &status.name().replace('_', " "))
}

pub fn severity(severity: Severity) -> Markup {
    let tone = match severity {
        Severity::High => "bad",
        Severity::Medium => "waits",
        Severity::Low => "still",
    };
    badge(tone, &severity.to_string())
}

fn badge(tone: &str, word: &str) -> Markup {
    html! { span class={ "badge " (tone) } { (word) } }
}
