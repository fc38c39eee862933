//! Jobs whose agents work by tools, without a store in reach, and the same from outside over HTTP.

use std::fs;

use serde_json::{Value, json};

use super::{names, told};
use crate::job::{Job, job};
use crate::place::Place;
use crate::run::{background, data, only_run, until, waits_at};
use crate::serve::Served;

/// `mcp TOOL ARGUMENTS` calls a tool, as a client would, and keeps what it said beside the agent, or in a sandbox in its cache.
const MCP: &str = r#"cat > /dev/null; here=${XDG_CACHE_HOME:-$(dirname "$0")}
n=$CHECKREIN_PHASE_NUMBER r=$CHECKREIN_ROUND
mcp() {
  printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":3,"method":"tools/list"}' > "$CHECKREIN_RESULT.in"
  printf '%s\n' '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"'"$1"'","arguments":'"$2"'}}' >> "$CHECKREIN_RESULT.in"
  checkrein mcp < "$CHECKREIN_RESULT.in" > "$CHECKREIN_RESULT.out"
  { printf '%s ' "$n.$r $1"; grep '"id":2' "$CHECKREIN_RESULT.out"; } >> "$here/said"
  grep '"id":3' "$CHECKREIN_RESULT.out" > "$here/tools"
}
"#;

fn scene(agent: &str) -> Place {
    Place::new().file("agent", &format!("{MCP}{agent}\n"))
}

fn left(job: &Job, name: &str) -> String {
    let cached = data(&job.place, &format!("jobs/{}/cache/{name}", job.id));
    fs::read_to_string(cached).unwrap_or_else(|_| job.place.read(name))
}

/// What each call of a tool said: phase and round, the tool, whether it failed, its text.
fn said(job: &Job) -> Vec<(String, String, bool, String)> {
    let text = left(job, "said");
    let lines = text.lines().map(|line| {
        let mut words = line.splitn(3, ' ');
        let (at, tool, answer) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let (failed, text) = told(&serde_json::from_str(answer).unwrap());
        (at.to_owned(), tool.to_owned(), failed, text)
    });
    lines.collect()
}

/// Plans, works, asks to plan again, and is done; each phase also tries what is not for it.
const WHOLE: &str = r#"case $n in
1) mcp todo_list '{}'
   mcp request_replan '{"reason":"too early"}'
   mcp next_phase_todos '{"todos":["write it","read it"]}'
   mcp job_complete '{}'
   mcp report_response '{"summary":"planned by tools","confidence":0.9,"warnings":["a small doubt"]}' ;;
2) mcp next_phase_todos '{"todos":["more"]}'
   mcp job_complete '{"summary":"all of it"}'
   echo "Dear reader," > letter
   mcp todo_complete '{"id":1}'
   mcp todo_complete '{"id":9}'
   mcp todo_list '{}'
   mcp request_replan '{"reason":"the second todo leads nowhere"}' ;;
3) mcp todo_list '{}'
   mcp todo_list '{"job":"another"}'
   mcp get_review '{}'
   mcp job_complete '{"summary":"all is done"}' ;;
esac"#;

#[test]
fn an_agent_works_by_tools_alone() {
    for isolation in [&[][..], &["--sandbox"]] {
        let job = job(scene(WHOLE), &[&["--autonomy", "full"], isolation].concat(), 0);
        let said = said(&job);
        let rows: Vec<String> = said
            .iter()
            .map(|(at, tool, failed, _)| format!("{at} {tool}{}", if *failed { " refused" } else { "" }))
            .collect();
        assert_eq!(
            rows,
            [
                "1.1 todo_list",
                "1.1 request_replan refused",
                "1.1 next_phase_todos",
                "1.1 job_complete refused",
                "1.1 report_response",
                "2.1 next_phase_todos refused",
                "2.1 job_complete refused",
                "2.1 todo_complete",
                "2.1 todo_complete refused",
                "2.1 todo_list",
                "2.1 request_replan",
                "3.1 todo_list",
                "3.1 todo_list refused",
                "3.1 get_review",
                "3.1 job_complete",
            ],
            "{said:?}"
        );
        let text = |row: usize| said[row].3.as_str();
        assert!(text(5).contains("strategic phases") && text(5).contains("request_replan"), "{}", text(5));
        assert!(text(6).contains("strategic phases"), "{}", text(6));
        assert!(text(7).contains("todo 1: write it") && text(7).contains("left: 2"), "{}", text(7));
        let todos: Value = serde_json::from_str(text(9)).unwrap();
        assert_eq!(
            todos["todos"],
            json!([{"id": 1, "content": "write it", "done": true}, {"id": 2, "content": "read it"}])
        );
        let planning: Value = serde_json::from_str(text(11)).unwrap();
        assert_eq!(planning["replan"], "the second todo leads nowhere", "{planning}");
        // Without a store only what an attempt has is there.
        let tools = left(&job, "tools");
        let tools = names(&serde_json::from_str(&tools).unwrap());
        assert_eq!(tools.len(), 9, "{tools:?}");
        assert!(!tools.contains(&"request_checkpoint".to_owned()), "{tools:?}");
        // The engine takes it up as it takes up any result.
        let found = "a small doubt\njob_complete, and these todos were never done: read it\n";
        assert_eq!(job.found(), found);
        let archived = job.file("main", "archive/phase-2-tactical-todos.yaml");
        assert_eq!(archived.matches("done: true").count(), 1, "{archived}");
        let titles = job.titles("main");
        assert!(titles.iter().any(|title| title == "phase 1 (strategic): planned by tools"), "{titles:?}");
        assert!(
            titles.iter().any(|title| title == "phase 2 (tactical): asks to plan again: the second todo leads nowhere"),
            "{titles:?}"
        );
        assert!(job.files("main").iter().all(|file| !file.contains("store.db")), "{:?}", job.files("main"));
    }
}

const ROUNDS: &str = r#"case $n.$r in
1.1) echo plan > plan.md; mcp next_phase_todos '{"todos":["write it"]}' ;;
1.*) mcp get_review '{}'
     mcp get_comments '{}'
     echo shorter > plan.md
     mcp reply_comment '{"id":"c1","text":"cut it"}'
     mcp reply_comment '{"id":"c9","text":"cut it"}'
     mcp next_phase_todos '{"todos":["write less"]}' ;;
esac"#;

#[test]
fn comments_are_read_and_answered() {
    let job = job(scene(ROUNDS), &[], 3);
    job.change(&["--comment", "plan.md:1=[FIX] too long"], 3);
    let said = said(&job);
    let json = |row: usize| serde_json::from_str::<Value>(&said[row].3).unwrap();
    let review = json(1);
    assert_eq!(
        (&review["review"]["by"], &review["review"]["reason"], &review["phase"]["round"]),
        (&json!("ann"), &json!("shorter, please"), &json!(2)),
        "{review}"
    );
    let comments = &json(2)["comments"];
    let comment = &comments["new"][0];
    assert_eq!(
        (&comment["id"], &comment["file"], &comment["line"], &comments["earlier"]),
        (&json!("c1"), &json!("plan.md"), &json!(1), &json!([])),
        "{comments}"
    );
    assert!(!said[3].2 && said[4].2 && said[4].3.contains("there are c1"), "{said:?}");
    let comments = job.show()["job"]["comments"].as_array().unwrap().clone();
    let reply = comments.iter().find(|comment| comment["reply_to"] == "c1").unwrap();
    assert_eq!((&reply["text"], &reply["from_agent"]), (&json!("cut it"), &json!(true)));
    assert_eq!(job.asked()["next_todos"][0]["content"], "write less");
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// One call over HTTP in the newest revision, which needs no session.
pub fn call(served: &Served, token: &str, name: &str, arguments: &Value) -> (bool, String) {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"_meta": meta(), "name": name, "arguments": arguments}});
    told(&served.mcp(token, "tools/call", name, &body))
}

/// The agent itself does nothing; whoever holds its token hands in for it, from wherever it runs.
#[test]
fn the_owner_of_a_job_hands_in_over_http() {
    let agent = r#"while [ ! -f "$(dirname "$0")/go.$CHECKREIN_PHASE_NUMBER" ]; do sleep 0.05; done"#;
    let place = Place::new().file("agent", agent);
    let (owner, other) = (place.token("agent", "owner"), place.token("agent", "other"));
    let viewer = place.token("viewer", "vera");
    let place = place.env("CHECKREIN_TOKEN", &owner);
    let command = format!("sh {}", place.path().join("agent").display());
    let served = Served::start(&place, &["--no-worker"]);
    let mut given = background(&place, &["job", "Write a letter", "--agent", &command]);
    let id = until(|| only_run(&place));
    let named = |more: Value| {
        let mut arguments = more;
        arguments["job"] = json!(id);
        arguments
    };
    let listed = until(|| {
        let (failed, text) = call(&served, &owner, "todo_list", &named(json!({})));
        assert!(!failed || text.contains("under way"), "{text}");
        (!failed).then(|| serde_json::from_str::<Value>(&text).unwrap())
    });
    assert_eq!(listed["phase"]["name"], "phase-1-strategic");
    let todos = named(json!({"todos": ["write it"]}));
    for (token, expected) in [(&other, "there is no run"), (&viewer, "there is no tool")] {
        let (failed, text) = call(&served, token, "next_phase_todos", &todos);
        assert!(failed && text.contains(expected), "{text}");
    }
    let (failed, text) = call(&served, &owner, "next_phase_todos", &todos);
    assert!(!failed, "{text}");
    let (failed, text) = call(&served, &owner, "report_response", &named(json!({"summary": "from afar"})));
    assert!(!failed, "{text}");
    fs::write(place.path().join("go.1"), "").unwrap();
    let ended = given.end();
    assert_eq!(ended.code, 3, "{}", ended.seen());
    let shown = place.run(&["checkpoint", "show", &waits_at(&place, &id), "--json"]).json();
    assert_eq!(shown["deliverable"]["summary"], "from afar", "{shown}");
    assert_eq!(shown["deliverable"]["next_todos"][0]["content"], "write it");
    let (failed, text) = call(&served, &owner, "todo_list", &named(json!({})));
    assert!(failed && text.contains("no attempt of job"), "{text}");
}

/// The token of an attempt opens that attempt and nothing else, and ends with it.
#[test]
fn an_attempt_hands_in_over_http_with_a_token_of_its_own() {
    let agent = r#"here=$(dirname "$0")
echo "$CHECKREIN_ATTEMPT_TOKEN"
echo "$CHECKREIN_ATTEMPT_TOKEN" > "$here/token.tmp" && mv "$here/token.tmp" "$here/token.$CHECKREIN_PHASE_NUMBER"
while [ ! -f "$here/go.$CHECKREIN_PHASE_NUMBER" ]; do sleep 0.05; done"#;
    let place = Place::new().file("agent", agent);
    let command = format!("sh {}", place.path().join("agent").display());
    let served = Served::start(&place, &["--no-worker"]);
    let mut given =
        background(&place, &["job", "Write a letter", "--agent", &command, "--autonomy", "dependent"]);
    let id = until(|| only_run(&place));
    let token = |phase: u32| {
        let text = until(|| fs::read_to_string(place.path().join(format!("token.{phase}"))).ok());
        text.trim().to_owned()
    };
    let first = token(1);
    // The same tools as in the attempt itself, which need not be told the job.
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}});
    let mut found = names(&served.mcp(&first, "tools/list", "", &body));
    found.sort();
    let expected = [
        "get_comments",
        "get_review",
        "job_complete",
        "next_phase_todos",
        "reply_comment",
        "report_response",
        "request_replan",
        "todo_complete",
        "todo_list",
    ];
    assert_eq!(found, expected);
    let (failed, text) = call(&served, &first, "next_phase_todos", &json!({"todos": ["write it"]}));
    assert!(!failed, "{text}");
    let (failed, text) = call(&served, &first, "todo_list", &json!({"job": "20200101-000000-other"}));
    assert!(failed && text.contains("there is no run"), "{text}");
    for tool in ["list_runs", "show_run", "request_checkpoint", "flame_push", "get_llm_request"] {
        let (failed, text) = call(&served, &first, tool, &json!({}));
        assert!(failed && text.contains("there is no tool"), "{tool}: {text}");
    }
    // Elsewhere it is nobody's.
    for path in ["/v1/runs", "/v1/checkpoints", "/v1/frames"] {
        assert_eq!(served.ask(&first, "GET", path, &Value::Null).0, 401, "{path}");
    }
    fs::write(place.path().join("go.1"), "").unwrap();
    assert_eq!(given.end().code, 3);
    let status = |token: &str| served.ask(token, "POST", "/mcp", &json!({})).0;
    assert_eq!(status(&first), 401, "its attempt is over");
    let log = place.run(&["log", &id]).stdout;
    assert!(!log.contains(&first), "{log}");
    // The next attempt has another one, and the old one stays worthless.
    let checkpoint = waits_at(&place, &id);
    let approved = place.run_as(&place.token("reviewer", "ann"), &["approve", &checkpoint]);
    assert_eq!(approved.code, 0, "{}", approved.seen());
    let mut going = background(&place, &["resume", &id]);
    let second = token(2);
    assert_ne!(first, second);
    assert_eq!(status(&first), 401);
    let (failed, text) = call(&served, &second, "todo_complete", &json!({"id": 1}));
    assert!(!failed, "{text}");
    // A guess at it is as good as none.
    let (run, _) = second.rsplit_once('_').unwrap();
    assert_eq!(status(&format!("{run}_{}", "0".repeat(64))), 401);
    fs::write(place.path().join("go.2"), "").unwrap();
    assert_eq!(going.end().code, 3);
}
