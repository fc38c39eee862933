use checkrein_core::principal::Role;

use crate::checkpoint::ask;
use crate::place::Place;

#[test]
fn requests_and_what_waits_are_counted() {
    let place = Place::new();
    let agent = place.as_role(Role::Agent);
    ask(&agent, "c1");
    agent.get("/v1/checkpoints/c1").expect(200);
    agent.get("/v1/checkpoints/none").refused(404, "not-found");
    place.client().get("/nothing/at/all").refused(404, "not-found");
    let answer = agent.get("/metrics").expect(200);
    assert!(answer.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    for line in [
        r#"checkrein_http_requests_total{method="GET",route="/v1/checkpoints/{id}",status="200"} 1"#,
        r#"checkrein_http_requests_total{method="GET",route="/v1/checkpoints/{id}",status="404"} 1"#,
        r#"checkrein_http_requests_total{method="POST",route="/v1/checkpoints",status="201"} 1"#,
        r#"checkrein_http_requests_total{method="GET",route="none",status="404"} 1"#,
        "checkrein_checkpoints_pending 1",
        "checkrein_event_listeners 0",
    ] {
        assert!(answer.body.contains(line), "{line}\n{}", answer.body);
    }
    let count =
        r#"checkrein_http_request_duration_seconds_count{method="GET",route="/v1/checkpoints/{id}"} 2"#;
    assert!(answer.body.contains(count), "{}", answer.body);
    place.client().get("/metrics").refused(401, "unauthenticated");
}
