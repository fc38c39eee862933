use super::FrameArgs;
use crate::error::CliError;
use crate::output::{Output, harmless};
use crate::session::Desk;

pub fn run(args: &FrameArgs) -> Result<Output, CliError> {
    let wanted = args.place.wanted();
    let text = match args.place.desk_to_read()? {
        Desk::Here(session) => {
            let who = session.principal()?;
            session.wait(session.engine.frame_log(&who, &wanted, args.frame.as_deref()))?
        }
        Desk::There(remote) => {
            let query: Vec<(&str, String)> =
                args.frame.iter().map(|frame| ("frame", frame.clone())).collect();
            remote.text(&["frames", &args.place.named(), "log"], &query)?
        }
    };
    if args.place.json {
        return Output::json(&serde_json::json!({ "log": text }));
    }
    Ok(Output::paged(harmless(&text)))
}
