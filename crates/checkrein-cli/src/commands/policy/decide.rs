use std::fmt::Write;
use std::path::PathBuf;

use checkrein_core::decision::{Answer, Request, StepOrHook};
use checkrein_core::finding::Finding;

use crate::error::{CliError, warn};
use crate::files;
use crate::output::{HEADING, Output, findings, one_line};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file with the request, `-` for standard input [default: -]
    file: Option<PathBuf>,
    /// Answer as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args) -> Result<Output, CliError> {
    let (name, text) = match &args.file {
        Some(path) if path.as_os_str() != "-" => (files::shown(path), files::text(path)?),
        _ => ("request".to_owned(), files::stdin("a request")?),
    };
    let (request, resolution) = Request::parse(&name, &text)?;
    resolution.problems.iter().for_each(warn);
    if let Some(ignored) = request.result_handling.ignored(request.kind) {
        warn(ignored);
    }
    let answer = request.answer(&resolution.policy);
    answer.notes.iter().for_each(warn);
    if args.json { Output::json(&answer) } else { Ok(Output::text(render(&answer, request.kind))) }
}

fn render(answer: &Answer, kind: StepOrHook) -> String {
    let mut out = format!("{HEADING}{}{HEADING:#}", answer.outcome);
    if !answer.reason.is_empty() {
        let _ = write!(out, ": {}", one_line(&answer.reason));
    }
    out.push('\n');
    for because in &answer.because {
        if because.text != answer.reason {
            let _ = writeln!(out, "  also {}: {}", because.rule, one_line(&because.text));
        }
    }
    if answer.check_in && answer.reason.is_empty() {
        let _ = writeln!(out, "  a check-in is shown, it needs no answer");
    }
    let list = |out: &mut String, title: &str, findings: &[Finding]| {
        for finding in findings {
            let _ = writeln!(
                out,
                "  {title}: {} [{}] [{}]",
                one_line(&finding.text),
                finding.severity,
                one_line(finding.category.name())
            );
        }
    };
    let who = match kind {
        StepOrHook::Step => "step",
        StepOrHook::Hook => "hook",
    };
    list(&mut out, "tolerated warning", &answer.collected.warnings);
    list(&mut out, "tolerated error", &answer.collected.errors);
    let totals = &answer.totals;
    let _ = writeln!(out, "  after this {who}: {} in all", findings(totals.warnings, totals.errors));
    out
}
