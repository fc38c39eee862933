//! Which role finds which tool, by asking.

use checkrein_core::principal::Role;
use serde_json::json;

use super::{Session, names};
use crate::place::Place;

/// What the page says of a tool: `yes`, `own` or `-` for each role.
fn rows() -> Vec<(String, Vec<String>)> {
    let page = checkrein_server::authorization();
    let (_, tools) = page.split_once("## Tools of MCP").unwrap();
    let rows = tools.lines().filter(|line| line.starts_with("| `")).map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        (cells[0].trim_matches('`').to_owned(), cells[2..].iter().map(|cell| (*cell).to_owned()).collect())
    });
    rows.collect()
}

#[test]
fn every_role_finds_its_tools_and_no_others() {
    let place = Place::new();
    let rows = rows();
    assert_eq!(rows.len(), 54, "{rows:?}");
    for (column, role) in Role::ALL.into_iter().enumerate() {
        let session = Session::new(&place.as_role(role));
        let found = names(&session.ask("tools/list", &json!({})));
        for (name, cells) in &rows {
            assert_eq!(found.contains(name), cells[column] != "-", "{name} as {role:?}");
            let answer = session.call(name, &json!({}));
            // What is not there cannot be called either.
            let missing =
                answer["error"]["message"].as_str().is_some_and(|text| text.contains("there is no tool"));
            assert_eq!(missing, cells[column] == "-", "{name} as {role:?}: {answer}");
        }
        assert!(found.iter().all(|name| rows.iter().any(|(row, _)| row == name)), "{found:?}");
    }
}

#[test]
fn an_agent_sees_its_own_alone() {
    let place = Place::new();
    let (one, other) = (place.token(Role::Agent, "one"), place.token(Role::Agent, "other"));
    let (one, other) = (Session::new(&place.bearer(&one)), Session::new(&place.bearer(&other)));
    let asked = one.call("request_checkpoint", &json!({"worker": "w", "deliverable": "x", "id": "mine"}));
    let asked = &asked["result"]["structuredContent"];
    assert_eq!(asked["look_at"], format!("http://{}/checkpoints/mine", place.address), "{asked}");
    for tool in ["check_checkpoint", "show_checkpoint"] {
        assert_eq!(one.call(tool, &json!({"id": "mine"}))["result"]["isError"], false);
        let hidden = other.call(tool, &json!({"id": "mine"}));
        assert_eq!(hidden["result"]["isError"], true, "{hidden}");
    }
    let inbox = other.call("inbox", &json!({}));
    assert_eq!(inbox["result"]["structuredContent"]["items"], json!([]));
    let everything = Session::new(&place.as_role(Role::Viewer)).call("inbox", &json!({}));
    assert_eq!(everything["result"]["structuredContent"]["items"][0]["id"], "mine");
}

/// Not even for those who may decide elsewhere.
#[test]
fn nothing_decides_a_checkpoint() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let session = Session::new(&admin);
    session.call("request_checkpoint", &json!({"worker": "w", "deliverable": "x", "id": "held"}));
    for (name, _) in rows() {
        for arguments in [
            json!({"id": "held", "verdict": "approve", "status": "approved"}),
            json!({"id": "held"}),
            json!({"id": "held", "worker": "w", "deliverable": "x"}),
            json!({"job": "held", "summary": "approved", "status": "success"}),
        ] {
            session.call(&name, &arguments);
        }
    }
    for name in ["approve", "reject", "request_changes", "give_verdict", "withdraw_checkpoint", "giveVerdict"]
    {
        let answer = session.call(name, &json!({"id": "held", "verdict": "approve"}));
        assert!(answer["error"]["message"].as_str().unwrap().contains("there is no tool"), "{answer}");
    }
    assert_eq!(admin.get("/v1/checkpoints/held").expect(200).json()["status"], "pending");
}

/// What is secret is masked here as everywhere.
#[test]
fn secrets_are_masked() {
    let place = Place::making().settings("secrets: [DEPLOY_KEY]").env("DEPLOY_KEY", "hunter2hunter2").start();
    let session = Session::new(&place.as_role(Role::Agent));
    let asked = json!({"worker": "w", "deliverable": "the key is hunter2hunter2", "id": "s"});
    session.call("request_checkpoint", &asked);
    let shown = session.call("show_checkpoint", &json!({"id": "s"})).to_string();
    assert!(shown.contains("the key is") && !shown.contains("hunter2"), "{shown}");
}
