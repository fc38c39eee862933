//! Pieces that pages share.

mod empty;
mod field;
mod forge;
mod omitted;
mod pager;
mod passage;
mod status;
mod time;
mod words;

pub use empty::empty;
pub use field::{choice, field};
pub use forge::{pull_request, settled};
pub use omitted::omitted;
pub use pager::{newer_and_older, next_page};
pub use passage::passage;
pub use status::{checkpoint_status, severity, status};
pub use time::{ago, duration};
pub use words::{count, excerpt, sentence, shown, words_of};
