use checkrein_core::principal::Role;
use serde_json::json;

use super::{start, until};
use crate::place::Place;

#[test]
fn what_the_steps_wrote_without_secrets_and_commands_to_a_terminal() {
    let settings = "secrets: [API_KEY]";
    let place = Place::making().settings(settings).env("API_KEY", "hunter2hunter2").working().start();
    let admin = place.as_role(Role::Admin);
    let workflow = json!({"id": "w", "phases": {"build": {"steps": [
        {"id": "a", "run": "printf 'one \\033[31mred\\n'; echo two >&2"},
        {"id": "b", "run": "echo hunter2hunter2"},
    ]}}});
    let id = start(&admin, &workflow);
    until(&admin, &id, "run_ended");
    let answer = admin.get(&format!("/v1/runs/{id}/output")).expect(200);
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(
        answer.body.starts_with("── build:a\none ") && answer.body.contains("two\n── build:b\n"),
        "{answer:?}"
    );
    assert!(!answer.body.contains('\x1b') && !answer.body.contains("hunter2"), "{answer:?}");
    let one = admin.get(&format!("/v1/runs/{id}/output?step=build:b")).expect(200).body;
    assert!(one.starts_with("── build:b\n") && !one.contains("build:a"), "{one}");
    let listed = admin.get(&format!("/v1/runs/{id}/output?as=json")).expect(200).json();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["task"]), (2, &json!("build:a")));
    assert_eq!((&listed[0]["attempt"], &listed[0]["stderr"]), (&json!(1), &json!("two\n")));
    assert!(!listed.to_string().contains("hunter2"), "{listed}");
    admin.get("/v1/runs/none/output").refused(404, "not-found");
}
