//! The names of a job's branches.

use std::fmt;

use checkrein_core::boundary::PhaseKind;

use crate::error::ForgeError;

/// Where a job's branches live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Names {
    /// In a repository made for the job: `main`, `phase-1-strategic`.
    Own,
    /// Beside the branches of a repository that was there: `checkrein/{job}/main` and so on.
    Within { job: String },
}

impl Names {
    pub fn within(job: &str) -> Result<Names, ForgeError> {
        let plain = job.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        if job.is_empty() || !plain || job.starts_with('-') {
            return Err(ForgeError::BadName { text: job.to_owned() });
        }
        Ok(Names::Within { job: job.to_owned() })
    }

    pub fn main(&self) -> Branch {
        self.branch("main")
    }

    /// The branch a job started from, as it was when the result did not fit it.
    pub fn base(&self) -> Branch {
        self.branch("base")
    }

    /// Where the result of a job is left for its person, in the repository the job started from.
    pub fn result(&self) -> Branch {
        self.branch("result")
    }

    /// Phases count from 1 over both kinds; the first revision has no suffix (decisions L1, L4).
    pub fn phase(&self, number: u32, kind: PhaseKind, revision: u32) -> Branch {
        match revision {
            0 | 1 => self.branch(&format!("phase-{number}-{kind}")),
            later => self.branch(&format!("phase-{number}-{kind}-rev-{later}")),
        }
    }

    fn branch(&self, name: &str) -> Branch {
        match self {
            Names::Own => Branch(name.to_owned()),
            Names::Within { job } => Branch(format!("checkrein/{job}/{name}")),
        }
    }
}

/// A branch of a job, without `refs/heads/`.
// INVARIANT: only `Names` makes one, so it is always a name git accepts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch(String);

impl Branch {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    /// Where work waits that could not be merged with what a person pushed.
    pub(crate) fn unmerged(&self) -> Branch {
        Branch(format!("{}-unmerged", self.0))
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_number_kind_and_revision() {
        let own = Names::Own;
        let within = Names::within("job-7").unwrap();
        let rows = [
            (own.main(), "main"),
            (own.phase(1, PhaseKind::Strategic, 1), "phase-1-strategic"),
            (own.phase(2, PhaseKind::Tactical, 3), "phase-2-tactical-rev-3"),
            (within.main(), "checkrein/job-7/main"),
            (within.phase(2, PhaseKind::Tactical, 1), "checkrein/job-7/phase-2-tactical"),
        ];
        for (branch, name) in rows {
            assert_eq!(branch.as_str(), name);
        }
    }

    #[test]
    fn a_job_that_is_no_part_of_a_branch_is_refused() {
        for job in ["", "-x", "a/b", "a..b", "a b", "a\n", "é"] {
            assert!(Names::within(job).is_err(), "{job}");
        }
    }
}
