//! One thread writes. Commands that wait at the same time share one commit, and are answered only when
//! the disk has them. A command that fails is undone alone.

mod waiting;

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{oneshot, watch};

use self::waiting::{Last, Waiting};
use crate::block_on::is_blocked;
use crate::sql::Connection;
use crate::{CommitError, StoreError, TransferError, postgres, sqlite};

#[derive(Debug)]
pub(crate) struct Writer {
    waiting: Arc<Waiting<Box<dyn Command>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    /// `committed` counts the commits of this process.
    pub fn start(mut medium: Medium, committed: watch::Sender<u64>) -> Result<Writer, StoreError> {
        let waiting = Arc::new(Waiting::new());
        let commands = Commands(Arc::clone(&waiting));
        let thread = thread::Builder::new()
            .name("checkrein-store".to_owned())
            .spawn(move || write(&mut medium, &commands, &committed))
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
        let command = Box::new(Work { work, repeat, result: None, waiter: Waiter::here(), reply });
        if !self.waiting.push(command) {
            return Err(StoreError::Closed.into());
        }
        match replied.await {
            Ok(Reply { outcome, others, work }) => {
                drop(others);
                drop(work);
                outcome
            }
            Err(_) => Err(StoreError::Closed.into()),
        }
    }
}

/// Where somebody waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A task that any of several threads goes on with: it cannot be kept from it by one that is busy.
    AmongThreads,
    /// INVARIANT: a thread that is blocked by its question is told by the writer itself. It may be all that those
    /// have who would tell it.
    Alone,
}

impl Waiter {
    fn here() -> Waiter {
        if is_blocked() {
            return Waiter::Alone;
        }
        match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
            Ok(RuntimeFlavor::MultiThread) => Waiter::AmongThreads,
            _ => Waiter::Alone,
        }
    }
}

/// What a batch is written to.
#[derive(Debug)]
pub(crate) enum Medium {
    Sqlite(Box<sqlite::Writing>),
    Postgres(Box<postgres::Writing>),
}

impl Medium {
    fn commit(&mut self, batch: &mut [Box<dyn Command>]) -> Result<(), StoreError> {
        match self {
            Medium::Sqlite(writing) => writing.commit(batch),
            Medium::Postgres(writing) => writing.commit(batch),
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
pub(crate) trait Failure: From<StoreError> {
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
            CommitError::Conflict | CommitError::LeaseLost => None,
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
pub(crate) enum Ran {
    Keep,
    Undo,
    /// The disk failed under it: nothing of the batch can be relied on.
    Broken(StoreError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    AsOftenAsNeeded,
    Never,
}

pub(crate) trait Command: Send {
    fn repeat(&self) -> Repeat;
    fn run(&mut self, connection: &Connection) -> Ran;
    fn waiter(&self) -> Waiter;
    /// Tells whoever asked, once it is known what became of the commit. They tell the others.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>, others: Option<Unanswered>);
}

/// Those of a commit that are told by the first of them. To wake a task from another thread costs a call of the system
/// and the other core's sleep; from within its runtime it costs next to nothing.
pub(crate) struct Unanswered {
    commands: Vec<Box<dyn Command>>,
    committed: Result<(), StoreError>,
}

/// Whether the first one takes note of its answer, has gone away meanwhile or never was there: the others hear.
impl Drop for Unanswered {
    fn drop(&mut self) {
        for command in self.commands.drain(..) {
            command.answer(self.committed.clone(), None);
        }
    }
}

struct Work<T, E, F> {
    work: F,
    repeat: Repeat,
    result: Option<Result<T, E>>,
    waiter: Waiter,
    reply: oneshot::Sender<Reply<T, E, F>>,
}

struct Reply<T, E, F> {
    outcome: Result<T, E>,
    others: Option<Unanswered>,
    /// What it was given goes back with the answer: freeing it where it was allocated is cheaper by
    /// far than on the writing thread.
    work: F,
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
            // Some errors undo everything that came before: SQLite rolls back on its own, a server goes away.
            Some(Some(error)) if connection.is_broken() => Ran::Broken(error),
            Some(_) => Ran::Undo,
        }
    }

    fn waiter(&self) -> Waiter {
        self.waiter
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>, others: Option<Unanswered>) {
        let outcome = match (committed, self.result) {
            // First: a command may have been refused because of another one that is gone with the batch.
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(done)) => done,
            (Ok(()), None) => Err(StoreError::Closed.into()),
        };
        // Whoever asked may have gone; what is saved is saved.
        let _ = self.reply.send(Reply { outcome, others, work: self.work });
    }
}

/// The writing thread's end of what waits. When the thread is gone, nobody waits for it in vain.
struct Commands(Arc<Waiting<Box<dyn Command>>>);

impl Drop for Commands {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

fn write(medium: &mut Medium, Commands(waiting): &Commands, committed: &watch::Sender<u64>) {
    let mut stopped: Option<StoreError> = None;
    let mut last = Last::default();
    while let Some(mut batch) = waiting.take(last) {
        let begun = Instant::now();
        let outcome = match &stopped {
            Some(error) => Err(error.clone()),
            None => medium.commit(&mut batch),
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
        answer(batch, &outcome);
    }
}

fn answer(batch: Vec<Box<dyn Command>>, committed: &Result<(), StoreError>) {
    let (mut among, alone): (Vec<_>, Vec<_>) =
        batch.into_iter().partition(|command| command.waiter() == Waiter::AmongThreads);
    for command in alone {
        command.answer(committed.clone(), None);
    }
    if let Some(first) = among.pop() {
        let others = Unanswered { commands: among, committed: committed.clone() };
        first.answer(committed.clone(), Some(others));
    }
}

/// How far a command that fails reaches back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undo {
    All,
    EachAlone,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer() -> Arc<Writer> {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE numbers (number INTEGER)").unwrap();
        let medium = Medium::Sqlite(Box::new(sqlite::Writing::on(connection)));
        Arc::new(Writer::start(medium, watch::channel(0).0).unwrap())
    }

    /// Keeps the writer from its next commit until so many wait for it.
    fn hold_up(writer: &Arc<Writer>, until: usize) -> thread::JoinHandle<()> {
        let (held, own) = (Arc::clone(writer), Arc::clone(&writer.waiting));
        let (began, begun) = std::sync::mpsc::channel();
        let holding = thread::spawn(move || {
            let waits = move |_: &Connection| -> Result<(), StoreError> {
                let _ = began.send(());
                while own.len() < until {
                    thread::yield_now();
                }
                Ok(())
            };
            crate::block_on(held.run(waits)).unwrap();
        });
        begun.recv().unwrap();
        holding
    }

    fn write_one(connection: &Connection) -> Result<usize, StoreError> {
        Ok(connection.execute("INSERT INTO numbers VALUES (1)", [])?)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_others_of_a_commit_are_told_whoever_goes_away() {
        let writer = writer();
        let holding = hold_up(&writer, 40);
        let ask = |_| {
            let writer = Arc::clone(&writer);
            tokio::spawn(async move { writer.run(write_one).await })
        };
        let asking: Vec<_> = (0..40).map(ask).collect();
        tokio::task::spawn_blocking(|| holding.join().unwrap()).await.unwrap();
        // The last one would tell the others, if it were there.
        for gone in asking.iter().skip(20) {
            gone.abort();
        }
        for told in asking.into_iter().take(20) {
            assert_eq!(told.await.unwrap().unwrap(), 1);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn threads_that_are_blocked_by_their_questions_are_told() {
        let writer = writer();
        let holding = hold_up(&writer, 10);
        let asking: Vec<_> = (0..10)
            .map(|number| {
                let writer = Arc::clone(&writer);
                // Two of them are all the threads there are; tasks that would tell them have none.
                tokio::spawn(async move {
                    if number < 8 {
                        return writer.run(write_one).await;
                    }
                    crate::block_on(writer.run(write_one))
                })
            })
            .collect();
        for told in asking {
            assert_eq!(told.await.unwrap().unwrap(), 1);
        }
        tokio::task::spawn_blocking(|| holding.join().unwrap()).await.unwrap();
    }

    #[tokio::test]
    async fn work_that_uses_up_what_it_was_given_runs_once_beside_others_that_fail() {
        let writer = writer();
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
