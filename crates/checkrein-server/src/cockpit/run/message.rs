use checkrein_engine::Act;

use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::post("/runs/{id}/message", send).to(Act::Comment)
}

async fn send(visit: Visit) -> Result<See, Problem> {
    let text = visit.form.filled("text").unwrap_or_default();
    let (view, _) = visit.engine().send_message(visit.by()?, visit.path("id"), text).await?;
    let said = Said::well("The agent hears it at its next turn, or with its next brief.");
    Ok(See::to(link::run(view.run.id.as_str())).saying(said))
}
