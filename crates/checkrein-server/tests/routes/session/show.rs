use checkrein_core::principal::Role;

use crate::place::Place;

#[test]
fn everybody_learns_who_they_are() {
    let place = Place::new();
    for role in Role::ALL {
        let who = place.as_role(role).get("/v1/session").expect(200).json();
        assert_eq!((who["name"].as_str(), who["role"].as_str()), (Some(role.name()), Some(role.name())));
    }
    place.client().get("/v1/session").refused(401, "unauthenticated");
}
