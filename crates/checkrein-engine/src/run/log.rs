//! A run's log as lines of JSON, for those who search in files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use checkrein_core::run::{Run, log};

use super::History;
use super::place::Place;

/// Written as the run goes on; made anew from the events whenever somebody takes the run up, so that
/// each record is there once.
pub(super) struct Log {
    file: Option<File>,
}

impl Log {
    /// What could not be done is said, and the run goes on without it (W11).
    pub fn open(place: &Place, run: &Run, history: &History, warn: &mut dyn FnMut(String)) -> Log {
        let records = log::records(&run.id, &run.definition, history);
        match write(&place.log, &records) {
            Ok(file) => Log { file: Some(file) },
            Err(error) => {
                warn(format!("the log `{}` cannot be written: {error}", place.log.display()));
                Log { file: None }
            }
        }
    }

    /// Adds the records of the last `new` events.
    pub fn append(&mut self, run: &Run, history: &History, new: usize, warn: &mut dyn FnMut(String)) {
        let Some(file) = &mut self.file else { return };
        let all = || history.iter().map(|(seq, at, event)| (*seq, *at, event));
        for (seq, at, event) in all().skip(history.len().saturating_sub(new)) {
            let Some(record) = log::record(run, seq, at, event, all()) else { continue };
            let mut line = serde_json::to_vec(&record).unwrap_or_default();
            line.push(b'\n');
            if let Err(error) = file.write_all(&line) {
                warn(format!("the log cannot be written: {error}"));
                self.file = None;
                return;
            }
        }
    }
}

fn write(path: &Path, records: &[log::Record]) -> std::io::Result<File> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut fresh = tempfile::NamedTempFile::new_in(directory)?;
    {
        let mut out = BufWriter::new(&mut fresh);
        for record in records {
            serde_json::to_writer(&mut out, record)?;
            out.write_all(b"\n")?;
        }
        out.flush()?;
    }
    Ok(fresh.persist(path)?)
}
