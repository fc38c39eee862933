//! References: read together, changed together or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io;

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
    /// The references of these names, or below them, that are there. A job asks for them often, and their
    /// files are quicker read than git is started; where each is read before the list of packed ones, as git
    /// does it, none is missed while it is packed.
    pub(crate) fn references(&self, names: &[String]) -> Result<BTreeMap<String, Oid>, ForgeError> {
        let mut found = BTreeMap::new();
        for name in names {
            self.loose(name, &mut found)?;
        }
        let packed = self.path().join("packed-refs");
        let text = match fs::read_to_string(&packed) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
            read => read.map_err(|error| ForgeError::file(&packed, error))?,
        };
        let wanted = |name: &str| {
            let below =
                |above: &String| name.strip_prefix(above.as_str()).is_some_and(|rest| rest.starts_with('/'));
            names.iter().any(|known| known == name || below(known))
        };
        // Beside the references there are a heading and, with `^`, what tags stand for.
        for (oid, name) in text.lines().filter_map(|line| line.split_once(' ')) {
            if !oid.starts_with('#') && wanted(name) && !found.contains_key(name) {
                found.insert(name.to_owned(), Oid::parse(oid)?);
            }
        }
        Ok(found)
    }

    fn loose(&self, name: &str, found: &mut BTreeMap<String, Oid>) -> Result<(), ForgeError> {
        let path = self.path().join(name);
        let failed = |error| ForgeError::file(&path, error);
        match fs::read_to_string(&path) {
            Ok(text) => {
                found.insert(name.to_owned(), Oid::parse(text.trim())?);
            }
            Err(error) if error.kind() == io::ErrorKind::IsADirectory => {
                for entry in fs::read_dir(&path).into_iter().flatten() {
                    let entry = entry.map_err(failed)?.file_name();
                    let entry = entry.to_string_lossy();
                    if !entry.ends_with(".lock") {
                        self.loose(&format!("{name}/{entry}"), found)?;
                    }
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(())
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
