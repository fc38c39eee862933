//! What is answered to a command on frames: data for programs, and a page of Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config::{AgentThresholds, FrameConfig, FrameLevel};
use super::escape;
use super::stats::{Precision, SuggestionStats, precision};
use super::status::{FrameStatus, PopStatus};
use super::suggestion::Suggestion;
use super::tree::{Frame, FrameTree};
use super::tune::Tuning;
use crate::heuristic::{Aggregation, CustomHeuristic, Evaluation, Family, Heuristic, Score, ceiling};

/// What came of a command. Lists are always there; of the rest, what the command has nothing to do with is not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FrameAnswer {
    /// The session it is about
    pub session: String,
    /// The frame that is worked in now
    pub current: Option<Box<Frame>>,
    /// The frame the command was about
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<Box<Frame>>,
    /// What was begun before what is planned, parents before children
    pub frames: Vec<Frame>,
    pub invalidated: Vec<String>,
    pub still_in_progress: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<EvaluationView>,
    /// What came of the evaluation, or was judged
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Box<Suggestion>>,
    /// Whether the suggestion was carried out right away
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub performed: bool,
    pub suggestions: Vec<Suggestion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<ConfigView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stats: Option<StatsView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tuning: Option<Tuning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The move that was taken back
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone: Option<String>,
    pub warnings: Vec<String>,
    /// All of it as Markdown
    pub text: String,
}

impl FrameAnswer {
    pub(super) fn about(frame: Frame, what: &str) -> FrameAnswer {
        let mut text = format!("{what} {} ({}): {}\n", frame.id, frame.status, escape::quoted(&frame.goal));
        if let Some(summary) = &frame.summary {
            let _ = writeln!(text, "Summary: {summary}");
        }
        if let Some(log) = &frame.log_path {
            let _ = writeln!(text, "Log: {}", escape::line(log));
        }
        FrameAnswer { frame: Some(Box::new(frame)), text, ..FrameAnswer::default() }
    }

    pub(super) fn several(frames: Vec<Frame>, what: &str) -> FrameAnswer {
        let mut text = String::new();
        for frame in &frames {
            let _ = writeln!(text, "{what} {}: {}", frame.id, escape::quoted(&frame.goal));
        }
        let one = (frames.len() == 1).then(|| frames.first().cloned().map(Box::new)).flatten();
        FrameAnswer { frame: one, frames, text, ..FrameAnswer::default() }
    }

    pub(super) fn detailed(frame: Frame) -> FrameAnswer {
        let text = details(&frame);
        FrameAnswer { frame: Some(Box::new(frame)), text, ..FrameAnswer::default() }
    }

    pub(super) fn suggested(suggestion: Suggestion, what: &str) -> FrameAnswer {
        let text = format!("{what}: {} `{}`\n", suggestion.text(), suggestion.id);
        FrameAnswer { suggestion: Some(Box::new(suggestion)), text, ..FrameAnswer::default() }
    }
}

fn details(frame: &Frame) -> String {
    let mut text = format!(
        "# Frame {}\n\n- **Goal:** {}\n- **Status:** {}\n",
        frame.id,
        escape::quoted(&frame.goal),
        frame.status
    );
    let rows = [
        ("Parent", frame.parent.clone()),
        ("Agent", frame.agent.as_deref().map(escape::line)),
        ("Invalidated because", frame.invalidation_reason.as_deref().map(escape::line)),
        ("Log", frame.log_path.as_deref().map(escape::line)),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            let _ = writeln!(text, "- **{name}:** {value}");
        }
    }
    let signals = &frame.signals;
    let _ = writeln!(
        text,
        "- **Signals:** {} messages, {} files, {} errors, {} tokens, {} turns without progress",
        signals.messages,
        signals.files.len(),
        signals.errors,
        signals.tokens,
        signals.no_progress_turns
    );
    if let Some(summary) = &frame.summary {
        let _ = write!(text, "\n## Summary\n{summary}\n");
    }
    for (name, texts) in [("Artifacts", &frame.artifacts), ("Decisions", &frame.decisions)] {
        if !texts.is_empty() {
            let _ = write!(text, "\n## {name}\n");
            for one in texts {
                let _ = writeln!(text, "- {}", escape::line(one));
            }
        }
    }
    text
}

/// The tree as lines, for a terminal and for an agent.
pub fn tree_text(tree: &FrameTree) -> String {
    if tree.is_empty() {
        return "There are no frames yet.\n".to_owned();
    }
    let current = tree.current().map(|frame| frame.id.as_str());
    let mut text = String::new();
    // Each open frame with the strokes that lead to it; the last one is shown next.
    let mut open: Vec<(&Frame, String, bool, bool)> =
        tree.roots().map(|root| (root, String::new(), true, true)).collect();
    open.reverse();
    while let Some((frame, lead, last, root)) = open.pop() {
        let (stroke, below) = match (root, last) {
            (true, _) => ("", ""),
            (false, true) => ("└─ ", "   "),
            (false, false) => ("├─ ", "│  "),
        };
        let mark = if Some(frame.id.as_str()) == current { " ◀" } else { "" };
        let agent =
            frame.agent.as_deref().map(|agent| format!(" @{}", escape::line(agent))).unwrap_or_default();
        let _ = writeln!(
            text,
            "{lead}{stroke}{} {}{agent} {}{mark}",
            icon(frame.status),
            frame.id,
            escape::line(&frame.goal)
        );
        let mut children: Vec<&Frame> = tree.children(&frame.id).collect();
        // Stable: what was begun comes first, in the order it was made.
        children.sort_by_key(|child| child.status == FrameStatus::Planned);
        let lead = format!("{lead}{below}");
        let mut last = true;
        while let Some(child) = children.pop() {
            open.push((child, lead.clone(), last, false));
            last = false;
        }
    }
    text
}

fn icon(status: FrameStatus) -> &'static str {
    match status {
        FrameStatus::Planned => "○",
        FrameStatus::InProgress => "●",
        FrameStatus::Completed => "✓",
        FrameStatus::Failed => "✗",
        FrameStatus::Blocked => "‖",
        FrameStatus::Invalidated => "–",
    }
}

/// An evaluation as it is sent and read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvaluationView {
    pub should: bool,
    pub confidence: Score,
    pub threshold: Score,
    pub primary_reason: String,
    pub scores: IndexMap<String, Score>,
    pub suggested_status: Option<PopStatus>,
}

impl EvaluationView {
    pub fn of(evaluation: &Evaluation) -> EvaluationView {
        EvaluationView {
            should: evaluation.should,
            confidence: evaluation.confidence,
            threshold: evaluation.threshold,
            primary_reason: evaluation.primary_reason.to_string(),
            scores: evaluation.scores.iter().map(|(name, score)| (name.to_owned(), score)).collect(),
            suggested_status: evaluation.suggested_status,
        }
    }
}

/// The settings in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigView {
    pub level: FrameLevel,
    pub push_threshold: Score,
    pub pop_threshold: Score,
    pub suggest_in_context: bool,
    pub enabled_heuristics: Vec<String>,
    pub aggregation: Aggregation,
    pub weights: BTreeMap<Heuristic, f64>,
    pub context_tokens: usize,
    pub heuristics: BTreeMap<String, CustomHeuristic>,
    pub agents: BTreeMap<String, AgentThresholds>,
    /// The greatest confidence a push can reach with these settings
    pub push_ceiling: Score,
    /// The greatest confidence a pop can reach with these settings
    pub pop_ceiling: Score,
    /// The same for every aggregation there is
    pub ceilings: Vec<Ceiling>,
}

/// The greatest confidence an aggregation can reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    pub aggregation: Aggregation,
    pub push: Score,
    pub pop: Score,
}

impl Ceiling {
    fn of(config: &FrameConfig, aggregation: Aggregation) -> Ceiling {
        let config = FrameConfig { aggregation, ..config.clone() };
        Ceiling { aggregation, push: ceiling(Family::Push, &config), pop: ceiling(Family::Pop, &config) }
    }
}

impl ConfigView {
    pub fn of(config: &FrameConfig) -> ConfigView {
        ConfigView {
            level: config.level,
            push_threshold: config.push_threshold,
            pop_threshold: config.pop_threshold,
            suggest_in_context: config.suggest_in_context,
            enabled_heuristics: config.enabled(),
            aggregation: config.aggregation,
            weights: config.weights.clone(),
            context_tokens: config.context_tokens,
            heuristics: config.heuristics.clone(),
            agents: config.agents.clone(),
            push_ceiling: ceiling(Family::Push, config),
            pop_ceiling: ceiling(Family::Pop, config),
            ceilings: Aggregation::ALL.map(|aggregation| Ceiling::of(config, aggregation)).into(),
        }
    }

    pub(super) fn text(&self, session: &str) -> String {
        let mut text = format!(
            "# Autonomy Configuration\n\n\
             **Session:** {}\n\n\
             - **Level:** {}\n\
             - **Push Threshold:** {}% (confidence reaches {}% at most)\n\
             - **Pop Threshold:** {}% (confidence reaches {}% at most)\n\
             - **Suggest in Context:** {}\n\
             - **Aggregation:** {}\n\
             - **Context:** {} tokens\n\n\
             ## Highest Confidence by Aggregation\n",
            escape::line(session),
            self.level.name(),
            self.push_threshold,
            self.push_ceiling,
            self.pop_threshold,
            self.pop_ceiling,
            self.suggest_in_context,
            self.aggregation.name(),
            self.context_tokens,
        );
        for each in &self.ceilings {
            let _ = writeln!(text, "- {}: push {}%, pop {}%", each.aggregation.name(), each.push, each.pop);
        }
        text.push_str("\n## Enabled Heuristics\n");
        for name in &self.enabled_heuristics {
            let weight = Heuristic::from_name(name).and_then(|heuristic| self.weights.get(&heuristic));
            let weight = weight.map(|weight| format!(" (weight {weight})")).unwrap_or_default();
            let _ = writeln!(text, "- {name}{weight}");
        }
        if !self.agents.is_empty() {
            text.push_str("\n## Thresholds by Agent Type\n");
            for (name, agent) in &self.agents {
                let shown = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value}%"));
                let (push, pop) = (shown(agent.push_threshold), shown(agent.pop_threshold));
                let _ = writeln!(text, "- {}: push {push}, pop {pop}", escape::line(name));
            }
        }
        text
    }
}

/// What became of the suggestions, in all and by heuristic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsView {
    #[serde(flatten)]
    pub counts: SuggestionStats,
    /// Acted upon, of those that were acted upon or ignored: 0 to 1, null while there are none
    pub action_rate: Option<f64>,
    /// How often each heuristic spoke for what turned out right
    pub heuristics: Vec<Precision>,
}

impl StatsView {
    pub fn of<'s>(history: impl Iterator<Item = &'s Suggestion> + Clone) -> StatsView {
        let counts: SuggestionStats = history.clone().collect();
        StatsView { counts, action_rate: counts.action_rate(), heuristics: precision(history) }
    }

    pub(super) fn text(&self, config: &FrameConfig) -> String {
        let counts = &self.counts;
        let mut text = format!(
            "# Autonomy Statistics\n\n\
             **Autonomy Level:** {}\n\n\
             - **Total Suggestions:** {}\n\
             - **Push Suggestions:** {}\n\
             - **Pop Suggestions:** {}\n\
             - **Acted Upon:** {}\n\
             - **Ignored:** {}\n\
             - **Action Rate:** {}\n\
             - **Auto-Triggered Pushes:** {}\n\
             - **Auto-Triggered Pops:** {}\n\
             - **Undone:** {}\n\
             - **Useful:** {} yes, {} no\n",
            config.level.name(),
            counts.total,
            counts.push,
            counts.pop,
            counts.acted,
            counts.ignored,
            self.action_rate.map_or("-".to_owned(), |rate| format!("{:.0}%", rate * 100.0)),
            counts.auto_push,
            counts.auto_pop,
            counts.undone,
            counts.useful,
            counts.not_useful
        );
        if !self.heuristics.is_empty() {
            text.push_str("\n## Precision by Heuristic\n");
            for row in &self.heuristics {
                let percent = row.percent().map_or("-".to_owned(), |percent| format!("{percent}%"));
                let _ = writeln!(
                    text,
                    "- {}: {percent} ({} right, {} wrong)",
                    row.heuristic, row.right, row.wrong
                );
            }
        }
        text
    }
}
