use checkrein_core::frame::{FrameCommand, PushRequest, evaluate_push, render_push};

use super::{Args, config, request};
use crate::error::{CliError, warn};
use crate::output::{Output, harmless};

pub fn run(args: &Args) -> Result<Output, CliError> {
    let request: PushRequest = request()?;
    if request.frame.is_none()
        && let Some(answer) = args.place.of_session(&FrameCommand::ShouldPush(request.clone()))?
    {
        answer.warnings.iter().for_each(warn);
        return match (args.place.json, answer.evaluation) {
            (true, Some(evaluation)) => Output::json(&evaluation),
            _ => Ok(Output::text(harmless(&answer.text))),
        };
    }
    let config = config(args, request.config.as_ref())?;
    let evaluation = evaluate_push(&request, &config);
    if args.place.json {
        return Output::json(&evaluation);
    }
    Ok(Output::text(render_push(
        &evaluation,
        &args.place.named(),
        &config,
        request.potential_goal.as_deref(),
    )))
}
