use checkrein_core::principal::Role;

use super::{start, until};
use crate::place::Place;

#[test]
fn in_every_form() {
    let place = Place::making().working().start();
    let admin = place.as_role(Role::Admin);
    let warn = r#"echo '{"status": "warning", "warnings": ["Line <b>too</b> long"]}'"#;
    let id = start(&admin, &super::workflow(warn));
    until(&admin, &id, "run_ended");
    let report = |query: &str| admin.get(&format!("/v1/runs/{id}/report{query}")).expect(200);
    assert_eq!(report("").json()["totals"]["warnings"], 1);
    for (query, media_type, expected) in [
        ("?as=text", "text/plain", "WORKFLOW EXECUTION REPORT"),
        ("?as=text&format=minimal", "text/plain", "TOTALS"),
        ("?as=markdown", "text/markdown", "# "),
        ("?as=html", "text/html", "&lt;b&gt;too&lt;/b&gt;"),
        ("?as=junit", "application/xml", "<testsuites"),
        ("?as=sarif", "application/sarif+json", "\"version\":\"2.1.0\""),
    ] {
        let answer = report(query);
        assert!(answer.header("content-type").unwrap().starts_with(media_type), "{query}: {answer:?}");
        assert!(answer.body.contains(expected), "{query}: {}", answer.body);
    }
    // What steps wrote must not act for whoever looks at it.
    let policy = report("?as=html");
    assert_eq!(
        policy.header("content-security-policy"),
        Some("sandbox allow-scripts; frame-ancestors 'none'")
    );
    admin.get(&format!("/v1/runs/{id}/report?as=pdf")).refused(400, "malformed");
    admin.get("/v1/runs/none/report").refused(404, "not-found");
}
