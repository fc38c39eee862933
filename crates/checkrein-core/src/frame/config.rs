//! The settings of the frame advice, and how a change to them is read.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::closest;
use crate::heuristic::{Aggregation, Heuristic, Score};

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
        }
    }
}

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
        if let Some(names) = &patch.enabled_heuristics {
            self.enabled_heuristics =
                names.iter().filter_map(|name| read_name("enabledHeuristics", name, &mut warnings)).collect();
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
        } = stronger;
        replace(&mut self.level, level);
        replace(&mut self.push_threshold, push_threshold);
        replace(&mut self.pop_threshold, pop_threshold);
        replace(&mut self.suggest_in_context, suggest_in_context);
        replace(&mut self.enabled_heuristics, enabled_heuristics);
        replace(&mut self.aggregation, aggregation);
        if let Some(weights) = weights {
            self.weights.get_or_insert_default().extend(weights);
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
