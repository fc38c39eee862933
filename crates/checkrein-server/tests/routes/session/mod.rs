mod begin;
mod end;
mod end_one;
mod list;
mod show;

use serde_json::json;

use crate::place::{Client, Place};

/// A browser that is signed in: it sends its cookie by itself, and nothing else.
pub struct Browser {
    client: Client,
    /// What its page keeps.
    pub csrf_token: String,
    pub session_id: String,
    /// Its cookie, as any port of the host gets it.
    pub cookie: String,
}

impl std::ops::Deref for Browser {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

pub fn browser(place: &Place, proof: &serde_json::Value) -> Browser {
    let answer = place.client().post("/v1/session", proof).expect(200);
    let cookie = answer.header("set-cookie").unwrap();
    let (pair, attributes) = cookie.split_once(';').unwrap();
    assert_eq!(attributes, " Path=/; Max-Age=43200; HttpOnly; SameSite=Strict");
    let told = answer.json();
    let text = |key: &str| told[key].as_str().unwrap().to_owned();
    Browser {
        client: place.client().header("Cookie", &format!("theme=dark; {pair}")),
        csrf_token: text("csrf_token"),
        session_id: text("session_id"),
        cookie: pair.to_owned(),
    }
}

pub fn by_link(place: &Place) -> Browser {
    browser(place, &json!({"link": place.link}))
}

/// As a page of the server asks.
pub fn from_here(browser: &Browser) -> Client {
    browser.client.clone().header("Sec-Fetch-Site", "same-origin").header("X-CSRF-Token", &browser.csrf_token)
}
