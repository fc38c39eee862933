//! Asks the person at the terminal about a review, while its job is driven.

use std::pin::pin;

use checkrein_core::checkpoint::Verdict;
use checkrein_engine::{Judged, VerdictRequest};
use checkrein_server::error::Kind;
use tokio::sync::watch;

use super::plain::{self, Extent};
use super::{Side, Which, is_possible, open};
use crate::error::{CliError, say};
use crate::output::one_line;
use crate::prompt::{Chosen, choose, line};

/// A question that somebody else answered, or nobody in time.
pub fn over(how: &str) -> bool {
    say(&format!("\n{how}"));
    true
}

const OPTIONS: [&str; 5] = ["Review", "Approve", "Request changes", "Reject", "Leave it"];

/// Whether there is a verdict now.
pub async fn ask(
    side: Side<'_>,
    id: &str,
    question: &str,
    stop: &watch::Receiver<bool>,
) -> Result<bool, CliError> {
    let mut review = side.look(id).await?;
    say(&plain::brief(&review));
    let mut settled = pin!(side.settled(id));
    loop {
        let chosen = tokio::select! {
            biased;
            how = &mut settled => return Ok(over(&how)),
            chosen = choose(question, &OPTIONS, stop) => chosen,
        };
        let request = match chosen {
            Chosen::Option(1) if !is_possible() => {
                say(&plain::render(&review, &Extent::WHOLE));
                continue;
            }
            Chosen::Option(1) => {
                let left = open(side, id, (Which::Whole, None), stop).await?;
                left.done.iter().for_each(|done| say(&format!("{done}\n")));
                if left.verdict.is_some() {
                    return Ok(true);
                }
                review = side.look(id).await?;
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
        let doubts = review.doubts();
        if request.verdict == Verdict::Approve && !doubts.is_empty() {
            let question = format!("{} Approve all the same?", doubts.join(" "));
            match choose(&question, &["Approve", "Back"], stop).await {
                Chosen::Option(1) => request.confirmed = true,
                Chosen::Option(_) => continue,
                Chosen::Nobody => return Ok(false),
            }
        }
        match side.decide(id, &request).await {
            Ok(_) => return Ok(true),
            Err(error) => match error.kind() {
                Some(Kind::AlreadyDecided) => {
                    say(&format!("Somebody was faster: {}.\n", one_line(&error.words())));
                    return Ok(true);
                }
                Some(Kind::StaleDigest) => {
                    say("Somebody pushed meanwhile. Nothing was decided; this is what is there now:\n");
                    review = side.look(id).await?;
                    say(&plain::brief(&review));
                }
                Some(Kind::MarkedFiles | Kind::NotShown) => review = side.look(id).await?,
                // A conflict, which somebody has to settle.
                Some(Kind::RunRefused) => say(&format!("{}\n", error.advice())),
                _ => return Err(error),
            },
        }
    }
}
