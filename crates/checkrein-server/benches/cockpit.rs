//! How long pages take that have much to show, and what they weigh. Run by `scripts/bench`.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use checkrein_core::config::Settings;
use checkrein_core::deliverable::Deliverable;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, NewCheckpoint, NewToken};
use checkrein_store::Store;

#[path = "../../checkrein-engine/benches/shared/mod.rs"]
mod shared;

mod served;

use served::{Browser, Server};
use shared::{Table, verdict};

const STORE: &str = "store.db";
const PENDING: usize = 10_000;
/// Each leaves three events.
const STEPS: usize = 335;
const LOOKS: usize = 300;
const GOAL: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    served::binary()?;
    // On the disk the work is on: a temporary directory may be memory.
    let place = tempfile::tempdir_in(std::env::current_dir()?)?;
    let token = fill(&place.path().join(STORE))?;
    let run = run_of_many_steps(place.path())?;
    let server = Server::start(place.path(), STORE, &["--no-worker"])?;
    let mut browser = Browser::signed_in(server.address, &token)?;

    let mut table = Table::default();
    let inbox = look(&mut browser, "/inbox")?;
    let bytes = inbox.bytes;
    table.row(
        &format!("inbox with {PENDING} pending, p99 of {LOOKS}"),
        ms(inbox.p99),
        &verdict(inbox.p99 < GOAL, "< 50 ms"),
        format!("middle {}, {bytes} B", ms(inbox.middle)),
    );
    let shown = look(&mut browser, &format!("/runs/{run}"))?;
    let events = browser.get(&format!("/runs/{run}/audit.jsonl"))?.lines().count();
    table.row(
        &format!("page of a run with {events} events, p99"),
        ms(shown.p99),
        &verdict(shown.p99 < GOAL && events >= 1_000, "< 50 ms"),
        format!("middle {}, {} B", ms(shown.middle), shown.bytes),
    );
    // A page with nothing to show, and every file it loads.
    let page = browser.get("/inbox?worker=nobody")?;
    let weight = page.len() + browser.weight_of_files(&page)?;
    table.row(
        "a page with its files, without content",
        format!("{:.1} KB", weight as f64 / 1e3),
        &verdict(weight <= 100_000, "≤ 100 KB"),
        "nothing is compressed".into(),
    );
    table.print();
    Ok(())
}

fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Ten thousand that wait, and a token.
fn fill(path: &Path) -> Result<String, Box<dyn Error>> {
    let engine = Engine::new(Store::open(path)?, Settings::new(None, None, None, Vec::new())?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let by = Principal::new("bench", PrincipalKind::Person, Role::Admin);
    runtime.block_on(async {
        for number in 0..PENDING {
            let new = NewCheckpoint {
                id: Some(format!("c-{number}")),
                worker: format!("worker-{}", number % 20),
                phase: "draft".to_owned(),
                kind: "deliverable".to_owned(),
                deliverable: Deliverable::Text(format!("draft {number} ").repeat(100)),
            };
            engine.create_checkpoint(&by, new).await?;
        }
        let new = NewToken {
            name: "bench".to_owned(),
            kind: PrincipalKind::Person,
            role: Role::Admin,
            expires_at: None,
            worker: None,
        };
        Ok(engine.create_token(&by, new).await?.secret)
    })
}

fn run_of_many_steps(place: &Path) -> Result<String, Box<dyn Error>> {
    let mut flow = String::from("id: many\nphases:\n  build:\n    steps:\n");
    for step in 0..STEPS {
        flow.push_str(&format!(
            "      - {{ id: s{step}, run: \"printf '{{\\\"status\\\":\\\"warning\\\",\\\"warnings\\\":[{{\\\"text\\\":\\\"slow {step}\\\",\\\"severity\\\":\\\"low\\\"}}]}}' > $CHECKREIN_RESPONSE\" }}\n"
        ));
    }
    flow.push_str("autonomy: { check_in_frequency: per-step, warning_tolerance: high, limits: { max_total_warnings: 100000 } }\n");
    std::fs::write(place.join("flow.yaml"), flow)?;
    served::run(place, STORE, &["run", "flow.yaml", "--yes", "--json"])?;
    let listed = served::run(place, STORE, &["runs", "--json"])?;
    let id = listed.split("\"run_id\":").nth(1).and_then(|rest| rest.split('"').nth(1));
    let id = id.ok_or_else(|| format!("no run: {listed}"))?;
    Ok(id.to_owned())
}

struct Looked {
    p99: Duration,
    middle: Duration,
    bytes: usize,
}

/// Looks at a page again and again.
fn look(browser: &mut Browser, path: &str) -> Result<Looked, Box<dyn Error>> {
    let mut times = Vec::new();
    let mut bytes = 0;
    for look in 0..LOOKS + 10 {
        let begun = Instant::now();
        bytes = browser.get(path)?.len();
        // The first ones find nothing prepared.
        if look >= 10 {
            times.push(begun.elapsed());
        }
    }
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    Ok(Looked { p99: at(99), middle: at(50), bytes })
}
