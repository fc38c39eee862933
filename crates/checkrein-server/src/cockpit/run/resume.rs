use checkrein_engine::Act;

use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use crate::routes::run::resume::resumed;

pub fn page() -> Page {
    Page::post("/runs/{id}/resume", resume).to(Act::ManageRuns)
}

async fn resume(visit: Visit) -> Result<See, Problem> {
    let view = resumed(&visit.call, visit.path("id").to_owned(), None).await?;
    Ok(See::to(link::run(view.run.id.as_str())).saying(Said::well("The run goes on.")))
}
