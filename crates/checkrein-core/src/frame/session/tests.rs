use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::frame::signals::{Observation, ToolUse, Usage};
use crate::frame::{FrameAnswer, FrameStatus, SuggestionStats, SuggestionStatus};

/// A session with a clock and ids of its own.
pub(super) struct Desk {
    pub session: FrameSession,
    settings: FrameConfig,
    pub now_ms: u64,
}

impl Desk {
    pub fn new(settings: Value) -> Desk {
        let mut config = FrameConfig::default();
        let warnings = config.apply(&serde_json::from_value(settings).unwrap());
        assert!(warnings.is_empty(), "{warnings:?}");
        Desk { session: FrameSession::new("s"), settings: config, now_ms: 1_000 }
    }

    fn with<T>(&mut self, work: impl FnOnce(&mut FrameSession, &Around<'_>) -> T) -> T {
        self.now_ms += 1;
        let (now_ms, count) = (self.now_ms, self.session.suggestions.iter().count());
        let history = self.session.suggestions.iter().cloned().collect();
        let around = Around {
            settings: &self.settings,
            now_ms,
            make_id: &|| format!("g{count}"),
            log_path: &|frame| format!("/logs/{frame}.log"),
            history,
        };
        work(&mut self.session, &around)
    }

    fn ask(&mut self, command: Value) -> Result<FrameAnswer, FrameError> {
        let command: FrameCommand = serde_json::from_value(command).unwrap();
        self.with(|session, around| session.apply(&command, around))
    }

    fn done(&mut self, command: Value) -> FrameAnswer {
        self.ask(command.clone()).unwrap_or_else(|error| panic!("{command}: {error}"))
    }

    pub fn observe(&mut self, observation: Observation) {
        self.with(|session, around| {
            session.observe(Who::default(), observation, around);
            session.consider(around);
        });
    }

    fn current(&self) -> &str {
        self.session.tree.current().map_or("-", |frame| frame.id.as_str())
    }

    fn status(&self, id: &str) -> FrameStatus {
        self.session.tree.get(id).unwrap().status
    }
}

/// Advice that is always taken.
fn eager(level: &str) -> Desk {
    Desk::new(json!({"level": level, "pushThreshold": 1, "popThreshold": 101}))
}

fn failed() -> Observation {
    Observation::Tool(ToolUse { name: "Bash".into(), error: Some("exit 1".into()), ..ToolUse::default() })
}

#[test]
fn a_walk_through_the_moves() {
    let mut desk = Desk::new(json!({}));
    desk.done(json!({"move": "push", "goal": "build"}));
    desk.done(json!({"move": "plan_children", "goals": ["parse", "print"]}));
    desk.done(json!({"move": "edit", "frame": "f3", "goal": "print it"}));
    desk.done(json!({"move": "activate", "frame": "f2"}));
    desk.done(json!({"move": "add_artifact", "artifact": "parse.rs"}));
    desk.done(json!({"move": "add_decision", "decision": "by hand"}));
    let popped = desk.done(json!({"move": "pop", "status": "blocked", "summary": "half way"}));
    let frame = popped.frame.unwrap();
    assert_eq!((frame.status, frame.log_path.as_deref()), (FrameStatus::Blocked, Some("/logs/f2.log")));
    assert_eq!(
        (frame.artifacts.as_slice(), frame.decisions.as_slice()),
        (&["parse.rs".to_owned()][..], &["by hand".to_owned()][..])
    );
    assert_eq!(desk.current(), "f1");
    desk.done(json!({"move": "resume"}));
    assert_eq!((desk.current(), desk.status("f2")), ("f2", FrameStatus::InProgress));
    desk.done(json!({"move": "pop"}));
    let gone = desk.done(json!({"move": "invalidate", "frame": "f1", "reason": "no money"}));
    assert_eq!(gone.invalidated, ["f1", "f3"]);
    assert_eq!(
        desk.session.tree.get("f3").unwrap().invalidation_reason.as_deref(),
        Some("Parent frame invalidated: no money")
    );
    assert_eq!(desk.current(), "-");
    insta::assert_snapshot!(crate::frame::tree_text(&desk.session.tree), @r"
    – f1 build
    ├─ ✓ f2 parse
    └─ – f3 print it
    ");
}

#[test]
fn an_answer_has_every_list_also_an_empty_one() {
    let mut desk = Desk::new(json!({}));
    let answer = serde_json::to_value(desk.done(json!({"move": "push", "goal": "build"}))).unwrap();
    for list in ["frames", "invalidated", "still_in_progress", "suggestions", "warnings"] {
        assert_eq!(answer[list], json!([]), "{list}: {answer}");
    }
    for list in ["artifacts", "decisions"] {
        assert_eq!(answer["frame"][list], json!([]), "{list}: {answer}");
    }
    for list in ["files", "successes", "failures"] {
        assert_eq!(answer["frame"]["signals"][list], json!([]), "{list}: {answer}");
    }
    let stats = serde_json::to_value(desk.done(json!({"move": "stats"}))).unwrap();
    assert_eq!((&stats["stats"]["heuristics"], &stats["stats"]["action_rate"]), (&json!([]), &json!(null)));
}

#[test]
fn refusals_change_nothing() {
    let mut desk = Desk::new(json!({}));
    desk.done(json!({"move": "push", "goal": "build"}));
    let before = desk.session.clone();
    for (command, words) in [
        (json!({"move": "pop"}), "frame `f1` is a root and cannot be popped"),
        (json!({"move": "push", "goal": "  "}), "`goal` is empty"),
        (json!({"move": "push", "goal": "x".repeat(3000)}), "`goal` is longer than 2000 characters"),
        (json!({"move": "plan_children", "goals": ["a", ""]}), "`goal` is empty"),
        (json!({"move": "plan_children", "goals": []}), "`goals` is empty"),
        (json!({"move": "plan", "goal": "x", "parent": "f9"}), "no frame `f9`"),
        (
            json!({"move": "edit", "frame": "f1", "goal": "x"}),
            "frame `f1` is in_progress; only a planned one can be edited",
        ),
        (json!({"move": "resume"}), "no frame waits to be resumed"),
        (json!({"move": "feedback", "id": "g", "useful": true}), "there is no suggestion `g`"),
        (
            json!({"move": "config", "level": "always"}),
            "`level`: unknown value `always`; valid are manual, suggest, auto",
        ),
        (
            json!({"move": "config", "enableHeuristic": "x"}),
            "there is no heuristic `x`; there are failure_boundary, context_switch, complexity, duration, goal_completion, stagnation, context_overflow",
        ),
    ] {
        assert_eq!(desk.ask(command.clone()).unwrap_err().to_string(), words, "{command}");
        desk.session.log.clear();
        let mut same = before.clone();
        same.log.clear();
        assert_eq!(desk.session, same, "{command}");
    }
    let mut empty = Desk::new(json!({}));
    assert_eq!(empty.ask(json!({"move": "undo"})).unwrap_err(), FrameError::NothingToUndo);
}

#[test]
fn undo_takes_back_one_move_after_the_other() {
    let mut desk = Desk::new(json!({}));
    desk.done(json!({"move": "push", "goal": "build"}));
    desk.done(json!({"move": "push", "goal": "parse"}));
    desk.done(json!({"move": "pop", "summary": "done"}));
    assert_eq!(desk.done(json!({"move": "undo"})).undone.as_deref(), Some("pop of f2"));
    assert_eq!((desk.current(), desk.status("f2")), ("f2", FrameStatus::InProgress));
    assert_eq!(desk.session.tree.get("f2").unwrap().summary, None);
    desk.done(json!({"move": "undo"}));
    assert_eq!((desk.current(), desk.status("f2")), ("f1", FrameStatus::Invalidated));
    // A number is not used twice.
    assert_eq!(desk.done(json!({"move": "push", "goal": "again"})).frame.unwrap().id, "f3");
}

#[test]
fn the_first_prompt_is_the_root_and_a_later_one_may_be_suggested() {
    let mut desk = Desk::new(json!({"pushThreshold": 30}));
    desk.observe(Observation::Prompt("\n/model x\nBuild the parser\nwith care".into()));
    assert_eq!(desk.session.tree.current().unwrap().goal, "Build the parser");
    desk.observe(failed());
    desk.observe(failed());
    desk.observe(Observation::Prompt("Fix the login page".into()));
    let pending: Vec<String> =
        desk.session.suggestions.pending("s", desk.now_ms).map(|suggestion| suggestion.text()).collect();
    assert_eq!(
        pending,
        [
            r#"[FLAME SUGGESTION: Consider pushing a new frame for "Fix the login page" - Reason: failure boundary (30% confidence)]"#
        ]
    );
    let context = desk.done(json!({"move": "context"})).context.unwrap();
    assert!(
        context.contains("<goal>Build the parser</goal>")
            && context.ends_with(&format!("<suggestions>\n{}\n</suggestions>\n", pending[0])),
        "{context}"
    );
    // Said in other words it is the same.
    desk.done(json!({"move": "push", "goal": "Fix login"}));
    let stats: SuggestionStats = desk.session.suggestions.iter().collect();
    assert_eq!((stats.total, stats.acted), (1, 1));
}

#[test]
fn the_level_decides_what_becomes_of_advice() {
    for (level, frames, pending, automatic) in [("manual", 1, 0, 0), ("suggest", 1, 1, 0), ("auto", 2, 0, 1)]
    {
        let mut desk = eager(level);
        desk.observe(Observation::Prompt("Build".into()));
        desk.observe(Observation::Prompt("Something else".into()));
        let stats: SuggestionStats = desk.session.suggestions.iter().collect();
        let waiting = desk.session.suggestions.pending("s", desk.now_ms).count();
        assert_eq!(
            (desk.session.tree.len(), waiting, stats.auto_push),
            (frames, pending, automatic),
            "{level}"
        );
        let evaluated = desk.done(json!({"move": "should_push", "potentialGoal": "A third thing"}));
        assert!(evaluated.evaluation.unwrap().should);
        assert_eq!(evaluated.performed, level == "auto");
    }
}

#[test]
fn what_was_done_automatically_is_said_once_and_can_be_undone() {
    let mut desk = eager("auto");
    desk.observe(Observation::Prompt("Build".into()));
    desk.observe(Observation::Prompt("Something else".into()));
    assert_eq!(desk.current(), "f2");
    let news = desk.session.take_news();
    assert!(news[0].starts_with(r#"[FLAME AUTO: Pushed a new frame for "Something else""#), "{news:?}");
    assert_eq!(desk.session.take_news(), Vec::<String>::new());
    desk.done(json!({"move": "undo"}));
    assert_eq!((desk.current(), desk.status("f2")), ("f1", FrameStatus::Invalidated));
    let suggestion = desk.session.suggestions.iter().next().unwrap();
    assert_eq!(
        (suggestion.status, suggestion.undone, suggestion.was_right()),
        (SuggestionStatus::Ignored, true, Some(false)),
        "nobody wanted it"
    );
}

#[test]
fn an_automatic_move_counts_as_acted_on_unless_it_is_undone_within_ten_turns() {
    for (turns, expected) in
        [(0, SuggestionStatus::Ignored), (10, SuggestionStatus::Ignored), (11, SuggestionStatus::Acted)]
    {
        let mut desk = eager("auto");
        desk.observe(Observation::Prompt("Build".into()));
        desk.observe(Observation::Prompt("Something else".into()));
        desk.done(json!({"move": "config", "level": "suggest"}));
        for _ in 0..turns {
            desk.observe(Observation::Prompt("Something else".into()));
        }
        desk.done(json!({"move": "undo"}));
        let suggestion = desk.session.suggestions.iter().next().unwrap();
        assert_eq!((suggestion.status, suggestion.undone), (expected, true), "after {turns} turns");
        let stats: SuggestionStats = desk.session.suggestions.iter().collect();
        assert_eq!(stats.auto_push, u64::from(expected == SuggestionStatus::Acted));
    }
}

#[test]
fn a_finished_goal_is_popped_before_an_unrelated_one_is_pushed() {
    let passed =
        || Observation::Tool(ToolUse { success: Some("tests passing".into()), ..ToolUse::default() });
    for (between, next, tree) in [
        (
            vec![passed()],
            "Draw the logo",
            "● f1 Build the parser\n├─ ✓ f2 Fix login\n└─ ● f3 Draw the logo ◀\n",
        ),
        (vec![passed()], "Build the parser", "● f1 Build the parser ◀\n└─ ✓ f2 Fix login\n"),
        // It goes on with the same thing, or is not finished.
        (
            vec![passed()],
            "Fix login on phones",
            "● f1 Build the parser\n└─ ● f2 Fix login\n   └─ ● f3 Fix login on phones ◀\n",
        ),
        (vec![], "Draw the logo", "● f1 Build the parser\n└─ ● f2 Fix login\n   └─ ● f3 Draw the logo ◀\n"),
        (
            vec![passed(), failed()],
            "Draw the logo",
            "● f1 Build the parser\n└─ ● f2 Fix login\n   └─ ● f3 Draw the logo ◀\n",
        ),
    ] {
        let mut desk = eager("auto");
        desk.observe(Observation::Prompt("Build the parser".into()));
        desk.observe(Observation::Prompt("Fix login".into()));
        assert_eq!(desk.current(), "f2");
        between.into_iter().for_each(|observation| desk.observe(observation));
        desk.observe(Observation::Prompt(next.into()));
        assert_eq!(crate::frame::tree_text(&desk.session.tree), tree, "{next}");
    }
}

#[test]
fn an_automatic_pop_says_what_it_knows() {
    let mut desk = Desk::new(json!({"level": "auto", "pushThreshold": 100, "popThreshold": 15}));
    desk.done(json!({"move": "push", "goal": "root"}));
    desk.done(json!({"move": "push", "goal": "make tests pass"}));
    desk.observe(Observation::Tool(ToolUse {
        name: "Bash".into(),
        files: vec!["src/tests.rs".into()],
        success: Some("tests passing".into()),
        ..ToolUse::default()
    }));
    assert_eq!((desk.current(), desk.status("f2")), ("f1", FrameStatus::Completed));
    let frame = desk.session.tree.get("f2").unwrap();
    assert_eq!(
        frame.summary.as_deref(),
        Some("Popped automatically: goal completion. Went well: tests passing. Changed: src/tests.rs.")
    );
    assert_eq!(frame.artifacts, ["src/tests.rs"]);
}

#[test]
fn sub_agents_work_in_frames_of_their_own_beside_the_current_one() {
    let mut desk = Desk::new(json!({"agents": {"Explore": {"pushThreshold": 10}}}));
    desk.observe(Observation::Prompt("Build".into()));
    for key in ["t1", "t2", "t1"] {
        desk.observe(Observation::AgentBegan {
            key: key.into(),
            goal: format!("look at {key}"),
            agent: Some("Explore".into()),
        });
    }
    assert_eq!((desk.session.tree.len(), desk.current()), (3, "f1"));
    desk.with(|session, around| {
        let who = Who { key: Some("t2"), agent: None };
        session.observe(who, Observation::Usage(Usage { spent: 70, context: 9, limit: 0 }), around);
    });
    assert_eq!(desk.session.tree.get("f3").unwrap().signals.tokens, 70);
    for _ in 0..2 {
        desk.observe(Observation::AgentEnded {
            key: "t2".into(),
            summary: Some("found it".into()),
            failed: false,
        });
    }
    assert_eq!(
        (desk.status("f2"), desk.status("f3"), desk.current()),
        (FrameStatus::InProgress, FrameStatus::Completed, "f1")
    );
    assert!(desk.done(json!({"move": "context"})).context.unwrap().contains("found it"));
}

#[test]
fn an_event_is_noticed_once() {
    let mut session = FrameSession::new("s");
    assert!(session.notice("a") && session.notice("b") && !session.notice("a"));
    for number in 0..SEEN_MAX {
        session.notice(&number.to_string());
    }
    assert_eq!(session.state.seen.len(), SEEN_MAX);
}

#[test]
fn settings_of_a_session_win_until_they_are_reset() {
    let mut desk = Desk::new(
        json!({"pushThreshold": 60, "heuristics": {"mine": {"family": "push", "score": "errors * 50"}}}),
    );
    desk.done(json!({"move": "push", "goal": "x"}));
    let config = desk
        .done(json!({"move": "config", "pushThreshold": 20, "disableHeuristic": "duration"}))
        .config
        .unwrap();
    assert_eq!(config.push_threshold, 20);
    assert!(
        !config.enabled_heuristics.contains(&"duration".to_owned())
            && config.enabled_heuristics.contains(&"mine".to_owned())
    );
    let scores = desk
        .done(json!({"move": "should_push", "potentialGoal": "y", "errorCount": 1}))
        .evaluation
        .unwrap()
        .scores;
    assert_eq!(scores.get("mine"), Some(&50));
    let config = desk
        .done(json!({"move": "config", "disableHeuristic": "mine", "enableHeuristic": "duration"}))
        .config
        .unwrap();
    assert!(
        config.enabled_heuristics.contains(&"duration".to_owned())
            && !config.enabled_heuristics.contains(&"mine".to_owned())
    );
    let config = desk.done(json!({"move": "config", "reset": true})).config.unwrap();
    assert_eq!((config.push_threshold, config.enabled_heuristics.len()), (60, 8));
    assert_eq!(desk.session.state.config, FrameConfigPatch::default());
}

#[test]
fn tuning_learns_from_what_became_of_suggestions() {
    let mut desk = eager("suggest");
    desk.observe(Observation::Prompt("Build".into()));
    for number in 0..6 {
        desk.done(
            json!({"move": "should_push", "potentialGoal": format!("thing number{number}"), "errorCount": 1}),
        );
        let id = desk.session.suggestions.iter().last().unwrap().id.clone();
        desk.done(json!({"move": "feedback", "id": id, "useful": false}));
    }
    let tuning = desk.done(json!({"move": "tune"})).tuning.unwrap();
    assert_eq!((tuning.settled, tuning.push.unwrap().proposed), (6, 6));
    assert_eq!(desk.session.state.config.push_threshold, None, "it only proposes");
    desk.done(json!({"move": "tune", "apply": true}));
    assert_eq!(desk.session.state.config.push_threshold, Some(6.0));
    let stats = desk.done(json!({"move": "stats"})).stats.unwrap();
    assert_eq!((stats.counts.total, stats.counts.not_useful), (6, 6));
    assert!(stats.heuristics.iter().any(|row| row.heuristic == "failure_boundary" && row.wrong == 6));
}

fn any_command() -> impl Strategy<Value = Value> {
    let frame = (1..12_usize).prop_map(|number| format!("f{number}"));
    prop_oneof![
        3 => "[a-c]{1,2}".prop_map(|goal| json!({"move": "push", "goal": goal})),
        3 => prop::sample::select(vec!["completed", "failed", "blocked"]).prop_map(|status| json!({"move": "pop", "status": status})),
        1 => frame.clone().prop_map(|parent| json!({"move": "plan", "goal": "later", "parent": parent})),
        1 => frame.clone().prop_map(|frame| json!({"move": "activate", "frame": frame})),
        1 => frame.clone().prop_map(|frame| json!({"move": "invalidate", "frame": frame, "reason": "r"})),
        1 => frame.prop_map(|frame| json!({"move": "edit", "frame": frame, "goal": "g"})),
        2 => Just(json!({"move": "undo"})),
        1 => Just(json!({"move": "resume"})),
        1 => "[a-c]{1,2}".prop_map(|goal| json!({"move": "should_push", "potentialGoal": goal, "errorCount": 9})),
    ]
}

proptest! {
    /// Whatever is asked in whatever order: the tree is one that can be stored and read again, frames are
    /// never lost, and taking a move back brings back what was current.
    #[test]
    fn any_commands_leave_a_session_that_can_be_stored(commands in prop::collection::vec(any_command(), 0..40)) {
        let mut desk = eager("auto");
        let mut most = 0;
        for command in commands {
            let before = desk.session.tree.current().map(|frame| frame.id.clone());
            let undone = desk.session.state.undo.last().map(|step| step.current.clone());
            let _ = desk.ask(command.clone());
            prop_assert!(desk.session.tree.len() >= most, "{command}");
            most = desk.session.tree.len();
            if command["move"] == "undo" {
                let now = desk.session.tree.current().map(|frame| frame.id.clone());
                prop_assert_eq!(now, undone.unwrap_or(before));
            }
            let frames: Vec<_> = desk.session.tree.frames().cloned().collect();
            let current = desk.session.tree.current().map(|frame| frame.id.as_str());
            let again = FrameTree::from_frames(frames, current);
            prop_assert_eq!(again.as_ref(), Ok(&desk.session.tree));
            let written = serde_json::to_string(&desk.session.state).unwrap();
            prop_assert_eq!(&serde_json::from_str::<SessionState>(&written).unwrap(), &desk.session.state);
        }
    }
}

/// R8: what a caller says counts, also where it is nothing.
#[test]
fn an_explicit_nothing_is_a_value() {
    let mut desk = Desk::new(json!({}));
    desk.done(json!({"move": "push", "goal": "Do it"}));
    for _ in 0..5 {
        let tool = ToolUse { name: "Bash".into(), error: Some("exit 1".into()), ..ToolUse::default() };
        desk.observe(Observation::Tool(tool));
    }
    let confidence = |desk: &mut Desk, more: Value| {
        let mut request = json!({"move": "should_push"});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::to_value(desk.done(request)).unwrap()["evaluation"]["confidence"].as_f64().unwrap()
    };
    let measured = confidence(&mut desk, json!({}));
    assert!(measured > 0.0, "{measured}");
    assert!(confidence(&mut desk, json!({"errorCount": 0})) < measured);
}
