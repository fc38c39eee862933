//! Where a block was written and which layer set a value.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::LayerRank;
use crate::document::{Document, Position};

/// Where a block was written, so that a value or a mistake can be traced to its line.
#[derive(Clone, Debug)]
pub struct Origin {
    pub name: String,
    /// The document and the way to the block in it.
    place: Option<(Arc<Document>, Vec<String>)>,
    /// Given in one piece, as an option or a variable is.
    inline: bool,
    /// In a file of an older system, whose unknown words have a ruled meaning (W8, W9, W21).
    pub(super) older: bool,
}

impl Origin {
    pub fn named(name: impl Into<String>) -> Origin {
        Origin { name: name.into(), place: None, inline: true, older: false }
    }

    pub fn within(document: &Arc<Document>, path: &[&str]) -> Origin {
        let path = path.iter().map(|segment| (*segment).to_owned()).collect();
        let place = Some((Arc::clone(document), path));
        Origin { name: document.name.clone(), place, inline: false, older: false }
    }

    /// The whole of an option or a variable.
    pub fn inline(document: &Arc<Document>) -> Origin {
        Origin { inline: true, ..Origin::within(document, &[]) }
    }

    /// The same in a file of an older system.
    pub fn older(self, older: bool) -> Origin {
        Origin { older, ..self }
    }

    pub(super) fn position(&self, field: &[&str]) -> Option<Position> {
        let (document, base) = self.place.as_ref()?;
        let path: Vec<&str> = base.iter().map(String::as_str).chain(field.iter().copied()).collect();
        Some(document.position(&path))
    }

    pub(super) fn path(&self, field: &[&str]) -> String {
        let Some((document, base)) = &self.place else { return field.join(".") };
        let path: Vec<&str> = base.iter().map(String::as_str).chain(field.iter().copied()).collect();
        document.path(&path)
    }

    /// `checkrein.yaml:7`, or just the name where a line would say nothing.
    pub(super) fn named_line(&self, field: &[&str]) -> String {
        match self.position(field) {
            Some(position) if !self.inline => format!("{}:{}", self.name, position.line),
            _ => self.name.clone(),
        }
    }

    /// The same for a place that is not in the block but elsewhere in its document.
    pub(super) fn beside(&self, path: &[&str]) -> String {
        let place = self.place.as_ref().map(|(document, _)| (Arc::clone(document), Vec::new()));
        Origin { place, ..self.clone() }.named_line(path)
    }
}

/// Which layer set a value, and through which level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    pub rank: LayerRank,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.level {
            Some(level) => write!(f, "level `{level}` ({})", self.name),
            None => f.write_str(&self.name),
        }
    }
}
