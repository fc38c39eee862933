//! What a workflow extends, nearest first, and what the whole chain says about the policy.

use std::sync::Arc;

use super::Workflow;
use crate::document::{Document, Gravity, Problem, Problems};
use crate::policy::{Block, Layer};

/// Nobody builds on a taller tower; one that seems taller is a circle under changing names.
const CHAIN_MAX: usize = 32;

impl Workflow {
    /// The workflow this one starts from, as it is written.
    pub fn extends(&self) -> Option<&str> {
        self.file.extends.as_deref()
    }

    /// `document` and everything it extends, nearest first. `find` brings what a workflow names in its
    /// `extends`; documents are the same if their names are.
    pub fn chain(
        document: &Arc<Document>,
        mut find: impl FnMut(&Workflow, &str) -> Result<Arc<Document>, Problems>,
    ) -> Result<(Vec<Workflow>, Problems), Problems> {
        let mut problems = Problems::default();
        let mut chain: Vec<Workflow> = Vec::new();
        let mut next = Some(Arc::clone(document));
        while let Some(document) = next.take() {
            if let Some(circle) = circle(chain.iter(), &document.name) {
                problems.push(circle);
                return Err(problems);
            }
            match Workflow::read_part(&document) {
                Ok((workflow, odd)) => {
                    problems.extend(odd);
                    next = workflow.extends().map(|name| find(&workflow, name)).transpose()?;
                    chain.push(workflow);
                }
                Err(wrong) => {
                    problems.extend(wrong);
                    return Err(problems);
                }
            }
            if chain.len() > CHAIN_MAX {
                let message = format!("more than {CHAIN_MAX} workflows extend one another");
                problems.push(document.problem(Gravity::Error, &["extends"], message));
                return Err(problems);
            }
        }
        // A phase may be in another file of the chain; then it is looked for in all of them.
        if let [alone] = chain.as_slice() {
            problems.extend(alone.unknown_phases(&alone.phase_names().collect::<Vec<_>>()));
            return problems.refuse_or(chain);
        }
        Ok((chain, problems))
    }

    /// What a chain contributes to its policy, the root first.
    ///
    /// A phase that asks for approval itself is gated whoever asks (W17), so the gates of the others come
    /// again after the nearest file: its list of gates replaces a list, and must not open a gate.
    pub fn layers(chain: &[Workflow]) -> Vec<Layer> {
        let own: Vec<Layer> = chain.iter().rev().filter_map(Workflow::layer).collect();
        let gates = |layer: &Layer| {
            let gated_phases = layer.block.gated_phases.clone();
            let block = Block { gated_phases, ..Block::default() };
            (!block.gated_phases.is_empty()).then(|| Layer { block, ..layer.clone() })
        };
        let inherited = own.iter().take(own.len().saturating_sub(1)).filter_map(gates);
        let inherited: Vec<Layer> = inherited.collect();
        own.into_iter().chain(inherited).collect()
    }

    /// Whether a chain is one: it has an end, and it is all there.
    pub(crate) fn check_chain(chain: &[Workflow]) -> Problems {
        let mut problems = Problems::default();
        for (index, workflow) in chain.iter().enumerate() {
            if let Some(circle) = circle(chain.iter().take(index), &workflow.document.name) {
                problems.push(circle);
                return problems;
            }
        }
        if let Some((last, name)) = chain.last().and_then(|last| Some((last, last.extends()?))) {
            let message = format!("`{name}` was not found");
            let hint = "`extends` names another workflow file";
            problems.push(last.document.problem(Gravity::Error, &["extends"], message).hint(hint));
        }
        problems
    }
}

/// The complaint about a chain that comes back to `name`.
fn circle<'c>(before: impl Iterator<Item = &'c Workflow>, name: &str) -> Option<Problem> {
    let circle: Vec<&Workflow> = before.skip_while(|workflow| workflow.document.name != name).collect();
    let last = circle.last()?;
    let names = circle.iter().map(|workflow| workflow.document.name.as_str()).chain([name]);
    let told: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    let message = format!("workflows extend each other in a circle: {}", told.join(" extends "));
    let hint = "one of them must not extend the next";
    Some(last.document.problem(Gravity::Error, &["extends"], message).hint(hint))
}
