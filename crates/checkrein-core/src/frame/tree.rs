//! The tree of frames of one session, and the five moves on it.
//!
//! Walks are loops, never recursion: an agent may nest as deep as it likes.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::signals::Signals;
use super::status::{FrameStatus, PopStatus};

/// One goal and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    pub id: String,
    pub parent: Option<String>,
    pub goal: String,
    pub status: FrameStatus,
    /// What is left of the frame once it is folded.
    #[serde(default)]
    pub summary: Option<String>,
    #[serde(default)]
    pub artifacts: Vec<String>,
    #[serde(default)]
    pub decisions: Vec<String>,
    /// Where the full log lies.
    #[serde(default)]
    pub log_path: Option<String>,
    #[serde(default)]
    pub invalidation_reason: Option<String>,
    /// When work in it began; a planned one has not begun.
    #[serde(default)]
    pub began_at_ms: Option<u64>,
    /// When it was folded or withdrawn.
    #[serde(default)]
    pub ended_at_ms: Option<u64>,
    /// The type of the agent that works in it, where it is not the session's own.
    #[serde(default)]
    pub agent: Option<String>,
    /// By which a client knows the sub-agent that works in it.
    #[serde(default)]
    pub agent_key: Option<String>,
    /// What was measured while it was worked in.
    #[serde(default)]
    pub signals: Signals,
}

/// What a pop leaves behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fold {
    pub status: PopStatus,
    pub summary: Option<String>,
    /// Added to the ones recorded on the way.
    pub artifacts: Vec<String>,
    pub decisions: Vec<String>,
    pub log_path: Option<String>,
}

/// What an invalidation did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Invalidated {
    /// The frame and its planned descendants.
    pub invalidated: Vec<String>,
    /// Descendants that go on although what they build on is gone; worth a warning.
    pub still_in_progress: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TreeError {
    #[error("no frame is active")]
    NoCurrent,
    #[error("no frame `{0}`")]
    Unknown(String),
    #[error("frame `{0}` exists already")]
    Duplicate(String),
    #[error("frame `{0}` is a root and cannot be popped")]
    PopRoot(String),
    #[error("frame `{id}` is {status} and cannot be activated")]
    NotActivatable { id: String, status: FrameStatus },
    #[error("frame `{id}` is {status}, so nothing can be planned in it")]
    Closed { id: String, status: FrameStatus },
    #[error("frame `{0}` is invalidated already")]
    AlreadyInvalidated(String),
    #[error("frame `{id}` is stored before its parent `{parent}`, or without it")]
    Orphan { id: String, parent: String },
    #[error("frame `{id}` is {status}; only a planned one can be edited")]
    NotPlanned { id: String, status: FrameStatus },
    #[error("frame `{id}` is {status}, not in progress")]
    NotInProgress { id: String, status: FrameStatus },
    #[error("frame `{id}` is {status} and cannot be the active one")]
    CurrentNotInProgress { id: String, status: FrameStatus },
}

/// INVARIANT: a parent stands before its children, so there are no cycles; the current frame is in
/// progress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct FrameTree {
    nodes: Vec<Node>,
    positions: HashMap<String, usize>,
    current: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    frame: Frame,
    parent: Option<usize>,
    children: Vec<usize>,
}

/// The moves.
impl FrameTree {
    /// Begins a child of the current frame, or a root if there is none, and makes it current.
    pub fn push(&mut self, id: String, goal: String) -> Result<&Frame, TreeError> {
        let position = self.insert(Frame::new(id, goal, FrameStatus::InProgress), self.current)?;
        self.current = Some(position);
        self.current().ok_or(TreeError::NoCurrent)
    }

    /// Folds the current frame and returns to its parent. A parent that was closed in the meantime
    /// cannot be worked in; then it is the nearest ancestor that can.
    pub fn pop(&mut self, fold: Fold) -> Result<&Frame, TreeError> {
        let position = self.current.ok_or(TreeError::NoCurrent)?;
        let node = self.nodes.get_mut(position).ok_or(TreeError::NoCurrent)?;
        if node.parent.is_none() {
            return Err(TreeError::PopRoot(node.frame.id.clone()));
        }
        node.frame.fold(fold);
        self.current = self.nearest_in_progress(position);
        self.nodes.get(position).map(|node| &node.frame).ok_or(TreeError::NoCurrent)
    }

    /// Notes a later child of `parent`, by default of the current frame.
    pub fn plan(&mut self, id: String, goal: String, parent: Option<&str>) -> Result<&Frame, TreeError> {
        let parent = match parent {
            Some(parent) => self.position(parent)?,
            None => self.current.ok_or(TreeError::NoCurrent)?,
        };
        if let Some(Node { frame, .. }) = self.nodes.get(parent)
            && frame.status.is_closed()
        {
            return Err(TreeError::Closed { id: frame.id.clone(), status: frame.status });
        }
        let position = self.insert(Frame::new(id, goal, FrameStatus::Planned), Some(parent))?;
        self.nodes.get(position).map(|node| &node.frame).ok_or(TreeError::NoCurrent)
    }

    /// Makes a planned, blocked or left frame the current one. Planned ancestors begin with it, since
    /// work cannot go on inside a frame that has not begun.
    pub fn activate(&mut self, id: &str) -> Result<&Frame, TreeError> {
        let position = self.position(id)?;
        let status = self.status(position);
        if status.is_closed() {
            return Err(TreeError::NotActivatable { id: id.to_owned(), status });
        }
        self.set_status(position, FrameStatus::InProgress);
        for ancestor in self.path_up(position) {
            if self.status(ancestor) == FrameStatus::Planned {
                self.set_status(ancestor, FrameStatus::InProgress);
            }
        }
        self.current = Some(position);
        self.current().ok_or(TreeError::NoCurrent)
    }

    /// Withdraws a frame and every planned descendant. Finished descendants are history and stay;
    /// the ones in progress go on and are reported.
    pub fn invalidate(&mut self, id: &str, reason: &str) -> Result<Invalidated, TreeError> {
        let position = self.position(id)?;
        if self.status(position) == FrameStatus::Invalidated {
            return Err(TreeError::AlreadyInvalidated(id.to_owned()));
        }
        let mut outcome = Invalidated::default();
        self.withdraw(position, reason.to_owned(), &mut outcome);
        for descendant in self.positions_below(position) {
            match self.status(descendant) {
                FrameStatus::Planned => {
                    self.withdraw(descendant, format!("Parent frame invalidated: {reason}"), &mut outcome);
                }
                FrameStatus::InProgress => {
                    outcome.still_in_progress.extend(self.frame_at(descendant).map(|frame| frame.id.clone()));
                }
                FrameStatus::Completed
                | FrameStatus::Failed
                | FrameStatus::Blocked
                | FrameStatus::Invalidated => {}
            }
        }
        if self.current == Some(position) {
            self.current = self.nearest_in_progress(position);
        }
        Ok(outcome)
    }

    /// Begins a child of the current frame for somebody who works beside it; the current one stays.
    pub fn begin_aside(&mut self, id: String, goal: String) -> Result<&Frame, TreeError> {
        let parent = self.current.ok_or(TreeError::NoCurrent)?;
        let position = self.insert(Frame::new(id, goal, FrameStatus::InProgress), Some(parent))?;
        self.nodes.get(position).map(|node| &node.frame).ok_or(TreeError::NoCurrent)
    }

    /// Folds a frame that is not the current one.
    pub fn fold_aside(&mut self, id: &str, fold: Fold) -> Result<&Frame, TreeError> {
        let position = self.position(id)?;
        if self.current == Some(position) {
            return self.pop(fold);
        }
        let status = self.status(position);
        if status != FrameStatus::InProgress {
            return Err(TreeError::NotInProgress { id: id.to_owned(), status });
        }
        let node = self.nodes.get_mut(position).ok_or(TreeError::NoCurrent)?;
        node.frame.fold(fold);
        Ok(&node.frame)
    }

    /// Gives a planned frame another goal.
    pub fn edit(&mut self, id: &str, goal: String) -> Result<&Frame, TreeError> {
        let position = self.position(id)?;
        let status = self.status(position);
        if status != FrameStatus::Planned {
            return Err(TreeError::NotPlanned { id: id.to_owned(), status });
        }
        let node = self.nodes.get_mut(position).ok_or(TreeError::NoCurrent)?;
        node.frame.goal = goal;
        Ok(&node.frame)
    }

    /// Puts frames back as they were, and the current one with them.
    pub(super) fn put_back(&mut self, frames: &[Frame], current: Option<&str>) {
        for frame in frames {
            if let Some(node) =
                self.positions.get(&frame.id).and_then(|&position| self.nodes.get_mut(position))
            {
                // What was measured meanwhile was measured.
                let signals = std::mem::take(&mut node.frame.signals);
                node.frame = Frame { signals, parent: node.frame.parent.take(), ..frame.clone() };
            }
        }
        let position = current.and_then(|id| self.positions.get(id).copied());
        self.current = position.filter(|&position| self.status(position) == FrameStatus::InProgress);
    }

    pub(super) fn frame_mut(&mut self, id: &str) -> Option<&mut Frame> {
        let position = self.positions.get(id).copied()?;
        self.nodes.get_mut(position).map(|node| &mut node.frame)
    }

    /// Adds what the current frame produced and decided while it is still in progress.
    pub fn record(&mut self, artifacts: Vec<String>, decisions: Vec<String>) -> Result<(), TreeError> {
        let current = self.current.and_then(|position| self.nodes.get_mut(position));
        current.ok_or(TreeError::NoCurrent)?.frame.record(artifacts, decisions);
        Ok(())
    }
}

/// Reading.
impl FrameTree {
    /// A tree from its stored frames, parents first. Damage is reported, never repaired by guessing.
    pub fn from_frames(
        frames: impl IntoIterator<Item = Frame>,
        current: Option<&str>,
    ) -> Result<FrameTree, TreeError> {
        let mut tree = FrameTree::default();
        for frame in frames {
            let parent = match &frame.parent {
                None => None,
                Some(parent) => match tree.positions.get(parent) {
                    Some(&position) => Some(position),
                    None => {
                        return Err(TreeError::Orphan { id: frame.id, parent: parent.clone() });
                    }
                },
            };
            tree.insert(frame, parent)?;
        }
        if let Some(id) = current {
            let position = tree.position(id)?;
            let status = tree.status(position);
            if status != FrameStatus::InProgress {
                return Err(TreeError::CurrentNotInProgress { id: id.to_owned(), status });
            }
            tree.current = Some(position);
        }
        Ok(tree)
    }

    /// How many frames there are, of any status.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn current(&self) -> Option<&Frame> {
        self.current.and_then(|position| self.frame_at(position))
    }

    pub fn get(&self, id: &str) -> Option<&Frame> {
        self.positions.get(id).and_then(|&position| self.frame_at(position))
    }

    /// All frames in the order they were made, parents before children.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = &Frame> {
        self.nodes.iter().map(|node| &node.frame)
    }

    /// All frames as they are listed: what was begun, then what is planned with everything below it. Parents stand
    /// before their children.
    pub fn listed(&self) -> impl Iterator<Item = &Frame> {
        let mut ahead: Vec<bool> = Vec::with_capacity(self.nodes.len());
        for Node { frame, parent, .. } in &self.nodes {
            let below = parent.and_then(|parent| ahead.get(parent).copied()).unwrap_or(false);
            ahead.push(below || frame.status == FrameStatus::Planned);
        }
        let (planned, begun): (Vec<_>, Vec<_>) = self.frames().zip(ahead).partition(|(_, ahead)| *ahead);
        begun.into_iter().chain(planned).map(|(frame, _)| frame)
    }

    /// The roots in the order they were made.
    pub fn roots(&self) -> impl Iterator<Item = &Frame> {
        self.frames().filter(|frame| frame.parent.is_none())
    }

    /// From the parent up to the root.
    pub fn ancestors(&self, id: &str) -> impl Iterator<Item = &Frame> {
        let position = self.positions.get(id).copied();
        let path = position.map(|position| self.path_up(position)).unwrap_or_default();
        path.into_iter().filter_map(|position| self.frame_at(position))
    }

    /// In the order they were made.
    pub fn children(&self, id: &str) -> impl DoubleEndedIterator<Item = &Frame> {
        let node = self.positions.get(id).and_then(|&position| self.nodes.get(position));
        let children = node.map(|node| node.children.as_slice()).unwrap_or_default();
        children.iter().filter_map(|&position| self.frame_at(position))
    }

    /// The other children of the same parent, in the order they were made. Roots are no siblings:
    /// they have nothing in common.
    pub fn siblings(&self, frame: &Frame) -> impl DoubleEndedIterator<Item = &Frame> {
        let id = frame.id.clone();
        let children = frame.parent.as_deref().map(|parent| self.children(parent));
        children.into_iter().flatten().filter(move |sibling| sibling.id != id)
    }
}

impl FrameTree {
    fn insert(&mut self, mut frame: Frame, parent: Option<usize>) -> Result<usize, TreeError> {
        if self.positions.contains_key(&frame.id) {
            return Err(TreeError::Duplicate(frame.id));
        }
        let position = self.nodes.len();
        frame.parent = None;
        if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
            frame.parent = Some(parent.frame.id.clone());
            parent.children.push(position);
        }
        self.positions.insert(frame.id.clone(), position);
        self.nodes.push(Node { frame, parent, children: Vec::new() });
        Ok(position)
    }

    fn withdraw(&mut self, position: usize, reason: String, outcome: &mut Invalidated) {
        if let Some(Node { frame, .. }) = self.nodes.get_mut(position) {
            frame.status = FrameStatus::Invalidated;
            frame.invalidation_reason = Some(reason);
            outcome.invalidated.push(frame.id.clone());
        }
    }

    fn position(&self, id: &str) -> Result<usize, TreeError> {
        self.positions.get(id).copied().ok_or_else(|| TreeError::Unknown(id.to_owned()))
    }

    fn frame_at(&self, position: usize) -> Option<&Frame> {
        self.nodes.get(position).map(|node| &node.frame)
    }

    /// A position always comes from this tree; one that did not would be in no state to be used.
    fn status(&self, position: usize) -> FrameStatus {
        self.frame_at(position).map_or(FrameStatus::Invalidated, |frame| frame.status)
    }

    fn set_status(&mut self, position: usize, status: FrameStatus) {
        if let Some(node) = self.nodes.get_mut(position) {
            node.frame.status = status;
        }
    }

    fn path_up(&self, position: usize) -> Vec<usize> {
        let parent = |position: &usize| self.nodes.get(*position).and_then(|node| node.parent);
        std::iter::successors(parent(&position), parent).collect()
    }

    /// Depth first, in the order the frames were made.
    fn positions_below(&self, position: usize) -> Vec<usize> {
        let children = |position: usize| {
            self.nodes.get(position).into_iter().flat_map(|node| node.children.iter().rev().copied())
        };
        let mut below = Vec::new();
        let mut open: Vec<usize> = children(position).collect();
        while let Some(next) = open.pop() {
            below.push(next);
            open.extend(children(next));
        }
        below
    }

    fn nearest_in_progress(&self, position: usize) -> Option<usize> {
        self.path_up(position).into_iter().find(|&ancestor| self.status(ancestor) == FrameStatus::InProgress)
    }
}

impl Frame {
    fn new(id: String, goal: String, status: FrameStatus) -> Frame {
        Frame {
            id,
            parent: None,
            goal,
            status,
            summary: None,
            artifacts: Vec::new(),
            decisions: Vec::new(),
            log_path: None,
            invalidation_reason: None,
            began_at_ms: None,
            ended_at_ms: None,
            agent: None,
            agent_key: None,
            signals: Signals::default(),
        }
    }

    fn fold(&mut self, fold: Fold) {
        let Fold { status, summary, artifacts, decisions, log_path } = fold;
        self.status = status.into();
        self.summary = summary.or(self.summary.take());
        self.log_path = log_path.or(self.log_path.take());
        self.record(artifacts, decisions);
    }

    /// A file that is written twice is still one artifact.
    pub(super) fn record(&mut self, artifacts: Vec<String>, decisions: Vec<String>) {
        for (known, added) in [(&mut self.artifacts, artifacts), (&mut self.decisions, decisions)] {
            for text in added {
                if !known.contains(&text) {
                    known.push(text);
                }
            }
        }
    }
}

/// The stored form: what cannot be derived.
#[derive(Serialize, Deserialize)]
struct Stored {
    frames: Vec<Frame>,
    current: Option<String>,
}

impl From<FrameTree> for Stored {
    fn from(tree: FrameTree) -> Stored {
        let current = tree.current().map(|frame| frame.id.clone());
        Stored { frames: tree.nodes.into_iter().map(|node| node.frame).collect(), current }
    }
}

impl TryFrom<Stored> for FrameTree {
    type Error = TreeError;

    fn try_from(stored: Stored) -> Result<FrameTree, TreeError> {
        FrameTree::from_frames(stored.frames, stored.current.as_deref())
    }
}

#[cfg(test)]
mod tests;
