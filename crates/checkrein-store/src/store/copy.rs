//! Moves everything a store holds to another one, row by row.

use super::Store;
use crate::sql::{Connection, Kind, Row, ToSql, Value};
use crate::{StoreError, TransferError};

/// What was moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Each table, and how many rows it had.
    pub tables: Vec<(String, u64)>,
}

/// So many rows are read at a time.
const PART: i64 = 500;

impl Store {
    /// Takes over everything another store holds: checkpoints, events, contents, runs, tokens, webhooks,
    /// with the numbers they have there. This store must be empty; all of it comes, or nothing.
    pub async fn copy_from(&self, source: &Store) -> Result<Copied, TransferError> {
        let source = source.clone();
        self.writer()?
            .run_once(move |to| source.read_once(|from| from.at_one_moment(|from| copy(from, to))))
            .await
    }
}

fn copy(from: &Connection, to: &Connection) -> Result<Copied, TransferError> {
    let known = tables(to)?;
    for (table, _) in &known {
        let sql = format!("SELECT 1 FROM {table} LIMIT 1");
        if to.prepare_cached(&sql)?.exists([])? {
            return Err(TransferError::NotEmpty { table: table.clone() });
        }
    }
    let mut copied = Copied::default();
    // In the order they were made: what is referred to comes first.
    for (table, own) in tables(from)? {
        let Some((_, columns)) = known.iter().find(|(name, _)| *name == table) else {
            return Err(TransferError::UnknownTable { table });
        };
        if let Some(missing) = own.iter().find(|column| !columns.contains(column)) {
            return Err(TransferError::UnknownTable { table: format!("{table}.{missing}") });
        }
        let rows = copy_table(from, to, &table, &own)?;
        if to.kind() == Kind::Postgres {
            go_on_counting(to, &table)?;
        }
        copied.tables.push((table, rows));
    }
    Ok(copied)
}

fn copy_table(
    from: &Connection,
    to: &Connection,
    table: &str,
    columns: &[String],
) -> Result<u64, TransferError> {
    let names = columns.join(", ");
    let places: Vec<String> = (1..=columns.len()).map(|number| format!("?{number}")).collect();
    let insert = format!("INSERT INTO {table} ({names}) VALUES ({})", places.join(", "));
    let mut count = 0;
    let mut write = |row: &Row<'_>| -> Result<(), TransferError> {
        let values: Result<Vec<Owned>, _> = (0..columns.len()).map(|column| row.get(column)).collect();
        let values = values?;
        let given: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        to.execute(&insert, given.as_slice())?;
        count += 1;
        Ok(())
    };
    let select = format!("SELECT {names} FROM {table}");
    match from.kind() {
        Kind::Sqlite => {
            let mut select = from.prepare_cached(&select)?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                write(&row)?;
            }
        }
        Kind::Postgres => {
            from.execute_batch(&format!("DECLARE copying_{table} NO SCROLL CURSOR FOR {select}"))?;
            loop {
                let mut fetch = from.prepare_cached(&format!("FETCH {PART} FROM copying_{table}"))?;
                let mut rows = fetch.query([])?;
                let mut some = false;
                while let Some(row) = rows.next()? {
                    some = true;
                    write(&row)?;
                }
                if !some {
                    break;
                }
            }
            from.execute_batch(&format!("CLOSE copying_{table}"))?;
        }
    }
    Ok(count)
}

/// The tables of a store with their columns, as they were made.
fn tables(connection: &Connection) -> Result<Vec<(String, Vec<String>)>, StoreError> {
    let sql = match connection.kind() {
        // What makes up a virtual table is made anew with it.
        Kind::Sqlite => {
            "SELECT t.name, c.name FROM pragma_table_list AS l JOIN sqlite_schema AS t ON t.name = l.name
             JOIN pragma_table_info(t.name) AS c
             WHERE l.schema = 'main' AND l.type = 'table' AND t.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
             ORDER BY t.rowid, c.cid"
        }
        Kind::Postgres => {
            "SELECT c.relname::text, a.attname::text FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
             WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
               AND c.relname NOT LIKE 'checkrein\\_%'
               AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
             ORDER BY c.oid, a.attnum"
        }
    };
    let mut tables: Vec<(String, Vec<String>)> = Vec::new();
    let mut select = connection.prepare_cached(sql)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (table, column): (String, String) = (row.get(0)?, row.get(1)?);
        match tables.last_mut() {
            Some((last, columns)) if *last == table => columns.push(column),
            _ => tables.push((table, vec![column])),
        }
    }
    Ok(tables)
}

/// Numbers of new rows follow those that came.
fn go_on_counting(to: &Connection, table: &str) -> Result<(), StoreError> {
    let sql = "SELECT attname::text FROM pg_attribute
               WHERE attrelid = to_regclass(?1) AND attidentity <> '' AND NOT attisdropped";
    let counted: Vec<String> =
        to.prepare_cached(sql)?.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for column in counted {
        to.execute_batch(&format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), coalesce(max({column}), 1), \
                           max({column}) IS NOT NULL) FROM {table}"
        ))?;
    }
    Ok(())
}

/// A value between two stores.
enum Owned {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl crate::sql::FromSql for Owned {
    fn of(value: Value<'_>) -> Result<Owned, String> {
        Ok(match value {
            Value::Null => Owned::Null,
            Value::Int(number) => Owned::Int(number),
            Value::Real(number) => Owned::Real(number),
            Value::Text(text) => Owned::Text(text.into_owned()),
            Value::Blob(bytes) => Owned::Blob(bytes.to_owned()),
        })
    }
}

impl ToSql for Owned {
    fn value(&self) -> Value<'_> {
        match self {
            Owned::Null => Value::Null,
            Owned::Int(number) => Value::Int(*number),
            Owned::Real(number) => Value::Real(*number),
            Owned::Text(text) => Value::Text(text.as_str().into()),
            Owned::Blob(bytes) => Value::Blob(bytes),
        }
    }
}
