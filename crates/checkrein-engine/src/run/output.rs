//! What the steps of a run wrote.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use checkrein_core::principal::Principal;
use checkrein_core::run::RunEvent;

use super::RunView;
use super::attempt::output_name;
use crate::agent_dir::open_regular;
use crate::authority::{Act, require};
use crate::{Engine, EngineError};

/// The captured output of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptOutput {
    pub task: String,
    pub attempt: u32,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Nobody reads more at once.
const BYTES_MAX: u64 = 32 << 20;

impl Engine {
    /// Of every attempt, or of those at one step; what was too much is left out at the end.
    pub async fn run_output(
        &self,
        by: &Principal,
        id: &str,
        step: Option<&str>,
    ) -> Result<Vec<AttemptOutput>, EngineError> {
        require(by, Act::Read)?;
        let view = self.load_run(&self.seen_run(by, id).await?).await?;
        let finished = view.history.iter().filter_map(|(.., event)| match event {
            RunEvent::AttemptFinished(attempt) if attempt.judged => {
                Some((attempt.output.clone()?, attempt.task.clone(), attempt.attempt))
            }
            _ => None,
        });
        let task = match view.run.job() {
            Some((_, job)) => Some(job.phase.name()),
            None => view.run.task_under_way().map(|(_, task)| task.id.clone()),
        };
        let under_way = view
            .run
            .state
            .under_way
            .as_ref()
            .zip(task)
            .map(|(under_way, task)| (output_name(under_way.start, &task), task, under_way.attempt));
        let mut left = BYTES_MAX;
        let mut read = |path: &Path| {
            let mut bytes = Vec::new();
            // Retention may have removed it, and an attempt may not have written yet.
            if let Ok(file) = open_regular(path) {
                let _ = file.take(left).read_to_end(&mut bytes);
            }
            left = left.saturating_sub(bytes.len() as u64);
            bytes
        };
        let wanted = finished.chain(under_way).filter(|(_, task, _)| step.is_none_or(|step| step == task));
        let outputs = wanted.map(|(name, task, attempt)| {
            let files = self.output_files(&view.run.id, &name);
            AttemptOutput { task, attempt, stdout: read(&files.stdout), stderr: read(&files.stderr) }
        });
        Ok(outputs.collect())
    }

    /// The end of what the last attempt wrote, so many bytes of each of its streams.
    pub async fn run_output_end(
        &self,
        by: &Principal,
        view: &RunView,
        bytes_max: u64,
    ) -> Result<Option<AttemptOutput>, EngineError> {
        require(by, Act::Read)?;
        let task = match view.run.job() {
            Some((_, job)) => Some(job.phase.name()),
            None => view.run.task_under_way().map(|(_, task)| task.id.clone()),
        };
        let under_way = view
            .run
            .state
            .under_way
            .as_ref()
            .zip(task)
            .map(|(under_way, task)| (output_name(under_way.start, &task), task, under_way.attempt));
        let finished = || {
            view.history.iter().rev().find_map(|(.., event)| match event {
                RunEvent::AttemptFinished(attempt) if attempt.judged => {
                    Some((attempt.output.clone()?, attempt.task.clone(), attempt.attempt))
                }
                _ => None,
            })
        };
        let Some((name, task, attempt)) = under_way.or_else(finished) else { return Ok(None) };
        let files = self.output_files(&view.run.id, &name);
        let (stdout, stderr) = (end_of(&files.stdout, bytes_max), end_of(&files.stderr, bytes_max));
        Ok(Some(AttemptOutput { task, attempt, stdout, stderr }))
    }
}

/// The last bytes of a file, from the beginning of a line on.
fn end_of(path: &Path, bytes_max: u64) -> Vec<u8> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = open_regular(path)?;
        let length = file.metadata()?.len();
        let skipped = length.saturating_sub(bytes_max);
        file.seek(SeekFrom::Start(skipped))?;
        let mut bytes = Vec::new();
        file.take(bytes_max).read_to_end(&mut bytes)?;
        if skipped > 0 {
            let line = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            bytes.drain(..line);
        }
        Ok(bytes)
    };
    // Retention may have removed it, and an attempt may not have written yet.
    read().unwrap_or_default()
}
