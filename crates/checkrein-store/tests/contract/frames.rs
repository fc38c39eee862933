//! Sessions of frames: changed against a version, as a whole or not at all.

use checkrein_core::frame::{
    Frame, FrameTree, Proposal, SessionState, Suggestion, SuggestionFilter, SuggestionStatus,
};
use checkrein_store::{CommitError, FrameCommit, SessionFilter, Store, StoreError, Version};

use crate::{Open, time};

fn tree(goals: &[&str]) -> Vec<(usize, Frame)> {
    let mut tree = FrameTree::default();
    for (position, goal) in goals.iter().enumerate() {
        tree.push(format!("f{}", position + 1), (*goal).to_owned()).unwrap();
    }
    tree.frames().cloned().enumerate().collect()
}

fn commit(id: &str, expected: u64, frames: Vec<(usize, Frame)>) -> FrameCommit {
    FrameCommit {
        expected: Version(expected),
        id: id.to_owned(),
        owner: Some("ann".to_owned()),
        directory: Some("/work".to_owned()),
        state: SessionState { client: Some("claude-code".to_owned()), ..SessionState::default() },
        current: frames.last().map(|(_, frame)| frame.id.clone()),
        frames,
        suggestions: Vec::new(),
        at: time(expected as i64 + 1),
    }
}

fn suggestion(session: &str, id: &str, status: SuggestionStatus) -> Suggestion {
    Suggestion {
        id: id.to_owned(),
        session: session.to_owned(),
        proposal: Proposal::Push { goal: "go \u{fc}".to_owned() },
        reason: "duration".to_owned(),
        confidence: 71,
        status,
        automatic: false,
        created_at_ms: 1,
        refreshed_at_ms: 2,
        scores: [("duration".to_owned(), 70)].into(),
        agent: None,
        acted_at_turn: None,
        undone: false,
        useful: Some(true),
    }
}

pub async fn a_session_is_read_again_as_it_was(open: Open<'_>) {
    let (store, other) = (open(), open());
    assert_eq!(store.frame_session("s").await.unwrap(), None);
    let first = FrameCommit {
        suggestions: vec![suggestion("s", "g1", SuggestionStatus::Pending)],
        ..commit("s", 0, tree(&["build", "parse \u{1f40e}"]))
    };
    store.commit_frames(first.clone()).await.unwrap();
    // What did not change is not sent again, and stays.
    let mut changed = first.frames[1].clone();
    changed.1.summary = Some("well".to_owned());
    let acted = suggestion("s", "g1", SuggestionStatus::Acted);
    let second = FrameCommit { suggestions: vec![acted.clone()], ..commit("s", 1, vec![changed.clone()]) };
    store.commit_frames(second).await.unwrap();
    for handle in [&store, &other] {
        let there = handle.frame_session("s").await.unwrap().unwrap();
        let frames: Vec<Frame> = there.session.tree.frames().cloned().collect();
        assert_eq!(frames, [first.frames[0].1.clone(), changed.1.clone()]);
        assert_eq!(there.session.tree.current(), Some(&changed.1));
        assert_eq!(there.session.suggestions.iter().collect::<Vec<_>>(), [&acted]);
        assert_eq!((there.version, there.owner.as_deref()), (Version(2), Some("ann")));
        assert_eq!((there.created_at, there.updated_at), (time(1), time(2)));
        assert_eq!(there.session.state, first.state);
    }
}

pub async fn an_older_version_of_a_session_is_a_conflict(open: Open<'_>) {
    let store = open();
    store.commit_frames(commit("s", 0, tree(&["a"]))).await.unwrap();
    for expected in [0, 2] {
        let late = store.commit_frames(commit("s", expected, tree(&["b", "c"]))).await;
        assert!(matches!(late, Err(CommitError::Conflict)), "{expected}");
    }
    let there = store.frame_session("s").await.unwrap().unwrap();
    assert_eq!((there.version, there.session.tree.len()), (Version(1), 1));
}

/// Everybody loads, adds a frame, and tries again where somebody was faster.
pub async fn parallel_writers_lose_no_frame(open: Open<'_>) {
    const WRITERS: usize = 6;
    const EACH: usize = 10;
    let mut writing = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let store = open();
        writing.spawn(async move {
            for _ in 0..EACH {
                while add_one(&store).await.is_err() {}
            }
        });
    }
    writing.join_all().await;
    let there = open().frame_session("s").await.unwrap().unwrap();
    assert_eq!(there.session.tree.len(), WRITERS * EACH);
    assert_eq!(there.version, Version((WRITERS * EACH) as u64));
}

async fn add_one(store: &Store) -> Result<(), CommitError> {
    let there = store.frame_session("s").await.unwrap();
    let (mut tree, version) = match there {
        Some(there) => (there.session.tree, there.version),
        None => (FrameTree::default(), Version(0)),
    };
    let position = tree.len();
    tree.push(format!("f{}", position + 1), "more".to_owned()).unwrap();
    let made = tree.frames().last().unwrap().clone();
    let done = store.commit_frames(commit("s", version.0, vec![(position, made)])).await;
    match done {
        Err(CommitError::Store(StoreError::Busy)) | Ok(()) | Err(CommitError::Conflict) => done,
        Err(error) => panic!("{error}"),
    }
}

pub async fn sessions_are_listed_by_owner_and_directory(open: Open<'_>) {
    let store = open();
    for (id, owner, directory, ms) in [
        ("one", Some("ann"), Some("/a"), 1),
        ("two", Some("ben"), Some("/a"), 9),
        ("three", None, Some("/b"), 5),
    ] {
        let mut new = commit(id, 0, tree(&[id, "next"]));
        (new.owner, new.directory, new.at) =
            (owner.map(str::to_owned), directory.map(str::to_owned), time(ms));
        store.commit_frames(new).await.unwrap();
    }
    let filter = |owner: Option<&str>, directory: Option<&str>| SessionFilter {
        owner: owner.map(str::to_owned),
        directory: directory.map(str::to_owned),
    };
    let listed = store.frame_sessions(&filter(None, None), None, 2).await.unwrap();
    let ids: Vec<&str> = listed.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(ids, ["three", "two"]);
    assert_eq!((listed.items[0].goal.as_deref(), listed.items[0].frames), (Some("three"), 2));
    assert_eq!(listed.items[0].client.as_deref(), Some("claude-code"));
    let rest = store.frame_sessions(&filter(None, None), listed.next, 2).await.unwrap();
    assert_eq!((rest.items[0].id.as_str(), rest.next), ("one", None));
    for (owner, directory, latest) in [
        (None, None, Some("two")),
        (Some("ann"), None, Some("one")),
        (None, Some("/b"), Some("three")),
        (Some("ann"), Some("/b"), None),
    ] {
        let found = store.latest_frame_session(&filter(owner, directory)).await.unwrap();
        assert_eq!(found.as_deref(), latest, "{owner:?} {directory:?}");
    }
}

pub async fn suggestions_are_listed_and_found(open: Open<'_>) {
    let store = open();
    for (session, ids) in [("s", ["g1", "g2"]), ("t", ["g3", "g4"])] {
        let suggestions = vec![
            suggestion(session, ids[0], SuggestionStatus::Expired),
            suggestion(session, ids[1], SuggestionStatus::Pending),
        ];
        store.commit_frames(FrameCommit { suggestions, ..commit(session, 0, tree(&["a"])) }).await.unwrap();
    }
    let ids = |filter: SuggestionFilter| {
        let store = store.clone();
        async move {
            let page = store.suggestions(&filter, None, 10).await.unwrap();
            page.items.iter().map(|item| item.id.clone()).collect::<Vec<_>>()
        }
    };
    let all = SuggestionFilter::default;
    assert_eq!(ids(all()).await, ["g4", "g3", "g2", "g1"]);
    assert_eq!(ids(SuggestionFilter { session: Some("s".into()), ..all() }).await, ["g2", "g1"]);
    assert_eq!(
        ids(SuggestionFilter { status: Some(SuggestionStatus::Pending), ..all() }).await,
        ["g4", "g2"]
    );
    assert_eq!(ids(SuggestionFilter { owner: Some("ben".into()), ..all() }).await, Vec::<String>::new());
    let found = store.suggestion("g3").await.unwrap();
    assert_eq!(found, Some(suggestion("t", "g3", SuggestionStatus::Expired)));
    assert_eq!(store.suggestion("g9").await.unwrap(), None);
    let page = store.suggestions(&all(), None, 3).await.unwrap();
    assert_eq!(store.suggestions(&all(), page.next, 3).await.unwrap().items.len(), 1);
}

pub async fn sessions_nobody_touched_go_with_all_they_have(open: Open<'_>) {
    let store = open();
    for (id, ms) in [("old", 10), ("new", 30)] {
        let suggestions = vec![suggestion(id, &format!("g-{id}"), SuggestionStatus::Pending)];
        let new = FrameCommit { at: time(ms), suggestions, ..commit(id, 0, tree(&["a"])) };
        store.commit_frames(new).await.unwrap();
    }
    assert_eq!(store.old_frame_sessions(time(20)).await.unwrap(), ["old"]);
    assert!(!store.remove_frame_session("new".into(), time(20)).await.unwrap());
    assert!(store.remove_frame_session("old".into(), time(20)).await.unwrap());
    assert_eq!(store.frame_session("old").await.unwrap(), None);
    assert_eq!(store.suggestion("g-old").await.unwrap(), None);
    assert!(store.suggestion("g-new").await.unwrap().is_some());
}

pub async fn sessions_are_exported_and_imported(open: Open<'_>) {
    let store = open();
    let suggestions = (0..60).map(|n| suggestion("s", &format!("g{n}"), SuggestionStatus::Expired)).collect();
    store
        .commit_frames(FrameCommit { suggestions, ..commit("s", 0, tree(&["build", "parse"])) })
        .await
        .unwrap();
    let mut export = Vec::new();
    store.export(&mut export, time(9)).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let other = Store::open(&directory.path().join("other.db")).unwrap();
    let imported = other.import(std::io::Cursor::new(export.clone())).await.unwrap();
    assert_eq!((imported.frame_sessions, imported.known), (1, 0));
    let (here, there) =
        (store.frame_session("s").await.unwrap().unwrap(), other.frame_session("s").await.unwrap().unwrap());
    assert_eq!(here.session, there.session);
    assert_eq!(
        (here.owner, here.created_at, here.updated_at),
        (there.owner, there.created_at, there.updated_at)
    );
    let all = SuggestionFilter::default();
    assert_eq!(other.suggestions(&all, None, 100).await.unwrap().items.len(), 60);
    let again = other.import(std::io::Cursor::new(export)).await.unwrap();
    assert_eq!((again.frame_sessions, again.known), (0, 1));
    assert_eq!(other.check().await.unwrap().problems, Vec::<String>::new());
}
