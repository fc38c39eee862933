//! How a file of an older system is told from one of ours.

use crate::document::{self, Document, Format, Node};

/// Files of an older system are JSON and know neither `run` nor `agent`; what else they carry is
/// none of our business (W21).
pub(super) fn is_older(document: &Document) -> bool {
    fn values(node: Option<&Node>) -> Vec<&Node> {
        match node.map(|node| &node.value) {
            Some(document::Value::Map(entries)) => entries.iter().map(|entry| &entry.value).collect(),
            Some(document::Value::List(items)) => items.iter().collect(),
            _ => Vec::new(),
        }
    }
    // Only where the words would be ours: a step's `config` or `arguments` may hold any.
    let root = &document.root;
    let lists = ["pre_steps", "steps", "post_steps"];
    let phases = values(root.get("phases")).into_iter();
    let steps = phases.flat_map(|phase| lists.iter().flat_map(|list| values(phase.get(list))));
    let hooks = values(root.get("hooks")).into_iter().flat_map(|hooks| values(Some(hooks)));
    let ours = |node: &Node| node.get("run").is_some() || node.get("agent").is_some();
    document.format == Format::Json && !ours(root) && !steps.chain(hooks).any(ours)
}
