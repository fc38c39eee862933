//! Agents by name: what their process is started with, what it tells while it works, and what people say to it.

mod activity;
mod follow;
mod host;
mod message;
mod pause;
mod request;

pub use activity::{ActivityItem, ActivityPage};
pub use request::ModelRequest;

pub(crate) use follow::{Follower, used_so_far};
pub(crate) use host::{Hosted, Hosting, host_argv, keep_session, session_kept, variables_of, write_task};
pub(crate) use message::deliver;
pub(crate) use request::keep_requests;
