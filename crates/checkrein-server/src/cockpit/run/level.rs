use checkrein_engine::Act;

use crate::cockpit::link;
use crate::cockpit::page::Page;
use crate::cockpit::said::Said;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

pub fn page() -> Page {
    Page::post("/runs/{id}/level", change).to(Act::ManageRuns)
}

async fn change(visit: Visit) -> Result<See, Problem> {
    let said = visit.form.filled("block").or_else(|| visit.form.filled("level"));
    let autonomy = said.ok_or_else(|| {
        Problem::new(Kind::Invalid, "no level was chosen").hint("choose one, or write settings of your own")
    })?;
    let view = visit.engine().change_level(visit.by()?, visit.path("id"), autonomy, None).await?;
    let level = view.run.policy().level.clone().unwrap_or_else(|| "as you wrote it".to_owned());
    let said = Said::well(format!("From the next boundary on the level is {level}."));
    Ok(See::to(link::run(view.run.id.as_str())).saying(said))
}
