use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::post("/people/sessions/{id}/end", end).known()
}

async fn end(visit: Visit) -> Result<See, Problem> {
    let ended = visit.engine().end_session(visit.by()?, visit.path("id")).await?;
    let said = format!("A browser of {} is signed out.", ended.token.principal.name);
    Ok(See::to(visit.back("/people")).saying(Said::well(said)))
}
