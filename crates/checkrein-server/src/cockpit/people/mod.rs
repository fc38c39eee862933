//! Who may come in: tokens, and browsers that are signed in.

pub mod create_token;
pub mod end_session;
pub mod revoke_token;
pub mod show;
