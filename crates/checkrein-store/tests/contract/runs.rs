use std::sync::Arc;

use checkrein_core::checkpoint::Checkpoint;
use checkrein_core::deliverable::{Content, Deliverable};
use checkrein_core::plan::Plan;
use checkrein_core::policy::{Policy, Scope};
use checkrein_core::run::{Command, Definition, Run, RunEvent, RunId, RunStatus};
use checkrein_store::{
    CheckpointFilter, CommitError, Needs, Position, RunCommit, RunFilter, RunKind, RunRow, Store, Version,
};

use crate::{Open, creation, pending, time};

fn definition() -> (Arc<Definition>, Content) {
    let plan =
        Plan { workflow: "w".into(), ..serde_json::from_str(r#"{"workflow": "", "phases": []}"#).unwrap() };
    let definition = Definition {
        plan,
        policy: Policy::builtin(Scope::Workflow),
        target: Some("main".into()),
        work_id: None,
        values: Default::default(),
        directory: "/".into(),
        only: Vec::new(),
        job: None,
    };
    let content = Deliverable::Json(serde_json::to_value(&definition).unwrap()).content().unwrap();
    (Arc::new(definition), content)
}

pub fn commit(run: &Run, expected: u64, events: Vec<RunEvent>, at_ms: i64) -> RunCommit {
    let content = definition().1;
    RunCommit {
        expected: Version(expected),
        run: RunRow {
            id: run.id.clone(),
            workflow: "w".into(),
            target: Some("main".into()),
            work_id: None,
            rerun_of: None,
            owner: None,
            definition: content.digest,
            state: run.state.clone(),
        },
        events,
        at: time(at_ms),
        definition: (expected == 0).then_some(content),
        checkpoint: None,
        needs: Needs::default(),
        epoch: None,
        claim: None,
    }
}

pub async fn create(store: &Store, id: &str) -> Run {
    create_with(store, id, Needs::default()).await
}

pub async fn create_with(store: &Store, id: &str, needs: Needs) -> Run {
    let (definition, content) = definition();
    let event = RunEvent::RunCreated {
        workflow: "w".into(),
        target: Some("main".into()),
        work_id: None,
        definition: content.digest,
        rerun_of: None,
        by: "ann".into(),
    };
    let (run, applied) = Run::create(RunId::new(id), definition, event, time(5));
    store.commit_run(RunCommit { needs, ..commit(&run, 0, applied.events, 5) }).await.unwrap();
    run
}

pub async fn a_run_that_is_committed_is_read_again(open: Open<'_>) {
    let store = open();
    let mut run = create(&store, "r1").await;
    let applied = run.apply(Command::Start, time(6)).unwrap();
    let expected = run.state.version - applied.events.len() as u64;
    store.commit_run(commit(&run, expected, applied.events.clone(), 6)).await.unwrap();
    let read = open().run("r1").await.unwrap().unwrap();
    assert_eq!(read.run.state, run.state);
    assert_eq!((read.run.state.status, read.updated_at), (RunStatus::Completed, time(6)));
    assert_eq!(store.history("r1").await.unwrap().len() as u64, run.state.version);
    assert_eq!(store.run_version("r1").await.unwrap(), Version(run.state.version));
    assert_eq!(store.run_version("r2").await.unwrap(), Version(0));
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
}

pub async fn an_older_version_of_a_run_is_a_conflict(open: Open<'_>) {
    let (store, other) = (open(), open());
    let mut run = create(&store, "r1").await;
    let applied = run.apply(Command::Start, time(6)).unwrap();
    let next = commit(&run, 1, applied.events, 6);
    let (one, two) = tokio::join!(store.commit_run(next.clone()), other.commit_run(next));
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    assert!(matches!(one.and(two), Err(CommitError::Conflict)));
    assert_eq!(store.history("r1").await.unwrap().len() as u64, run.state.version);
}

pub async fn a_run_and_its_checkpoint_come_together_or_not_at_all(open: Open<'_>) {
    let store = open();
    let run = create(&store, "r1").await;
    let asked = |name: &str| Checkpoint { run: Some("r1".into()), ..pending(name) };
    store.commit(creation(asked("taken"))).await.unwrap();
    // The checkpoint cannot be made, so the run does not move.
    let mut moved = run.clone();
    let applied = moved.apply(Command::Start, time(6)).unwrap();
    let next =
        RunCommit { checkpoint: Some(creation(asked("taken"))), ..commit(&moved, 1, applied.events, 6) };
    assert!(matches!(store.commit_run(next.clone()).await, Err(CommitError::Conflict)));
    assert_eq!(store.run("r1").await.unwrap().unwrap().run.state, run.state);
    assert_eq!(store.history("r1").await.unwrap().len(), 1);
    // The run has moved, so the checkpoint is not made.
    store.commit_run(RunCommit { checkpoint: None, ..next.clone() }).await.unwrap();
    let late = RunCommit { checkpoint: Some(creation(asked("late"))), ..next };
    assert!(matches!(store.commit_run(late).await, Err(CommitError::Conflict)));
    assert_eq!(store.checkpoint(&crate::id("late")).await.unwrap(), None);
}

pub async fn a_list_has_the_newest_first(open: Open<'_>) {
    let store = open();
    for number in 0..5 {
        create(&store, &format!("r{number}")).await;
    }
    let ids = |page: checkrein_store::Page<checkrein_store::StoredRun>| {
        (page.items.iter().map(|row| row.run.id.to_string()).collect::<Vec<_>>(), page.next)
    };
    let (first, next) = ids(store.runs(&RunFilter::default(), None, 2).await.unwrap());
    assert_eq!(first, ["r4", "r3"]);
    let (rest, end) = ids(store.runs(&RunFilter::default(), next, 9).await.unwrap());
    assert_eq!((rest, end), (vec!["r2".to_owned(), "r1".into(), "r0".into()], None));
    let jobs = RunFilter { kind: Some(RunKind::Job), ..RunFilter::default() };
    assert!(ids(store.runs(&jobs, None, 9).await.unwrap()).0.is_empty());
    let workflows = RunFilter { kind: Some(RunKind::Workflow), ..RunFilter::default() };
    let all = ids(store.runs(&RunFilter::default(), None, 9).await.unwrap());
    assert_eq!(ids(store.runs(&workflows, None, 9).await.unwrap()), all);
    let held = RunFilter { status: Some(RunStatus::Held), ..RunFilter::default() };
    assert_eq!(store.runs(&held, None, 9).await.unwrap().items, []);
    let mine =
        RunFilter { status: Some(RunStatus::Created), workflow: Some("w".into()), ..RunFilter::default() };
    assert_eq!(store.runs(&mine, None, 9).await.unwrap().items.len(), 5);
}

pub async fn an_agent_has_what_it_made_and_what_belongs_to_that(open: Open<'_>) {
    let store = open();
    for (id, owner) in [("r1", Some("bot")), ("r2", Some("other")), ("r3", None)] {
        let (definition, content) = definition();
        let event = RunEvent::RunCreated {
            workflow: "w".into(),
            target: None,
            work_id: None,
            definition: content.digest,
            rerun_of: None,
            by: "bot".into(),
        };
        let (run, applied) = Run::create(RunId::new(id), definition, event, time(5));
        let mut made = commit(&run, 0, applied.events, 5);
        made.run.owner = owner.map(str::to_owned);
        store.commit_run(made).await.unwrap();
    }
    for (name, run, owner) in [
        ("mine", None, Some("bot")),
        ("r1.1", Some("r1"), None),
        ("r2.1", Some("r2"), None),
        ("theirs", None, Some("other")),
        ("nobody's", None, None),
    ] {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let made = Checkpoint { run: text(run), owner: text(owner), ..pending(name) };
        store.commit(creation(made)).await.unwrap();
    }
    let runs = RunFilter { owner: Some("bot".into()), ..RunFilter::default() };
    let runs = store.runs(&runs, None, 9).await.unwrap().items;
    assert_eq!(runs.iter().map(|row| row.run.id.as_str()).collect::<Vec<_>>(), ["r1"]);
    assert_eq!(runs[0].run.owner.as_deref(), Some("bot"));
    let asked = CheckpointFilter { owner: Some("bot".into()), ..CheckpointFilter::default() };
    let asked = open().checkpoints(&asked, 0, 9).await.unwrap().items;
    assert_eq!(asked.iter().map(|row| row.checkpoint.id.as_str()).collect::<Vec<_>>(), ["mine", "r1.1"]);
    let events = store.events_of_owner(Position(0), "bot", 9).await.unwrap();
    assert_eq!(events.iter().map(|event| event.stream.as_str()).collect::<Vec<_>>(), ["r1", "mine", "r1.1"]);
    let later = store.events_of_owner(events[1].position, "bot", 9).await.unwrap();
    assert_eq!(later.len(), 1);
    let of_run = store.events_of_run(Position(0), "r1", 9).await.unwrap();
    assert_eq!(of_run.iter().map(|event| event.stream.as_str()).collect::<Vec<_>>(), ["r1", "r1.1"]);
    for (stream, of_bot) in
        [("r1", true), ("r1.1", true), ("mine", true), ("r2", false), ("r2.1", false), ("theirs", false)]
    {
        assert_eq!(store.is_of_owner(stream, "bot").await.unwrap(), of_bot, "{stream}");
    }
    assert!(!store.is_of_owner("nobody's", "bot").await.unwrap());
    assert!(store.is_of_run("r1.1", "r1").await.unwrap() && !store.is_of_run("mine", "r1").await.unwrap());
    assert_eq!(store.last_position().await.unwrap(), Position(8));
}

pub async fn an_id_is_found_by_its_beginning_or_end(open: Open<'_>) {
    let store = open();
    for id in ["20260101-aa", "20260101-ab", "20260202-ba"] {
        create(&store, id).await;
    }
    for (text, expected) in
        [("20260202", 1), ("20260101-aa", 1), ("ab", 1), ("20260101", 2), ("0101", 0), ("%", 0), ("aa", 1)]
    {
        assert_eq!(store.runs_named(text).await.unwrap().len(), expected, "{text}");
    }
}

pub async fn runs_are_moved_with_everything_that_belongs_to_them(open: Open<'_>) {
    let store = open();
    let mut run = create(&store, "r1").await;
    let applied = run.apply(Command::Start, time(6)).unwrap();
    store.commit_run(commit(&run, 1, applied.events, 6)).await.unwrap();
    let mut export = Vec::new();
    store.export(&mut export, time(7)).await.unwrap();
    let text = String::from_utf8(export.clone()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let other = Store::open(&directory.path().join("other.db")).unwrap();
    let imported = other.import(std::io::Cursor::new(export.clone())).await.unwrap();
    assert_eq!((imported.runs, imported.known), (1, 0));
    assert_eq!(other.run("r1").await.unwrap(), store.run("r1").await.unwrap());
    assert_eq!(other.check().await.unwrap().problems, Vec::<String>::new());
    assert_eq!(other.import(std::io::Cursor::new(export)).await.unwrap().known, 1);
    // A run that is not what its events say is not taken.
    let forged = text.replace("\"status\":\"completed\",\"version\"", "\"status\":\"cancelled\",\"version\"");
    assert_ne!(forged, text);
    let third = Store::open(&directory.path().join("third.db")).unwrap();
    let refused = third.import(std::io::Cursor::new(forged.into_bytes())).await.unwrap_err().to_string();
    assert!(refused.contains("run `r1`: it is not what its events say"), "{refused}");
    assert_eq!(third.run("r1").await.unwrap(), None);
}

pub async fn a_run_is_forgotten_only_as_it_was_seen(open: Open<'_>) {
    let store = open();
    let mut run = create(&store, "r1").await;
    let asked = Checkpoint { run: Some("r1".into()), ..pending("r1.1") };
    let applied = run.apply(Command::Start, time(6)).unwrap();
    let next = RunCommit { checkpoint: Some(creation(asked)), ..commit(&run, 1, applied.events, 6) };
    store.commit_run(next).await.unwrap();
    let other = create(&store, "r2").await;
    let version = Version(run.state.version);
    // Somebody resumed it meanwhile.
    assert!(!store.trim_run("r1".into(), Version(1)).await.unwrap());
    assert!(!store.remove_run("r1".into(), Version(1)).await.unwrap());

    assert!(store.trim_run("r1".into(), version).await.unwrap());
    assert!(!store.trim_run("r1".into(), version).await.unwrap(), "once is enough");
    assert_eq!(store.history("r1").await.unwrap(), []);
    assert_eq!(store.run("r1").await.unwrap().unwrap().run.state, run.state);
    assert!(store.checkpoint(&crate::id("r1.1")).await.unwrap().is_some());

    assert!(store.remove_run("r1".into(), version).await.unwrap());
    assert_eq!(store.run("r1").await.unwrap(), None);
    assert_eq!(store.checkpoint(&crate::id("r1.1")).await.unwrap(), None);
    // The other one has the same definition.
    let left = store.run("r2").await.unwrap().unwrap().run;
    assert_eq!(left.state, other.state);
    assert!(store.content(&left.definition).await.unwrap().is_some());
    assert!(store.remove_run("r2".into(), Version(1)).await.unwrap());
    assert_eq!(store.content(&left.definition).await.unwrap(), None);
}
