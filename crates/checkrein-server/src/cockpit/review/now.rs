//! Where a review stands, in a few words for the script: what it looks at when something happens, since the
//! page itself is large and stays as it is.

use checkrein_engine::Reviewed;
use maud::{Markup, html};
use serde_json::Value;

use crate::cockpit::page::Page;
use crate::cockpit::view::View;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::get("/reviews/{id}/now", show)
}

pub fn address(id: &str) -> String {
    super::below(id, "now", &[])
}

async fn show(visit: Visit) -> Result<View, Problem> {
    let reviewed = visit.engine().review(visit.by()?, visit.path("id")).await?;
    Ok(View::new("Where a review stands", region(&reviewed)).about(&reviewed.view.run.id))
}

/// What the script compares with what it was when the page was loaded.
pub fn region(reviewed: &Reviewed) -> Markup {
    let checkpoint = &reviewed.checkpoint.checkpoint;
    let asked = reviewed.asked();
    let last = reviewed.comments.last();
    html! {
        div id="now" data-region="" hidden {
            span data-head=(asked.get("head").and_then(Value::as_str).unwrap_or_default())
                data-status=(checkpoint.status.name().replace('_', " "))
                data-by=[checkpoint.resolved_by.as_deref()] data-comments=(reviewed.comments.len())
                data-commented=[last.map(|comment| comment.by.as_str())] {}
        }
    }
}
