//! How far an agent's processes are kept from everything else.

use std::ffi::OsString;
use std::path::PathBuf;

use checkrein_core::config::Settings;
use checkrein_core::run::job::{Isolation, JobDefinition};

use super::place::{JobPlace, unusable};
use crate::process::{
    ProcessError, Sandbox, default_masks, default_readable, sandbox_available, this_program,
};
use crate::{Engine, EngineError};

/// Whether jobs can be done in a sandbox here; said before one is given.
pub(super) fn check(isolation: Isolation) -> Result<(), EngineError> {
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
) -> Result<Vec<OsString>, EngineError> {
    if definition.isolation == Isolation::None {
        return Ok(argv);
    }
    let own = |path: PathBuf| path.canonicalize().map_err(|error| unusable(&path, &error));
    let set = |name: &str| variable(&engine.settings, name).map(PathBuf::from);
    let home = set("HOME").unwrap_or_else(|| PathBuf::from("/"));
    let store = engine.store.directory().to_owned();
    let settings = set("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")).join("checkrein");
    let mut others = vec![settings];
    others.extend(set("XDG_RUNTIME_DIR"));
    others.extend(set(checkrein_core::config::env::CONFIG));
    // Files the command names must be found again, also below what is masked.
    let named = named.split_whitespace().map(|word| PathBuf::from(word.trim_matches(['\'', '"'])));
    // So must this program, which agents call as `checkrein mcp`.
    let named = named.chain(std::env::current_exe()).filter(|path| path.is_absolute() && path.is_file());
    let readable = default_readable().into_iter().chain(named.filter_map(|path| path.canonicalize().ok()));
    let sandbox = Sandbox {
        writable: vec![own(place.clone())?, own(place.exchange())?, own(place.cache())?],
        readable: readable.collect(),
        masked: default_masks(&home, &store, &others),
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
