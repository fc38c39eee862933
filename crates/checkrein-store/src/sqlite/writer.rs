//! One thread writes. Commands that wait at the same time share one commit, each in a savepoint of
//! its own, and are answered only when the disk has them.

use std::fs::File;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use tokio::sync::{oneshot, watch};

use crate::{CommitError, StoreError, TransferError};

/// So many commands share one commit at most.
const BATCH_MAX: usize = 256;

#[derive(Debug)]
pub(super) struct Writer {
    commands: Option<Sender<Box<dyn Command>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    /// `queue` is where processes line up, `committed` counts the commits of this one.
    pub fn start(
        connection: Connection,
        queue: Option<File>,
        committed: watch::Sender<u64>,
    ) -> Result<Writer, StoreError> {
        let (sender, commands) = channel();
        let thread = thread::Builder::new()
            .name("checkrein-store".to_owned())
            .spawn(move || write(&connection, queue.as_ref(), &commands, &committed))
            .map_err(|error| StoreError::Other { reason: error.to_string() })?;
        Ok(Writer { commands: Some(sender), thread: Some(thread) })
    }

    /// Runs `work` on the writing thread and answers when its effect is on disk. An error rolls back
    /// this command alone.
    pub async fn run<T, E>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Failure + Send + 'static,
    {
        let (reply, replied) = oneshot::channel();
        let command = Box::new(Work { work: Some(work), result: None, reply });
        let sent = self.commands.as_ref().is_some_and(|commands| commands.send(command).is_ok());
        if !sent {
            return Err(StoreError::Closed.into());
        }
        replied.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }
}

/// Waits until what was accepted is done.
impl Drop for Writer {
    fn drop(&mut self) {
        self.commands = None;
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

trait Command: Send {
    fn run(&mut self, connection: &Connection) -> Ran;
    /// Tells whoever asked, once it is known what became of the commit.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Work<T, E, F> {
    work: Option<F>,
    result: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<T, E, F> Command for Work<T, E, F>
where
    T: Send,
    E: Failure + Send,
    F: FnOnce(&Connection) -> Result<T, E> + Send,
{
    fn run(&mut self, connection: &Connection) -> Ran {
        let Some(work) = self.work.take() else { return Ran::Undo };
        let result = work(connection);
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
        let _ = self.reply.send(outcome);
    }
}

fn write(
    connection: &Connection,
    queue: Option<&File>,
    commands: &Receiver<Box<dyn Command>>,
    committed: &watch::Sender<u64>,
) {
    let mut stopped: Option<StoreError> = None;
    let mut answered = 0;
    while let Ok(first) = commands.recv() {
        let mut batch = gather(first, commands, answered);
        answered = batch.len();
        let outcome = match &stopped {
            Some(error) => Err(error.clone()),
            None => {
                let _turn = queue.map(Turn::take);
                commit(connection, &mut batch)
            }
        };
        match &outcome {
            Ok(()) => committed.send_modify(|count| *count += 1),
            // INVARIANT: after a failed write nothing more is acknowledged; what the disk holds is
            // known again only when the store is opened anew.
            Err(error @ StoreError::WriteFailed { .. }) => stopped = Some(error.clone()),
            Err(_) => {}
        }
        for command in batch {
            command.answer(outcome.clone());
        }
    }
}

/// The commands that share the next commit. Under load, those that the last commit has answered are
/// about to ask again; waiting for them a moment makes one commit of what would be several.
fn gather(
    first: Box<dyn Command>,
    commands: &Receiver<Box<dyn Command>>,
    answered: usize,
) -> Vec<Box<dyn Command>> {
    /// So few do not make a load: they are served at once.
    const FEW: usize = 8;
    /// Less than any commit takes.
    const LINGER_MAX: Duration = Duration::from_micros(250);
    let mut batch = vec![first];
    batch.extend(commands.try_iter().take(BATCH_MAX - 1));
    if answered < FEW {
        return batch;
    }
    let begun = Instant::now();
    let expected = (batch.len() + answered).min(BATCH_MAX);
    while batch.len() < expected {
        match commands.recv_timeout(LINGER_MAX.saturating_sub(begun.elapsed())) {
            Ok(command) => batch.push(command),
            Err(_) => break,
        }
    }
    batch
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

/// Runs a batch in one transaction.
fn commit(connection: &Connection, batch: &mut [Box<dyn Command>]) -> Result<(), StoreError> {
    let execute = |statement: &str| -> Result<(), StoreError> {
        connection.prepare_cached(statement)?.execute([])?;
        Ok(())
    };
    execute("BEGIN IMMEDIATE")?;
    let kept = (|| {
        for command in batch {
            execute("SAVEPOINT command")?;
            match command.run(connection) {
                Ran::Keep => {}
                Ran::Undo => execute("ROLLBACK TO command")?,
                Ran::Broken(error) => return Err(error),
            }
            execute("RELEASE command")?;
        }
        execute("COMMIT")
    })();
    if kept.is_err() {
        let _ = execute("ROLLBACK");
    }
    kept
}
