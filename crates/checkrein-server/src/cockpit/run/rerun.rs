use checkrein_engine::Act;

use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::post("/runs/{id}/rerun", rerun).to(Act::StartRun)
}

async fn rerun(visit: Visit) -> Result<See, Problem> {
    let id = visit.engine().rerun_once(visit.by()?, visit.path("id"), None, None).await?;
    Ok(See::to(link::run(id.as_str())).saying(Said::well("This is the new run.")))
}
