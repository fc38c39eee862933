//! What programs send and get. The command line's `--json` answers have the same shapes.

pub mod checkpoint;
pub mod page;
