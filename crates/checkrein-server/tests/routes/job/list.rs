use checkrein_core::principal::Role;
use serde_json::json;

use super::{at_its_plan, give, making};
use crate::run::{start, workflow};

#[test]
fn jobs_alone_by_status_and_expert_page_by_page() {
    let place = making().start();
    let admin = place.as_role(Role::Admin);
    start(&admin, &workflow("true"));
    let (first, _) = at_its_plan(&admin);
    let second = give(&admin, &json!({"description": "another", "expert": "writer"}));
    super::held(&admin, &second);
    let ids = |path: &str| -> Vec<String> {
        let page = admin.get(path).expect(200).json();
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["run_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids("/v1/jobs"), [second.clone(), first.clone()]);
    assert_eq!(ids("/v1/jobs?status=pending_review"), [second.clone(), first.clone()]);
    assert_eq!(ids("/v1/jobs?expert=writer"), [second.as_str()]);
    assert!(ids("/v1/jobs?status=completed").is_empty());
    assert_eq!(ids("/v1/runs").len(), 3);
    let page = admin.get("/v1/jobs?limit=1").expect(200).json();
    let job = &page["items"][0];
    assert_eq!(
        json!([job["run_id"], job["status"], job["phase"], job["round"]]),
        json!([second, "pending_review", "phase-1-strategic", 1])
    );
    assert_eq!(ids(&format!("/v1/jobs?limit=1&before={}", page["next"])), [first]);
    admin.get("/v1/jobs?workflow=x").refused(400, "malformed");
    let bot = place.as_role(Role::Agent);
    assert_eq!(bot.get("/v1/jobs").expect(200).json()["items"], json!([]));
}
