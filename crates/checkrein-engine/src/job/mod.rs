//! Jobs: an agent works on branches of a repository, and people review them.
//!
//! A job is a run whose attempts are phases. What happens next is the core's matter; here git, the agent's
//! process and the files of a job meet it.

mod artefacts;
mod attempt_token;
mod conflict;
mod create;
mod edit;
mod file;
mod hand_in;
mod isolation;
mod land;
mod level;
mod look;
mod omission;
mod outcome;
mod place;
mod prepare;
mod repository;
mod review;
mod round;
mod serve;
mod thread;
mod verdict;
mod work;

pub use attempt_token::ATTEMPT_PREFIX;
pub use create::{NewJob, RepositoryWanted, Uncommitted, uncommitted_experts};
pub use edit::{EDIT_BYTES_MAX, Edit, Edited, FileEdit, Settled, Settlement};
pub use file::{BranchFile, BranchFiles, Side};
pub use hand_in::{AttemptFiles, OwnAttempt};
pub use look::JobView;
pub use omission::omissions;
pub use review::{Found, ReviewMaterial, Reviewed};
pub use round::Round;
pub use serve::BranchesWanted;
pub use thread::{Thread, threads};

pub(crate) use conflict::{OtherSide, recorded};
pub(crate) use hand_in::out;
pub(crate) use isolation::{GivenFrom, choose_isolation};
pub(crate) use land::{Landed, land_here, show};
pub(crate) use place::{JobPlace, clear_up, forget, hand_on};
pub(crate) use prepare::{keep_work, take_back};
pub(crate) use repository::{JobRepository, find_git, identities, limits, names_of, source};
pub(crate) use work::{blocking, perform};
