//! The pages, as a browser without a script sees them.

mod chat;
mod door;
mod frames;
mod inbox;
mod review;
mod roles;
mod run;
mod search;

use checkrein_core::principal::Role;

use crate::place::{Answer, Client, Place};

/// Somebody in a browser.
pub fn person(place: &Place, role: Role, name: &str) -> Client {
    signed_in(place, &place.token(role, name))
}

/// A browser that is signed in by the form.
pub fn signed_in(place: &Place, secret: &str) -> Client {
    let browser = place.client().header("Sec-Fetch-Site", "same-origin").header("Accept", "text/html");
    let answer = post(&browser, "/sign-in", &[("token", secret), ("next", "/inbox")]).expect(200);
    assert!(answer.body.contains("data-next=\"/inbox\""), "{}", answer.body);
    let proof = answer.body.split_once("data-for-changes=\"").unwrap().1.split_once('"').unwrap().0;
    let cookies = answer.headers.iter().filter(|(name, _)| name == "set-cookie");
    let pairs: Vec<&str> = cookies.map(|(_, value)| value.split(';').next().unwrap()).collect();
    browser.header("Cookie", &pairs.join("; ")).header("X-Test-Proof", proof)
}

/// The page at a path.
pub fn page(browser: &Client, path: &str) -> String {
    browser.get(path).expect(200).body
}

/// The value of a hidden field on a page.
pub fn hidden(page: &str, name: &str) -> String {
    let field = format!("name=\"{name}\" value=\"");
    let rest = page.split_once(&field).unwrap_or_else(|| panic!("no `{name}` in {page}")).1;
    rest.split_once('"').unwrap().0.to_owned()
}

/// Sends a form of ours.
pub fn send(browser: &Client, path: &str, fields: &[(&str, &str)]) -> Answer {
    let proof = browser.sent("X-Test-Proof").unwrap();
    post(browser, path, &[fields, &[("proof", proof)]].concat())
}

pub fn post(browser: &Client, path: &str, fields: &[(&str, &str)]) -> Answer {
    let mut body = form_urlencoded::Serializer::new(String::new());
    body.extend_pairs(fields);
    let form = browser.clone().header("Content-Type", "application/x-www-form-urlencoded");
    form.send("POST", path, Some(&body.finish()))
}
