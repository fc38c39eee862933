use checkrein_core::frame::{PopRequest, evaluate_pop, render_pop};

use super::{Args, config, request};
use crate::error::CliError;
use crate::output::Output;

pub fn run(args: &Args) -> Result<Output, CliError> {
    let request: PopRequest = request()?;
    let config = config(args, request.config.as_ref())?;
    let evaluation = evaluate_pop(&request, &config);
    if args.json {
        return Output::json(&evaluation);
    }
    Ok(Output::text(render_pop(&evaluation, &args.session, &config)))
}
