//! Datasources, to read: their tables, and queries that change nothing.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, Value, json};

use super::tools::{Offer, offer};

const ROWS_MAX: usize = 500;
const TEXT_BYTES_MAX: usize = 60 << 10;

pub fn offers(datasources: &[(String, String)]) -> Vec<Offer> {
    let names: Vec<&str> = datasources.iter().map(|(name, _)| name.as_str()).collect();
    let datasource = json!({"type": "string", "enum": names});
    vec![
        offer(
            "sql_schema",
            "Tables of a datasource and their columns.",
            json!({"datasource": datasource}),
            &["datasource"],
        ),
        offer(
            "sql_query",
            "Ask a datasource in SQL. It only reads: whatever would change something is refused.",
            json!({"datasource": datasource, "query": {"type": "string"}, "limit": {"type": "integer"}}),
            &["datasource", "query"],
        ),
    ]
}

enum Source {
    Sqlite(String),
    Postgres(String),
}

fn source(datasources: &[(String, String)], name: &str) -> Result<Source, String> {
    let known = || datasources.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    let (_, variable) = datasources
        .iter()
        .find(|(known, _)| known == name)
        .ok_or_else(|| format!("there is no datasource `{name}`; there are {}", known()))?;
    let address = std::env::var(variable).map_err(|_| format!("the address of `{name}` is not there"))?;
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        return Ok(Source::Postgres(address));
    }
    let path = ["sqlite://", "sqlite:", "file:"].iter().find_map(|scheme| address.strip_prefix(scheme));
    let is_file = [".db", ".sqlite", ".sqlite3"].iter().any(|ending| address.ends_with(ending));
    match path {
        Some(path) => Ok(Source::Sqlite(path.to_owned())),
        None if is_file && !address.contains("://") => Ok(Source::Sqlite(address)),
        None => Err(format!("`{name}` is neither SQLite nor PostgreSQL; ask it with a command instead")),
    }
}

pub async fn schema(datasources: &[(String, String)], name: &str) -> Result<String, String> {
    match source(datasources, name)? {
        Source::Sqlite(path) => {
            let query = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name";
            sqlite(&path, query, ROWS_MAX)
        }
        Source::Postgres(address) => {
            let query = "SELECT table_schema, table_name, column_name, data_type, is_nullable \
                FROM information_schema.columns WHERE table_schema NOT IN ('pg_catalog', 'information_schema') \
                ORDER BY table_schema, table_name, ordinal_position";
            postgres(&address, query, ROWS_MAX).await
        }
    }
}

pub async fn query(
    datasources: &[(String, String)],
    name: &str,
    query: &str,
    limit: usize,
) -> Result<String, String> {
    let limit = limit.clamp(1, ROWS_MAX);
    match source(datasources, name)? {
        Source::Sqlite(path) => sqlite(&path, query, limit),
        Source::Postgres(address) => postgres(&address, query, limit).await,
    }
}

fn sqlite(path: &str, query: &str, limit: usize) -> Result<String, String> {
    let broken = |error: rusqlite::Error| error.to_string();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|error| format!("it cannot be opened: {error}"))?;
    connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(broken)?;
    connection.pragma_update(None, "query_only", true).map_err(broken)?;
    // Another file is another datasource.
    let first = query.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    if !["select", "with", "values", "explain"].contains(&first.to_ascii_lowercase().as_str()) {
        return Err(format!("`{first}` is refused: only queries that read are answered"));
    }
    let mut statement = connection.prepare(query).map_err(broken)?;
    if !statement.readonly() {
        return Err("it would change something: only queries that read are answered".to_owned());
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([]).map_err(broken)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(broken)? {
        if found.len() == limit {
            return Ok(told(found, true));
        }
        let mut object = Map::new();
        for (at, column) in columns.iter().enumerate() {
            object.insert(column.clone(), value(row.get_ref(at).map_err(broken)?));
        }
        found.push(Value::Object(object));
    }
    Ok(told(found, false))
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
        ValueRef::Blob(bytes) => format!("({} bytes)", bytes.len()).into(),
    }
}

/// Rows as lines of JSON, as many as fit.
fn told(rows: Vec<Value>, more: bool) -> String {
    let mut text = String::new();
    let total = rows.len();
    for (at, row) in rows.into_iter().enumerate() {
        let line = row.to_string();
        if text.len() + line.len() > TEXT_BYTES_MAX {
            return format!("{text}… {} more rows do not fit; ask for less", total - at);
        }
        text.push_str(&line);
        text.push('\n');
    }
    match (total, more) {
        (0, _) => "(no rows)".to_owned(),
        (_, true) => format!("{text}… and more rows"),
        (_, false) => text,
    }
}

async fn postgres(address: &str, query: &str, limit: usize) -> Result<String, String> {
    // A parser's words may hold the address, and so its password.
    let config: tokio_postgres::Config =
        address.parse().map_err(|_| "its address cannot be read".to_owned())?;
    let (mut client, connection) =
        config.connect(tokio_postgres::NoTls).await.map_err(|error| said(&error))?;
    let connection = tokio::spawn(connection);
    let asked = async {
        let transaction = client.build_transaction().read_only(true).start().await?;
        transaction.batch_execute("SET LOCAL statement_timeout = '60s'").await?;
        // One statement, inside another one: nothing but what reads fits there.
        let inner = query.trim().trim_end_matches(';');
        let wrapped =
            format!("SELECT row_to_json(answer)::text FROM ({inner}\n) AS answer LIMIT {}", limit + 1);
        let rows = transaction.query(&wrapped, &[]).await?;
        transaction.rollback().await?;
        Ok::<_, tokio_postgres::Error>(rows)
    };
    let asked = asked.await.map_err(|error| said(&error));
    drop(client);
    connection.abort();
    let rows = asked?;
    let more = rows.len() > limit;
    let object = |row: &tokio_postgres::Row| {
        let text: String = row.try_get(0).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    };
    Ok(told(rows.iter().take(limit).map(object).collect(), more))
}

fn said(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{}: {}", error.code().code(), error.message()),
        None if error.to_string().contains("TLS") => {
            "it insists on TLS, which is not spoken here; ask it with a command instead".to_owned()
        }
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlite_is_read_and_never_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("orders.db");
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("CREATE TABLE orders (id INTEGER, what TEXT); INSERT INTO orders VALUES (1, 'tea'), (2, NULL)").unwrap();
        let path = path.to_str().unwrap();
        assert_eq!(
            sqlite(path, "SELECT * FROM orders", 1).unwrap(),
            "{\"id\":1,\"what\":\"tea\"}\n… and more rows"
        );
        assert_eq!(sqlite(path, "SELECT * FROM orders WHERE id > 2", 9).unwrap(), "(no rows)");
        for query in [
            "DELETE FROM orders",
            "ATTACH 'other.db' AS other",
            "PRAGMA query_only = 0",
            "WITH x AS (SELECT 1) INSERT INTO orders SELECT 3, 'x'",
            "SELECT 1; DELETE FROM orders",
            "  update orders set id = 9",
        ] {
            let _ = sqlite(path, query, 9);
            let left: i64 = connection
                .query_row("SELECT count(*) FROM orders WHERE id < 3", [], |row| row.get(0))
                .unwrap();
            assert_eq!(left, 2, "{query}");
        }
        assert!(sqlite(path, "DELETE FROM orders", 9).is_err());
    }
}
