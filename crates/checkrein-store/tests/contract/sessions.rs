//! Sessions: known by the hash of their secret, and worth what their token is.

use checkrein_core::deliverable::Digest;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_store::{SessionRow, Store, TokenRow};

use crate::{Open, time};

async fn token(store: &Store, id: &str, name: &str) -> TokenRow {
    let row = TokenRow {
        id: id.to_owned(),
        principal: Principal::new(name, PrincipalKind::Person, Role::Reviewer),
        created_at: time(1),
        expires_at: None,
        revoked_at: None,
    };
    store.add_token(row.clone(), Digest::of(id.as_bytes())).await.unwrap();
    row
}

fn session(number: i64, id: &str, token: &str, expires_ms: i64) -> SessionRow {
    SessionRow {
        number,
        id: id.to_owned(),
        token: token.to_owned(),
        owns_token: false,
        for_changes: Digest::of(format!("{id} changes").as_bytes()),
        created_at: time(2),
        expires_at: time(expires_ms),
        ended_at: None,
    }
}

async fn add(store: &Store, row: &SessionRow, secret: &str, old_before_ms: i64) {
    store.add_session(row.clone(), Digest::of(secret.as_bytes()), time(old_before_ms)).await.unwrap();
}

pub async fn a_session_is_found_by_its_secret_with_its_token(open: Open<'_>) {
    let (store, other) = (open(), open());
    let ann = token(&store, "t1", "ann").await;
    let row = session(1, "s1", "t1", 9_000);
    add(&store, &row, "one", 0).await;
    for handle in [&store, &other] {
        let found = handle.session(&Digest::of(b"one")).await.unwrap().unwrap();
        assert_eq!((found.session, found.token), (row.clone(), ann.clone()));
        assert_eq!(handle.session_named("s1").await.unwrap().unwrap().session, row);
        assert_eq!(handle.session(&Digest::of(b"two")).await.unwrap(), None);
        assert_eq!(handle.session_named("s2").await.unwrap(), None);
    }
    // A token that goes is seen with the session.
    store.revoke_token("t1".to_owned(), time(5)).await.unwrap();
    let found = other.session(&Digest::of(b"one")).await.unwrap().unwrap();
    assert_eq!(found.token.revoked_at, Some(time(5)));
    assert!(store.sessions(None, time(6), 0, 10).await.unwrap().items.is_empty());
    let again = store.add_session(session(2, "s2", "t1", 9_000), Digest::of(b"one"), time(0)).await;
    assert!(again.is_err(), "the same secret");
}

pub async fn a_session_that_is_over_is_not_listed_and_then_forgotten(open: Open<'_>) {
    let (store, other) = (open(), open());
    token(&store, "t1", "ann").await;
    token(&store, "t2", "bob").await;
    let own = SessionRow { owns_token: true, ..session(3, "s3", "t2", 9_000) };
    add(&store, &session(1, "s1", "t1", 100), "one", 0).await;
    add(&store, &session(2, "s2", "t1", 9_000), "two", 0).await;
    add(&store, &own, "three", 0).await;
    let listed = async |of: Option<&str>, at: i64, after: i64, limit: usize| {
        let page = other.sessions(of, time(at), after, limit).await.unwrap();
        let ids: Vec<String> = page.items.into_iter().map(|item| item.session.id).collect();
        (ids.join(" "), page.next)
    };
    assert_eq!(listed(None, 50, 0, 10).await, ("s1 s2 s3".to_owned(), None));
    assert_eq!(listed(None, 50, 0, 2).await, ("s1 s2".to_owned(), Some(2)));
    assert_eq!(listed(None, 50, 2, 2).await, ("s3".to_owned(), None));
    assert_eq!(listed(Some("ann"), 50, 0, 10).await, ("s1 s2".to_owned(), None));
    assert_eq!(listed(None, 100, 0, 10).await, ("s2 s3".to_owned(), None));
    // Ending one ends the token that was made for it, and no other.
    assert!(!store.end_session("s9".to_owned(), time(60)).await.unwrap());
    for (id, at) in [("s2", 60), ("s2", 70), ("s3", 80)] {
        assert!(store.end_session(id.to_owned(), time(at)).await.unwrap());
    }
    assert_eq!(other.session_named("s2").await.unwrap().unwrap().session.ended_at, Some(time(60)));
    assert_eq!(other.token_named("t1").await.unwrap().unwrap().revoked_at, None);
    assert_eq!(other.token_named("t2").await.unwrap().unwrap().revoked_at, Some(time(80)));
    assert_eq!(listed(None, 90, 0, 10).await, ("s1".to_owned(), None));
    // What has been over for long is forgotten when the next one begins.
    add(&store, &session(4, "s4", "t1", 9_000), "four", 101).await;
    assert_eq!(other.session_named("s1").await.unwrap(), None);
    assert!(other.session_named("s2").await.unwrap().is_some());
}
