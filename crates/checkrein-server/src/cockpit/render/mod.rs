//! What people and agents wrote, as HTML: it shows what it says and can do nothing else.
//!
//! Every function here writes only tags of its own around escaped text, so there is no list of what to take
//! out. Colours and marks are classes, since no style may stand in a page.

pub mod diff;
pub mod markdown;
pub mod syntax;
pub mod text;
