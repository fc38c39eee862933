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

use checkrein_core::run::Run;
use checkrein_engine::RunView;
use maud::{Markup, html};

use super::link;
use super::parts::excerpt;
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
pub fn chat_tabs(run: &Run) -> Markup {
    tabs(run, Tab::Companion)
}

/// Leads between the pages of a run.
fn tabs(run: &Run, current: Tab) -> Markup {
    let id = &run.id;
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
                // Only a job has a companion.
                @for (tab, name, address) in tabs.into_iter().filter(|tab| tab.0 != Tab::Companion || run.job().is_some()) {
                    li { a href=(address) aria-current=[(tab == current).then_some("page")] { (name) } }
                }
            }
        }
    }
}

/// What a run is called on its pages.
pub fn name_of(view: &RunView) -> String {
    excerpt(title(view.row.target.as_deref(), &view.row.workflow), 120)
}

/// What a run is called: what it is about, else its workflow.
fn title<'r>(target: Option<&'r str>, workflow: &'r str) -> &'r str {
    target.map(str::trim).filter(|target| !target.is_empty()).unwrap_or(workflow)
}
