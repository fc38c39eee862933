//! The same commands on a server: what they print and how they end is what a store of one's own gives.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::job;
use crate::place::{Place, Ran};
use crate::review::at_a_terminal;
use crate::run::{expect, until};
use crate::sandbox::refused::{Answer, without};
use crate::serve::Served;
use crate::terminal::Terminal;

const FLOW: &str = r#"id: two-phases
autonomy: {check_in_frequency: per-phase, warning_tolerance: high, ask: always}
phases:
  build:
    steps:
      - {id: one, run: 'echo hello; echo oh >&2', env: {PASSWORD: sesame}}
      - {id: two, run: 'echo {\"warnings\":[\"old\"]} > "$CHECKREIN_RESPONSE"'}
  test:
    steps: [{id: three, run: 'true'}]
"#;

/// A place with a server, and who asks it.
struct There {
    place: Place,
    served: Served,
    admin: String,
    agent: String,
}

impl There {
    fn new(place: Place) -> There {
        let admin = place.token("admin", "ann");
        let agent = place.run_as(&admin, &["token", "create", "--role", "agent", "--name", "bot"]);
        expect(&agent, 0);
        let agent = agent.stdout.trim().to_owned();
        let served = Served::start(&place, &[]);
        There { place, served, admin, agent }
    }

    fn ask_as(&self, token: &str, arguments: &[&str]) -> Ran {
        let url = format!("http://{}", self.served.address());
        self.place.run_env(&[("CHECKREIN_SERVER", &url), ("CHECKREIN_TOKEN", token)], arguments)
    }

    fn ask(&self, arguments: &[&str]) -> Ran {
        self.ask_as(&self.admin, arguments)
    }

    /// The same from the server and from its store.
    fn same(&self, arguments: &[&str]) -> Ran {
        let there = self.ask(arguments);
        let here = self.place.run_as(&self.admin, arguments);
        assert_eq!(there.code, here.code, "{arguments:?}: {} {}", there.seen(), here.seen());
        // Only where it is cloned from differs, and how long it has been held.
        let changing = ["git clone", "Duration:", "Waited for people:"];
        let differs = |line: &&str| changing.iter().any(|words| line.contains(words));
        let lines = |text: &str| -> Vec<String> {
            text.lines().filter(|line| !differs(line)).map(str::to_owned).collect()
        };
        assert_eq!(lines(&there.stdout), lines(&here.stdout), "{arguments:?}");
        there
    }
}

#[test]
fn a_checkpoint_is_asked_for_shown_and_decided() {
    let there = There::new(Place::new());
    let create = ["checkpoint", "create", "--worker", "writer", "--deliverable", "draft", "--id", "c1"];
    let made = there.ask_as(&there.agent, &create);
    expect(&made, 3);
    assert_eq!(made.stdout, "pending c1\n");
    for arguments in [
        &["inbox"][..],
        &["inbox", "--json"],
        &["checkpoint", "list"],
        &["checkpoint", "list", "--status", "pending", "--worker", "writer", "--json"],
        &["checkpoint", "list", "--worker", "nobody"],
        &["checkpoint", "show", "c1"],
        &["checkpoint", "show", "c1", "--json"],
        &["checkpoint", "show", "c2"],
        &["checkpoint", "wait", "c1", "--timeout", "0s"],
        &["token", "list"],
        &["expert", "list"],
    ] {
        there.same(arguments);
    }
    let own = there.ask_as(&there.agent, &["approve", "c1"]);
    expect(&own, 1);
    assert!(own.stderr.contains("may not give a verdict"), "{}", own.seen());
    let stale = there.ask(&["approve", "c1", "--digest", &"0".repeat(64)]);
    expect(&stale, 6);
    let why = ["request-changes", "c1", "-m", "shorter"];
    expect(&there.ask(&why), 0);
    expect(&there.ask(&why), 0);
    expect(&there.ask(&["approve", "c1"]), 6);
    let waited = there.same(&["checkpoint", "wait", "c1"]);
    assert_eq!((waited.code, waited.stdout.as_str()), (5, "changes_requested c1: shorter\n"));
}

#[test]
fn bytes_and_json_come_back_as_they_were() {
    let there = There::new(Place::new());
    std::fs::write(there.place.path().join("bytes"), [0, 159, 146, 150]).unwrap();
    for (id, what) in
        [("b", ["--file", "bytes"]), ("j", ["--deliverable", "{\"a\": 1}"]), ("t", ["--deliverable", "a\nb"])]
    {
        let made = there.ask(&[&["checkpoint", "create", "--worker", "w", "--id", id][..], &what].concat());
        expect(&made, 3);
        there.same(&["checkpoint", "show", id]);
        there.same(&["checkpoint", "show", id, "--json"]);
    }
}

#[test]
fn a_run_is_started_watched_and_gone_on_with() {
    let there = There::new(Place::new().file("flow.yaml", FLOW));
    let held = there.ask(&["run", "flow.yaml"]);
    expect(&held, 3);
    assert!(held.stderr.contains("ok      build:one"), "{}", held.seen());
    assert!(held.stdout.contains("1 warning"), "{}", held.seen());
    let run = there.ask(&["runs", "--json"]).json()["items"][0]["run_id"].as_str().unwrap().to_owned();
    for arguments in [
        &["runs"][..],
        &["runs", "--json"],
        &["show", &run],
        &["log", &run],
        &["log", &run, "--json"],
        &["log", &run, "--step", "build:one"],
        &["report", &run],
        &["report", &run, "--format", "detailed"],
        &["report", &run, "--as", "markdown"],
        &["report", "--since", "1d"],
        &["show", "nosuchrun"],
    ] {
        there.same(arguments);
    }
    let shown = there.ask(&["show", &run, "--json"]);
    assert!(!shown.stdout.contains("sesame"), "{}", shown.seen());
    expect(&there.ask(&["resume", &run]), 3);
    expect(&there.ask(&["approve", &format!("{run}.1")]), 0);
    let next = format!("{run}.2");
    until(|| (there.ask(&["show", &run, "--json"]).json()["checkpoint"] == *next).then_some(()));
    expect(&there.ask(&["resume", &run, "--yes"]), 0);
    let again = there.ask(&["rerun", &run, "--yes"]);
    expect(&again, 0);
    assert!(again.stderr.contains("approved by ann"), "{}", again.seen());
    let events = there.ask(&["rerun", &run, "--yes", "--json"]);
    expect(&events, 0);
    let last: Value = serde_json::from_str(events.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "run_ended", "{}", events.seen());
}

#[test]
fn a_workflow_that_is_wrong_starts_nothing() {
    let there = There::new(Place::new().file("bad.yaml", "id: x\nphases: 3\n"));
    let refused = there.ask(&["run", "bad.yaml"]);
    expect(&refused, 2);
    let sent = there.ask_as(&there.agent, &["run", "bad.yaml"]);
    expect(&sent, 1);
    assert!(there.ask(&["runs"]).stdout.contains("There is no such run"));
}

#[test]
fn where_there_is_no_sandbox_a_job_is_refused_unless_the_server_does_without() {
    let start = |place: Place| without(libc::SYS_unshare, Answer::Forbidden, move || There::new(place));
    let give = |there: &There| {
        let agent = job::agent_of(&there.place);
        there.ask(&["job", "Write a letter", "--agent", &agent, "--autonomy", "guided"])
    };
    let there = start(job::scene("usual"));
    let refused = give(&there);
    expect(&refused, 2);
    for said in [
        "jobs over HTTP run in the sandbox, and it cannot be used here: the system allows no",
        "`sandbox: off`",
    ] {
        assert!(refused.stderr.contains(said), "{}", refused.seen());
    }
    assert_eq!(there.ask(&["runs", "--json"]).json()["items"], serde_json::json!([]));
    let off = job::scene("usual").file("home/.config/checkrein/checkrein.yaml", "sandbox: off\n");
    expect(&give(&start(off)), 3);
}

#[test]
fn a_job_is_given_reviewed_and_let_further() {
    let there = There::new(job::scene("usual").file("notes.txt", "read me\n"));
    let agent = job::agent_of(&there.place);
    let held = there.ask(&[
        "job",
        "Write a letter",
        "--agent",
        &agent,
        "--doc",
        "notes.txt",
        "--autonomy",
        "guided",
    ]);
    expect(&held, 3);
    let runs = there.ask(&["runs", "--json"]).json();
    let run = runs["items"][0]["run_id"].as_str().unwrap().to_owned();
    let review = format!("{run}.1");
    // What is said to be done next is what a server takes.
    let next = format!("`checkrein approve {review} --digest DIGEST`");
    assert!(held.stderr.contains(&next) && !held.stderr.contains("checkrein resume"), "{}", held.seen());
    there.same(&["review", &review, "--plain"]);
    there.same(&["review", &review, "--stat"]);
    let level = there.ask(&["level", &run, "review"]);
    assert_eq!(level.stdout, format!("{run} review\n"), "{}", level.seen());
    expect(&there.ask(&["approve", &review]), 6);
    expect(
        &there.ask(&["review", &review, "--comment", "plan.md:1=shorter", "--mark", "plan.md=approved"]),
        0,
    );
    let read = there.ask(&["review", &review, "--json"]).json();
    assert_eq!(read["comments"][0]["text"], "shorter");
    let head = read["head"].as_str().unwrap();
    expect(&there.ask(&["approve", &review, "--digest", head]), 0);
    until(|| (there.ask(&["show", &run, "--json"]).json()["status"] == "pending_review").then_some(()));
    let waits = there.ask(&["show", &run, "--json"]).json()["checkpoint"].as_str().unwrap().to_owned();
    assert_ne!(waits, review, "at the level `review` the end is the next hold");
    let head = there.ask(&["review", &waits, "--json"]).json()["head"].as_str().unwrap().to_owned();
    expect(&there.ask(&["approve", &waits, "--digest", &head]), 0);
    until(|| (there.ask(&["show", &run, "--json"]).json()["status"] == "completed").then_some(()));
    there.same(&["report", &run]);
}

impl There {
    /// A person at a terminal who asks the server.
    fn at_a_terminal(&self, token: &str, arguments: &[&str]) -> Terminal {
        let mut command = at_a_terminal(&self.place, arguments);
        command
            .env("CHECKREIN_SERVER", format!("http://{}", self.served.address()))
            .env("CHECKREIN_TOKEN", token);
        Terminal::sized(command, 100, 30)
    }

    fn screen(&self, id: &str) -> Terminal {
        let mut terminal = self.at_a_terminal(&self.admin, &["review", id]);
        terminal.shows("Overview").shows("q leave");
        terminal
    }

    /// A job that waits for its review.
    fn job(&self) -> String {
        let agent = job::agent_of(&self.place);
        expect(&self.ask(&["job", "Write a letter", "--agent", &agent]), 3);
        let runs = self.ask(&["runs", "--json"]).json();
        runs["items"][0]["run_id"].as_str().unwrap().to_owned()
    }

    /// Waits until a job is held at another checkpoint than that.
    fn waits_after(&self, run: &str, before: &str) -> String {
        until(|| {
            let now = self.ask(&["show", run, "--json"]).json();
            now["checkpoint"].as_str().filter(|now| *now != before).map(str::to_owned)
        })
    }
}

#[test]
fn a_review_is_done_on_the_screen() {
    let there = There::new(job::scene("usual"));
    let run = there.job();
    let review = format!("{run}.1");
    let mut terminal = there.screen(&review);
    terminal.press("n").shows("plan.md  added").press("\tjjc").shows("Comment on plan.md:1");
    terminal.press("shorter\u{13}").shows("comment c1 is kept");
    terminal.press("m").shows("plan.md: approved").press("m").shows("plan.md: changes requested");
    terminal.press("r").shows("What should change?").press("see there\u{13}").shows("digest").press("y");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains(&format!("changes_requested {review}")), "{seen}");
    assert!(!seen.contains("checkrein resume"), "a server goes on by itself: {seen}");
    let review = there.waits_after(&run, &review);
    let mut terminal = there.screen(&run);
    terminal.press("d").shows("since last round").press("n").shows("plan.md  modified +1 -1");
    terminal.press("a").shows("commit ").press("y");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains(&format!("approved {review}")), "{seen}");
    let decided = there.ask(&["checkpoint", "show", &review, "--json"]).json();
    assert_eq!(decided["resolved_by"], "ann");
}

#[test]
fn who_is_not_first_on_the_screen_is_told() {
    let there = There::new(job::scene("usual"));
    let run = there.job();
    let review = format!("{run}.1");
    let mut terminal = there.screen(&review);
    let clone = there.place.path().join("mine");
    let to = clone.to_str().unwrap().to_owned();
    let from = crate::run::data(&there.place, &format!("jobs/{run}/repository.git"));
    job::git(
        there.place.path(),
        &["clone", "--quiet", "--branch", "phase-1-strategic", from.to_str().unwrap(), &to],
    );
    let commit = job::push(&clone, "plan.md", "another plan\n");
    terminal.press("a").shows("digest").press("y").shows("Somebody pushed while you were looking");
    terminal.press(" ").press("n").shows("+another plan");
    expect(&there.ask(&["reject", &review, "-m", "no", "--digest", &commit]), 0);
    terminal.press("a").shows("digest").press("y").shows("Somebody was faster").shows("rejected by ann");
    terminal.press(" ").press("c").shows("this review is rejected").press("q");
    assert_eq!(terminal.end().1, 0);
}

#[test]
fn a_person_who_gives_a_job_is_asked() {
    let there = There::new(job::scene("usual"));
    let agent = job::agent_of(&there.place);
    let mut terminal = there.at_a_terminal(&there.admin, &["job", "Write a letter", "--agent", &agent]);
    terminal.until("phase-1-strategic waits for review. Approve it?").until("> ").press("review\n");
    terminal.shows("Overview").shows("q leave").press("cfine\u{13}").shows("comment c1 is kept").press("q");
    terminal.until("5) Leave it").until("> ").press("3\n").until("What should change? ").press("shorter\n");
    terminal.until("round 2").until("5) Leave it").until("> ").press("2\n");
    terminal.until("The job is complete. Approve its result?").until("> ").press("2\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert_eq!(there.ask(&["runs", "--json"]).json()["items"][0]["status"], "completed");
}

#[test]
fn a_person_who_starts_a_run_is_asked() {
    let there = There::new(Place::new().file("flow.yaml", FLOW));
    let mut terminal = there.at_a_terminal(&there.admin, &["run", "flow.yaml"]);
    terminal.until("since the last check-in: 1 warning").until("2) Review issues").until("> ");
    terminal.press("2\n").until("two").until("> ").press("1\n");
    terminal.until("1) Continue").until("> ").press("stop\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 5, "{seen}");
    let mut terminal = there.at_a_terminal(&there.admin, &["run", "flow.yaml"]);
    terminal.until("1) Continue").until("> ").press("\u{3}");
    let (seen, code) = terminal.end();
    assert_eq!(code, 3, "whoever leaves has not answered: {seen}");
}

/// An address that stays while servers come and go: nobody else can take it meanwhile.
struct Door {
    address: String,
    server: Arc<Mutex<String>>,
    /// Whether somebody who waits has come through.
    waits: Arc<AtomicBool>,
}

impl Door {
    fn before(server: &str) -> Door {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let door = Door {
            address: listener.local_addr().unwrap().to_string(),
            server: Arc::new(Mutex::new(server.to_owned())),
            waits: Arc::default(),
        };
        let (server, waits) = (Arc::clone(&door.server), Arc::clone(&door.waits));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                // Where there is no server now, whoever came is sent away.
                let Ok(server) = TcpStream::connect(server.lock().unwrap().as_str()) else { continue };
                let waits = Arc::clone(&waits);
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let seen = move |piece: &[u8]| {
                    if piece.windows(6).any(|window| window == b"/wait?") {
                        waits.store(true, Ordering::SeqCst);
                    }
                };
                std::thread::spawn(move || pass(from, to, seen));
                // Answers go the other way.
                std::thread::spawn(move || pass(server, client, |_| ()));
            }
        });
        door
    }
}

/// Passes on what comes, until one side is gone; then neither side is kept.
fn pass(mut from: TcpStream, mut to: TcpStream, seen: impl Fn(&[u8])) {
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
        seen(&buffer[..read]);
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

#[test]
fn who_waits_outlives_the_server() {
    let there = There::new(Place::new());
    expect(&there.ask(&["checkpoint", "create", "--worker", "w", "--deliverable", "x", "--id", "c1"]), 3);
    let door = Door::before(there.served.address());
    let There { place, served, admin, .. } = there;
    let place =
        place.env("CHECKREIN_SERVER", &format!("http://{}", door.address)).env("CHECKREIN_TOKEN", &admin);
    let mut waiter = crate::run::background(&place, &["checkpoint", "wait", "c1"]);
    until(|| door.waits.load(Ordering::SeqCst).then_some(()));
    served.kill();
    let served = Served::start(&place, &[]);
    *door.server.lock().unwrap() = served.address().to_owned();
    expect(&place.run(&["approve", "c1"]), 0);
    let ended = waiter.end();
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "approved c1\n"), "{}", ended.seen());
    drop(served);
}

#[test]
fn webhooks_of_a_server() {
    let there = There::new(Place::new());
    let add =
        ["webhook", "add", "http://127.0.0.1:9/x", "--allow-private", "--name", "ops", "--on", "run.failed"];
    let added = there.ask(&[&add[..], &["--json"]].concat());
    expect(&added, 0);
    let webhook = added.json();
    let (id, secret) = (webhook["id"].as_str().unwrap(), webhook["secret"].as_str().unwrap());
    assert_eq!(webhook["types"], serde_json::json!(["run.failed"]));
    // The address answers nobody; that is told, and ends like the same here.
    expect(&there.ask(&["webhook", "test", id]), 1);
    for arguments in [
        &["webhook", "list"][..],
        &["webhook", "list", "--json"],
        &["webhook", "show", id],
        &["webhook", "show", id, "--json"],
        &["webhook", "show", "none"],
        &["webhook", "deliveries", id],
        &["webhook", "deliveries", id, "--status", "delivered", "--json"],
    ] {
        there.same(arguments);
    }
    let sent = there.ask(&["webhook", "deliveries", id, "--json"]).json();
    expect(&there.ask(&["webhook", "retry", id, sent[0]["id"].as_str().unwrap()]), 0);
    let rotated = there.ask(&["webhook", "rotate", id, "--overlap", "1h"]);
    expect(&rotated, 0);
    assert!(rotated.stdout.starts_with("whsec_") && rotated.stdout.trim() != secret, "{}", rotated.seen());
    expect(&there.ask(&["webhook", "enable", id]), 0);
    expect(&there.ask_as(&there.agent, &["webhook", "list"]), 1);
    expect(&there.ask(&["webhook", "remove", id]), 0);
    assert_eq!(there.same(&["webhook", "list"]).stdout, "There are no webhooks.\n");
}

#[test]
fn a_token_of_one_worker() {
    let there = There::new(Place::new());
    for made in [
        there.ask(&["token", "create", "--role", "agent", "--name", "one", "--worker", "writer"]),
        there.place.run_as(
            &there.admin,
            &["token", "create", "--role", "agent", "--name", "two", "--worker", "writer"],
        ),
    ] {
        expect(&made, 0);
        let token = made.stdout.trim();
        expect(
            &there.ask_as(token, &["checkpoint", "create", "--worker", "writer", "--deliverable", "x"]),
            3,
        );
        let other = there.ask_as(token, &["checkpoint", "create", "--worker", "other", "--deliverable", "x"]);
        expect(&other, 1);
        assert!(other.stderr.contains("speaks for worker `writer`"), "{}", other.seen());
    }
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    let place = Place::new();
    let gone = place.run(&["inbox", "--server", "http://127.0.0.1:1"]);
    expect(&gone, 1);
    assert!(
        gone.stderr.contains("cannot be asked") && gone.stderr.contains("checkrein serve"),
        "{}",
        gone.seen()
    );
    for (url, why) in [
        ("nonsense", "is no address"),
        ("ftp://example.org", "http:// or https://"),
        ("http://ann:secret@example.org", "credentials"),
    ] {
        let ran = place.run(&["inbox", "--server", url]);
        expect(&ran, 2);
        assert!(ran.stderr.contains(why), "{}", ran.seen());
    }
    expect(&place.run(&["inbox", "--server", "http://127.0.0.1:1", "--store", "s.db"]), 2);
    let there = There::new(place);
    let nobody = there.ask_as("cr_nonsense", &["inbox"]);
    expect(&nobody, 1);
    assert!(nobody.stderr.contains("CHECKREIN_TOKEN"), "{}", nobody.seen());
    let named = there.place.run_env(
        &[("CHECKREIN_SERVER", "http://127.0.0.1:1"), ("CHECKREIN_TOKEN", &there.admin)],
        &["inbox", "--store", "other.db"],
    );
    assert_eq!(named.code, 1, "another store knows no such token: {}", named.seen());
}

#[test]
fn no_verdict_is_given_from_inside_an_attempt() {
    let there = There::new(Place::new());
    expect(&there.ask(&["checkpoint", "create", "--worker", "w", "--deliverable", "x", "--id", "c1"]), 3);
    let url = format!("http://{}", there.served.address());
    let inside =
        [("CHECKREIN_SERVER", url.as_str()), ("CHECKREIN_TOKEN", &there.admin), ("CHECKREIN_ATTEMPT", "a1")];
    for arguments in [&["approve", "c1"][..], &["checkpoint", "withdraw", "c1"]] {
        let refused = there.place.run_env(&inside, arguments);
        expect(&refused, 1);
        assert!(refused.stderr.contains("inside an agent's attempt"), "{}", refused.seen());
    }
    assert!(there.ask(&["checkpoint", "show", "c1"]).stdout.contains("pending"));
}
