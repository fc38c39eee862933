use checkrein_engine::Act;

use super::decide::{request, words};
use crate::cockpit::page::Page;
use crate::cockpit::parts::count;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::post("/verdicts", decide).to(Act::GiveVerdict)
}

/// One after the other; one that cannot be decided does not keep the rest from it.
async fn decide(visit: Visit) -> Result<See, Problem> {
    let back = visit.back("/inbox");
    let (mut done, mut outcome, mut refused) = (0, "", Vec::new());
    for chosen in visit.form.all("chosen") {
        let Some((digest, id)) = chosen.split_once(' ') else { continue };
        match visit.engine().give_verdict(visit.by()?, id, &request(&visit, digest)?).await {
            Ok(decided) => {
                done += 1;
                outcome = words(decided.status);
            }
            Err(error) => refused.push(format!("{id}: {}", Problem::from(error).detail)),
        }
    }
    let said = match (done, refused.as_slice()) {
        (0, []) => Said::badly("Nothing was selected: tick the boxes of what you decide."),
        (done, []) => Said::well(format!("{} {outcome}.", count(done, "checkpoint"))),
        (done, refused) => {
            Said::badly(format!("{done} decided, {} not: {}", refused.len(), refused.join("; ")))
        }
    };
    Ok(See::to(back).saying(said))
}
