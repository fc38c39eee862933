use checkrein_core::config::Settings;
use checkrein_core::config::agent::{AgentKind, BuiltinSpec, Preset};
use checkrein_engine::{AgentFound, Finding, State, examine, examine_forge, examine_server};
use checkrein_store::StoreAddress;

use crate::error::{CliError, Exit};
use crate::output::{Output, Table};
use crate::session::{StorePlace, files_root, inside_attempt, local_name, runtime};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StorePlace,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let mut findings = Vec::new();
    match args.store.address() {
        Ok(StoreAddress::Sqlite(path)) => findings.extend(runtime()?.block_on(examine(&path))),
        Ok(address) => findings.extend(runtime()?.block_on(examine_server(&address, &files_root()?))),
        Err(error) => findings.push(Finding::new("store", State::Broken, error.words())),
    }
    findings.push(settings(args));
    findings.extend(agents(args));
    findings.extend(forge(args)?);
    findings.push(verdicts());
    let worst = findings.iter().map(|finding| finding.state).max().unwrap_or(State::Good);
    let exit = if worst == State::Broken { Exit::Failed } else { Exit::Done };
    if args.json {
        let checks: Vec<serde_json::Value> = findings
            .iter()
            .map(|finding| {
                serde_json::json!({
                    "check": finding.check, "state": finding.state.name(), "found": finding.found,
                    "remedy": Some(&finding.remedy).filter(|remedy| !remedy.is_empty()),
                })
            })
            .collect();
        let answer = serde_json::json!({"state": worst.name(), "checks": checks});
        return Ok(Output::json(&answer)?.exit(exit));
    }
    let mut table = Table::new(&["check", "state", "found", "what to do"]);
    for finding in findings {
        table.row(vec![
            finding.check.to_owned(),
            finding.state.name().to_owned(),
            finding.found,
            finding.remedy,
        ]);
    }
    Ok(Output::text(table.render()).exit(exit))
}

/// Which agents are there, and whether they would work.
fn agents(args: &Args) -> Vec<Finding> {
    let get = |name: &str| std::env::var(name).ok();
    let check = "agents";
    let mut findings = Vec::new();
    // Where the settings cannot be read, that is said elsewhere.
    let loaded = args.store.settings().map(|(settings, _)| settings).ok();
    let Some(settings) = loaded.or_else(|| Settings::new(None, None, None, Vec::new()).ok()) else {
        return findings;
    };
    let own = settings.agents().into_iter().filter(|name| Preset::of(name).is_none());
    let names: Vec<&str> = Preset::ALL.map(Preset::name).into_iter().chain(own).collect();
    let mut specs = Vec::new();
    for name in names {
        match settings.agent_named(name) {
            Ok(spec) => specs.extend(spec),
            Err(problem) => {
                // Nobody has to have a model.
                let state = if name == "builtin" { State::Info } else { State::Warning };
                let found = Finding::new(check, state, format!("{name}: {}", problem.message));
                findings.push(found.remedy(problem.hint.clone().unwrap_or_default()));
            }
        }
    }
    let builtin = specs.iter().filter_map(|spec| match &spec.kind {
        AgentKind::Builtin(builtin) => Some(builtin_health(&spec.name, builtin, get)),
        _ => None,
    });
    findings.extend(builtin);
    let mut missing = Vec::new();
    for health in checkrein_engine::agents_found(specs, get) {
        let name = health.name;
        findings.push(match health.found {
            AgentFound::Works { version, login: Some(login) } => {
                Finding::new(check, State::Good, format!("{name}: {version}, with {login}"))
            }
            AgentFound::Works { version, login: None } => {
                let found = format!("{name}: {version}, and no key or login was found");
                Finding::new(check, State::Info, found).remedy("log in with it, or set its key")
            }
            AgentFound::Command { command } => {
                Finding::new(check, State::Good, format!("{name}: `{command}`"))
            }
            AgentFound::Broken { program, why } => {
                Finding::new(check, State::Warning, format!("{name}: {why}"))
                    .remedy(format!("run `{program} --version`"))
            }
            AgentFound::Missing { program } => match Preset::of(&name).filter(|_| program == name) {
                Some(preset) => {
                    missing.push(preset);
                    continue;
                }
                None => Finding::new(check, State::Warning, format!("{name}: `{program}` is not there"))
                    .remedy(format!("look at `agents.{name}` in the settings")),
            },
        });
    }
    if !missing.is_empty() {
        let names: Vec<&str> = missing.iter().map(|preset| preset.name()).collect();
        let installs: Vec<String> = missing.iter().map(|preset| format!("`{}`", preset.install())).collect();
        let found = Finding::new(check, State::Info, format!("not installed: {}", names.join(", ")));
        findings.push(found.remedy(format!("if you want one: {}", installs.join(", "))));
    }
    findings
}

fn builtin_health(name: &str, spec: &BuiltinSpec, get: impl Fn(&str) -> Option<String>) -> Finding {
    let check = "agents";
    let has_key = |variable: &str| get(variable).is_some_and(|key| !key.trim().is_empty());
    let models = [&spec.strategic, &spec.tactical];
    match models.into_iter().find(|model| model.needs_key() && !has_key(model.key_variable())) {
        Some(model) => {
            let found = format!("{name}: the model `{}` has no key", model.model);
            Finding::new(check, State::Info, found).remedy(format!("set {}", model.key_variable()))
        }
        None => Finding::new(check, State::Good, format!("{name}: its models have what they need")),
    }
}

/// The files that apply, and whether they are sound.
fn settings(args: &Args) -> Finding {
    let check = "settings";
    match args.store.settings() {
        Ok((settings, problems)) => {
            let mut names: Vec<String> = settings.documents().map(|document| document.name.clone()).collect();
            if names.is_empty() {
                names.push("no files, the built-in settings".to_owned());
            }
            let found = names.join(", ");
            match problems.iter().next() {
                None => Finding::new(check, State::Good, found),
                Some(problem) => Finding::new(check, State::Warning, format!("{found}\n{problem}"))
                    .remedy("`checkrein policy check` shows all"),
            }
        }
        Err(error) => {
            Finding::new(check, State::Broken, error.words()).remedy("mend the file; nothing runs with it")
        }
    }
}

/// Whether the forge of the settings can be used; the store is not needed for that.
fn forge(args: &Args) -> Result<Vec<Finding>, CliError> {
    let Ok((settings, _)) = args.store.settings() else { return Ok(Vec::new()) };
    if settings.forge().is_none() {
        return Ok(Vec::new());
    }
    let directory = std::env::current_dir().unwrap_or_default();
    Ok(crate::session::runtime()?.block_on(examine_forge(&settings, &directory)))
}

/// How much a verdict is worth where an agent could write the store itself.
fn verdicts() -> Finding {
    let check = "verdicts";
    if inside_attempt() {
        return Finding::new(check, State::Info, "refused: this is inside an agent's attempt");
    }
    let found = format!("a guard rail: an agent that runs as {} can write the store itself", local_name());
    Finding::new(check, State::Info, found)
        .remedy("run agents as another user, where the file and its directory are closed to them")
}
