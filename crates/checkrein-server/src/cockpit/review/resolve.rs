use checkrein_engine::Act;

use super::back;
use crate::cockpit::page::Page;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::post("/reviews/{id}/threads", resolve).to(Act::Comment)
}

async fn resolve(visit: Visit) -> Result<See, Problem> {
    let comment = visit.form.get("comment").unwrap_or_default().to_owned();
    let resolved = visit.form.get("resolved") == Some("true");
    visit.engine().resolve_thread(visit.by()?, visit.path("id"), &comment, resolved).await?;
    Ok(back(&visit, &format!("t-{comment}")))
}
