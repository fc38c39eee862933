use checkrein_core::principal::Role;
use serde_json::json;

use super::{page, person};
use crate::frame::make;
use crate::place::Place;

#[test]
fn sessions_their_flame_graph_and_what_is_behind_a_frame() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    make(&agent, "s1", &json!({"move": "push", "goal": "Build <script>alert(1)</script>"}));
    make(&agent, "s1", &json!({"move": "push", "goal": "Parse it"}));
    make(&agent, "s1", &json!({"move": "pop", "status": "failed", "summary": "a <b>bold</b> summary"}));
    let ann = person(&place, Role::Viewer, "ann");
    let list = page(&ann, "/frames");
    assert!(list.contains("href=\"/frames/s1\"") && list.contains("2 frames"), "{list}");
    let shown = page(&ann, "/frames/s1?frame=f2&width=time&search=parse");
    for part in [
        "<svg",
        "data-frame=\"f2\" data-status=\"failed\" opacity=\"1\"",
        "data-frame=\"f1\" data-status=\"in_progress\" opacity=\"0.25\"",
        "a &lt;b&gt;bold&lt;/b&gt; summary",
        "ended failed",
        "href=\"/frames/s1?width=time&amp;search=parse&amp;frame=f1\"",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!shown.contains("<script>alert") && !shown.contains("<b>bold"), "{shown}");
    ann.get("/frames/none").expect(404);
    ann.get("/frames/s1?frame=f9").expect(404);
}

#[test]
fn without_a_session_it_says_how_to_begin() {
    let place = Place::new();
    assert!(
        page(&person(&place, Role::Viewer, "ann"), "/frames").contains("checkrein init --client claude-code")
    );
}
