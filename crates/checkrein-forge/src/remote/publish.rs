//! The result of a job goes to the branch of the forge that it started from.

use super::{Pushed, Remote, RemoteError};
use crate::merge::{Conflict, MergedTree};
use crate::oid::Oid;
use crate::publish::Publish;
use crate::repository::{Bare, Source};

/// What became of a result in the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishedThere {
    /// The job changed nothing outside its own directory.
    Nothing,
    Moved {
        branch: String,
        to: Oid,
    },
    /// It is on a branch of its own, and a person has to merge it; where it belongs, if there is such a branch.
    Beside {
        branch: String,
        onto: Option<String>,
        why: String,
        /// What does not fit there.
        conflict: Option<Conflict>,
    },
}

/// So often the branch may move while it is merged with.
const TRIES: usize = 5;

impl Bare {
    /// Publishes a result in the forge. Doing it again finds it there.
    pub fn publish_to(&self, remote: &Remote, publish: &Publish<'_>) -> Result<PublishedThere, RemoteError> {
        let result = self.without_artefacts(publish)?;
        if result == publish.source.commit {
            return Ok(PublishedThere::Nothing);
        }
        let Some(name) = &publish.source.branch else {
            return self.beside(
                remote,
                &result,
                None,
                "the job did not start from a branch".to_owned(),
                None,
            );
        };
        let onto = || Some(name.clone());
        for _ in 0..TRIES {
            let there = self.fetch_foreign(remote, name)?;
            let result = match &there {
                Some(there) => self.joined_with_base(publish, there, result.clone())?,
                None => result.clone(),
            };
            let merged = match &there {
                None => result.clone(),
                Some(there) if self.contains(there, &result)? => {
                    return Ok(PublishedThere::Moved { branch: name.clone(), to: there.clone() });
                }
                // What somebody took away from it does not come back with the result.
                Some(there) if !self.contains(there, &publish.source.commit)? => {
                    let why = format!("branch `{name}` was rewritten since the job began");
                    return self.beside(remote, &result, onto(), why, None);
                }
                Some(there) if self.contains(&result, there)? => result.clone(),
                Some(there) => match self.merge_trees(there, &result)? {
                    MergedTree::Clean(tree) => {
                        let message = format!("merge {}\n", self.names().result());
                        self.commit_tree(&tree, &[there, &result], publish.by, publish.by, &message)?
                    }
                    MergedTree::Conflict(conflict) => {
                        let why = format!("branch `{name}` changed the same lines meanwhile");
                        return self.beside(remote, &result, onto(), why, Some(conflict));
                    }
                },
            };
            match self.push_to(remote, &merged, name)? {
                Pushed::Done => return Ok(PublishedThere::Moved { branch: name.clone(), to: merged }),
                Pushed::Behind => {}
                Pushed::Refused(why) => return self.beside(remote, &result, onto(), why, None),
            }
        }
        self.beside(remote, &result, onto(), format!("branch `{name}` moves all the time"), None)
    }

    /// Where a branch does not fit the one the job started from, as that is in the forge now.
    pub fn conflict_with_base_at(
        &self,
        remote: &Remote,
        source: &Source,
        head: &Oid,
    ) -> Result<Option<Conflict>, RemoteError> {
        let Some(name) = &source.branch else { return Ok(None) };
        let Some(there) = self.fetch_foreign(remote, name)? else { return Ok(None) };
        // A branch that was rewritten takes nothing; its result is offered beside it.
        if !self.contains(&there, &source.commit)? {
            return Ok(None);
        }
        self.keep_base(&there)?;
        Ok(self.conflict_between(head, &there)?)
    }

    fn beside(
        &self,
        remote: &Remote,
        result: &Oid,
        onto: Option<String>,
        why: String,
        conflict: Option<Conflict>,
    ) -> Result<PublishedThere, RemoteError> {
        let branch = self.names().result().to_string();
        match self.push_to(remote, result, &branch)? {
            Pushed::Done => Ok(PublishedThere::Beside { branch, onto, why, conflict }),
            Pushed::Behind => Err(RemoteError::Refused {
                status: 409,
                said: format!("branch `{branch}` is somebody else's"),
            }),
            Pushed::Refused(said) => Err(RemoteError::Refused { status: 403, said }),
        }
    }
}
