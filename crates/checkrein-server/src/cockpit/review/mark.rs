use checkrein_core::run::job::FileMark;
use checkrein_engine::Act;

use super::back;
use crate::cockpit::page::Page;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};

pub fn page() -> Page {
    Page::post("/reviews/{id}/marks", mark).to(Act::GiveVerdict)
}

async fn mark(visit: Visit) -> Result<See, Problem> {
    let mark = match visit.form.get("mark").unwrap_or_default() {
        "approved" => Some(FileMark::Approved),
        "changes_requested" => Some(FileMark::ChangesRequested),
        "none" => None,
        other => return Err(Problem::new(Kind::Invalid, format!("`{other}` is no mark"))),
    };
    let file = visit.form.get("file").unwrap_or_default();
    let head = visit.form.filled("head");
    visit.engine().mark_file(visit.by()?, visit.path("id"), file, mark, head, None).await?;
    let anchor = visit.form.get("anchor").unwrap_or("changes").to_owned();
    Ok(back(&visit, &anchor))
}
