//! Deliverables by their digest.

use checkrein_core::deliverable::{DELIVERABLE_BYTES_MAX, Deliverable};
use checkrein_store::Commit;

use crate::{Open, creation, pending, text};

pub async fn content_comes_back_as_it_was(open: Open<'_>) {
    let store = open();
    let json = |text: &str| Deliverable::Json(serde_json::from_str(text).unwrap());
    let deliverables = [
        Deliverable::Text("plain".to_owned()),
        Deliverable::Text(String::new()),
        Deliverable::Text("zeros \u{0} and 😀".to_owned()),
        Deliverable::Bytes(vec![0, 159, 146, 150, 255]),
        Deliverable::Bytes(vec![255; DELIVERABLE_BYTES_MAX]),
        json(r#"{"b":[1,2.5,null,true],"a":{"ü":"x"}}"#),
        json("[]"),
    ];
    for (n, deliverable) in deliverables.into_iter().enumerate() {
        let content = deliverable.clone().content().unwrap();
        let mut asked = pending(&format!("c{n}"));
        asked.digest = content.digest;
        store.commit(Commit { content: Some(content.clone()), ..creation(asked) }).await.unwrap();
        let stored = store.content(&content.digest).await.unwrap().unwrap();
        assert!(stored == content, "{n} is not what it was");
        assert!(stored.deliverable() == deliverable, "{n} came back as something else");
    }
    assert_eq!(store.content(&text("never seen").digest).await.unwrap(), None);
}

pub async fn content_is_kept_once(open: Open<'_>) {
    let (one, other) = (open(), open());
    let before = one.stats().await.unwrap().contents;
    let same = text("the same words");
    for n in 0..10 {
        let store = if n % 2 == 0 { &one } else { &other };
        let mut asked = pending(&format!("c{n}"));
        asked.digest = same.digest;
        store.commit(Commit { content: Some(same.clone()), ..creation(asked) }).await.unwrap();
    }
    assert_eq!(one.stats().await.unwrap().contents, before + 1);
    assert_eq!(one.content(&same.digest).await.unwrap(), Some(same));
}
