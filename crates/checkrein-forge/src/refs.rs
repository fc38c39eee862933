//! References: read together, changed together or not at all.

use std::collections::BTreeMap;

use crate::error::ForgeError;
use crate::oid::Oid;
use crate::repository::Bare;

/// What a reference has to be for a change to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    Anything,
    Absent,
    At(Oid),
}

struct Step {
    reference: String,
    new: Option<Oid>,
    expected: Expected,
}

#[derive(Default)]
pub(crate) struct Transaction {
    steps: Vec<Step>,
}

impl Transaction {
    pub fn set(mut self, reference: impl Into<String>, new: &Oid, expected: Expected) -> Transaction {
        self.steps.push(Step { reference: reference.into(), new: Some(new.clone()), expected });
        self
    }

    pub fn delete(mut self, reference: impl Into<String>, expected: Expected) -> Transaction {
        self.steps.push(Step { reference: reference.into(), new: None, expected });
        self
    }
}

impl Bare {
    /// The references of these names, or below them, that are there.
    pub(crate) fn references(&self, names: &[String]) -> Result<BTreeMap<String, Oid>, ForgeError> {
        let call = self.call(["for-each-ref", "--format=%(objectname) %(refname)", "--"]).args(names);
        let output = call.run()?;
        let mut found = BTreeMap::new();
        for line in String::from_utf8_lossy(&output).lines() {
            if let Some((oid, name)) = line.split_once(' ') {
                found.insert(name.to_owned(), Oid::parse(oid)?);
            }
        }
        Ok(found)
    }

    /// Changes all references or none. One that is not where it was expected is told apart from a failure.
    pub(crate) fn change(&self, transaction: Transaction) -> Result<(), ForgeError> {
        let mut input = Vec::new();
        for step in &transaction.steps {
            let old = match &step.expected {
                Expected::Anything => String::new(),
                Expected::Absent => step.new.as_ref().map(Oid::zero).unwrap_or_default(),
                Expected::At(oid) => oid.to_string(),
            };
            let line = match &step.new {
                Some(new) => format!("update {}\0{new}\0{old}\0", step.reference),
                None => format!("delete {}\0{old}\0", step.reference),
            };
            input.extend(line.into_bytes());
        }
        let call = self.call(["update-ref", "--stdin", "-z"]);
        match call.run_with(input) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.moved(&transaction)?.unwrap_or(error)),
        }
    }

    fn moved(&self, transaction: &Transaction) -> Result<Option<ForgeError>, ForgeError> {
        let names: Vec<String> = transaction.steps.iter().map(|step| step.reference.clone()).collect();
        let there = self.references(&names)?;
        for step in &transaction.steps {
            let found = there.get(&step.reference).cloned();
            let expected = match &step.expected {
                Expected::Anything => continue,
                Expected::Absent => None,
                Expected::At(oid) => Some(oid.clone()),
            };
            if found != expected {
                let name = step.reference.strip_prefix("refs/heads/").unwrap_or(&step.reference);
                return Ok(Some(ForgeError::Moved { branch: name.to_owned(), expected, found }));
            }
        }
        Ok(None)
    }
}
