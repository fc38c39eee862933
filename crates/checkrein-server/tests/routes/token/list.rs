use checkrein_core::principal::Role;

use crate::place::Place;

#[test]
fn all_without_secrets() {
    let place = Place::new();
    let secret = place.token(Role::Viewer, "v");
    let listed = place.as_role(Role::Admin).get("/v1/tokens").expect(200);
    let names: Vec<_> = listed.json().as_array().unwrap().iter().map(|token| token["name"].clone()).collect();
    assert_eq!(names, ["v", "admin"]);
    assert!(!listed.body.contains(&secret));
}
