use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use checkrein_core::principal::Role;
use checkrein_engine::NewJob;
use serde_json::json;

use super::{AGENT, give, held, making};
use crate::place::{Client, Place};
use crate::run::until;

fn jobs(client: &Client) -> usize {
    client.get("/v1/jobs").expect(200).json()["items"].as_array().unwrap().len()
}

#[test]
fn a_worker_takes_it_up_with_all_that_was_handed_over() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let sent = json!({
        "description": "write a letter\nto everybody",
        "expert": "writer",
        "autonomy": "guided",
        "documents": [
            {"name": "style.md", "text": "short words"},
            {"name": "logo", "base64": BASE64_STANDARD.encode([0, 159, 146, 150])},
        ],
        "config_override": {"instructions": "be kind", "timeout": "10m", "merge": "rebase"},
    });
    let answer = ann.post("/v1/jobs", &sent).expect(201);
    let made = answer.json();
    let id = made["run_id"].as_str().unwrap();
    assert_eq!(answer.header("location").unwrap(), format!("/v1/jobs/{id}"));
    assert_eq!(answer.header("etag"), Some("\"1\""));
    assert_eq!(
        json!([
            made["status"],
            made["expert"],
            made["level"],
            made["config"]["timeout"],
            made["config"]["merge"]
        ]),
        json!(["created", "writer", "guided", "10m", "rebase"])
    );
    assert_eq!(made["config"]["documents"], json!(["style.md", "logo"]));
    assert_eq!(made["config"]["instructions"], "be kind");
    let checkpoint = held(&ann, id);
    let review = ann.get(&format!("/v1/checkpoints/{checkpoint}/review")).expect(200).json();
    assert_eq!(review["artefacts"][0]["path"], "plan.md");
    let clone = place.path().join("clone");
    let bare = place.path().join("jobs").join(id).join("repository.git");
    git(place.path(), &["clone", "--quiet", bare.to_str().unwrap(), "clone"]);
    assert_eq!(std::fs::read_to_string(clone.join("documents/style.md")).unwrap(), "short words");
    assert_eq!(std::fs::read(clone.join("documents/logo")).unwrap(), [0, 159, 146, 150]);
}

#[test]
fn a_plan_of_ones_own_is_followed_at_once() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let id = give(
        &ann,
        &json!({"description": "write it", "plan": "# Mine\n\n- [ ] write it\n", "autonomy": "review"}),
    );
    held(&ann, &id);
    let job = ann.get(&format!("/v1/jobs/{id}")).expect(200).json();
    assert_eq!(job["plan"], "# Mine\n\n- [ ] write it\n");
}

#[test]
fn what_is_secret_of_a_datasource_is_in_no_answer() {
    let place = making().start();
    let admin = place.as_role(Role::Admin);
    let sent = json!({"description": "read it", "datasources": {"db": "postgres://ann:s3cr3t-pw@db/orders?token=t0k3n-x"}});
    let answer = admin.post("/v1/jobs", &sent).expect(201);
    let made = answer.json();
    let id = made["run_id"].as_str().unwrap();
    assert_eq!(
        made["config"]["datasources"][0],
        json!({"name": "db", "variable": "CHECKREIN_DATASOURCE_DB", "address": "postgres://ann:***@db/orders?token=***"})
    );
    let checkpoint = held(&admin, id);
    let mut said = answer.body.clone();
    for path in [
        "/v1/jobs".to_owned(),
        format!("/v1/jobs/{id}"),
        format!("/v1/runs/{id}"),
        format!("/v1/runs/{id}/report"),
        format!("/v1/runs/{id}/report?as=html"),
        format!("/v1/runs/{id}/log"),
        format!("/v1/runs/{id}/output"),
        format!("/v1/runs/{id}/events"),
        format!("/v1/checkpoints/{checkpoint}"),
        format!("/v1/checkpoints/{checkpoint}/review"),
        format!("/v1/checkpoints/{checkpoint}/comments"),
    ] {
        said.push_str(&admin.get(&path).expect(200).body);
    }
    // The agent did write it down, and it is on the branch.
    assert!(said.contains("read ***"), "{said}");
    for secret in ["s3cr3t-pw", "t0k3n-x"] {
        assert!(!said.contains(secret), "{said}");
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_recorded() {
    let place = making().start();
    let admin = place.as_role(Role::Admin);
    let text = |name: &str| json!({"name": name, "text": "x"});
    for (sent, expected) in [
        (json!({}), "description"),
        (json!({"description": " "}), "`description` is empty"),
        (json!({"description": "x", "descripton": "x"}), "unknown key `descripton`"),
        (json!({"description": "x", "expert": "codr"}), "unknown expert `codr`"),
        (json!({"description": "x", "autonomy": "wild"}), "wild"),
        (json!({"description": "x", "autonomy": {"hold": 1}}), "unknown key"),
        (json!({"description": "x", "config_override": {"agnt": "x"}}), "unknown key `agnt`"),
        (json!({"description": "x", "config_override": {"$extends": "coder"}}), "extends nothing"),
        (json!({"description": "x", "documents": [text("../x")]}), "cannot be the name of a document"),
        (json!({"description": "x", "documents": [text(".git")]}), "cannot be the name of a document"),
        (json!({"description": "x", "documents": [text("")]}), "cannot be the name of a document"),
        (json!({"description": "x", "documents": [text(".GIT")]}), "cannot be the name of a document"),
        (json!({"description": "x", "documents": [text("a"), text("a")]}), "two documents"),
        (json!({"description": "x", "documents": [{"name": "a"}]}), "either `text` or `base64`"),
        (json!({"description": "x", "documents": [{"name": "a", "text": "", "base64": ""}]}), "either"),
        (json!({"description": "x", "documents": [{"name": "a", "base64": "%"}]}), "not Base64"),
        (
            json!({"description": "x", "documents": [{"name": "a", "path": "/etc/passwd"}]}),
            "unknown key `path`",
        ),
        (json!({"description": "x", "datasources": {"": "x"}}), "no name"),
        (json!({"description": "x", "repo": "somewhere"}), "no whole path"),
        (json!({"description": "x", "repo": "/nonexistent"}), "no git repository"),
    ] {
        let problem = admin.post("/v1/jobs", &sent).refused(422, "invalid");
        assert!(problem["detail"].as_str().unwrap().contains(expected), "{sent}: {problem}");
    }
    assert_eq!(jobs(&admin), 0);
    assert!(!place.path().join("jobs").exists());
    let nobody = Place::new();
    let problem =
        nobody.as_role(Role::Admin).post("/v1/jobs", &json!({"description": "x"})).refused(422, "invalid");
    assert!(problem["hint"].as_str().unwrap().contains("agent"), "{problem}");
}

/// Whoever names a command or a place could have anything done on the server's machine.
#[test]
fn what_reaches_out_of_the_job_takes_an_administrator() {
    let place = making().start();
    let repo = place.path().join("repo");
    repository(&repo);
    let reviewer = place.as_role(Role::Reviewer);
    let admin = place.as_role(Role::Admin);
    let reaching = [
        json!({"agent": "touch /tmp/x"}),
        json!({"agent": "cmd:./x"}),
        json!({"repo": repo, "agent": AGENT}),
        json!({"config_override": {"agent": "x"}}),
        json!({"config_override": {"environment": ["CHECKREIN_TOKEN"]}}),
        json!({"config_override": {"sandbox": false}}),
        json!({"config_override": {"disk_bytes": 1_000_000_000_000_u64}}),
    ];
    for extra in &reaching {
        let mut sent = json!({"description": "x"});
        sent.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        reviewer.post("/v1/jobs", &sent).refused(403, "forbidden");
        assert_eq!(jobs(&admin), 0, "{sent}");
    }
    for role in [Role::Viewer, Role::Agent] {
        place.as_role(role).post("/v1/jobs", &json!({"description": "x"})).refused(403, "forbidden");
    }
    for (extra, number) in reaching.iter().zip(1..) {
        let mut sent = json!({"description": "x"});
        sent.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        admin.post("/v1/jobs", &sent).expect(201);
        assert_eq!(jobs(&admin), number, "{sent}");
    }
    let mild = json!({"description": "x", "config_override": {"autonomy": "full", "idle_timeout": "none"}});
    reviewer.post("/v1/jobs", &mild).expect(201);
}

#[test]
fn in_a_repository_that_is_there_for_an_administrator() {
    let place = making().start();
    let repo = place.path().join("repo");
    repository(&repo);
    let admin = place.as_role(Role::Admin);
    let id =
        give(&admin, &json!({"description": "write it", "repo": repo, "agent": AGENT, "autonomy": "full"}));
    let ended = until(&admin, &id, "run_ended");
    assert_eq!(ended["status"], "completed", "{ended}");
    // What was checked out is left alone, and the result is beside it.
    assert!(!repo.join("work.txt").exists());
    let branches = git(&repo, &["branch", "--list", "--format=%(refname:short)"]);
    assert!(branches.contains(&format!("checkrein/{id}/")), "{branches}");
}

#[test]
fn a_request_that_is_sent_again_gives_one_job() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer).header("Idempotency-Key", "j1");
    let sent = json!({"description": "write it", "documents": [{"name": "a", "text": "x"}]});
    let first = ann.post("/v1/jobs", &sent).expect(201);
    let second = ann.post("/v1/jobs", &sent).expect(201);
    assert_eq!(first.body, second.body);
    assert_eq!(second.header("idempotency-replayed"), Some("true"));
    assert_eq!(jobs(&ann), 1);
    ann.post("/v1/jobs", &json!({"description": "another"})).refused(422, "idempotency-key-reused");
}

pub fn repository(at: &Path) {
    std::fs::create_dir(at).unwrap();
    git(at, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(at.join("readme"), "hello\n").unwrap();
    git(at, &["add", "--all"]);
    git(at, &["commit", "--quiet", "--message", "first"]);
}

pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let (said, done) = try_git(directory, arguments);
    assert!(done, "git {arguments:?}: {said}");
    said
}

/// What git says, as somebody with no settings.
pub fn try_git(directory: &Path, arguments: &[&str]) -> (String, bool) {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(arguments).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", "/nonexistent");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "ann").env(format!("GIT_{role}_EMAIL"), "ann@example.org");
    }
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (String::from_utf8_lossy(&said).trim().to_owned(), output.status.success())
}

#[test]
fn over_http_the_sandbox_is_what_a_job_gets() {
    let place = making().sandboxed().start();
    let admin = place.as_role(Role::Admin);
    let refused = admin
        .post("/v1/jobs", &json!({"description": "x", "config_override": {"sandbox": false}}))
        .refused(422, "invalid");
    assert!(refused["hint"].as_str().unwrap().contains("`sandbox: off`"), "{refused}");
    // The same where it is said beside: nothing that is written is ignored.
    admin.post("/v1/jobs", &json!({"description": "x", "sandbox": false})).refused(422, "invalid");
    let made = admin.post("/v1/jobs", &json!({"description": "x"})).expect(201).json();
    assert_eq!(made["config"]["isolation"], "sandbox");
    // One that was given on the machine without it gets it when it is run again from elsewhere.
    let new = NewJob { description: "x".to_owned(), directory: place.path().to_owned(), ..NewJob::default() };
    let (id, _) = place.wait(place.engine.create_job(&crate::place::admin(), new)).unwrap();
    let own = admin.get(&format!("/v1/jobs/{id}")).expect(200).json();
    assert_eq!(own["config"]["isolation"], "none");
    let again = admin.send("POST", &format!("/v1/runs/{id}/rerun"), None).expect(201).json();
    let again = admin.get(&format!("/v1/jobs/{}", again["run_id"].as_str().unwrap())).expect(200).json();
    assert_eq!(again["config"]["isolation"], "sandbox");
}
