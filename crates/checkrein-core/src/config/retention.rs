//! How long what is settled is kept (W19). What is open is kept as long as it is open.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::duration::Written;
use crate::policy::Setting;

/// How long what is settled is kept. `null` keeps for ever.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// Checkpoints that were decided, their events and deliverables. 30 days by default; open ones
    /// are never removed.
    checkpoints: Setting<Written>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    For(Duration),
    Forever,
}

impl Retention {
    pub(super) const CHECKPOINTS_DEFAULT: Keep = Keep::For(Duration::from_secs(30 * 24 * 60 * 60));

    /// None where it says nothing.
    pub(super) fn checkpoints(&self) -> Option<Keep> {
        match &self.checkpoints {
            Setting::Absent => None,
            Setting::Clear => Some(Keep::Forever),
            Setting::Set(Written(length)) => Some(Keep::For(*length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::{CheckreinFile, Settings};
    use crate::document::{Document, Format};

    #[test]
    fn the_stronger_file_says_how_long() {
        let days = |days: u64| Keep::For(Duration::from_secs(days * 86_400));
        let file = |text: &str| {
            let document = Document::parse("checkrein.yaml", text, Format::Yaml)?;
            CheckreinFile::read(&Arc::new(document)).map(|(file, _)| file)
        };
        for (user, project, expected) in [
            ("", "", days(30)),
            ("retention: {checkpoints: 7d}", "", days(7)),
            ("retention: {checkpoints: 7d}", "retention: {}", days(7)),
            ("retention: {checkpoints: 7d}", "retention: {checkpoints: 90d}", days(90)),
            ("retention: {checkpoints: 7d}", "retention: {checkpoints: null}", Keep::Forever),
            ("retention: {checkpoints: null}", "", Keep::Forever),
            ("", "retention: {checkpoints: 0s}", days(0)),
        ] {
            let files = (file(user).unwrap(), file(project).unwrap());
            let settings = Settings::new(Some(files.0), Some(files.1), None, Vec::new()).unwrap();
            assert_eq!(settings.keep_checkpoints(), expected, "{user} / {project}");
        }
        for wrong in ["retention: {checkpoints: soon}", "retention: {checkpoint: 7d}", "retention: 7d"] {
            assert!(file(wrong).is_err(), "{wrong}");
        }
    }
}
