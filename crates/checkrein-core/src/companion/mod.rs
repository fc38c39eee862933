//! The companion: whom people ask about a job, before it, while it goes on and after it.
//!
//! It reads, it proposes, and it drafts. What is proposed is done by a person, and no verdict is among it.

mod draft;
mod message;
mod proposal;
mod stage;

pub use draft::Draft;
pub use message::{Message, MessageStatus, Speaker, ToolUse};
pub use proposal::{Proposal, ProposalStatus, Proposed};
pub use stage::Stage;
