mod begin;
mod end;
mod show;

use serde_json::json;

use crate::place::{Client, Place};

/// A browser that is signed in.
pub fn browser(place: &Place, proof: &serde_json::Value) -> Client {
    let answer = place.client().post("/v1/session", proof).expect(200);
    let cookie = answer.header("set-cookie").unwrap();
    let (pair, attributes) = cookie.split_once(';').unwrap();
    assert_eq!(attributes, " Path=/; Max-Age=43200; HttpOnly; SameSite=Strict");
    place.client().header("Cookie", &format!("theme=dark; {pair}"))
}

pub fn by_link(place: &Place) -> Client {
    browser(place, &json!({"link": place.link}))
}

/// As a browser says that a page of the server asks.
pub fn from_here(browser: &Client) -> Client {
    browser.clone().header("Sec-Fetch-Site", "same-origin")
}
