use checkrein_core::principal::Role;
use serde_json::json;

use super::{page, person};
use crate::job::{at_its_plan, making};

/// The value of an attribute of the region that the script looks at.
fn said(page: &str, name: &str) -> String {
    let region = page.split_once("id=\"now\"").unwrap_or_else(|| panic!("no region in {page}")).1;
    let value = region.split_once(&format!("{name}=\"")).unwrap_or_else(|| panic!("no `{name}` in {region}"));
    value.1.split_once('"').unwrap().0.to_owned()
}

#[test]
fn what_happens_is_looked_up_on_a_small_page() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (job, id) = at_its_plan(&ann);
    let vic = person(&place, Role::Viewer, "vic");
    let whole = page(&vic, &format!("/reviews/{id}"));
    let address = format!("/reviews/{id}/now");
    assert!(whole.contains(&format!("data-looks-at=\"{address}\"")), "{whole}");
    let small = page(&vic, &address);
    assert!(!small.contains("the cat sat on the mat"), "{small}");
    for name in ["data-head", "data-status", "data-comments"] {
        assert_eq!(said(&small, name), said(&whole, name), "{name}");
    }
    assert_eq!(
        (said(&small, "data-status").as_str(), said(&small, "data-comments").as_str()),
        ("pending", "0")
    );
    ann.post(&format!("/v1/checkpoints/{id}/comments"), &json!({"text": "hm"})).expect(201);
    let head = said(&small, "data-head");
    let small = page(&vic, &address);
    assert_eq!(said(&small, "data-comments"), "1");
    ann.post(
        &format!("/v1/checkpoints/{id}/verdict"),
        &json!({"verdict": "reject", "reason": "no", "digest": head}),
    )
    .expect(200);
    let small = page(&vic, &address);
    assert_eq!(said(&small, "data-status"), "rejected");
    assert!(vic.get(&format!("/reviews/{job}.9/now")).expect(404).body.contains("There is nothing here"));
}

#[test]
fn a_review_says_how_to_clone_its_branch() {
    let place = making().start();
    let (job, id) = at_its_plan(&place.as_role(Role::Reviewer));
    let shown = page(&person(&place, Role::Viewer, "vic"), &format!("/reviews/{id}"));
    assert!(shown.contains(&format!("git clone http://{}/git/{job}.git", place.address)), "{shown}");
}
