use checkrein_core::principal::Role;

use crate::place::Place;

#[test]
fn every_value_has_its_source() {
    let place = Place::making().settings("autonomy: { job: { level: guided } }").start();
    let explained = place.as_role(Role::Viewer).get("/v1/policies/explain?scope=job").expect(200).json();
    assert_eq!(explained["policy"]["level"], "guided");
    assert_eq!(explained["sources"]["level"]["rank"], "project_config", "{explained}");
}
