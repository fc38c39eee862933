//! What an agent does, told line by line on standard output, where the engine hears it.

use std::io::Write;

use checkrein_core::activity::{Activity, Did, Told};
use jiff::Timestamp;

/// Tells, and remembers what it told.
#[derive(Debug, Default)]
pub struct Voice {
    pub told: Told,
    /// What was used by what ended before.
    before: (u64, Option<f64>),
}

impl Voice {
    pub fn tell(&mut self, did: Did) {
        let did = match did {
            Did::Used { tokens, cost } => {
                let (tokens_before, cost_before) = self.before;
                let cost = match (cost_before, cost) {
                    (None, None) => None,
                    (before, now) => Some(before.unwrap_or(0.0) + now.unwrap_or(0.0)),
                };
                Did::Used { tokens: tokens_before.saturating_add(tokens), cost }
            }
            other => other.cut(),
        };
        let activity = Activity { at: Timestamp::now(), did };
        self.told.hear(&activity);
        let line = serde_json::to_string(&activity).unwrap_or_default();
        let mut out = std::io::stdout().lock();
        // Where nobody listens any more, the supervisor ends this soon.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }

    /// From now on what is used comes on top.
    pub fn go_on(&mut self) {
        self.before = (self.told.tokens, self.told.cost);
    }
}
