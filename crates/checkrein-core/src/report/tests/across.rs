use super::*;

#[test]
fn what_runs_have_in_common() {
    let large = |lines: u32| {
        let text = format!("Large commit size ({lines} lines added)");
        let response = json!({"warnings": [{"text": text, "severity": "low", "category": "style"}]});
        Driven::new("build: commit", LENIENT, json!({"build:commit": [response]}), 1_000).report()
    };
    let mut waiting = large(3);
    waiting.waited = Waited { holds: 2, waited_ms: 3_723_000 };
    let reports = [clean(), warned(), stopped(), truncated(), large(1), large(22), waiting];
    let across = Across::of(&reports);
    insta::assert_snapshot!("across", across.text(Style::default()));
    insta::assert_json_snapshot!("across-json", across.json());
    insta::assert_snapshot!("across-nothing", Across::default().text(Style::default()));
}

#[test]
fn waiting_is_from_the_question_to_its_answer() {
    let warned = json!({"build:x": [{"warnings": ["Style"]}]});
    let driven = Driven::new("build: x | ship: y", "{}", warned, 1_000);
    let mut events = driven.events.clone();
    let answered = events.iter().position(|(_, _, event)| event.answers()).unwrap();
    let later = SignedDuration::from_secs(90);
    events.iter_mut().skip(answered).for_each(|(_, at, _)| *at += later);
    let told = |events: &[(u64, Timestamp, RunEvent)], now: Timestamp| {
        let events = events.iter().map(|(seq, at, event)| (*seq, *at, event));
        Report::of(&driven.run, events, 0, now).waited
    };
    let now = driven.now + later;
    assert_eq!(told(&events, now), Waited { holds: 1, waited_ms: 90_000 });
    // A question that is still open has waited until now.
    let open = &events[..answered];
    assert_eq!(
        told(open, open.last().unwrap().1 + SignedDuration::from_secs(5)),
        Waited { holds: 1, waited_ms: 5_000 }
    );
}

#[test]
fn a_stop_is_remembered_though_the_run_went_on() {
    let driven = Driven::new("a: x | b: y z", "{}", json!({"b:y": [{"errors": ["x"]}]}), 1);
    assert_eq!(driven.report().stops, ["b"]);
    assert_eq!(clean().stops, [""; 0]);
}
