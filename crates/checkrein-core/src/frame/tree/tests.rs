use proptest::prelude::*;
use serde_json::json;

use super::*;

fn fold(status: PopStatus) -> Fold {
    Fold {
        status,
        summary: Some("done".into()),
        artifacts: vec!["a.rs".into()],
        decisions: vec!["use a".into()],
        log_path: Some("logs/1.md".into()),
    }
}

/// A script of moves, one per word, and the tree it leads to: `+a` push, `-` pop, `-failed` pop with
/// a status, `?a` plan, `?a.b` plan a in b, `!a` activate, `xa` invalidate.
fn tree(script: &str) -> FrameTree {
    let mut tree = FrameTree::default();
    for step in script.split_whitespace() {
        apply(&mut tree, step).unwrap();
    }
    tree
}

fn apply(tree: &mut FrameTree, step: &str) -> Result<(), TreeError> {
    let mut chars = step.chars();
    let (verb, rest) = (chars.next().unwrap(), chars.as_str());
    match verb {
        '+' => tree.push(rest.into(), format!("goal {rest}")).map(drop),
        '-' => {
            let status = match rest {
                "failed" => PopStatus::Failed,
                "blocked" => PopStatus::Blocked,
                _ => PopStatus::Completed,
            };
            tree.pop(fold(status)).map(drop)
        }
        '?' => {
            let (id, parent) = rest.split_once('.').map_or((rest, None), |(id, parent)| (id, Some(parent)));
            tree.plan(id.into(), format!("goal {id}"), parent).map(drop)
        }
        '!' => tree.activate(rest).map(drop),
        'x' => tree.invalidate(rest, "wrong").map(drop),
        _ => panic!("{step}"),
    }
}

/// `a:in_progress b<a:completed *b` in the order of creation, the current one at the end.
fn shape(tree: &FrameTree) -> String {
    let frames = tree.frames().map(|frame| match &frame.parent {
        Some(parent) => format!("{}<{parent}:{}", frame.id, frame.status),
        None => format!("{}:{}", frame.id, frame.status),
    });
    let current = tree.current().map_or("*".into(), |frame| format!("*{}", frame.id));
    frames.chain([current]).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_was_begun_is_listed_before_what_is_planned() {
    for (script, listed, page) in [
        ("+a ?b +c", "a c b", "● a goal a\n├─ ● c goal c ◀\n└─ ○ b goal b\n"),
        ("+a ?b ?d.b +c -", "a c b d", "● a goal a ◀\n├─ ✓ c goal c\n└─ ○ b goal b\n   └─ ○ d goal d\n"),
        ("+a ?b ?d.b xd +c", "a c b d", "● a goal a\n├─ ● c goal c ◀\n└─ ○ b goal b\n   └─ – d goal d\n"),
        ("+a +b ?c - +d", "a b d c", "● a goal a\n├─ ✓ b goal b\n│  └─ ○ c goal c\n└─ ● d goal d ◀\n"),
    ] {
        let tree = tree(script);
        let ids: Vec<&str> = tree.listed().map(|frame| frame.id.as_str()).collect();
        assert_eq!(ids.join(" "), listed, "{script}");
        assert_eq!(crate::frame::tree_text(&tree), page, "{script}");
    }
}

#[test]
fn moves() {
    for (script, expected) in [
        ("", "*"),
        ("+a", "a:in_progress *a"),
        ("+a +b", "a:in_progress b<a:in_progress *b"),
        ("+a +b -", "a:in_progress b<a:completed *a"),
        ("+a +b - +c", "a:in_progress b<a:completed c<a:in_progress *c"),
        ("+a +b -failed +c -blocked", "a:in_progress b<a:failed c<a:blocked *a"),
        ("+a ?b", "a:in_progress b<a:planned *a"),
        ("+a ?b ?c.b", "a:in_progress b<a:planned c<b:planned *a"),
        ("+a ?b !b", "a:in_progress b<a:in_progress *b"),
        ("+a ?b ?c.b !c", "a:in_progress b<a:in_progress c<b:in_progress *c"),
        ("+a +b -blocked !b", "a:in_progress b<a:in_progress *b"),
        ("+a +b !a", "a:in_progress b<a:in_progress *a"),
        // The parent was closed while its child was left open.
        ("+a +b +c !b - !c -", "a:in_progress b<a:completed c<b:completed *a"),
        ("+a +b +c xb -", "a:in_progress b<a:invalidated c<b:completed *a"),
        ("+a +b xb", "a:in_progress b<a:invalidated *a"),
        ("+a xa", "a:invalidated *"),
        ("+a xa +b", "a:invalidated b:in_progress *b"),
        ("+a +b xa -", "a:invalidated b<a:completed *"),
    ] {
        assert_eq!(shape(&tree(script)), expected, "{script}");
    }
}

#[test]
fn refusals_change_nothing() {
    for (script, step, message) in [
        ("", "-", "no frame is active"),
        ("", "?a", "no frame is active"),
        ("+a", "-", "frame `a` is a root and cannot be popped"),
        ("+a", "+a", "frame `a` exists already"),
        ("+a", "?a", "frame `a` exists already"),
        ("+a", "?b.z", "no frame `z`"),
        ("+a", "!z", "no frame `z`"),
        ("+a", "xz", "no frame `z`"),
        ("+a +b -", "!b", "frame `b` is completed and cannot be activated"),
        ("+a +b -failed", "!b", "frame `b` is failed and cannot be activated"),
        ("+a ?b xb", "!b", "frame `b` is invalidated and cannot be activated"),
        ("+a +b -", "?c.b", "frame `b` is completed, so nothing can be planned in it"),
        ("+a ?b xb", "xb", "frame `b` is invalidated already"),
    ] {
        let before = tree(script);
        let mut after = before.clone();
        assert_eq!(apply(&mut after, step).unwrap_err().to_string(), message, "{script} then {step}");
        assert_eq!(after, before, "{script} then {step}");
    }
}

#[test]
fn a_pop_folds_into_the_frame() {
    let mut tree = tree("+a +b");
    tree.record(vec!["a.rs".into(), "b.rs".into()], vec![]).unwrap();
    let popped = tree.pop(fold(PopStatus::Completed)).unwrap();
    assert_eq!(popped.summary.as_deref(), Some("done"));
    assert_eq!(popped.artifacts, ["a.rs", "b.rs"], "the same artifact counts once");
    assert_eq!(popped.decisions, ["use a"]);
    assert_eq!(popped.log_path.as_deref(), Some("logs/1.md"));
}

#[test]
fn invalidating_takes_every_planned_descendant_along() {
    // b holds a planned, a running, a finished child, each with a planned one below.
    let mut tree = tree("+a +b ?p ?q.p +r ?s.r !b +t ?u.t -");
    let outcome = tree.invalidate("b", "wrong turn").unwrap();
    assert_eq!(outcome.invalidated, ["b", "p", "q", "s", "u"]);
    assert_eq!(outcome.still_in_progress, ["r"]);
    let reason = |id| tree.get(id).unwrap().invalidation_reason.as_deref();
    assert_eq!(reason("b"), Some("wrong turn"));
    for id in ["p", "q", "s", "u"] {
        assert_eq!(reason(id), Some("Parent frame invalidated: wrong turn"), "{id}");
    }
    assert_eq!(tree.get("t").unwrap().status, FrameStatus::Completed);
    assert_eq!(tree.current().unwrap().id, "a");
}

#[test]
fn relatives() {
    fn ids<'a>(frames: impl Iterator<Item = &'a Frame>) -> Vec<&'a str> {
        frames.map(|frame| frame.id.as_str()).collect()
    }
    let tree = tree("+a +b - +c +d - +e");
    assert_eq!(ids(tree.roots()), ["a"]);
    assert_eq!(ids(tree.ancestors("e")), ["c", "a"]);
    assert_eq!(ids(tree.children("a")), ["b", "c"]);
    assert_eq!(ids(tree.siblings(tree.get("e").unwrap())), ["d"]);
    assert_eq!(ids(tree.siblings(tree.get("a").unwrap())), Vec::<&str>::new());
    assert_eq!(ids(tree.ancestors("z")), Vec::<&str>::new());
}

#[test]
fn depth_is_no_danger() {
    let mut tree = FrameTree::default();
    for n in 0..100_000 {
        tree.push(n.to_string(), String::new()).unwrap();
    }
    let outcome = tree.invalidate("0", "all of it").unwrap();
    assert_eq!(outcome.still_in_progress.len(), 99_999);
    assert_eq!(tree.ancestors("99999").count(), 99_999);
}

#[test]
fn damaged_trees_are_refused_with_the_reason() {
    let frame = |id: &str, parent: Option<&str>, status: &str| json!({"id": id, "parent": parent, "goal": "", "status": status});
    for (frames, current, message) in [
        (vec![frame("a", None, "planned"), frame("a", None, "planned")], None, "frame `a` exists already"),
        (
            vec![frame("a", Some("b"), "planned")],
            None,
            "frame `a` is stored before its parent `b`, or without it",
        ),
        (
            vec![frame("a", Some("a"), "planned")],
            None,
            "frame `a` is stored before its parent `a`, or without it",
        ),
        (
            vec![frame("a", None, "completed")],
            Some("a"),
            "frame `a` is completed and cannot be the active one",
        ),
        (vec![], Some("a"), "no frame `a`"),
    ] {
        let stored = json!({"frames": frames, "current": current});
        let error = serde_json::from_value::<FrameTree>(stored).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

fn any_step() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "\\+[a-h]",
        2 => Just("-".to_owned()),
        1 => Just("-blocked".to_owned()),
        2 => "\\?[a-h]\\.[a-h]",
        2 => "![a-h]",
        1 => "x[a-h]",
    ]
}

proptest! {
    #[test]
    fn any_moves_leave_a_sound_tree(steps in prop::collection::vec(any_step(), 0..40)) {
        let mut tree = FrameTree::default();
        for step in steps {
            // Refusals are part of the game.
            let _ = apply(&mut tree, &step);
            if let Some(current) = tree.current() {
                prop_assert_eq!(current.status, FrameStatus::InProgress);
            }
            for frame in tree.frames().filter(|frame| frame.status == FrameStatus::Invalidated) {
                prop_assert!(frame.invalidation_reason.is_some());
                prop_assert!(tree.children(&frame.id).all(|child| child.status != FrameStatus::Planned));
            }
            let stored = serde_json::to_string(&tree).unwrap();
            prop_assert_eq!(serde_json::from_str::<FrameTree>(&stored).unwrap(), tree.clone());
        }
    }
}
