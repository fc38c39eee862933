//! Conversations: one for a job, one answer at a time, and proposals that are settled once.

use checkrein_core::companion::{
    Draft, Message, MessageStatus, ProposalStatus, Proposed, Speaker, Stage, ToolUse,
};
use checkrein_core::run::RunId;
use checkrein_store::{Asked, ChatRow, Grown, NewProposal, Store};

use crate::runs::create;
use crate::{Open, time};

fn chat(id: &str, run: Option<&str>) -> ChatRow {
    ChatRow {
        id: id.to_owned(),
        run: run.map(RunId::new),
        begun_by: "ann".to_owned(),
        draft: Draft { description: "count words".to_owned(), ..Draft::default() },
        created_at: time(10),
    }
}

fn message(id: &str, speaker: Speaker, at_ms: i64) -> Message {
    let status = match speaker {
        Speaker::Person(_) => MessageStatus::Done,
        Speaker::Companion => MessageStatus::Writing,
    };
    Message {
        number: 0,
        id: id.to_owned(),
        speaker,
        text: format!("text of {id}"),
        status,
        stage: Stage::PlanReview,
        uses: Vec::new(),
        note: None,
        tokens: 0,
        said_at: time(at_ms),
        updated_at: time(at_ms),
    }
}

async fn ask(store: &Store, chat: &str, id: &str, at_ms: i64, alive_after_ms: i64) -> Asked {
    let question = message(id, Speaker::Person("ann".to_owned()), at_ms);
    let answer = message(&format!("{id}-answer"), Speaker::Companion, at_ms);
    store.ask_chat(chat.to_owned(), (question, answer), time(alive_after_ms)).await.unwrap()
}

fn grown(id: &str, status: MessageStatus, at_ms: i64) -> Grown {
    Grown {
        id: id.to_owned(),
        status,
        text: "an answer".to_owned(),
        uses: vec![ToolUse { tool: "get_job".to_owned(), about: String::new(), failed: true }],
        note: Some("a note".to_owned()),
        tokens: 7,
        at: time(at_ms),
    }
}

pub async fn a_job_has_one_conversation(open: Open<'_>) {
    let (store, other) = (open(), open());
    store.begin_chat(chat("c1", Some("run-1")), time(0)).await.unwrap();
    store.begin_chat(chat("c2", Some("run-1")), time(0)).await.unwrap();
    let found = other.chat_of_run("run-1").await.unwrap().unwrap();
    assert_eq!(found, chat("c1", Some("run-1")));
    assert_eq!(other.chat("c1").await.unwrap().unwrap(), found);
    assert_eq!(other.chat("c2").await.unwrap(), None);
    assert_eq!(other.chat_of_run("run-2").await.unwrap(), None);

    // One that began before its job goes on in it, once.
    store.begin_chat(chat("c3", None), time(0)).await.unwrap();
    assert!(!store.attach_chat("c3".to_owned(), "run-1".to_owned(), time(20)).await.unwrap());
    assert!(store.attach_chat("c3".to_owned(), "run-2".to_owned(), time(20)).await.unwrap());
    assert!(!store.attach_chat("c3".to_owned(), "run-3".to_owned(), time(20)).await.unwrap());
    assert_eq!(other.chat_of_run("run-2").await.unwrap().unwrap().id, "c3");

    // What nobody went on with is forgotten.
    store.begin_chat(chat("c4", None), time(0)).await.unwrap();
    let draft = Draft { autonomy: Some("guided".to_owned()), ..Draft::default() };
    store.put_draft("c4".to_owned(), draft.clone(), time(500)).await.unwrap();
    assert_eq!(other.chat("c4").await.unwrap().unwrap().draft, draft);
    store.begin_chat(chat("c5", None), time(500)).await.unwrap();
    assert!(other.chat("c4").await.unwrap().is_some());
    store.begin_chat(chat("c6", None), time(501)).await.unwrap();
    assert!(other.chat("c4").await.unwrap().is_none());
    assert!(other.chat("c3").await.unwrap().is_some(), "of a job");
}

pub async fn one_answer_is_written_at_a_time(open: Open<'_>) {
    let (store, other) = (open(), open());
    store.begin_chat(chat("c1", Some("run-1")), time(0)).await.unwrap();
    assert_eq!(ask(&store, "c1", "m1", 100, 0).await, Asked::Begun);
    assert_eq!(ask(&other, "c1", "m1", 101, 0).await, Asked::Before);
    assert_eq!(ask(&other, "c1", "m2", 102, 0).await, Asked::Busy);
    assert!(store.grow_message(grown("m1-answer", MessageStatus::Writing, 150)).await.unwrap());
    // An answer that has not grown for long is nobody's any more.
    assert_eq!(ask(&other, "c1", "m2", 200, 150).await, Asked::Busy);
    assert_eq!(ask(&other, "c1", "m2", 200, 151).await, Asked::Begun);
    assert!(!store.grow_message(grown("m1-answer", MessageStatus::Done, 201)).await.unwrap());
    assert!(store.grow_message(grown("m2-answer", MessageStatus::Done, 202)).await.unwrap());
    assert!(!store.grow_message(grown("m2-answer", MessageStatus::BrokenOff, 203)).await.unwrap());

    let all = other.messages("c1", 0, 10).await.unwrap();
    let words: Vec<String> =
        all.items.iter().map(|one| format!("{} {} {}", one.id, one.status.name(), one.text)).collect();
    assert_eq!(
        words,
        [
            "m1 done text of m1",
            "m1-answer broken_off an answer",
            "m2 done text of m2",
            "m2-answer done an answer"
        ]
    );
    let answer = &all.items[3];
    assert_eq!((answer.tokens, answer.note.as_deref()), (7, Some("a note")));
    assert_eq!(answer.uses, grown("", MessageStatus::Done, 0).uses);
    assert_eq!((answer.said_at, answer.updated_at), (time(200), time(202)));
    assert_eq!(other.message("m2-answer").await.unwrap().as_ref(), Some(answer));
    let page = other.messages("c1", 0, 3).await.unwrap();
    assert_eq!(page.items.len(), 3);
    let rest = other.messages("c1", page.next.unwrap(), 3).await.unwrap();
    assert_eq!((rest.items.as_slice(), rest.next), (&all.items[3..], None));
    assert_eq!(other.last_messages("c1", 2).await.unwrap(), all.items[2..]);
    assert!(other.messages("c2", 0, 10).await.unwrap().items.is_empty());
}

pub async fn a_proposal_is_settled_once(open: Open<'_>) {
    let (store, other) = (open(), open());
    for id in ["c1", "c2"] {
        store.begin_chat(chat(id, Some(&format!("run of {id}"))), time(0)).await.unwrap();
    }
    let new = |chat: &str, text: &str| NewProposal {
        chat: chat.to_owned(),
        message: "m1".to_owned(),
        asked_by: "ann".to_owned(),
        proposed: Proposed::Comment { file: None, line: None, text: text.to_owned() },
        at: time(5),
    };
    assert_eq!(store.propose(new("c1", "one")).await.unwrap(), "p1");
    assert_eq!(other.propose(new("c1", "two")).await.unwrap(), "p2");
    assert_eq!(store.propose(new("c2", "three")).await.unwrap(), "p1");
    let found = store.proposal("c2", "p1").await.unwrap().unwrap();
    assert_eq!((found.proposed, found.status), (new("c2", "three").proposed, ProposalStatus::Proposed));
    assert_eq!(store.proposal("c2", "p2").await.unwrap(), None);
    let settle = |status: ProposalStatus| {
        let outcome = Some("c7".to_owned());
        store.settle_proposal(
            ("c1".to_owned(), "p2".to_owned()),
            status,
            ("bob".to_owned(), time(9)),
            outcome,
        )
    };
    assert!(settle(ProposalStatus::Applied).await.unwrap());
    assert!(!settle(ProposalStatus::Discarded).await.unwrap());
    let all = other.proposals("c1").await.unwrap();
    let words: Vec<(&str, &str)> = all.iter().map(|one| (one.id.as_str(), one.status.name())).collect();
    assert_eq!(words, [("p1", "proposed"), ("p2", "applied")]);
    assert_eq!(all[1].settled, Some(("bob".to_owned(), time(9))));
    assert_eq!(all[1].outcome.as_deref(), Some("c7"));
}

pub async fn what_has_led_to_no_job_is_listed(open: Open<'_>) {
    let (store, other) = (open(), open());
    store.begin_chat(chat("c1", None), time(0)).await.unwrap();
    store.begin_chat(ChatRow { begun_by: "bob".to_owned(), ..chat("c2", None) }, time(0)).await.unwrap();
    store.begin_chat(chat("c3", Some("run-1")), time(0)).await.unwrap();
    ask(&store, "c2", "m1", 50, 0).await;
    store.put_draft("c1".to_owned(), Draft::default(), time(70)).await.unwrap();
    let ids = |open: &[checkrein_store::OpenChat]| -> Vec<String> {
        open.iter().map(|one| one.chat.id.clone()).collect()
    };
    let all = other.open_chats(None, 10).await.unwrap();
    assert_eq!(ids(&all), ["c1", "c2"], "the newest first");
    assert_eq!((all[0].updated_at, all[0].first_question.as_deref()), (time(70), None));
    assert_eq!((all[1].updated_at, all[1].first_question.as_deref()), (time(50), Some("text of m1")));
    assert_eq!(ids(&other.open_chats(Some("bob"), 10).await.unwrap()), ["c2"]);
    assert_eq!(ids(&other.open_chats(None, 1).await.unwrap()), ["c1"]);
}

/// A conversation about a run, one that leads to none yet, and what was proposed.
async fn filled(store: &Store) {
    create(store, "r1").await;
    store.begin_chat(chat("c1", Some("r1")), time(0)).await.unwrap();
    store.begin_chat(chat("c2", None), time(0)).await.unwrap();
    assert_eq!(ask(store, "c1", "m1", 100, 0).await, Asked::Begun);
    assert!(store.grow_message(grown("m1-answer", MessageStatus::Done, 150)).await.unwrap());
    assert_eq!(ask(store, "c1", "m2", 200, 0).await, Asked::Begun);
    assert_eq!(ask(store, "c2", "m3", 300, 0).await, Asked::Begun);
    for text in ["one", "two"] {
        let proposed = Proposed::File {
            path: "plan.md".to_owned(),
            base: "0".repeat(40),
            was: None,
            text: text.to_owned(),
            diff: format!("+{text}"),
        };
        let new = NewProposal {
            chat: "c1".to_owned(),
            message: "m1-answer".to_owned(),
            asked_by: "ann".to_owned(),
            proposed,
            at: time(120),
        };
        store.propose(new).await.unwrap();
    }
    let which = ("c1".to_owned(), "p1".to_owned());
    let (by, outcome) = (("bob".to_owned(), time(160)), Some("abc".to_owned()));
    assert!(store.settle_proposal(which, ProposalStatus::Applied, by, outcome).await.unwrap());
}

/// Everything that is there of the conversations above, without what is counted anew.
async fn everything(store: &Store) -> Vec<String> {
    let mut all = Vec::new();
    for id in ["c1", "c2"] {
        all.push(format!("{:?}", store.chat(id).await.unwrap().unwrap()));
        for message in store.messages(id, 0, 100).await.unwrap().items {
            all.push(format!("{:?}", Message { number: 0, updated_at: time(0), ..message }));
        }
        for proposal in store.proposals(id).await.unwrap() {
            all.push(format!("{:?}", checkrein_core::companion::Proposal { number: 0, ..proposal }));
        }
    }
    all
}

pub async fn conversations_are_exported_and_imported(open: Open<'_>) {
    let store = open();
    filled(&store).await;
    let mut export = Vec::new();
    store.export(&mut export, time(900)).await.unwrap();
    let text = String::from_utf8(export.clone()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let other = Store::open(&directory.path().join("other.db")).unwrap();
    let imported = other.import(std::io::Cursor::new(export.clone())).await.unwrap();
    assert_eq!((imported.chats, imported.runs, imported.known), (2, 1, 0));
    // Nobody writes there what was being written here.
    let expected: Vec<String> = everything(&store)
        .await
        .iter()
        .map(|one| one.replace("status: Writing", "status: BrokenOff"))
        .collect();
    assert_eq!(everything(&other).await, expected);
    assert_eq!(other.open_chats(None, 9).await.unwrap()[0].updated_at, time(300));
    // It goes on there: numbers of proposals and messages follow.
    assert_eq!(ask(&other, "c1", "m4", 950, 0).await, Asked::Begun);
    let new = NewProposal {
        chat: "c1".to_owned(),
        message: "m4-answer".to_owned(),
        asked_by: "ann".to_owned(),
        proposed: Proposed::Comment { file: None, line: None, text: "x".to_owned() },
        at: time(960),
    };
    assert_eq!(other.propose(new).await.unwrap(), "p3");
    // Again is nothing new, and what went on there stays.
    let again = other.import(std::io::Cursor::new(export)).await.unwrap();
    assert_eq!((again.chats, again.known), (0, 3));
    assert_eq!(other.messages("c1", 0, 100).await.unwrap().items.len(), 6);

    // What is not whole is not taken.
    let without = |what: &str| -> String {
        text.lines().filter(|line| !line.contains(what)).map(|line| format!("{line}\n")).collect()
    };
    for (what, expected) in [
        ("\"line\":\"chat_message\"", "the export ends too early"),
        ("\"line\":\"chat_proposal\"", "the export ends too early"),
        ("\"line\":\"chat\"", "does not follow its conversation"),
    ] {
        let third = Store::open(&directory.path().join("third.db")).unwrap();
        let refused = third.import(std::io::Cursor::new(without(what).into_bytes())).await.unwrap_err();
        assert!(refused.to_string().contains(expected), "{what}: {refused}");
        assert_eq!(third.chat("c1").await.unwrap(), None);
    }
    let forged = text.replace("\"run\":\"r1\",\"begun_by\"", "\"run\":\"r9\",\"begun_by\"");
    assert_ne!(forged, text);
    let third = Store::open(&directory.path().join("third.db")).unwrap();
    let refused = third.import(std::io::Cursor::new(forged.into_bytes())).await.unwrap_err().to_string();
    assert!(refused.contains("it is about `r9`, which is not there"), "{refused}");
}

pub async fn conversations_are_copied(open: Open<'_>) {
    let directory = tempfile::tempdir().unwrap();
    let first = Store::open(&directory.path().join("first.db")).unwrap();
    filled(&first).await;
    let store = open();
    store.copy_from(&first).await.unwrap();
    assert_eq!(everything(&store).await, everything(&first).await);
    // Numbers follow those that came.
    assert_eq!(ask(&store, "c2", "m9", 900, 800).await, Asked::Begun);
}

pub async fn a_conversation_goes_with_its_job(open: Open<'_>) {
    let store = open();
    filled(&store).await;
    let version = store.run("r1").await.unwrap().unwrap().run.state.version;
    assert!(store.remove_run("r1".into(), checkrein_store::Version(version)).await.unwrap());
    assert_eq!(store.chat("c1").await.unwrap(), None);
    assert_eq!(store.message("m1").await.unwrap(), None);
    assert!(store.proposals("c1").await.unwrap().is_empty());
    assert!(store.chat("c2").await.unwrap().is_some(), "of no job");
    assert_eq!(store.check().await.unwrap().problems, Vec::<String>::new());
}
