//! A job's branches as they show in the repository the job started from.
//!
//! People look at them with the tools they have, and may commit on them; what they commit is taken over. The
//! job's own repository is what counts: a mirror that cannot be written is no harm.

use crate::branch::Branch;
use crate::error::ForgeError;
use crate::oid::Oid;
use crate::refs::Expected;
use crate::refs::Transaction;
use crate::repository::{Bare, Source};

impl Bare {
    /// Shows a branch there as it is here. One that somebody has checked out, or that has commits of theirs,
    /// is left alone; whether it shows.
    pub fn mirror(&self, source: &Source, branch: &Branch) -> Result<bool, ForgeError> {
        let Some(head) = self.head(branch)? else { return Ok(false) };
        let reference = branch.reference();
        match self.source_head(source, &reference)? {
            Some(there) if there == head => return Ok(true),
            Some(there) => {
                let known = self.has_object(&there)? && self.contains(&head, &there)?;
                if !known || self.is_checked_out(source, &reference)? {
                    return Ok(false);
                }
            }
            None => {}
        }
        self.send(&source.directory, &head, &reference)?;
        Ok(true)
    }

    /// Takes it away there, unless somebody has it checked out or it has commits that are not part of
    /// `merged`.
    pub fn unmirror(&self, source: &Source, branch: &Branch, merged: &Oid) -> Result<(), ForgeError> {
        let reference = branch.reference();
        let Some(there) = self.source_head(source, &reference)? else { return Ok(()) };
        let known = self.has_object(&there)? && self.contains(merged, &there)?;
        if !known || self.is_checked_out(source, &reference)? {
            return Ok(());
        }
        let delete = ["update-ref", "-d", reference.as_str(), there.as_str()];
        self.git().call_on(&source.directory, delete).answer().map(drop)
    }

    /// Brings commits that somebody made there to the branch here; where it is then, if there were any.
    pub fn take_mirrored(&self, source: &Source, branch: &Branch) -> Result<Option<Oid>, ForgeError> {
        let (Some(here), Some(there)) = (self.head(branch)?, self.source_head(source, &branch.reference())?)
        else {
            return Ok(None);
        };
        if here == there || (self.has_object(&there)? && self.contains(&here, &there)?) {
            return Ok(None);
        }
        self.fetch(&source.directory, &format!("+{there}:refs/checkrein/mirrored"))?;
        // Only what goes on from here; a history of its own is nobody's answer to this branch.
        if !self.contains(&there, &here)? {
            return Ok(None);
        }
        self.change(Transaction::default().set(branch.reference(), &there, Expected::At(here)))?;
        Ok(Some(there))
    }

    fn has_object(&self, oid: &Oid) -> Result<bool, ForgeError> {
        Ok(self.call(["cat-file", "-e", &format!("{oid}^{{commit}}")]).answer()?.code == 0)
    }
}
