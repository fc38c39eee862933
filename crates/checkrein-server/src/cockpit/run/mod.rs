//! Runs and jobs: which there are, how each stands, and what can be done with it.

mod actions;
mod chart;
mod told;

pub mod audit;
pub mod cancel;
pub mod download;
pub mod level;
pub mod list;
pub mod message;
pub mod output;
pub mod pause;
pub mod report;
pub mod rerun;
pub mod resume;
pub mod show;

use checkrein_core::run::RunId;
use maud::{Markup, html};

use super::link;
pub use actions::levels;

/// The pages of one run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tab {
    Overview,
    Output,
    Report,
    Audit,
    Companion,
}

/// The same on the page of its companion.
pub fn chat_tabs(id: &RunId) -> Markup {
    tabs(id, Tab::Companion)
}

/// Leads between the pages of a run.
fn tabs(id: &RunId, current: Tab) -> Markup {
    let tabs = [
        (Tab::Overview, "Overview", link::run(id.as_str())),
        (Tab::Output, "Output", link::to(&["runs", id.as_str(), "output"])),
        (Tab::Report, "Report", link::to(&["runs", id.as_str(), "report"])),
        (Tab::Audit, "Audit", link::to(&["runs", id.as_str(), "audit"])),
        (Tab::Companion, "Companion", link::to(&["runs", id.as_str(), "chat"])),
    ];
    html! {
        nav class="tabs" aria-label="This run" {
            ul {
                @for (tab, name, address) in tabs {
                    li { a href=(address) aria-current=[(tab == current).then_some("page")] { (name) } }
                }
            }
        }
    }
}

/// What a run is called: what it is about, else its workflow.
fn title<'r>(target: Option<&'r str>, workflow: &'r str) -> &'r str {
    target.map(str::trim).filter(|target| !target.is_empty()).unwrap_or(workflow)
}
