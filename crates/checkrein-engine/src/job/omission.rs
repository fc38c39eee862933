//! What of a change no view shows.

use checkrein_core::omission::Omission;
use checkrein_core::run::Run;
use checkrein_forge::{Change, Diff, DiffLimits, FileDiff, Oid};

use super::place::JobPlace;
use super::repository::JobRepository;
use super::work::blocking;
use crate::{Engine, EngineError};

impl Engine {
    /// What nobody can have seen of the review a run waits at.
    pub(super) async fn review_omissions(&self, run: &Run) -> Result<Vec<Omission>, EngineError> {
        let Some(work) = run.job().and_then(|(_, job)| job.phase.work.clone()) else { return Ok(Vec::new()) };
        self.at_hand(run).await?;
        let place = JobPlace::of(&self.store, &run.id);
        let run = run.clone();
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            let (base, head) = (Oid::parse(work.looked_at().0)?, Oid::parse(&work.head)?);
            Ok(omissions(&repository.bare.diff(&base, &head, &DiffLimits::default())?))
        })
        .await
    }
}

/// What is missing in a diff that is shown: ends of lines, lines, and files that are not text.
pub fn omissions(diff: &Diff) -> Vec<Omission> {
    diff.files.iter().flat_map(of_file).collect()
}

fn of_file(file: &FileDiff) -> Vec<Omission> {
    let path = file.path.to_string();
    let omission = |line: Option<u32>, text: String| Omission { file: Some(path.clone()), line, text };
    let lines = file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.cut_bytes > 0);
    let mut found: Vec<Omission> = lines
        .map(|line| {
            omission(
                line.new_number.or(line.old_number),
                match line.cut_bytes {
                    1 => "1 byte at the end of the line".to_owned(),
                    bytes => format!("{bytes} bytes at the end of the line"),
                },
            )
        })
        .collect();
    if file.cut {
        found.push(omission(None, "more lines than are shown".to_owned()));
    }
    // That a file is gone, or has another name, is all there is to see of that.
    let same = matches!(file.change, Change::Deleted | Change::Renamed { similarity_percent: 100, .. });
    if file.binary && !same {
        found.push(omission(None, "a file that is not text".to_owned()));
    }
    found
}
