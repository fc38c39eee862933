use checkrein_core::principal::Role;
use serde_json::{Value, json};

use super::{cloned, commit, refused, url};
use crate::job::create::{git, try_git};
use crate::job::{at_its_plan, digest, held_again, making};
use crate::place::Client;

fn review(client: &Client, id: &str) -> Value {
    client.get(&format!("/v1/checkpoints/{id}/review")).expect(200).json()
}

#[test]
fn the_review_is_of_what_was_pushed() {
    let place = making().start();
    let token = place.token(Role::Reviewer, "ann");
    let ann = place.bearer(&token);
    let (job, id) = at_its_plan(&ann);
    let before = digest(&ann, &id);
    let clone = cloned(&place, &token, &job, "clone");
    let head = commit(&clone, "mine.md", "from me\n");
    git(&clone, &["push", "--quiet", "origin", "phase-1-strategic"]);
    // It moved with the push, before anybody looks at the review.
    let checkpoint = ann.get(&format!("/v1/checkpoints/{id}")).expect(200).json();
    assert_ne!(checkpoint["digest"], before);
    let moved = ann.get(&format!("/v1/runs/{job}/events")).expect(200).body;
    assert!(moved.contains("\"review_moved\""), "{moved}");
    let review = review(&ann, &id);
    assert_eq!(json!([review["moved"], review["head"], review["round"]]), json!([true, head, 1]));
    let mine = review["commits"].as_array().unwrap().iter().find(|commit| commit["id"] == head).unwrap();
    assert_eq!(json!([mine["human"], mine["author"]]), json!([true, "ann"]));
    let verdict = format!("/v1/checkpoints/{id}/verdict");
    ann.post(&verdict, &json!({"verdict": "approve", "digest": before})).refused(409, "stale-digest");
    ann.post(&verdict, &json!({"verdict": "approve", "digest": head})).expect(200);
    held_again(&ann, &job, "phase-3-strategic", 1);
    git(&clone, &["fetch", "--quiet", "origin"]);
    assert_eq!(git(&clone, &["show", "origin/main:mine.md"]), "from me");
    // The branch is merged and gone, and nobody brings it back.
    commit(&clone, "late.md", "too late\n");
    let said = refused(&clone, &["phase-1-strategic"]);
    assert!(said.contains("hidden ref"), "{said}");
}

#[test]
fn only_forward_and_only_to_the_branch_that_is_open() {
    let place = making().start();
    let token = place.token(Role::Admin, "root");
    let admin = place.bearer(&token);
    let (job, id) = at_its_plan(&admin);
    let before = digest(&admin, &id);
    let clone = cloned(&place, &token, &job, "clone");
    let theirs = git(&clone, &["ls-remote", "origin"]);
    commit(&clone, "mine.md", "from me\n");
    for (arguments, expected) in [
        (vec!["HEAD:refs/heads/main"], "hidden ref"),
        (vec!["HEAD:refs/heads/phase-2-tactical"], "hidden ref"),
        (vec!["HEAD:refs/heads/phase-1-strategic-rev-2"], "hidden ref"),
        (vec!["HEAD:refs/heads/phase-1-strategic/x"], "rejected"),
        (vec!["HEAD:refs/tags/v1"], "hidden ref"),
        (vec!["HEAD:refs/checkrein/clones/x"], "hidden ref"),
        (vec!["--force", "HEAD~2:refs/heads/phase-1-strategic"], "non-fast-forward"),
        (vec!["--delete", "phase-1-strategic"], "deletion prohibited"),
        (vec!["--push-option=x", "HEAD:refs/heads/phase-1-strategic"], "push options"),
    ] {
        let said = refused(&clone, &arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    assert_eq!(git(&clone, &["ls-remote", "origin"]), theirs, "nothing was changed");
    assert_eq!(digest(&admin, &id), before);
    // What may be pushed together with what may not.
    let main = git(&clone, &["ls-remote", "origin", "refs/heads/main"]);
    let said = refused(&clone, &["--force", "--mirror"]);
    assert!(said.contains("rejected"), "{said}");
    assert_ne!(digest(&admin, &id), before, "the open branch went forward");
    assert_eq!(git(&clone, &["ls-remote", "origin", "refs/heads/main"]), main);
    assert_eq!(git(&clone, &["ls-remote", "origin"]).lines().count(), theirs.lines().count());
    // Nothing is open once the job is over.
    admin.send("POST", &format!("/v1/runs/{job}/cancel"), None).expect(200);
    commit(&clone, "late.md", "too late\n");
    let said = refused(&clone, &["HEAD:phase-1-strategic"]);
    assert!(said.contains("409"), "{said}");
}

#[test]
fn what_is_broken_or_too_large_stays_out() {
    let place = making().limits(|limits| limits.git_bytes_max = 100_000).start();
    let token = place.token(Role::Reviewer, "ann");
    let ann = place.bearer(&token);
    let (job, id) = at_its_plan(&ann);
    let before = digest(&ann, &id);
    let clone = cloned(&place, &token, &job, "clone");
    let noise: String =
        (0..40_000_u64).map(|n| format!("{:x}\n", n.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect();
    commit(&clone, "large", &noise);
    let said = refused(&clone, &["HEAD:phase-1-strategic"]);
    assert!(said.contains("413") || said.contains("rejected") || said.contains("hung up"), "{said}");
    assert_eq!(digest(&ann, &id), before);
    // A directory called .git in a tree is for whoever checks it out.
    let clone = cloned(&place, &token, &job, "other");
    let blob = git(&clone, &["rev-parse", "HEAD:plan.md"]);
    std::fs::write(place.path().join("tree"), format!("100644 blob {blob}\t.git\n")).unwrap();
    let tree = std::process::Command::new("sh")
        .args(["-c", "git mktree < ../tree"])
        .current_dir(&clone)
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap().trim().to_owned();
    let bad = git(&clone, &["commit-tree", "-p", "HEAD", "-m", "bad", &tree]);
    let said = refused(&clone, &[&format!("{bad}:refs/heads/phase-1-strategic")]);
    assert!(said.contains("hasDotgit"), "{said}");
    assert_eq!(digest(&ann, &id), before);
}

#[test]
fn nobody_pushes_who_may_not_decide() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let before = digest(&ann, &id);
    let viewer = place.token(Role::Viewer, "vic");
    let clone = cloned(&place, &viewer, &job, "clone");
    commit(&clone, "mine.md", "from me\n");
    let said = refused(&clone, &["phase-1-strategic"]);
    assert!(said.contains("403"), "{said}");
    let agent = url(&place, &place.token(Role::Agent, "bot"), &job);
    let (said, done) = try_git(&clone, &["push", &agent, "phase-1-strategic"]);
    assert!(!done && said.contains("403"), "{said}");
    for role in [Role::Viewer, Role::Agent] {
        let client = place.as_role(role).header("Content-Type", "application/x-git-receive-pack-request");
        client
            .send("POST", &format!("/git/{job}.git/git-receive-pack"), Some("0000"))
            .refused(403, "forbidden");
    }
    assert_eq!(digest(&ann, &id), before);
}

/// Somebody who goes away in the middle leaves nothing behind.
#[test]
fn a_push_that_breaks_off_changes_nothing() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let head = review(&ann, &id)["head"].as_str().unwrap().to_owned();
    let command = format!("{head} {} refs/heads/phase-1-strategic\0 report-status", "1".repeat(40));
    let line = format!("{:04x}{command}0000PACK", command.len() + 4);
    let client = ann
        .clone()
        .header("Content-Type", "application/x-git-receive-pack-request")
        .header("Content-Length", "1000000");
    drop(client.open("POST", &format!("/git/{job}.git/git-receive-pack"), Some(&line)));
    let objects = place.path().join("jobs").join(&job).join("repository.git/objects");
    let halves = || {
        let names = std::fs::read_dir(&objects).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with("tmp_objdir")).count()
    };
    // What receives was started or not; soon there is nothing of it in either case.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while halves() > 0 && std::time::Instant::now() < until {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(halves(), 0);
    assert_eq!(review(&ann, &id)["head"], head);
    // And the branch can be pushed to.
    let token = place.token(Role::Reviewer, "bea");
    let clone = cloned(&place, &token, &job, "clone");
    commit(&clone, "mine.md", "from me\n");
    git(&clone, &["push", "--quiet", "origin", "phase-1-strategic"]);
}

#[test]
fn whoever_stops_in_the_middle_or_never_stops_is_not_waited_for() {
    let place = making()
        .limits(|limits| {
            limits.body_time_max = std::time::Duration::from_millis(200);
            limits.git_bytes_max = 10_000;
        })
        .start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let head = review(&ann, &id)["head"].as_str().unwrap().to_owned();
    let command = format!("{head} {} refs/heads/phase-1-strategic\0 report-status", "1".repeat(40));
    let begun = format!("{:04x}{command}0000", command.len() + 4);
    let path = format!("/git/{job}.git/git-receive-pack");
    let client = ann.clone().header("Content-Type", "application/x-git-receive-pack-request");
    client
        .clone()
        .header("Content-Length", "1000000")
        .send("POST", &path, Some(&begun))
        .refused(408, "too-slow");
    // What names a command and never comes to an end.
    let more = "0035shallow 1111111111111111111111111111111111111111\n".repeat(400);
    client.send("POST", &path, Some(&more)).refused(413, "too-large");
    assert_eq!(review(&ann, &id)["head"], head);
}

/// Git sends what is large in pieces, after it was told to go on.
#[test]
fn what_is_large_comes_in_pieces() {
    let place = making().start();
    let token = place.token(Role::Reviewer, "ann");
    let ann = place.bearer(&token);
    let (job, id) = at_its_plan(&ann);
    let clone = cloned(&place, &token, &job, "clone");
    let mut state = 7_u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).to_le_bytes()[0]
    });
    std::fs::write(clone.join("noise"), noise.take(4 << 20).collect::<Vec<u8>>()).unwrap();
    let head = commit(&clone, "mine.md", "from me\n");
    git(&clone, &["push", "--quiet", "origin", "phase-1-strategic"]);
    let review = review(&ann, &id);
    assert_eq!(review["head"], head);
    let files = review["diff"]["files"].as_array().unwrap();
    assert_eq!(files.iter().find(|file| file["path"] == "noise").unwrap()["binary"], true);
    let again = cloned(&place, &token, &job, "again");
    assert_eq!(again.join("noise").metadata().unwrap().len(), 4 << 20);
}
