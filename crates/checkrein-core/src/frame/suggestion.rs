//! Suggestions: advice that waits for somebody to act on it.
//!
//! `pending → acted / ignored / expired`. Time is an argument, ids are made by the caller.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{FrameConfig, FrameLevel};
use super::escape;
use super::status::PopStatus;
use crate::heuristic::{Evaluation, Family, Score, keywords};

/// Long enough to be seen over several turns, short enough not to be stale.
pub const SUGGESTION_LIFETIME_MS: u64 = 300_000;

/// A move made at level `auto` counts as acted on unless it is undone within so many turns.
pub const TRIAL_TURNS: u64 = 10;

/// The move that is suggested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Proposal {
    Push { goal: String },
    Pop { frame: String, status: PopStatus },
}

impl Proposal {
    pub fn kind(&self) -> Family {
        match self {
            Proposal::Push { .. } => Family::Push,
            Proposal::Pop { .. } => Family::Pop,
        }
    }

    /// What it is about: the new frame's goal, or the id of the frame to pop.
    pub fn target(&self) -> &str {
        match self {
            Proposal::Push { goal } => goal,
            Proposal::Pop { frame, .. } => frame,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuggestionStatus {
    Pending,
    /// The push or pop took place.
    Acted,
    /// Somebody turned it down.
    Ignored,
    /// Nobody acted in time; statistics count it as ignored.
    Expired,
}

impl SuggestionStatus {
    pub const ALL: [SuggestionStatus; 4] = [
        SuggestionStatus::Pending,
        SuggestionStatus::Acted,
        SuggestionStatus::Ignored,
        SuggestionStatus::Expired,
    ];

    pub fn name(self) -> &'static str {
        match self {
            SuggestionStatus::Pending => "pending",
            SuggestionStatus::Acted => "acted",
            SuggestionStatus::Ignored => "ignored",
            SuggestionStatus::Expired => "expired",
        }
    }

    pub fn parse(text: &str) -> Option<SuggestionStatus> {
        SuggestionStatus::ALL.into_iter().find(|status| status.name() == text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suggestion {
    pub id: String,
    pub session: String,
    pub proposal: Proposal,
    pub reason: String,
    pub confidence: Score,
    pub status: SuggestionStatus,
    /// Made at level `auto`: it is performed without asking.
    pub automatic: bool,
    pub created_at_ms: u64,
    pub refreshed_at_ms: u64,
    /// What each heuristic said to it.
    #[serde(default)]
    pub scores: BTreeMap<String, Score>,
    /// The type of agent it was made for.
    #[serde(default)]
    pub agent: Option<String>,
    /// The turn of the session in which the move was made.
    #[serde(default)]
    pub acted_at_turn: Option<u64>,
    /// The move was made and taken back.
    #[serde(default)]
    pub undone: bool,
    /// What whoever got it thought of it.
    #[serde(default)]
    pub useful: Option<bool>,
}

impl Suggestion {
    /// Whether it turned out right; none while that is not known.
    pub fn was_right(&self) -> Option<bool> {
        match (self.useful, self.status) {
            (Some(useful), _) => Some(useful),
            (None, _) if self.undone => Some(false),
            (None, SuggestionStatus::Acted) => Some(true),
            (None, SuggestionStatus::Ignored | SuggestionStatus::Expired) => Some(false),
            (None, SuggestionStatus::Pending) => None,
        }
    }

    /// The line an agent reads.
    pub fn text(&self) -> String {
        match &self.proposal {
            Proposal::Push { goal } => {
                self.line("SUGGESTION: Consider pushing a new frame for", &escape::quoted(goal))
            }
            Proposal::Pop { status, .. } => {
                self.line("SUGGESTION: Consider popping current frame with status", &format!("\"{status}\""))
            }
        }
    }

    /// The line that tells of a move made without asking.
    pub fn performed_text(&self) -> String {
        match &self.proposal {
            Proposal::Push { goal } => self.line("AUTO: Pushed a new frame for", &escape::quoted(goal)),
            Proposal::Pop { status, .. } => {
                self.line("AUTO: Popped the frame with status", &format!("\"{status}\""))
            }
        }
    }

    fn line(&self, what: &str, target: &str) -> String {
        format!("[FLAME {what} {target} - Reason: {} ({}% confidence)]", self.reason, self.confidence)
    }

    /// Still waiting at `now_ms`, whether or not [`Suggestions::expire`] has come by.
    pub fn is_pending(&self, now_ms: u64) -> bool {
        self.status == SuggestionStatus::Pending
            && now_ms.saturating_sub(self.refreshed_at_ms) <= SUGGESTION_LIFETIME_MS
    }

    fn is_for(&self, session: &str, kind: Family, target: &str) -> bool {
        self.session == session && self.proposal.kind() == kind && self.proposal.target() == target
    }
}

/// An evaluation on its way to become a suggestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSuggestion {
    pub id: String,
    pub session: String,
    pub proposal: Proposal,
    pub agent: Option<String>,
}

/// What became of an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Not recommended, or the level is `manual`.
    Dropped,
    /// Waits for somebody to act; the text of the suggestion is for the agent.
    Waiting(Suggestion),
    /// The caller makes the move now and reports it with [`Suggestions::act`].
    Perform(Suggestion),
}

/// All suggestions ever made, oldest first.
///
/// INVARIANT: at any time at most one of (session, kind, target) is pending.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Suggestions(Vec<Suggestion>);

impl Suggestions {
    /// Queues what the evaluation recommends; a repeat refreshes the one that is there.
    ///
    /// A root needs no rule of its own here: its pop is never recommended.
    pub fn offer(
        &mut self,
        new: NewSuggestion,
        evaluation: &Evaluation,
        level: FrameLevel,
        now_ms: u64,
    ) -> Offer {
        self.expire(now_ms);
        if !evaluation.should || level == FrameLevel::Manual {
            return Offer::Dropped;
        }
        let fresh = Suggestion {
            id: new.id,
            session: new.session,
            proposal: new.proposal,
            reason: evaluation.primary_reason.to_string(),
            confidence: evaluation.confidence,
            status: SuggestionStatus::Pending,
            automatic: level == FrameLevel::Auto,
            created_at_ms: now_ms,
            refreshed_at_ms: now_ms,
            scores: evaluation.scores.iter().map(|(name, score)| (name.to_owned(), score)).collect(),
            agent: new.agent,
            acted_at_turn: None,
            undone: false,
            useful: None,
        };
        let (kind, target) = (fresh.proposal.kind(), fresh.proposal.target());
        let suggestion = match self.pending_mut(&fresh.session, kind, target) {
            Some(known) => {
                *known = Suggestion {
                    id: std::mem::take(&mut known.id),
                    created_at_ms: known.created_at_ms,
                    useful: known.useful,
                    ..fresh
                };
                known.clone()
            }
            None => {
                self.0.push(fresh.clone());
                fresh
            }
        };
        match level {
            FrameLevel::Auto => Offer::Perform(suggestion),
            FrameLevel::Suggest | FrameLevel::Manual => Offer::Waiting(suggestion),
        }
    }

    /// A push or pop took place: the suggestion that asked for it, if it still waits, was acted upon.
    pub fn act(&mut self, session: &str, kind: Family, target: &str, now_ms: u64) -> Option<&Suggestion> {
        self.expire(now_ms);
        let suggestion = self.pending_mut(session, kind, target)?;
        suggestion.status = SuggestionStatus::Acted;
        Some(suggestion)
    }

    /// A frame was pushed: what asked for it was acted upon, also in slightly other words.
    pub fn act_on_push(&mut self, session: &str, goal: &str, now_ms: u64) -> Option<&Suggestion> {
        self.expire(now_ms);
        let meant = self.pending(session, now_ms).filter_map(|suggestion| match &suggestion.proposal {
            Proposal::Push { goal: proposed } => Some((likeness(proposed, goal), proposed.clone())),
            Proposal::Pop { .. } => None,
        });
        let (_, target) =
            meant.filter(|(likeness, _)| *likeness >= 50).max_by_key(|(likeness, _)| *likeness)?;
        self.act(session, Family::Push, &target, now_ms)
    }

    /// Says of a suggestion what whoever got it thinks.
    pub fn judge(&mut self, id: &str, useful: bool) -> Option<&Suggestion> {
        let suggestion = self.0.iter_mut().find(|suggestion| suggestion.id == id)?;
        suggestion.useful = Some(useful);
        Some(suggestion)
    }

    /// Notes in which turn a suggestion was acted upon.
    pub fn set_turn(&mut self, id: &str, turn: u64) {
        if let Some(suggestion) = self.0.iter_mut().find(|suggestion| suggestion.id == id) {
            suggestion.acted_at_turn = Some(turn);
        }
    }

    /// Notes that a move was undone in this turn. One that nobody asked for was then not wanted.
    pub fn undo(&mut self, id: &str, turn: u64) -> Option<&Suggestion> {
        let suggestion = self.0.iter_mut().find(|suggestion| suggestion.id == id)?;
        suggestion.undone = true;
        let on_trial = suggestion.acted_at_turn.is_none_or(|acted| turn.saturating_sub(acted) <= TRIAL_TURNS);
        if suggestion.automatic && on_trial && suggestion.status == SuggestionStatus::Acted {
            suggestion.status = SuggestionStatus::Ignored;
        }
        Some(suggestion)
    }

    /// Somebody turned it down. `None` if no such suggestion waits.
    pub fn ignore(&mut self, id: &str, now_ms: u64) -> Option<&Suggestion> {
        self.expire(now_ms);
        let suggestion = self
            .0
            .iter_mut()
            .find(|suggestion| suggestion.id == id && suggestion.status == SuggestionStatus::Pending)?;
        suggestion.status = SuggestionStatus::Ignored;
        Some(suggestion)
    }

    /// Marks what nobody acted on in time.
    pub fn expire(&mut self, now_ms: u64) {
        for suggestion in &mut self.0 {
            if suggestion.status == SuggestionStatus::Pending && !suggestion.is_pending(now_ms) {
                suggestion.status = SuggestionStatus::Expired;
            }
        }
    }

    /// The whole history, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Suggestion> {
        self.0.iter()
    }

    pub fn pending(&self, session: &str, now_ms: u64) -> impl Iterator<Item = &Suggestion> {
        self.iter().filter(move |suggestion| suggestion.session == session && suggestion.is_pending(now_ms))
    }

    /// The block that goes after the context of a frame, if there is anything to say in it. It stands
    /// next to XML, so what could be taken for a tag is escaped once more.
    pub fn block(&self, session: &str, config: &FrameConfig, now_ms: u64) -> Option<String> {
        if !config.suggest_in_context || config.level == FrameLevel::Manual {
            return None;
        }
        let lines: Vec<String> = self
            .pending(session, now_ms)
            .map(|suggestion| {
                suggestion.text().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
            })
            .collect();
        (!lines.is_empty()).then(|| format!("<suggestions>\n{}\n</suggestions>\n", lines.join("\n")))
    }

    fn pending_mut(&mut self, session: &str, kind: Family, target: &str) -> Option<&mut Suggestion> {
        self.0.iter_mut().find(|suggestion| {
            suggestion.status == SuggestionStatus::Pending && suggestion.is_for(session, kind, target)
        })
    }
}

/// 100 for the same text, else the share of the first one's keywords that the second has.
fn likeness(one: &str, other: &str) -> usize {
    if one == other {
        return 100;
    }
    let (one, other) = (keywords(one), keywords(other));
    (one.intersection(&other).count() * 99).checked_div(one.len()).unwrap_or(0)
}

impl FromIterator<Suggestion> for Suggestions {
    fn from_iter<T: IntoIterator<Item = Suggestion>>(suggestions: T) -> Suggestions {
        Suggestions(suggestions.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::frame::SuggestionStats;
    use crate::heuristic::{PopSignals, PushSignals, evaluate_pop, evaluate_push};

    fn recommended() -> Evaluation {
        let signals = PushSignals { errors: 4, ..Default::default() };
        evaluate_push(&signals, &FrameConfig { push_threshold: 0, ..Default::default() })
    }

    fn push(id: &str, goal: &str) -> NewSuggestion {
        let proposal = Proposal::Push { goal: goal.into() };
        NewSuggestion { id: id.into(), session: "s".into(), proposal, agent: None }
    }

    fn pop(id: &str, frame: &str, status: PopStatus) -> NewSuggestion {
        let proposal = Proposal::Pop { frame: frame.into(), status };
        NewSuggestion { id: id.into(), session: "s".into(), proposal, agent: None }
    }

    fn statuses(suggestions: &Suggestions) -> Vec<(&str, SuggestionStatus)> {
        suggestions.iter().map(|suggestion| (suggestion.id.as_str(), suggestion.status)).collect()
    }

    #[test]
    fn the_level_decides_what_becomes_of_an_offer() {
        for (level, should, expected) in [
            (FrameLevel::Manual, true, "dropped"),
            (FrameLevel::Suggest, true, "waiting"),
            (FrameLevel::Auto, true, "perform"),
            (FrameLevel::Suggest, false, "dropped"),
            (FrameLevel::Auto, false, "dropped"),
        ] {
            let mut suggestions = Suggestions::default();
            let evaluation = Evaluation { should, ..recommended() };
            let became = match suggestions.offer(push("1", "x"), &evaluation, level, 0) {
                Offer::Dropped => "dropped",
                Offer::Waiting(suggestion) if !suggestion.automatic => "waiting",
                Offer::Perform(suggestion) if suggestion.automatic => "perform",
                offer => panic!("{offer:?}"),
            };
            assert_eq!(became, expected, "{level:?}, should: {should}");
            assert_eq!(suggestions.iter().count(), usize::from(expected != "dropped"));
        }
    }

    #[test]
    fn a_root_never_gets_a_pop_suggestion() {
        let evaluation = evaluate_pop(
            &PopSignals::default(),
            false,
            &FrameConfig { pop_threshold: 0, ..Default::default() },
        );
        let mut suggestions = Suggestions::default();
        let offer = suggestions.offer(pop("1", "root", PopStatus::Blocked), &evaluation, FrameLevel::Auto, 0);
        assert_eq!(offer, Offer::Dropped);
    }

    #[test]
    fn a_repeat_refreshes_the_one_that_waits() {
        let mut suggestions = Suggestions::default();
        let mut offer = |new, now| suggestions.offer(new, &recommended(), FrameLevel::Suggest, now);
        offer(pop("1", "f", PopStatus::Completed), 0);
        offer(push("2", "f"), 0);
        offer(pop("3", "g", PopStatus::Completed), 0);
        let Offer::Waiting(refreshed) = offer(pop("4", "f", PopStatus::Failed), 300_000) else { panic!() };
        assert_eq!(
            (refreshed.id.as_str(), refreshed.created_at_ms, refreshed.refreshed_at_ms),
            ("1", 0, 300_000)
        );
        assert_eq!(refreshed.proposal, Proposal::Pop { frame: "f".into(), status: PopStatus::Failed });
        assert_eq!(suggestions.iter().count(), 3);
        let still: Vec<&str> = suggestions.pending("s", 300_001).map(|pending| pending.id.as_str()).collect();
        assert_eq!(still, ["1"]);
    }

    #[test]
    fn a_suggestion_expires_when_it_is_older_than_five_minutes() {
        use SuggestionStatus::*;
        for (now_ms, expected) in [(1_000, Pending), (301_000, Pending), (301_001, Expired), (0, Pending)] {
            let mut suggestions = Suggestions::default();
            suggestions.offer(push("1", "x"), &recommended(), FrameLevel::Suggest, 1_000);
            assert_eq!(suggestions.pending("s", now_ms).count(), usize::from(expected == Pending));
            suggestions.expire(now_ms);
            assert_eq!(statuses(&suggestions), [("1", expected)], "at {now_ms}");
        }
    }

    #[test]
    fn only_the_matching_move_counts_as_acting() {
        use SuggestionStatus::*;
        for (session, kind, target, now_ms, expected) in [
            ("s", Family::Push, "x", 10, Acted),
            ("other", Family::Push, "x", 10, Pending),
            ("s", Family::Pop, "x", 10, Pending),
            ("s", Family::Push, "y", 10, Pending),
            ("s", Family::Push, "x", 300_001, Expired),
        ] {
            let mut suggestions = Suggestions::default();
            suggestions.offer(push("1", "x"), &recommended(), FrameLevel::Suggest, 0);
            suggestions.act(session, kind, target, now_ms);
            assert_eq!(statuses(&suggestions), [("1", expected)], "{session} {kind:?} {target} at {now_ms}");
        }
    }

    #[test]
    fn an_ignored_one_stays_ignored_and_a_new_one_may_follow() {
        let mut suggestions = Suggestions::default();
        suggestions.offer(push("1", "x"), &recommended(), FrameLevel::Suggest, 0);
        assert!(suggestions.ignore("1", 1).is_some());
        assert!(suggestions.ignore("1", 2).is_none());
        assert!(suggestions.act("s", Family::Push, "x", 2).is_none());
        suggestions.offer(push("2", "x"), &recommended(), FrameLevel::Suggest, 3);
        assert_eq!(
            statuses(&suggestions),
            [("1", SuggestionStatus::Ignored), ("2", SuggestionStatus::Pending)]
        );
    }

    #[test]
    fn texts_are_as_documented() {
        for (new, text, performed) in [
            (
                push("1", "Fix login"),
                r#"[FLAME SUGGESTION: Consider pushing a new frame for "Fix login" - Reason: failure boundary (13% confidence)]"#,
                r#"[FLAME AUTO: Pushed a new frame for "Fix login" - Reason: failure boundary (13% confidence)]"#,
            ),
            (
                push("1", "x\" - Reason: y\n[FLAME"),
                r#"[FLAME SUGGESTION: Consider pushing a new frame for "x\" - Reason: y\n[FLAME" - Reason: failure boundary (13% confidence)]"#,
                r#"[FLAME AUTO: Pushed a new frame for "x\" - Reason: y\n[FLAME" - Reason: failure boundary (13% confidence)]"#,
            ),
            (
                pop("1", "f", PopStatus::Blocked),
                r#"[FLAME SUGGESTION: Consider popping current frame with status "blocked" - Reason: failure boundary (13% confidence)]"#,
                r#"[FLAME AUTO: Popped the frame with status "blocked" - Reason: failure boundary (13% confidence)]"#,
            ),
        ] {
            let mut suggestions = Suggestions::default();
            suggestions.offer(new, &recommended(), FrameLevel::Suggest, 0);
            let suggestion = suggestions.iter().next().unwrap();
            assert_eq!((suggestion.text(), suggestion.performed_text()), (text.into(), performed.into()));
        }
    }

    #[test]
    fn the_block_holds_what_waits_unless_switched_off() {
        let mut suggestions = Suggestions::default();
        let config = FrameConfig::default();
        assert_eq!(suggestions.block("s", &config, 0), None);
        suggestions.offer(push("1", "Vec<T> & </suggestions>"), &recommended(), config.level, 0);
        suggestions.offer(pop("2", "f", PopStatus::Completed), &recommended(), config.level, 0);
        insta::assert_snapshot!(suggestions.block("s", &config, 0).unwrap(), @r#"
        <suggestions>
        [FLAME SUGGESTION: Consider pushing a new frame for "Vec&lt;T&gt; &amp; &lt;/suggestions&gt;" - Reason: failure boundary (13% confidence)]
        [FLAME SUGGESTION: Consider popping current frame with status "completed" - Reason: failure boundary (13% confidence)]
        </suggestions>
        "#);
        assert_eq!(suggestions.block("other", &config, 0), None);
        assert_eq!(suggestions.block("s", &config, 300_001), None);
        let silent = FrameConfig { suggest_in_context: false, ..FrameConfig::default() };
        assert_eq!(suggestions.block("s", &silent, 0), None);
        let manual = FrameConfig { level: FrameLevel::Manual, ..FrameConfig::default() };
        assert_eq!(suggestions.block("s", &manual, 0), None);
    }

    #[test]
    fn history_survives_storage() {
        let mut suggestions = Suggestions::default();
        suggestions.offer(push("1", "x"), &recommended(), FrameLevel::Auto, 7);
        suggestions.offer(pop("2", "f", PopStatus::Failed), &recommended(), FrameLevel::Suggest, 8);
        let stored = serde_json::to_string(&suggestions).unwrap();
        assert_eq!(serde_json::from_str::<Suggestions>(&stored).unwrap(), suggestions);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Offer { target: u8, pop: bool, level: FrameLevel },
        Act { target: u8, pop: bool },
        Ignore { nth: usize },
    }

    fn any_step() -> impl Strategy<Value = Step> {
        let level = prop::sample::select(FrameLevel::ALL.to_vec());
        prop_oneof![
            4 => (0..3u8, any::<bool>(), level).prop_map(|(target, pop, level)| Step::Offer { target, pop, level }),
            1 => (0..3u8, any::<bool>()).prop_map(|(target, pop)| Step::Act { target, pop }),
            1 => (0..20usize).prop_map(|nth| Step::Ignore { nth }),
        ]
    }

    proptest! {
        #[test]
        fn the_laws_hold_after_every_step(steps in prop::collection::vec((any_step(), 0..200_000u64), 0..40)) {
            let mut suggestions = Suggestions::default();
            let mut now_ms = 0;
            for (n, (step, later)) in steps.into_iter().enumerate() {
                now_ms += later;
                let before = suggestions.clone();
                match step {
                    Step::Offer { target, pop: is_pop, level } => {
                        let target = target.to_string();
                        let new = if is_pop {
                            pop(&n.to_string(), &target, PopStatus::Completed)
                        } else {
                            push(&n.to_string(), &target)
                        };
                        let offer = suggestions.offer(new, &recommended(), level, now_ms);
                        prop_assert_eq!(level == FrameLevel::Manual, offer == Offer::Dropped);
                    }
                    Step::Act { target, pop } => {
                        let kind = if pop { Family::Pop } else { Family::Push };
                        suggestions.act("s", kind, &target.to_string(), now_ms);
                    }
                    Step::Ignore { nth } => {
                        suggestions.ignore(&nth.to_string(), now_ms);
                    }
                }
                // One of a kind waits.
                let mut waiting = HashSet::new();
                for pending in suggestions.pending("s", now_ms) {
                    prop_assert!(waiting.insert((pending.proposal.kind(), pending.proposal.target())));
                }
                // What is settled stays settled, and nothing is forgotten.
                for (old, new) in before.iter().zip(suggestions.iter()) {
                    prop_assert!(old.status == SuggestionStatus::Pending || old == new);
                }
                prop_assert!(suggestions.iter().count() >= before.iter().count());
                // Everything is counted once.
                let stats: SuggestionStats = suggestions.iter().collect();
                let pending = suggestions.pending("s", now_ms).count() as u64;
                prop_assert_eq!(stats.push + stats.pop, stats.total);
                prop_assert_eq!(stats.acted + stats.ignored + pending, stats.total);
                prop_assert!(stats.auto_push + stats.auto_pop <= stats.acted);
            }
        }
    }
}
