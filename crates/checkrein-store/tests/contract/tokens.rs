//! Tokens: known by the hash of their secret.

use checkrein_core::deliverable::Digest;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_store::TokenRow;

use crate::{Open, time};

fn token(id: &str, created_ms: i64) -> TokenRow {
    TokenRow {
        id: id.to_owned(),
        principal: Principal {
            worker: (created_ms == 1).then(|| "writer".to_owned()),
            ..Principal::new("Ann ü", PrincipalKind::Person, Role::Reviewer)
        },
        created_at: time(created_ms),
        expires_at: Some(time(9_000)),
        revoked_at: None,
    }
}

pub async fn a_token_is_found_by_its_secret_until_revoked(open: Open<'_>) {
    let (store, other) = (open(), open());
    let (first, second) = (token("later id", 1), TokenRow { expires_at: None, ..token("earlier id", 2) });
    store.add_token(first.clone(), Digest::of(b"one")).await.unwrap();
    store.add_token(second.clone(), Digest::of(b"two")).await.unwrap();
    for handle in [&store, &other] {
        assert_eq!(handle.token(&Digest::of(b"one")).await.unwrap(), Some(first.clone()));
        assert_eq!(handle.token(&Digest::of(b"two")).await.unwrap(), Some(second.clone()));
        assert_eq!(handle.token(&Digest::of(b"three")).await.unwrap(), None);
        assert_eq!(handle.tokens().await.unwrap(), [first.clone(), second.clone()]);
    }
    assert!(!store.revoke_token("nobody".to_owned(), time(3)).await.unwrap());
    // The first time counts.
    assert!(store.revoke_token(first.id.clone(), time(4)).await.unwrap());
    assert!(other.revoke_token(first.id.clone(), time(5)).await.unwrap());
    let revoked = TokenRow { revoked_at: Some(time(4)), ..first };
    assert_eq!(store.token(&Digest::of(b"one")).await.unwrap(), Some(revoked.clone()));
    assert_eq!(other.tokens().await.unwrap(), [revoked, second]);
}

/// Whatever a handle remembers, it notices what others do.
pub async fn a_token_that_was_just_used_is_revoked_at_once(open: Open<'_>) {
    let (store, other) = (open(), open());
    for (round, revoker) in [&store, &other].into_iter().enumerate() {
        let id = format!("t{round}");
        let secret = Digest::of(id.as_bytes());
        assert_eq!(store.token(&secret).await.unwrap(), None);
        other.add_token(token(&id, 1), secret).await.unwrap();
        for _ in 0..3 {
            for handle in [&store, &other] {
                assert_eq!(handle.token(&secret).await.unwrap(), Some(token(&id, 1)));
            }
        }
        assert!(revoker.revoke_token(id.clone(), time(4)).await.unwrap());
        for handle in [&store, &other] {
            assert_eq!(handle.token(&secret).await.unwrap().unwrap().revoked_at, Some(time(4)));
        }
    }
}

pub async fn a_secret_is_taken_once(open: Open<'_>) {
    let store = open();
    store.add_token(token("a", 1), Digest::of(b"one")).await.unwrap();
    assert!(store.add_token(token("a", 1), Digest::of(b"two")).await.is_err(), "the same id");
    assert!(store.add_token(token("b", 1), Digest::of(b"one")).await.is_err(), "the same secret");
    assert_eq!(store.tokens().await.unwrap(), [token("a", 1)]);
    store.add_token(token("b", 1), Digest::of(b"two")).await.unwrap();
}
