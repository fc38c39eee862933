use std::fmt::Write;

use checkrein_core::config::{Expert, Subject};
use checkrein_core::duration::Written;
use checkrein_core::policy::Scope;
use serde_json::json;

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
    let expert = settings::expert(&args.expert)?;
    let resolution = settings.resolve(Scope::Job, Subject::Expert(&expert), &[])?;
    resolution.problems.iter().for_each(warn);
    let job = Expert::job_settings(Some(&expert), None);
    let agent = job.agent.clone().or_else(|| settings.agent().map(str::to_owned));
    let time =
        |time: Option<std::time::Duration>| time.map_or("none".to_owned(), |time| Written(time).to_string());
    let policy = &resolution.policy;
    let holds: Vec<String> = policy.hold_at.iter().map(ToString::to_string).collect();
    if args.json {
        return Output::json(&json!({
            "name": expert.name, "description": expert.description, "extends": expert.extends(),
            "level": policy.level, "hold_at": policy.hold_at, "policy": policy,
            "agent": agent, "instructions": job.instructions, "merge": job.merge,
            "timeout": time(job.timeout), "idle_timeout": time(job.idle_timeout),
            "environment": job.environment, "disk_bytes": job.disk_bytes, "sandbox": job.sandbox,
        }));
    }
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
    line("timeout", &format!("{}, silent {}", time(job.timeout), time(job.idle_timeout)));
    line("sandbox", if job.sandbox { "yes" } else { "no" });
    if !job.environment.is_empty() {
        line("environment", &job.environment.join(", "));
    }
    if let Some(instructions) = &job.instructions {
        let _ = writeln!(out, "\n{}", harmless(instructions.trim_end()));
    }
    Ok(Output::text(out))
}
