use checkrein_core::principal::Role;
use std::io::Write;

use super::{cloned, url};
use crate::job::create::{git, try_git};
use crate::job::{at_its_plan, making, next_round, of_agent};

#[test]
fn whoever_may_look_clones_and_fetches() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    for (role, name) in [(Role::Viewer, "viewer"), (Role::Reviewer, "reviewer"), (Role::Admin, "admin")] {
        let clone = cloned(&place, &place.token(role, name), &job, name);
        assert!(std::fs::read_to_string(clone.join("plan.md")).unwrap().contains("the cat"));
        let branches = git(&clone, &["for-each-ref", "--format=%(refname)", "refs/remotes"]);
        assert!(!branches.contains("checkrein"), "{branches}");
    }
    // The older ways of speaking, and packed questions: many commits make them long.
    let clone = place.path().join("viewer");
    for number in 0..300 {
        git(&clone, &["commit", "--quiet", "--allow-empty", "--message", &number.to_string()]);
    }
    next_round(&ann, &job, &id, &serde_json::json!([]));
    for version in ["0", "1", "2"] {
        git(&clone, &["-c", &format!("protocol.version={version}"), "fetch", "--quiet", "origin"]);
        let plan = git(&clone, &["show", "origin/phase-1-strategic:plan.md"]);
        assert!(plan.contains("the dog"), "{plan}");
        git(&clone, &["update-ref", "-d", "refs/remotes/origin/phase-1-strategic"]);
    }
    git(
        place.path(),
        &["clone", "--quiet", "--depth", "1", &url(&place, &place.token(Role::Viewer, "v"), &job), "flat"],
    );
}

#[test]
fn a_question_may_be_packed() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, _) = at_its_plan(&ann);
    let path = format!("/git/{job}.git/git-upload-pack");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(b"0014command=ls-refs\n00010009peel\n0000").unwrap();
    let packed = packer.finish().unwrap();
    let asking = ann
        .clone()
        .header("Content-Type", "application/x-git-upload-pack-request")
        .header("Git-Protocol", "version=2")
        .header("Content-Encoding", "gzip");
    let answer = asking.send_bytes("POST", &path, &packed).expect(200);
    assert!(answer.body.contains("refs/heads/phase-1-strategic"), "{answer:?}");
    asking.send_bytes("POST", &path, b"0000").refused(400, "malformed");
    asking
        .clone()
        .header("Content-Encoding", "br")
        .send_bytes("POST", &path, b"x")
        .refused(415, "unsupported-media-type");
    ann.send("POST", &path, Some("0000")).refused(415, "unsupported-media-type");
}

#[test]
fn an_agent_clones_nothing_not_even_its_own() {
    let place = making().start();
    let token = place.token(Role::Agent, "bot");
    let (job, _) = of_agent(&place, &token);
    let (said, done) = try_git(place.path(), &["clone", &url(&place, &token, &job), "c"]);
    assert!(!done && said.contains("403"), "{said}");
    let (said, done) = try_git(place.path(), &["clone", &url(&place, "chk_wrong", &job), "c"]);
    assert!(!done && said.contains("Authentication failed"), "{said}");
}
