//! What a review shows beside lines: findings, modes and links.

use serde_json::{Value, json};

use super::{Job, job, scene, with_repository};

const AGENT: &str = r#"case $n in
  1) chmod +x readme; ln -s /etc/passwd out; printf 'x\n' > run.sh; chmod +x run.sh; mkfifo pipe
     answer '{"summary":"planned","next_todos":["x"],"warnings":["Deprecated API used"]}' ;;
  *) usual ;;
esac"#;

fn held() -> Job {
    job(with_repository(scene(AGENT)), &["--repo", "repo"], 3)
}

#[test]
fn modes_and_links_are_seen() {
    let job = held();
    let seen = job.place.run(&["review", &job.id, "--plain"]).stdout;
    for text in
        ["readme  now executable (mode 100644 -> 100755)", "out  link to /etc/passwd", "run.sh  executable"]
    {
        assert!(seen.contains(text), "{text}: {seen}");
    }
    let review = job.place.run(&["review", &job.id, "--json"]).json();
    let files = review["diff"]["files"].as_array().unwrap();
    let modes = |path: &str| {
        let file = files.iter().find(|file| file["path"] == path).unwrap();
        json!([file["old_mode"], file["new_mode"], file["link_target"]])
    };
    assert_eq!(modes("readme"), json!(["100644", "100755", null]));
    assert_eq!(modes("out"), json!([null, "120000", "/etc/passwd"]));
    assert_eq!(modes("run.sh"), json!([null, "100755", null]));
}

#[test]
fn what_was_found_is_seen() {
    let job = held();
    let seen = job.place.run(&["review", &job.id, "--plain"]).stdout;
    let review = job.place.run(&["review", &job.id, "--json"]).json();
    let found: Vec<&str> =
        review["findings"].as_array().unwrap().iter().filter_map(|one| one["text"].as_str()).collect();
    for text in ["Deprecated API used", "pipe", "out"] {
        assert!(found.iter().any(|one| one.contains(text)), "{text}: {found:?}");
    }
    let findings = seen.split("\nFindings\n").nth(1).unwrap_or_default();
    for text in &found {
        assert!(findings.contains(text), "{text}: {seen}");
    }
    job.approve(3);
    // The end of a job is about all of it.
    let whole = job.place.run(&["review", &job.id, "--json"]).json();
    let phases: Vec<&Value> = whole["findings"].as_array().unwrap().iter().map(|one| &one["phase"]).collect();
    assert!(phases.contains(&&json!("phase-1-strategic")), "{phases:?}");
}
