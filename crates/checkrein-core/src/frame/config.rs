//! The settings of the frame advice, and how a change to them is read.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::closest;
use crate::heuristic::{Aggregation, CustomHeuristic, Family, Heuristic, Score, ceiling};

/// How far the advice goes on its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameLevel {
    /// Evaluates only when asked, never suggests.
    Manual,
    /// Suggests and waits.
    #[default]
    Suggest,
    /// Pushes and pops by itself, and says so.
    Auto,
}

impl FrameLevel {
    pub const ALL: [FrameLevel; 3] = [FrameLevel::Manual, FrameLevel::Suggest, FrameLevel::Auto];

    pub fn name(self) -> &'static str {
        match self {
            FrameLevel::Manual => "manual",
            FrameLevel::Suggest => "suggest",
            FrameLevel::Auto => "auto",
        }
    }
}

/// The settings in force. The default is what `reset` restores.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FrameConfig {
    pub level: FrameLevel,
    pub push_threshold: Score,
    pub pop_threshold: Score,
    pub suggest_in_context: bool,
    pub enabled_heuristics: BTreeSet<Heuristic>,
    pub aggregation: Aggregation,
    /// Read by [`Aggregation::Weighted`] only; a heuristic that is not listed weighs 1.
    pub weights: BTreeMap<Heuristic, f64>,
    /// How many tokens the context of a frame may take.
    pub context_tokens: usize,
    /// Heuristics of the settings, by name.
    pub heuristics: BTreeMap<String, CustomHeuristic>,
    /// Those of them that are left out.
    #[serde(skip)]
    pub disabled_custom: BTreeSet<String>,
    /// What is otherwise for a type of agent.
    pub agents: BTreeMap<String, AgentThresholds>,
}

/// What is otherwise for one type of agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentThresholds {
    /// Confidence from which a push is recommended, 0 to 100
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_threshold: Option<f64>,
    /// Confidence from which a pop is recommended, 0 to 100
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pop_threshold: Option<f64>,
}

impl Default for FrameConfig {
    fn default() -> FrameConfig {
        FrameConfig {
            level: FrameLevel::default(),
            push_threshold: 70,
            pop_threshold: 80,
            suggest_in_context: true,
            enabled_heuristics: Heuristic::ALL.into(),
            aggregation: Aggregation::default(),
            weights: BTreeMap::new(),
            context_tokens: 2_000,
            heuristics: BTreeMap::new(),
            disabled_custom: BTreeSet::new(),
            agents: BTreeMap::new(),
        }
    }
}

/// Settings for people who work with a coding agent all day, as `checkrein init` offers them. The sample
/// sessions in `session/samples.rs` say what they do.
pub const RECOMMENDED_YAML: &str = include_str!("recommended.yaml");

/// Fewer leave no room for the frame itself.
const CONTEXT_TOKENS_MIN: f64 = 100.0;
const CONTEXT_TOKENS_MAX: f64 = 100_000.0;
/// So many heuristics of one's own are enough.
const CUSTOM_MAX: usize = 50;

/// A change to the settings, as it is written: what is absent stays as it is.
///
/// Names are plain text here, since an unknown one is no reason to refuse the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct FrameConfigPatch {
    /// manual, suggest or auto
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Confidence from which a push is recommended, 0 to 100
    #[serde(skip_serializing_if = "Option::is_none")]
    pub push_threshold: Option<f64>,
    /// Confidence from which a pop is recommended, 0 to 100
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pop_threshold: Option<f64>,
    /// Whether suggestions are appended to the context
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggest_in_context: Option<bool>,
    /// Names of the heuristics to use
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_heuristics: Option<Vec<String>>,
    /// average, weighted or max
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<String>,
    /// Weights by heuristic, 0 or more; merged into the ones there are
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<BTreeMap<String, f64>>,
    /// How many tokens the context of a frame may take; 2000 by default
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<f64>,
    /// Heuristics of your own, by name
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heuristics: Option<BTreeMap<String, CustomHeuristic>>,
    /// Thresholds for a type of agent, such as a sub-agent's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<BTreeMap<String, AgentThresholds>>,
}

impl FrameConfig {
    /// Applies a stronger layer. What cannot be used is left out and named in the warnings.
    pub fn apply(&mut self, patch: &FrameConfigPatch) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(level) = &patch.level {
            match read_level("level", level) {
                Ok(level) => self.level = level,
                Err(warning) => warnings.push(warning),
            }
        }
        for (name, value, threshold) in [
            ("pushThreshold", patch.push_threshold, &mut self.push_threshold),
            ("popThreshold", patch.pop_threshold, &mut self.pop_threshold),
        ] {
            match value.map(|value| read_threshold(name, value)) {
                Some(Ok(value)) => *threshold = value,
                Some(Err(warning)) => warnings.push(warning),
                None => {}
            }
        }
        if let Some(suggest_in_context) = patch.suggest_in_context {
            self.suggest_in_context = suggest_in_context;
        }
        if let Some(tokens) = patch.context_tokens.filter(|tokens| !tokens.is_nan()) {
            self.context_tokens = tokens.clamp(CONTEXT_TOKENS_MIN, CONTEXT_TOKENS_MAX) as usize;
        }
        for (name, custom) in patch.heuristics.iter().flatten() {
            let fault = match Heuristic::from_name(name) {
                Some(_) => Some("a built-in heuristic has this name".to_owned()),
                None if !is_name(name) => Some("a name has letters, digits and `_`".to_owned()),
                None if self.heuristics.len() >= CUSTOM_MAX => Some(format!("{CUSTOM_MAX} are enough")),
                None => custom.fault(),
            };
            match fault {
                Some(fault) => warnings.push(format!("`heuristics.{name}`: {fault}, ignored")),
                None => {
                    self.heuristics.insert(name.clone(), custom.clone());
                    self.disabled_custom.remove(name);
                }
            }
        }
        for (name, agent) in patch.agents.iter().flatten() {
            let known = self.agents.entry(name.clone()).or_default();
            replace(&mut known.push_threshold, agent.push_threshold);
            replace(&mut known.pop_threshold, agent.pop_threshold);
        }
        if let Some(names) = &patch.enabled_heuristics {
            let (custom, built_in): (Vec<&String>, Vec<&String>) =
                names.iter().partition(|name| self.heuristics.contains_key(name.trim()));
            let left_out = |name: &&String| !custom.iter().any(|listed| listed.trim() == name.as_str());
            self.disabled_custom = self.heuristics.keys().filter(left_out).cloned().collect();
            self.enabled_heuristics = built_in
                .into_iter()
                .filter_map(|name| read_name("enabledHeuristics", name, &mut warnings))
                .collect();
        }
        if let Some(aggregation) = &patch.aggregation {
            match read_aggregation("aggregation", aggregation) {
                Ok(aggregation) => self.aggregation = aggregation,
                Err(warning) => warnings.push(warning),
            }
        }
        for (name, &weight) in patch.weights.iter().flatten() {
            let Some(heuristic) = read_name("weights", name, &mut warnings) else { continue };
            if weight.is_finite() && weight >= 0.0 {
                self.weights.insert(heuristic, weight);
            } else {
                warnings.push(format!("`weights.{name}`: `{weight}` is not a number of 0 or more, ignored"));
            }
        }
        warnings
    }

    /// What is in force for a type of agent.
    pub fn of_agent(mut self, agent: Option<&str>) -> FrameConfig {
        let Some(agent) = agent.and_then(|agent| self.agents.get(agent)).cloned() else { return self };
        let patch = FrameConfigPatch {
            push_threshold: agent.push_threshold,
            pop_threshold: agent.pop_threshold,
            ..Default::default()
        };
        // Thresholds are clamped; there is nothing to say about them.
        let _ = self.apply(&patch);
        self
    }

    /// The heuristics of the settings that are in use.
    pub fn custom(&self) -> impl Iterator<Item = (&str, &CustomHeuristic)> {
        let all = self.heuristics.iter().filter(|(name, _)| !self.disabled_custom.contains(*name));
        all.map(|(name, custom)| (name.as_str(), custom))
    }

    /// How much a heuristic weighs where scores are weighted.
    pub fn weight(&self, name: &str) -> f64 {
        match (Heuristic::from_name(name), self.heuristics.get(name)) {
            (Some(heuristic), _) => self.weights.get(&heuristic).copied().unwrap_or(1.0),
            (None, Some(custom)) => custom.weight,
            (None, None) => 1.0,
        }
    }

    /// Names of everything in use, the built-in ones first.
    pub fn enabled(&self) -> Vec<String> {
        let built_in = self.enabled_heuristics.iter().map(|heuristic| heuristic.name().to_owned());
        built_in.chain(self.custom().map(|(name, _)| name.to_owned())).collect()
    }

    /// Whether there is a heuristic of this name, in use or not.
    pub fn knows(&self, name: &str) -> bool {
        Heuristic::from_name(name).is_some() || self.heuristics.contains_key(name)
    }

    /// What is worth saying about these settings: a threshold that can never be reached (F1).
    pub fn remarks(&self) -> Vec<String> {
        let families =
            [("push", Family::Push, self.push_threshold), ("pop", Family::Pop, self.pop_threshold)];
        let unreachable = families.into_iter().filter_map(|(word, family, threshold)| {
            let most = ceiling(family, self);
            (threshold > most).then(|| {
                format!("a {word} is never recommended: confidence reaches {most}% at most, the threshold is {threshold}%")
            })
        });
        unreachable.collect()
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl FrameConfigPatch {
    /// Lays `stronger` over this one, so that a session keeps its changes as a single patch.
    pub fn merge(&mut self, stronger: FrameConfigPatch) {
        let FrameConfigPatch {
            level,
            push_threshold,
            pop_threshold,
            suggest_in_context,
            enabled_heuristics,
            aggregation,
            weights,
            context_tokens,
            heuristics,
            agents,
        } = stronger;
        replace(&mut self.level, level);
        replace(&mut self.push_threshold, push_threshold);
        replace(&mut self.pop_threshold, pop_threshold);
        replace(&mut self.suggest_in_context, suggest_in_context);
        replace(&mut self.enabled_heuristics, enabled_heuristics);
        replace(&mut self.aggregation, aggregation);
        replace(&mut self.context_tokens, context_tokens);
        if let Some(weights) = weights {
            self.weights.get_or_insert_default().extend(weights);
        }
        if let Some(heuristics) = heuristics {
            self.heuristics.get_or_insert_default().extend(heuristics);
        }
        for (name, agent) in agents.into_iter().flatten() {
            let known = self.agents.get_or_insert_default().entry(name).or_default();
            replace(&mut known.push_threshold, agent.push_threshold);
            replace(&mut known.pop_threshold, agent.pop_threshold);
        }
    }
}

fn replace<T>(value: &mut Option<T>, stronger: Option<T>) {
    if stronger.is_some() {
        *value = stronger;
    }
}

/// `source` is the setting or the variable to name in the warning; the same for the readers below.
pub(super) fn read_level(source: &str, text: &str) -> Result<FrameLevel, String> {
    read_word(source, text, &FrameLevel::ALL.map(|level| (level.name(), level)))
}

fn read_aggregation(source: &str, text: &str) -> Result<Aggregation, String> {
    read_word(source, text, &Aggregation::ALL.map(|aggregation| (aggregation.name(), aggregation)))
}

fn read_word<T: Copy>(source: &str, text: &str, words: &[(&str, T)]) -> Result<T, String> {
    words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text.trim())).map(|(_, value)| *value).ok_or_else(
        || {
            let valid: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            format!("`{source}`: unknown value `{text}`, ignored; valid are {}", valid.join(", "))
        },
    )
}

/// Rounded up, since a whole confidence reaches 70.5 exactly when it reaches 71.
fn read_threshold(source: &str, value: f64) -> Result<Score, String> {
    if value.is_nan() {
        return Err(format!("`{source}`: `{value}` is not a number, ignored"));
    }
    Ok(value.clamp(0.0, 100.0).ceil() as Score)
}

pub(super) fn read_name(source: &str, name: &str, warnings: &mut Vec<String>) -> Option<Heuristic> {
    let heuristic = Heuristic::from_name(name.trim());
    if heuristic.is_none() {
        let hint = match closest(name.trim(), Heuristic::ALL.map(Heuristic::name)) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("valid are {}", Heuristic::ALL.map(Heuristic::name).join(", ")),
        };
        warnings.push(format!("`{source}`: unknown heuristic `{name}`, ignored; {hint}"));
    }
    heuristic
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn applied(patch: serde_json::Value) -> (FrameConfig, Vec<String>) {
        let mut config = FrameConfig::default();
        let warnings = config.apply(&serde_json::from_value(patch).unwrap());
        (config, warnings)
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        assert_eq!(
            serde_json::to_value(FrameConfig::default()).unwrap(),
            json!({
                "level": "suggest",
                "pushThreshold": 70,
                "popThreshold": 80,
                "suggestInContext": true,
                "enabledHeuristics": ["failure_boundary", "context_switch", "complexity", "duration",
                    "goal_completion", "stagnation", "context_overflow"],
                "aggregation": "average",
                "weights": {},
                "contextTokens": 2000,
                "heuristics": {},
                "agents": {},
            })
        );
    }

    #[test]
    fn an_empty_patch_changes_nothing() {
        assert_eq!(applied(json!({})), (FrameConfig::default(), vec![]));
        assert_eq!(applied(json!({"level": null})), (FrameConfig::default(), vec![]));
    }

    #[test]
    fn every_field_is_applied() {
        let (config, warnings) = applied(json!({
            "level": "AUTO", "pushThreshold": 60, "popThreshold": 65.5, "suggestInContext": false,
            "enabledHeuristics": ["stagnation", "duration", "stagnation"],
            "aggregation": "Weighted", "weights": {"duration": 2},
        }));
        assert_eq!(warnings, Vec::<String>::new());
        assert_eq!(
            config,
            FrameConfig {
                level: FrameLevel::Auto,
                push_threshold: 60,
                pop_threshold: 66,
                suggest_in_context: false,
                enabled_heuristics: [Heuristic::Duration, Heuristic::Stagnation].into(),
                aggregation: Aggregation::Weighted,
                weights: [(Heuristic::Duration, 2.0)].into(),
                ..Default::default()
            }
        );
    }

    #[test]
    fn thresholds_are_clamped() {
        for (given, expected) in [(-5.0, 0), (0.0, 0), (100.0, 100), (100.1, 100), (1e300, 100)] {
            let (config, warnings) = applied(json!({"pushThreshold": given, "popThreshold": given}));
            assert_eq!((config.push_threshold, config.pop_threshold), (expected, expected), "{given}");
            assert!(warnings.is_empty());
        }
    }

    #[test]
    fn what_cannot_be_used_is_ignored_with_a_warning() {
        for (patch, warning) in [
            (
                json!({"level": "full"}),
                "`level`: unknown value `full`, ignored; valid are manual, suggest, auto",
            ),
            (
                json!({"aggregation": "median"}),
                "`aggregation`: unknown value `median`, ignored; valid are average, weighted, max",
            ),
            (
                json!({"weights": {"duratoin": 2}}),
                "`weights`: unknown heuristic `duratoin`, ignored; did you mean `duration`?",
            ),
            (
                json!({"weights": {"duration": -1}}),
                "`weights.duration`: `-1` is not a number of 0 or more, ignored",
            ),
        ] {
            assert_eq!(applied(patch), (FrameConfig::default(), vec![warning.to_owned()]));
        }
    }

    #[test]
    fn unknown_heuristics_are_reported_and_the_others_used() {
        let (config, warnings) = applied(json!({"enabledHeuristics": ["duration", "weather"]}));
        assert_eq!(config.enabled_heuristics, [Heuristic::Duration].into());
        assert_eq!(
            warnings,
            ["`enabledHeuristics`: unknown heuristic `weather`, ignored; valid are failure_boundary, \
              context_switch, complexity, duration, goal_completion, stagnation, context_overflow"]
        );
    }

    #[test]
    fn unknown_keys_and_wrong_types_are_refused() {
        for patch in [json!({"pushTreshold": 60}), json!({"pushThreshold": "60"}), json!({"level": 1})] {
            assert!(serde_json::from_value::<FrameConfigPatch>(patch.clone()).is_err(), "{patch}");
        }
    }

    #[test]
    fn merging_patches_is_applying_them_in_turn() {
        let patches = [
            json!({"level": "auto", "weights": {"duration": 2}}),
            json!({"pushThreshold": 10, "enabledHeuristics": ["duration"], "weights": {"stagnation": 3}}),
            json!({"level": "manual", "suggestInContext": false, "weights": {"duration": 4}}),
        ]
        .map(|patch| serde_json::from_value::<FrameConfigPatch>(patch).unwrap());
        let (mut in_turn, mut merged) = (FrameConfig::default(), FrameConfigPatch::default());
        for patch in patches {
            in_turn.apply(&patch);
            merged.merge(patch);
        }
        let mut at_once = FrameConfig::default();
        at_once.apply(&merged);
        assert_eq!(at_once, in_turn);
    }
}
