//! What earlier versions wrote is read for ever; what a later one wrote is left alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use checkrein_core::checkpoint::{
    Checkpoint, CheckpointId, CheckpointStatus, GivenVerdict, Resolved, Verdict,
};
use checkrein_core::companion::{
    Draft, Message, MessageStatus, ProposalStatus, Proposed, Speaker, Stage, ToolUse,
};
use checkrein_core::deliverable::{Deliverable, Digest};
use checkrein_core::event::{Event, fold_checkpoint};
use checkrein_core::notification::{NotificationType, WebhookKind, WebhookUrl};
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_core::run::{RunEvent, RunId};
use checkrein_store::{
    Asked, ChatRow, CheckpointFilter, Commit, CommitError, NewProposal, Position, Store, StoreError,
    TokenRow, Version, WebhookRow,
};
use jiff::Timestamp;

/// The stores of earlier versions. A version that is released gets a row and a file, made once by
/// `cargo test -p checkrein-store --test schema -- --ignored`, and neither is ever changed.
const SCHEMAS: [i64; 3] = [1, 9, 10];

/// The events each version could write.
const EVENTS: [i64; 4] = [1, 2, 3, 4];

#[tokio::test]
async fn a_store_of_an_earlier_version_opens_and_goes_on() {
    for schema in SCHEMAS {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("store.db");
        std::fs::copy(fixture(&format!("schema-{schema}.db")), &place).unwrap();
        let store = Store::open(&place).unwrap();
        let all = store.checkpoints(&CheckpointFilter::default(), 0, 100).await.unwrap().items;
        let words: Vec<_> =
            all.iter().map(|row| format!("{} {}", row.checkpoint.id, row.checkpoint.status)).collect();
        assert_eq!(
            words,
            [
                "approved approved",
                "rejected rejected",
                "open 1 pending",
                "open 2 pending",
                "free not_required"
            ]
        );
        for row in &all {
            assert_eq!(told(&store, &row.checkpoint.id).await.as_ref(), Some(&row.checkpoint));
            let content = store.content(&row.checkpoint.digest).await.unwrap().unwrap();
            assert_eq!(content.deliverable(), deliverable(row.checkpoint.id.as_str()));
        }
        let token = store.token(&Digest::of(b"secret")).await.unwrap().unwrap();
        assert_eq!(token.principal.role, Role::Reviewer);

        // The open ones can be decided, once; new ones come behind the old ones.
        for (row, verdict) in all[2..4].iter().zip([Verdict::Approve, Verdict::Reject]) {
            store.commit(resolution(&row.checkpoint, row.version, verdict)).await.unwrap();
            let late = resolution(&row.checkpoint, row.version, Verdict::RequestChanges);
            assert!(matches!(store.commit(late).await, Err(CommitError::Conflict)));
        }
        store.commit(creation("new", CheckpointStatus::Pending)).await.unwrap();
        // What later versions added is there.
        store.add_webhook(webhook()).await.unwrap();
        if schema < 10 {
            converse(&store).await;
        }
        let chat = store.chat_of_run("run").await.unwrap().unwrap();
        let said = store.messages(&chat.id, 0, 10).await.unwrap().items;
        let said: Vec<_> = said.iter().map(|one| (one.speaker.person(), one.text.as_str())).collect();
        assert_eq!(said, [(Some("ann"), "is it good?"), (None, "it is")]);
        let [proposal] = &store.proposals(&chat.id).await.unwrap()[..] else { panic!("not one proposal") };
        assert_eq!((proposal.id.as_str(), proposal.status), ("p1", ProposalStatus::Proposed));
        drop(store);
        let store = Store::open(&place).unwrap();
        let [kept] = &store.webhooks().await.unwrap()[..] else { panic!("not one webhook") };
        assert_eq!(kept.position, store.last_position().await.unwrap());
        let pending = CheckpointFilter { status: Some(CheckpointStatus::Pending), ..Default::default() };
        let open = store.checkpoints(&pending, 0, 100).await.unwrap().items;
        assert_eq!(open.iter().map(|row| row.checkpoint.id.as_str()).collect::<Vec<_>>(), ["new"]);
        assert!(open[0].number > all[4].number);
        for (row, status) in all[2..4].iter().zip([CheckpointStatus::Approved, CheckpointStatus::Rejected]) {
            assert_eq!(told(&store, &row.checkpoint.id).await.unwrap().status, status);
        }
    }
}

/// Every body that was ever written is a line. Lines are only added.
#[test]
fn events_of_every_version_are_read() {
    let mut kinds = BTreeSet::new();
    for schema in EVENTS {
        let lines = std::fs::read_to_string(fixture(&format!("events-{schema}.jsonl"))).unwrap();
        for line in lines.lines() {
            let event: Event = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            // Nothing that was said is lost when it is written again.
            let before: serde_json::Value = serde_json::from_str(line).unwrap();
            let after = serde_json::to_value(&event).unwrap();
            assert!(keeps(&after, &before), "{after}\n{line}");
            kinds.insert(kind(&event));
        }
    }
    assert_eq!(kinds.len(), KINDS, "each kind of event needs a line");
}

/// Whether everything of `before` is in `after`, which may say more at any depth.
fn keeps(after: &serde_json::Value, before: &serde_json::Value) -> bool {
    match (after, before) {
        (serde_json::Value::Object(after), serde_json::Value::Object(before)) => {
            before.iter().all(|(key, value)| after.get(key).is_some_and(|after| keeps(after, value)))
        }
        (after, before) => after == before,
    }
}

/// Does not compile when a kind is added: then it needs a number here and lines in the newest file.
const fn kind(event: &Event) -> usize {
    match event {
        Event::CheckpointCreated { .. } => 0,
        Event::CheckpointResolved { .. } => 1,
        Event::CheckpointMoved { .. } => 2,
        Event::Run(event) => 3 + run_kind(event),
    }
}

const fn run_kind(event: &RunEvent) -> usize {
    match event {
        RunEvent::RunCreated { .. } => 0,
        RunEvent::RunStarted => 1,
        RunEvent::PhaseSkipped { .. } => 2,
        RunEvent::PhaseStarted { .. } => 3,
        RunEvent::AttemptStarted { .. } => 4,
        RunEvent::AttemptFinished(_) => 5,
        RunEvent::AttemptInterrupted { .. } => 6,
        RunEvent::Decided(_) => 7,
        RunEvent::CheckedIn { .. } => 8,
        RunEvent::RunHeld { .. } => 9,
        RunEvent::HoldReleased { .. } => 10,
        RunEvent::HoldRejected { .. } => 11,
        RunEvent::LoopedBack { .. } => 12,
        RunEvent::PhaseEnded { .. } => 13,
        RunEvent::RunPaused { .. } => 14,
        RunEvent::RunResumed { .. } => 15,
        RunEvent::RunCancelled { .. } => 16,
        RunEvent::RunEnded { .. } => 17,
        RunEvent::RemedyChosen(_) => 18,
        RunEvent::PhaseWorked(_) => 19,
        RunEvent::PhaseRepeated { .. } => 20,
        RunEvent::PhasePassed { .. } => 21,
        RunEvent::ChangesRequested { .. } => 22,
        RunEvent::ReviewMoved { .. } => 23,
        RunEvent::LandingConflicted { .. } => 24,
        RunEvent::PhaseLanded { .. } => 25,
        RunEvent::PolicyChanged { .. } => 26,
        RunEvent::Commented(_) => 27,
        RunEvent::FileMarked { .. } => 28,
        RunEvent::AttemptSpent { .. } => 29,
        RunEvent::Forge(_) => 30,
        RunEvent::ThreadResolved { .. } => 31,
    }
}

const KINDS: usize = 35;

#[test]
fn a_store_of_a_later_version_is_refused_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("store.db");
    let newest = SCHEMAS[SCHEMAS.len() - 1];
    std::fs::copy(fixture(&format!("schema-{newest}.db")), &place).unwrap();
    let sqlite = rusqlite::Connection::open(&place).unwrap();
    sqlite.execute_batch("PRAGMA user_version = 4711; CREATE TABLE later (x ANY) STRICT").unwrap();
    drop(sqlite);
    let before = std::fs::read(&place).unwrap();
    for _ in 0..2 {
        match Store::open(&place) {
            Err(StoreError::TooNew { found: 4711, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(std::fs::read(&place).unwrap() == before, "it was changed");
    assert_eq!(names(directory.path()), ["store.db"], "something was left beside it");
}

#[test]
fn what_is_not_a_store_is_refused_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let database = directory.path().join("notes.db");
    let sqlite = rusqlite::Connection::open(&database).unwrap();
    sqlite.execute_batch("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')").unwrap();
    drop(sqlite);
    let letter = directory.path().join("letter.txt");
    std::fs::write(&letter, "Dear Ann,\n".repeat(200)).unwrap();
    for place in [&database, &letter] {
        let before = std::fs::read(place).unwrap();
        let refused = Store::open(place).map(drop);
        let sound = matches!(&refused, Err(StoreError::NotAStore { .. }));
        assert!(sound, "{}: {refused:?}", place.display());
        assert!(std::fs::read(place).unwrap() == before, "{} was changed", place.display());
    }
    assert_eq!(names(directory.path()), ["letter.txt", "notes.db"], "something was left beside them");
}

#[test]
fn many_may_make_a_store_at_the_same_time() {
    for _ in 0..20 {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("below/store.db");
        std::thread::scope(|scope| {
            let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| Store::open(&place).map(drop))).collect();
            for thread in opening {
                thread.join().unwrap().unwrap();
            }
        });
    }
}

/// Makes the fixture of the version of this program.
#[tokio::test]
#[ignore = "writes a fixture; run it once for each version of the schema"]
async fn write_the_fixture_of_this_schema() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("store.db");
    let store = Store::open(&place).unwrap();
    let target = fixture(&format!("schema-{}.db", store.stats().await.unwrap().schema));
    assert!(!target.exists(), "{} is never changed", target.display());
    for name in ["approved", "rejected", "open 1", "open 2"] {
        store.commit(creation(name, CheckpointStatus::Pending)).await.unwrap();
    }
    store.commit(creation("free", CheckpointStatus::NotRequired)).await.unwrap();
    for (name, verdict) in [("approved", Verdict::Approve), ("rejected", Verdict::Reject)] {
        let asked = creation(name, CheckpointStatus::Pending).checkpoint;
        store.commit(resolution(&asked, Version(1), verdict)).await.unwrap();
    }
    let token = TokenRow {
        id: "t".to_owned(),
        principal: Principal::new("ann", PrincipalKind::Person, Role::Reviewer),
        created_at: time(1),
        expires_at: None,
        revoked_at: None,
    };
    store.add_token(token, Digest::of(b"secret")).await.unwrap();
    converse(&store).await;
    drop(store);
    let left = names(directory.path());
    assert!(!left.contains(&"store.db-wal".to_owned()), "all of it is in the file: {left:?}");
    std::fs::copy(&place, target).unwrap();
}

/// A question about a job, its answer, and what was proposed with it.
async fn converse(store: &Store) {
    let chat = ChatRow {
        id: "chat".to_owned(),
        run: Some(RunId::new("run")),
        begun_by: "ann".to_owned(),
        draft: Draft::default(),
        created_at: time(1),
    };
    let message = |id: &str, speaker: Speaker, text: &str, status: MessageStatus| Message {
        number: 0,
        id: id.to_owned(),
        speaker,
        text: text.to_owned(),
        status,
        stage: Stage::PlanReview,
        uses: vec![ToolUse { tool: "get_job".to_owned(), about: String::new(), failed: false }],
        note: None,
        tokens: 7,
        said_at: time(2),
        updated_at: time(2),
    };
    let question = message("q", Speaker::Person("ann".to_owned()), "is it good?", MessageStatus::Done);
    let answer = message("a", Speaker::Companion, "it is", MessageStatus::Done);
    let proposal = NewProposal {
        chat: "chat".to_owned(),
        message: "a".to_owned(),
        asked_by: "ann".to_owned(),
        proposed: Proposed::File {
            path: "plan.md".to_owned(),
            base: "0".repeat(40),
            was: None,
            text: "new\n".to_owned(),
            diff: "+new\n".to_owned(),
        },
        at: time(3),
    };
    store.begin_chat(chat, time(0)).await.unwrap();
    let asked = store.ask_chat("chat".to_owned(), (question, answer), time(0)).await.unwrap();
    assert_eq!(asked, Asked::Begun);
    assert_eq!(store.propose(proposal).await.unwrap(), "p1");
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn webhook() -> WebhookRow {
    WebhookRow {
        id: "w".to_owned(),
        name: String::new(),
        kind: WebhookKind::Webhook,
        url: WebhookUrl::new("https://example.com"),
        types: vec![NotificationType::CheckpointCreated],
        allow_private: false,
        secret: None,
        old_secret: None,
        position: Position(0),
        created_at: time(1),
        failing_since: None,
        disabled: None,
    }
}

async fn told(store: &Store, id: &CheckpointId) -> Option<Checkpoint> {
    let events = store.events(Position(0), Some(id.as_str()), 100).await.unwrap();
    events.iter().fold(None, |so_far, event| fold_checkpoint(so_far, id, event.at, &event.event))
}

fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_750_000_000_000 + ms).unwrap()
}

fn deliverable(name: &str) -> Deliverable {
    match name {
        "open 1" => Deliverable::Json(serde_json::json!({ "words": [1, 2.5, null] })),
        "open 2" => Deliverable::Bytes(vec![0, 159, 146, 150]),
        other => Deliverable::Text(format!("the work of {other}")),
    }
}

fn creation(name: &str, status: CheckpointStatus) -> Commit {
    let content = deliverable(name).content().unwrap();
    let checkpoint = Checkpoint {
        id: CheckpointId::new(name).unwrap(),
        run: None,
        owner: None,
        created_by: None,
        worker: "writer".to_owned(),
        phase: "draft".to_owned(),
        kind: "deliverable".to_owned(),
        status,
        digest: content.digest,
        moved: false,
        round: 1,
        created_at: time(1),
        expires_at: None,
        resolved_at: (status == CheckpointStatus::NotRequired).then(|| time(1)),
        reason: None,
        resolved_by: None,
    };
    let events = vec![Event::created(&checkpoint)];
    Commit { expected: Version(0), checkpoint, events, at: time(1), content: Some(content) }
}

fn resolution(checkpoint: &Checkpoint, expected: Version, verdict: Verdict) -> Commit {
    let given = GivenVerdict {
        verdict,
        reason: Some("why".to_owned()),
        by: "ann".to_owned(),
        digest: None,
        at: time(2),
    };
    let Ok(Resolved::Now(next)) = checkpoint.resolve(&given) else { panic!("not pending") };
    let events = vec![Event::resolved(&next)];
    Commit { expected, checkpoint: *next, events, at: time(2), content: None }
}
