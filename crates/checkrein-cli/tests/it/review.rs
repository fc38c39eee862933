//! A job's phase is reviewed: as text, as data, and on a screen by a person with a keyboard.

use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::place::{BINARY, Place, Ran};
use crate::terminal::Terminal;

/// Plans, changes its plan where it is asked to, works, and is done.
const AGENT: &str = r#"#!/bin/sh
cat > "brief-$CHECKREIN_PHASE_NUMBER-$CHECKREIN_ROUND" && mv brief-* "$HOME/.."
case $CHECKREIN_PHASE_KIND-$CHECKREIN_PHASE_NUMBER in
strategic-1)
  [ -n "$(cat "$HOME/../lazy" 2>/dev/null)" ] && [ "$CHECKREIN_ROUND" -gt 1 ] ||
    printf '# Plan\n\nWrite a letter to all of them (%s).\n\nBe kind.\n' "$CHECKREIN_ROUND" > plan.md
  replies='[]'
  [ "$CHECKREIN_ROUND" -gt 1 ] && replies='[{"id":"c1","text":"it is shorter now"}]'
  echo "{\"summary\":\"planned \\u001b]0;it\\u0007\",\"next_todos\":[\"write letter.md\"],\"comment_replies\":$replies}" ;;
tactical-*) printf 'Dear reader,\nhello\n' > letter.md; echo '{"summary":"wrote the letter"}' ;;
*) echo '{"outcome":"job_complete","summary":"all done"}' ;;
esac > "$CHECKREIN_RESULT"
"#;

fn scene() -> Place {
    Place::new().file("agent.sh", AGENT).env("USER", "carla")
}

fn agent(place: &Place) -> String {
    format!("sh {}/agent.sh", place.path().display())
}

fn job(place: &Place, more: &[&str]) -> String {
    let agent = agent(place);
    let ran = place.run(&[&["job", "Write a letter", "--agent", &agent], more].concat());
    assert_eq!(ran.code, 3, "{}", ran.seen());
    only_job(place)
}

fn only_job(place: &Place) -> String {
    let runs = place.run(&["runs", "--json"]).json();
    runs["items"][0]["run_id"].as_str().unwrap().to_owned()
}

pub fn at_a_terminal(place: &Place, arguments: &[&str]) -> Command {
    // The terminal is its own, so that Ctrl-C and its size reach it.
    let mut command = place.command("setsid");
    command
        .args(["--ctty", BINARY])
        .args(arguments)
        .env("NO_COLOR", "1")
        .env("TERM", "xterm")
        .env("PAGER", "cat");
    command
}

fn screen(place: &Place, id: &str) -> Terminal {
    let mut terminal = Terminal::sized(at_a_terminal(place, &["review", id]), 100, 30);
    terminal.shows("Overview").shows("q leave");
    terminal
}

fn waits_at(place: &Place, id: &str) -> String {
    let run = place.run(&["show", id, "--json"]).json();
    run["checkpoint"].as_str().unwrap_or_else(|| panic!("{id} waits for nobody: {run}")).to_owned()
}

fn repository(place: &Place, id: &str) -> String {
    place.run(&["review", id, "--json"]).json()["repository"].as_str().unwrap().to_owned()
}

fn sh(place: &Place, line: &str) {
    let ran = place.shell(line);
    assert_eq!(ran.code, 0, "{}", ran.seen());
}

/// Somebody changes a file of the branch under review.
fn push(place: &Place, id: &str, text: &str) {
    let (from, branch) = (repository(place, id), "phase-1-strategic");
    sh(
        place,
        &format!(
            "git clone -q -b {branch} {from} mine && cd mine && echo '{text}' >> plan.md && \
             git -c user.name=Bob -c user.email=bob@example.invalid commit -qam 'add {text}' && git push -q"
        ),
    );
}

/// What differs from one time to the next, by one word of the same kind.
fn calm(place: &Place, text: &str) -> String {
    let text = text.replace(&place.path().display().to_string(), "HERE");
    let text = text.replace(&place.path().canonicalize().unwrap().display().to_string(), "HERE");
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | ':') {
            word.push(c);
            continue;
        }
        let hex = word.len() >= 8 && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let digits = |part: &str| part.bytes().filter(u8::is_ascii_digit).count();
        out.push_str(match word.len() {
            64 if hex => "DIGEST",
            40 if hex => "COMMIT",
            8 if hex => "SHORT",
            21 if digits(&word) >= 14 && word.starts_with("20") => "JOB",
            10 if digits(&word) == 8 && word.starts_with("20") => "DAY",
            5 if digits(&word) == 4 && word.contains(':') => "TIME",
            19.. if digits(&word) >= 14 && word.contains('T') => "AT",
            _ => &word,
        });
        word.clear();
        if c != '\0' {
            out.push(c);
        }
    }
    // Fractions of seconds.
    let mut lines: Vec<String> = Vec::new();
    for line in out.lines() {
        lines.push(match line.split_once("\"AT.") {
            Some((before, after)) => format!("{before}\"AT{}", after.trim_start_matches(|c: char| c != '"')),
            None => line.to_owned(),
        });
    }
    lines.join("\n")
}

fn ok(ran: &Ran) -> &Ran {
    assert_eq!(ran.code, 0, "{}", ran.seen());
    ran
}

#[test]
fn a_person_comments_requests_changes_and_approves_on_the_screen() {
    let place = scene();
    let id = job(&place, &[]);
    let mut terminal = screen(&place, &id);
    // The third line of the plan: below the heading of the file, that of the hunk, and two lines.
    terminal.press("n").shows("plan.md  added").press("\tjjjjc").shows("Comment on plan.md:3");
    terminal.press("too long\rfor me\u{13}").shows("comment c1 is kept");
    terminal.press("m").shows("plan.md: approved").press("m").shows("plan.md: changes requested");
    terminal.press("r").shows("What should change?").press("make it shorter\u{13}");
    terminal.shows("Request changes").shows("digest").shows("S start over").press("y");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains(&format!("changes_requested {id}.1")), "{seen}");
    assert!(seen.contains(&format!("`checkrein resume {id}` begins the next round")), "{seen}");
    assert!(seen.contains("\u{1b}[?1049l"), "the screen is given back: {seen:?}");

    assert_eq!(place.run(&["resume", &id]).code, 3);
    let brief = place.read("brief-1-2");
    for told in ["make it shorter", "`plan.md:3`", "too long", "for me"] {
        assert!(brief.contains(told), "the agent was not told `{told}`: {brief}");
    }
    let now = place.run(&["review", &id, "--json"]).json();
    assert_eq!(now["round"], 2);
    assert_eq!(now["comments"][1]["from_agent"], true, "{now}");
    assert_eq!(now["comments"][1]["reply_to"], "c1");

    let mut terminal = screen(&place, &id);
    terminal.press("d").shows("since last round").press("n").shows("plan.md  modified +1 -1");
    terminal.shows("it is shorter now");
    terminal.press("a").shows("commit ").shows(now["head"].as_str().unwrap()).press("y");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    let checkpoint = place.run(&["checkpoint", "show", &format!("{id}.1.2"), "--json"]).json();
    assert_eq!((&checkpoint["status"], &checkpoint["resolved_by"]), (&"approved".into(), &"carla".into()));
    // The job goes on to its end, which waits again.
    assert_eq!(place.run(&["resume", &id]).code, 3);
    assert_eq!(place.run(&["review", &id, "--json"]).json()["context"], "job_complete");
}

#[test]
fn an_approval_of_something_else_is_told_and_shown() {
    let place = scene();
    let id = job(&place, &[]);
    let mut terminal = screen(&place, &id);
    push(&place, &id, "and be brave");
    terminal.press("a").shows("digest").press("y").shows("Somebody pushed while you were looking");
    terminal.press(" ").press("n").shows("+and be brave");
    terminal.press("a").shows("digest").press("y");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains(&format!("approved {id}.1")), "{seen}");
}

#[test]
fn the_terminal_is_given_back_however_it_ends() {
    let place = scene();
    let id = job(&place, &[]);
    for how in ["q", "\u{3}", "signal"] {
        let mut terminal = screen(&place, &id);
        match how {
            "signal" => drop(terminal.signal(Signal::TERM)),
            keys => drop(terminal.press(keys)),
        }
        let (seen, code) = terminal.end();
        assert_eq!(code, 0, "{how}: {seen}");
        assert!(seen.contains("\u{1b}[?1049l") && seen.contains("\u{1b}[?25h"), "{how}: {seen:?}");
        // What an agent wrote never commands the terminal.
        assert!(seen.contains("\\u{1b}]0;it\\u{7}") && !seen.contains("\u{1b}]0;"), "{how}: {seen:?}");
    }
    assert_eq!(place.run(&["show", &id, "--json"]).json()["status"], "pending_review");
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let place = scene();
    let id = job(&place, &[]);
    let mut terminal = screen(&place, &id);
    // Only a wider screen has room for all the keys.
    terminal.resize(140, 30).shows("r request changes");
    terminal.resize(80, 24).shows("r changes").press("q");
    assert_eq!(terminal.end().1, 0);
}

#[test]
fn a_person_who_drives_a_job_is_asked_about_its_review() {
    let place = scene();
    let agent = agent(&place);
    let arguments = ["job", "Write a letter", "--agent", &agent];
    let mut terminal = Terminal::sized(at_a_terminal(&place, &arguments), 100, 30);
    terminal.until("digest").until("phase-1-strategic waits for review. Approve it?");
    for option in ["1) Review", "2) Approve", "3) Request changes", "4) Reject", "5) Leave it", "> "] {
        terminal.until(option);
    }
    terminal.press("3\n").until("What should change? ").press("shorter\n");
    terminal.until("round 2").until("5) Leave it").until("> ").press("review\n");
    terminal.shows("Overview").shows("q leave").press("cfine\u{13}").shows("comment c1 is kept").press("q");
    terminal.until("comment c1 is kept").until("5) Leave it").until("> ").press("2\n");
    terminal.until("The job is complete. Approve its result?").until("> ").press("reject\n");
    terminal.until("Why? ").press("not needed any more\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 5, "{seen}");
    assert!(!seen.contains("0/0"), "nobody knows how many phases there will be: {seen}");
    assert_eq!(place.run(&["show", &only_job(&place), "--json"]).json()["status"], "cancelled");
}

#[test]
fn a_person_who_leaves_has_not_answered() {
    let place = scene();
    let agent = agent(&place);
    let arguments = ["job", "Write a letter", "--agent", &agent];
    let mut terminal = Terminal::sized(at_a_terminal(&place, &arguments), 100, 30);
    terminal.until("5) Leave it").until("> ").press("leave\n");
    let (seen, code) = terminal.end();
    let id = only_job(&place);
    assert_eq!(code, 3, "{seen}");
    for how in ["review", "approve", "request-changes", "reject"] {
        assert!(seen.contains(&format!("`checkrein {how} {id}.1")), "{how} is not named: {seen}");
    }
    let inbox = place.run(&["inbox"]);
    assert!(inbox.stdout.contains("checkrein review ID · checkpoint show ID"), "{}", inbox.seen());
}

#[test]
fn a_review_is_text_without_a_terminal() {
    let place = scene();
    let id = job(&place, &[]);
    let shown = place.run(&["review", &id]);
    insta::assert_snapshot!(calm(&place, &ok(&shown).stdout));
    // By the checkpoint, or a part of the job's id, it is the same.
    assert_eq!(place.run(&["review", &format!("{id}.1")]).stdout, shown.stdout);
    assert_eq!(place.run(&["review", id.rsplit('-').next().unwrap()]).stdout, shown.stdout);
    let stat = place.run(&["review", &id, "--stat"]);
    assert_eq!(ok(&stat).stdout.lines().next(), Some("A +5 -0  plan.md"), "{}", stat.seen());
    let one = place.run(&["review", &id, "--file", "plan.md"]);
    assert!(ok(&one).stdout.contains("+Be kind.") && !one.stdout.contains("todos.yaml"), "{}", one.seen());
    let first = place.run(&["review", &id, "--since-last-round"]);
    assert_eq!(ok(&first).stdout, "There was no round before.\n");
    for (arguments, code) in [(&["--file", "nothing"][..], 6), (&["--file", "a", "--stat"], 2)] {
        assert_eq!(place.run(&[&["review", &id], arguments].concat()).code, code, "{arguments:?}");
    }
    assert_eq!(place.run(&["review", "nobody"]).code, 6);
}

#[test]
fn a_review_is_data_for_programs() {
    let place = scene();
    let id = job(&place, &[]);
    let ann = place.token("reviewer", "ann");
    push(&place, &id, "and be brave");
    ok(&place.run_as(&ann, &["review", &id, "--comment", "plan.md:3=shorter", "--mark", "plan.md=approved"]));
    let mut data = place.run(&["review", &id, "--json"]).json();
    // Only the first file is shown in full here.
    data["diff"]["files"].as_array_mut().unwrap().truncate(1);
    data["artefacts"].as_array_mut().unwrap().truncate(1);
    insta::assert_snapshot!(calm(&place, &serde_json::to_string_pretty(&data).unwrap()));
}

#[test]
fn a_script_comments_replies_and_marks_with_a_reviewers_token() {
    let place = scene();
    let id = job(&place, &[]);
    let ann = place.token("reviewer", "ann");
    let worker = place.token("agent", "worker");
    let comment = ["review", &id, "--comment", "plan.md:3=[FIX] shorter", "--comment", "good work"];
    assert_eq!(place.run(&comment).code, 1, "a program without a token");
    assert_eq!(place.run_as(&worker, &comment).code, 6, "an agent's token sees its own jobs alone");
    assert_eq!(ok(&place.run_as(&ann, &comment)).stdout, "c1\nc2\n");
    assert_eq!(ok(&place.run_as(&ann, &["review", &id, "--reply", "c1=or not"])).stdout, "c3\n");
    assert_eq!(place.run_as(&ann, &["review", &id, "--reply", "c9=or not"]).code, 6);
    let marked = place.run_as(&ann, &["review", &id, "--mark", "plan.md=changes_requested"]);
    assert_eq!(ok(&marked).stdout, "changes_requested plan.md\n");
    // Nothing is said where one name is wrong.
    let wrong = ["review", &id, "--comment", "never", "--mark", "nothing.md=approved"];
    assert_eq!(place.run_as(&ann, &wrong).code, 6);
    for bad in [["--mark", "plan.md=good"], ["--reply", "c1"], ["--comment", "plan.md:x=hm"]] {
        assert_eq!(place.run_as(&ann, &[&["review", &id], &bad[..]].concat()).code, 2, "{bad:?}");
    }
    let text = ok(&place.run(&["review", &id, "--file", "plan.md"])).stdout.clone();
    let thread = "+Write a letter to all of them (1).\n  ┌ c1 ann · round 1\n  │ [FIX] shorter\n  ├ c3 ann\n  │ or not\n";
    assert!(text.contains(thread), "{text}");
    assert!(!ok(&place.run(&["review", &id])).stdout.contains("never"));
    // A file that wants changes is in the way of an approval, until somebody insists.
    let waiting = waits_at(&place, &id);
    let refused = place.run_as(&ann, &["approve", &waiting]);
    assert_eq!(refused.code, 6, "{}", refused.seen());
    assert!(refused.stderr.contains("plan.md"), "{}", refused.seen());
    ok(&place.run_as(&ann, &["review", &id, "--mark", "plan.md=none"]));
    ok(&place.run_as(&ann, &["approve", &waiting]));
    assert_eq!(place.run_as(&ann, &["review", &waiting, "--comment", "too late"]).code, 6);
}

#[test]
fn an_approval_of_a_file_ends_with_its_content() {
    let place = scene();
    let id = job(&place, &[]);
    let ann = place.token("reviewer", "ann");
    ok(&place.run_as(&ann, &["review", &id, "--mark", "plan.md=approved"]));
    let shown = || ok(&place.run(&["review", &id, "--file", "plan.md"])).stdout.clone();
    assert!(shown().contains("approved") && !shown().contains("no longer approved"), "{}", shown());
    push(&place, &id, "and be brave");
    assert!(shown().contains("no longer approved: it has changed since"), "{}", shown());
    let history = ok(&place.run(&["show", &id])).stdout.clone();
    assert!(history.contains("no longer approved: plan.md"), "{history}");
}

#[test]
fn what_the_agent_made_of_a_comment_stands_at_its_line() {
    let place = scene();
    let id = job(&place, &[]);
    let ann = place.token("reviewer", "ann");
    ok(&place.run_as(&ann, &["request-changes", &waits_at(&place, &id), "--comment", "plan.md:3=shorter"]));
    assert_eq!(place.run(&["resume", &id]).code, 3);
    let text = ok(&place.run(&["review", &id, "--file", "plan.md", "--since-last-round"])).stdout.clone();
    let expected = "-Write a letter to all of them (1).\n+Write a letter to all of them (2).\n  ┌ c1 ann · round 1 · changed since\n  │ shorter\n  ├ c2 agent\n  │ it is shorter now\n";
    assert!(text.contains(expected), "{text}");
    // The first round is still there to be looked at.
    let before = ok(&place.run(&["review", &format!("{id}.1"), "--file", "plan.md"])).stdout.clone();
    assert!(before.contains("+Write a letter to all of them (1).") && !before.contains("(2)"), "{before}");
}

#[test]
fn a_round_without_a_change_says_so() {
    let place = scene().file("lazy", "yes");
    let id = job(&place, &[]);
    let ann = place.token("reviewer", "ann");
    ok(&place.run_as(&ann, &["request-changes", &waits_at(&place, &id), "-m", "shorter"]));
    assert_eq!(place.run(&["resume", &id]).code, 3);
    let shown = place.run(&["review", &id]);
    assert!(ok(&shown).stdout.contains("No change since last round.\n"), "{}", shown.seen());
    assert_eq!(place.run(&["review", &id, "--json"]).json()["no_change_since_last_round"], true);
}

#[test]
fn a_conflict_is_shown_with_both_sides() {
    // A person pushes to the plan while the agent writes its own.
    let agent = r#"#!/bin/sh
cat > /dev/null
case $CHECKREIN_ROUND in
1) echo 'one line' > plan.md ;;
*) git clone -q -b phase-1-strategic "$HOME/.local/share/checkrein/jobs/$CHECKREIN_JOB_ID/repository.git" "$HOME/bobs"
   cd "$HOME/bobs" && echo 'a line of Bob' > plan.md && git -c user.name=Bob -c user.email=b@example.invalid commit -qam bobs && git push -q && cd - > /dev/null
   echo 'a line of the agent' > plan.md ;;
esac
echo '{"summary":"planned","next_todos":["go"]}' > "$CHECKREIN_RESULT"
"#;
    let place = Place::new().file("agent.sh", agent);
    let id = job(&place, &[]);
    let ann = place.token("reviewer", "ann");
    ok(&place.run_as(&ann, &["request-changes", &waits_at(&place, &id), "-m", "another line"]));
    assert_eq!(place.run(&["resume", &id]).code, 3);
    let shown = place.run(&["review", &id]);
    let text = &ok(&shown).stdout;
    assert!(text.contains("Conflict in plan.md\n"), "{text}");
    assert!(text.contains("because  The agent's work and what a person pushed do not fit\n"), "{text}");
    assert!(text.contains("The agent's work is on branch phase-1-strategic-unmerged."), "{text}");
    for line in ["  <<<<<<< ", "  a line of Bob\n", "  =======\n", "  a line of the agent\n", "  >>>>>>> "] {
        assert!(text.contains(line), "`{line}` is missing: {text}");
    }
    assert!(text.contains("Bob (person) bobs"), "{text}");
    let data: Value = place.run(&["review", &id, "--json"]).json();
    assert_eq!(data["conflict"]["files"][0], "plan.md");
    assert_eq!(data["conflict"]["texts"][0]["path"], "plan.md");
    let mut terminal = screen(&place, &id);
    terminal.press("j").shows("a line of Bob").shows("a line of the agent").press("q");
    assert_eq!(terminal.end().1, 0);
}
