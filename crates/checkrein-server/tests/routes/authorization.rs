//! Who may do what, by asking.

use checkrein_core::principal::Role;
use serde_json::Value;

use crate::openapi::check_file;
use crate::place::Place;

/// A row of the page: a route, and what it says of nobody and of each role.
fn rows() -> Vec<(String, String, Vec<String>)> {
    let page = checkrein_server::authorization();
    let (routes, _) = page.split_once("## Tools of MCP").unwrap();
    let rows = routes.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (method, path) = cells[0].trim_matches('`').split_once(' ').unwrap();
        (method.to_owned(), path.to_owned(), cells[1..].iter().map(|cell| (*cell).to_owned()).collect())
    });
    rows.collect()
}

#[test]
fn the_page_in_the_docs_is_that_of_the_code() {
    check_file("docs/authorization.md", &checkrein_server::authorization());
}

#[test]
fn every_cell_is_true() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    crate::checkpoint::ask(&admin, "theirs");
    let run = crate::run::start(&admin, &crate::run::workflow("true"));
    crate::run::until(&admin, &run, "run_ended");
    let webhook = crate::webhook::add(&admin, crate::webhook::NOBODY);
    let sent = admin.send("POST", &crate::webhook::path(&webhook, "/test"), None).json();
    let rows = rows();
    assert!(rows.len() > 30, "{}", rows.len());
    for (method, path, cells) in rows {
        let nobody = (None, place.client());
        let everybody = Role::ALL.map(|role| (Some(role), place.as_role(role)));
        for ((role, client), cell) in std::iter::once(nobody).chain(everybody).zip(&cells) {
            // Things that are there, of somebody else; and bodies that say nothing.
            let noun = match path.split('/').nth(2) {
                Some("checkpoints") => "theirs",
                Some("webhooks") => webhook["id"].as_str().unwrap(),
                _ => &run,
            };
            let delivery = sent["id"].as_str().unwrap();
            let mut target =
                path.replace("{id}", noun).replace("{name}", "coder").replace("{delivery}", delivery);
            if path == "/v1/events" || path.ends_with("/events") {
                target.push_str("?limit=1");
            }
            if path.ends_with("/wait") {
                target.push_str("?timeout=0s");
            }
            let body = (method == "POST").then_some("{}");
            let answer = client.send(&method, &target, body);
            let problem: Value = serde_json::from_str(&answer.body).unwrap_or_default();
            let kind = problem["type"].as_str().unwrap_or_default().to_owned();
            let refused = (answer.status == 401 || answer.status == 403) && !kind.is_empty();
            let what = format!("{method} {path} as {role:?}: {} {}", answer.status, answer.body);
            match cell.as_str() {
                "-" if role.is_none() => assert_eq!(answer.status, 401, "{what}"),
                "-" => assert_eq!(kind, "urn:checkrein:problem:forbidden", "{what}"),
                "own" => {
                    let of_one = path.contains("{id}");
                    assert!(!refused && (answer.status == 404) == of_one, "{what}");
                    assert!(!answer.body.contains("theirs\"") || of_one, "{what}");
                }
                "yes" => assert!(
                    !refused && ![404, 405, 500].contains(&answer.status) || path == "/v1/tokens/{id}",
                    "{what}"
                ),
                other => panic!("{other}"),
            }
        }
    }
}
