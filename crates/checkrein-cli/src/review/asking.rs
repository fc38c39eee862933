//! Asks the person at the terminal about a review, while its job is driven.

use checkrein_core::checkpoint::{Refusal, Verdict};
use checkrein_core::principal::Principal;
use checkrein_engine::{Engine, EngineError, Judged, VerdictRequest};
use tokio::sync::watch;

use super::plain::{self, Extent};
use super::{Review, Which, is_possible, load, open};
use crate::error::{CliError, say};
use crate::output::one_line;
use crate::prompt::{Chosen, choose, line};

const OPTIONS: [&str; 5] = ["Review", "Approve", "Request changes", "Reject", "Leave it"];

/// Whether there is a verdict now.
pub async fn ask(
    engine: &Engine,
    by: &Principal,
    id: &str,
    question: &str,
    stop: &watch::Receiver<bool>,
) -> Result<bool, CliError> {
    let mut review = look(engine, by, id).await?;
    say(&plain::brief(&review));
    loop {
        let request = match choose(question, &OPTIONS, stop).await {
            Chosen::Option(1) if !is_possible() => {
                say(&plain::render(&review, &Extent::WHOLE));
                continue;
            }
            Chosen::Option(1) => {
                let left = open(engine, by, id, (Which::Whole, None), stop).await?;
                left.done.iter().for_each(|done| say(&format!("{done}\n")));
                if left.verdict.is_some() {
                    return Ok(true);
                }
                review = look(engine, by, id).await?;
                continue;
            }
            Chosen::Option(2) => VerdictRequest::new(Verdict::Approve, None),
            Chosen::Option(3) => match line("What should change? ", stop).await {
                None => return Ok(false),
                Some(text) if text.trim().is_empty() => continue,
                Some(text) => VerdictRequest::new(Verdict::RequestChanges, Some(text.trim().to_owned())),
            },
            Chosen::Option(4) => match line("Why? ", stop).await {
                None => return Ok(false),
                Some(text) if text.trim().is_empty() => continue,
                Some(text) => VerdictRequest::new(Verdict::Reject, Some(text.trim().to_owned())),
            },
            Chosen::Option(_) | Chosen::Nobody => return Ok(false),
        };
        // The verdict is about what was shown.
        let mut request = VerdictRequest { judged: Some(Judged::Digest(review.digest)), ..request };
        if request.verdict == Verdict::Approve && !review.marked_for_changes().is_empty() {
            let marked = review.marked_for_changes().join(", ");
            let question = format!("You request changes of {marked}. Approve all the same?");
            match choose(&question, &["Approve", "Back"], stop).await {
                Chosen::Option(1) => request.confirmed = true,
                Chosen::Option(_) => continue,
                Chosen::Nobody => return Ok(false),
            }
        }
        match engine.give_verdict(by, id, &request).await {
            Ok(_) => return Ok(true),
            Err(EngineError::Refused(Refusal::Decided { status, by, .. })) => {
                let who = by.as_deref().map(one_line).unwrap_or_else(|| "somebody else".to_owned());
                say(&format!("{who} was faster: it is {status}.\n"));
                return Ok(true);
            }
            Err(EngineError::Refused(Refusal::Stale { .. } | Refusal::Moved { .. })) => {
                say("Somebody pushed meanwhile. Nothing was decided; this is what is there now:\n");
                review = look(engine, by, id).await?;
                say(&plain::brief(&review));
            }
            Err(EngineError::MarkedFiles { .. }) => review = look(engine, by, id).await?,
            Err(EngineError::OpenConflict { files, .. }) => {
                say(&format!(
                    "It cannot be merged: there is a conflict in {}. Push a commit that settles it, or request changes.\n",
                    one_line(&files.join(", "))
                ));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn look(engine: &Engine, by: &Principal, id: &str) -> Result<Review, CliError> {
    let (reviewed, material) = load(engine, by, id).await?;
    Ok(Review::of(&reviewed, &material))
}
