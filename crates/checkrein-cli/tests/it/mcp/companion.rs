//! What the companion looks at, over MCP: one job, read only, in parts.

use serde_json::{Value, json};

use super::{Client, told};
use crate::job::{Job, git, job, scene, try_git};
use crate::place::Place;
use crate::run::expect;
use crate::serve::Served;

/// Plans, works once, and is done; the password of a datasource gets into a file.
const AGENT: &str = r##"case $n.$CHECKREIN_PHASE_KIND in
  1.*)
    printf '# Plan\n\nThe crawler visits each page once.\n' > plan.md
    for i in $(seq 1 1000); do echo "line $i"; done > long.txt
    printf '\000\001' > binary
    ln -s /etc/passwd link
    mkdir -p "docs/deep"; echo "deep down" > "docs/deep/a b.md"
    echo "db is $CHECKREIN_DATASOURCE_DB" > config.ini
    echo '{"at":"2026-03-01T12:00:00Z","did":"said","text":"I looked at the heron."}'
    echo '{"at":"2026-03-01T12:00:01Z","did":"called","id":"1","tool":"read","input":{"path":"heron.md"}}'
    answer '{"summary":"planned","next_todos":["count the herons","write it"]}' ;;
  *.tactical) echo "three herons" > count.md; answer '{"summary":"worked","todos_done":[1]}' ;;
  *) complete ;;
esac"##;

const ADDRESS: &str = "postgres://ann:s3cr3t-passw0rd@db.example.org/orders";

fn held() -> Job {
    job(scene(AGENT), &["--datasource", &format!("db={ADDRESS}")], 3)
}

fn look(client: &mut Client, job: &Job, tool: &str, mut arguments: Value) -> Value {
    arguments["job"] = json!(job.id);
    client.works(tool, arguments)
}

fn refused(client: &mut Client, job: &Job, tool: &str, mut arguments: Value) -> String {
    arguments["job"] = json!(job.id);
    client.refuses(tool, arguments)
}

fn paths(files: &Value) -> Vec<&str> {
    files["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[test]
fn files_of_the_workspace_are_listed_and_read_in_parts() {
    let job = held();
    let client = &mut Client::new(&job.place, &[]);
    let all = look(client, &job, "list_workspace_files", json!({}));
    assert_eq!(all["commit"], job.git(&["rev-parse", "phase-1-strategic"]));
    assert!(paths(&all).contains(&"plan.md") && paths(&all).contains(&"docs/deep/a b.md"), "{all}");
    let mut gathered = Vec::new();
    let mut after = Value::Null;
    loop {
        let part = look(client, &job, "list_workspace_files", json!({"limit": 3, "after": after}));
        gathered.extend(paths(&part).into_iter().map(str::to_owned));
        after = part["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(gathered, paths(&all));
    assert_eq!(
        paths(&look(client, &job, "list_workspace_files", json!({"file": "docs"}))),
        ["docs/deep/a b.md"]
    );
    assert_eq!(look(client, &job, "list_workspace_files", json!({"at": "start"}))["files_total"], 0);

    let part = look(client, &job, "read_workspace_file", json!({"path": "long.txt", "first_line": 999}));
    assert_eq!((&part["text"], &part["lines_total"]), (&json!("line 999\nline 1000\n"), &json!(1000)));
    let part = look(client, &job, "read_workspace_file", json!({"path": "./long.txt", "lines": 2}));
    assert_eq!((&part["text"], &part["next_line"]), (&json!("line 1\nline 2\n"), &json!(3)));
    // A link is where it points, and nobody goes there.
    let link = look(client, &job, "read_workspace_file", json!({"path": "link"}));
    assert_eq!((&link["kind"], &link["text"]), (&json!("link"), &json!("/etc/passwd\n")));
    assert!(refused(client, &job, "read_workspace_file", json!({"path": "binary"})).contains("not a text"));
    for path in [
        "../../store.db",
        "/etc/passwd",
        "..",
        "",
        ".git/config",
        "docs",
        "docs/../plan.md",
        "none.md",
        "link/x",
    ] {
        let said = refused(client, &job, "read_workspace_file", json!({"path": path}));
        assert!(said.contains("there is no file") && said.contains("hint: "), "{path}: {said}");
    }
    for (at, expected) in [
        ("start", "there is no file"),
        ("--help", "there is no commit"),
        ("main:plan.md", "there is no commit"),
    ] {
        let said = refused(client, &job, "read_workspace_file", json!({"path": "plan.md", "at": at}));
        assert!(said.contains(expected), "{at}: {said}");
    }
    let said = refused(client, &job, "read_workspace_file", json!({"file": "plan.md"}));
    assert!(said.contains("unknown field `file`") && said.contains("hint: "), "{said}");
}

#[test]
fn texts_are_found_and_secrets_are_not() {
    let job = held();
    let client = &mut Client::new(&job.place, &[]);
    let found = look(client, &job, "search_workspace", json!({"text": "CRAWLER VISITS"}));
    let hit = &found["hits"][0];
    assert_eq!((&hit["file"], &hit["line"]), (&json!("plan.md"), &json!(3)), "{found}");
    let exact = look(client, &job, "search_workspace", json!({"text": "CRAWLER", "exact_case": true}));
    assert_eq!(exact["hits"], json!([]));
    let some = look(client, &job, "search_workspace", json!({"text": "line 1", "limit": 5, "file": "*.txt"}));
    assert_eq!((some["hits"].as_array().unwrap().len(), &some["next"]), (5, &json!(5)));
    let next = look(client, &job, "search_workspace", json!({"text": "line 1", "limit": 1, "after": 5}));
    assert_eq!(next["hits"][0]["line"], 14, "{next}");
    // The password is shown nowhere, and whoever guesses at it learns nothing.
    let shown = look(client, &job, "read_workspace_file", json!({"path": "config.ini"}));
    assert!(
        shown["text"].as_str().unwrap().starts_with("db is ") && !shown.to_string().contains("s3cr3t"),
        "{shown}"
    );
    assert_eq!(look(client, &job, "search_workspace", json!({"text": "s3cr3t"}))["hits"], json!([]));
    assert_eq!(look(client, &job, "search_audit", json!({"query": "s3cr3t-passw0rd"}))["hits"], json!([]));
    let diff = look(client, &job, "git_diff", json!({"file": "config.ini"})).to_string();
    assert!(diff.contains("+db is ") && !diff.contains("s3cr3t"), "{diff}");
    for text in ["a\nb", " "] {
        assert!(!refused(client, &job, "search_workspace", json!({"text": text})).is_empty());
    }
    let meant =
        look(client, &job, "vector_search", json!({"query": "a spider fetches websites", "limit": 1}));
    assert_eq!(meant["hits"][0]["file"], "plan.md", "{meant}");
}

#[test]
fn commits_are_listed_compared_and_shown() {
    let job = held();
    job.approve_unseen(3);
    let client = &mut Client::new(&job.place, &[]);
    let log = look(client, &job, "git_log", json!({"at": "main"}));
    let titles: Vec<&str> =
        log["commits"].as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect();
    let expected: Vec<String> = job.titles("main").into_iter().skip(1).rev().collect();
    assert_eq!(titles, expected, "{log}");
    let part = look(client, &job, "git_log", json!({"at": "main", "limit": 1}));
    assert_eq!((&part["commits"][0]["title"], &part["next"]), (&json!(titles[0]), &json!(1)));
    let part = look(client, &job, "git_log", json!({"at": "main", "limit": 1, "after": 1}));
    assert_eq!((&part["commits"][0]["title"], &part["next"]), (&json!(titles[1]), &Value::Null));
    let of_file = look(client, &job, "git_log", json!({"at": "main", "file": "count.md"}));
    assert_eq!(of_file["commits"].as_array().unwrap().len(), 1);
    assert_eq!(of_file["commits"][0]["title"], "phase 2 (tactical): worked");
    for file in ["../x", ":/", "/etc"] {
        let said = client.call("git_log", json!({"job": job.id, "file": file})).1;
        assert!(said.contains("there is no file") || said.contains("\"commits\":[]"), "{file}: {said}");
    }
    // A phase that was merged is found by its name, and what is before a commit by its steps.
    let shown = look(client, &job, "git_show", json!({"commit": "phase-2-tactical"}));
    assert_eq!(
        (&shown["title"], &shown["author"]),
        (&json!("phase 2 (tactical): worked"), &of_file["commits"][0]["author"])
    );
    let text = shown["diff"]["text"].as_str().unwrap();
    assert!(text.contains("--- /dev/null\n+++ b/count.md\n@@ -0,0 +1,1 @@\n+three herons\n"), "{text}");
    let whole = git(&job.repository(), &["diff", "main~1", "main"]);
    let ours = look(client, &job, "git_diff", json!({"from": "main~1", "to": "main", "lines": 2000}));
    for line in whole.lines().filter(|line| line.starts_with(['+', '-', ' '])) {
        assert!(ours["diff"]["text"].as_str().unwrap().contains(line), "{line}: {ours}");
    }
    let long = look(
        client,
        &job,
        "git_diff",
        json!({"from": "start", "to": "main", "file": "long.txt", "lines": 100}),
    );
    assert_eq!((&long["added"], &long["diff"]["next_line"]), (&json!(1000), &json!(101)));
    assert_eq!(look(client, &job, "git_show", json!({"commit": "start"}))["files"], json!([]));
    for commit in ["ffffffff", "HEAD:plan.md", "-p", "refs/heads/main", "@{-1}", "main@{0}", ":/worked"] {
        assert!(try_git(&job.repository(), &["rev-parse", "HEAD"]).1 == 0);
        let said = refused(client, &job, "git_show", json!({"commit": commit}));
        assert!(said.contains("there is no commit") && said.contains("git_log"), "{commit}: {said}");
    }
}

#[test]
fn a_job_tells_where_it_stands_and_how_it_got_there() {
    let job = held();
    let client = &mut Client::new(&job.place, &[]);
    let shown = look(client, &job, "get_job", json!({}));
    assert_eq!(
        (&shown["status"], &shown["phase"], &shown["waits_at"], &shown["datasources"]),
        (&json!("pending_review"), &json!("phase-1-strategic"), &json!(job.waits_at()), &json!(["db"])),
        "{shown}"
    );
    assert!(shown["plan"].as_str().unwrap().contains("crawler"), "{shown}");
    let todos = look(client, &job, "get_todos", json!({}));
    assert_eq!(todos["next_todos"][0]["content"], "count the herons", "{todos}");
    job.approve_unseen(3);
    job.approve_unseen(0);
    let todos = look(client, &job, "get_todos", json!({"phase": "2"}));
    assert_eq!(
        todos["attempts"],
        json!([{"phase": "phase-2-tactical", "round": 1, "todos": [
            {"id": 1, "content": "count the herons", "done": true}, {"id": 2, "content": "write it"}]}]),
        "{todos}"
    );
    let progress = look(client, &job, "get_job_progress", json!({"activity": 2}));
    assert_eq!(progress["status"], "completed_with_warnings", "{progress}");
    let phases: Vec<_> =
        progress["phases"].as_array().unwrap().iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(phases, ["phase-1-strategic", "phase-2-tactical", "phase-3-strategic"]);
    assert!(progress["phases"][0]["ended_at"].is_string(), "{progress}");

    let graph = look(client, &job, "get_graph_changes", json!({}));
    let rows: Vec<String> = graph["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            let to = &change["to"];
            let word = |name: &str| to[name].as_str().unwrap_or("-").to_owned();
            format!("{} {} {}", change["event"].as_str().unwrap(), word("status"), word("phase"))
        })
        .collect();
    assert_eq!(rows[0], "run_created created -", "{rows:?}");
    assert!(rows.iter().any(|row| row == "run_held pending_review phase-1-strategic"), "{rows:?}");
    assert_eq!(rows.last().unwrap(), "run_ended completed_with_warnings phase-3-strategic", "{rows:?}");
    for pair in graph["changes"].as_array().unwrap().windows(2) {
        assert_eq!(pair[0]["to"], pair[1]["from"], "one leads to the next");
    }
    let released =
        graph["changes"].as_array().unwrap().iter().find(|change| change["event"] == "hold_released");
    assert_eq!(released.unwrap()["by"], "ann", "{graph}");
    let part = look(client, &job, "get_graph_changes", json!({"limit": 2}));
    let rest = look(client, &job, "get_graph_changes", json!({"after": part["next"]}));
    assert_eq!(rest["changes"][0], graph["changes"][2]);
}

#[test]
fn the_trail_is_read_in_parts_and_searched() {
    let job = held();
    let client = &mut Client::new(&job.place, &[]);
    let trail = look(client, &job, "get_audit_trail", json!({}));
    let kinds = |trail: &Value| -> Vec<String> {
        let items = trail["items"].as_array().unwrap().iter();
        items.map(|item| item["kind"].as_str().unwrap().to_owned()).collect()
    };
    let all = kinds(&trail);
    assert_eq!(all[0], "run_created", "{all:?}");
    assert!(
        all.contains(&"run_held".to_owned()) && all.contains(&"checkpoint_created".to_owned()),
        "{all:?}"
    );
    let (mut gathered, mut after) = (Vec::new(), Value::Null);
    loop {
        let part = look(client, &job, "get_audit_trail", json!({"limit": 3, "after": after}));
        gathered.extend(kinds(&part));
        after = part["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(gathered, all);
    let last = look(client, &job, "get_audit_trail", json!({"limit": 2, "last": true}));
    assert_eq!(kinds(&last), all[all.len() - 2..]);
    let held = look(client, &job, "get_audit_trail", json!({"kinds": ["run_held"]}));
    assert_eq!((kinds(&held).len(), &held["items"][0]["kind_said"]), (1, &json!("review")), "{held}");
    let did = look(client, &job, "get_audit_trail", json!({"of": "activity", "limit": 1}));
    assert_eq!(
        (&did["items"][0]["text"], did["next"].is_string()),
        (&json!("I looked at the heron."), true),
        "{did}"
    );
    let did = look(client, &job, "get_audit_trail", json!({"of": "activity", "after": did["next"]}));
    assert_eq!((kinds(&did), &did["items"][0]["tool"]), (vec!["called".to_owned()], &json!("read")));
    assert!(refused(client, &job, "get_audit_trail", json!({"after": "x"})).contains("no place"));

    let found = look(client, &job, "search_audit", json!({"query": "HERON looked"}));
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(
        (&found["hits"][0]["source"], &found["hits"][0]["kind"]),
        (&json!("activity"), &json!("said"))
    );
    let all = look(client, &job, "search_audit", json!({"query": "heron", "limit": 100}));
    let count = all["hits"].as_array().unwrap().len();
    assert!(count >= 3, "events, words and calls: {all}");
    let some = look(client, &job, "search_audit", json!({"query": "heron", "limit": 1, "after": count - 1}));
    assert_eq!((&some["hits"][0], &some["next"]), (&all["hits"][count - 1], &Value::Null));
    assert_eq!(look(client, &job, "get_llm_request", json!({}))["requests"], json!([]));
    assert!(
        refused(client, &job, "get_llm_request", json!({"request": "1.1"})).contains("there is no request")
    );
}

/// Every tool, by everybody: an agent's token sees its own jobs, others see all, and nothing is changed.
#[test]
fn an_agent_looks_at_its_own_job_alone() {
    let place = scene(AGENT);
    let (owner, other) = (place.token("agent", "owner"), place.token("agent", "other"));
    let viewer = place.token("viewer", "vera");
    let place = place.env("CHECKREIN_TOKEN", &owner);
    let given = crate::job::give(&place, &[]);
    expect(&given, 3);
    let id = crate::job::id_of(&given);
    let served = Served::start(&place, &["--no-worker"]);
    let before = events(&place, &id);
    for (name, arguments) in [
        ("get_job", json!({})),
        ("get_job_progress", json!({})),
        ("get_todos", json!({})),
        ("get_graph_changes", json!({})),
        ("get_audit_trail", json!({})),
        ("search_audit", json!({"query": "heron"})),
        ("get_llm_request", json!({})),
        ("list_workspace_files", json!({})),
        ("read_workspace_file", json!({"path": "plan.md"})),
        ("search_workspace", json!({"text": "crawler"})),
        ("vector_search", json!({"query": "crawler", "by": "words"})),
        ("git_log", json!({})),
        ("git_diff", json!({})),
        ("git_show", json!({})),
    ] {
        let mut arguments = arguments;
        arguments["job"] = json!(id);
        for (token, sees) in [(&owner, true), (&viewer, true), (&other, false)] {
            let (failed, text) = call(&served, token, name, &arguments);
            assert_eq!(!failed, sees, "{name}: {text}");
            assert!(sees || text.contains("there is no run"), "{name}: {text}");
        }
    }
    assert_eq!(events(&place, &id), before, "looking changes nothing");
}

fn events(place: &Place, id: &str) -> usize {
    place.run(&["log", id, "--json"]).stdout.lines().count()
}

fn call(served: &Served, token: &str, name: &str, arguments: &Value) -> (bool, String) {
    super::job::call(served, token, name, arguments)
}

/// Whoever is inside the attempt of a job needs not name it, and cannot name another.
#[test]
fn inside_an_attempt_the_job_is_its_own() {
    let agent = r#"case $n in
1) printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}}' \
    '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_job","arguments":{}}}' \
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"get_job","arguments":{"job":"20200101-000000-other"}}}' |
    checkrein mcp > "$here/said"
   plan ;;
*) usual ;;
esac"#;
    let job = job(scene(agent), &[], 3);
    let answers: Vec<Value> =
        job.place.read("said").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answer = |id: u64| told(answers.iter().find(|answer| answer["id"] == id).unwrap());
    let (failed, text) = answer(2);
    if failed {
        // Where the store is out of an agent's reach, so is this.
        assert!(text.contains("there is no tool"), "{text}");
        return;
    }
    assert!(text.contains(&job.id), "{text}");
    let (failed, text) = answer(3);
    assert!(failed && text.contains("it is yours"), "{text}");
}
