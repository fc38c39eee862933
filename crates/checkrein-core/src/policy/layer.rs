//! Layers: who contributed what to a policy, weakest first, and where each value came from.
//!
//! Maps merge, lists and scalars replace, null clears. A level expands in the layer that names it:
//! it replaces what weaker layers said about holding, tolerance and asking, and fields of the same
//! or a stronger layer win over it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::block::{Block, BudgetBlock, LimitsBlock, OverrideBlock};
use super::example::ExampleFailure;
use super::migrate::legacy_settings;
use super::{
    Holds, Level, PhaseOverride, Policy, Said, Scope, Setting, TextOr, Trigger, Word, checkpoint_triggers,
};
use crate::classify::Classifier;
use crate::document::{Document, Gravity, Position, Problem, Problems, closest, listed};

/// How strong a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerRank {
    BuiltIn,
    UserConfig,
    ProjectConfig,
    Environment,
    /// The workflow file, the expert or the worker's entry.
    Definition,
    /// Given when the run was started.
    Start,
    /// Made while it runs.
    Change,
}

/// One contributor to a policy.
#[derive(Clone, Debug)]
pub struct Layer {
    pub rank: LayerRank,
    pub origin: Origin,
    pub block: Block,
}

/// Where a block was written, so that a value or a mistake can be traced to its line.
#[derive(Clone, Debug)]
pub struct Origin {
    pub name: String,
    /// The document and the way to the block in it.
    place: Option<(Arc<Document>, Vec<String>)>,
    /// Given in one piece, as an option or a variable is.
    inline: bool,
}

impl Origin {
    pub fn named(name: impl Into<String>) -> Origin {
        Origin { name: name.into(), place: None, inline: true }
    }

    pub fn within(document: &Arc<Document>, path: &[&str]) -> Origin {
        let path = path.iter().map(|segment| (*segment).to_owned()).collect();
        Origin { name: document.name.clone(), place: Some((Arc::clone(document), path)), inline: false }
    }

    /// The whole of an option or a variable.
    pub fn inline(document: &Arc<Document>) -> Origin {
        Origin { inline: true, ..Origin::within(document, &[]) }
    }

    fn position(&self, field: &[&str]) -> Option<Position> {
        let (document, base) = self.place.as_ref()?;
        let path: Vec<&str> = base.iter().map(String::as_str).chain(field.iter().copied()).collect();
        Some(document.position(&path))
    }

    fn path(&self, field: &[&str]) -> String {
        let Some((document, base)) = &self.place else { return field.join(".") };
        let path: Vec<&str> = base.iter().map(String::as_str).chain(field.iter().copied()).collect();
        document.path(&path)
    }

    /// `checkrein.yaml:7`, or just the name where a line would say nothing.
    fn named_line(&self, field: &[&str]) -> String {
        match self.position(field) {
            Some(position) if !self.inline => format!("{}:{}", self.name, position.line),
            _ => self.name.clone(),
        }
    }
}

/// Which layer set a value, and through which level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub rank: LayerRank,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.level {
            Some(level) => write!(f, "level `{level}` ({})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A policy, the source of each of its values, and what was odd on the way.
///
/// This is what a started run keeps. A later change is applied on top of it and never reaches back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolution {
    pub policy: Policy,
    pub sources: BTreeMap<String, Source>,
    #[serde(skip)]
    pub problems: Problems,
}

impl Resolution {
    pub fn builtin(scope: Scope) -> Resolution {
        let policy = Policy::builtin(scope);
        let mut resolution = Resolution { policy, sources: BTreeMap::new(), problems: Problems::default() };
        let default = Source { rank: LayerRank::BuiltIn, name: "default".to_owned(), level: None };
        let by_level = Source { level: resolution.policy.level.clone(), ..default.clone() };
        for field in ALL_FIELDS {
            let source = if LEVEL_FIELDS.contains(field) { &by_level } else { &default };
            resolution.sources.insert((*field).to_owned(), source.clone());
        }
        resolution
    }

    /// The built-in default with every layer on top, weakest first; refused if one of them is wrong
    /// or contradicts an example it carries.
    pub fn resolve<'l>(
        scope: Scope,
        layers: impl IntoIterator<Item = &'l Layer>,
        classifier: &Classifier,
    ) -> Result<Resolution, Problems> {
        let (mut resolution, tested) = Resolution::test(scope, layers, classifier)?;
        for failed in tested {
            if let Some(failure) = failed.failure {
                let problem = Problem::error(failed.source, failure.to_string());
                resolution.problems.push(problem.at(failed.position).path(failed.path));
            }
        }
        if resolution.problems.has_errors() { Err(resolution.problems) } else { Ok(resolution) }
    }

    /// The same, with what became of every example instead of a refusal. An example speaks of the
    /// policy as its own layer leaves it.
    pub fn test<'l>(
        scope: Scope,
        layers: impl IntoIterator<Item = &'l Layer>,
        classifier: &Classifier,
    ) -> Result<(Resolution, Vec<Tested>), Problems> {
        let mut resolution = Resolution::builtin(scope);
        let mut tested = Vec::new();
        for layer in layers {
            resolution = resolution.amend(layer)?;
            for (index, example) in layer.block.examples.iter().enumerate() {
                let number = index.to_string();
                let field = ["examples", number.as_str()];
                tested.push(Tested {
                    source: layer.origin.name.clone(),
                    position: layer.origin.position(&field),
                    path: layer.origin.path(&field),
                    name: example.name.clone().unwrap_or_else(|| format!("example {}", index + 1)),
                    failure: example.check(&resolution.policy, classifier).err(),
                });
            }
        }
        Ok((resolution, tested))
    }

    /// The same with one more layer; the original stays as it was.
    pub fn amend(&self, layer: &Layer) -> Result<Resolution, Problems> {
        let mut next = self.clone();
        Applying { to: &mut next, layer }.apply();
        if next.problems.has_errors() { Err(next.problems) } else { Ok(next) }
    }
}

/// What became of one example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    pub source: String,
    pub position: Option<Position>,
    pub path: String,
    pub name: String,
    pub failure: Option<ExampleFailure>,
}

const ALL_FIELDS: &[&str] = &[
    "level",
    "hold_at",
    "check_in_frequency",
    "checkpoint_types",
    "warning_tolerance",
    "error_tolerance",
    "limits.max_total_warnings",
    "limits.max_total_errors",
    "limits.on_limit_reached",
    "require_approval_for",
    "ask",
    "timeout",
    "on_timeout",
    "protected_paths",
    "budget.tokens",
    "budget.cost",
    "budget.time",
];

/// What a level speaks about.
const LEVEL_FIELDS: &[&str] =
    &["hold_at", "check_in_frequency", "warning_tolerance", "error_tolerance", "ask"];

/// One layer on its way into a resolution.
struct Applying<'r> {
    to: &'r mut Resolution,
    layer: &'r Layer,
}

impl Applying<'_> {
    fn apply(&mut self) {
        let mut block = Cow::Borrowed(&self.layer.block);
        match &self.layer.block.level {
            Setting::Absent => {}
            Setting::Clear => self.clear_level(),
            Setting::Set(name) => {
                // Elsewhere checkpoint types do nothing, so they do not say where to hold either.
                let types_hold = self.to.policy.scope == Scope::Worker;
                let writes_holds = block.check_in_frequency.set().is_some()
                    || block.hold_at.set().is_some()
                    || (types_hold && block.checkpoint_types.set().is_some());
                match self.level(name, block.check_in_frequency.set().is_some(), &["level"]) {
                    Named::Level(level) => {
                        self.expand(level, writes_holds);
                        block.to_mut().leave_to_level();
                    }
                    Named::Ignored => self.clear_level(),
                    Named::Refused => {}
                }
            }
        }
        let block = &*block;
        self.holds(block);
        self.tolerances(block);
        self.limits(&block.limits);
        self.overrides(block);
        self.gates(block);
        self.rest(block);
    }

    /// What a level's name stands for in this scope (W8, X1, C2, L3).
    fn level(&mut self, name: &str, with_frequency: bool, field: &[&str]) -> Named {
        let scope = self.to.policy.scope;
        match Level::find(scope, name) {
            Some(level) if level.deprecated => {
                let ignored = with_frequency;
                self.deprecated(level, ignored, field);
                if ignored { Named::Ignored } else { Named::Level(level) }
            }
            Some(level) => Named::Level(level),
            None => {
                let names = || Level::of(scope).map(|level| level.name);
                let mut message = format!("unknown {scope} level `{name}`");
                let mut hint = format!("valid levels: {}", listed(names()));
                if let Some(near) = closest(name, names()) {
                    hint = format!("did you mean `{near}`? {hint}");
                } else if let Some(other) = Level::scope_of(name) {
                    hint = format!("`{name}` is a {other} level; {hint}");
                }
                if scope != Scope::Workflow {
                    self.say(Gravity::Error, field, message, Some(hint));
                    return Named::Refused;
                }
                if with_frequency {
                    self.say(Gravity::Warning, field, format!("{message}, ignored"), Some(hint));
                    return Named::Ignored;
                }
                message.push_str(", using `guarded`");
                self.say(Gravity::Warning, field, message, Some(hint));
                Level::find(scope, "guarded").map_or(Named::Refused, Named::Level)
            }
        }
    }

    fn deprecated(&mut self, level: &Level, ignored: bool, field: &[&str]) {
        let name = level.name;
        if ignored {
            let message = format!("level `{name}` is ignored because `check_in_frequency` is set");
            self.say(Gravity::Notice, field, message, None);
        } else {
            let message = format!("Migrating legacy autonomy level '{name}' to new model");
            self.say(Gravity::Notice, field, message, None);
        }
        let mut message =
            format!("autonomy level `{name}` is deprecated, its support ends after two major versions");
        if name == "dry-run" {
            message.push_str("; it asks after every step but does not prevent writes");
        }
        let hint = if ignored {
            "remove `level`".to_owned()
        } else {
            let settings = legacy_settings(name).into_iter().flatten();
            let instead: Vec<String> = settings.map(|(key, value)| format!("{key}: {value}")).collect();
            format!("write `{}` instead, in a file by `checkrein policy migrate FILE`", instead.join(", "))
        };
        self.say(Gravity::Notice, field, message, Some(hint));
    }

    fn expand(&mut self, level: &'static Level, writes_holds: bool) {
        if matches!(level.holds, Holds::AsWritten) && !writes_holds {
            return self.needs_holds(&["level"]);
        }
        self.to.policy.level = Some(level.name.to_owned());
        self.source("level", &["level"], None);
        let (hold_at, frequency) = match &level.holds {
            Holds::At(triggers) => (triggers.to_vec(), None),
            Holds::CheckpointTypes => (checkpoint_triggers(&self.to.policy.checkpoint_types), None),
            Holds::CheckIns(frequency) => (frequency.trigger().into_iter().collect(), Some(*frequency)),
            Holds::AsWritten => (Vec::new(), None),
        };
        self.to.policy.hold_at = hold_at;
        self.to.policy.check_in_frequency = frequency.map(Said::from);
        self.to.policy.ask = level.ask;
        for field in ["hold_at", "check_in_frequency", "ask"] {
            self.source(field, &["level"], Some(level.name));
        }
        if let Some((warning, error)) = level.tolerance {
            self.to.policy.tolerance.warning = warning.into();
            self.to.policy.tolerance.error = error.into();
            self.source("warning_tolerance", &["level"], Some(level.name));
            self.source("error_tolerance", &["level"], Some(level.name));
        }
    }

    /// A level that holds as written, and nothing is written.
    fn needs_holds(&mut self, field: &[&str]) {
        let hint = "write `hold_at: []` to hold nowhere".to_owned();
        self.say(Gravity::Error, field, "level `custom` needs `hold_at`".into(), Some(hint));
    }

    /// Forgets the level of weaker layers and what came with it.
    fn clear_level(&mut self) {
        let builtin = Policy::builtin(self.to.policy.scope);
        let by_level =
            |to: &Resolution, field: &str| to.sources.get(field).is_some_and(|source| source.level.is_some());
        let policy = &mut self.to.policy;
        policy.level = builtin.level;
        let fields: Vec<&str> =
            LEVEL_FIELDS.iter().copied().filter(|field| by_level(self.to, field)).collect();
        let policy = &mut self.to.policy;
        for field in &fields {
            match *field {
                // The default level holds at the types in force, which may not be the default ones.
                "hold_at" if policy.scope == Scope::Worker => {
                    policy.hold_at = checkpoint_triggers(&policy.checkpoint_types);
                }
                "hold_at" => policy.hold_at = builtin.hold_at.clone(),
                "check_in_frequency" => policy.check_in_frequency = builtin.check_in_frequency.clone(),
                "warning_tolerance" => policy.tolerance.warning = builtin.tolerance.warning.clone(),
                "error_tolerance" => policy.tolerance.error = builtin.tolerance.error.clone(),
                _ => policy.ask = builtin.ask,
            }
        }
        for field in fields.into_iter().chain(["level"]) {
            self.cleared(field, &["level"]);
        }
    }

    /// `hold_at`, and the two kinds of sugar for it. Written together they add up.
    fn holds(&mut self, block: &Block) {
        let scope = self.to.policy.scope;
        let builtin = Policy::builtin(scope);
        let mut written: Option<Vec<Trigger>> = None;
        let mut add = |triggers: Vec<Trigger>| written.get_or_insert_default().extend(triggers);

        if let Setting::Set(triggers) = &block.hold_at {
            add(triggers.clone());
        }
        let mut frequency = None;
        if let Setting::Set(said) = &block.check_in_frequency {
            add(said.meaning.trigger().into_iter().collect());
            frequency = Some(said.clone());
        }
        let mut types_hold = false;
        match &block.checkpoint_types {
            Setting::Absent => {}
            Setting::Clear => {
                self.to.policy.checkpoint_types = builtin.checkpoint_types.clone();
                self.cleared("checkpoint_types", &["checkpoint_types"]);
                types_hold = self.to.policy.level.as_deref() == Some("semi_supervised");
            }
            Setting::Set(_) if scope != Scope::Worker => {
                let message = format!("`checkpoint_types` is for workers and does nothing in a {scope}");
                self.say(
                    Gravity::Warning,
                    &["checkpoint_types"],
                    message,
                    Some("write `hold_at` instead".into()),
                );
            }
            Setting::Set(types) => {
                self.to.policy.checkpoint_types = types.clone();
                self.source("checkpoint_types", &["checkpoint_types"], None);
                types_hold =
                    matches!(self.to.policy.level.as_deref(), None | Some("semi_supervised" | "custom"));
            }
        }
        if types_hold {
            add(checkpoint_triggers(&self.to.policy.checkpoint_types));
        }

        if let Some(triggers) = written {
            let field = if block.hold_at.set().is_some() {
                "hold_at"
            } else if frequency.is_some() {
                "check_in_frequency"
            } else {
                "checkpoint_types"
            };
            self.to.policy.hold_at = triggers;
            self.to.policy.check_in_frequency = frequency.clone();
            self.source("hold_at", &[field], None);
            self.source("check_in_frequency", &[field], None);
        } else if matches!(block.hold_at, Setting::Clear)
            || matches!(block.check_in_frequency, Setting::Clear)
        {
            self.to.policy.hold_at = builtin.hold_at;
            self.to.policy.check_in_frequency = builtin.check_in_frequency;
            let field =
                if matches!(block.hold_at, Setting::Clear) { "hold_at" } else { "check_in_frequency" };
            self.cleared("hold_at", &[field]);
            self.cleared("check_in_frequency", &[field]);
        }
        if let Some(said) = frequency {
            self.check_word(&said, &["check_in_frequency"]);
        }
    }

    fn tolerances(&mut self, block: &Block) {
        let builtin = Policy::builtin(self.to.policy.scope).tolerance;
        self.put("warning_tolerance", &block.warning_tolerance, builtin.warning, |p, value| {
            p.tolerance.warning = value
        });
        self.put("error_tolerance", &block.error_tolerance, builtin.error, |p, value| {
            p.tolerance.error = value
        });
        for (name, setting) in
            [("warning_tolerance", &block.warning_tolerance), ("error_tolerance", &block.error_tolerance)]
        {
            if let Setting::Set(said) = setting {
                self.check_word(said, &[name]);
            }
        }
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
                        Setting::Set(written) => self.phase_override(phase, written),
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

    fn phase_override(&mut self, phase: &str, written: &TextOr<OverrideBlock>) {
        let at = |field: &'static str| ["overrides".to_owned(), phase.to_owned(), field.to_owned()];
        let mut written = OverrideBlock::of(written.clone());
        let mut own = self.to.policy.overrides.get(phase).cloned().unwrap_or_default();
        let mut set: Vec<(&'static str, Option<&'static str>)> = Vec::new();

        match &written.level {
            Setting::Absent => {}
            Setting::Clear => self.clear_override_level(phase, &mut own),
            Setting::Set(name) => {
                let path = at("level");
                let with_frequency = written.check_in_frequency.set().is_some();
                match self.level(name, with_frequency, &refs(&path)) {
                    Named::Level(level) => {
                        let writes_holds = with_frequency || written.hold_at.set().is_some();
                        if matches!(level.holds, Holds::AsWritten) && !writes_holds {
                            self.needs_holds(&refs(&path));
                        }
                        let fields = expand_override(level, &self.to.policy.checkpoint_types, &mut own);
                        set.extend(fields.iter().map(|field| (*field, Some(level.name))));
                        written.leave_to_level();
                    }
                    Named::Ignored => self.clear_override_level(phase, &mut own),
                    Named::Refused => {}
                }
            }
        }
        if !written.check_in_frequency.is_absent() || !written.hold_at.is_absent() {
            let mut triggers: Option<Vec<Trigger>> = written.hold_at.set().cloned();
            own.check_in_frequency = written.check_in_frequency.set().cloned();
            if let Some(said) = &own.check_in_frequency {
                triggers.get_or_insert_default().extend(said.meaning.trigger());
            }
            own.hold_at = triggers;
            set.extend([("hold_at", None), ("check_in_frequency", None)]);
        }
        let mut tolerance = |field: &'static str, from: &Setting<Said<_>>, to: &mut Option<Said<_>>| {
            if !from.is_absent() {
                *to = from.set().cloned();
                set.push((field, None));
            }
        };
        tolerance("warning_tolerance", &written.warning_tolerance, &mut own.warning_tolerance);
        tolerance("error_tolerance", &written.error_tolerance, &mut own.error_tolerance);
        if !written.ask.is_absent() {
            own.ask = written.ask.set().copied();
            set.push(("ask", None));
        }

        for (field, level) in set {
            let path = at(if level.is_some() { "level" } else { field });
            self.source(&format!("overrides.{phase}.{field}"), &refs(&path), level);
        }
        if let Setting::Set(said) = &written.check_in_frequency {
            self.check_word(said, &refs(&at("check_in_frequency")));
        }
        for (field, setting) in
            [("warning_tolerance", &written.warning_tolerance), ("error_tolerance", &written.error_tolerance)]
        {
            if let Setting::Set(said) = setting {
                self.check_word(said, &refs(&at(field)));
            }
        }
        if !written.limits.is_absent() {
            let message = "limits are global and ignored in a phase override".to_owned();
            let hint = "move `limits` up to the autonomy block".to_owned();
            self.say(Gravity::Warning, &refs(&at("limits")), message, Some(hint));
        }
        self.to.policy.overrides.insert(phase.to_owned(), own);
    }

    /// Forgets the level weaker layers gave this phase and what came with it.
    fn clear_override_level(&mut self, phase: &str, own: &mut PhaseOverride) {
        for field in LEVEL_FIELDS {
            let key = format!("overrides.{phase}.{field}");
            if self.to.sources.get(&key).is_none_or(|source| source.level.is_none()) {
                continue;
            }
            match *field {
                "hold_at" => own.hold_at = None,
                "check_in_frequency" => own.check_in_frequency = None,
                "warning_tolerance" => own.warning_tolerance = None,
                "error_tolerance" => own.error_tolerance = None,
                _ => own.ask = None,
            }
            self.to.sources.remove(&key);
        }
    }

    fn gates(&mut self, block: &Block) {
        let field = "require_approval_for";
        self.put(field, &block.require_approval_for, Vec::new(), |p, value| p.require_approval_for = value);
        let release = (block.pause_before_release.set() == Some(&true)).then_some("release");
        for phase in release.into_iter().chain(block.more_gates.iter().map(String::as_str)) {
            let gates = &mut self.to.policy.require_approval_for;
            if !gates.iter().any(|gated| gated == phase) {
                gates.push(phase.to_owned());
                self.source(field, &[if release.is_some() { "pause_before_release" } else { field }], None);
            }
        }
    }

    fn rest(&mut self, block: &Block) {
        let builtin = Policy::builtin(self.to.policy.scope);
        self.put("ask", &block.ask, builtin.ask, |p, value| p.ask = value);
        self.put("timeout", &map(&block.timeout, |t| Some(t.0)), builtin.timeout, |p, value| {
            p.timeout = value
        });
        self.put("on_timeout", &block.on_timeout, builtin.on_timeout, |p, value| p.on_timeout = value);
        self.put("protected_paths", &block.protected_paths, builtin.protected_paths, |p, v| {
            p.protected_paths = v
        });
        let cleared = BudgetBlock { tokens: Setting::Clear, cost: Setting::Clear, time: Setting::Clear };
        let budget = match &block.budget {
            Setting::Absent => return,
            Setting::Clear => &cleared,
            Setting::Set(budget) => budget,
        };
        self.put("budget.tokens", &map(&budget.tokens, |v| Some(*v)), None, |p, v| p.budget.tokens = v);
        self.put("budget.cost", &map(&budget.cost, |v| Some(v.0)), None, |p, v| p.budget.cost = v);
        self.put("budget.time", &map(&budget.time, |v| Some(v.0)), None, |p, v| p.budget.time = v);
    }

    fn check_word<T: Word>(&mut self, said: &Said<T>, field: &[&str]) {
        if let Some(word) = &said.unknown {
            let words = || T::WORDS.iter().map(|(name, _)| *name);
            let mut hint = format!("valid values: {}", listed(words()));
            if let Some(near) = closest(word, words()) {
                hint = format!("did you mean `{near}`? {hint}");
            }
            let name = field.last().copied().unwrap_or_default();
            self.say(
                Gravity::Warning,
                field,
                format!("unknown {name} `{word}`, {}", T::UNKNOWN_MEANS),
                Some(hint),
            );
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

    fn source(&mut self, field: &str, written_at: &[&str], level: Option<&str>) {
        let name = self.layer.origin.named_line(written_at);
        let source = Source { rank: self.layer.rank, name, level: level.map(str::to_owned) };
        self.to.sources.insert(field.to_owned(), source);
    }

    fn cleared(&mut self, field: &str, written_at: &[&str]) {
        let name = format!("default, cleared by {}", self.layer.origin.named_line(written_at));
        self.to.sources.insert(field.to_owned(), Source { rank: self.layer.rank, name, level: None });
    }

    fn say(&mut self, gravity: Gravity, field: &[&str], message: String, hint: Option<String>) {
        let origin = &self.layer.origin;
        let mut problem = Problem { gravity, ..Problem::error(&origin.name, message) };
        problem = problem.at(origin.position(field)).path(origin.path(field));
        problem.hint = hint;
        self.to.problems.push(problem);
    }
}

enum Named {
    Level(&'static Level),
    /// W8: a legacy level beside a frequency means nothing.
    Ignored,
    Refused,
}

/// Writes what a level says into an override; the fields it spoke about.
fn expand_override(
    level: &Level,
    checkpoint_types: &[String],
    own: &mut PhaseOverride,
) -> &'static [&'static str] {
    let (hold_at, frequency) = match &level.holds {
        Holds::At(triggers) => (triggers.to_vec(), None),
        Holds::CheckpointTypes => (checkpoint_triggers(checkpoint_types), None),
        Holds::CheckIns(frequency) => (frequency.trigger().into_iter().collect(), Some(*frequency)),
        Holds::AsWritten => (Vec::new(), None),
    };
    own.hold_at = Some(hold_at);
    own.check_in_frequency = frequency.map(Said::from);
    own.ask = Some(level.ask);
    let Some((warning, error)) = level.tolerance else { return &["hold_at", "check_in_frequency", "ask"] };
    own.warning_tolerance = Some(warning.into());
    own.error_tolerance = Some(error.into());
    LEVEL_FIELDS
}

fn map<T, U>(setting: &Setting<T>, to: impl FnOnce(&T) -> U) -> Setting<U> {
    match setting {
        Setting::Absent => Setting::Absent,
        Setting::Clear => Setting::Clear,
        Setting::Set(value) => Setting::Set(to(value)),
    }
}

fn refs(path: &[String; 3]) -> [&str; 3] {
    path.each_ref().map(String::as_str)
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
