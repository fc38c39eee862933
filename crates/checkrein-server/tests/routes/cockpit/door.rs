use checkrein_core::principal::Role;

use super::{hidden, page, person, post, send, signed_in};
use crate::checkpoint::ask;
use crate::place::Place;

#[test]
fn nobody_is_told_how_to_sign_in_and_is_led_on() {
    let place = Place::new();
    let browser = place.client().header("Accept", "text/html");
    let start = browser.get("/").expect(200);
    assert!(start.body.contains("Sign in to Checkrein") && start.body.contains("checkrein serve"));
    let policy = start.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let asked = browser.get("/checkpoints/a%2Fb?x=1").expect(401);
    assert_eq!(hidden(&asked.body, "next"), "/checkpoints/a%2Fb?x=1");
    let sam = signed_in(&place, &place.link);
    assert_eq!(sam.get("/").expect(303).header("location"), Some("/inbox"));
    assert!(page(&sam, "/inbox").contains("Nothing waits for you"));
}

/// A form is sent to an address that is no page: whoever has to sign in again is led back to where it was.
#[test]
fn a_login_that_ended_leads_back_to_the_page_of_the_form() {
    let place = Place::new();
    ask(&place.as_role(Role::Agent), "c1");
    let browser = place.client().header("Accept", "text/html").header("Sec-Fetch-Site", "same-origin");
    let path = "/checkpoints/c1/verdict";
    for (referer, next) in [
        (Some("http://127.0.0.1:1/checkpoints/c1?x=1"), "/checkpoints/c1?x=1"),
        (Some("http://127.0.0.1:1//evil.example"), "/"),
        (Some("no page"), "/"),
        (None, "/"),
    ] {
        let browser = match referer {
            Some(referer) => browser.clone().header("Referer", referer),
            None => browser.clone(),
        };
        let asked = post(&browser, path, &[("verdict", "approve")]).expect(401);
        assert_eq!(hidden(&asked.body, "next"), next, "{referer:?}");
    }
    // Where a form goes is no page, and says so as one.
    let ann = person(&place, Role::Reviewer, "ann");
    let refused = ann.get(path).expect(405);
    assert!(
        refused.body.contains("<!DOCTYPE html>") && refused.body.contains("Go to the inbox"),
        "{}",
        refused.body
    );
    let program = place.as_role(Role::Reviewer).get("/v1/checkpoints/c1/verdict");
    assert_eq!(program.status, 405, "{}", program.body);
    assert!(program.body.contains("method-not-allowed"), "{}", program.body);
}

#[test]
fn a_wrong_token_is_told_in_words() {
    let place = Place::new();
    let browser = place.client().header("Accept", "text/html").header("Sec-Fetch-Site", "same-origin");
    let refused = post(&browser, "/sign-in", &[("token", "chk_nonsense"), ("next", "/runs")]).expect(401);
    assert!(refused.body.contains("The token is not valid"), "{}", refused.body);
    assert_eq!(hidden(&refused.body, "next"), "/runs");
    // Whoever goes there again finds the form, and whoever is in is led on.
    let again = browser.get("/sign-in").expect(200);
    assert!(again.body.contains("Sign in to Checkrein"), "{}", again.body);
    assert_eq!(hidden(&again.body, "next"), "/");
    person(&place, Role::Viewer, "ann").get("/sign-in").expect(303);
    let used = post(&browser, "/sign-in", &[("token", "no such link")]).expect(401);
    assert!(used.body.contains("works once"), "{}", used.body);
}

#[test]
fn nobody_is_led_to_another_site() {
    let place = Place::new();
    let browser = place.client().header("Sec-Fetch-Site", "same-origin");
    let token = place.token(Role::Viewer, "ann");
    for next in ["//evil.example", "https://evil.example", "/\\evil.example", "/a\r\nX: y"] {
        let answer = post(&browser, "/sign-in", &[("token", &token), ("next", next)]).expect(200);
        assert!(answer.body.contains("data-next=\"/\""), "{next:?}: {}", answer.body);
    }
}

/// A cookie goes to every port of its host: whoever has it looks, and decides nothing.
#[test]
fn a_form_shows_more_than_a_cookie() {
    let place = Place::new();
    let asked = ask(&place.as_role(Role::Agent), "c1");
    let token = place.token(Role::Reviewer, "ann");
    let ann = signed_in(&place, &token);
    let bob = person(&place, Role::Reviewer, "bob");
    let proof = ann.sent("X-Test-Proof").unwrap();
    for path in ["/inbox", "/checkpoints/c1", "/"] {
        let answer = ann.get(path);
        assert!(!answer.body.contains(proof), "{path} tells the secret for changes");
    }
    let verdict = [("verdict", "approve"), ("digest", asked["digest"].as_str().unwrap())];
    let path = "/checkpoints/c1/verdict";
    for proof in [("proof", ""), ("proof", "x"), ("proof", bob.sent("X-Test-Proof").unwrap())] {
        let refused = post(&ann, path, &[verdict[0], verdict[1], proof]).expect(403);
        assert!(refused.body.contains("another site"), "{}", refused.body);
    }
    let elsewhere = ann.clone().header("Sec-Fetch-Site", "cross-site");
    post(&elsewhere, path, &[verdict[0], verdict[1], ("proof", proof)]).expect(403);
    let others = place.token(Role::Reviewer, "bob");
    post(&ann, path, &[verdict[0], verdict[1], ("proof", ""), ("token", &others)]).expect(403);
    // Without a script a person shows the token again.
    post(&ann, path, &[verdict[0], verdict[1], ("proof", ""), ("token", &token)]).expect(303);
    send(&ann, path, &verdict).expect(303);
}

#[test]
fn the_colours_are_kept_in_a_cookie() {
    let place = Place::new();
    let ann = person(&place, Role::Viewer, "ann");
    let set = post(&ann, "/theme", &[("theme", "dark"), ("back", "/inbox")]).expect(303);
    assert_eq!(set.header("location"), Some("/inbox"));
    let dark = ann.clone().header("Cookie", "checkrein_theme=dark");
    assert!(dark.get("/").expect(200).body.contains("<html lang=\"en\" data-theme=\"dark\">"));
    post(&ann, "/theme", &[("theme", "pink")]).expect(422);
}

#[test]
fn signed_out_is_out() {
    let place = Place::new();
    let sam = signed_in(&place, &place.link);
    let out = send(&sam, "/sign-out", &[]).expect(303);
    assert!(out.headers.iter().any(|(name, value)| name == "set-cookie" && value.contains("Max-Age=0")));
    sam.get("/inbox").expect(401);
}

#[test]
fn what_is_not_there_is_told_in_words_to_people_and_as_a_problem_to_programs() {
    let place = Place::new();
    let ann = person(&place, Role::Viewer, "ann");
    let nowhere = ann.get("/nowhere").expect(404);
    assert!(nowhere.body.contains("There is nothing here") && nowhere.body.contains("/nowhere"));
    assert!(nowhere.body.contains("href=\"/runs\""), "the way to everything else");
    let missing = ann.get("/checkpoints/none").expect(404);
    assert!(missing.body.contains("none"), "{}", missing.body);
    place.client().get("/nowhere").refused(404, "not-found");
    place.client().header("Accept", "text/html").get("/v1/nowhere").refused(404, "not-found");
}

#[test]
fn files_of_pages_are_kept_for_good() {
    let place = Place::new();
    let start = place.client().get("/").expect(200).body;
    for name in ["cockpit.css", "cockpit.js", "icon.svg"] {
        let end = start.find(name).unwrap() + name.len();
        let path = &start[start[..end].rfind("/assets/").unwrap()..end];
        let file = place.client().get(path).expect(200);
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"));
        let tag = file.header("etag").unwrap();
        let again = place.client().header("If-None-Match", tag).get(path).expect(304);
        assert!(again.body.is_empty());
        place.client().get(&format!("/assets/0000000000000000/{name}")).expect(404);
    }
}
