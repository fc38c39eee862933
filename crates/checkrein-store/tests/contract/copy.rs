//! A store that is moved to another back end is the same store.

use checkrein_core::checkpoint::Verdict;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_store::{CheckpointFilter, Commit, Position, Store, TokenRow, TransferError, Version};

use crate::{Open, creation, pending, resolution, text, time};

async fn filled(store: &Store) {
    for n in 0..30 {
        let asked = pending(&format!("c{n}"));
        let content = Some(text(asked.id.as_str()));
        store.commit(Commit { content, ..creation(asked.clone()) }).await.unwrap();
        if n % 3 == 0 {
            store.commit(resolution(&asked, Version(1), Verdict::Approve, 2_000)).await.unwrap();
        }
    }
    let token = TokenRow {
        id: "t1".into(),
        principal: Principal::new("ann", PrincipalKind::Person, Role::Reviewer),
        created_at: time(5),
        expires_at: None,
        revoked_at: None,
    };
    store.add_token(token, text("secret").digest).await.unwrap();
}

/// From a file to this back end, and from there to another file.
pub async fn everything_is_there_after_it_was_copied(open: Open<'_>) {
    let directory = tempfile::tempdir().unwrap();
    let first = Store::open(&directory.path().join("first.db")).unwrap();
    filled(&first).await;
    let store = open();
    let copied = store.copy_from(&first).await.unwrap();
    assert!(copied.tables.contains(&("checkpoints".to_owned(), 30)), "{copied:?}");
    let last = Store::open(&directory.path().join("last.db")).unwrap();
    last.copy_from(&store).await.unwrap();

    for other in [&store, &last] {
        let all = CheckpointFilter::default();
        let here = other.checkpoints(&all, 0, 100).await.unwrap();
        assert_eq!(here, first.checkpoints(&all, 0, 100).await.unwrap());
        let events = other.events(Position(0), None, 100).await.unwrap();
        assert_eq!(events, first.events(Position(0), None, 100).await.unwrap());
        assert_eq!(other.tokens().await.unwrap(), first.tokens().await.unwrap());
        let digest = text("c7").digest;
        assert_eq!(other.content(&digest).await.unwrap(), first.content(&digest).await.unwrap());
        assert_eq!(other.check().await.unwrap().problems, Vec::<String>::new());
        // What is open is decided there, and numbers go on.
        let last = other.last_position().await.unwrap();
        other.commit(resolution(&pending("c1"), Version(1), Verdict::Reject, 3_000)).await.unwrap();
        other.commit(creation(pending("new"))).await.unwrap();
        assert_eq!(other.last_position().await.unwrap(), Position(last.0 + 2));
        let newest = other.checkpoints(&all, 30, 100).await.unwrap().items;
        assert_eq!(newest.iter().map(|item| item.number).collect::<Vec<_>>(), [31]);
    }
}

pub async fn only_an_empty_store_takes_another_ones_place(open: Open<'_>) {
    let directory = tempfile::tempdir().unwrap();
    let first = Store::open(&directory.path().join("first.db")).unwrap();
    filled(&first).await;
    let store = open();
    store.commit(creation(pending("mine"))).await.unwrap();
    let refused = store.copy_from(&first).await.unwrap_err();
    assert!(matches!(refused, TransferError::NotEmpty { .. }), "{refused}");
    assert_eq!(store.count_pending(jiff::Timestamp::UNIX_EPOCH).await.unwrap(), 1);
}
