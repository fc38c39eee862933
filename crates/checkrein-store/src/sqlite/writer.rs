//! One thread writes. Commands that wait at the same time share one commit, and are answered only when
//! the disk has them. A command that fails is undone alone.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use tokio::sync::{oneshot, watch};

use super::waiting::{Last, Waiting};
use crate::{CommitError, StoreError, TransferError};

#[derive(Debug)]
pub(super) struct Writer {
    waiting: Arc<Waiting<Box<dyn Command>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    /// `queue` is where processes line up, `committed` counts the commits of this one.
    pub fn start(
        connection: Connection,
        queue: Option<File>,
        file: StoreFile,
        committed: watch::Sender<u64>,
    ) -> Result<Writer, StoreError> {
        let waiting = Arc::new(Waiting::new());
        let commands = Commands(Arc::clone(&waiting));
        let thread = thread::Builder::new()
            .name("checkrein-store".to_owned())
            .spawn(move || write(&connection, queue.as_ref(), &file, &commands, &committed))
            .map_err(|error| StoreError::Other { reason: error.to_string() })?;
        Ok(Writer { waiting, thread: Some(thread) })
    }

    /// Runs `work` on the writing thread and answers when its effect is on disk. An error rolls back
    /// this command alone. It may be run again where the first time was undone with its neighbours'.
    pub async fn run<T, E>(&self, work: impl Fn(&Connection) -> Result<T, E> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure + Send + 'static,
    {
        self.ask(move |connection| Some(work(connection)), Repeat::AsOftenAsNeeded).await
    }

    /// The same for work that uses up what it was given.
    pub async fn run_once<T, E>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure + Send + 'static,
    {
        let mut work = Some(work);
        self.ask(move |connection| work.take().map(|work| work(connection)), Repeat::Never).await
    }

    async fn ask<T, E>(
        &self,
        work: impl FnMut(&Connection) -> Option<Result<T, E>> + Send + 'static,
        repeat: Repeat,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure + Send + 'static,
    {
        let (reply, replied) = oneshot::channel();
        let command = Box::new(Work { work, repeat, result: None, reply });
        if !self.waiting.push(command) {
            return Err(StoreError::Closed.into());
        }
        match replied.await {
            Ok((outcome, _work)) => outcome,
            Err(_) => Err(StoreError::Closed.into()),
        }
    }
}

/// Waits until what was accepted is done.
impl Drop for Writer {
    fn drop(&mut self) {
        self.waiting.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An error of a command: its own, or of the store under it.
pub(super) trait Failure: From<StoreError> {
    fn store(&self) -> Option<&StoreError>;
}

impl Failure for StoreError {
    fn store(&self) -> Option<&StoreError> {
        Some(self)
    }
}

impl Failure for CommitError {
    fn store(&self) -> Option<&StoreError> {
        match self {
            CommitError::Conflict => None,
            CommitError::Store(error) => Some(error),
        }
    }
}

impl Failure for TransferError {
    fn store(&self) -> Option<&StoreError> {
        match self {
            TransferError::Store(error) => Some(error),
            _ => None,
        }
    }
}

/// What is to become of a command's work.
enum Ran {
    Keep,
    Undo,
    /// The disk failed under it: nothing of the batch can be relied on.
    Broken(StoreError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repeat {
    AsOftenAsNeeded,
    Never,
}

trait Command: Send {
    fn repeat(&self) -> Repeat;
    fn run(&mut self, connection: &Connection) -> Ran;
    /// Tells whoever asked, once it is known what became of the commit.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Work<T, E, F> {
    work: F,
    repeat: Repeat,
    result: Option<Result<T, E>>,
    /// What it was given goes back with the answer: freeing it where it was allocated is cheaper by
    /// far than on the writing thread.
    reply: oneshot::Sender<(Result<T, E>, F)>,
}

impl<T, E, F> Command for Work<T, E, F>
where
    T: Send,
    E: Failure + Send,
    F: FnMut(&Connection) -> Option<Result<T, E>> + Send,
{
    fn repeat(&self) -> Repeat {
        self.repeat
    }

    fn run(&mut self, connection: &Connection) -> Ran {
        let Some(result) = (self.work)(connection) else { return Ran::Undo };
        let failure = result.as_ref().err().map(|error| error.store().cloned());
        self.result = Some(result);
        match failure {
            None => Ran::Keep,
            Some(Some(error @ StoreError::WriteFailed { .. })) => Ran::Broken(error),
            // Some errors make SQLite roll back on its own, with everything that came before.
            Some(Some(error)) if connection.is_autocommit() => Ran::Broken(error),
            Some(_) => Ran::Undo,
        }
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let outcome = match (committed, self.result) {
            // First: a command may have been refused because of another one that is gone with the batch.
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(done)) => done,
            (Ok(()), None) => Err(StoreError::Closed.into()),
        };
        // Whoever asked may have gone; what is saved is saved.
        let _ = self.reply.send((outcome, self.work));
    }
}

/// The file of the store, to know it again: what is written to a file that has no name any more is lost.
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

/// The writing thread's end of what waits. When the thread is gone, nobody waits for it in vain.
struct Commands(Arc<Waiting<Box<dyn Command>>>);

impl Drop for Commands {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

fn write(
    connection: &Connection,
    queue: Option<&File>,
    file: &StoreFile,
    Commands(waiting): &Commands,
    committed: &watch::Sender<u64>,
) {
    let mut stopped: Option<StoreError> = None;
    let mut last = Last::default();
    while let Some(mut batch) = waiting.take(last) {
        let begun = Instant::now();
        let outcome = match &stopped {
            Some(error) => Err(error.clone()),
            None => {
                let _turn = queue.map(Turn::take);
                commit(connection, &mut batch).and_then(|()| file.check())
            }
        };
        match &outcome {
            Ok(()) => committed.send_modify(|count| *count += 1),
            // INVARIANT: after a failed write nothing more is acknowledged; what the disk holds is
            // known again only when the store is opened anew.
            Err(error @ (StoreError::WriteFailed { .. } | StoreError::Gone { .. })) => {
                stopped = Some(error.clone())
            }
            Err(_) => {}
        }
        last = Last { expected: batch.len() + waiting.len(), duration: begun.elapsed() };
        for command in batch {
            command.answer(outcome.clone());
        }
    }
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

/// How far a command that fails reaches back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undo {
    All,
    EachAlone,
}

/// None where all was undone because of one.
fn transact(
    connection: &Connection,
    batch: &mut [Box<dyn Command>],
    undo: Undo,
) -> Result<Option<()>, StoreError> {
    let execute = |statement: &str| -> Result<(), StoreError> {
        connection.prepare_cached(statement)?.execute([])?;
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

        fn answer(self: Box<Self>, _: Result<(), StoreError>) {}
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
                let connection = Connection::open_in_memory().unwrap();
                connection.execute_batch("CREATE TABLE numbers (number INTEGER)").unwrap();
                let mut batch: Vec<Box<dyn Command>> = Vec::new();
                for (number, &end) in (0..).zip(ends) {
                    batch.push(Box::new(Numbered { number, end, repeat }));
                }
                let outcome = commit(&connection, &mut batch);
                assert_eq!(outcome.is_err(), ends.contains(&DiskFailed), "{ends:?} {repeat:?}");
                assert!(connection.is_autocommit(), "{ends:?} {repeat:?}");
                let mut select = connection.prepare("SELECT number FROM numbers ORDER BY rowid").unwrap();
                let rows = select.query_map([], |row| row.get::<_, u32>(0)).unwrap();
                let there: Vec<u32> = rows.map(Result::unwrap).collect();
                let twice: Vec<u32> = kept.iter().flat_map(|&number| [number, number]).collect();
                assert_eq!(there, twice, "{ends:?} {repeat:?}");
            }
        }
    }

    #[tokio::test]
    async fn work_that_uses_up_what_it_was_given_runs_once_beside_others_that_fail() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE numbers (number INTEGER)").unwrap();
        let writer = Arc::new(
            Writer::start(connection, None, StoreFile::new(Path::new("")), watch::channel(0).0).unwrap(),
        );
        let mut running = tokio::task::JoinSet::new();
        for number in 0..200_u32 {
            let writer = Arc::clone(&writer);
            running.spawn(async move {
                let insert = move |connection: &Connection| {
                    connection.execute("INSERT INTO numbers VALUES (?1)", [number]).map_err(CommitError::from)
                };
                let refused = match number % 3 {
                    0 => writer.run(move |c| insert(c).and(Err::<(), _>(CommitError::Conflict))).await,
                    1 => writer.run_once(move |c| insert(c).map(|_| ())).await,
                    _ => writer.run(move |c| insert(c).map(|_| ())).await,
                };
                assert_eq!(refused.is_err(), number % 3 == 0, "{number}");
            });
        }
        running.join_all().await;
        let count = writer.run(|connection| -> Result<(i64, i64), StoreError> {
            let sql = "SELECT count(*), count(DISTINCT number) FROM numbers";
            Ok(connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
        });
        assert_eq!(count.await.unwrap(), (133, 133));
    }
}
