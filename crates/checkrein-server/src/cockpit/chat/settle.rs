use checkrein_engine::Act;

use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

pub fn page() -> Page {
    Page::post("/runs/{id}/chat/{proposal}", settle).to(Act::PushToBranches)
}

async fn settle(visit: Visit) -> Result<See, Problem> {
    let (run, id) = (visit.path("id").to_owned(), visit.path("proposal").to_owned());
    let (named, which) = (run.clone(), id.clone());
    let said = match visit.form.get("do") {
        Some("apply") => {
            visit
                .call
                .apart(move |engine, by| async move { engine.apply_proposal(&by, &named, &which).await })
                .await?;
            format!("{id} is done, in your name.")
        }
        Some("discard") => {
            visit.engine().discard_proposal(visit.by()?, &run, &id).await?;
            format!("{id} is discarded.")
        }
        _ => return Err(Problem::new(Kind::Malformed, "the form does not say what to do with the proposal")),
    };
    let page = link::to(&["runs", &run, "chat"]);
    Ok(See::to(format!("{}#proposal-{}", visit.back(&page), link::encoded(&id))).saying(Said::well(said)))
}
