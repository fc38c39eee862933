use std::fmt::Write;

use checkrein_engine::find_expert;
use checkrein_server::wire::expert::Expert;

use crate::error::{CliError, warn};
use crate::output::{Output, harmless};
use crate::remote::Remote;
use crate::settings::{self, Places};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A name from `checkrein expert list`
    expert: String,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
    /// Ask this server instead of files here, with the token in $CHECKREIN_TOKEN
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    places: Places,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let expert: Expert = match &args.server {
        Some(url) => Remote::at(url)?.get(&["experts", &args.expert], &[])?,
        None => {
            let settings = args.places.load()?;
            let found = find_expert(&settings, &settings::expert_files(), &args.expert)?;
            found.resolution.problems.iter().for_each(warn);
            Expert::from(&found)
        }
    };
    if args.json {
        return Output::json(&expert);
    }
    let holds: Vec<String> = expert.hold_at.iter().map(ToString::to_string).collect();
    let mut out = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(out, "{name:<14}{}", harmless(value));
    };
    line("expert", &expert.name);
    if let Some(description) = &expert.description {
        line("what it does", description);
    }
    if !expert.extends.is_empty() {
        line("extends", &expert.extends.join(", "));
    }
    line("level", expert.level.as_deref().unwrap_or("custom"));
    line("holds at", &if holds.is_empty() { "never".to_owned() } else { holds.join(", ") });
    line("agent", expert.agent.as_deref().unwrap_or("none; name one with --agent"));
    line("merge", &format!("{:?}", expert.merge).to_lowercase());
    line("timeout", &format!("{}, silent {}", expert.timeout, expert.idle_timeout));
    line("sandbox", if expert.sandbox { "yes" } else { "no" });
    if !expert.environment.is_empty() {
        line("environment", &expert.environment.join(", "));
    }
    if let Some(instructions) = &expert.instructions {
        let _ = writeln!(out, "\n{}", harmless(instructions.trim_end()));
    }
    Ok(Output::text(out))
}
