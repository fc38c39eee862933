//! Several processes on one store: races, sudden deaths, waiting. Each test starts this very binary
//! again, in a role.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

#[path = "../../../checkrein-store/tests/shared/postgres.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod server;

mod kill;
mod race;
mod restart;
mod timeout;
mod wait;

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Arc;

use checkrein_core::checkpoint::Verdict;
use checkrein_core::config::Settings;
use checkrein_core::deliverable::Deliverable;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, NewCheckpoint, VerdictRequest};
use checkrein_store::{Store, StoreAddress};

use server::PostgresServer;

const ROLE: &str = "CHECKREIN_TEST_ROLE";
const PLACE: &str = "CHECKREIN_TEST_STORE";

/// What another process does; nothing when the tests are run as tests.
#[test]
fn child() {
    let (Ok(role), Ok(place)) = (std::env::var(ROLE), std::env::var(PLACE)) else { return };
    // The harness leaves its own words on the line.
    say("");
    let words: Vec<&str> = role.split(' ').collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        match words[..] {
            ["race", verdict] => race::decide_all(&place, verdict).await,
            ["kill", slot, from] => kill::live(&place, slot, from.parse().unwrap()).await,
            ["answer"] => wait::answer(&place).await,
            ["idle"] => wait::idle(&place).await,
            ["leave"] => wait::leave(&place).await,
            _ => panic!("no role `{role}`"),
        }
    });
}

/// This binary in a role, its stdin and stdout in our hands.
fn process(role: &str, place: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env(ROLE, role)
        .env(PLACE, place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    command
}

/// One line, whole and at once: it is out of our hands when this returns.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// A place for a store of either kind.
struct Spot {
    _directory: tempfile::TempDir,
    _server: Option<Arc<PostgresServer>>,
    address: String,
}

impl Spot {
    fn in_a_file() -> Spot {
        let directory = tempfile::tempdir().unwrap();
        let address = directory.path().join("store.db").to_str().unwrap().to_owned();
        Spot { _directory: directory, _server: None, address }
    }

    fn on_postgres() -> Spot {
        Spot::on(PostgresServer::shared())
    }

    fn on(server: Arc<PostgresServer>) -> Spot {
        let address = server.database();
        Spot { _directory: tempfile::tempdir().unwrap(), _server: Some(server), address }
    }
}

fn store(place: &str) -> Store {
    Store::open_at(&StoreAddress::parse(place).unwrap(), &std::env::temp_dir()).unwrap()
}

fn engine(place: &str) -> Arc<Engine> {
    let settings = Settings::new(None, None, None, Vec::new()).unwrap();
    Arc::new(Engine::new(store(place), settings))
}

fn ann() -> Principal {
    Principal::new("ann", PrincipalKind::Person, Role::Admin)
}

fn question(id: &str) -> NewCheckpoint {
    NewCheckpoint {
        id: Some(id.to_owned()),
        worker: "writer".to_owned(),
        phase: "draft".to_owned(),
        kind: "deliverable".to_owned(),
        deliverable: Deliverable::Text(format!("the work of {id}")),
    }
}

fn verdict(verdict: Verdict) -> VerdictRequest {
    VerdictRequest::new(verdict, Some("looked at".to_owned()))
}
