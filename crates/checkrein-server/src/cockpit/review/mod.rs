//! The review of a job: what it did, what people say about it, and what becomes of it.
//!
//! A page is of one commit. Whatever is sent from it names that commit, and is refused where there is another
//! one by then.

pub mod now;
pub mod show;

mod aside;
mod files;
mod material;
mod overview;
mod thread;

pub mod browse;
pub mod edit;
pub mod search;

pub mod comment;
pub mod decide;
pub mod mark;
pub mod resolve;
pub mod settle;

mod conflict;

use super::link;
use super::view::See;
use super::visit::Visit;

/// Pages of a review are below it.
pub fn below(id: &str, what: &str, query: &[(&str, &str)]) -> String {
    link::with_query(&link::to(&["reviews", id, what]), query)
}

/// Back to the page a form is from, at a place of it.
fn back(visit: &Visit, anchor: &str) -> See {
    let review = link::review(visit.path("id"));
    See::to(format!("{}#{}", visit.back(&review), link::encoded(anchor)))
}
