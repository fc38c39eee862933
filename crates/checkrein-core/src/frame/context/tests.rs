use proptest::prelude::*;

use super::*;
use crate::frame::{Fold, PopStatus};

fn fold(summary: &str) -> Fold {
    Fold {
        status: PopStatus::Completed,
        summary: Some(summary.into()),
        artifacts: vec![],
        decisions: vec![],
        log_path: None,
    }
}

/// Roles around `me`: root > parent > me, an uncle and a great-uncle's line with a cousin each,
/// siblings and children in every state.
fn family(text: impl Fn(&str) -> String) -> FrameTree {
    let mut tree = FrameTree::default();
    let push = |tree: &mut FrameTree, id: &str| {
        tree.push(id.into(), text(&format!("goal-of-{id}"))).unwrap();
    };
    let pop = |tree: &mut FrameTree, status: PopStatus| {
        let id = tree.current().unwrap().id.clone();
        let summary = Some(text(&format!("summary-of-{id}")));
        let log_path = Some(text(&format!("log-of-{id}")));
        let artifacts = vec![text(&format!("made-by-{id}"))];
        tree.pop(Fold { status, summary, artifacts, log_path, ..fold("") }).unwrap();
    };
    push(&mut tree, "root");
    push(&mut tree, "uncle");
    push(&mut tree, "cousin");
    pop(&mut tree, PopStatus::Completed);
    pop(&mut tree, PopStatus::Completed);
    push(&mut tree, "failed-uncle");
    pop(&mut tree, PopStatus::Failed);
    push(&mut tree, "parent");
    push(&mut tree, "sibling");
    push(&mut tree, "nephew");
    pop(&mut tree, PopStatus::Completed);
    pop(&mut tree, PopStatus::Completed);
    push(&mut tree, "blocked-sibling");
    pop(&mut tree, PopStatus::Blocked);
    push(&mut tree, "me");
    for (id, status) in [
        ("child", PopStatus::Completed),
        ("failed-child", PopStatus::Failed),
        ("blocked-child", PopStatus::Blocked),
    ] {
        push(&mut tree, id);
        pop(&mut tree, status);
    }
    tree.plan("planned-child".into(), text("goal-of-planned-child"), None).unwrap();
    tree.record(vec![text("artifact-1"), text("artifact-2")], vec![text("decision-1")]).unwrap();
    tree
}

#[test]
fn the_whole_family() {
    let tree = family(str::to_owned);
    insta::assert_snapshot!(assemble_context(&tree, "me", 4_000).unwrap(), @r#"
    <frame-context>
    <current id="me" status="in_progress">
    <goal>goal-of-me</goal>
    <decisions>
    <decision>decision-1</decision>
    </decisions>
    <artifacts>
    <artifact>artifact-1</artifact>
    <artifact>artifact-2</artifact>
    </artifacts>
    </current>
    <parent id="parent" status="in_progress">
    <goal>goal-of-parent</goal>
    </parent>
    <ancestors>
    <frame id="root" status="in_progress">
    <goal>goal-of-root</goal>
    </frame>
    </ancestors>
    <children>
    <frame id="blocked-child" status="blocked" log="log-of-blocked-child">
    <goal>goal-of-blocked-child</goal>
    <summary>summary-of-blocked-child</summary>
    </frame>
    <frame id="failed-child" status="failed" log="log-of-failed-child">
    <goal>goal-of-failed-child</goal>
    <summary>summary-of-failed-child</summary>
    </frame>
    <frame id="child" status="completed" log="log-of-child">
    <goal>goal-of-child</goal>
    <summary>summary-of-child</summary>
    </frame>
    </children>
    <siblings>
    <frame id="sibling" status="completed" log="log-of-sibling">
    <goal>goal-of-sibling</goal>
    <summary>summary-of-sibling</summary>
    <artifacts>
    <artifact>made-by-sibling</artifact>
    </artifacts>
    </frame>
    </siblings>
    <uncles>
    <frame id="uncle" status="completed" log="log-of-uncle">
    <goal>goal-of-uncle</goal>
    <summary>summary-of-uncle</summary>
    </frame>
    </uncles>
    </frame-context>
    "#);
}

#[test]
fn little_room_keeps_the_frame_and_its_parent() {
    let tree = family(|text| format!("{text} {}", "and more ".repeat(20)));
    insta::assert_snapshot!(assemble_context(&tree, "me", 200).unwrap(), @r#"
    <frame-context>
    <current id="me" status="in_progress">
    <goal>goal-of-me and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and mor…</goal>
    <decisions omitted="1">
    </decisions>
    <artifacts omitted="1">
    <artifact>artifact-1 and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more </artifact>
    </artifacts>
    </current>
    <parent id="parent" status="in_progress">
    <goal>goal-of-parent and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and more and m…</goal>
    </parent>
    </frame-context>
    "#);
}

#[test]
fn every_relative_is_in_or_out() {
    let context = assemble_context(&family(str::to_owned), "me", 4_000).unwrap();
    for (text, is_in) in [
        ("goal-of-me", true),
        ("artifact-2", true),
        ("decision-1", true),
        ("goal-of-parent", true),
        ("goal-of-root", true),
        ("summary-of-uncle", true),
        ("log-of-uncle", true),
        ("summary-of-sibling", true),
        ("made-by-sibling", true),
        ("made-by-uncle", false),
        ("made-by-child", false),
        ("summary-of-child", true),
        ("summary-of-failed-child", true),
        ("summary-of-blocked-child", true),
        ("cousin", false),
        ("nephew", false),
        ("failed-uncle", false),
        ("blocked-sibling", false),
        ("planned-child", false),
    ] {
        assert_eq!(context.contains(text), is_in, "{text}");
    }
}

#[test]
fn artifacts_of_a_sibling_that_do_not_fit_are_counted() {
    let mut tree = FrameTree::default();
    tree.push("root".into(), "root".into()).unwrap();
    tree.push("before".into(), "before".into()).unwrap();
    let artifacts = (0..200).map(|number| format!("src/file-{number:03}.rs")).collect();
    tree.pop(Fold { artifacts, ..fold("split into files") }).unwrap();
    tree.push("me".into(), "me".into()).unwrap();
    let context = assemble_context(&tree, "me", 150).unwrap();
    assert!(context.contains("split into files"), "{context}");
    let shown = context.matches("<artifact>").count();
    assert!((1..200).contains(&shown), "{context}");
    assert!(context.contains(&format!("<artifacts omitted=\"{}\">", 200 - shown)), "{context}");
}

#[test]
fn a_budget_below_the_least_names_what_is_needed() {
    let tree = family(str::to_owned);
    let error = assemble_context(&tree, "me", 3).unwrap_err();
    let ContextError::BudgetTooSmall { needed, .. } = error else { panic!("{error}") };
    assert!(assemble_context(&tree, "me", needed - 1).is_err());
    assert!(assemble_context(&tree, "me", needed).is_ok());
    assert_eq!(
        error.to_string(),
        format!("a context of frame `me` needs at least {needed} tokens, the budget is 3")
    );
}

#[test]
fn an_unknown_frame_is_refused() {
    assert_eq!(assemble_context(&FrameTree::default(), "x", 100), Err(ContextError::Unknown("x".into())));
}

#[test]
fn tokens_are_four_bytes_rounded_up() {
    for (text, tokens) in [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ééé", 2)] {
        assert_eq!(estimate_tokens(text), tokens, "{text}");
    }
}

/// Every tag is closed in order, every `&` begins an entity, nothing is outside the one root.
fn is_well_formed(xml: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    let mut roots = 0;
    let mut rest = xml;
    loop {
        let Some((text, tag_and_rest)) = rest.split_once('<') else {
            return open.is_empty() && roots == 1 && rest.trim().is_empty();
        };
        let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&#13;"];
        let sound = |text: &str| {
            !text.contains('>')
                && !text.chars().any(|c| c.is_control() && !"\n\t".contains(c))
                && text
                    .match_indices('&')
                    .all(|(at, _)| entities.iter().any(|entity| text.split_at(at).1.starts_with(entity)))
        };
        let Some((tag, after)) = tag_and_rest.split_once('>') else { return false };
        if !sound(text) || !sound(tag) || (open.is_empty() && !text.trim().is_empty()) {
            return false;
        }
        match tag.strip_prefix('/') {
            Some(name) => {
                if open.pop() != Some(name) {
                    return false;
                }
            }
            None => {
                roots += usize::from(open.is_empty());
                if tag.matches('"').count() % 2 != 0 {
                    return false;
                }
                open.push(tag.split(' ').next().unwrap_or_default());
            }
        }
        rest = after;
    }
}

#[test]
fn the_checker_itself_knows_good_from_bad() {
    for (xml, expected) in [
        ("<a>x</a>\n", true),
        ("<a b=\"c\"><d>&lt;</d></a>", true),
        ("<a><b></a></b>", false),
        ("<a>", false),
        ("<a></a><b></b>", false),
        ("<a>&</a>", false),
        ("", false),
    ] {
        assert_eq!(is_well_formed(xml), expected, "{xml}");
    }
}

proptest! {
    #[test]
    fn never_over_budget_always_well_formed_with_the_parent_and_without_cousins(
        noise in "[a-z<>&\"'\\n\\r\\x00-\\x1f\u{fffe}é认]{0,60}", repeat in 0..12usize, budget in 0..700usize,
    ) {
        let tree = family(|text| format!("{text} {}", noise.repeat(repeat)));
        match assemble_context(&tree, "me", budget) {
            Ok(context) => {
                prop_assert!(estimate_tokens(&context) <= budget);
                prop_assert!(is_well_formed(&context), "{}", context);
                prop_assert!(context.contains("<parent id=\"parent\""));
                prop_assert!(context.contains("goal-of-parent"));
                prop_assert!(context.contains("goal-of-me"));
                prop_assert!(!context.contains("cousin"));
                prop_assert!(!context.contains("nephew"));
            }
            Err(error) => {
                let ContextError::BudgetTooSmall { needed, .. } = error else { panic!("{error}") };
                prop_assert!(budget < needed && needed < 120);
            }
        }
    }

    #[test]
    fn a_parents_summary_is_cut_never_dropped(summary in "[a-z<& ]{1,3000}", budget in 0..500usize) {
        let mut tree = FrameTree::default();
        tree.push("root".into(), "root".into()).unwrap();
        tree.push("parent".into(), "the parent's goal".into()).unwrap();
        tree.pop(Fold { status: PopStatus::Blocked, ..fold(&format!("summary {summary}")) }).unwrap();
        tree.activate("parent").unwrap();
        tree.push("me".into(), "goal ".repeat(300)).unwrap();
        if let Ok(context) = assemble_context(&tree, "me", budget) {
            prop_assert!(context.contains("<summary>summary "), "{}", context);
            prop_assert!(estimate_tokens(&context) <= budget);
            prop_assert!(is_well_formed(&context), "{}", context);
        }
    }
}
