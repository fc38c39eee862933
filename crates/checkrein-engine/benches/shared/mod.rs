//! What the benches share: the machine's own floor, and how numbers are shown.

#![allow(dead_code, reason = "each bench uses a part")]

use std::error::Error;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rusqlite::Connection;

pub fn bare(path: &Path) -> Result<Connection, Box<dyn Error>> {
    let connection = Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE rows (id TEXT PRIMARY KEY, body TEXT NOT NULL);",
    )?;
    Ok(connection)
}

pub fn insert(connection: &Connection, n: usize) -> Result<(), Box<dyn Error>> {
    let body = "x".repeat(400);
    connection.prepare_cached("INSERT INTO rows VALUES (?1, ?2)")?.execute((format!("{n:036}"), body))?;
    Ok(())
}

/// A repository of its own: a job would take the one around it, and leave its branches there.
pub fn repository(place: &Path) -> Result<(), Box<dyn Error>> {
    let commit = [
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@example.com",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ];
    for arguments in [&["init", "-q"][..], &commit] {
        if !Command::new("git").args(arguments).current_dir(place).status()?.success() {
            return Err(format!("git {arguments:?} failed").into());
        }
    }
    Ok(())
}

pub fn median<T: Ord + Copy + Default>(mut times: Vec<T>) -> T {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub fn ms(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}

pub fn rate(per_second: f64) -> String {
    format!("{per_second:.0}/s")
}

pub fn verdict(met: bool, goal: &str) -> String {
    format!("{goal} {}", if met { "met" } else { "MISSED" })
}

#[derive(Default)]
pub struct Table(Vec<[String; 4]>);

impl Table {
    pub fn row(&mut self, name: &str, value: String, goal: &str, ratio: String) {
        self.0.push([name.to_owned(), value, goal.to_owned(), ratio]);
    }

    pub fn print(&self) {
        println!("\n| what | measured | goal | beside it |\n|---|---|---|---|");
        for [name, value, goal, ratio] in &self.0 {
            println!("| {name} | {value} | {goal} | {ratio} |");
        }
    }
}
