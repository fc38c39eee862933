use checkrein_engine::Act;

use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::post("/people/tokens/{id}/revoke", revoke).to(Act::ManageTokens)
}

async fn revoke(visit: Visit) -> Result<See, Problem> {
    let token = visit.engine().revoke_token(visit.by()?, visit.path("id")).await?;
    let said = format!("The token {} of {} is worthless now.", token.id, token.principal.name);
    Ok(See::to("/people").saying(Said::well(said)))
}
