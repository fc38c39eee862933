//! What an agent did meets what a person pushed meanwhile. Neither overwrites the other.

use crate::branch::Branch;
use crate::error::ForgeError;
use crate::identity::Signature;
use crate::merge::{Conflict, MergedTree};
use crate::oid::Oid;
use crate::refs::{Expected, Transaction};
use crate::repository::{Bare, clone_references};

/// What became of an agent's work on its branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landing {
    /// There was nothing that the branch does not have.
    Nothing,
    /// The branch went on from where the agent started.
    Forward,
    /// A person had pushed; the branch has both.
    Merged,
    /// A person had pushed other lines at the same places. The branch is the person's, the agent's work waits
    /// on the branch of this name, and the next collection tries again.
    Conflict { conflict: Conflict, kept_on: Branch },
}

/// What is remembered of a clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    /// What the agent began with.
    pub begun: Oid,
    /// The agent's own commit that was looked at last.
    pub seen: Oid,
    /// The same work as our commits.
    pub taken: Oid,
    /// How much of it the branch has.
    pub landed: Oid,
}

impl Remembered {
    pub fn at(commit: &Oid) -> Remembered {
        let [begun, seen, taken, landed] = std::array::from_fn(|_| commit.clone());
        Remembered { begun, seen, taken, landed }
    }

    pub fn write(&self, branch: &Branch, change: Transaction, before: Option<&Remembered>) -> Transaction {
        let expected = |value: fn(&Remembered) -> &Oid| match before {
            Some(before) => Expected::At(value(before).clone()),
            None => Expected::Anything,
        };
        let base = clone_references(branch);
        let begun = match before {
            Some(_) => change,
            None => change.set(format!("{base}/begun"), &self.begun, Expected::Anything),
        };
        begun
            .set(format!("{base}/seen"), &self.seen, expected(|r| &r.seen))
            .set(format!("{base}/taken"), &self.taken, expected(|r| &r.taken))
            .set(format!("{base}/landed"), &self.landed, expected(|r| &r.landed))
    }
}

impl Bare {
    /// Whether somebody moved a branch since it was seen, and where to.
    pub fn pushed_since(&self, branch: &Branch, seen: &Oid) -> Result<Option<Oid>, ForgeError> {
        let head = self.existing_head(branch)?;
        Ok((head != *seen).then_some(head))
    }

    /// The agent's work that did not fit what a person pushed to a branch.
    pub fn unmerged_work(&self, branch: &Branch) -> Result<Option<Oid>, ForgeError> {
        self.head(&branch.unmerged())
    }

    /// The head of a branch and what is remembered of its clone.
    pub(crate) fn remembered(&self, branch: &Branch) -> Result<(Oid, Remembered), ForgeError> {
        let base = clone_references(branch);
        let mut found = self.references(&[branch.reference(), base.clone()])?;
        let missing =
            || ForgeError::NoBranch { branch: branch.to_string(), repository: self.path().to_owned() };
        let head = found.remove(&branch.reference()).ok_or_else(missing)?;
        let mut part = |name: &str| {
            let no_clone = || ForgeError::NoClone { branch: branch.to_string() };
            found.remove(&format!("{base}/{name}")).ok_or_else(no_clone)
        };
        let (seen, taken, landed) = (part("seen")?, part("taken")?, part("landed")?);
        // A clone that was made before this was remembered was not looked at before its agent was done.
        let begun = part("begun").unwrap_or_else(|_| seen.clone());
        let remembered = Remembered { begun, seen, taken, landed };
        Ok((head, remembered))
    }

    /// Brings what was taken to the branch, and remembers both in one step.
    pub(crate) fn land(
        &self,
        branch: &Branch,
        head: &Oid,
        before: &Remembered,
        mut now: Remembered,
        by: &Signature,
    ) -> Result<(Oid, Landing), ForgeError> {
        let reference = branch.reference();
        let stay = Expected::At(head.clone());
        let unmerged = branch.unmerged();
        let (new, landing) = if self.has(head, &now.taken, before)? {
            (head.clone(), Landing::Nothing)
        } else {
            let base = self.landed(head, &now.landed)?;
            match if *head == base { None } else { Some(self.apply(&base, head, &now.taken)?) } {
                None => (now.taken.clone(), Landing::Forward),
                Some(MergedTree::Clean(tree)) => {
                    let message = format!("merge what was pushed to {branch} meanwhile\n");
                    let merged = self.commit_tree(&tree, &[head, &now.taken], by, by, &message)?;
                    (merged, Landing::Merged)
                }
                Some(MergedTree::Conflict(conflict)) => {
                    (head.clone(), Landing::Conflict { conflict, kept_on: unmerged.clone() })
                }
            }
        };
        let mut change = Transaction::default().set(&reference, &new, stay);
        if let Landing::Conflict { .. } = landing {
            change = change.set(unmerged.reference(), &now.taken, Expected::Anything);
        } else {
            if before.landed != before.taken {
                // Work that waited is in the branch now.
                change = self.without(change, &unmerged)?;
            }
            now.landed = now.taken.clone();
        }
        if new != *head || now != *before {
            self.change(now.write(branch, change, Some(before)))?;
        }
        Ok((new, landing))
    }

    /// Whether the branch has it already; the usual cases are answered without asking git.
    fn has(&self, head: &Oid, taken: &Oid, before: &Remembered) -> Result<bool, ForgeError> {
        if head == taken {
            return Ok(true);
        }
        if *head == before.landed {
            return Ok(false);
        }
        self.contains(head, taken)
    }

    /// How much of the work the branch really has. A call of git that is killed may have written down that it
    /// is there and not have moved the branch.
    fn landed(&self, head: &Oid, said: &Oid) -> Result<Oid, ForgeError> {
        if head == said || self.contains(head, said)? {
            return Ok(said.clone());
        }
        Ok(self.merge_base(head, said)?.unwrap_or_else(|| said.clone()))
    }

    fn without(&self, change: Transaction, branch: &Branch) -> Result<Transaction, ForgeError> {
        Ok(match self.head(branch)? {
            Some(at) => change.delete(branch.reference(), Expected::At(at)),
            None => change,
        })
    }
}
