use serde_json::json;

use crate::place::{Place, job_with};
use crate::postgres::PostgresServer;

#[test]
fn sqlite_is_asked_and_never_changed() {
    let place = Place::with(job_with(json!([
        {"calls": [{"tool": "sql_schema", "input": {"datasource": "orders"}},
                   {"tool": "sql_query", "input": {"datasource": "orders", "query": "SELECT what FROM orders"}},
                   {"tool": "sql_query", "input": {"datasource": "orders", "query": "DELETE FROM orders"}}]},
        {"text": "asked"},
    ])));
    let file = place.path().join("orders.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    database.execute_batch("CREATE TABLE orders (what TEXT); INSERT INTO orders VALUES ('tea')").unwrap();
    let address = format!("orders=sqlite:{}", file.display());
    let job = place.job("full", &["--datasource", &address], 0);
    let log = place.expect(&["log", job["run_id"].as_str().unwrap()], 0);
    for words in ["CREATE TABLE orders", "{\"what\":\"tea\"}", "✗ `DELETE` is refused"] {
        assert!(log.contains(words), "{words}: {log}");
    }
    let left: i64 = database.query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 1);
}

#[test]
fn postgresql_is_asked_and_never_changed() {
    let server = PostgresServer::shared();
    let address = server.database().replace("checkrein@", "checkrein:hunter2-secret@");
    let database = address.rsplit('/').next().unwrap();
    let made = "CREATE TABLE orders (what text, many int); CREATE SEQUENCE counted; \
                INSERT INTO orders VALUES ('tea', 2), ('cake', 1)";
    assert!(server.psql(database, made));
    let ask = |query: &str| json!({"tool": "sql_query", "input": {"datasource": "orders", "query": query}});
    let mut few = ask("SELECT what FROM orders ORDER BY many");
    few["input"]["limit"] = json!(1);
    let place = Place::with(job_with(json!([
        {"calls": [
            {"tool": "sql_schema", "input": {"datasource": "orders"}},
            few,
            ask("SELECT what, many FROM orders WHERE many > 1;"),
            ask("DELETE FROM orders"),
            ask("SELECT 1) AS x; DELETE FROM orders; --"),
            ask("WITH gone AS (DELETE FROM orders RETURNING *) SELECT * FROM gone"),
            ask("SELECT nextval('counted')"),
            ask("SELECT set_config('transaction_read_only', 'off', false), nextval('counted')"),
            ask("SELECT nothing FROM nowhere"),
        ]},
        {"text": "asked"},
    ])));
    let job = place.job("full", &["--datasource", &format!("orders={address}")], 0);
    let log = place.expect(&["log", job["run_id"].as_str().unwrap()], 0);
    for words in [
        r#""table_name":"orders","column_name":"what","data_type":"text""#,
        r#"{"what":"cake"}"#,
        "and more rows",
        r#"{"what":"tea","many":2}"#,
        "✗ 42601: syntax error",
        "✗ 25006: cannot execute nextval() in a read-only transaction",
        "relation \"nowhere\" does not exist",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert_eq!(log.matches("✗").count(), 6, "{log}");
    assert!(!log.contains("hunter2-secret"), "{log}");
    assert_eq!(server.ask(database, "SELECT count(*) FROM orders").as_deref(), Some("2"));
    assert_eq!(server.ask(database, "SELECT is_called FROM counted").as_deref(), Some("f"));
}
