//! What a step or hook says should happen when its findings exceed the tolerance.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Outcome;

/// Who returned the response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepOrHook {
    #[default]
    Step,
    Hook,
}

/// `result_handling:` of a step, hook, phase or workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Handling {
    /// Warnings over tolerance; stop if nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_warning: Option<OnWarning>,
    /// Errors over tolerance. Only a hook may continue; a step always stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnWarning {
    Continue,
    Prompt,
    Stop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    Continue,
    Stop,
}

impl Handling {
    /// Field by field: what this says, else what `weaker` says.
    pub fn or(self, weaker: Handling) -> Handling {
        Handling {
            on_warning: self.on_warning.or(weaker.on_warning),
            on_failure: self.on_failure.or(weaker.on_failure),
        }
    }

    /// A tolerance nobody handles is meant to stop (W1); asking a person is a hold.
    pub fn of_warnings(self) -> Outcome {
        match self.on_warning {
            Some(OnWarning::Continue) => Outcome::Proceed,
            Some(OnWarning::Prompt) => Outcome::Hold,
            Some(OnWarning::Stop) | None => Outcome::Stop,
        }
    }

    /// A step's failure stops whatever was configured (W5).
    pub fn of_errors(self, kind: StepOrHook) -> Outcome {
        match (kind, self.on_failure) {
            (StepOrHook::Hook, Some(OnFailure::Continue)) => Outcome::Proceed,
            _ => Outcome::Stop,
        }
    }

    /// A setting that has no effect, in words.
    pub fn ignored(self, kind: StepOrHook) -> Option<&'static str> {
        (kind == StepOrHook::Step && self.on_failure == Some(OnFailure::Continue))
            .then_some("`on_failure: continue` is ignored: a step's failure always stops")
    }
}
