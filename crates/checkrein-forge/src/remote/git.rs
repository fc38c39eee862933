//! Branches between a job's repository and its forge.
//!
//! The token is handed to each call of git in its environment: it is in no file, no argument and no message.
//! Nothing is ever pushed by force.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::{Remote, RemoteError};
use crate::branch::Branch;
use crate::call::Call;
use crate::error::ForgeError;
use crate::oid::Oid;
use crate::refs::{Expected, Transaction};
use crate::repository::{Bare, FETCH};

/// How git says that a branch was moved between being looked at and being written; newer ones name the reason alone.
const MOVING: [&str; 3] = ["cannot lock ref", "incorrect old value provided", "reference already exists"];

/// What became of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch is there as it is here.
    Done,
    /// It has commits there that are not here; nothing was changed.
    Behind,
    /// The forge does not let us write to it, and says why.
    Refused(String),
}

/// What became of commits that people made in a forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// Nothing that is not here.
    Nothing,
    /// They are on the branch now, whose head this is.
    Taken(Oid),
    /// What we know to have been there is not part of it any more: somebody has rewritten the branch.
    Rewritten { there: Oid },
    /// Both sides changed the same lines; nothing was changed.
    Conflict { there: Oid },
}

/// Where commits of people are taken from.
#[derive(Clone, Copy, Debug)]
pub enum TakenFrom<'a> {
    /// The branch, which was seen there.
    Branch { there: &'a Oid },
    /// A pull request keeps what was on its branch.
    Pull { number: u64 },
}

impl Bare {
    /// The commits of branches in a forge, in the order they are asked for; none where one is not there.
    pub fn remote_heads(&self, remote: &Remote, branches: &[&str]) -> Result<Vec<Option<Oid>>, RemoteError> {
        let names: Vec<String> = branches.iter().map(|branch| format!("refs/heads/{branch}")).collect();
        let call = self.remote_call(remote, &["ls-remote", "--quiet", "--refs", "--", &remote.git_url()]);
        let output = call.args(&names).run().map_err(|error| sorted(error, remote))?;
        let text = String::from_utf8_lossy(&output);
        let found: Vec<(&str, &str)> = text.lines().filter_map(|line| line.split_once('\t')).collect();
        let head = |name: &String| {
            let oid = found.iter().find(|(_, known)| known == name).map(|(oid, _)| *oid);
            oid.map(Oid::parse).transpose()
        };
        names.iter().map(head).collect::<Result<_, _>>().map_err(RemoteError::Git)
    }

    /// Brings a commit to a branch of the forge, where that takes the branch forward.
    pub fn push_to(&self, remote: &Remote, commit: &Oid, branch: &str) -> Result<Pushed, RemoteError> {
        let refspec = format!("{commit}:refs/heads/{branch}");
        let url = remote.git_url();
        let call = self.remote_call(
            remote,
            &[
                "push",
                "--quiet",
                "--porcelain",
                "--no-verify",
                "--no-signed",
                "--recurse-submodules=no",
                "--",
                &url,
                &refspec,
            ],
        );
        let place = call.place();
        let answer = call.answer()?;
        if answer.code == 0 {
            self.remember_there(branch, commit)?;
            return Ok(Pushed::Done);
        }
        let told = String::from_utf8_lossy(&answer.output).into_owned();
        let rejected = told.lines().find(|line| line.starts_with('!'));
        match rejected {
            Some(line) if line.contains("[rejected]") => Ok(Pushed::Behind),
            // Somebody else moves it at this moment.
            Some(line) if is_moving(line, &answer.complaint) => Ok(Pushed::Behind),
            Some(line) => {
                let why = line.rsplit_once('(').map_or(line, |(_, why)| why).trim_end_matches(')');
                let said = answer.complaint.lines().filter_map(|line| line.trim().strip_prefix("remote:"));
                let said: Vec<&str> = said.map(str::trim).filter(|line| !line.is_empty()).collect();
                let said = said.join(" ").chars().take(300).collect::<String>();
                Ok(Pushed::Refused(if said.is_empty() { why.to_owned() } else { format!("{why}: {said}") }))
            }
            None => Err(sorted(answer.failure(place), remote)),
        }
    }

    /// Whether a branch of the forge is known to have had a commit.
    pub fn was_there(&self, branch: &Branch, commit: &Oid) -> Result<bool, ForgeError> {
        match self.there(branch.as_str(), "known")? {
            Some(known) => Ok(known == *commit || self.contains(&known, commit)?),
            None => Ok(false),
        }
    }

    /// Takes over what people pushed to a phase's branch in the forge, where it goes on from what we know to
    /// have been there.
    pub fn receive(
        &self,
        remote: &Remote,
        branch: &Branch,
        from: TakenFrom<'_>,
        by: &crate::Signature,
    ) -> Result<Received, RemoteError> {
        let Some(here) = self.head(branch)? else { return Ok(Received::Nothing) };
        let name = match from {
            TakenFrom::Branch { there } if here == *there => {
                self.remember_there(branch.as_str(), there)?;
                return Ok(Received::Nothing);
            }
            TakenFrom::Branch { .. } => branch.reference(),
            TakenFrom::Pull { number } => format!("refs/pull/{number}/head"),
        };
        self.fetch_reference(remote, &name, branch.as_str())?;
        // Somebody may have pushed since it was looked at.
        let Some(there) = self.there(branch.as_str(), "seen")? else { return Ok(Received::Nothing) };
        if self.is_fenced(&here, &there, &by.identity)? {
            return Err(ForgeError::TakenOver { branch: branch.to_string() }.into());
        }
        let known = self.there(branch.as_str(), "known")?;
        if known.as_ref().is_some_and(|known| !self.contains(&there, known).unwrap_or(false)) {
            return Ok(Received::Rewritten { there });
        }
        if self.contains(&here, &there)? {
            self.remember_there(branch.as_str(), &there)?;
            return Ok(Received::Nothing);
        }
        let now = if self.contains(&there, &here)? {
            there.clone()
        } else {
            match self.merge_trees(&here, &there)? {
                crate::merge::MergedTree::Clean(tree) => {
                    let message = format!("merge what was pushed to {branch} in the forge\n");
                    self.commit_tree(&tree, &[&here, &there], by, by, &message)?
                }
                crate::merge::MergedTree::Conflict(_) => return Ok(Received::Conflict { there }),
            }
        };
        self.change(Transaction::default().set(branch.reference(), &now, Expected::At(here)))?;
        self.remember_there(branch.as_str(), &there)?;
        Ok(Received::Taken(now))
    }

    /// Brings a branch of ours forward to where it is in the forge; where it is then. What is not part of it
    /// there stays, and is an error.
    pub fn follow(&self, remote: &Remote, branch: &Branch) -> Result<Oid, RemoteError> {
        self.fetch_there(remote, branch.as_str())?;
        let gone = || ForgeError::NoBranch { branch: branch.to_string(), repository: self.path().to_owned() };
        let there = self.there(branch.as_str(), "seen")?.ok_or_else(gone)?;
        let here = self.head(branch)?.ok_or_else(gone)?;
        if here != there {
            if !self.contains(&there, &here)? {
                let (expected, found) = (Some(here), Some(there));
                return Err(ForgeError::Moved { branch: branch.to_string(), expected, found }.into());
            }
            self.change(Transaction::default().set(branch.reference(), &there, Expected::At(here)))?;
        }
        self.remember_there(branch.as_str(), &there)?;
        Ok(there)
    }

    /// Where a branch of ours is in the forge, if it does not have what is here any more.
    pub fn rewritten_there(&self, remote: &Remote, branch: &Branch) -> Result<Option<Oid>, RemoteError> {
        self.fetch_there(remote, branch.as_str())?;
        let (Some(there), Some(here)) = (self.there(branch.as_str(), "seen")?, self.head(branch)?) else {
            return Ok(None);
        };
        Ok(if self.contains(&there, &here)? { None } else { Some(there) })
    }

    /// A branch of the forge that is not ours, as it is now.
    pub fn fetch_foreign(&self, remote: &Remote, branch: &str) -> Result<Option<Oid>, RemoteError> {
        let heads = self.remote_heads(remote, &[branch])?;
        if heads.into_iter().flatten().next().is_none() {
            return Ok(None);
        }
        self.fetch_there(remote, branch)?;
        Ok(self.there(branch, "seen")?)
    }

    /// Deletes a branch of the forge that is where it was seen. Doing it again is harmless.
    pub fn delete_there(&self, remote: &Remote, branch: &str, at: &Oid) -> Result<Pushed, RemoteError> {
        let lease = format!("--force-with-lease=refs/heads/{branch}:{at}");
        let (url, refspec) = (remote.git_url(), format!(":refs/heads/{branch}"));
        let call = self.remote_call(
            remote,
            &["push", "--quiet", "--porcelain", "--no-verify", &lease, "--", &url, &refspec],
        );
        let place = call.place();
        let answer = call.answer()?;
        let told = String::from_utf8_lossy(&answer.output).into_owned();
        match told.lines().find(|line| line.starts_with('!')) {
            _ if answer.code == 0 || answer.complaint.contains("remote ref does not exist") => {
                Ok(Pushed::Done)
            }
            Some(line) if line.contains("stale info") => Ok(Pushed::Behind),
            Some(line) => Ok(Pushed::Refused(line.trim_start_matches(['!', '\t']).to_owned())),
            None => Err(sorted(answer.failure(place), remote)),
        }
    }

    pub(super) fn fetch_there(&self, remote: &Remote, branch: &str) -> Result<(), RemoteError> {
        self.fetch_reference(remote, &format!("refs/heads/{branch}"), branch)
    }

    pub(super) fn fetch_reference(
        &self,
        remote: &Remote,
        name: &str,
        branch: &str,
    ) -> Result<(), RemoteError> {
        let refspec = format!("+{name}:{}", reference(branch, "seen"));
        let call = self.remote_call(remote, &FETCH).arg("--").arg(remote.git_url()).arg(refspec);
        call.run().map(drop).map_err(|error| sorted(error, remote))
    }

    /// What a branch of the forge was at: `seen` last, or `known` to have been taken over or put there by us.
    pub(super) fn there(&self, branch: &str, what: &str) -> Result<Option<Oid>, ForgeError> {
        let name = reference(branch, what);
        Ok(self.references(std::slice::from_ref(&name))?.remove(&name))
    }

    pub(super) fn remember_there(&self, branch: &str, at: &Oid) -> Result<(), ForgeError> {
        self.change(Transaction::default().set(reference(branch, "known"), at, Expected::Anything))
    }

    pub(super) fn remote_call(&self, remote: &Remote, arguments: &[&str]) -> Call {
        let login = BASE64_STANDARD.encode(format!("x-access-token:{}", remote.token.reveal()));
        let mut settings = vec![
            ("http.extraHeader".to_owned(), format!("Authorization: Basic {login}")),
            ("http.followRedirects".to_owned(), "false".to_owned()),
            ("http.lowSpeedLimit".to_owned(), "100".to_owned()),
            ("http.lowSpeedTime".to_owned(), "30".to_owned()),
            ("http.proxy".to_owned(), String::new()),
            ("protocol.https.allow".to_owned(), "always".to_owned()),
            ("protocol.http.allow".to_owned(), "always".to_owned()),
        ];
        if let Some(file) = &remote.ca_file {
            settings.push(("http.sslCAInfo".to_owned(), file.to_string_lossy().into_owned()));
        }
        self.git().call_with(self.path(), arguments, &settings).env("GIT_ALLOW_PROTOCOL", "https:http")
    }
}

impl Remote {
    pub(super) fn git_url(&self) -> String {
        format!("{}/{}.git", self.url, self.repository())
    }
}

/// Whether a push was refused since somebody else was writing the branch.
fn is_moving(rejected: &str, complaint: &str) -> bool {
    MOVING.iter().any(|said| rejected.contains(said) || complaint.contains(said))
}

/// Where it is remembered what a branch of the forge was at.
fn reference(branch: &str, what: &str) -> String {
    format!("refs/checkrein/forge/{what}/{branch}")
}

/// Git's words for a forge that is away are told from those about anything else.
pub(super) fn sorted(error: ForgeError, remote: &Remote) -> RemoteError {
    let ForgeError::Git { reason, .. } = &error else {
        return match error {
            ForgeError::TimedOut { seconds, .. } => {
                RemoteError::Unreachable { reason: format!("git had no answer in {seconds} seconds") }
            }
            other => RemoteError::Git(other),
        };
    };
    let has = |texts: &[&str]| texts.iter().any(|text| reason.contains(text));
    let said = reason.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(300).collect();
    if has(&["returned error: 404", "not found"]) {
        return RemoteError::NotFound { what: remote.repository().to_owned() };
    }
    if has(&[
        "returned error: 401",
        "returned error: 403",
        "Authentication failed",
        "could not read Username",
    ]) {
        return RemoteError::Refused { status: 401, said };
    }
    if has(&[
        "unable to access",
        "returned error: 5",
        "RPC failed",
        "hung up",
        "early EOF",
        "Could not resolve",
    ]) {
        return RemoteError::Unreachable { reason: said };
    }
    RemoteError::Git(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_that_was_written_meanwhile_is_told_from_one_that_may_not_be_written() {
        for (rejected, complaint, moving) in [
            (
                "!\tabc:refs/heads/main\t[remote rejected] (failed to update ref)",
                "remote: error: cannot lock ref 'refs/heads/main': is at 1 but expected 2",
                true,
            ),
            ("!\tabc:refs/heads/main\t[remote rejected] (incorrect old value provided)", "", true),
            ("!\tabc:refs/heads/main\t[remote rejected] (reference already exists)", "", true),
            (
                "!\tabc:refs/heads/main\t[remote rejected] (pre-receive hook declined)",
                "remote: GH006: Protected branch update failed",
                false,
            ),
        ] {
            assert_eq!(is_moving(rejected, complaint), moving, "{rejected}");
        }
    }
}
