use std::fmt::Write;

use checkrein_engine::{FoundExpert, find_expert};
use checkrein_server::wire::expert as wire;

use crate::error::{CliError, warn};
use crate::output::{Output, harmless};
use crate::settings::{self, Places};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A name from `checkrein expert list`
    expert: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    places: Places,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let settings = args.places.load()?;
    let found = find_expert(&settings, &settings::expert_files(), &args.expert)?;
    found.resolution.problems.iter().for_each(warn);
    if args.json {
        return Output::json(&wire::Expert::from(&found));
    }
    let FoundExpert { expert, resolution, job, agent } = found;
    let policy = &resolution.policy;
    let holds: Vec<String> = policy.hold_at.iter().map(ToString::to_string).collect();
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:<14}{}", harmless(value));
    };
    line("expert", &expert.name);
    if let Some(description) = &expert.description {
        line("what it does", description);
    }
    if !expert.extends().is_empty() {
        line("extends", &expert.extends().join(", "));
    }
    line("level", policy.level.as_deref().unwrap_or("custom"));
    line("holds at", &if holds.is_empty() { "never".to_owned() } else { holds.join(", ") });
    line("agent", agent.as_deref().unwrap_or("none; name one with --agent"));
    line("merge", &format!("{:?}", job.merge).to_lowercase());
    line("timeout", &format!("{}, silent {}", wire::time(job.timeout), wire::time(job.idle_timeout)));
    line("sandbox", if job.sandbox { "yes" } else { "no" });
    if !job.environment.is_empty() {
        line("environment", &job.environment.join(", "));
    }
    if let Some(instructions) = &job.instructions {
        let _ = writeln!(out, "\n{}", harmless(instructions.trim_end()));
    }
    Ok(Output::text(out))
}
