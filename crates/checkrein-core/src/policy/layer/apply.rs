//! One layer on its way into a resolution: every setting a level does not speak about.

use super::governed::{Governed, Place};
use super::{Layer, LayerRank, Resolution, Source};
use crate::document::{Gravity, Problem};
use crate::policy::block::{AtLeastOne, Block, BudgetBlock, LimitsBlock, OverrideBlock};
use crate::policy::{
    Holds, Level, PathPattern, Policy, ProtectedPaths, Scope, Setting, Trigger, checkpoint_triggers,
};

pub(super) struct Applying<'r> {
    pub(super) to: &'r mut Resolution,
    pub(super) layer: &'r Layer,
}

impl Applying<'_> {
    pub(super) fn apply(&mut self) {
        let block = &self.layer.block;
        let mut written = Governed::from(block);
        self.level(Place::Whole, &mut written);
        let types = self.checkpoint_types(block);
        self.governed(Place::Whole, &written, types);
        self.limits(&block.limits);
        self.overrides(block);
        self.gates(block);
        self.rest(block);
    }

    /// The triggers of the checkpoint types, where the level in force holds at them.
    fn checkpoint_types(&mut self, block: &Block) -> Option<Vec<Trigger>> {
        let scope = self.to.policy.scope;
        let field = "checkpoint_types";
        let hold = match &block.checkpoint_types {
            Setting::Absent => false,
            Setting::Clear => {
                self.to.policy.checkpoint_types = Policy::builtin(scope).checkpoint_types;
                self.cleared(field, &[field]);
                matches!(self.holds(), Some(Holds::CheckpointTypes))
            }
            Setting::Set(_) if scope != Scope::Worker => {
                let message = format!("`checkpoint_types` is for workers and does nothing in a {scope}");
                self.say(Gravity::Warning, &[field], message, Some("write `hold_at` instead".into()));
                false
            }
            Setting::Set(types) => {
                self.to.policy.checkpoint_types = types.clone();
                self.source(field, &[field], None);
                matches!(self.holds(), None | Some(Holds::CheckpointTypes | Holds::AsWritten))
            }
        };
        hold.then(|| checkpoint_triggers(&self.to.policy.checkpoint_types))
    }

    /// Where the level in force holds.
    fn holds(&self) -> Option<&'static Holds> {
        let Policy { scope, level, .. } = &self.to.policy;
        Level::find(*scope, level.as_deref()?).map(|level| &level.holds)
    }

    fn limits(&mut self, limits: &Setting<LimitsBlock>) {
        let cleared = LimitsBlock {
            max_total_warnings: Setting::Clear,
            max_total_errors: Setting::Clear,
            on_limit_reached: Setting::Clear,
        };
        let limits = match limits {
            Setting::Absent => return,
            Setting::Clear => &cleared,
            Setting::Set(limits) => limits,
        };
        let builtin = Policy::builtin(self.to.policy.scope).limits;
        let warnings = map(&limits.max_total_warnings, |count| Some(count.0));
        let errors = map(&limits.max_total_errors, |count| Some(count.0));
        self.put("limits.max_total_warnings", &warnings, builtin.max_total_warnings, |p, v| {
            p.limits.max_total_warnings = v
        });
        self.put("limits.max_total_errors", &errors, builtin.max_total_errors, |p, v| {
            p.limits.max_total_errors = v
        });
        self.put("limits.on_limit_reached", &limits.on_limit_reached, builtin.on_limit_reached, |p, v| {
            p.limits.on_limit_reached = v;
        });
    }

    fn overrides(&mut self, block: &Block) {
        match &block.overrides {
            Setting::Absent => {}
            Setting::Clear => {
                self.to.policy.overrides.clear();
                self.to.sources.retain(|field, _| !field.starts_with("overrides."));
            }
            Setting::Set(phases) => {
                for (phase, own) in phases {
                    match own {
                        Setting::Set(written) => {
                            self.phase(phase, &OverrideBlock::of(written.clone()));
                        }
                        Setting::Absent | Setting::Clear => {
                            self.to.policy.overrides.remove(phase);
                            // A phase's name may have dots of its own, a field's has none.
                            let whole = format!("overrides.{phase}");
                            self.to
                                .sources
                                .retain(|key, _| key.rsplit_once('.').is_none_or(|(own, _)| own != whole));
                        }
                    }
                }
            }
        }
    }

    fn phase(&mut self, phase: &str, block: &OverrideBlock) {
        let place = Place::Phase(phase);
        let mut written = Governed::from(block);
        self.level(place, &mut written);
        self.governed(place, &written, None);
        if !block.limits.is_absent() {
            let message = "limits are global and ignored in a phase override".to_owned();
            let hint = "move `limits` up to the autonomy block".to_owned();
            self.say(Gravity::Warning, &place.path("limits"), message, Some(hint));
        }
    }

    /// The list, the sugar for a gate before `release`, and phases that ask for one themselves.
    ///
    /// INVARIANT: `pause_before_release` has a source as long as nothing else gates `release`.
    fn gates(&mut self, block: &Block) {
        let (list, pause) = ("require_approval_for", "pause_before_release");
        if !block.require_approval_for.is_absent() {
            self.put(list, &block.require_approval_for, Vec::new(), |p, value| {
                p.require_approval_for = value
            });
            self.to.sources.retain(|field, _| field != pause && !field.starts_with("require_approval_for."));
        }
        let release = |gate: &String| gate == "release";
        let gated = self.to.policy.require_approval_for.iter().any(release);
        let paused = self.to.sources.contains_key(pause);
        match &block.pause_before_release {
            Setting::Absent => {}
            Setting::Set(true) => {
                if !gated {
                    self.to.policy.require_approval_for.push("release".to_owned());
                }
                if !gated || paused {
                    self.source(list, &[pause], None);
                    self.source(pause, &[pause], None);
                }
            }
            Setting::Set(false) | Setting::Clear => {
                if self.to.sources.remove(pause).is_some() {
                    self.to.policy.require_approval_for.retain(|gate| !release(gate));
                    self.source(list, &[pause], None);
                }
            }
        }
        for phase in &block.gated_phases {
            let name = self.layer.origin.beside(&["phases", phase, "require_approval"]);
            let source = Source { rank: self.layer.rank, name, level: None };
            let gates = &mut self.to.policy.require_approval_for;
            if !gates.contains(phase) {
                // The list belongs to whoever began it; every gate of a phase has a source of its own.
                if gates.is_empty() {
                    self.to.sources.insert(list.to_owned(), source.clone());
                }
                gates.push(phase.clone());
            } else if phase == "release" {
                self.to.sources.remove(pause);
            }
            self.to.sources.insert(format!("{list}.{phase}"), source);
        }
    }

    fn rest(&mut self, block: &Block) {
        let builtin = Policy::builtin(self.to.policy.scope);
        self.put("timeout", &map(&block.timeout, |t| Some(t.0)), builtin.timeout, |p, value| {
            p.timeout = value
        });
        self.put("on_timeout", &block.on_timeout, builtin.on_timeout, |p, value| p.on_timeout = value);
        self.protected_paths(&block.protected_paths);
        self.max_phases(&block.max_phases);
        let cleared = BudgetBlock { tokens: Setting::Clear, cost: Setting::Clear, time: Setting::Clear };
        let budget = match &block.budget {
            Setting::Absent => return,
            Setting::Clear => &cleared,
            Setting::Set(budget) => budget,
        };
        self.put("budget.tokens", &map(&budget.tokens, |v| Some(v.0)), None, |p, v| p.budget.tokens = v);
        self.put("budget.cost", &map(&budget.cost, |v| Some(v.0)), None, |p, v| p.budget.cost = v);
        self.put("budget.time", &map(&budget.time, |v| Some(v.0)), None, |p, v| p.budget.time = v);
    }

    fn max_phases(&mut self, written: &Setting<AtLeastOne>) {
        let (field, scope) = ("max_phases", self.to.policy.scope);
        if written.set().is_some() && scope != Scope::Job {
            let message = format!("`max_phases` is for jobs and does nothing in a {scope}");
            self.say(Gravity::Warning, &[field], message, Some("write it under `autonomy.job`".into()));
            return;
        }
        let builtin = Policy::builtin(scope).max_phases;
        self.put(field, &map(written, |count| count.0), builtin, |p, value| p.max_phases = value);
    }

    /// Everybody may protect more; only the user's own settings may protect less.
    fn protected_paths(&mut self, written: &Setting<ProtectedPaths>) {
        let field = "protected_paths";
        let of_the_user = self.layer.rank == LayerRank::UserConfig;
        match written {
            Setting::Absent => return,
            Setting::Clear => {
                let builtin = Policy::builtin(self.to.policy.scope).protected_paths;
                let least = if of_the_user { builtin } else { self.to.least_protected.clone() };
                self.to.policy.protected_paths = least;
                self.cleared(field, &[field]);
            }
            Setting::Set(ProtectedPaths::Add(patterns)) => {
                let protected = &mut self.to.policy.protected_paths;
                let before = protected.len();
                for PathPattern(pattern) in patterns {
                    if !protected.contains(pattern) {
                        protected.push(pattern.clone());
                    }
                }
                if protected.len() > before {
                    let weaker = self.to.sources.get(field).map(|source| format!("{} and ", source.name));
                    let name = weaker.unwrap_or_default() + &self.layer.origin.named_line(&[field]);
                    let source = Source { rank: self.layer.rank, name, level: None };
                    self.to.sources.insert(field.to_owned(), source);
                }
            }
            Setting::Set(ProtectedPaths::Replace(_)) if !of_the_user => {
                let message = "only your own settings can replace `protected_paths`".to_owned();
                let hint = "write a list to add to it, or move this to your own settings".to_owned();
                self.say(Gravity::Error, &[field, "replace"], message, Some(hint));
                return;
            }
            Setting::Set(ProtectedPaths::Replace(replacement)) => {
                let patterns = replacement.replace.iter().map(|PathPattern(pattern)| pattern.clone());
                self.to.policy.protected_paths = patterns.collect();
                self.source(field, &[field], None);
            }
        }
        if of_the_user {
            self.to.least_protected.clone_from(&self.to.policy.protected_paths);
        }
    }

    fn put<T: Clone>(
        &mut self,
        field: &str,
        setting: &Setting<T>,
        builtin: T,
        write: impl FnOnce(&mut Policy, T),
    ) {
        let path: Vec<&str> = field.split('.').collect();
        match setting {
            Setting::Absent => {}
            Setting::Clear => {
                write(&mut self.to.policy, builtin);
                self.cleared(field, &path);
            }
            Setting::Set(value) => {
                write(&mut self.to.policy, value.clone());
                self.source(field, &path, None);
            }
        }
    }

    pub(super) fn source(&mut self, field: &str, written_at: &[&str], level: Option<&str>) {
        let name = self.layer.origin.named_line(written_at);
        let source = Source { rank: self.layer.rank, name, level: level.map(str::to_owned) };
        self.to.sources.insert(field.to_owned(), source);
    }

    pub(super) fn cleared(&mut self, field: &str, written_at: &[&str]) {
        let name = format!("default, cleared by {}", self.layer.origin.named_line(written_at));
        self.to.sources.insert(field.to_owned(), Source { rank: self.layer.rank, name, level: None });
    }

    pub(super) fn say(&mut self, gravity: Gravity, field: &[&str], message: String, hint: Option<String>) {
        let origin = &self.layer.origin;
        let mut problem = Problem { gravity, ..Problem::error(&origin.name, message) };
        problem = problem.at(origin.position(field)).path(origin.path(field));
        problem.hint = hint;
        self.to.problems.push(problem);
    }
}

fn map<T, U>(setting: &Setting<T>, to: impl FnOnce(&T) -> U) -> Setting<U> {
    match setting {
        Setting::Absent => Setting::Absent,
        Setting::Clear => Setting::Clear,
        Setting::Set(value) => Setting::Set(to(value)),
    }
}
