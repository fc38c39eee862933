//! One way to say SQL to either back end.
//!
//! Statements are written once, with `?1` for the first value and so on, in the SQL that SQLite and
//! PostgreSQL share. Where there is no such SQL, `Connection::kind` says whom one is talking to.

mod value;

use std::collections::VecDeque;

pub(crate) use self::value::{FromSql, Given, Params, ToSql, Value, params};
use crate::postgres::Session;
use crate::{CommitError, StoreError, TransferError};

/// A connection to a back end.
#[derive(Debug)]
pub(crate) enum Connection {
    Sqlite(Box<rusqlite::Connection>),
    Postgres(Box<Session>),
}

/// Whom one is talking to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// A statement that is prepared once for each connection.
pub(crate) enum Statement<'c> {
    Sqlite(rusqlite::CachedStatement<'c>),
    Postgres(&'c Session, String),
}

/// One row of an answer.
pub(crate) enum Row<'r> {
    Sqlite(&'r rusqlite::Row<'r>),
    Postgres(tokio_postgres::Row),
}

/// An answer, row by row.
pub(crate) enum Rows<'s> {
    Sqlite(rusqlite::Rows<'s>),
    Postgres(VecDeque<tokio_postgres::Row>),
}

/// Why a statement gave no answer.
#[derive(Debug)]
pub(crate) enum Error {
    /// There is no such row.
    NoRow,
    Store(StoreError),
}

impl Connection {
    pub const fn kind(&self) -> Kind {
        match self {
            Connection::Sqlite(_) => Kind::Sqlite,
            Connection::Postgres(_) => Kind::Postgres,
        }
    }

    pub fn prepare_cached(&self, sql: &str) -> Result<Statement<'_>, Error> {
        match self {
            Connection::Sqlite(connection) => Ok(Statement::Sqlite(connection.prepare_cached(sql)?)),
            Connection::Postgres(session) => Ok(Statement::Postgres(session, sql.to_owned())),
        }
    }

    /// How many rows were changed.
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<usize, Error> {
        self.prepare_cached(sql)?.execute(params)
    }

    /// The first row, which must be there.
    pub fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.prepare_cached(sql)?.query_row(params, read)
    }

    /// Several statements without values.
    pub fn execute_batch(&self, sql: &str) -> Result<(), Error> {
        match self {
            Connection::Sqlite(connection) => Ok(connection.execute_batch(sql)?),
            Connection::Postgres(session) => Ok(session.batch(sql)?),
        }
    }

    /// What is read in `work` is of one moment, however long it takes.
    pub fn at_one_moment<T, E: From<Error>>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        match self {
            Connection::Sqlite(connection) => {
                let transaction = connection.unchecked_transaction().map_err(Error::from)?;
                let done = work(self);
                drop(transaction);
                done
            }
            Connection::Postgres(session) => {
                let say = |sql: &str| session.batch(sql).map_err(Error::from);
                say("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
                let done = work(self);
                // Nothing was written; where the connection is gone, so is the transaction.
                let _ = say("ROLLBACK");
                done
            }
        }
    }

    /// Whether what was done in the transaction under way is gone, whatever comes.
    pub fn is_broken(&self) -> bool {
        match self {
            Connection::Sqlite(connection) => connection.is_autocommit(),
            Connection::Postgres(session) => session.is_closed(),
        }
    }

    /// Grows with every row that is changed, and with everything that cannot stay in a transaction.
    pub fn total_changes(&self) -> u64 {
        match self {
            Connection::Sqlite(connection) => connection.total_changes(),
            Connection::Postgres(session) => session.total_changes(),
        }
    }
}

impl Statement<'_> {
    pub fn execute(&mut self, params: impl Params) -> Result<usize, Error> {
        params.with(|values| match self {
            Statement::Sqlite(statement) => {
                Ok(statement.execute(rusqlite::params_from_iter(values.iter().copied()))?)
            }
            Statement::Postgres(session, sql) => Ok(session.execute(sql, values)?),
        })
    }

    pub fn query_row<T>(
        &mut self,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.query(params)?.next()? {
            Some(row) => read(&row),
            None => Err(Error::NoRow),
        }
    }

    /// Every row, read.
    pub fn query_map<T>(
        &mut self,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<std::vec::IntoIter<Result<T, Error>>, Error> {
        let mut rows = self.query(params)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(&row));
        }
        Ok(found.into_iter())
    }

    /// Every row. PostgreSQL sends them all before the first is looked at: page through what may be large.
    pub fn query(&mut self, params: impl Params) -> Result<Rows<'_>, Error> {
        params.with(|values| match self {
            Statement::Sqlite(statement) => {
                let values = rusqlite::params_from_iter(values.iter().copied());
                Ok(Rows::Sqlite(statement.query(values)?))
            }
            Statement::Postgres(session, sql) => Ok(Rows::Postgres(session.query(sql, values)?.into())),
        })
    }

    pub fn exists(&mut self, params: impl Params) -> Result<bool, Error> {
        Ok(self.query(params)?.next()?.is_some())
    }
}

impl Rows<'_> {
    pub fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        match self {
            Rows::Sqlite(rows) => Ok(rows.next()?.map(Row::Sqlite)),
            Rows::Postgres(rows) => Ok(rows.pop_front().map(Row::Postgres)),
        }
    }
}

impl Row<'_> {
    pub fn get<I: Column, T: FromSql>(&self, column: I) -> Result<T, Error> {
        let column = column.number();
        let value = match self {
            Row::Sqlite(row) => Value::of_sqlite(row.get_ref(column)?)?,
            Row::Postgres(row) => Value::of_postgres(row, column)?,
        };
        T::of(value).map_err(|reason| {
            Error::Store(StoreError::Damaged { reason: format!("column {column}: {reason}") })
        })
    }
}

/// What names a column: its place.
pub(crate) trait Column {
    fn number(self) -> usize;
}

impl Column for usize {
    fn number(self) -> usize {
        self
    }
}

/// A row that may not be there.
pub(crate) trait OptionalExtension<T> {
    fn optional(self) -> Result<Option<T>, Error>;
}

impl<T> OptionalExtension<T> for Result<T, Error> {
    fn optional(self) -> Result<Option<T>, Error> {
        match self {
            Ok(found) => Ok(Some(found)),
            Err(Error::NoRow) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Error {
        Error::Store(error.into())
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Error {
        Error::Store(error)
    }
}

impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        match error {
            Error::NoRow => StoreError::Damaged { reason: "a row that must be there is missing".to_owned() },
            Error::Store(error) => error,
        }
    }
}

impl From<Error> for CommitError {
    fn from(error: Error) -> CommitError {
        CommitError::Store(error.into())
    }
}

impl From<Error> for TransferError {
    fn from(error: Error) -> TransferError {
        TransferError::Store(error.into())
    }
}
