use std::collections::BTreeSet;

use checkrein_core::boundary::Boundary;
use checkrein_core::classify::Classifier;
use checkrein_core::config::{Settings, Subject};
use checkrein_core::decision::{Outcome, Situation, decide};
use checkrein_core::document::Problems;
use checkrein_core::policy::{Block, Layer, LayerRank, Origin, Policy, Reading, Resolution, Scope, Setting};

use super::{AutonomyLevel, CheckpointError};
use crate::EngineError;

/// A level, and the checkpoint types at which a semi-supervised worker holds.
///
/// ```
/// use checkrein_engine::worker::{AutonomyConfig, AutonomyLevel};
///
/// let config = AutonomyConfig { level: AutonomyLevel::Manual, ..AutonomyConfig::default() };
/// assert_eq!(config.level, AutonomyLevel::Manual);
/// assert!(config.checkpoint_types.iter().eq(["deliverable", "final_output", "phase_transition"]));
/// ```
///
/// Types are case-sensitive, any string is one, and a set replaces the default (C1):
///
/// ```
/// use checkrein_engine::worker::{AutonomyConfig, AutonomyLevel};
///
/// let config = AutonomyConfig {
///     level: AutonomyLevel::SemiSupervised,
///     checkpoint_types: ["invoice".to_owned()].into(),
/// };
/// assert!(config.should_checkpoint("invoice"));
/// assert!(!config.should_checkpoint("Invoice"));
/// assert!(!config.should_checkpoint("deliverable"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutonomyConfig {
    pub level: AutonomyLevel,
    pub checkpoint_types: BTreeSet<String>,
}

impl Default for AutonomyConfig {
    fn default() -> AutonomyConfig {
        let types = Policy::builtin(Scope::Worker).checkpoint_types;
        AutonomyConfig { level: AutonomyLevel::default(), checkpoint_types: types.into_iter().collect() }
    }
}

impl AutonomyConfig {
    /// What files and variables say about a worker: its entry, else the default of all (C2).
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use checkrein_core::config::{NamedBy, Settings, Tenant};
    /// use checkrein_core::document::{Document, Format};
    /// use checkrein_core::policy::Reading;
    /// use checkrein_engine::worker::{AutonomyConfig, AutonomyLevel};
    ///
    /// let yaml = "
    /// workers:
    ///   analyst:
    ///     autonomy: semi_supervised
    ///   researcher:
    ///     autonomy: autonomous
    ///   data_analyst:
    ///     autonomy: semi_supervised
    ///   manager:
    ///     autonomy: manual
    /// ";
    /// let document = Arc::new(Document::parse("tenant.yaml", yaml, Format::Yaml)?);
    /// let (tenant, _) = Tenant::read(&document, Reading::Strict)?;
    /// // As `export DWORKERS_DEFAULT_AUTONOMY=autonomous` would set it.
    /// let environment = vec![("DWORKERS_DEFAULT_AUTONOMY".to_owned(), "autonomous".to_owned())];
    /// let settings = Settings::new(None, None, Some((tenant, NamedBy::Caller)), environment)?;
    ///
    /// let level = |worker| AutonomyConfig::of_worker(worker, &settings).map(|config| config.level);
    /// assert_eq!(level("manager")?, AutonomyLevel::Manual);
    /// assert_eq!(level("analyst")?, AutonomyLevel::SemiSupervised);
    /// assert_eq!(level("somebody else")?, AutonomyLevel::Autonomous);
    ///
    /// let nothing_set = Settings::new(None, None, None, vec![])?;
    /// let config = AutonomyConfig::of_worker("analyst", &nothing_set)?;
    /// assert_eq!(config, AutonomyConfig::default());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A policy that says more than a level can is refused rather than cut down to one; ask
    /// [`Engine::create_checkpoint`](crate::Engine::create_checkpoint) there, which knows all of it.
    pub fn of_worker(worker: &str, settings: &Settings) -> Result<AutonomyConfig, CheckpointError> {
        let resolved = settings.resolve(Scope::Worker, Subject::Worker(worker), &[]);
        let policy = resolved.map_err(EngineError::from)?.policy;
        let more = || CheckpointError::MoreThanALevel { worker: worker.to_owned() };
        let config = AutonomyConfig {
            level: policy.level.as_deref().and_then(|word| word.parse().ok()).ok_or_else(more)?,
            checkpoint_types: policy.checkpoint_types.iter().cloned().collect(),
        };
        let own = config.policy().map_err(EngineError::from)?;
        let same_gates = policy.overrides.is_empty() && policy.require_approval_for.is_empty();
        let same_holds = own.hold_at.iter().all(|trigger| policy.hold_at.contains(trigger))
            && policy.hold_at.iter().all(|trigger| own.hold_at.contains(trigger));
        if same_gates && same_holds && policy.ask == own.ask { Ok(config) } else { Err(more()) }
    }

    /// Whether a worker with these settings holds at a checkpoint of this type.
    pub fn should_checkpoint(&self, checkpoint_type: &str) -> bool {
        // What cannot be judged is looked at by a person.
        let Ok(policy) = self.policy() else { return true };
        let boundary = Boundary { kind: checkpoint_type.to_owned().into(), ..Boundary::default() };
        decide(&policy, &Situation::at(&boundary)).outcome > Outcome::Proceed
    }

    fn policy(&self) -> Result<Policy, Problems> {
        let block = Block {
            level: Setting::Set(self.level.value().to_owned()),
            checkpoint_types: Setting::Set(self.checkpoint_types.iter().cloned().collect()),
            ..Block::default()
        };
        let layer = Layer { rank: LayerRank::Start, origin: Origin::named("AutonomyConfig"), block };
        Ok(Resolution::resolve(Scope::Worker, [&layer], Classifier::builtin(), Reading::Strict)?.policy)
    }
}

/// Whether a worker of this level holds at a checkpoint of this type, with the types of
/// [`AutonomyConfig::default`].
///
/// ```
/// use checkrein_engine::worker::{AutonomyLevel, should_checkpoint};
///
/// // Manual: always
/// assert!(should_checkpoint(AutonomyLevel::Manual, "anything"));
///
/// // Semi-supervised: only certain types
/// assert!(should_checkpoint(AutonomyLevel::SemiSupervised, "phase_transition"));
/// assert!(should_checkpoint(AutonomyLevel::SemiSupervised, "deliverable"));
/// assert!(!should_checkpoint(AutonomyLevel::SemiSupervised, "intermediate"));
///
/// // Autonomous: never
/// assert!(!should_checkpoint(AutonomyLevel::Autonomous, "deliverable"));
/// ```
pub fn should_checkpoint(level: AutonomyLevel, checkpoint_type: &str) -> bool {
    AutonomyConfig { level, ..AutonomyConfig::default() }.should_checkpoint(checkpoint_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variable: &str) -> Settings {
        let environment = vec![("CHECKREIN_WORKER_AUTONOMY".to_owned(), variable.to_owned())];
        Settings::new(None, None, None, environment).unwrap()
    }

    #[test]
    fn a_policy_that_says_more_than_a_level_is_not_cut_down() {
        for (variable, expected) in [
            ("manual", "manual"),
            (r#"{"level": "semi_supervised", "checkpoint_types": ["invoice"]}"#, "semi_supervised"),
            (r#"{"level": "autonomous", "hold_at": [{"on": "deliverable"}]}"#, "refused"),
            (r#"{"level": "custom", "hold_at": [{"on": "deliverable"}]}"#, "refused"),
            (r#"{"level": "autonomous", "require_approval_for": ["release"]}"#, "refused"),
        ] {
            let actual = match AutonomyConfig::of_worker("w", &settings(variable)) {
                Ok(config) => config.level.value(),
                Err(CheckpointError::MoreThanALevel { .. }) => "refused",
                Err(error) => panic!("{variable}: {error}"),
            };
            assert_eq!(actual, expected, "{variable}");
        }
    }

    #[test]
    fn a_misspelt_level_is_refused_with_the_words_there_are() {
        let error = AutonomyConfig::of_worker("w", &settings("manuel")).unwrap_err().to_string();
        for word in ["CHECKREIN_WORKER_AUTONOMY", "manuel", "manual", "semi_supervised", "autonomous"] {
            assert!(error.contains(word), "{error}");
        }
    }
}
