use checkrein_core::checkpoint::{CheckpointStatus, Verdict};
use checkrein_engine::{Act, VerdictRequest};

use crate::cockpit::checkpoint::decide::request;
use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

pub fn page() -> Page {
    Page::post("/reviews/{id}/verdict", decide).to(Act::GiveVerdict)
}

/// What cannot be decided now leads back to the page, which shows why; nothing that was written is lost.
async fn decide(visit: Visit) -> Result<See, Problem> {
    let id = visit.path("id").to_owned();
    let mut request = request(&visit, visit.form.get("digest").unwrap_or_default())?;
    if request.verdict == Verdict::Reject {
        request = VerdictRequest { reason: visit.form.filled("reason_reject").map(str::to_owned), ..request };
    }
    if request.verdict == Verdict::Approve {
        request = VerdictRequest { reason: None, ..request };
    }
    let review = link::review(&id);
    let problem = match visit.engine().give_verdict(visit.by()?, &id, &request).await {
        Ok(decided) => {
            let said = Said::well(words(decided.status));
            return Ok(See::to(review).saying(said));
        }
        Err(error) => Problem::from(error),
    };
    let seen = visit.form.get("head").unwrap_or_default();
    match problem.kind {
        Kind::StaleDigest => {
            let said = Said::badly(
                "Nothing was decided: somebody pushed to the branch since you looked. Below is what is new.",
            );
            Ok(See::to(link::with_query(&review, &[("seen", seen)])).saying(said))
        }
        Kind::MarkedFiles | Kind::NotShown => {
            let said = Said::badly(format!(
                "Nothing was decided: {}. Tick “Approve all the same” if you mean it.",
                problem.detail
            ));
            Ok(See::to(format!("{review}#verdict")).saying(said))
        }
        Kind::AlreadyDecided | Kind::RunRefused | Kind::Invalid => {
            let hint = problem.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            let said = Said::badly(format!("Nothing was decided: {}{hint}.", problem.detail));
            Ok(See::to(review).saying(said))
        }
        _ => Err(problem),
    }
}

const fn words(status: CheckpointStatus) -> &'static str {
    match status {
        CheckpointStatus::Approved => "Approved. It is merged, and the job goes on.",
        CheckpointStatus::ChangesRequested => "Changes are requested. The agent works on them.",
        CheckpointStatus::Rejected => "Rejected. The job is cancelled, its branch is kept.",
        _ => "Decided.",
    }
}
