//! The newest revision, which has no sessions: every request says all there is to say.

use checkrein_core::principal::Role;
use serde_json::{Value, json};

use super::{message, names, post};
use crate::place::{Client, Place};

fn ask(client: &Client, method: &str, capabilities: &Value, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    let mut client = client.clone().header("MCP-Protocol-Version", "2026-07-28").header("Mcp-Method", method);
    if let Some(name) = params["name"].as_str() {
        client = client.header("Mcp-Name", name);
    }
    let answer = post(&client, &json!({"jsonrpc": "2.0", "id": 5, "method": method, "params": params}));
    assert_eq!(answer.header("mcp-session-id"), None);
    message(&answer)
}

#[test]
fn it_is_discovered_and_used_without_a_session() {
    let place = Place::new();
    let client = place.as_role(Role::Agent);
    let none = json!({});
    let discovered = ask(&client, "server/discover", &none, &none);
    assert!(discovered["result"]["supportedVersions"].to_string().contains("2026-07-28"), "{discovered}");
    assert!(names(&ask(&client, "tools/list", &none, &none)).contains(&"request_checkpoint".to_owned()));
    let call =
        json!({"name": "request_checkpoint", "arguments": {"worker": "w", "deliverable": "x", "id": "n"}});
    let asked = ask(&client, "tools/call", &none, &call);
    assert_eq!(asked["result"]["structuredContent"]["status"], "pending", "{asked}");
    let viewer = place.as_role(Role::Viewer);
    let refused = ask(&viewer, "tools/call", &none, &call);
    assert!(refused["error"]["message"].as_str().unwrap().contains("there is no tool"), "{refused}");
}

/// The client asks its person and calls again. What it brings back names a checkpoint and decides none.
#[test]
fn a_person_is_told_between_two_calls() {
    let place = Place::new();
    let client = place.as_role(Role::Agent);
    let can = json!({"elicitation": {"form": {}}});
    let call = json!({"name": "request_checkpoint", "arguments": {"worker": "w", "deliverable": "x"}});
    let first = ask(&client, "tools/call", &can, &call);
    assert_eq!(first["result"]["resultType"], "input_required", "{first}");
    let state = first["result"]["requestState"].clone();
    let (key, request) = first["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create");
    let mut again = call.clone();
    again["requestState"] = state.clone();
    again["inputResponses"] = json!({key: {"action": "accept", "content": {"verdict": "approve"}}});
    let second = ask(&client, "tools/call", &can, &again);
    let told = &second["result"]["structuredContent"];
    assert_eq!(
        (&told["id"], &told["status"], &told["notice"]),
        (&state, &json!("pending"), &json!("accepted")),
        "{second}"
    );
    let all = place.as_role(Role::Viewer).get("/v1/checkpoints").expect(200).json();
    assert_eq!((all["items"].as_array().unwrap().len(), &all["items"][0]["status"]), (1, &json!("pending")));
    // A client that only opens addresses is given one.
    let opens = ask(&client, "tools/call", &json!({"elicitation": {"url": {}}}), &call);
    let request = opens["result"]["inputRequests"].as_object().unwrap().values().next().unwrap();
    assert_eq!(request["params"]["mode"], "url", "{opens}");
    assert!(request["params"]["url"].as_str().unwrap().contains("/checkpoints/"), "{opens}");
    // A state somebody made up shows only what they may see anyway.
    again["requestState"] = json!("theirs");
    let made_up = ask(&client, "tools/call", &can, &again);
    assert_eq!(made_up["result"]["isError"], true, "{made_up}");
}
