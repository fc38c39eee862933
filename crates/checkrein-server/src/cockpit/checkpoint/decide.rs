use checkrein_core::checkpoint::{Checkpoint, CheckpointStatus, Verdict};
use checkrein_engine::{Act, AskKind, Asks, Judged, Naming, VerdictRequest};
use maud::{Markup, html};

use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::parts::omitted;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

pub fn page() -> Page {
    Page::post("/checkpoints/{id}/verdict", decide).to(Act::GiveVerdict)
}

async fn decide(visit: Visit) -> Result<See, Problem> {
    let id = visit.path("id").to_owned();
    let digest = visit.form.get("digest").unwrap_or_default();
    let request = request(&visit, digest)?;
    let decided = match visit.engine().give_verdict(visit.by()?, &id, &request).await.map_err(Problem::from) {
        Ok(decided) => decided,
        // The page of it says what is in the way, and takes the confirmation.
        Err(problem) if matches!(problem.kind, Kind::MarkedFiles | Kind::NotShown) => {
            let said = Said::badly(format!("Nothing was decided: {}.", problem.detail));
            return Ok(See::to(link::checkpoint(&id)).saying(said));
        }
        Err(problem) => return Err(problem),
    };
    let said = Said::well(format!("{} is {}.", decided.id, words(decided.status)));
    Ok(See::to(visit.back(&link::checkpoint(&id))).saying(said))
}

/// What the form says, bound to what was on the screen.
pub fn request(visit: &Visit, digest: &str) -> Result<VerdictRequest, Problem> {
    let verdict = match visit.form.get("verdict").unwrap_or_default() {
        "approve" => Verdict::Approve,
        "reject" => Verdict::Reject,
        "request_changes" => Verdict::RequestChanges,
        other => {
            return Err(Problem::new(Kind::Invalid, format!("`{other}` is no verdict"))
                .hint("approve, reject or request changes"));
        }
    };
    let judged = Judged::parse(digest).ok_or_else(|| {
        Problem::new(Kind::Invalid, "the form does not say what was looked at").hint("load the page again")
    })?;
    let reason = visit.form.filled("reason").map(str::to_owned);
    Ok(VerdictRequest {
        judged: Some(judged),
        start_over: verdict == Verdict::RequestChanges && visit.form.get("start_over").is_some(),
        confirmed: visit.form.get("confirmed").is_some(),
        naming: Naming::Always,
        ..VerdictRequest::new(verdict, reason)
    })
}

pub const fn words(status: CheckpointStatus) -> &'static str {
    match status {
        CheckpointStatus::Pending => "pending",
        CheckpointStatus::Approved => "approved",
        CheckpointStatus::Rejected => "rejected",
        CheckpointStatus::ChangesRequested => "sent back with a request for changes",
        CheckpointStatus::Withdrawn => "withdrawn",
        CheckpointStatus::NotRequired => "not required",
    }
}

/// The answer to a checkpoint, where it is shown. `page` is looked at first, where there is one.
pub fn form(visit: &Visit, checkpoint: &Checkpoint, asks: &Asks, page: Option<&str>) -> Markup {
    let kind = asks.kind;
    let id = checkpoint.id.as_str();
    let action = link::to(&["checkpoints", id, "verdict"]);
    let reason = format!("why-{}", link::encoded(id));
    html! {
        form method="post" action=(action) class="decide" data-in-place="" {
            (visit.proof())
            input type="hidden" name="digest" value=(checkpoint.digest);
            input type="hidden" name="back" value=(visit.here);
            (omitted(&asks.omissions))
            @if !asks.omissions.is_empty() {
                label class="check" {
                    input type="checkbox" name="confirmed" value="yes";
                    span { "Approve all the same" }
                }
            }
            div class="actions" {
                @if let Some(page) = page {
                    a class="button primary" href=(page) {
                        @if kind == AskKind::Review { "Review" } @else { "Look at all of it" }
                    }
                }
                @if kind == AskKind::Review || page.is_none() {
                    button name="verdict" value="approve" class="good" data-approve="" { "Approve" }
                }
                details class="otherwise" {
                    summary data-otherwise="" { (otherwise(kind)) }
                    div {
                        label for=(reason) { "Why? The agent reads it." }
                        textarea id=(reason) name="reason" rows="3" maxlength="4000" {}
                        div class="actions" {
                            @if kind != AskKind::CheckIn {
                                button name="verdict" value="request_changes" { "Request changes" }
                            }
                            button name="verdict" value="reject" class="bad" { (reject(kind)) }
                        }
                    }
                }
            }
        }
    }
}

const fn otherwise(kind: AskKind) -> &'static str {
    match kind {
        AskKind::CheckIn => "Stop…",
        AskKind::Worker | AskKind::Review => "Request changes or reject…",
    }
}

const fn reject(kind: AskKind) -> &'static str {
    match kind {
        AskKind::Worker => "Reject",
        AskKind::CheckIn => "Stop the workflow",
        AskKind::Review => "Reject and cancel the job",
    }
}
