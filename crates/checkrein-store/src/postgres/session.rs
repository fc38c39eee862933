//! One connection to the server, spoken to by a thread that waits for each answer.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Row, Statement, types};

use super::dialect::translated;
use crate::StoreError;
use crate::block_on::block_on;
use crate::sql::Given;
use crate::sql::ToSql;

pub(crate) struct Session {
    client: Client,
    statements: RefCell<HashMap<String, Statement>>,
    changes: Cell<u64>,
    /// It was said that it ends; the client may learn of it later.
    lost: Cell<bool>,
    /// The server, as it is shown.
    address: String,
}

impl Session {
    pub(super) fn new(client: Client, address: String) -> Session {
        Session {
            client,
            statements: RefCell::default(),
            changes: Cell::new(0),
            lost: Cell::new(false),
            address,
        }
    }

    pub fn execute(&self, sql: &str, values: &[&dyn ToSql]) -> Result<usize, StoreError> {
        let given: Vec<Given<'_>> = values.iter().map(|value| Given(value.value())).collect();
        let given: Vec<&(dyn types::ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        let done = self.prepared(sql).and_then(|statement| {
            block_on(self.client.execute(&statement, &given)).map_err(|error| self.error(&error))
        });
        match &done {
            Ok(changed) => self.changes.set(self.changes.get() + changed),
            // A statement that fails spoils its transaction.
            Err(_) => self.changes.set(self.changes.get() + 1),
        }
        Ok(usize::try_from(done?).unwrap_or(usize::MAX))
    }

    pub fn query(&self, sql: &str, values: &[&dyn ToSql]) -> Result<Vec<Row>, StoreError> {
        let given: Vec<Given<'_>> = values.iter().map(|value| Given(value.value())).collect();
        let given: Vec<&(dyn types::ToSql + Sync)> = given.iter().map(|value| value as _).collect();
        let found = self.prepared(sql).and_then(|statement| {
            block_on(self.client.query(&statement, &given)).map_err(|error| self.error(&error))
        });
        let wrote = found.as_ref().map_or(true, |_| !is_question(sql));
        self.changes.set(self.changes.get() + u64::from(wrote));
        found
    }

    /// Statements without values.
    pub fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.changes.set(self.changes.get() + 1);
        block_on(self.client.batch_execute(sql)).map_err(|error| self.error(&error))
    }

    /// The first column of the last row of several statements without values.
    pub fn ask(&self, sql: &str) -> Result<Option<String>, StoreError> {
        use tokio_postgres::SimpleQueryMessage;
        let answer = block_on(self.client.simple_query(sql)).map_err(|error| self.error(&error))?;
        Ok(answer.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        }))
    }

    pub fn is_closed(&self) -> bool {
        self.lost.get() || self.client.is_closed()
    }

    pub fn total_changes(&self) -> u64 {
        self.changes.get()
    }

    fn prepared(&self, sql: &str) -> Result<Statement, StoreError> {
        if let Some(known) = self.statements.borrow().get(sql) {
            return Ok(known.clone());
        }
        let statement =
            block_on(self.client.prepare(&translated(sql))).map_err(|error| self.error(&error))?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    fn error(&self, error: &tokio_postgres::Error) -> StoreError {
        let explained = explain(error, &self.address);
        if matches!(explained, StoreError::Unreachable { .. }) {
            self.lost.set(true);
        }
        explained
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({})", self.address)
    }
}

/// Whether a statement only asks.
fn is_question(sql: &str) -> bool {
    sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select"))
}

/// What the server said, in words a person can act on.
pub(super) fn explain(error: &tokio_postgres::Error, address: &str) -> StoreError {
    let unreachable = |reason: String| StoreError::Unreachable { address: address.to_owned(), reason };
    let refused =
        |reason: &str| StoreError::Refused { address: address.to_owned(), reason: reason.to_owned() };
    let Some(said) = error.as_db_error() else {
        let cause = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        if error.to_string().contains("TLS") {
            return refused(&cause);
        }
        if error.is_closed() || std::error::Error::source(error).is_some_and(is_io) || is_connecting(error) {
            return unreachable(cause);
        }
        return StoreError::Other { reason: error.to_string() + ": " + &cause };
    };
    let code = said.code();
    match *code {
        SqlState::DISK_FULL => StoreError::DiskFull,
        SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::ReadOnly,
        SqlState::LOCK_NOT_AVAILABLE => StoreError::Busy,
        SqlState::INVALID_CATALOG_NAME
        | SqlState::INVALID_PASSWORD
        | SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        | SqlState::INSUFFICIENT_PRIVILEGE => refused(said.message()),
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => {
            StoreError::Damaged { reason: said.message().to_owned() }
        }
        // 08: connections, 53: too many of them, 57P: it is stopped or not there yet, 25P03: it took us
        // for dead.
        _ if ["08", "53", "57P", "25P03"].iter().any(|class| code.code().starts_with(class)) => {
            unreachable(said.message().to_owned())
        }
        _ => StoreError::Other { reason: format!("{} ({})", said.message(), code.code()) },
    }
}

fn is_io(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<std::io::Error>()
}

fn is_connecting(error: &tokio_postgres::Error) -> bool {
    let said = error.to_string();
    said.contains("connecting to server") || said.contains("communicating with the server")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_changes_nothing() {
        assert!(is_question("\n SELECT 1") && is_question("select 1"));
        assert!(!is_question("DELETE FROM runs RETURNING id") && !is_question("é"));
    }
}
