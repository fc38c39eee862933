use checkrein_core::principal::Role;

use crate::job::{at_its_plan, making};

#[test]
fn with_its_text() {
    let place = making().start();
    let ann = place.as_role(Role::Reviewer);
    let (_, id) = at_its_plan(&ann);
    let file = ann.get(&format!("/v1/checkpoints/{id}/file?path=plan.md")).expect(200).json();
    assert!(file["text"].as_str().unwrap().contains("the cat sat"), "{file}");
    assert_eq!((&file["mode"], &file["path"]), (&"100644".into(), &"plan.md".into()));
    for path in ["none.md", "../plan.md", "/etc/passwd", ".git/config", "", "plan.md%00"] {
        ann.get(&format!("/v1/checkpoints/{id}/file?path={path}")).refused(404, "not-found");
    }
    ann.get(&format!("/v1/checkpoints/{id}/file?path=plan.md&side=base")).refused(404, "not-found");
    ann.get(&format!("/v1/checkpoints/{id}/file")).refused(400, "malformed");
}
