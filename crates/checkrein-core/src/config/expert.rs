//! Experts: reusable job configurations, built in or in a file, each extending another.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::agent::empty_agent;
use super::idle::{no_variables, nothing_allowed};
use super::owner::Owner;
use crate::document::{Document, Gravity, Problem, Problems, closest, decode, listed};
use crate::duration;
use crate::label::Label;
use crate::policy::{Autonomy, Block, Layer, LayerRank, Origin, Reading, Scope, Setting};
use crate::run::job::{self, Merge};

/// An expert with everything it extends, the root first.
#[derive(Clone, Debug)]
pub struct Expert {
    pub name: String,
    pub description: Option<String>,
    chain: Vec<Link>,
}

#[derive(Clone, Debug)]
enum Link {
    Builtin(&'static BuiltinExpert),
    File(Box<ExpertFile>),
}

/// An expert file that was read.
#[derive(Clone, Debug)]
pub struct ExpertFile {
    pub document: Arc<Document>,
    owner: Owner,
    pub shape: ExpertShape,
}

/// A reusable job configuration. `null` forgets what was said by the expert it extends, and in an override by the
/// expert itself.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "expert file")]
pub struct ExpertShape {
    /// The expert this one starts from; none is the framework's default.
    #[serde(rename = "$extends")]
    pub extends: Option<String>,
    pub description: Option<String>,
    /// The policy of this expert's jobs.
    pub autonomy: Setting<Autonomy>,
    /// What the agent is told about how to work.
    pub instructions: Setting<String>,
    /// The command that does the work, with its brief on standard input.
    pub agent: Setting<String>,
    /// How a phase becomes part of the job's main branch: squash, merge or rebase.
    pub merge: Setting<Merge>,
    /// How long one attempt may take, such as `2h`.
    pub timeout: Setting<String>,
    /// How long an attempt may be silent.
    pub idle_timeout: Setting<String>,
    /// Variables that are handed to the agent beside those every program needs.
    pub environment: Setting<Vec<String>>,
    /// What the clone an attempt works in may grow to.
    pub disk_bytes: Setting<u64>,
    /// What the processes of an attempt may use in the sandbox; 8 GiB by default.
    pub memory_bytes: Setting<std::num::NonZeroU64>,
    /// How many processes and threads an attempt may have in the sandbox; 4096 by default.
    pub processes: Setting<std::num::NonZeroU64>,
    /// Whether the agent's processes see neither the store nor credentials.
    pub sandbox: Setting<bool>,
    /// Labels a worker must have to take up such a job; added to those of what it extends.
    pub requires: Setting<Vec<Label>>,
}

/// How jobs are done, with everything an expert extends and an override on top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobSettings {
    pub instructions: Option<String>,
    pub agent: Option<String>,
    pub merge: Merge,
    pub timeout: Option<Duration>,
    pub idle_timeout: Option<Duration>,
    pub environment: Vec<String>,
    pub disk_bytes: u64,
    pub memory_bytes: u64,
    pub processes: u64,
    pub sandbox: bool,
    pub requires: Vec<Label>,
}

/// Of one attempt, where nobody says anything else.
const TIMEOUT: Duration = Duration::from_secs(2 * 60 * 60);
const IDLE_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const DISK_BYTES: u64 = 10 << 30;

impl JobSettings {
    /// What shapes say, weakest first.
    fn of<'s>(shapes: impl IntoIterator<Item = &'s ExpertShape>) -> JobSettings {
        let default = JobSettings {
            timeout: Some(TIMEOUT),
            idle_timeout: Some(IDLE_TIMEOUT),
            disk_bytes: DISK_BYTES,
            memory_bytes: job::memory_bytes(),
            processes: job::processes(),
            ..JobSettings::default()
        };
        let mut settings = default.clone();
        for shape in shapes {
            let time = |said: &Setting<String>, before: Option<Duration>, default| match said {
                Setting::Absent => before,
                Setting::Clear => default,
                Setting::Set(text) if text == "none" => None,
                Setting::Set(text) => duration::parse(text).or(before),
            };
            settings.timeout = time(&shape.timeout, settings.timeout, default.timeout);
            settings.idle_timeout = time(&shape.idle_timeout, settings.idle_timeout, default.idle_timeout);
            settings.instructions = overlay(&shape.instructions, settings.instructions, None, Some);
            settings.agent = overlay(&shape.agent, settings.agent, None, Some);
            settings.merge = overlay(&shape.merge, settings.merge, default.merge, |merge| merge);
            settings.disk_bytes = overlay(&shape.disk_bytes, settings.disk_bytes, DISK_BYTES, |bytes| bytes);
            settings.memory_bytes =
                overlay(&shape.memory_bytes, settings.memory_bytes, default.memory_bytes, Into::into);
            settings.processes = overlay(&shape.processes, settings.processes, default.processes, Into::into);
            settings.sandbox = overlay(&shape.sandbox, settings.sandbox, false, |sandbox| sandbox);
            settings.environment =
                overlay(&shape.environment, settings.environment, Vec::new(), |names| names);
            let before = settings.requires.clone();
            settings.requires = overlay(&shape.requires, before.clone(), Vec::new(), |labels| {
                let more = labels.into_iter().filter(|label| !before.contains(label));
                before.iter().cloned().chain(more).collect()
            });
        }
        settings
    }
}

/// What holds after one more said something: `null` goes back to the default.
fn overlay<T: Clone, U>(said: &Setting<T>, before: U, default: U, set: impl FnOnce(T) -> U) -> U {
    match said {
        Setting::Absent => before,
        Setting::Clear => default,
        Setting::Set(value) => set(value.clone()),
    }
}

#[derive(Debug)]
pub struct BuiltinExpert {
    pub name: &'static str,
    pub level: &'static str,
    pub description: &'static str,
}

#[rustfmt::skip]
pub static BUILTIN_EXPERTS: &[BuiltinExpert] = &[
    BuiltinExpert { name: "coder",      level: "partial", description: "writes code; the plan and the result are reviewed" },
    BuiltinExpert { name: "debugger",   level: "full",    description: "finds and mends a fault on its own" },
    BuiltinExpert { name: "researcher", level: "partial", description: "researches; the plan and the result are reviewed" },
    BuiltinExpert { name: "validator",  level: "review",  description: "checks work and hands in a report" },
    BuiltinExpert { name: "writer",     level: "partial", description: "writes prose; the outline and the result are reviewed" },
];

/// What `$extends: defaults` names: nothing but the framework's own defaults.
const DEFAULTS: &str = "defaults";

impl ExpertFile {
    pub fn read(document: &Arc<Document>, owner: Owner) -> Result<(ExpertFile, Problems), Problems> {
        let (shape, mut problems) = decode::<ExpertShape>(document, Gravity::Error)?;
        problems.extend(times(document, &shape));
        let environment = shape.environment.set().map(Vec::as_slice).unwrap_or_default();
        problems.extend(no_variables(document, &["environment"], environment));
        problems.extend(nothing_allowed(document, &["disk_bytes"], shape.disk_bytes.set().copied()));
        problems.extend(empty_agent(document, &["agent"], shape.agent.set()));
        let file = ExpertFile { document: Arc::clone(document), owner, shape };
        if let Some(layer) = file.layer() {
            // Words are judged when its policy is resolved; what no command coerces is refused here.
            problems.extend(layer.unknown(Scope::Job, Reading::Coercing).errors());
        }
        if owner == Owner::Project {
            problems.extend(file.of_user_alone());
        }
        problems.refuse_or(file)
    }

    /// What this file alone says about its jobs' policy.
    pub fn layer(&self) -> Option<Layer> {
        let block = match &self.shape.autonomy {
            Setting::Absent => return None,
            Setting::Clear => Block::cleared(),
            Setting::Set(autonomy) => Block::of(autonomy.clone()),
        };
        let origin = Origin::within(&self.document, &["autonomy"]);
        Some(Layer { rank: LayerRank::Definition, origin, block })
    }
}

impl Expert {
    /// Finds `name` and all it extends. A file of the same name goes before a built-in one, and may
    /// extend it. `file` finds an expert's file, `known` names all there are.
    pub fn find(
        name: &str,
        mut file: impl FnMut(&str) -> Result<Option<ExpertFile>, Problems>,
        known: &[String],
    ) -> Result<Expert, Problems> {
        let mut chain = Vec::new();
        let mut seen: Vec<String> = Vec::new();
        let mut next = Some((name.to_owned(), None::<Arc<Document>>));
        while let Some((wanted, asked_by)) = next.take() {
            let refuse = |message: String, hint: Option<String>| {
                let source = asked_by.as_ref().map_or("--expert", |document| document.name.as_str());
                let mut problem = Problem::error(source, message);
                if let Some(document) = &asked_by {
                    problem = problem.at(Some(document.position(&["$extends"]))).path("$extends");
                }
                problem.hint = hint;
                Problems::from(problem)
            };
            // A file that extends its own name means the built-in expert of that name.
            let again = seen.contains(&wanted);
            let found = if again { None } else { file(&wanted)? };
            match (found, BUILTIN_EXPERTS.iter().find(|expert| expert.name == wanted)) {
                (Some(found), _) => {
                    let extends = found.shape.extends.clone().filter(|parent| parent != DEFAULTS);
                    next = extends.map(|parent| (parent, Some(Arc::clone(&found.document))));
                    chain.push(Link::File(Box::new(found)));
                }
                (None, Some(builtin)) => chain.push(Link::Builtin(builtin)),
                (None, None) if again => {
                    seen.push(wanted);
                    return Err(refuse(
                        format!("experts extend each other in a circle: {}", seen.join(" → ")),
                        None,
                    ));
                }
                (None, None) => {
                    let builtin = || BUILTIN_EXPERTS.iter().map(|expert| expert.name);
                    let own = || known.iter().map(String::as_str);
                    let names =
                        || builtin().chain(own().filter(|name| builtin().all(|known| known != *name)));
                    let hint = match closest(&wanted, names()) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => format!("known experts: {}", listed(names())),
                    };
                    return Err(refuse(format!("unknown expert `{wanted}`"), Some(hint)));
                }
            }
            seen.push(wanted);
        }
        let description = chain.iter().find_map(|link| match link {
            Link::Builtin(builtin) => Some(builtin.description.to_owned()),
            Link::File(file) => file.shape.description.clone(),
        });
        chain.reverse();
        Ok(Expert { name: name.to_owned(), description, chain })
    }

    /// How its jobs are done; an override is an expert of one job.
    pub fn job_settings(expert: Option<&Expert>, over: Option<&ExpertFile>) -> JobSettings {
        let chain = expert.iter().flat_map(|expert| &expert.chain).filter_map(|link| match link {
            Link::Builtin(_) => None,
            Link::File(file) => Some(&file.shape),
        });
        JobSettings::of(chain.chain(over.map(|over| &over.shape)))
    }

    /// The agent it names, where a project's file does. Such a name stands for an agent the user knows, never for
    /// a command.
    pub fn agent_of_project(&self) -> Option<(&ExpertFile, &str)> {
        let named = self.chain.iter().rev().find_map(|link| match link {
            Link::File(file) if !file.shape.agent.is_absent() => Some(file),
            Link::File(_) | Link::Builtin(_) => None,
        });
        let file = named.filter(|file| file.owner == Owner::Project)?;
        Some((&**file, file.shape.agent.set()?.as_str()))
    }

    /// What it extends, nearest first.
    pub fn extends(&self) -> Vec<String> {
        let name = |link: &Link| match link {
            Link::Builtin(builtin) => builtin.name.to_owned(),
            Link::File(file) => file.document.name.clone(),
        };
        self.chain.iter().rev().skip(1).map(name).collect()
    }

    pub fn layers(&self) -> Vec<Layer> {
        let layer = |link: &Link| match link {
            Link::Builtin(builtin) => Some(Layer {
                rank: LayerRank::Definition,
                origin: Origin::named(format!("expert `{}`", builtin.name)),
                block: Block::of(Autonomy::Text(builtin.level.to_owned())),
            }),
            Link::File(file) => file.layer(),
        };
        self.chain.iter().filter_map(layer).collect()
    }
}

/// Times that are none.
fn times(document: &Document, shape: &ExpertShape) -> Problems {
    let mut problems = Problems::default();
    for (name, said) in [("timeout", &shape.timeout), ("idle_timeout", &shape.idle_timeout)] {
        if let Some(text) = said.set().filter(|text| *text != "none" && duration::parse(text).is_none()) {
            let message = format!("expected a time such as `90s` or `2h`, or `none`, found `{text}`");
            problems.push(document.problem(Gravity::Error, &[name], message));
        }
    }
    problems
}
