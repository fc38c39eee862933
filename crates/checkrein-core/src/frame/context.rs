//! What a frame is shown of the rest of its tree, within a budget.
//!
//! In the order in which room is given away: the frame itself in full, its parent, the other
//! ancestors, its own finished children, its completed siblings, its completed uncles (siblings of
//! any ancestor). A cousin is somebody else's detail: it reaches this frame only through the summary
//! of an uncle.
//!
//! A sibling comes with its artifacts, since the frame may build on them.
//!
//! Relatives beyond the parent are shown whole or left out and counted; a half-told summary of a
//! distant one helps nobody. Artifacts that do not fit are counted. The parent is cut if it must be, but never left out, and may claim a
//! quarter of the budget: a frame that does not know what it is for solves the wrong problem.

mod element;

use thiserror::Error;

use self::element::{Element, enclose};
use super::status::FrameStatus;
use super::tree::{Frame, FrameTree};

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ContextError {
    #[error("no frame `{0}`")]
    Unknown(String),
    #[error("a context of frame `{id}` needs at least {needed} tokens, the budget is {budget}")]
    BudgetTooSmall { id: String, budget: usize, needed: usize },
}

/// Tokens in a text, estimated at four bytes each and rounded up. Close enough for English and code;
/// other scripts take more bytes per token, so for them the estimate is on the safe side.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(BYTES_PER_TOKEN)
}

const BYTES_PER_TOKEN: usize = 4;

/// The context of a frame as a well-formed XML element of at most `budget_tokens`.
pub fn assemble_context(tree: &FrameTree, id: &str, budget_tokens: usize) -> Result<String, ContextError> {
    let frame = tree.get(id).ok_or_else(|| ContextError::Unknown(id.to_owned()))?;
    let ancestors: Vec<&Frame> = tree.ancestors(id).collect();

    let current = Element::in_full("current", frame);
    let parent = ancestors.first().map(|parent| Element::summary("parent", parent));

    let budget = budget_tokens.saturating_mul(BYTES_PER_TOKEN);
    let least = current.minimum() + parent.as_ref().map_or(0, Element::minimum);
    let Some(mut room) = budget.checked_sub(OPEN.len() + CLOSE.len()).filter(|room| *room >= least) else {
        let needed = (OPEN.len() + CLOSE.len() + least).div_ceil(BYTES_PER_TOKEN);
        return Err(ContextError::BudgetTooSmall { id: id.to_owned(), budget: budget_tokens, needed });
    };

    let mut context = String::from(OPEN);
    let reserved = parent.as_ref().map_or(0, |parent| parent.len_up_to(budget / 4).max(parent.minimum()));
    let own = current.within(room.saturating_sub(reserved).max(current.minimum()));
    room = room.saturating_sub(own.len());
    context.push_str(&own);
    if let Some(parent) = parent {
        let parent = parent.within(room);
        room = room.saturating_sub(parent.len());
        context.push_str(&parent);
    }

    let completed = |frame: &&Frame| frame.status == FrameStatus::Completed;
    let higher: Vec<&Frame> = ancestors.iter().skip(1).copied().collect();
    let children = tree.children(id).rev().filter(|child| child.status.is_folded()).collect();
    let siblings = tree.siblings(frame).rev().filter(completed).collect();
    let uncles =
        ancestors.iter().flat_map(|ancestor| tree.siblings(ancestor).rev().filter(completed)).collect();
    for (tag, relatives) in
        [("ancestors", higher), ("children", children), (SIBLINGS, siblings), ("uncles", uncles)]
    {
        let section = section(tag, &relatives, room);
        room = room.saturating_sub(section.len());
        context.push_str(&section);
    }
    context.push_str(CLOSE);
    Ok(context)
}

const OPEN: &str = "<frame-context>\n";
const CLOSE: &str = "</frame-context>\n";
const SIBLINGS: &str = "siblings";

/// As many relatives as fit, the nearest and latest first; the rest is counted. Nothing at all if
/// there is not even room for the count.
fn section(tag: &str, relatives: &[&Frame], room: usize) -> String {
    let room = room.checked_sub(enclose(tag, "", relatives.len()).len());
    let Some(mut left) = room.filter(|_| !relatives.is_empty()) else { return String::new() };
    let mut inner = String::new();
    let mut shown = 0;
    for relative in relatives {
        let element = match tag {
            SIBLINGS => Element::with_artifacts("frame", relative),
            _ => Element::summary("frame", relative),
        };
        let Some(element) = element.texts_within(left) else { break };
        left -= element.len();
        inner.push_str(&element);
        shown += 1;
    }
    enclose(tag, &inner, relatives.len() - shown)
}

#[cfg(test)]
mod tests;
