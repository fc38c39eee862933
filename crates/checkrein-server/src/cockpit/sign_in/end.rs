use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;
use crate::routes::session::end::signed_out;

pub fn page() -> Page {
    Page::post("/sign-out", end).known().harmless()
}

async fn end(visit: Visit) -> Result<See, Problem> {
    let cookie = signed_out(&visit.call).await?;
    Ok(See::to("/").saying(Said::well("You are signed out.")).cookie(cookie))
}
