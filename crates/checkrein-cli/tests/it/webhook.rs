//! Webhooks as people name them, and as processes that die tell them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::place::{BINARY, Place};

/// What was received: its id and its body.
type Got = (String, String);

/// Somebody who is told. One whose answer is empty says nothing, and keeps the connection.
fn receiver(answers: &'static [&'static str]) -> (String, Receiver<Got>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/secret-path", listener.local_addr().unwrap());
    let (tell, got) = channel();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for (number, stream) in listener.incoming().enumerate() {
            let mut reader = BufReader::new(stream.unwrap());
            let (mut id, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                let line = line.trim_end().to_ascii_lowercase();
                match line.split_once(": ") {
                    Some(("webhook-id", value)) => id = value.to_owned(),
                    Some(("content-length", value)) => length = value.parse().unwrap(),
                    None if line.is_empty() => break,
                    _ => {}
                }
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = answers.get(number).or(answers.last()).unwrap();
            if !answer.is_empty() {
                let text = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                reader.get_mut().write_all(text.as_bytes()).unwrap();
            }
            kept.push(reader);
            if tell.send((id, String::from_utf8(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (url, got)
}

fn place() -> Place {
    Place::new().env("CHECKREIN_STORE", "store.db")
}

/// A webhook at an address of this machine, as it was answered.
fn add(place: &Place, url: &str) -> Value {
    let added = place.run(&["webhook", "add", url, "--allow-private", "--name", "ops", "--json"]);
    assert_eq!(added.code, 0, "{}", added.seen());
    added.json()
}

fn id(webhook: &Value) -> &str {
    webhook["id"].as_str().unwrap()
}

fn ask(place: &Place, id: &str) {
    let asked =
        place.run(&["checkpoint", "create", "--worker", "writer", "--id", id, "--deliverable", "Dear Ann"]);
    assert_eq!(asked.code, 3, "{}", asked.seen());
}

fn deliveries(place: &Place, webhook: &Value) -> Value {
    place.run(&["webhook", "deliveries", id(webhook), "--json"]).json()
}

#[test]
fn a_webhook_is_added_told_and_removed() {
    let place = place();
    let (url, got) = receiver(&["200 OK"]);
    let added = place.run(&["webhook", "add", &url, "--allow-private"]);
    assert!(added.stdout.starts_with("whsec_"), "{}", added.seen());
    assert!(added.stderr.contains("is shown once"), "{}", added.seen());
    let webhook = place.run(&["webhook", "list", "--json"]).json()[0].clone();
    let tested = place.run(&["webhook", "test", id(&webhook)]);
    assert_eq!((tested.code, tested.stdout.as_str()), (0, "arrived: answered 200\n"), "{}", tested.seen());
    assert!(got.recv().unwrap().1.contains("webhook.test"));
    ask(&place, "c1");
    let worked = place.run_env(&[("CHECKREIN_PUBLIC_URL", "https://rein.example/")], &["worker", "--once"]);
    assert_eq!(worked.code, 0, "{}", worked.seen());
    let told: Value = serde_json::from_str(&got.recv().unwrap().1).unwrap();
    assert_eq!(told["data"]["url"], "https://rein.example/checkpoints/c1");
    assert_eq!(told["data"]["excerpt"], "Dear Ann");
    let sent = deliveries(&place, &webhook);
    assert_eq!((&sent[0]["subject"], &sent[0]["status"]), (&json!("c1"), &json!("delivered")));
    assert_eq!(place.run(&["webhook", "retry", id(&webhook), sent[0]["id"].as_str().unwrap()]).code, 0);
    assert_eq!(place.run(&["worker", "--once"]).code, 0);
    assert_eq!(got.recv().unwrap().0, sent[0]["id"].as_str().unwrap());
    assert_eq!(place.run(&["webhook", "remove", id(&webhook)]).code, 0);
    assert_snapshot!(place.run(&["webhook", "list"]).seen(), @r"
    -- stdout
    There are no webhooks.
    -- exit 0
    ");
    assert_eq!(place.run(&["webhook", "show", id(&webhook)]).code, 6);
}

#[test]
fn how_runs_end_is_told_to_whoever_asked() {
    let flow = |command: &str| {
        format!("id: ship\nphases: {{ build: {{ steps: [ {{ id: a, run: {command} }} ] }} }}\n")
    };
    let place = place().file("good.yaml", &flow("'true'")).file("bad.yaml", &flow("'false'"));
    let (url, got) = receiver(&["200 OK"]);
    let types = ["--on", "run.completed", "--on", "run.stopped", "--on", "run.failed"];
    let added = place.run(&[&["webhook", "add", &url, "--allow-private"], &types[..]].concat());
    assert_eq!(added.code, 0, "{}", added.seen());
    for (file, kind, title) in
        [("good.yaml", "run.completed", "ship is completed"), ("bad.yaml", "run.stopped", "ship was stopped")]
    {
        place.run(&["run", file]);
        assert_eq!(place.run(&["worker", "--once"]).code, 0);
        let told: Value = serde_json::from_str(&got.recv().unwrap().1).unwrap();
        assert_eq!((&told["type"], &told["data"]["title"]), (&json!(kind), &json!(title)), "{told}");
        let run = told["data"]["run"]["id"].as_str().unwrap();
        assert_eq!(told["data"]["command"], format!("checkrein show {run}"));
        assert_eq!(place.run(&["show", run]).code, 0);
    }
}

/// What is sent before the sender dies is sent again as the same.
#[test]
fn a_killed_worker_repeats_what_it_sent_under_the_same_id() {
    let place = place();
    let (url, got) = receiver(&["", "200 OK"]);
    let webhook = add(&place, &url);
    ask(&place, "c1");
    let mut worker = background(&place, &["worker"]);
    let first = got.recv().unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    // It is not known yet that its sender is dead.
    assert_eq!(place.run(&["worker", "--once"]).code, 0);
    assert_eq!(deliveries(&place, &webhook)[0]["status"], "waiting");
    assert!(got.try_recv().is_err());
    // Its time is over.
    let store = rusqlite::Connection::open(place.path().join("store.db")).unwrap();
    assert_eq!(store.execute("UPDATE deliveries SET next_ms = 0", []).unwrap(), 1);
    assert_eq!(place.run(&["worker", "--once"]).code, 0);
    assert_eq!(got.recv().unwrap(), first);
    let sent = deliveries(&place, &webhook);
    assert_eq!((&sent[0]["status"], &sent[0]["attempts"]), (&json!("delivered"), &json!(2)), "{sent}");
}

#[test]
fn a_signal_ends_a_worker_with_what_it_is_sending() {
    let place = place();
    let (url, got) = receiver(&["200 OK"]);
    let webhook = add(&place, &url);
    let worker = background(&place, &["worker"]);
    ask(&place, "c1");
    got.recv().unwrap();
    let pid = rustix::process::Pid::from_child(&worker);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let ended = worker.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(deliveries(&place, &webhook)[0]["status"], "delivered");
}

#[test]
fn one_that_wants_nothing_any_more_is_said_by_list_and_doctor() {
    let place = place();
    let (url, _got) = receiver(&["410 Gone"]);
    let webhook = add(&place, &url);
    let doctor = |place: &Place| {
        let answer = place.run(&["doctor", "--json"]).json();
        let checks = answer["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["check"] == "webhooks").unwrap()
    };
    assert_eq!(doctor(&place)["state"], "good");
    let failed = place.run(&["webhook", "test", id(&webhook)]);
    assert_eq!(
        (failed.code, failed.stdout.as_str()),
        (1, "did not arrive: answered 410\n"),
        "{}",
        failed.seen()
    );
    let listed = place.run(&["webhook", "list"]).stdout;
    assert!(listed.contains("ops") && listed.contains("disabled") && listed.contains("1 dead"), "{listed}");
    let found = doctor(&place);
    assert_eq!(found["state"], "warning");
    assert!(found["remedy"].as_str().unwrap().contains("webhook enable"), "{found}");
    let shown = place.run(&["webhook", "show", id(&webhook)]).stdout;
    assert!(shown.contains("it wants nothing any more"), "{shown}");
    assert_eq!(place.run(&["webhook", "enable", id(&webhook)]).code, 0);
    assert_eq!(doctor(&place)["state"], "good");
}

#[test]
fn secrets_are_shown_once_and_nowhere_else() {
    let place = place();
    let (url, _got) = receiver(&["500 Oops"]);
    let webhook = add(&place, &url);
    let second = place.run(&["webhook", "rotate", id(&webhook)]);
    assert!(
        second.stdout.starts_with("whsec_") && second.stderr.contains("signs as well until"),
        "{}",
        second.seen()
    );
    ask(&place, "c1");
    let worked = place.run(&["worker", "--once"]);
    let secrets = [webhook["secret"].as_str().unwrap(), second.stdout.trim(), "secret-path"];
    let mut seen = worked.seen();
    for arguments in [
        &["webhook", "list"][..],
        &["webhook", "list", "--json"],
        &["webhook", "show", id(&webhook)],
        &["webhook", "show", id(&webhook), "--json"],
        &["webhook", "deliveries", id(&webhook)],
        &["webhook", "deliveries", id(&webhook), "--json"],
        &["webhook", "test", id(&webhook)],
        &["store", "export"],
        &["store", "stats"],
        &["doctor"],
        &["webhook", "remove", id(&webhook), "--json"],
    ] {
        seen.push_str(&place.run(arguments).seen());
    }
    for secret in secrets {
        assert!(!seen.contains(secret), "{secret} in {seen}");
    }
}

#[test]
fn mistakes_are_named() {
    let place = place();
    assert_snapshot!(place.run(&["webhook", "add", "http://10.0.0.1/secret-path"]).seen(), @r"
    -- stderr
    error: the webhook cannot be used: it takes `https://`, unless it is in a private network or on this machine
      hint: say `--allow-private` if it is meant to be there
    -- exit 2
    ");
    assert_snapshot!(place.run(&["webhook", "show", "none"]).seen(), @r"
    -- stderr
    error: there is no webhook `none`
      hint: `checkrein webhook list` shows all there are
    -- exit 6
    ");
    for (arguments, expected) in [
        (&["https://example.com/", "--on", "checkpoint.guessed"][..], "checkpoint.created, checkpoint.moved"),
        (&["https://example.com/", "--kind", "pigeon"], "webhook, slack or smtp"),
        (&["https://127.0.0.1/"], "private network or on this machine"),
        (&["https://169.254.169.254/", "--allow-private"], "nothing is sent to"),
        (&["smtp://mail.example.com/?to=a@b.c"], "?from=ADDRESS"),
    ] {
        let ran = place.run(&[&["webhook", "add"], arguments].concat());
        assert!(ran.code == 2 && ran.stderr.contains(expected), "{arguments:?}: {}", ran.seen());
    }
    let slack = place
        .run_with(&["webhook", "add", "-", "--json"], "https://hooks.slack.com/services/secret\n")
        .json();
    assert_eq!((&slack["kind"], &slack["secret"]), (&json!("slack"), &Value::Null));
    let inside =
        place.run_env(&[("CHECKREIN_BRIEF", "brief.md")], &["webhook", "add", "https://example.com/"]);
    assert!(inside.code == 1 && inside.stderr.contains("that takes the role admin"), "{}", inside.seen());
    let unset = place.run_env(&[("CHECKREIN_PUBLIC_URL", "")], &["worker", "--once"]);
    assert_eq!(unset.code, 0, "{}", unset.seen());
    let served = place.run(&["serve", "--public-url", "ftp://x"]);
    assert!(served.code == 2 && served.stderr.contains("https://checkrein.example.com"), "{}", served.seen());
}

fn background(place: &Place, arguments: &[&str]) -> Child {
    let mut command = place.command(BINARY);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}
