//! What holds at every level: files that decide what an agent may do, and what it may spend. The policy is the
//! base commit's.

use std::fs;

use serde_json::json;

use super::{commit, git, job, scene, with_repository};
use crate::run::show;

const FULL: [&str; 4] = ["--repo", "repo", "--autonomy", "full"];

#[test]
fn a_protected_file_holds_even_at_full() {
    for path in [
        "checkrein.yaml",
        "checkrein.yml",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".husky/pre-commit",
        ".githooks/pre-push",
        "deep/.checkrein/experts/me/config.yaml",
        "CODEOWNERS",
        ".GitHub/Workflows/ci.yml",
        "Checkrein.yaml",
        ".mcp.json",
        "deep/AGENTS.md",
        ".vscode/tasks.json",
    ] {
        let agent = format!(
            "case $n in 2) mkdir -p \"$(dirname {path})\"; echo '# x' > {path}; work ;; *) usual ;; esac"
        );
        let job = job(with_repository(scene(&agent)), &FULL, 3);
        let asked = job.asked();
        assert_eq!(
            (&asked["phase"], &asked["protected"]),
            (&json!("phase-2-tactical"), &json!([path])),
            "{path}"
        );
        assert!(asked["reason"].as_str().unwrap().contains(path), "{asked}");
        assert_eq!(job.show()["policy"]["level"], "full");
        job.approve(0);
    }
}

#[test]
fn a_link_in_the_place_of_a_protected_directory_holds_too() {
    for path in [".githooks", "deep/.husky", ".github", ".github/workflows", ".claude"] {
        let agent = format!(
            "case $n in 2) mkdir -p \"$(dirname {path})\"; ln -s elsewhere {path}; work ;; *) usual ;; esac"
        );
        let job = job(with_repository(scene(&agent)), &FULL, 3);
        assert_eq!(job.asked()["protected"], json!([path]), "{path}");
    }
}

#[test]
fn what_a_protected_link_leads_to_is_protected_too() {
    for (link, target, written) in
        [("CLAUDE.md", "docs/guide.md", "docs/guide.md"), (".claude/skills", "../skills", "skills/a.md")]
    {
        let agent =
            format!("case $n in 2) mkdir -p skills; echo evil >> {written}; work ;; *) usual ;; esac");
        let place = with_repository(scene(&agent)).file("repo/docs/guide.md", "# Guide\n");
        let repo = place.path().join("repo");
        fs::create_dir_all(repo.join(".claude")).unwrap();
        std::os::unix::fs::symlink(target, repo.join(link)).unwrap();
        commit(&repo, "a link");
        let job = job(place, &FULL, 3);
        assert_eq!(job.asked()["protected"], json!([written]), "{link}");
    }
}

#[test]
fn moving_or_deleting_a_protected_file_holds_too() {
    for second in ["git rm -q .github/workflows/ci.yml", "git mv .github/workflows/ci.yml ci.yml"] {
        let agent = format!("case $n in 2) {second}; work ;; *) usual ;; esac");
        let place =
            with_repository(scene(&agent)).file("repo/.github/workflows/ci.yml", &"on: push\n".repeat(20));
        commit(&place.path().join("repo"), "ci");
        let job = job(place, &FULL, 3);
        assert_eq!(job.asked()["protected"], json!([".github/workflows/ci.yml"]), "{second}");
    }
}

#[test]
fn the_jobs_own_files_are_no_danger() {
    let agent = r#"mkdir -p .checkrein/job/notes; echo "$n" > .checkrein/job/notes/x; usual"#;
    let job = job(with_repository(scene(agent)), &FULL, 0);
    assert_eq!(job.file(&format!("checkrein/{}/main", job.id), ".checkrein/job/notes/x"), "3");
}

#[test]
fn a_project_may_protect_more() {
    let place = with_repository(scene(r#"case $n in 2) echo x > schema.sql; work ;; *) usual ;; esac"#));
    let repo = place.path().join("repo");
    let settings = "autonomy: {job: {level: full, protected_paths: ['*.sql']}}\n";
    fs::write(repo.join("checkrein.yaml"), settings).unwrap();
    commit(&repo, "settings");
    let job = job(place, &["--repo", "repo"], 3);
    assert_eq!(job.asked()["protected"], json!(["schema.sql"]));
}

#[test]
fn a_budget_that_is_used_up_holds() {
    let agent = r#"case $n in
      1) sleep 0.1; answer '{"next_todos":["x"],"usage":{"tokens":600,"cost":0.3}}' ;;
      2) echo x > x; answer '{"usage":{"tokens":600,"cost":0.3}}' ;;
      *) complete ;;
    esac"#;
    for (budget, phase) in [
        (r#"{"tokens":1000}"#, "phase-2-tactical"),
        (r#"{"tokens":600}"#, "phase-1-strategic"),
        (r#"{"cost":0.5}"#, "phase-2-tactical"),
        (r#"{"time":"50ms"}"#, "phase-1-strategic"),
    ] {
        let autonomy = format!(r#"{{"level":"full","budget":{budget}}}"#);
        let job = job(scene(agent), &["--autonomy", &autonomy], 3);
        let asked = job.asked();
        assert_eq!(asked["phase"], phase, "{budget}");
        assert!(asked["reason"].as_str().unwrap().contains("Budget reached"), "{asked}");
        job.ann("approve", &[], 0);
        let shown = job.show();
        assert_eq!(shown["job"]["spent_since_answer"]["tokens"], 0, "an approval gives a new one");
        assert!(shown["job"]["spent"]["tokens"].as_u64().unwrap() >= 600, "and what was spent stays spent");
    }
}

#[test]
fn settings_that_are_not_committed_are_not_followed() {
    let place = with_repository(scene("usual"));
    let repo = place.path().join("repo");
    fs::write(repo.join("checkrein.yaml"), "autonomy: {job: full}\n").unwrap();
    let mut command = place.command(crate::place::BINARY);
    let agent = super::agent_of(&place);
    let ran = command.args(["job", "Write", "--agent", &agent]).current_dir(&repo).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(3), "{said}");
    assert!(said.contains("warning: ") && said.contains("not in the commit the job starts from"), "{said}");
}

#[test]
fn settings_that_differ_from_the_committed_ones_are_not_followed() {
    let place = with_repository(scene("usual"));
    let repo = place.path().join("repo");
    fs::write(repo.join("checkrein.yaml"), "autonomy: {job: partial}\n").unwrap();
    commit(&repo, "settings");
    fs::write(repo.join("checkrein.yaml"), "autonomy: {job: full}\n").unwrap();
    let mut command = place.command(crate::place::BINARY);
    let agent = super::agent_of(&place);
    let ran = command.args(["job", "Write", "--agent", &agent]).current_dir(&repo).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(3), "{said}");
    assert!(said.contains("warning: ") && said.contains("checkrein.yaml"), "{said}");
}

#[test]
fn an_agent_that_loosens_the_settings_loosens_nothing_for_its_job() {
    let agent = r#"case $n in
      1) echo 'autonomy: {job: full}' > checkrein.yaml; plan ;;
      *) usual ;;
    esac"#;
    let place = with_repository(scene(agent));
    let repo = place.path().join("repo");
    fs::write(repo.join("checkrein.yaml"), "autonomy: {job: dependent}\n").unwrap();
    commit(&repo, "settings");
    let job = job(place, &["--repo", "repo"], 3);
    for phase in ["phase-1-strategic", "phase-2-tactical", "phase-3-strategic"] {
        assert_eq!(job.asked()["phase"], phase);
        assert_eq!(show(&job.place, &job.id)["policy"]["level"], "dependent");
        job.ann("approve", &[], 0);
        job.place.run(&["resume", &job.id]);
    }
    assert_eq!(job.status(), "completed");
    assert_eq!(
        git(&repo, &["show", &format!("checkrein/{}/result:checkrein.yaml", job.id)]),
        "autonomy: {job: full}"
    );
}
