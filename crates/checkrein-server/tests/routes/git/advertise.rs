use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use checkrein_core::principal::Role;

use crate::job::{at_its_plan, making};
use crate::run::{start, workflow};

#[test]
fn a_token_is_the_password_and_git_is_asked_for_one() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, _) = at_its_plan(&ann);
    let path = format!("/git/{job}.git/info/refs?service=git-upload-pack");
    let nobody = place.client().get(&path);
    assert_eq!(nobody.header("www-authenticate"), Some("Basic realm=\"checkrein\""));
    nobody.refused(401, "unauthenticated");
    let token = place.token(Role::Viewer, "vic");
    let basic = |pair: &str| {
        place.client().header("Authorization", &format!("Basic {}", BASE64_STANDARD.encode(pair)))
    };
    for good in [format!("vic:{token}"), format!("x:{token}"), format!("{token}:")] {
        let answer = basic(&good).get(&path).expect(200);
        assert_eq!(answer.header("content-type"), Some("application/x-git-upload-pack-advertisement"));
        assert!(answer.body.contains("refs/heads/phase-1-strategic"), "{answer:?}");
    }
    for bad in ["vic:wrong".to_owned(), "vic".to_owned(), format!("{token}:x")] {
        basic(&bad).get(&path).refused(401, "unauthenticated");
    }
    // Elsewhere a password says nothing.
    basic(&format!("vic:{token}")).get("/v1/jobs").refused(401, "unauthenticated");
    // A browser that remembers a password does not send it for another site.
    basic(&format!("vic:{token}"))
        .header("Origin", "http://evil.example")
        .send("POST", &format!("/git/{job}.git/git-upload-pack"), Some("0000"))
        .refused(403, "cross-site");
    // Nor is a session enough, which a browser sends by itself.
    place
        .client()
        .header("Cookie", &format!("checkrein_session=t.{token}"))
        .get(&path)
        .refused(401, "unauthenticated");
}

#[test]
fn only_of_jobs_by_their_whole_names() {
    let place = making().start();
    let admin = place.as_role(Role::Admin);
    let (job, _) = at_its_plan(&admin);
    let run = start(&admin, &workflow("true"));
    let ask = |name: &str, query: &str| admin.get(&format!("/git/{name}/info/refs{query}"));
    let fetch = "?service=git-upload-pack";
    ask(&job, fetch).expect(200);
    ask(&format!("{job}.git"), fetch).expect(200);
    for name in [
        "none.git",
        &format!("{}.git", &job[job.len() - 5..]),
        "..%2F..%2Fstore.db",
        &format!("{job}.git%2F..%2F..%2F..%2Fstore.db"),
        &format!("..%2F{job}"),
        "%2Fetc",
    ] {
        ask(name, fetch).refused(404, "not-found");
    }
    ask(&run, fetch).refused(422, "invalid");
    for query in ["", "?service=git-upload-archive", "?service=upload-pack", "?service=git-upload-pack&x=1"] {
        ask(&job, query).refused(400, "malformed");
    }
    // Files of the repository are not given one by one.
    for path in ["HEAD", "config", "objects/info/packs", "info/attributes"] {
        admin.get(&format!("/git/{job}.git/{path}")).refused(404, "not-found");
    }
}

#[test]
fn an_agent_is_shown_nothing_and_a_viewer_not_where_to_push() {
    let place = making().start();
    let admin = place.as_role(Role::Admin);
    let (job, _) = at_its_plan(&admin);
    let fetch = format!("/git/{job}.git/info/refs?service=git-upload-pack");
    let push = format!("/git/{job}.git/info/refs?service=git-receive-pack");
    place.as_role(Role::Viewer).get(&fetch).expect(200);
    place.as_role(Role::Viewer).get(&push).refused(403, "forbidden");
    for path in [&fetch, &push] {
        place.as_role(Role::Agent).get(path).refused(403, "forbidden");
    }
    // Where to push is one branch, and nothing is said about others.
    let told = place.as_role(Role::Reviewer).get(&push).expect(200).body;
    assert!(told.contains("refs/heads/phase-1-strategic"), "{told}");
    assert!(!told.contains("refs/heads/main") && !told.contains("refs/checkrein"), "{told}");
}
