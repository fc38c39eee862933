use checkrein_core::principal::Role;

use crate::job::{at_its_plan, making, of_agent};

#[test]
fn on_the_branch_and_before() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (_, id) = at_its_plan(&ann);
    let paths = |side: &str| -> Vec<String> {
        let tree = ann.get(&format!("/v1/checkpoints/{id}/files{side}")).expect(200).json();
        let files = tree["files"].as_array().unwrap().clone();
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    assert!(paths("").contains(&"plan.md".to_owned()));
    assert!(!paths("?side=base").contains(&"plan.md".to_owned()));
    ann.get(&format!("/v1/checkpoints/{id}/files?side=both")).refused(400, "malformed");
}

#[test]
fn not_for_agents() {
    let place = making().start();
    let token = place.token(Role::Agent, "bot");
    let (_, id) = of_agent(&place, &token);
    place.bearer(&token).get(&format!("/v1/checkpoints/{id}/files")).refused(403, "forbidden");
    place.as_role(Role::Viewer).get(&format!("/v1/checkpoints/{id}/files")).expect(200);
}
