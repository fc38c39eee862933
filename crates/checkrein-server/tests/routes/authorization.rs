//! Who may do what, by asking.

use checkrein_core::principal::Role;
use serde_json::Value;

use crate::openapi::check_file;

/// A row of the page: a route, what is special about the request, and what it says of nobody and of each
/// role.
struct Row {
    method: String,
    path: String,
    special: String,
    cells: Vec<String>,
}

fn rows() -> Vec<Row> {
    let page = checkrein_server::authorization();
    let (routes, _) = page.split_once("## Tools of MCP").unwrap();
    let rows = routes.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let (route, special) = cells[0].strip_prefix('`').unwrap().split_once('`').unwrap();
        let (method, path) = route.split_once(' ').unwrap();
        Row {
            method: method.to_owned(),
            path: path.to_owned(),
            special: special.trim().to_owned(),
            cells: cells[1..].iter().map(|cell| (*cell).to_owned()).collect(),
        }
    });
    rows.collect()
}

/// What is asked, such that it comes as far as it may and changes nothing.
fn asked(row: &Row) -> (&'static str, &'static str) {
    match (row.path.as_str(), row.special.as_str()) {
        ("/v1/events" | "/v1/runs/{id}/events", _) => ("?limit=1", ""),
        ("/v1/checkpoints/{id}/wait", _) => ("?timeout=0s", ""),
        ("/v1/checkpoints/{id}/comments", "") => ("", r#"{"text": "x", "reply_to": "c1"}"#),
        (_, "without `reply_to`") => ("", r#"{"text": "x"}"#),
        ("/v1/jobs", "") => ("", r#"{"description": ""}"#),
        (_, "with `agent`") => ("", r#"{"description": "", "agent": "true"}"#),
        (_, "with `repo`") => ("", r#"{"description": "", "repo": "/"}"#),
        (_, "with `agent` in `config_override`") => {
            ("", r#"{"description": "", "config_override": {"agent": "true"}}"#)
        }
        (_, "with `environment` in `config_override`") => {
            ("", r#"{"description": "", "config_override": {"environment": ["HOME"]}}"#)
        }
        (_, "with `sandbox` in `config_override`") => {
            ("", r#"{"description": "", "config_override": {"sandbox": false}}"#)
        }
        (_, "with `disk_bytes` in `config_override`") => {
            ("", r#"{"description": "", "config_override": {"disk_bytes": 1}}"#)
        }
        (_, "with `memory_bytes` in `config_override`") => {
            ("", r#"{"description": "", "config_override": {"memory_bytes": 1}}"#)
        }
        (_, "with `processes` in `config_override`") => {
            ("", r#"{"description": "", "config_override": {"processes": 1}}"#)
        }
        ("/v1/runs/{id}/search", _) => ("?q=x", ""),
        ("/v1/checkpoints/{id}/file", _) => ("?path=x", ""),
        ("/git/{id}/info/refs", "") => ("?service=git-upload-pack", ""),
        (_, "with `service=git-receive-pack`") => ("?service=git-receive-pack", ""),
        ("/git/{id}/git-upload-pack" | "/git/{id}/git-receive-pack", "") => ("", "0000"),
        ("/v1/frames/{id}/moves", "") => ("", r#"{"move": "tree"}"#),
        (_, "with a move that changes something") => ("", r#"{"move": "push", "goal": "x"}"#),
        ("/v1/suggestions/{id}/feedback", _) => ("", r#"{"useful": true}"#),
        (_, "") => ("", "{}"),
        (path, special) => panic!("nothing is asked for `{path}` {special}"),
    }
}

#[test]
fn the_page_in_the_docs_is_that_of_the_code() {
    check_file("docs/authorization.md", &checkrein_server::authorization());
}

#[test]
fn every_cell_is_true() {
    let place = crate::job::making().start();
    let admin = place.as_role(Role::Admin);
    crate::checkpoint::ask(&admin, "theirs");
    let run = crate::run::start(&admin, &crate::run::workflow("true"));
    crate::run::until(&admin, &run, "run_ended");
    let webhook = crate::webhook::add(&admin, crate::webhook::NOBODY);
    let sent = admin.send("POST", &crate::webhook::path(&webhook, "/test"), None).json();
    let (job, _) = crate::job::at_its_plan(&admin);
    let suggestion = crate::frame::suggested(&admin, "theirs");
    let rows = rows();
    assert!(rows.len() > 50, "{}", rows.len());
    for row in rows {
        let Row { method, path, special, cells } = &row;
        let nobody = (None, place.client());
        let everybody = Role::ALL.map(|role| (Some(role), place.as_role(role)));
        for ((role, client), cell) in std::iter::once(nobody).chain(everybody).zip(cells) {
            // Things that are there, of somebody else; and bodies that say nothing.
            let noun = match path.as_str() {
                // A session of one's own begins with the first move.
                _ if special == "with a move that changes something" => "-",
                path if path.contains("/checkpoints/") || path.contains("/frames/") => "theirs",
                path if path.contains("/suggestions/") => &suggestion,
                path if path.contains("/jobs/") || path.starts_with("/git/") => &job,
                path if path.contains("/webhooks/") => webhook["id"].as_str().unwrap(),
                _ => &run,
            };
            let (query, body) = asked(&row);
            let delivery = sent["id"].as_str().unwrap();
            let target =
                path.replace("{id}", noun).replace("{name}", "coder").replace("{delivery}", delivery) + query;
            let body = (method == "POST").then_some(body);
            let client = match path.strip_prefix("/git/{id}/") {
                Some(service) => client.header("Content-Type", &format!("application/x-{service}-request")),
                None => client,
            };
            let answer = client.send(method, &target, body);
            let problem: Value = serde_json::from_str(&answer.body).unwrap_or_default();
            let kind = problem["type"].as_str().unwrap_or_default().to_owned();
            let refused = (answer.status == 401 || answer.status == 403) && !kind.is_empty();
            let what = format!("{method} {path} {special} as {role:?}: {} {}", answer.status, answer.body);
            match cell.as_str() {
                "-" if role.is_none() => assert_eq!(answer.status, 401, "{what}"),
                "-" => assert_eq!(kind, "urn:checkrein:problem:forbidden", "{what}"),
                "own" if role == Some(Role::Reviewer) => {
                    assert_eq!(kind, "urn:checkrein:problem:forbidden", "{what}");
                }
                "own" => {
                    let of_one = path.contains("{id}");
                    assert!(!refused && (answer.status == 404) == of_one, "{what}");
                    assert!(!answer.body.contains("theirs\"") || of_one, "{what}");
                }
                "yes" => assert!(
                    !refused && ![404, 405, 500].contains(&answer.status)
                        || [
                            "/v1/tokens/{id}",
                            "/v1/sessions/{id}",
                            "/v1/chats/{id}",
                            "/v1/chats/{id}/draft",
                            "/v1/runs/{id}/requests/{request}",
                            "/v1/forges/hook"
                        ]
                        .contains(&path.as_str()),
                    "{what}"
                ),
                other => panic!("{other}"),
            }
        }
    }
    let jobs = admin.get("/v1/jobs").expect(200).json();
    assert_eq!(jobs["items"].as_array().unwrap().len(), 1, "nothing of this gave a job");
}
