use checkrein_core::frame::{PushRequest, evaluate_push, render_push};

use super::{Args, config, request};
use crate::error::CliError;
use crate::output::Output;

pub fn run(args: &Args) -> Result<Output, CliError> {
    let request: PushRequest = request()?;
    let config = config(args, request.config.as_ref())?;
    let evaluation = evaluate_push(&request, &config);
    if args.json {
        return Output::json(&evaluation);
    }
    Ok(Output::text(render_push(&evaluation, &args.session, &config, request.potential_goal.as_deref())))
}
