use checkrein_core::principal::Role;

use crate::place::Place;

#[test]
fn a_token_is_worthless_from_then_on() {
    let place = Place::new();
    let admin = place.as_role(Role::Admin);
    let bot = place.as_role(Role::Agent);
    bot.get("/v1/session").expect(200);
    let listed = admin.get("/v1/tokens").json();
    let token = listed["items"].as_array().unwrap().iter().find(|token| token["name"] == "agent").unwrap();
    let path = format!("/v1/tokens/{}", token["id"].as_str().unwrap());
    let revoked = admin.delete(&path).expect(200).json();
    assert!(revoked["revoked_at"].is_string());
    assert_eq!(admin.delete(&path).expect(200).json(), revoked, "the first time counts");
    bot.get("/v1/session").refused(401, "unauthenticated");
    admin.delete("/v1/tokens/none").refused(404, "not-found");
}
