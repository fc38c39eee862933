//! People push to a branch under review (X10): what they did counts, and nobody overwrites it.

use std::fs;

use serde_json::json;

use super::{Job, agent_of, commit, git, id_of, job, push, scene, try_git};
use crate::run::{Ann, background, expect, only_run, until};

fn held(agent: &str) -> Job {
    job(scene(agent), &[], 3)
}

#[test]
fn a_push_moves_the_checkpoint_and_is_approved_by_name_only() {
    let job = held("usual");
    let opened = job.review();
    let head = opened["deliverable"]["head"].as_str().unwrap().to_owned();
    let clone = job.cloned("carla", "phase-1-strategic");
    let pushed = push(&clone, "plan.md", "# Plan of carla\n");

    let blind = job.ann("approve", &[], 6);
    assert!(blind.stderr.contains("--digest"), "{}", blind.seen());
    let moved = job.review();
    assert_eq!(
        (&moved["id"], &moved["round"], &moved["status"]),
        (&opened["id"], &json!(1), &json!("pending"))
    );
    assert_eq!(moved["deliverable"]["head"], pushed.as_str());
    assert_ne!(moved["digest"], opened["digest"]);
    let recorded = job.events_of("review_moved");
    assert_eq!((recorded.len(), &recorded[0]["head"]), (1, &json!(pushed)));

    job.ann("approve", &["--digest", opened["digest"].as_str().unwrap()], 6);
    job.ann("approve", &["--digest", &head], 6);
    assert_eq!(job.status(), "pending_review");
    job.ann("approve", &["--digest", &pushed], 0);
    job.resume(3);
    assert_eq!(job.file("main", "plan.md"), "# Plan of carla");
    assert!(job.brief(2).contains("# Plan of carla"), "the agent works by it");
}

#[test]
fn the_digest_of_what_was_pushed_approves_it_too() {
    let job = held("usual");
    let clone = job.cloned("carla", "phase-1-strategic");
    push(&clone, "plan.md", "# Plan of carla\n");
    job.ann("approve", &[], 6);
    let digest = job.review()["digest"].as_str().unwrap().to_owned();
    job.ann("approve", &["--digest", &digest], 0);
    job.resume(3);
    assert_eq!(job.file("main", "plan.md"), "# Plan of carla");
}

#[test]
fn what_is_pushed_twice_needs_to_be_looked_at_twice() {
    let job = held("usual");
    let clone = job.cloned("carla", "phase-1-strategic");
    let first = push(&clone, "plan.md", "one\n");
    job.ann("approve", &[], 6);
    let second = push(&clone, "plan.md", "two\n");
    job.ann("approve", &["--digest", &first], 6);
    job.ann("approve", &["--digest", &second], 0);
    assert_eq!(job.events_of("review_moved").len(), 2);
    job.resume(3);
    assert_eq!(job.file("main", "plan.md"), "two");
}

#[test]
fn what_a_person_wants_done_is_done() {
    let job = held("usual");
    let clone = job.cloned("carla", "phase-1-strategic");
    let todos = "phase: phase-2-tactical\ntodos:\n  - id: 1\n    content: write it in verse\n";
    let pushed = push(&clone, "todos.yaml", todos);
    job.ann("approve", &[], 6);
    assert_eq!(job.asked()["next_todos"][0]["content"], "write it in verse");
    job.ann("approve", &["--digest", &pushed], 0);
    job.resume(3);
    let brief = job.brief(2);
    let todos = brief.split("## Todos\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    assert!(todos.contains("write it in verse") && !todos.contains("read it"), "{brief}");
}

#[test]
fn the_next_phase_is_told_what_was_pushed_and_approved() {
    let job = held("usual");
    let clone = job.cloned("carla", "phase-1-strategic");
    let pushed = push(&clone, "letter", "Dear reader,\n");
    job.ann("approve", &["--digest", &pushed], 0);
    job.resume(3);
    let brief = job.brief(2);
    assert!(brief.contains("carla: carla changes letter") && brief.contains("+Dear reader,"), "{brief}");
    assert!(!job.brief(3).contains("carla changes letter"), "told once");
}

/// A typo in what is to be done next must not mean what was to be done before.
#[test]
fn a_plan_with_broken_todos_cannot_be_approved() {
    let job = held("usual");
    let main = job.git(&["rev-parse", "main"]);
    let clone = job.cloned("carla", "phase-1-strategic");
    for (todos, problem) in [
        (
            "todos:\n  - id: 1\n    content: a\n  - id: 1\n    content: b\n",
            "todos.yaml:4:5: id `1` is there twice",
        ),
        ("todos:\n  - [\n", "todos.yaml:"),
        ("todos: []\n", "todos.yaml has no todos"),
        ("phase: x\ntodo:\n  - a\n", "todos.yaml has no todos"),
    ] {
        let pushed = push(&clone, "todos.yaml", todos);
        let refused = job.ann("approve", &["--digest", &pushed], 2);
        assert!(refused.stderr.contains(problem), "{}", refused.seen());
        assert_eq!(
            (job.status(), job.git(&["rev-parse", "main"])),
            ("pending_review".to_owned(), main.clone())
        );
    }
    let pushed = push(&clone, "todos.yaml", "todos: [write it in verse]\n");
    job.ann("approve", &["--digest", &pushed], 0);
    job.resume(3);
    assert!(job.brief(2).contains("write it in verse"));
}

#[test]
fn only_what_was_approved_is_merged() {
    let job = held("usual");
    let clone = job.cloned("carla", "phase-1-strategic");
    job.ann("approve", &[], 0);
    let late = push(&clone, "late", "after the approval\n");
    let ran = job.resume(3);
    assert!(!job.files("main").contains(&"late".to_owned()));
    assert_eq!(job.git(&["rev-parse", "phase-1-strategic"]), late, "what came later is kept");
    let landed = &job.events_of("phase_landed")[0];
    assert!(landed["notes"][0].as_str().unwrap().contains("nobody approved"), "{landed} {}", ran.seen());
}

#[test]
fn the_next_round_keeps_what_a_person_did() {
    let agent = r#"case $n.$r in
      1.1) printf 'a\nb\nc\nd\ne\nf\n' > letter; plan ;;
      1.2) cat letter > "$here/seen"; sed -i 's/^f$/F by the agent/' letter; answer '{"next_todos":["x"]}' ;;
      *) usual ;;
    esac"#;
    let job = held(agent);
    let clone = job.cloned("carla", "phase-1-strategic");
    push(&clone, "letter", "A by carla\nb\nc\nd\ne\nf\n");
    job.change(&[], 3);
    assert_eq!(job.place.read("seen"), "A by carla\nb\nc\nd\ne\nf\n");
    assert_eq!(job.file("phase-1-strategic", "letter"), "A by carla\nb\nc\nd\ne\nF by the agent");
    let brief = job.brief(2);
    assert!(brief.contains("carla: carla changes letter"), "{brief}");
    assert!(brief.contains("+A by carla") && brief.contains("-a\n"), "{brief}");
    let authors = job.git(&["log", "--format=%an %s", "phase-1-strategic"]);
    assert!(authors.contains("carla carla changes letter"), "{authors}");
    job.change(&[], 3);
    assert!(!job.brief(3).contains("carla changes letter"), "told once");
}

/// An agent that waits in its second round, for somebody to push meanwhile.
fn pushed_while_it_works(agent: &str, file: &str, text: &str) -> (Job, String) {
    let place = scene(&format!(
        r#"case $n.$r in
          1.1) printf 'a\nb\nc\nd\ne\nf\n' > letter; plan ;;
          1.2) touch "$here/began"; until test -f "$here/go"; do sleep 0.02; done; {agent} ;;
          *) usual ;;
        esac"#
    ));
    let job = job(place, &[], 3);
    let clone = job.cloned("carla", "phase-1-strategic");
    job.ann("request-changes", &["-m", "shorter"], 0);
    let mut engine = background(&job.place, &["resume", &job.id]);
    until(|| job.place.path().join("began").exists().then_some(()));
    git(&clone, &["pull", "--quiet", "--ff-only"]);
    let pushed = push(&clone, file, text);
    fs::write(job.place.path().join("go"), "").unwrap();
    expect(&engine.end(), 3);
    (job, pushed)
}

#[test]
fn a_push_while_the_agent_works_is_merged_with_its_work() {
    let (job, pushed) = pushed_while_it_works(
        r#"sed -i 's/^f$/F by the agent/' letter; answer '{"next_todos":["x"]}'"#,
        "letter",
        "A by carla\nb\nc\nd\ne\nf\n",
    );
    assert_eq!(job.file("phase-1-strategic", "letter"), "A by carla\nb\nc\nd\ne\nF by the agent");
    assert_eq!(
        try_git(&job.repository(), &["merge-base", "--is-ancestor", &pushed, "phase-1-strategic"]).1,
        0
    );
    job.change(&[], 3);
    assert!(
        job.brief(3).contains("carla: carla changes letter"),
        "the agent has not seen it yet: {}",
        job.brief(3)
    );
}

#[test]
fn a_push_at_the_same_lines_is_a_conflict_that_holds() {
    let (job, pushed) =
        pushed_while_it_works(r#"echo agent > letter; answer '{"next_todos":["x"]}'"#, "letter", "carla\n");
    let asked = job.asked();
    assert_eq!(asked["conflict"]["files"], json!(["letter"]), "{asked}");
    assert_eq!(job.file("phase-1-strategic", "letter"), "carla", "the person's side is on the branch");
    assert_eq!(
        try_git(&job.repository(), &["merge-base", "--is-ancestor", &pushed, "phase-1-strategic"]).1,
        0
    );
    let kept = asked["conflict"]["kept_on"].as_str().unwrap().to_owned();
    assert_eq!(job.file(&kept, "letter"), "agent", "the agent's waits beside it");
    // Approving what is on the branch does not lose the other side.
    job.approve(3);
    assert_eq!(job.file("main", "letter"), "carla");
    assert_eq!(job.file(&kept, "letter"), "agent");
}

#[test]
fn an_agent_can_resolve_a_conflict_with_what_a_person_pushed() {
    let agent = r#"echo agent > letter; answer '{"next_todos":["x"]}'"#;
    let (job, _) = pushed_while_it_works(agent, "letter", "carla\n");
    let kept = job.asked()["conflict"]["kept_on"].as_str().unwrap().to_owned();
    let resolve = format!(
        r#"case $n.$r in
          1.3) git merge -q "{kept}" > "$here/merged" 2>&1; cat letter > "$here/seen"
            printf 'carla and agent\n' > letter; git add letter; git commit -qm "both"
            answer '{{"next_todos":["x"]}}' ;;
          *) usual ;;
        esac"#
    );
    let prelude = super::PRELUDE;
    fs::write(job.place.path().join("agent"), format!("{prelude}{resolve}\n")).unwrap();
    job.change(&[], 3);
    assert!(job.brief(3).contains(&kept), "it is told where: {}", job.brief(3));
    assert!(job.place.read("seen").contains("<<<<<<<"), "{}", job.place.read("merged"));
    assert_eq!(job.asked()["conflict"], json!(null));
    job.approve(3);
    assert_eq!(job.file("main", "letter"), "carla and agent");
    assert!(!job.branches().contains(&kept), "{:?}", job.branches());
}

/// A plan that is approved while somebody pushed another one to the job's main branch.
fn conflicting_main() -> (Job, std::path::PathBuf) {
    let job = held("usual");
    let clone = job.cloned("carla", "main");
    fs::write(clone.join("plan.md"), "# Plan of carla\n").unwrap();
    commit(&clone, "a plan of mine");
    git(&clone, &["push", "--quiet"]);
    job.approve(3);
    (job, clone)
}

#[test]
fn a_conflict_with_main_stays_held_until_somebody_resolves_it() {
    let (job, clone) = conflicting_main();
    let asked = job.asked();
    assert_eq!((&asked["phase"], &asked["round"]), (&json!("phase-1-strategic"), &json!(2)));
    assert_eq!(asked["conflict"]["files"], json!(["plan.md"]), "{asked}");
    assert!(asked["reason"].as_str().unwrap().contains("conflict in plan.md"), "{asked}");
    assert_eq!(job.file("main", "plan.md"), "# Plan of carla", "nothing is lost");
    assert_eq!(job.file("phase-1-strategic", "plan.md"), "# Plan of 1.1");
    let refused = job.ann("approve", &[], 6);
    assert!(refused.stderr.contains("conflict in plan.md"), "{}", refused.seen());
    assert!(refused.stderr.contains("settles it"), "{}", refused.seen());
    assert_eq!((job.status(), &job.asked()["round"]), ("pending_review".into(), &json!(2)));
    git(&clone, &["fetch", "--quiet"]);
    git(&clone, &["switch", "--quiet", "phase-1-strategic"]);
    assert_ne!(try_git(&clone, &["merge", "--quiet", "main"]).1, 0);
    let merged = push(&clone, "plan.md", "# Plan of both\n");
    let seen = job.place.run(&["review", &job.id, "--plain"]).stdout;
    assert!(seen.contains("Somebody pushed") && seen.contains("what was pushed since settles it"), "{seen}");
    assert!(!seen.contains("No change since") && !seen.contains("Conflict"), "{seen}");
    job.ann("approve", &["--digest", &merged], 0);
    job.resume(3);
    assert_eq!(job.file("main", "plan.md"), "# Plan of both");
    assert_eq!(job.calls(), ["1 strategic 1", "2 tactical 1", "3 strategic 1"]);
}

#[test]
fn a_push_that_settles_nothing_leaves_the_conflict_open() {
    let (job, clone) = conflicting_main();
    git(&clone, &["fetch", "--quiet"]);
    git(&clone, &["switch", "--quiet", "phase-1-strategic"]);
    let pushed = push(&clone, "notes", "from carla\n");
    let refused = job.ann("approve", &["--digest", &pushed], 6);
    assert!(refused.stderr.contains("conflict in plan.md"), "{}", refused.seen());
    assert_eq!(job.asked()["conflict"]["files"], json!(["plan.md"]));
}

#[test]
fn a_round_that_settles_nothing_shows_the_conflict_again() {
    let (job, _) = conflicting_main();
    job.change(&[], 3);
    let asked = job.asked();
    assert_eq!((&asked["round"], &asked["conflict"]["files"]), (&json!(3), &json!(["plan.md"])), "{asked}");
    let seen = job.place.run(&["review", &job.id, "--plain"]).stdout;
    assert!(seen.contains("because  Merging phase-1-strategic meets a conflict in plan.md"), "{seen}");
    assert!(seen.contains("<<<<<<<"), "{seen}");
    job.ann("approve", &[], 6);
}

#[test]
fn an_agent_can_resolve_a_conflict_with_main() {
    let (job, _) = conflicting_main();
    let agent = r#"case $n.$r in
      1.*) git merge -q main > "$here/merged" 2>&1
        echo '# Plan of both' > plan.md; git add plan.md; git commit -qm 'merge main'
        answer '{"next_todos":["x"]}' ;;
      *) usual ;;
    esac"#;
    fs::write(job.place.path().join("agent"), format!("{}{agent}\n", super::PRELUDE)).unwrap();
    job.change(&[], 3);
    assert!(job.brief(2).contains("conflict") && job.brief(2).contains("plan.md"), "{}", job.brief(2));
    assert_eq!(job.asked()["conflict"], json!(null), "{}", job.asked());
    job.approve(3);
    assert_eq!(job.asked()["phase"], "phase-3-strategic", "{}", job.asked());
    assert_eq!(job.file("main", "plan.md"), "# Plan of both");
}

#[test]
fn a_push_to_main_that_fits_is_kept() {
    let job = held("usual");
    let clone = job.cloned("carla", "main");
    push(&clone, "notes", "from carla\n");
    job.approve(3);
    assert_eq!(job.file("main", "notes"), "from carla");
    assert_eq!(job.file("main", "work-2"), "work of 2.1");
}

#[test]
fn a_verdict_while_the_agent_works_is_for_nothing() {
    let place = scene(r#"touch "$here/began"; until test -f "$here/go"; do sleep 0.02; done; usual"#);
    let mut engine = background(&place, &["job", "Write", "--agent", &agent_of(&place)]);
    until(|| place.path().join("began").exists().then_some(()));
    let id = only_run(&place).unwrap();
    let ann = Ann::of(&place);
    expect(&ann.says(&place, &["approve", &format!("{id}.1")]), 6);
    fs::write(place.path().join("go"), "").unwrap();
    let ended = engine.end();
    expect(&ended, 3);
    assert_eq!(id_of(&ended), id);
}

#[test]
fn what_was_reviewed_cannot_be_pushed_away() {
    let job = held("usual");
    let clone = job.cloned("carla", "phase-1-strategic");
    let refused = try_git(&clone, &["push", "--quiet", "origin", "--delete", "phase-1-strategic"]);
    assert!(refused.1 != 0 && refused.0.contains("deletion"), "{}", refused.0);
    git(&clone, &["commit", "--quiet", "--amend", "--message", "one commit of mine"]);
    let refused = try_git(&clone, &["push", "--quiet", "--force"]);
    assert!(refused.1 != 0 && refused.0.contains("non-fast-forward"), "{}", refused.0);
    job.approve(3);
    assert_eq!(job.file("main", "plan.md"), "# Plan of 1.1");
}

/// A job whose agent waits in its first phase until somebody pushed `todos.yaml`.
fn planned_meanwhile(agent: &str, level: &str, todos: &str, code: i32) -> Job {
    let wait = r#"touch "$here/began"; until test -f "$here/go"; do sleep 0.02; done"#;
    let place = scene(&format!("case $n in 1) {wait}; {agent} ;; *) usual ;; esac"));
    let mut engine = background(&place, &["job", "Write", "--agent", &agent_of(&place), "--autonomy", level]);
    until(|| place.path().join("began").exists().then_some(()));
    let (id, ann) = (only_run(&place).unwrap(), Ann::of(&place));
    let given = place.run(&["version"]);
    let job = Job { place, id, ann, given };
    let clone = job.cloned("carla", "phase-1-strategic");
    push(&clone, "todos.yaml", todos);
    fs::write(job.place.path().join("go"), "").unwrap();
    expect(&engine.end(), code);
    job
}

#[test]
fn todos_that_are_pushed_while_the_agent_plans_count() {
    let todos = "todos:\n  - id: 1\n    content: write it in verse\n";
    for agent in ["plan", "answer '{}'", "complete"] {
        let job = planned_meanwhile(agent, "guided", todos, 3);
        assert_eq!(job.file("phase-1-strategic", "todos.yaml"), todos.trim_end(), "{agent}");
        let asked = job.asked();
        assert_eq!(asked["next_todos"][0]["content"], "write it in verse", "{agent}: {asked}");
        let noted = job.found().contains("the agent's own todos are not used: write it; read it");
        assert_eq!(noted, agent == "plan", "{agent}: {}", job.found());
        job.approve(3);
        assert!(job.brief(2).contains("write it in verse"), "{agent}");
    }
}

#[test]
fn broken_todos_that_are_pushed_while_the_agent_plans_hold_at_every_level() {
    let broken = "todos:\n  - id: 1\n    content: a\n  - id: 1\n    content: b\n";
    for agent in ["plan", "answer '{}'"] {
        let job = planned_meanwhile(agent, "full", broken, 3);
        assert_eq!(job.file("phase-1-strategic", "todos.yaml"), broken.trim_end(), "{agent}");
        let shown = job.place.run(&["review", &job.id, "--plain"]).stdout;
        assert!(shown.contains("A person's todos.yaml cannot be used: todos.yaml:4:5:"), "{agent}: {shown}");
        let refused = job.ann("approve", &[], 2);
        assert!(refused.stderr.contains("todos.yaml:4:5:"), "{}", refused.seen());
        let clone = job.place.path().join("carla");
        git(&clone, &["pull", "--quiet", "--ff-only"]);
        let mended = push(&clone, "todos.yaml", "todos: [write it in verse]\n");
        job.ann("approve", &["--digest", &mended], 0);
        job.resume(0);
        assert!(job.brief(2).contains("write it in verse"), "{agent}");
    }
}
