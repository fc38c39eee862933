use checkrein_core::principal::Role;

use crate::place::Place;

#[test]
fn all_without_secrets() {
    let place = Place::new();
    let secret = place.token(Role::Viewer, "v");
    let listed = place.as_role(Role::Admin).get("/v1/tokens").expect(200);
    let names: Vec<_> =
        listed.json()["items"].as_array().unwrap().iter().map(|token| token["name"].clone()).collect();
    assert_eq!(names, ["v", "admin"]);
    assert!(!listed.body.contains(&secret));
}

#[test]
fn part_by_part() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    for name in ["a", "b", "c"] {
        place.token(Role::Viewer, name);
    }
    let first = admin.get("/v1/tokens?limit=3").expect(200).json();
    assert_eq!((first["items"].as_array().unwrap().len(), &first["next"]), (3, &3.into()));
    let rest = admin.get("/v1/tokens?limit=3&after=3").expect(200).json();
    assert_eq!((rest["items"].as_array().unwrap().len(), &rest["next"]), (1, &serde_json::Value::Null));
    admin.get("/v1/tokens?limit=0").refused(400, "malformed");
}
