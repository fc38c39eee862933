//! How long the page of a review with a large diff takes, from the request to its last byte. Run by `scripts/bench`.

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

#[path = "../../checkrein-engine/benches/shared/mod.rs"]
mod shared;

mod served;

use served::{Browser, Server};
use shared::{Table, repository, verdict};

const STORE: &str = "store.db";
const LINES: usize = 5_000;
const TURNS: usize = 21;
const GOAL: Duration = Duration::from_millis(200);

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only wants to know that this runs.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    served::binary()?;
    let place = tempfile::tempdir_in(std::env::current_dir()?)?;
    let place = place.path();
    repository(place)?;
    prepare(place)?;
    let token = served::token(place, STORE)?;
    let job = served::run(place, STORE, &["job", "Write much", "--agent", "cmd:./agent.sh", "--queue"])?;
    served::run(place, STORE, &["resume", &job])?;
    let server = Server::start(place, STORE, &["--no-worker"])?;
    let mut browser = Browser::signed_in(server.address, &token)?;
    let mut table = Table::default();
    for (name, query) in [("unified", "file=large.rs"), ("side by side", "file=large.rs&view=split")] {
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..TURNS {
            let begun = Instant::now();
            let answer = browser.get(&format!("/reviews/{job}.1?{query}"))?;
            times.push(begun.elapsed());
            let lines = answer.matches("data-line=").count();
            if lines < LINES {
                return Err(
                    format!("the page has {lines} lines: {}", answer.get(..600).unwrap_or(&answer)).into()
                );
            }
            bytes = answer.len();
        }
        times.sort_unstable();
        let middle = times.get(TURNS / 2).copied().unwrap_or_default();
        table.row(
            &format!("the page of a diff of 5,000 lines, {name}"),
            format!("{:.0} ms", middle.as_secs_f64() * 1e3),
            &verdict(middle < GOAL, "< 200 ms"),
            format!(
                "{:.1} MB, in the worst case {:.0} ms",
                bytes as f64 / 1e6,
                times.last().copied().unwrap_or_default().as_secs_f64() * 1e3
            ),
        );
    }
    let page = browser.get(&format!("/reviews/{job}.1"))?;
    let weight = browser.weight_of_files(&page)?;
    table.row(
        "the files that page loads",
        format!("{:.1} KB", weight as f64 / 1e3),
        &verdict(weight <= 100_000, "≤ 100 KB"),
        "nothing is compressed".into(),
    );
    let begun = Instant::now();
    let bytes = browser.get(&format!("/reviews/{job}.1/now"))?.len();
    table.row(
        "what it looks at when something happens",
        format!("{:.1} ms", begun.elapsed().as_secs_f64() * 1e3),
        "",
        format!("{bytes} B"),
    );
    table.print();
    Ok(())
}

/// An agent that leaves one large file of code.
fn prepare(place: &Path) -> Result<(), Box<dyn Error>> {
    let code: String = (0..LINES / 5)
        .map(|n| format!("/// Counts {n}.\npub fn count_{n}(value: u64) -> Option<u64> {{\n    let name = \"the {n}th\"; // {n}\n    value.checked_add({n}).filter(|sum| *sum > {n} && !name.is_empty())\n}}\n"))
        .collect();
    std::fs::write(place.join("code.rs"), code)?;
    let from = place.join("code.rs");
    let agent = format!(
        "#!/bin/sh\ncp '{}' large.rs\necho '{{\"next_todos\": [\"nothing\"]}}' > \"$CHECKREIN_RESULT\"\n",
        from.display()
    );
    std::fs::write(place.join("agent.sh"), agent)?;
    Command::new("chmod").arg("+x").arg(place.join("agent.sh")).status()?;
    Ok(())
}
