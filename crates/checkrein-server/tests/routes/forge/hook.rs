use checkrein_core::principal::Role;
use serde_json::json;

use crate::place::{Making, Place};

const HOOK: &str = "/v1/forges/hook";
const BODY: &str = r#"{"repository":{"full_name":"team/app"}}"#;
/// By `printf %s BODY | openssl dgst -sha256 -hmac agreed-on`.
const SIGNED: &str = "3f4f5d425df2f5e25607c11393af0d70adcbdd1bd9246295ae2a99083d81b14f";

fn making() -> Making {
    let forge = "forge: { kind: gitea, url: 'https://git.example.com', token_env: T, webhook_secret_env: S }";
    Place::making().user_settings(forge)
}

#[test]
fn what_the_forge_signed_is_taken() {
    let place = making().env("S", "agreed-on").start();
    for (header, value) in [
        ("X-Hub-Signature-256", format!("sha256={SIGNED}")),
        ("X-Gitea-Signature", SIGNED.to_owned()),
        ("X-Forgejo-Signature", SIGNED.to_owned()),
    ] {
        let answer = place.client().header(header, &value).send("POST", HOOK, Some(BODY)).expect(200).json();
        assert_eq!(answer, json!({"jobs": 0}), "{header}");
    }
}

#[test]
fn what_it_did_not_sign_is_refused() {
    let place = making().env("S", "agreed-on").start();
    let post = |signature: &str, body: &str| {
        place.client().header("X-Hub-Signature-256", signature).send("POST", HOOK, Some(body))
    };
    post(&format!("sha256={}", "0".repeat(64)), BODY).refused(401, "unauthenticated");
    post(&format!("sha256={SIGNED}"), "{}").refused(401, "unauthenticated");
    place.client().send("POST", HOOK, Some(BODY)).refused(401, "unauthenticated");
    // A token is no signature.
    place.as_role(Role::Admin).send("POST", HOOK, Some(BODY)).refused(401, "unauthenticated");
}

#[test]
fn where_nothing_is_agreed_on_nothing_is_taken() {
    for place in [Place::new(), making().start(), making().env("S", "").start()] {
        let client = place.client().header("X-Hub-Signature-256", &format!("sha256={SIGNED}"));
        client.send("POST", HOOK, Some(BODY)).refused(404, "not-found");
    }
}
