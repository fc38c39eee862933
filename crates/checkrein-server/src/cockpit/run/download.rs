use checkrein_core::run::RunId;
use checkrein_engine::EventsOf;
use checkrein_store::Position;

use super::audit::{READ_AT_ONCE, line};
use crate::cockpit::layout::JSON_LINES;
use crate::cockpit::page::Page;
use crate::cockpit::view::Download;
use crate::cockpit::visit::Visit;
use crate::error::Problem;

pub fn page() -> Page {
    Page::get("/runs/{id}/audit.jsonl", download)
}

/// Every event of a run, a line each.
async fn download(visit: Visit) -> Result<Download, Problem> {
    let by = visit.by()?;
    let id = visit.engine().run_id(by, visit.path("id")).await?;
    let of = EventsOf::Run(id.clone());
    let (mut text, mut after) = (String::new(), Position(0));
    loop {
        let events = visit.engine().events(by, &of, after, READ_AT_ONCE).await?;
        for event in &events {
            after = event.position;
            text.push_str(&line(event));
            text.push('\n');
        }
        if events.len() < READ_AT_ONCE {
            break;
        }
    }
    Ok(Download {
        name: format!("audit-{id}.jsonl"),
        media_type: JSON_LINES,
        bytes: text.into_bytes(),
        about: Some(RunId::new(id)),
    })
}
