//! The binary on standard input and output.

use serde_json::{Value, json};

use super::{Client, names, told};
use crate::place::Place;
use crate::run::{data, expect};

const META: &str = "io.modelcontextprotocol";

#[test]
fn old_revisions_and_the_newest_are_spoken() {
    let place = Place::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::start(&place, &[]);
        let said = client.initialize(revision, json!({}));
        assert_eq!(
            (&said["protocolVersion"], &said["serverInfo"]["name"]),
            (&json!(revision), &json!("checkrein"))
        );
        assert!(client.tools().contains(&"request_checkpoint".to_owned()));
    }
    // The newest has no handshake: every request says what it is.
    let meta = json!({
        (format!("{META}/protocolVersion")): "2026-07-28",
        (format!("{META}/clientInfo")): {"name": "test", "version": "1"},
        (format!("{META}/clientCapabilities")): {},
    });
    let mut client = Client::start(&place, &[]);
    let said = client.ask("server/discover", json!({"_meta": meta}));
    let revisions = said["result"]["supportedVersions"].as_array().unwrap();
    assert!(revisions.contains(&json!("2026-07-28")), "{said}");
    let said = client.ask("tools/list", json!({"_meta": meta}));
    assert!(names(&said).contains(&"check_checkpoint".to_owned()), "{said}");
    let asked = json!({"worker": "w", "deliverable": "x", "id": "n1"});
    let said =
        client.ask("tools/call", json!({"_meta": meta, "name": "request_checkpoint", "arguments": asked}));
    assert_eq!(said["result"]["structuredContent"]["status"], "pending", "{said}");
}

/// What is judged is what was sent (R2).
#[test]
fn a_number_that_would_be_rounded_is_refused() {
    let place = Place::new();
    let mut client = Client::new(&place, &[]);
    let asked = json!({"id": "n", "worker": "w", "deliverable": [9_007_199_254_740_993_u64]});
    let said = client.ask("tools/call", json!({"name": "request_checkpoint", "arguments": asked}));
    assert_eq!(said["result"]["isError"], true, "{said}");
    let text = said["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text.contains("`9007199254740993` would come back as another one"), "{said}");
    // What no double holds is answered too, and so is a key that stands twice.
    for (name, arguments, expected) in [
        (
            "request_checkpoint",
            r#"{"worker":"n","deliverable":1e400}"#,
            "`1e400` would come back as another one",
        ),
        (
            "decide_policy",
            r#"{"scope":"workflow","boundary":{"kind":"step","kind":"phase"}}"#,
            "the key `kind` is given twice",
        ),
    ] {
        let params = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
        let said = client.ask_raw("tools/call", &params);
        assert!(told(&said).0 && told(&said).1.contains(expected), "{said}");
    }
}

/// R14: only what is written makes a store.
#[test]
fn looking_at_the_tools_makes_no_store() {
    let place = Place::new();
    let store = place.path().join("no/such/x.db");
    let mut client = Client::new(&place, &[("CHECKREIN_STORE", store.to_str().unwrap())]);
    assert!(client.tools().contains(&"request_checkpoint".to_owned()));
    assert_eq!(client.works("list_checkpoints", json!({}))["items"], json!([]));
    assert!(!place.path().join("no").exists());
    client.works("request_checkpoint", json!({"worker": "w", "deliverable": "x", "id": "a"}));
    assert_eq!(client.works("list_checkpoints", json!({}))["items"][0]["id"], "a");
    assert!(store.exists());
}

#[test]
fn what_is_asked_is_answered_elsewhere() {
    let place = Place::new();
    let ann = place.token("reviewer", "ann");
    let mut client = Client::new(&place, &[("USER", "sam")]);
    let asked = client.works(
        "request_checkpoint",
        json!({"worker": "w", "phase": "p", "deliverable": {"pages": 12}, "id": "r 1"}),
    );
    assert_eq!(
        (&asked["status"], &asked["look_at"]),
        (&json!("pending"), &json!("checkrein checkpoint show 'r 1'"))
    );
    let inbox = client.works("inbox", json!({}));
    assert_eq!(inbox["items"][0]["id"], "r 1", "{inbox}");
    // Nobody answers: what is pending stays pending.
    let still = client.works("check_checkpoint", json!({"id": "r 1", "timeout": "10ms"}));
    assert_eq!(still["status"], "pending");
    let waiting = client.begin(
        "tools/call",
        json!({"name": "check_checkpoint", "arguments": {"id": "r 1", "timeout": "50s"}}),
    );
    expect(&place.run_as(&ann, &["reject", "r 1", "-m", "too long"]), 0);
    let answer = client.next();
    assert_eq!(answer["id"], waiting);
    let decided = &answer["result"]["structuredContent"];
    assert_eq!((&decided["status"], &decided["reason"]), (&json!("rejected"), &json!("too long")));
    let other = client.refuses("request_checkpoint", json!({"worker": "w", "deliverable": "y", "id": "r 1"}));
    assert!(other.contains("other content") && other.contains("hint: "), "{other}");
    // Whoever speaks through a client is an agent, and owns what it asks.
    let events = place.run(&["store", "export"]).stdout;
    assert!(events.contains(r#""owner":"sam""#), "{events}");
}

#[test]
fn everything_can_be_looked_at() {
    let flow = "id: flow\nphases: {build: {steps: [{id: a, run: 'echo done'}]}}\n";
    let place = Place::new().file("flow.yaml", flow);
    expect(&place.run(&["run", "flow.yaml"]), 0);
    let mut client = Client::new(&place, &[]);
    client.works("request_checkpoint", json!({"worker": "w", "deliverable": "x", "id": "a"}));
    let list = client.works("list_checkpoints", json!({"status": "pending", "worker": "w"}));
    assert_eq!(list["items"][0]["id"], "a");
    let shown = client.works("show_checkpoint", json!({"id": "a"}));
    assert_eq!(
        (&shown["deliverable"], &shown["look_at"]),
        (&json!("x"), &json!("checkrein checkpoint show a"))
    );
    let runs = client.works("list_runs", json!({}));
    let id = runs["items"][0]["run_id"].as_str().unwrap().to_owned();
    assert_eq!(client.works("show_run", json!({"id": id}))["status"], "completed");
    let report = client.works("show_report", json!({"id": id}));
    assert!(report.as_str().unwrap().contains("flow"), "{report}");
    assert!(client.works("show_report", json!({"id": id, "as": "text"})).is_string());
    assert_eq!(client.works("show_report", json!({"id": id, "as": "json"}))["status"], "completed");
    let policy = client.works("explain_policy", json!({"worker": "w"}));
    assert!(policy.to_string().contains("semi_supervised"), "{policy}");
    let decided =
        client.works("decide_policy", json!({"scope": "worker", "boundary": {"kind": "deliverable"}}));
    assert_eq!(decided["outcome"], "hold", "{decided}");
    for (name, arguments, expected) in [
        ("show_checkpoint", json!({"id": "none"}), "list_checkpoints"),
        ("show_run", json!({"id": "none"}), "list_runs"),
        ("show_report", json!({"id": "none"}), "list_runs"),
        ("show_run", json!({}), "missing key `id`"),
        ("show_run", json!({"idd": "x"}), "did you mean `id`"),
        ("decide_policy", json!({"scope": "none"}), "scope"),
        ("check_checkpoint", json!({"id": "a", "timeout": "soon"}), "such as 30s"),
        ("todo_list", json!({}), "name your job"),
        ("todo_list", json!({"job": "none"}), "there is no run `none`"),
        ("todo_list", json!({"job": id}), "is not a job"),
        ("report_response", json!({"summary": "x"}), "name your job"),
        ("approve", json!({"id": "a"}), "there is no tool `approve`"),
    ] {
        let text = client.refuses(name, arguments);
        assert!(text.contains(expected), "{name}: {text}");
    }
}

#[test]
fn a_token_says_who_speaks() {
    let place = Place::new();
    let (agent, viewer) = (place.token("agent", "w"), place.token("viewer", "v"));
    let mut looking = Client::new(&place, &[("CHECKREIN_TOKEN", &viewer)]);
    let tools = looking.tools();
    assert!(
        tools.contains(&"inbox".to_owned()) && !tools.contains(&"request_checkpoint".to_owned()),
        "{tools:?}"
    );
    let refused = looking.refuses("request_checkpoint", json!({"worker": "w", "deliverable": "x"}));
    assert!(refused.contains("there is no tool"), "{refused}");
    let mut asking = Client::new(&place, &[("CHECKREIN_TOKEN", &agent)]);
    asking.works("request_checkpoint", json!({"worker": "w", "deliverable": "x", "id": "mine"}));
    expect(&place.run(&["checkpoint", "create", "--worker", "w", "--deliverable", "x", "--id", "theirs"]), 3);
    // An agent's token sees what it made, and nothing else.
    let seen = asking.works("list_checkpoints", json!({}));
    assert_eq!(seen["items"].as_array().unwrap().len(), 1, "{seen}");
    assert!(asking.refuses("check_checkpoint", json!({"id": "theirs"})).contains("there is no checkpoint"));
    let wrong = place.run_as("chk_none", &["mcp"]);
    assert!(
        wrong.code == 1 && wrong.stdout.is_empty() && wrong.stderr.contains("not valid"),
        "{}",
        wrong.seen()
    );
}

/// The person at the client is told; what their client answers decides nothing.
#[test]
fn telling_a_person_is_no_verdict() {
    let place = Place::new();
    for (number, action) in ["accept", "decline", "cancel"].into_iter().enumerate() {
        let mut client = Client::start(&place, &[]);
        client.initialize("2025-06-18", json!({"elicitation": {}}));
        let id = format!("e{number}");
        let asked = json!({"worker": "w", "deliverable": "x", "id": id});
        let call = client.begin("tools/call", json!({"name": "request_checkpoint", "arguments": asked}));
        let told = client.next();
        assert_eq!(told["method"], "elicitation/create", "{told}");
        assert!(
            told["params"]["message"].as_str().unwrap().contains(&format!("checkrein checkpoint show {id}"))
        );
        let content = json!({"verdict": "approve", "status": "approved"});
        client.send(
            &json!({"jsonrpc": "2.0", "id": told["id"], "result": {"action": action, "content": content}}),
        );
        let answer = client.next();
        let answer = (&answer["id"], &answer["result"]["structuredContent"]);
        assert_eq!((answer.0, &answer.1["status"]), (&json!(call), &json!("pending")), "{answer:?}");
        assert!(answer.1["notice"].as_str().unwrap().starts_with(action), "{answer:?}");
        assert_eq!(place.run(&["checkpoint", "show", &id, "--json"]).json()["status"], "pending");
    }
}

/// Every tool there is, with whatever might pass for a verdict.
#[test]
fn nothing_decides_a_checkpoint() {
    let place = Place::new();
    let admin = place.token("admin", "root");
    let mut client = Client::new(&place, &[("CHECKREIN_TOKEN", &admin)]);
    client.works("request_checkpoint", json!({"worker": "w", "deliverable": "x", "id": "held"}));
    let tools = client.tools();
    assert_eq!(tools.len(), 54, "{tools:?}");
    for name in &tools {
        for word in [
            "approve",
            "reject",
            "verdict",
            "withdraw",
            "request_changes",
            "resolve",
            "answer",
            "cancel",
            "token",
        ] {
            assert!(!name.contains(word), "{name}");
        }
        for arguments in [
            json!({"id": "held", "verdict": "approve"}),
            json!({"id": "held", "status": "approved", "resolved_by": "ann"}),
            json!({"id": "held"}),
            json!({"id": "held", "timeout": "1ms"}),
            json!({"id": "held", "worker": "w", "deliverable": "x", "type": "deliverable"}),
            json!({"job": "held", "summary": "approved"}),
            json!({"job": "../../held", "id": 1, "todos": ["approve"]}),
            json!({"scope": "worker", "boundary": {"kind": "deliverable"}, "autonomy": "autonomous"}),
            json!([]),
        ] {
            client.ask("tools/call", json!({"name": name, "arguments": arguments}));
        }
    }
    for name in
        ["approve", "reject", "give_verdict", "verdict", "request_changes", "withdraw", "resolve_checkpoint"]
    {
        let text = client.refuses(name, json!({"id": "held", "verdict": "approve"}));
        assert!(text.contains("there is no tool"), "{text}");
    }
    for method in ["verdict", "checkpoints/approve", "resources/read", "prompts/get", "completion/complete"] {
        client.ask(method, json!({"id": "held", "verdict": "approve", "name": "held", "uri": "held"}));
    }
    let held: Value = place.run(&["checkpoint", "show", "held", "--json"]).json();
    assert_eq!((&held["status"], &held["resolved_by"]), (&json!("pending"), &Value::Null));
}

/// What is odd about settings is said, but not there; what cannot be read is answered, and does not end it.
#[test]
fn nothing_but_messages_is_on_standard_output() {
    let place = Place::new().env("FLAME_PUSH_THRESHOLD", "many").env("CHECKREIN_WORKER_AUTONOMI", "manual");
    let mut client = Client::new(&place, &[]);
    client.works("inbox", json!({}));
    client.send(&json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": 7}}));
    assert_eq!(client.next()["id"], 99);
    client.works("inbox", json!({}));
    let gone = place.run(&["mcp"]);
    assert!(gone.code == 0 && gone.stdout.is_empty(), "{}", gone.seen());
}

/// A client that hands nothing on is told so, before a store is made where none belongs.
#[test]
fn an_attempt_whose_files_are_not_known_is_no_place_to_serve() {
    let place = Place::new();
    let ran = place.run_env(&[("CHECKREIN_JOB_ID", "x")], &["mcp"]);
    assert!(ran.code == 1 && ran.stdout.is_empty(), "{}", ran.seen());
    assert!(ran.stderr.contains("CHECKREIN_BRIEF_JSON, CHECKREIN_RESULT"), "{}", ran.seen());
    assert!(!data(&place, "store.db").exists());
}

/// The attempt of a step hands its response in the same way.
#[test]
fn a_step_says_how_it_went() {
    let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"report_response","arguments":{"summary":"built","warnings":[{"text":"old style","severity":"low","category":"style"}]}}}"#;
    let init = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let script = format!(
        "printf '%s\\n' '{init}' '{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}}' '{call}' | checkrein mcp > said\n"
    );
    let flow = "id: flow\nphases: {build: {steps: [{id: a, run: 'sh step.sh'}]}}\n";
    let place = Place::new().file("flow.yaml", flow).file("step.sh", &script);
    let ran = place.run(&["run", "flow.yaml", "--yes"]);
    assert!(place.read("said").contains("old style"), "{}", place.read("said"));
    assert!(ran.stdout.contains("old style") || ran.stdout.contains("1 warning"), "{}", ran.seen());
}
