use checkrein_core::deliverable::Digest;
use checkrein_store::{KeptAnswer, KeyedRequest, KnownRequest};

use crate::{Open, time};

fn request(by: &str, key: &str, body: &[u8], at_ms: i64) -> KeyedRequest {
    let mut nonce = [0; 16];
    nonce[0] = body[0];
    KeyedRequest { by: by.into(), key: key.into(), digest: Digest::of(body), nonce, at: time(at_ms) }
}

pub async fn a_key_stands_for_one_request_and_its_answer(open: Open<'_>) {
    let store = open();
    let first = request("ann", "k", b"a", 1000);
    assert_eq!(store.begin_request(first.clone(), time(0)).await.unwrap(), None);
    // Begun, and not answered yet; whatever is sent under the key finds the first.
    let begun = Some(KnownRequest { request: first.clone(), answer: None });
    assert_eq!(store.begin_request(request("ann", "k", b"b", 2000), time(0)).await.unwrap(), begun);
    // Others have keys of their own.
    assert_eq!(store.begin_request(request("bob", "k", b"a", 1000), time(0)).await.unwrap(), None);
    store.forget_request("bob".into(), "k".into()).await.unwrap();
    assert_eq!(store.begin_request(request("bob", "k", b"c", 1000), time(0)).await.unwrap(), None);

    let answer = KeptAnswer { status: 201, headers: "etag: \"1\"".into(), body: b"{}".to_vec() };
    store.finish_request("ann".into(), "k".into(), answer.clone()).await.unwrap();
    store.forget_request("ann".into(), "k".into()).await.unwrap();
    let known = Some(KnownRequest { request: first, answer: Some(answer) });
    assert_eq!(open().begin_request(request("ann", "k", b"a", 3000), time(0)).await.unwrap(), known);
    // In the end a key is free again.
    assert_eq!(store.begin_request(request("ann", "k", b"d", 9000), time(5000)).await.unwrap(), None);
}

pub async fn two_that_begin_at_once_are_one(open: Open<'_>) {
    let (one, other) = (open(), open());
    for number in 0..20 {
        let key = format!("k{number}");
        let (a, b) = tokio::join!(
            one.begin_request(request("ann", &key, b"a", 1), time(0)),
            other.begin_request(request("ann", &key, b"a", 2), time(0))
        );
        assert!(a.unwrap().is_none() != b.unwrap().is_none(), "{key}");
    }
}
