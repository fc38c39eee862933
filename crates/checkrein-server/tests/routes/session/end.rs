use checkrein_core::principal::Role;
use serde_json::json;

use super::{browser, by_link, from_here};
use crate::place::{Place, admin};

#[test]
fn what_a_link_began_is_over() {
    let place = Place::new();
    let sam = by_link(&place);
    let answer = from_here(&sam).delete("/v1/session").expect(200);
    let port = place.address.port();
    let gone = format!("checkrein_session_{port}=; Path=/; Max-Age=0;");
    assert!(answer.header("set-cookie").unwrap().starts_with(&gone), "{answer:?}");
    sam.get("/v1/session").refused(401, "unauthenticated");
    // The token that was made for it is gone, too.
    let tokens = place.as_role(Role::Admin).get("/v1/tokens").expect(200).body;
    assert!(
        !place
            .wait(place.engine.tokens(&admin()))
            .unwrap()
            .iter()
            .any(|token| { token.principal.name == "sam" && token.revoked_at.is_none() }),
        "{tokens}"
    );
}

#[test]
fn a_token_outlives_the_browser_it_signed_in() {
    let place = Place::new();
    let token = place.token(Role::Viewer, "ann");
    let ann = browser(&place, &json!({"token": token}));
    from_here(&ann).delete("/v1/session").expect(200);
    place.bearer(&token).get("/v1/session").expect(200);
}
