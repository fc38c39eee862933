//! Forgets old runs, and keeps their output within its quota (W19).

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use checkrein_core::config::{Fate, Kept, fate};
use checkrein_core::run::{RunStatus, log};
use checkrein_store::{RunFilter, RunRow, Version};

use super::place::Place;
use crate::agent_dir::{AgentFile, open_regular};
use crate::store::Sweep;
use crate::{Engine, EngineError, job, now};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SweptRuns {
    pub removed: u64,
    /// What their steps returned and wrote is gone; they are still listed.
    pub trimmed: u64,
    /// Of output that was over the quota.
    pub output_bytes: u64,
}

/// So many runs may have lost the end of their log since somebody looked.
const RECENT_MAX: usize = 8;
/// How often a run that starts looks for what is old.
const TIDY_EVERY: Duration = Duration::from_secs(60 * 60);

impl Engine {
    /// Completes the logs of runs whose engine died right at their end, and sweeps if nobody has for an
    /// hour. What goes wrong is no run's trouble.
    pub async fn tidy(&self) {
        let _ = self.complete_logs().await;
        let mark = self.store.directory().join("swept");
        let recent = std::fs::metadata(&mark)
            .and_then(|found| found.modified())
            .is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|past| past < TIDY_EVERY));
        if recent || std::fs::write(&mark, "").is_err() {
            return;
        }
        let _ = self.sweep_runs(Sweep::Remove).await;
        if let Some(before) = self.settings.keep(Kept::Checkpoints).old_before(now()) {
            let _ = self.store.sweep(before).await;
        }
    }

    async fn complete_logs(&self) -> Result<(), EngineError> {
        for stored in self.store.runs(&RunFilter::default(), None, RECENT_MAX).await?.items {
            let (id, state) = (&stored.run.id, &stored.run.state);
            let place = Place::of(&self.store, id);
            // Whoever drives it writes its log.
            let Some(_lock) = place.lock()?.filter(|_| state.status.is_at_rest()) else { continue };
            let text = text_of(&place.log).unwrap_or_default();
            if text.contains(&log::execution_id(id, state.version)) {
                continue;
            }
            let view = self.load_run(id).await?;
            let end = view.history.iter().rev().find(|(.., event)| event.is_rest());
            if end.is_some_and(|(seq, ..)| !text.contains(&log::execution_id(id, *seq))) {
                let _ = super::log::Log::open(&place, &view.run, &view.history, &mut |_| ());
            }
        }
        Ok(())
    }

    pub(crate) async fn sweep_runs(&self, how: Sweep) -> Result<SweptRuns, EngineError> {
        let mut swept = SweptRuns::default();
        let at_rest =
            [RunStatus::Completed, RunStatus::CompletedWithWarnings, RunStatus::Cancelled, RunStatus::Failed];
        for status in at_rest {
            let filter = RunFilter { status: Some(status), ..RunFilter::default() };
            let mut before = None;
            loop {
                let page = self.store.runs(&filter, before, 200).await?;
                for stored in &page.items {
                    self.sweep_run(&stored.run, how, &mut swept).await?;
                }
                before = page.next;
                if before.is_none() {
                    break;
                }
            }
        }
        swept.output_bytes = self.keep_quota(how).await?;
        Ok(swept)
    }

    async fn sweep_run(&self, run: &RunRow, how: Sweep, swept: &mut SweptRuns) -> Result<(), EngineError> {
        let (id, version) = (&run.id, Version(run.state.version));
        let fate = fate(&run.state, now(), |kept| self.settings.keep(kept));
        let gone = match (fate, how) {
            (Fate::Keep, _) => return Ok(()),
            (_, Sweep::Rehearse) => true,
            (Fate::Trim, Sweep::Remove) => self.store.trim_run(id.to_string(), version).await?,
            (Fate::Remove, Sweep::Remove) => self.store.remove_run(id.to_string(), version).await?,
        };
        if !gone {
            return Ok(());
        }
        match fate {
            Fate::Remove => swept.removed += 1,
            Fate::Trim | Fate::Keep => swept.trimmed += 1,
        }
        if how == Sweep::Remove {
            let place = Place::of(&self.store, id);
            let _ = checkrein_forge::remove_all(&place.directory);
            match fate {
                Fate::Remove => {
                    let _ = std::fs::remove_file(&place.log);
                    job::forget(self, id);
                }
                Fate::Trim | Fate::Keep => keep_summaries(&place.log),
            }
        }
        Ok(())
    }

    /// Removes the output of the oldest runs that are over, until the rest fits; how much that was.
    async fn keep_quota(&self, how: Sweep) -> Result<u64, EngineError> {
        let root = self.store.directory().join("runs");
        let mut found: Vec<(String, PathBuf, u64)> = Vec::new();
        for entry in std::fs::read_dir(&root).into_iter().flatten().flatten() {
            if let Ok(name) = entry.file_name().into_string() {
                found.push((name, entry.path(), bytes(&entry.path())));
            }
        }
        // Ids begin with the time.
        found.sort();
        let mut all: u64 = found.iter().map(|(.., bytes)| bytes).sum();
        let quota = self.settings.output_quota_bytes();
        let mut removed = 0;
        for (id, path, bytes) in found {
            if all <= quota {
                break;
            }
            if self.store.run(&id).await?.is_none_or(|stored| stored.run.state.status.is_over()) {
                if how == Sweep::Remove {
                    let _ = checkrein_forge::remove_all(&path);
                }
                all = all.saturating_sub(bytes);
                removed += bytes;
            }
        }
        Ok(removed)
    }
}

fn bytes(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}

/// Leaves of a log what says how the run stood.
fn keep_summaries(log: &Path) {
    let Ok(text) = text_of(log) else { return };
    let kept = text.lines().filter(|line| line.starts_with(r#"{"log_type":"workflow-execution""#));
    let kept: String = kept.flat_map(|line| [line, "\n"]).collect();
    let _ = AgentFile::named(log).replace(kept.as_bytes());
}

fn text_of(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.read_to_string(&mut text)?;
    Ok(text)
}
