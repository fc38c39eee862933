//! What only a store on a server has to keep.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

#[path = "../shared/postgres.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod server;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use checkrein_core::checkpoint::{Checkpoint, CheckpointId, CheckpointStatus};
use checkrein_core::deliverable::Deliverable;
use checkrein_core::event::Event;
use checkrein_store::{Commit, Position, Store, StoreAddress, StoreError, Version};
use jiff::Timestamp;

use server::{PostgresServer, USER};

fn open(address: &str) -> Result<Store, StoreError> {
    Store::open_at(&StoreAddress::parse(address)?, &std::env::temp_dir())
}

fn creation(name: &str) -> Commit {
    let content = Deliverable::Text(name.to_owned()).content().unwrap();
    let at = Timestamp::from_second(1).unwrap();
    let checkpoint = Checkpoint {
        id: CheckpointId::new(name).unwrap(),
        run: None,
        owner: None,
        created_by: None,
        worker: "writer".to_owned(),
        phase: "a\0b".to_owned(),
        kind: "deliverable".to_owned(),
        status: CheckpointStatus::Pending,
        digest: content.digest,
        moved: false,
        round: 1,
        created_at: at,
        expires_at: None,
        resolved_at: None,
        reason: None,
        resolved_by: None,
    };
    let events = vec![Event::created(&checkpoint)];
    Commit { expected: Version(0), checkpoint, events, at, content: Some(content) }
}

fn database(address: &str) -> &str {
    address.rsplit('/').next().unwrap()
}

/// A conversation with the server that stays where it is.
fn sleeper(server: &PostgresServer, address: &str, sql: &str) -> Child {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-U", USER, "-h"]).arg(server.directory());
    psql.args(["-p", &server.port.to_string(), "-d", database(address), "-c", sql]);
    psql.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Another process that has taken a number and is slow to commit keeps later numbers back: whoever reads
/// sees them in one order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slower_transaction_is_never_overtaken() {
    let server = PostgresServer::shared();
    let address = server.database();
    let store = open(&address).unwrap();
    store.commit(creation("first")).await.unwrap();
    let key = "hashtextextended('checkrein/' || current_schema(), 0)";
    let slow = format!(
        "BEGIN; SELECT pg_advisory_xact_lock({key});
         INSERT INTO events (stream, seq, at_ms, body) SELECT 'slow', 1, at_ms, body FROM events LIMIT 1;
         SELECT pg_sleep(1.5); COMMIT"
    );
    let mut slow = sleeper(&server, &address, &slow);
    let asleep =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(1.5)%' AND state = 'active'
                  AND pid <> pg_backend_pid()";
    while server.ask(database(&address), asleep).as_deref() != Some("1") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut last = Position(0);
    let mut seen = Vec::new();
    let writing = tokio::spawn({
        let store = store.clone();
        async move { store.commit(creation("second")).await.unwrap() }
    });
    let until = Instant::now() + Duration::from_secs(60);
    while seen.len() < 3 && Instant::now() < until {
        for event in store.events(last, None, 10).await.unwrap() {
            last = event.position;
            seen.push(event.stream);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    writing.await.unwrap();
    assert!(slow.wait().unwrap().success());
    assert_eq!(seen, ["first", "slow", "second"]);
}

/// A worker that was stopped in the middle of a commit does not stop the others for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_fell_asleep_is_passed_by() {
    let server = PostgresServer::shared();
    let address = server.database();
    let store = open(&address).unwrap();
    store.commit(creation("before")).await.unwrap();
    // As our own connections begin, and then the process sleeps instead of going on.
    let script = "psql -X -q -U \"$0\" -h \"$1\" -p \"$2\" -d \"$3\" <<'SQL' & sleep 600
SET idle_in_transaction_session_timeout = '5s';
BEGIN;
SELECT pg_advisory_xact_lock(hashtextextended('checkrein/' || current_schema(), 0));
\\! sleep 600
SQL";
    let mut asleep = Command::new("setsid")
        .args(["sh", "-c", script, USER])
        .arg(server.directory())
        .args([server.port.to_string().as_str(), database(&address)])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let locked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
                  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while server.ask(database(&address), locked).as_deref() != Some("1") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store.commit(creation("after")).await.unwrap();
    assert_eq!(store.count_pending(jiff::Timestamp::UNIX_EPOCH).await.unwrap(), 2);
    let group = format!("-{}", asleep.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = asleep.wait();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_comes_back_as_it_was() {
    let server = PostgresServer::shared();
    let store = open(&server.database()).unwrap();
    store.commit(creation("odd")).await.unwrap();
    let id = CheckpointId::new("odd").unwrap();
    assert_eq!(store.checkpoint(&id).await.unwrap().unwrap().checkpoint, creation("odd").checkpoint);
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
}

/// An older server goes on beside a newer one as long as the tables say that it can, and stops when not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_two_versions_share_a_store_while_they_can() {
    let server = PostgresServer::shared();
    let address = server.database();
    let older = open(&address).unwrap();
    older.commit(creation("a")).await.unwrap();
    // What a newer one does: it adds.
    let newer = "ALTER TABLE checkpoints ADD COLUMN colour TEXT; CREATE TABLE more (id TEXT);
                 UPDATE checkrein_schema SET version = version + 1";
    assert!(server.psql(database(&address), newer));
    older.commit(creation("b")).await.unwrap();
    let again = open(&address).unwrap();
    again.commit(creation("c")).await.unwrap();
    assert_eq!(older.count_pending(jiff::Timestamp::UNIX_EPOCH).await.unwrap(), 3);
    // And what it does when it takes something away.
    assert!(server.psql(database(&address), "UPDATE checkrein_schema SET oldest = version"));
    assert!(matches!(open(&address), Err(StoreError::TooNew { .. })));
    // Whoever is connected finds out with the next connection.
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
               AND pid <> pg_backend_pid()";
    assert!(server.psql(database(&address), end));
    let refused = older.commit(creation("d")).await.unwrap_err().to_string();
    assert!(refused.contains("newer Checkrein"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_may_make_a_store_at_the_same_time() {
    let server = PostgresServer::shared();
    let address = Arc::new(server.database());
    let opening: Vec<_> = (0..8)
        .map(|_| {
            let address = Arc::clone(&address);
            tokio::task::spawn_blocking(move || open(&address).map(drop))
        })
        .collect();
    for opened in opening {
        opened.await.unwrap().unwrap();
    }
}

#[test]
fn what_cannot_be_reached_or_is_refused_is_said_without_the_password() {
    let server = PostgresServer::start(&["fsync=off"]);
    // Passwords count from here on.
    let rules = server.directory().join("data/pg_hba.conf");
    assert!(server.psql("postgres", "CREATE ROLE ann LOGIN PASSWORD 'rightword'"));
    assert!(server.psql("postgres", "CREATE DATABASE reins OWNER ann"));
    std::fs::write(&rules, "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n").unwrap();
    assert!(server.psql("postgres", "SELECT pg_reload_conf()"));
    let port = server.port;
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let error = match open(&format!("postgres://ann:wrongword@127.0.0.1:{port}/reins")) {
            Err(error) => error.to_string(),
            Ok(_) => String::new(),
        };
        if error.contains("password authentication failed") {
            assert!(!error.contains("wrongword"), "{error}");
            break;
        }
        assert!(Instant::now() < until, "{error}");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(open(&format!("postgres://ann:rightword@127.0.0.1:{port}/reins")).unwrap());
    let missing = open(&format!("postgres://ann:rightword@127.0.0.1:{port}/nowhere")).unwrap_err();
    assert!(matches!(missing, StoreError::Refused { .. }), "{missing}");
    server.stop("fast");
    let gone =
        open(&format!("postgres://ann:rightword@127.0.0.1:{port}/reins?connect_timeout=1")).unwrap_err();
    assert!(matches!(gone, StoreError::Unreachable { .. }), "{gone}");
    assert!(!gone.to_string().contains("rightword"), "{gone}");
}

/// The words of libpq mean here what they mean there.
#[test]
fn encryption_is_as_it_was_asked_for() {
    let server = PostgresServer::start(&["fsync=off"]);
    let directory = server.directory().to_owned();
    certificates(&directory);
    server.stop("fast");
    let files = [("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key")];
    let mut settings = "ssl = on\n".to_owned();
    for (name, file) in files {
        settings.push_str(&format!("{name} = '{}'\n", directory.join(file).display()));
    }
    let config = directory.join("data/postgresql.auto.conf");
    std::fs::write(&config, settings).unwrap();
    server.go();
    assert!(server.psql("postgres", "CREATE DATABASE reins"));
    let (port, root) = (server.port, directory.join("root.crt"));
    let root = root.to_str().unwrap().to_owned();
    let other = directory.join("other.crt").to_str().unwrap().to_owned();
    let spoken = |host: &str, query: &str| -> Result<bool, StoreError> {
        let store = open(&format!("postgres://{USER}@{host}:{port}/reins?{query}"))?;
        let sql = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                   WHERE datname = 'reins' AND application_name = 'checkrein'";
        let encrypted = server.ask("postgres", sql).unwrap() == "t";
        drop(store);
        let until = Instant::now() + Duration::from_secs(60);
        let gone = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'checkrein'";
        while server.ask("postgres", gone).unwrap() != "0" && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(encrypted)
    };
    // The certificate is for localhost, and signed by `root`.
    for (host, query, encrypted) in [
        ("localhost", "sslmode=disable".to_owned(), Some(false)),
        ("localhost", String::new(), Some(true)),
        ("127.0.0.1", "sslmode=require".to_owned(), Some(true)),
        ("localhost", format!("sslmode=require&sslrootcert={other}"), None),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={root}"), Some(true)),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={other}"), None),
        ("localhost", format!("sslmode=verify-full&sslrootcert={root}"), Some(true)),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={root}"), None),
        ("localhost", "sslmode=verify-full".to_owned(), None),
    ] {
        let found = spoken(host, &query);
        assert_eq!(found.as_ref().ok().copied(), encrypted, "{host} {query}: {found:?}");
    }
}

/// A root, a certificate of it for localhost, and a root that signed nothing.
fn certificates(directory: &Path) {
    let script = r#"
set -e
umask 077
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout root.key -out root.crt -subj /CN=root
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout other.key -out other.crt -subj /CN=other
openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost
printf 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n' > names
openssl x509 -req -in server.csr -CA root.crt -CAkey root.key -CAcreateserial -days 2 -extfile names -out server.crt
if [ "$(id -u)" = 0 ]; then chown nobody server.key server.crt; fi
"#;
    let made = Command::new("sh").args(["-c", script]).current_dir(directory).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

/// A server that has pgvector compares vectors itself, one that has not leaves it to us. Which one this is, it says.
#[test]
fn vectors_are_compared_by_the_server_where_it_can() {
    use checkrein_core::deliverable::Digest;
    use checkrein_store::{IndexUpdate, Indexed, IndexedChunk, IndexedFile, NewVector};
    let server = PostgresServer::shared();
    let address = server.database();
    let store = open(&address).unwrap();
    let digest = Digest::of(b"a");
    let (heading, text) = (String::new(), "a".to_owned());
    let chunk = IndexedChunk { heading, first_line: 1, last_line: 1, text, digest };
    let found = Indexed::Chunks(vec![chunk]);
    let file = IndexedFile { path: "a.md".to_owned(), content: "1".to_owned(), phase: None, found };
    let at = Timestamp::from_second(1).unwrap();
    let update = IndexUpdate { head: "h".to_owned(), phase: "p".to_owned(), at, files: vec![file] };
    let mut index = store.index("job", Path::new("/nowhere/at/all")).open().unwrap();
    index.update(&update, None).unwrap();
    let numbers = vec![0.6, 0.8];
    index.put_vectors("m", &[NewVector { digest, bytes: vec![7], numbers: numbers.clone() }]).unwrap();
    let there =
        server.ask(database(&address), "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'");
    let has_it = there.as_deref() == Some("1");
    println!("this server {} pgvector", if has_it { "has" } else { "does not have" });
    assert_eq!(index.nearest("m", &numbers, None, 5).unwrap().map(|found| found.len()), has_it.then_some(1));
    assert_eq!(index.vectors("m").unwrap()[0].vector, [7], "what was put there comes back in any case");
    // What was put there before the server could is compared here.
    if has_it {
        let sql = "UPDATE checkrein_index_vectors SET embedding = NULL";
        assert!(server.psql(database(&address), sql));
        assert_eq!(index.nearest("m", &numbers, None, 5).unwrap(), None);
    }
}

/// What is in them can be made again.
#[test]
fn tables_of_an_older_index_are_made_anew() {
    let server = PostgresServer::shared();
    let address = server.database();
    assert!(server.psql(
        database(&address),
        "CREATE TABLE checkrein_index (one BOOLEAN PRIMARY KEY DEFAULT true, version BIGINT NOT NULL);
         INSERT INTO checkrein_index (version) VALUES (0); CREATE TABLE checkrein_index_state (odd BIGINT)"
    ));
    let store = open(&address).unwrap();
    let place = store.index("job", Path::new("/nowhere/at/all"));
    assert!(!place.is_there().unwrap() && place.open().unwrap().state("m").unwrap().is_none());
}
