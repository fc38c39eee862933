//! How a file of an older system is told from one of ours.

use crate::document::{self, Document, Format, Node};

/// Files of an older system are JSON, and use a form ours lacks or have neither `run` nor `agent`; what else they
/// carry is none of our business (W20, W21).
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
    let steps: Vec<&Node> =
        phases.flat_map(|phase| lists.iter().flat_map(|list| values(phase.get(list)))).collect();
    let hooks: Vec<&Node> =
        values(root.get("hooks")).into_iter().flat_map(|hooks| values(Some(hooks))).collect();
    let says = |node: &&Node, words: &[&str]| words.iter().any(|word| node.get(word).is_some());
    let older = || {
        steps.iter().any(|step| says(step, &["prompt", "skill", "command"]))
            || hooks.iter().any(|hook| says(hook, &["type"]))
    };
    let ours = || [root].iter().chain(&steps).chain(&hooks).any(|node| says(node, &["run", "agent"]));
    document.format == Format::Json && (older() || !ours())
}
