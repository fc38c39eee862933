//! The writing connection: batches in one transaction each, in turns with other processes.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::StoreError;
use crate::sql::Connection;
use crate::writer::{Command, Ran, Repeat, Undo};

#[derive(Debug)]
pub(crate) struct Writing {
    connection: Connection,
    /// Where processes line up.
    queue: Option<File>,
    file: StoreFile,
}

impl Writing {
    pub(super) fn new(connection: rusqlite::Connection, queue: Option<File>, file: StoreFile) -> Writing {
        Writing { connection: Connection::Sqlite(Box::new(connection)), queue, file }
    }

    /// For tests: a connection without a file.
    #[cfg(test)]
    pub fn on(connection: rusqlite::Connection) -> Writing {
        Writing::new(connection, None, StoreFile::new(Path::new("")))
    }

    pub fn commit(&mut self, batch: &mut [Box<dyn Command>]) -> Result<(), StoreError> {
        let _turn = self.queue.as_ref().map(Turn::take);
        commit(&self.connection, batch).and_then(|()| self.file.check())
    }
}

/// The file of the store, to know it again: what is written to a file that has no name any more is lost.
#[derive(Debug)]
pub(super) struct StoreFile {
    path: PathBuf,
    known: Option<(u64, u64)>,
}

impl StoreFile {
    pub fn new(path: &Path) -> StoreFile {
        StoreFile { path: path.to_owned(), known: identity(path) }
    }

    fn check(&self) -> Result<(), StoreError> {
        if identity(&self.path) == self.known {
            return Ok(());
        }
        Err(StoreError::Gone { path: self.path.clone() })
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// A turn at the store among processes. SQLite's own lock keeps them apart, but is waited for in
/// sleeps of up to 100 ms; a turn changes hands within a fraction of one.
///
/// It is only a courtesy: whoever holds it too long (a stopped process) is passed by, and SQLite's
/// lock then says what is to be said.
struct Turn<'q>(&'q File);

impl Turn<'_> {
    const PATIENCE: Duration = Duration::from_secs(2);

    fn take(queue: &File) -> Turn<'_> {
        let begun = Instant::now();
        let mut nap = Duration::from_micros(100);
        while flock(queue, FlockOperation::NonBlockingLockExclusive).is_err()
            && begun.elapsed() < Turn::PATIENCE
        {
            thread::sleep(nap);
            nap = (nap * 2).min(Duration::from_millis(2));
        }
        Turn(queue)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}

/// Runs a batch in one transaction: without savepoints at first, since one for each command costs as
/// much as the command. Few fail, and most of those that do have written nothing; when one has, all
/// is undone and done again with them.
fn commit(connection: &Connection, batch: &mut [Box<dyn Command>]) -> Result<(), StoreError> {
    let repeatable = batch.iter().all(|command| command.repeat() == Repeat::AsOftenAsNeeded);
    if repeatable && let Some(outcome) = transact(connection, batch, Undo::All).transpose() {
        return outcome;
    }
    transact(connection, batch, Undo::EachAlone).map(|_| ())
}

/// None where all was undone because of one.
fn transact(
    connection: &Connection,
    batch: &mut [Box<dyn Command>],
    undo: Undo,
) -> Result<Option<()>, StoreError> {
    let execute = |statement: &str| -> Result<(), StoreError> {
        connection.execute(statement, [])?;
        Ok(())
    };
    execute("BEGIN IMMEDIATE")?;
    let kept = (|| {
        for command in batch {
            if undo == Undo::EachAlone {
                execute("SAVEPOINT command")?;
            }
            let changes = connection.total_changes();
            match (command.run(connection), undo) {
                (Ran::Broken(error), _) => return Err(error),
                (Ran::Undo, Undo::EachAlone) => execute("ROLLBACK TO command")?,
                (Ran::Undo, Undo::All) if connection.total_changes() != changes => return Ok(None),
                (Ran::Undo | Ran::Keep, _) => {}
            }
            if undo == Undo::EachAlone {
                execute("RELEASE command")?;
            }
        }
        execute("COMMIT").map(Some)
    })();
    if !matches!(kept, Ok(Some(()))) {
        let _ = execute("ROLLBACK");
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::{Unanswered, Waiter};

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum End {
        Well,
        Refused,
        RefusedBeforeWriting,
        DiskFailed,
    }
    use End::{DiskFailed, Refused, RefusedBeforeWriting, Well};

    /// Writes its number twice, and ends as it is told to.
    struct Numbered {
        number: u32,
        end: End,
        repeat: Repeat,
    }

    impl Command for Numbered {
        fn repeat(&self) -> Repeat {
            self.repeat
        }

        fn run(&mut self, connection: &Connection) -> Ran {
            if self.end == RefusedBeforeWriting {
                return Ran::Undo;
            }
            connection.execute("INSERT INTO numbers VALUES (?1), (?1)", [self.number]).unwrap();
            match self.end {
                DiskFailed => Ran::Broken(StoreError::Closed),
                Refused => Ran::Undo,
                _ => Ran::Keep,
            }
        }

        fn waiter(&self) -> Waiter {
            Waiter::Alone
        }

        fn answer(self: Box<Self>, _: Result<(), StoreError>, _: Option<Unanswered>) {}
    }

    #[test]
    fn a_command_that_fails_is_undone_alone() {
        for (ends, kept) in [
            (&[Well, Well, Well][..], &[0, 1, 2][..]),
            (&[Well, RefusedBeforeWriting, Well], &[0, 2]),
            (&[Well, Refused, Well], &[0, 2]),
            (&[Refused, Refused, Well, RefusedBeforeWriting], &[2]),
            (&[Refused], &[]),
            (&[Well, DiskFailed, Well], &[]),
            (&[Well, Refused, DiskFailed, Well], &[]),
        ] {
            for repeat in [Repeat::AsOftenAsNeeded, Repeat::Never] {
                let connection =
                    Connection::Sqlite(Box::new(rusqlite::Connection::open_in_memory().unwrap()));
                connection.execute_batch("CREATE TABLE numbers (number INTEGER)").unwrap();
                let mut batch: Vec<Box<dyn Command>> = Vec::new();
                for (number, &end) in (0..).zip(ends) {
                    batch.push(Box::new(Numbered { number, end, repeat }));
                }
                let outcome = commit(&connection, &mut batch);
                assert_eq!(outcome.is_err(), ends.contains(&DiskFailed), "{ends:?} {repeat:?}");
                assert!(connection.is_broken(), "{ends:?} {repeat:?}");
                let mut select =
                    connection.prepare_cached("SELECT number FROM numbers ORDER BY rowid").unwrap();
                let rows = select.query_map([], |row| row.get::<_, u32>(0)).unwrap();
                let there: Vec<u32> = rows.map(Result::unwrap).collect();
                let twice: Vec<u32> = kept.iter().flat_map(|&number| [number, number]).collect();
                assert_eq!(there, twice, "{ends:?} {repeat:?}");
            }
        }
    }
}
