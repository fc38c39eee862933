//! How far an agent's processes are kept from everything else.

use std::ffi::OsString;
use std::path::PathBuf;

use checkrein_core::config::{SandboxRule, Settings};
use checkrein_core::run::job::{Isolation, JobDefinition};

use super::hand_in::{exchange, out};
use super::place::{JobPlace, unusable};
use crate::process::{
    Limits, ProcessError, Sandbox, default_masks, default_readable, sandbox_available, this_program,
};
use crate::{Engine, EngineError};

/// Where somebody gave a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenFrom {
    /// On this machine, by whoever may use its store.
    Here,
    /// Over HTTP.
    Http,
}

/// How the agent of a new job is isolated. `asked` is whether the job itself asks for the sandbox. A job over
/// HTTP gets the sandbox unless the settings of this machine's user switch it off.
pub(crate) fn choose_isolation(
    settings: &Settings,
    from: GivenFrom,
    asked: bool,
) -> Result<Isolation, EngineError> {
    let required = match (settings.sandbox(), from) {
        (Some(SandboxRule::On), _) | (None, GivenFrom::Http) => true,
        (Some(SandboxRule::Off), _) | (None, GivenFrom::Here) => false,
    };
    let isolation = if required || asked { Isolation::Sandbox } else { Isolation::None };
    match check(isolation) {
        Err(EngineError::NoSandbox(reason)) if required && from == GivenFrom::Http => {
            Err(EngineError::SandboxMissing(reason))
        }
        checked => checked.map(|()| isolation),
    }
}

/// Whether jobs can be done in a sandbox here; said before one is given.
fn check(isolation: Isolation) -> Result<(), EngineError> {
    match isolation {
        Isolation::None => Ok(()),
        Isolation::Sandbox => match sandbox_available(&this_program()) {
            Ok(_) => Ok(()),
            Err(ProcessError::NoSandbox { reason }) => Err(EngineError::NoSandbox(reason)),
            Err(error) => Err(error.into()),
        },
    }
}

/// The command of an agent as it is started; `named` is a text that names files it needs.
pub(super) fn isolated(
    definition: &JobDefinition,
    (argv, named): (Vec<OsString>, &str),
    engine: &Engine,
    place: &JobPlace,
    start: u64,
) -> Result<Vec<OsString>, EngineError> {
    if definition.isolation == Isolation::None {
        return Ok(argv);
    }
    // Only the way to the job may have links in it: what is below, agents have been at.
    let job = place.directory.canonicalize().map_err(|error| unusable(&place.directory, &error))?;
    let own = JobPlace { directory: job };
    let set = |name: &str| variable(&engine.settings, name).map(PathBuf::from);
    let home = set("HOME").unwrap_or_else(|| PathBuf::from("/"));
    let store = engine.store.directory().to_owned();
    let settings = set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("checkrein");
    let mut others = vec![settings];
    others.extend(set(checkrein_core::config::env::CONFIG));
    // Files the command names must be found again, also below what is masked.
    let named = named.split_whitespace().map(|word| PathBuf::from(word.trim_matches(['\'', '"'])));
    // So must this program, which agents call as `checkrein mcp`.
    let named = named.chain(std::env::current_exe()).filter(|path| path.is_absolute() && path.is_file());
    let readable = default_readable().into_iter().chain(named.filter_map(|path| path.canonicalize().ok()));
    let sandbox = Sandbox {
        writable: vec![own.clone(), own.directory.join(out(start)), own.cache()],
        readable: readable.chain([own.directory.join(exchange(start))]).collect(),
        socketless: set("HOME").into_iter().collect(),
        masked: default_masks(&home, &store, &others, &engine.settings.environment),
        limits: Limits { memory_bytes: definition.memory_bytes, processes: definition.processes },
    };
    Ok(sandbox.wrap(&this_program(), &argv))
}

/// A home that cannot be written to is no place for caches.
pub(super) fn cache(definition: &JobDefinition, place: &JobPlace) -> Option<PathBuf> {
    (definition.isolation == Isolation::Sandbox).then(|| place.cache())
}

fn variable<'s>(settings: &'s Settings, name: &str) -> Option<&'s String> {
    let found = settings.environment.iter().find(|(known, value)| known == name && !value.is_empty());
    found.map(|(_, value)| value)
}
