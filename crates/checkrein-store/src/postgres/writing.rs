//! The writing connection: batches in one transaction each, through restarts of the server.

use std::sync::Arc;
use std::time::Instant;

use super::server::Server;
use super::session::Session;
use super::{PATIENCE, Pause};
use crate::StoreError;
use crate::sql::Connection;
use crate::writer::{Command, Ran, Repeat, Undo};

#[derive(Debug)]
pub(crate) struct Writing {
    server: Arc<Server>,
    connection: Option<Connection>,
    /// How many batches were begun. The last one that was committed stands in the store, under our name.
    batch: u64,
}

/// What became of a batch.
enum Ended {
    Committed,
    /// A command failed that had written; all was undone.
    Undone,
    /// The connection was lost before the end: nothing was saved.
    Lost(StoreError),
    /// It was lost while the end was under way. The server knows.
    Unsure(StoreError),
}

impl Writing {
    pub(super) fn new(server: Arc<Server>, session: Session) -> Writing {
        Writing { server, connection: Some(Connection::Postgres(Box::new(session))), batch: 0 }
    }

    /// Makes a batch durable. A server that is gone is waited for; what it had committed before is not
    /// committed again.
    pub fn commit(&mut self, batch: &mut [Box<dyn Command>]) -> Result<(), StoreError> {
        let deadline = Instant::now() + PATIENCE;
        let repeatable = batch.iter().all(|command| command.repeat() == Repeat::AsOftenAsNeeded);
        let mut undo = if repeatable { Undo::All } else { Undo::EachAlone };
        let mut pause = Pause::default();
        loop {
            self.batch += 1;
            match self.transact(batch, undo, deadline)? {
                Ended::Committed => return Ok(()),
                Ended::Undone => undo = Undo::EachAlone,
                Ended::Lost(error) if !repeatable || Instant::now() >= deadline => return Err(error),
                Ended::Lost(_) => pause.take(),
                Ended::Unsure(error) => match self.is_committed(deadline)? {
                    Some(true) => return Ok(()),
                    Some(false) if repeatable && Instant::now() < deadline => {}
                    Some(false) => return Err(error),
                    None => return Err(StoreError::Unsure { reason: error.to_string() }),
                },
            }
        }
    }

    /// One try.
    fn transact(
        &mut self,
        batch: &mut [Box<dyn Command>],
        undo: Undo,
        deadline: Instant,
    ) -> Result<Ended, StoreError> {
        let connection = match self.connection.take().filter(|connection| !connection.is_broken()) {
            Some(connection) => connection,
            None => Connection::Postgres(Box::new(self.server.session(deadline)?)),
        };
        let ended = self.transact_on(&connection, batch, undo);
        if let Connection::Postgres(session) = &connection
            && !session.is_closed()
            && !matches!(ended, Ok(Ended::Committed | Ended::Unsure(_)))
            // Where even this fails, the connection is not used again, and the server undoes it.
            && session.batch("ROLLBACK").is_err()
        {
            return ended;
        }
        if !matches!(ended, Ok(Ended::Lost(_) | Ended::Unsure(_))) {
            self.connection = Some(connection);
        }
        ended
    }

    fn transact_on(
        &self,
        connection: &Connection,
        batch: &mut [Box<dyn Command>],
        undo: Undo,
    ) -> Result<Ended, StoreError> {
        let Connection::Postgres(session) = connection else { return Err(StoreError::Closed) };
        // INVARIANT: everybody who writes has this lock until the commit is done, so positions are given in
        // the order of commits, and a reader never sees one that is followed by an earlier one.
        let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({})", self.server.lock());
        if let Err(error) = session.batch(&begin) {
            return settle(session, error);
        }
        let before = session.total_changes();
        for command in batch {
            if undo == Undo::EachAlone
                && let Err(error) = session.batch("SAVEPOINT command")
            {
                return settle(session, error);
            }
            let changes = session.total_changes();
            let said = match (command.run(connection), undo) {
                (Ran::Broken(error), _) => return settle(session, error),
                (Ran::Undo, Undo::EachAlone) => session.batch("ROLLBACK TO command; RELEASE command"),
                (Ran::Undo, Undo::All) if session.total_changes() != changes => return Ok(Ended::Undone),
                (Ran::Keep, Undo::EachAlone) => session.batch("RELEASE command"),
                (Ran::Undo | Ran::Keep, Undo::All) => Ok(()),
            };
            if let Err(error) = said {
                return settle(session, error);
            }
        }
        let tell = if session.total_changes() == before {
            String::new()
        } else {
            let (own, channel, batch) = (&self.server.instance, self.server.channel(), self.batch);
            format!(
                "INSERT INTO checkrein_writers (instance, batch, at) VALUES ('{own}', {batch}, now())
                 ON CONFLICT (instance) DO UPDATE SET batch = {batch}, at = now();
                 NOTIFY {channel}, '{own}'; "
            )
        };
        match session.batch(&format!("{tell}COMMIT")) {
            Ok(()) => Ok(Ended::Committed),
            Err(error @ StoreError::Unreachable { .. }) => Ok(Ended::Unsure(error)),
            Err(error) => Err(error),
        }
    }

    /// Whether the last batch was committed; none where the server does not say before the deadline. Its
    /// number of a transaction would not do: after a crash, another one may have it.
    fn is_committed(&self, deadline: Instant) -> Result<Option<bool>, StoreError> {
        let mut pause = Pause::default();
        while Instant::now() < deadline {
            let session = self.server.session(deadline)?;
            // Whoever has the lock knows that the batch has ended, one way or the other: the connection that
            // is lost to us may not be lost to the server yet.
            let asked = session.ask(&format!(
                "BEGIN; SELECT pg_advisory_xact_lock({}); COMMIT;
                 SELECT batch FROM checkrein_writers WHERE instance = '{}'",
                self.server.lock(),
                self.server.instance
            ));
            match asked {
                Ok(last) => return Ok(Some(last.and_then(|last| last.parse().ok()) == Some(self.batch))),
                Err(StoreError::Unreachable { .. } | StoreError::Busy) => pause.take(),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

/// Before the end, a connection that is lost has saved nothing.
fn settle(session: &Session, error: StoreError) -> Result<Ended, StoreError> {
    if session.is_closed() || matches!(error, StoreError::Unreachable { .. }) {
        return Ok(Ended::Lost(error));
    }
    Err(error)
}
