//! A job that goes on on another machine: its repository is made anew of what the forge has, and whoever worked on it
//! before is kept from pushing to it late.
//!
//! Nobody pushes by force, so a push is refused unless it goes on from what is there. Whoever takes a branch over puts
//! a commit of its own on it first, the fence, which names its lease. Whoever was cut off has no commit that goes on
//! from a fence of a later lease, since it takes none over (`receive`); so all it still pushes is refused.

use std::path::Path;

use super::git::sorted;
use super::{Pushed, Remote, RemoteError};
use crate::branch::{Branch, Names};
use crate::error::ForgeError;
use crate::git::Git;
use crate::identity::{Identity, Signature};
use crate::log::range;
use crate::oid::Oid;
use crate::refs::{Expected, Transaction};
use crate::repository::{Bare, FETCH, Format, clone_references};

/// How a fence says under which lease it was put up.
const TRAILER: &str = "Checkrein-Lease";

impl Bare {
    /// Makes the repository of a job of its main branch in the forge, with objects named like this one. A repository
    /// that is there already is opened.
    pub fn create_there(
        git: &Git,
        path: &Path,
        names: Names,
        remote: &Remote,
        like: Option<&Oid>,
    ) -> Result<Bare, RemoteError> {
        Bare::build(git, path, names, like.map_or(Format::Sha1, Format::of), |bare| {
            let name = bare.names().main();
            let refspec = format!("+{0}:{0}", name.reference());
            let call = bare.remote_call(remote, &FETCH).arg("--update-head-ok").arg("--");
            call.arg(remote.git_url()).arg(refspec).run().map_err(|error| sorted(error, remote))?;
            let there = bare.existing_head(&name)?;
            Ok(bare.remember_there(name.as_str(), &there)?)
        })
    }

    /// Puts a branch where it is in the forge, whatever was here; where that is. What was here alone is kept beside it,
    /// and what is remembered of its clone is forgotten. One that is gone there is what its pull request has kept.
    pub fn renew(
        &self,
        remote: &Remote,
        branch: &Branch,
        pull: Option<u64>,
    ) -> Result<Option<Oid>, RemoteError> {
        let there = self.remote_heads(remote, &[branch.as_str()])?.into_iter().flatten().next();
        match (&there, pull) {
            (Some(_), _) => self.fetch_there(remote, branch.as_str())?,
            (None, Some(number)) => {
                self.fetch_reference(remote, &format!("refs/pull/{number}/head"), branch.as_str())?;
            }
            (None, None) => {}
        }
        let there = match (&there, pull) {
            (None, None) => None,
            _ => self.there(branch.as_str(), "seen")?,
        };
        let mut change = Transaction::default();
        for (name, at) in self.references(&[clone_references(branch)])? {
            change = change.delete(name, Expected::At(at));
        }
        let here = self.head(branch)?;
        if let Some(here) = &here
            && !there.as_ref().is_some_and(|there| self.contains(there, here).unwrap_or(false))
        {
            change = change.set(left(branch, here), here, Expected::Anything);
        }
        let expected = here.clone().map_or(Expected::Absent, Expected::At);
        change = match (&there, here) {
            (Some(there), _) => change.set(branch.reference(), there, expected),
            (None, Some(_)) => change.delete(branch.reference(), expected),
            (None, None) => change,
        };
        self.change(change)?;
        if let Some(there) = &there {
            self.remember_there(branch.as_str(), there)?;
        }
        Ok(there)
    }

    /// Puts a fence on a branch that is as it is in the forge: nobody who pushed to it before can go on with it.
    /// Whether it stands; where somebody pushed meanwhile, it does not.
    pub fn fence(
        &self,
        remote: &Remote,
        branch: &Branch,
        epoch: u64,
        by: &Signature,
    ) -> Result<bool, RemoteError> {
        let here = self.existing_head(branch)?;
        let message = format!("checkrein: goes on on another machine\n\n{TRAILER}: {epoch}\n");
        let fence = self.commit_tree(&self.tree_of(&here)?, &[&here], by, by, &message)?;
        match self.push_to(remote, &fence, branch.as_str())? {
            Pushed::Done => {
                self.advance(branch, &here, &fence)?;
                Ok(true)
            }
            Pushed::Behind => Ok(false),
            Pushed::Refused(said) => Err(RemoteError::Refused { status: 403, said }),
        }
    }

    /// Whether what came to a branch in the forge has a fence of somebody whose lease is a later one.
    pub(super) fn is_fenced(&self, here: &Oid, there: &Oid, engine: &Identity) -> Result<bool, ForgeError> {
        let Some(epoch) = self.epoch() else { return Ok(false) };
        let format = format!("--format=%ce%x00%(trailers:key={TRAILER},valueonly,separator=%x2C)");
        let output =
            self.call(["log", &format, "--no-show-signature"]).args(range(Some(here), there)).run()?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let later = |line: &str| {
            let (email, said) = line.split_once('\0')?;
            let said: u64 = said.trim().parse().ok()?;
            (email == engine.email() && said > epoch).then_some(())
        };
        Ok(text.lines().any(|line| later(line).is_some()))
    }
}

/// Where work is kept that was on a branch here when the branch had gone on elsewhere.
fn left(branch: &Branch, at: &Oid) -> String {
    format!("refs/checkrein/left/{branch}/{at}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a worker that was overtaken would have to take over to push behind the fence.
    #[test]
    fn a_fence_of_a_later_lease_is_not_taken_over() {
        let place = tempfile::tempdir().unwrap();
        let git = Git::find_in(&std::env::var_os("PATH").unwrap_or_default()).unwrap();
        let engine = Identity::new("checkrein", "engine@checkrein.invalid").unwrap();
        let agent = Identity::new("agent", "agent@checkrein.invalid").unwrap();
        let bare = Bare::create(&git, &place.path().join("job.git"), Names::Own, &engine.at(1)).unwrap();
        let start = bare.existing_head(&Names::Own.main()).unwrap();
        let tree = bare.tree_of(&start).unwrap();
        let commit = |by: &Identity, on: &Oid, message: &str| {
            bare.commit_tree(&tree, &[on], &by.at(2), &by.at(2), message).unwrap()
        };
        let fence = commit(&engine, &start, &format!("taken over\n\n{TRAILER}: 3\n"));
        let work = commit(&agent, &fence, "work of another attempt\n");
        let said = commit(&agent, &start, &format!("an agent can say anything\n\n{TRAILER}: 9\n"));
        let plain = commit(&engine, &start, "what the phase begins with\n");
        for (epoch, there, fenced) in [
            (Some(2), &fence, true),
            (Some(2), &work, true),
            (Some(3), &work, false),
            (Some(4), &work, false),
            (None, &work, false),
            (Some(2), &said, false),
            (Some(2), &plain, false),
        ] {
            let bare = bare.clone().under(epoch);
            assert_eq!(bare.is_fenced(&start, there, &engine).unwrap(), fenced, "{epoch:?} {there}");
        }
        assert!(
            !bare.clone().under(Some(2)).is_fenced(&fence, &work, &engine).unwrap(),
            "it is ours already"
        );
    }
}
