//! How this browser sees the pages, and how the server is set up.

pub mod show;
