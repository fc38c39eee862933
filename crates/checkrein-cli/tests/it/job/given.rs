//! What a job is given: a plan, documents, datasources, an override, an expert.

use std::fs;

use serde_json::json;

use super::{commit, give, job, scene, with_repository};
use crate::run::{expect, only_run, show};

#[test]
fn a_plan_of_ones_own_takes_the_place_of_the_first_phase() {
    let plan = "# My plan\n\n- [ ] write it\n- [x] gone\n- [ ] read it\n";
    let place = scene("usual").file("my-plan.md", plan);
    let job = job(place, &["--plan", "my-plan.md", "--autonomy", "dependent"], 3);
    assert_eq!(job.calls(), ["2 tactical 1"], "the agent begins with the work");
    assert_eq!(job.asked()["phase"], "phase-2-tactical");
    assert_eq!(job.file("main", "plan.md"), plan.trim_end());
    assert!(job.file("main", "todos.yaml").contains("content: \"read it\""));
    let brief = job.brief(1);
    assert!(brief.contains("1. [ ] write it\n2. [ ] read it") && brief.contains("# My plan"), "{brief}");
}

#[test]
fn documents_are_where_the_brief_says() {
    for existing in [false, true] {
        let agent = r#"cat "$CHECKREIN_JOB_FILES/documents/notes.txt" > "$here/read"; usual"#;
        let place = scene(agent).file("in/notes.txt", "some notes\n").file("in/b.bin", "\0\x01");
        let place = if existing { with_repository(place) } else { place };
        let more: &[&str] = if existing { &["--repo", "repo"] } else { &[] };
        let job = job(place, &[more, &["--doc", "in/notes.txt", "--doc", "in/b.bin"]].concat(), 3);
        let own = if existing { ".checkrein/job/" } else { "" };
        assert!(job.brief(1).contains(&format!("- {own}documents/notes.txt")), "{}", job.brief(1));
        assert_eq!(job.place.read("read"), "some notes\n");
        job.approve_unseen(3);
        job.approve_unseen(0);
        if existing {
            let result = super::git(
                &job.place.path().join("repo"),
                &["ls-tree", "-r", "--name-only", &format!("checkrein/{}/result", job.id)],
            );
            assert!(!result.contains("documents"), "{result}");
        }
    }
}

#[test]
fn documents_that_are_none_are_refused() {
    let place = scene("usual").file("a/x", "").file("b/x", "").file("empty.md", " \n");
    for more in [&["--doc", "nowhere"][..], &["--doc", "a"], &["--doc", "a/x", "--doc", "b/x"]] {
        let refused = give(&place, more);
        assert!(matches!(refused.code, 1 | 2), "{more:?}: {}", refused.seen());
    }
    for more in [
        &["--datasource", "orders"][..],
        &["--datasource", "=x"],
        &["--datasource", "a=x", "--datasource", "a=y"],
        &["--datasource", "a-b=x", "--datasource", "a.b=y"],
        &["--plan", "nowhere"],
        &["--plan", "empty.md"],
    ] {
        expect(&give(&place, more), 2);
    }
    assert_eq!(only_run(&place), None);
}

#[test]
fn an_override_says_what_an_expert_may() {
    let place = scene("usual");
    for wrong in [
        "{",
        "[]",
        r#"{"merge":"sideways"}"#,
        r#"{"levle":"full"}"#,
        r#"{"timeout":"soon"}"#,
        r#"{"$extends":"coder"}"#,
        r#"{"disk_bytes":-1}"#,
        r#"{"disk_bytes":0}"#,
        "null",
    ] {
        let refused = give(&place, &["--config-override", wrong]);
        expect(&refused, 2);
        assert!(refused.stderr.contains("--config-override"), "{wrong}: {}", refused.seen());
    }
    let over = r#"{"autonomy":"full","merge":"rebase","timeout":"10m","idle_timeout":"none","disk_bytes":1000,
        "environment":["LANG"],"instructions":"Be brief."}"#;
    let queued = give(&place, &["--queue", "--config-override", over]);
    expect(&queued, 0);
    let shown = show(&place, queued.stdout.trim());
    let kept = &shown["job"]["definition"];
    assert_eq!(shown["policy"]["level"], "full");
    assert_eq!((&kept["merge"], &kept["timeout"]), (&json!("rebase"), &json!("10m")));
    assert_eq!((&kept["disk_bytes"], &kept["environment"]), (&json!(1000), &json!(["LANG"])));
    assert_eq!(kept.get("idle_timeout"), None);
    let ran = give(&place, &["--config-override", r#"{"instructions":"Be brief."}"#]);
    expect(&ran, 3);
    assert!(place.read("brief.1").contains("## How you work\n\nBe brief."));
}

const USERS: &str = "home/.config/checkrein/experts";

#[test]
fn an_expert_of_ones_own_extends_another() {
    let place = scene("usual")
        .file(
            &format!("{USERS}/base/config.yaml"),
            "$extends: debugger\ninstructions: Work like me.\nmerge: merge\n",
        )
        .file(&format!("{USERS}/mine/config.yaml"), "$extends: base\ndescription: mine\nautonomy: guided\n");
    let shown = place.run(&["expert", "show", "mine", "--json"]).json();
    assert_eq!((&shown["level"], &shown["merge"]), (&json!("guided"), &json!("merge")));
    assert_eq!((&shown["instructions"], &shown["description"]), (&json!("Work like me."), &json!("mine")));
    let listed = place.run(&["expert", "list", "--json"]).json();
    let names = crate::run::texts(&listed, "name");
    assert_eq!(names, ["base", "coder", "debugger", "mine", "researcher", "validator", "writer"]);
    let level = |name: &str| {
        listed.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()["level"].clone()
    };
    assert_eq!((level("base"), level("mine")), (json!("full"), json!("guided")));
    let job = job(place, &["--expert", "mine"], 3);
    assert!(job.brief(1).contains("Work like me.") && job.brief(1).contains("Level: guided"));
    assert_eq!(job.asked()["expert"], "mine");
    let unknown = give(&job.place, &["--expert", "mime"]);
    expect(&unknown, 2);
    assert!(unknown.stderr.contains("did you mean `mine`?"), "{}", unknown.seen());
}

#[test]
fn an_expert_of_a_repository_counts_once_it_is_committed() {
    let place = with_repository(scene("usual"))
        .file("repo/.checkrein/experts/mine/config.yaml", "autonomy: dependent\n")
        .env("CHECKREIN_STORE", "store.db");
    let repo = place.path().join("repo");
    let give_here = |more: &[&str]| {
        let mut command = place.command(crate::place::BINARY);
        let agent = super::agent_of(&place);
        command.env("CHECKREIN_STORE", place.path().join("store.db"));
        command.args(["job", "Write", "--agent", &agent, "--queue"]).args(more).current_dir(&repo);
        let ran = command.output().unwrap();
        (ran.status.code().unwrap(), String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned())
    };
    let listed = || {
        let listed = place.command(crate::place::BINARY).args(["expert", "list"]).current_dir(&repo).output();
        String::from_utf8_lossy(&listed.unwrap().stderr).into_owned()
    };
    let (code, said) = give_here(&["--expert", "mine"]);
    assert!(code == 2 && said.contains("commit"), "{said}");
    assert!(listed().contains("expert `mine` is not committed yet"), "{}", listed());
    commit(&repo, "an expert");
    assert_eq!(listed(), "");
    let (code, said) = give_here(&["--expert", "mine"]);
    assert_eq!(code, 0, "{said}");
    fs::write(repo.join(".checkrein/experts/mine/config.yaml"), "autonomy: full\n").unwrap();
    assert!(listed().contains("`mine` differs from what is committed"), "{}", listed());
    let (code, said) = give_here(&["--expert", "mine"]);
    assert_eq!(code, 0, "{said}");
    let id = said.lines().next().unwrap();
    assert_eq!(show(&place, id)["policy"]["level"], "dependent", "what is committed counts");
}

#[test]
fn what_is_wrong_with_a_committed_expert_is_said() {
    for (text, said) in [
        ("environment: [X]\n", ":1:1: environment: "),
        ("sandbox: false\n", ":1:1: sandbox: "),
        ("autonomy: full\ncolour: red\n", ":2:1: unknown key `colour`"),
        ("$extends: plumbr\n", ":1:1: $extends: "),
    ] {
        let place = with_repository(scene("usual")).file("repo/.checkrein/experts/bad/config.yaml", text);
        let repo = place.path().join("repo");
        commit(&repo, "an expert");
        let mut command = place.command(crate::place::BINARY);
        command.args(["job", "Write", "--agent", &super::agent_of(&place), "--queue", "--expert", "bad"]);
        let ran = command.current_dir(&repo).output().unwrap();
        let seen = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(2), "{seen}");
        assert!(seen.contains(said) && !seen.contains("not committed"), "{text}: {seen}");
    }
}

#[test]
fn experts_that_extend_each_other_in_a_circle_are_refused() {
    let place = scene("usual")
        .file(&format!("{USERS}/a/config.yaml"), "$extends: b\n")
        .file(&format!("{USERS}/b/config.yaml"), "$extends: a\n");
    let refused = give(&place, &["--expert", "a"]);
    expect(&refused, 2);
    assert!(refused.stderr.contains("in a circle"), "{}", refused.seen());
}

#[test]
fn an_agent_may_be_named_by_a_path_from_here() {
    let place = scene("usual");
    let agent = place.path().join("agent");
    let text = fs::read_to_string(&agent).unwrap();
    fs::write(&agent, format!("#!/bin/sh\n{text}")).unwrap();
    fs::set_permissions(&agent, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    expect(&place.run(&["job", "Write", "--agent", "cmd:./agent"]), 3);
    expect(&place.run(&["job", "Write", "--agent", "./agent with words"]), 3);
}
