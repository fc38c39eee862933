//! Conversations: one for a job, one answer at a time, and proposals that are settled once.

use checkrein_core::companion::{
    Draft, Message, MessageStatus, ProposalStatus, Proposed, Speaker, Stage, ToolUse,
};
use checkrein_core::run::RunId;
use checkrein_store::{Asked, ChatRow, Grown, NewProposal, Store};

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
