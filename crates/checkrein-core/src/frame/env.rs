//! The environment variables of the frame advice, read into a patch.

use super::config::{FrameConfigPatch, read_level, read_name};

/// `manual`, `suggest` or `auto`, in any case.
pub const FLAME_AUTONOMY_LEVEL: &str = "FLAME_AUTONOMY_LEVEL";
/// Confidence from which a push is recommended, 0 to 100.
pub const FLAME_PUSH_THRESHOLD: &str = "FLAME_PUSH_THRESHOLD";
/// Confidence from which a pop is recommended, 0 to 100.
pub const FLAME_POP_THRESHOLD: &str = "FLAME_POP_THRESHOLD";
/// Whether suggestions are appended to the context: true, false, 1, 0, yes or no.
pub const FLAME_SUGGEST_IN_CONTEXT: &str = "FLAME_SUGGEST_IN_CONTEXT";
/// The heuristics to use, separated by commas.
pub const FLAME_ENABLED_HEURISTICS: &str = "FLAME_ENABLED_HEURISTICS";

/// Reads the variables through `get`. A blank variable is an unset one; a value that cannot be used
/// is left out and named, with its variable, in the warnings.
pub fn from_env(get: impl Fn(&str) -> Option<String>) -> (FrameConfigPatch, Vec<String>) {
    let mut warnings = Vec::new();
    let get = |name: &str| get(name).filter(|value| !value.trim().is_empty());
    let patch = FrameConfigPatch {
        level: get(FLAME_AUTONOMY_LEVEL).and_then(|text| {
            let level = read_level(FLAME_AUTONOMY_LEVEL, &text);
            level.map(|level| level.name().to_owned()).map_err(|warning| warnings.push(warning)).ok()
        }),
        push_threshold: threshold(FLAME_PUSH_THRESHOLD, get(FLAME_PUSH_THRESHOLD), &mut warnings),
        pop_threshold: threshold(FLAME_POP_THRESHOLD, get(FLAME_POP_THRESHOLD), &mut warnings),
        suggest_in_context: get(FLAME_SUGGEST_IN_CONTEXT).and_then(|text| {
            let value = read_bool(&text);
            if value.is_none() {
                warnings.push(format!(
                    "`{FLAME_SUGGEST_IN_CONTEXT}`: unknown value `{text}`, ignored; valid are true, false, 1, 0, yes, no"
                ));
            }
            value
        }),
        enabled_heuristics: get(FLAME_ENABLED_HEURISTICS).map(|text| {
            text.split(',')
                .filter(|name| !name.trim().is_empty())
                .filter_map(|name| read_name(FLAME_ENABLED_HEURISTICS, name.trim(), &mut warnings))
                .map(|heuristic| heuristic.name().to_owned())
                .collect()
        }),
        ..FrameConfigPatch::default()
    };
    (patch, warnings)
}

fn threshold(variable: &str, text: Option<String>, warnings: &mut Vec<String>) -> Option<f64> {
    let text = text?;
    // "inf" and "nan" parse as floats, but nobody means a number by them.
    let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
    if value.is_none() {
        warnings.push(format!("`{variable}`: `{text}` is not a number, ignored"));
    }
    value
}

fn read_bool(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" => Some(true),
        "false" | "0" | "no" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{FrameConfig, FrameLevel};
    use crate::heuristic::Heuristic;

    /// The settings and warnings that one variable leads to.
    fn read(variable: &str, value: &str) -> (FrameConfig, Vec<String>) {
        let (patch, mut warnings) = from_env(|name| (name == variable).then(|| value.to_owned()));
        let mut config = FrameConfig::default();
        warnings.extend(config.apply(&patch));
        (config, warnings)
    }

    #[test]
    fn an_empty_environment_changes_nothing() {
        assert_eq!(from_env(|_| None), (FrameConfigPatch::default(), vec![]));
        assert_eq!(from_env(|_| Some("  ".into())), (FrameConfigPatch::default(), vec![]));
    }

    #[test]
    fn values_that_are_understood() {
        let default = FrameConfig::default;
        for (variable, value, expected) in [
            (FLAME_AUTONOMY_LEVEL, "Auto", FrameConfig { level: FrameLevel::Auto, ..default() }),
            (FLAME_AUTONOMY_LEVEL, " MANUAL ", FrameConfig { level: FrameLevel::Manual, ..default() }),
            (FLAME_PUSH_THRESHOLD, "60", FrameConfig { push_threshold: 60, ..default() }),
            (FLAME_PUSH_THRESHOLD, "-1", FrameConfig { push_threshold: 0, ..default() }),
            (FLAME_POP_THRESHOLD, " 150 ", FrameConfig { pop_threshold: 100, ..default() }),
            (FLAME_SUGGEST_IN_CONTEXT, "0", FrameConfig { suggest_in_context: false, ..default() }),
            (FLAME_SUGGEST_IN_CONTEXT, "No", FrameConfig { suggest_in_context: false, ..default() }),
            (FLAME_SUGGEST_IN_CONTEXT, "false", FrameConfig { suggest_in_context: false, ..default() }),
            (FLAME_SUGGEST_IN_CONTEXT, "YES", default()),
            (FLAME_SUGGEST_IN_CONTEXT, "1", default()),
            (
                FLAME_ENABLED_HEURISTICS,
                "stagnation, duration,",
                FrameConfig {
                    enabled_heuristics: [Heuristic::Duration, Heuristic::Stagnation].into(),
                    ..default()
                },
            ),
        ] {
            assert_eq!(read(variable, value), (expected, vec![]), "{variable}={value}");
        }
    }

    #[test]
    fn values_that_are_ignored_are_named_once_with_their_variable() {
        for (variable, value, warning) in [
            (
                FLAME_AUTONOMY_LEVEL,
                "full",
                "`FLAME_AUTONOMY_LEVEL`: unknown value `full`, ignored; valid are manual, suggest, auto",
            ),
            (FLAME_PUSH_THRESHOLD, "high", "`FLAME_PUSH_THRESHOLD`: `high` is not a number, ignored"),
            (FLAME_POP_THRESHOLD, "nan", "`FLAME_POP_THRESHOLD`: `nan` is not a number, ignored"),
            (
                FLAME_SUGGEST_IN_CONTEXT,
                "maybe",
                "`FLAME_SUGGEST_IN_CONTEXT`: unknown value `maybe`, ignored; valid are true, false, 1, 0, yes, no",
            ),
        ] {
            assert_eq!(read(variable, value), (FrameConfig::default(), vec![warning.to_owned()]));
        }
        let (_, warnings) = read(FLAME_ENABLED_HEURISTICS, "duration, stagnaton");
        assert_eq!(
            warnings,
            [
                "`FLAME_ENABLED_HEURISTICS`: unknown heuristic `stagnaton`, ignored; did you mean `stagnation`?"
            ]
        );
    }
}
