//! The phases of a job in its report: those it came to, and what became of each.

use super::{PhaseRow, Report};
use crate::run::job::phase_name;
use crate::run::{PhaseStatus, Run, RunEvent, RunStatus};
use crate::tally::BySeverity;

pub(super) fn rows(run: &Run) -> Vec<PhaseRow> {
    let row = |(state, number): (&crate::run::PhaseState, u32)| {
        let name = phase_name(number);
        let here =
            run.job().is_some_and(|(_, job)| job.phase.number == number) && !run.state.status.is_over();
        // The phase a job failed in is the one it stands in.
        let failed = here && run.state.status == RunStatus::Failed;
        let status = if failed { PhaseStatus::Failure } else { state.status };
        PhaseRow {
            status,
            unfinished: here && status != PhaseStatus::Failure,
            steps_done: 0,
            steps: 0,
            review: Some("1 round".to_owned()),
            step_ids: vec![name.clone()],
            name,
            warnings: BySeverity::default(),
            errors: BySeverity::default(),
        }
    };
    run.state.phases.iter().zip(1..).map(row).collect()
}

/// Tells what an event means to the phase it is about, which is the last one that was begun.
pub(super) fn follow(report: &mut Report, event: &RunEvent) {
    let set = |report: &mut Report, phase: &str, text: String| {
        if let Some(row) = report.phases.iter_mut().find(|row| row.name == phase) {
            row.review = Some(text);
        }
    };
    match event {
        RunEvent::PhaseStarted { phase } => set(report, phase, "begun".to_owned()),
        RunEvent::PhasePassed { phase, .. } => set(report, phase, "no review".to_owned()),
        RunEvent::RunHeld { boundary, round, .. } => {
            set(report, boundary.phase.as_deref().unwrap_or_default(), format!("{WAITS}{round}"));
        }
        RunEvent::HoldRejected { by, .. } => {
            if let Some(row) = report.phases.iter_mut().rev().find(|row| row.waits()) {
                row.review = Some(format!("rejected by {by}"));
                row.status = PhaseStatus::Failure;
            }
        }
        RunEvent::RunCancelled { .. } => {
            let left = |row: &&mut PhaseRow| row.waits() || row.review.as_deref() == Some("begun");
            if let Some(row) = report.phases.iter_mut().rev().find(left) {
                row.review = Some("cancelled".to_owned());
                row.status = PhaseStatus::Failure;
            }
        }
        RunEvent::PhaseLanded { phase, landed } => {
            let row = report.phases.iter().find(|row| row.name == *phase);
            let before = row.and_then(|row| row.review.clone()).unwrap_or_default();
            let how = match before.strip_prefix(WAITS) {
                Some("1") => "approved".to_owned(),
                Some(round) => format!("approved in round {round}"),
                None => before,
            };
            let what = if landed.changed { "merged" } else { "nothing changed" };
            set(report, phase, format!("{how}, {what}"));
            report.artifacts.extend(landed.published.iter().cloned().map(serde_json::Value::String));
        }
        _ => {}
    }
}

const WAITS: &str = "waits for review, round ";

impl PhaseRow {
    fn waits(&self) -> bool {
        self.review.as_deref().is_some_and(|review| review.starts_with(WAITS))
    }
}
