//! Jobs: give, look, change the level. A job is a run, and what is done with runs is done there.

pub mod create;
pub mod level;
pub mod list;
pub mod show;

use checkrein_core::principal::Principal;

use crate::answer::Reply;
use crate::call::Call;
use crate::error::{Kind, Problem};
use crate::wire::job::Job;

/// A job as it is answered everywhere: with its version.
async fn reply(call: &Call, by: &Principal, id: &str) -> Result<Reply<Job>, Problem> {
    let found = call.engine().job(by, id).await?;
    let run = &found.view.run;
    let job = Job::of(&found, call.engine().now(), call.clone_url(&run.id));
    let job = job.ok_or_else(|| Problem::new(Kind::Invalid, format!("run `{}` is not a job", run.id)))?;
    Ok(Reply::new(job).at(run.state.version).about(&run.id))
}
