//! Every environment variable Checkrein reads as a setting, in one place.

use std::sync::Arc;

use crate::document::{Document, Format, Gravity, Problem, Problems, closest, decode};
use crate::policy::{Autonomy, Block, Layer, LayerRank, Origin, Scope};

pub use crate::frame::{
    FLAME_AUTONOMY_LEVEL, FLAME_ENABLED_HEURISTICS, FLAME_POP_THRESHOLD, FLAME_PUSH_THRESHOLD,
    FLAME_SUGGEST_IN_CONTEXT,
};

/// Policy of every workflow: a level, or a block as JSON.
pub const WORKFLOW_AUTONOMY: &str = "CHECKREIN_WORKFLOW_AUTONOMY";
/// Policy of every worker: a level, or a block as JSON.
pub const WORKER_AUTONOMY: &str = "CHECKREIN_WORKER_AUTONOMY";
/// Policy of every job: a level, or a block as JSON.
pub const JOB_AUTONOMY: &str = "CHECKREIN_JOB_AUTONOMY";
/// The level of every worker, by the name other tools know it.
pub const DWORKERS_DEFAULT_AUTONOMY: &str = "DWORKERS_DEFAULT_AUTONOMY";
/// A tenant file.
pub const TENANT: &str = "CHECKREIN_TENANT";
/// The user's settings, instead of `checkrein/checkrein.yaml` in the configuration directory.
pub const CONFIG: &str = "CHECKREIN_CONFIG";

/// The store, instead of the nearest one.
pub const STORE: &str = "CHECKREIN_STORE";
/// Where the files of runs lie on this machine, where the store is on a server.
pub const FILES: &str = "CHECKREIN_FILES";
/// The password of a server, as PostgreSQL's own programs read it.
pub const PGPASSWORD: &str = "PGPASSWORD";
/// A file with passwords of servers, likewise.
pub const PGPASSFILE: &str = "PGPASSFILE";
/// A token that says who acts.
pub const TOKEN: &str = "CHECKREIN_TOKEN";
/// The address of a server that is asked instead of a store.
pub const SERVER: &str = "CHECKREIN_SERVER";

/// The session of frames that is meant.
pub const SESSION: &str = "CHECKREIN_SESSION";

/// Where people find the server in a browser.
pub const PUBLIC_URL: &str = "CHECKREIN_PUBLIC_URL";

/// Shows long text on a terminal, instead of `PAGER`.
pub const PAGER: &str = "CHECKREIN_PAGER";

/// Name, meaning: what `checkrein config env` and the docs list.
pub const SETTINGS: &[(&str, &str)] = &[
    (WORKFLOW_AUTONOMY, "policy of every workflow: a level, or a block as JSON"),
    (WORKER_AUTONOMY, "policy of every worker: a level, or a block as JSON"),
    (JOB_AUTONOMY, "policy of every job: a level, or a block as JSON"),
    (DWORKERS_DEFAULT_AUTONOMY, "level of every worker"),
    (TENANT, "a tenant file with workers and their policies"),
    (CONFIG, "the user's checkrein.yaml"),
    (STORE, "the store: a file, a directory, or postgres://USER@HOST/DATABASE"),
    (FILES, "where this machine keeps the files of runs whose store is on a server"),
    (SERVER, "the address of a server that is asked instead of a store"),
    (TOKEN, "a token that says who acts, made by `checkrein token create`"),
    (PUBLIC_URL, "where people find the server in a browser; links in notifications begin with it"),
    (PAGER, "the program that shows long reports on a terminal, instead of PAGER"),
    (SESSION, "frames: the session that is meant, instead of the one that was active last in the directory"),
    (FLAME_AUTONOMY_LEVEL, "frames: manual, suggest or auto"),
    (FLAME_PUSH_THRESHOLD, "frames: confidence from which a push is recommended, 0 to 100"),
    (FLAME_POP_THRESHOLD, "frames: confidence from which a pop is recommended, 0 to 100"),
    (FLAME_SUGGEST_IN_CONTEXT, "frames: whether suggestions are appended to the context"),
    (FLAME_ENABLED_HEURISTICS, "frames: the heuristics to use, separated by commas"),
];

/// The brief of a job's attempt as JSON.
pub const BRIEF_JSON: &str = "CHECKREIN_BRIEF_JSON";
/// Where the result of a job's attempt goes.
pub const RESULT: &str = "CHECKREIN_RESULT";
/// Where the response of a step goes.
pub const RESPONSE: &str = "CHECKREIN_RESPONSE";

/// The file `checkrein mcp` makes once its client has asked for the tools: proof for whoever started the client.
pub const TOOLS_LISTED: &str = "CHECKREIN_TOOLS_LISTED";

/// The token of a job's attempt, for an agent that hands in over HTTP.
pub const ATTEMPT_TOKEN: &str = "CHECKREIN_ATTEMPT_TOKEN";
/// Where it hands in, if the server's address is known.
pub const MCP_URL: &str = "CHECKREIN_MCP_URL";

/// Whether a variable lets whoever has it write to the store of a server. No attempt gets it: with it, an
/// agent could give itself a verdict.
pub fn opens_store(name: &str, value: &str) -> bool {
    let server = ["postgres://", "postgresql://"].iter().any(|scheme| value.starts_with(scheme));
    match name {
        STORE => server,
        PGPASSWORD | PGPASSFILE => true,
        _ => false,
    }
}

/// Variables Checkrein sets for an agent. They inform it and never set anything.
pub const FOR_AGENTS: &[&str] = &[
    "CHECKREIN_ATTEMPT",
    "CHECKREIN_ATTEMPT_NUMBER",
    ATTEMPT_TOKEN,
    "CHECKREIN_AUTONOMY",
    "CHECKREIN_BRIEF",
    BRIEF_JSON,
    "CHECKREIN_FAILURE",
    "CHECKREIN_JOB_ID",
    "CHECKREIN_JOB_FILES",
    MCP_URL,
    "CHECKREIN_PHASE",
    "CHECKREIN_PHASE_KIND",
    "CHECKREIN_PHASE_NUMBER",
    RESPONSE,
    RESULT,
    "CHECKREIN_ROUND",
    "CHECKREIN_RUN_ID",
    "CHECKREIN_STEP",
    "CHECKREIN_TARGET",
    TOOLS_LISTED,
    "CHECKREIN_WORKFLOW_ID",
    "CHECKREIN_WORK_ID",
];

/// The variables a step finds its context in, and the placeholder each one has.
pub const OF_CONTEXT: &[(&str, &str)] = &[
    ("CHECKREIN_RUN_ID", "run_id"),
    ("CHECKREIN_WORKFLOW_ID", "workflow_id"),
    ("CHECKREIN_PHASE", "phase"),
    ("CHECKREIN_STEP", "step"),
    ("CHECKREIN_ATTEMPT_NUMBER", "attempt"),
    ("CHECKREIN_TARGET", "target"),
    ("CHECKREIN_WORK_ID", "work_id"),
    ("CHECKREIN_FAILURE", "failure"),
];

/// The layers the environment contributes to a scope, weakest first.
pub fn layers(scope: Scope, get: impl Fn(&str) -> Option<String>) -> Result<Vec<Layer>, Problems> {
    let names: &[&str] = match scope {
        Scope::Workflow => &[WORKFLOW_AUTONOMY],
        Scope::Worker => &[DWORKERS_DEFAULT_AUTONOMY, WORKER_AUTONOMY],
        Scope::Job => &[JOB_AUTONOMY],
    };
    let mut layers = Vec::new();
    for name in names {
        if let Some(text) = get(name).filter(|text| !text.trim().is_empty()) {
            layers.push(layer(LayerRank::Environment, name, text.trim())?);
        }
    }
    Ok(layers)
}

/// A level's name or a JSON block given as one piece of text: a variable, an option.
pub fn layer(rank: LayerRank, name: &str, text: &str) -> Result<Layer, Problems> {
    if !text.starts_with(['{', '"']) && text != "null" {
        let block = Block::of(Autonomy::Text(text.to_owned()));
        return Ok(Layer { rank, origin: Origin::named(name), block });
    }
    let document = Arc::new(Document::parse(name, text, Format::Json)?);
    let (autonomy, _) = decode::<Option<Autonomy>>(&document, Gravity::Error)?;
    let block = autonomy.map_or_else(Block::cleared, Block::of);
    Ok(Layer { rank, origin: Origin::inline(&document), block })
}

/// Variables that are nearly one of ours: probably misspelt. Others with our prefix belong to
/// somebody else and are left alone.
pub fn unknown<'n>(names: impl IntoIterator<Item = &'n str>) -> Problems {
    let mut problems = Problems::default();
    for name in names {
        if SETTINGS.iter().any(|(known, _)| *known == name) || FOR_AGENTS.contains(&name) {
            continue;
        }
        let Some(prefix) =
            ["CHECKREIN_", "FLAME_", "DWORKERS_"].into_iter().find(|own| name.starts_with(own))
        else {
            continue;
        };
        // What they begin with alike says nothing about what was meant.
        let known = SETTINGS.iter().filter_map(|(known, _)| known.strip_prefix(prefix));
        let rest = name.strip_prefix(prefix).unwrap_or(name);
        if let Some(near) = closest(rest, known) {
            let problem = Problem::error(name, "unknown variable, ignored");
            let hint = format!("did you mean `{prefix}{near}`?");
            problems.push(Problem { gravity: Gravity::Notice, ..problem.hint(hint) });
        }
    }
    problems
}
