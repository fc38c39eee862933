use checkrein_engine::Act;

use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::post("/runs/{id}/cancel", cancel).to(Act::ManageRuns)
}

async fn cancel(visit: Visit) -> Result<See, Problem> {
    let id = visit.path("id").to_owned();
    let reason = visit.form.filled("reason").map(str::to_owned);
    let view = visit
        .call
        .apart(move |engine, by| async move { engine.cancel_run_at(&by, &id, reason, None).await })
        .await?;
    Ok(See::to(link::run(view.run.id.as_str())).saying(Said::well("The run is cancelled.")))
}
