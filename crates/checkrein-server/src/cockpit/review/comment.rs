use checkrein_core::run::job::NewComment;
use checkrein_engine::Act;

use super::back;
use crate::cockpit::page::Page;
use crate::cockpit::view::See;
use crate::cockpit::visit::Visit;
use crate::error::{Kind, Problem};
use crate::wire::review::CommentBody;

pub fn page() -> Page {
    Page::post("/reviews/{id}/comments", comment).to(Act::Comment)
}

async fn comment(visit: Visit) -> Result<See, Problem> {
    let form = &visit.form;
    let line = match form.filled("line").map(str::parse::<u32>) {
        None => None,
        Some(Ok(line)) => Some(line),
        Some(Err(_)) => {
            return Err(Problem::new(Kind::Invalid, "the line is not a number").hint("lines count from 1"));
        }
    };
    let body = CommentBody {
        text: form.get("text").unwrap_or_default().replace("\r\n", "\n"),
        file: form.filled("file").map(str::to_owned),
        line,
        reply_to: form.filled("reply_to").map(str::to_owned),
    };
    let new = NewComment::try_from(body).map_err(|bad| Problem::new(Kind::Invalid, bad.to_string()))?;
    let made = visit.engine().comment(visit.by()?, visit.path("id"), new, None).await?;
    Ok(back(&visit, &made.id))
}
