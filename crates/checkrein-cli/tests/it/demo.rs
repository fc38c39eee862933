use std::fs;

use crate::place::{BINARY, Place};
use crate::terminal::Terminal;

fn at_a_terminal(place: &Place) -> Terminal {
    // The terminal is its own, so that Ctrl-C reaches it.
    let mut command = place.command("setsid");
    command.args(["--ctty", BINARY, "demo"]);
    command.env("USER", "carla").env("NO_COLOR", "1").env("TERM", "xterm");
    Terminal::sized(command, 100, 30)
}

/// A place with nothing in it but room for temporary files.
fn place() -> Place {
    let place = Place::new();
    let temporary = place.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    place.env("TMPDIR", temporary.to_str().unwrap())
}

fn left_behind(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path()).unwrap().chain(fs::read_dir(place.path().join("tmp")).unwrap());
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn without_a_terminal_it_plays_itself_and_ends() {
    for arguments in [&["demo"][..], &["demo", "--yes"]] {
        let place = place();
        let ran = place.run(arguments);
        assert_eq!(ran.code, 0, "{}", ran.seen());
        for text in [
            "A scripted reviewer plays the person",
            "+1. Let greet.sh take a name",
            "What happens without a name?",
            "It stays as it was; the plan says so now.",
            "Its round 2",
            "+2. Without a name it says",
            "phase 2 (tactical): greet.sh greets by name",
            "approved in round 2, merged",
            "Status: Completed",
        ] {
            assert!(ran.stdout.contains(text), "{text}: {}", ran.seen());
        }
        assert!(ran.stderr.is_empty(), "{}", ran.stderr);
        assert_eq!(left_behind(&place), ["tmp"]);
    }
}

#[test]
fn it_sees_no_settings_but_its_own() {
    let place = place()
        .file("checkrein.yaml", "nonsense: [")
        .file("home/.config/checkrein/checkrein.yaml", "autonomy: { job: full }")
        .file("home/.gitconfig", "[commit]\n\tgpgsign = true\n[user]\n\tname = nobody\n")
        .env("CHECKREIN_JOB_AUTONOMY", "full")
        .env("CHECKREIN_TOKEN", "chk_not_of_this_store")
        .env("CHECKREIN_STORE", "mine.db");
    let ran = place.run(&["demo"]);
    assert_eq!(ran.code, 0, "{}", ran.seen());
    assert!(ran.stdout.contains("approved in round 2, merged"), "{}", ran.seen());
    assert!(!place.path().join("mine.db").exists());
}

const ASKED: &str = "at all of it? ";

#[test]
fn a_person_looks_asks_for_a_change_and_approves() {
    let place = place();
    let mut terminal = at_a_terminal(&place);
    terminal.until(ASKED).press("what?\n").until("Type a, c, r or l").until(ASKED);
    terminal.press("l\n").shows("q leave").press("q").until(ASKED);
    terminal.press("c\n").until("What should change?").press("What does it say without a name?\n");
    terminal.until("Without a name it").until(ASKED).press("a\n");
    terminal.until("you look once more").until(ASKED).press("a\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(!seen.contains("scripted"), "{seen}");
    assert!(seen.contains("c1 carla"), "{seen}");
    assert!(seen.contains("Status: Completed"), "{seen}");
    assert_eq!(left_behind(&place), ["tmp"]);
}

#[test]
fn a_person_asks_for_changes_in_words_of_their_own_as_often_as_they_like() {
    let place = place();
    let mut terminal = at_a_terminal(&place);
    terminal
        .until(ASKED)
        .press("c\n")
        .until("What should change?")
        .press("What about \"two\" names & a \\?\n");
    terminal.until("Its round 2").until("+2. As you asked: What about \"two\" names & a \\?").until(ASKED);
    terminal.press("c\n").until("What should change?").press("And `none`, or $HOME?\n");
    terminal.until("another change").until("Its round 3").until("+3. As you asked: And `none`, or $HOME?");
    terminal.until(ASKED).press("a\n").until("you look once more").until(ASKED);
    terminal.press("c\n").until("What should change?").press("Say it louder\n");
    terminal.until("Its round 2").until("+- Say it louder").until(ASKED).press("a\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("It is point 2 of the plan now.") && seen.contains("Status: Completed"), "{seen}");
    assert_eq!(left_behind(&place), ["tmp"]);
}

#[test]
fn a_verdict_on_the_screen_counts() {
    let place = place();
    let mut terminal = at_a_terminal(&place);
    terminal.until(ASKED).press("l\n").shows("q leave").press("r").shows("What should change?");
    terminal.press("Greet everybody\u{13}").shows("digest").shows("S start over").press("y");
    terminal.until("Its round 2").until("+2. As you asked: Greet everybody").until(ASKED);
    terminal.press("l\n").shows("q leave").press("a").shows("digest").press("y");
    terminal.until("you look once more").until(ASKED).press("r\n").until("Why? ").press("no\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("The job is cancelled."), "{seen}");
}

#[test]
fn an_interrupt_leaves_nothing_behind() {
    let place = place();
    let mut terminal = at_a_terminal(&place);
    terminal.until(ASKED).press("\u{3}");
    let (seen, code) = terminal.end();
    assert_eq!(code, 130, "{seen}");
    assert_eq!(left_behind(&place), ["tmp"]);
}

#[test]
fn a_person_rejects_and_the_job_is_cancelled() {
    let place = place();
    let mut terminal = at_a_terminal(&place);
    terminal.until(ASKED).press("r\n").until("Why? ").press("- it's fine as it is\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("rejected "), "{seen}");
    assert!(seen.contains("The job is cancelled."), "{seen}");
    assert_eq!(left_behind(&place), ["tmp"]);
}

#[test]
fn a_person_who_leaves_has_not_approved() {
    let place = place();
    let mut terminal = at_a_terminal(&place);
    terminal.until(ASKED).press("\u{4}");
    let (seen, code) = terminal.end();
    assert_eq!(code, 3, "{seen}");
    assert!(seen.contains("No answer is never a yes"), "{seen}");
    assert_eq!(left_behind(&place), ["tmp"]);
}

#[test]
fn inside_an_attempt_there_is_no_demo() {
    let ran = place().run_env(&[("CHECKREIN_JOB_ID", "7")], &["demo"]);
    assert!(ran.code == 1 && ran.stderr.contains("inside an agent's attempt"), "{}", ran.seen());
}
