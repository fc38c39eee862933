//! An attempt's agent as a process of its own: what the engine starts, in the sandbox or without, and hears.

use std::path::Path;
use std::process::ExitCode;

use checkrein_core::activity::Did;
use checkrein_core::config::agent::AgentKind;

use crate::task::AgentTask;
use crate::voice::Voice;
use crate::{Ended, builtin, preset, regular};

/// The word this program is started with as an agent; the file of its task follows.
pub const HOST: &str = "--host-agent";

/// Performs one attempt.
pub fn host(file: &Path) -> ExitCode {
    // What it knows of keys is not to be read out of it by what it starts.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let mut voice = Voice::default();
    let begun = AgentTask::read(file).and_then(|task| {
        let brief =
            regular::read(&task.brief).map_err(|error| format!("`{}`: {error}", task.brief.display()))?;
        let brief = String::from_utf8_lossy(&brief).into_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Ok((task, brief, runtime.map_err(|error| error.to_string())?))
    });
    let (task, brief, runtime) = match begun {
        Ok(begun) => begun,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let ended = runtime.block_on(async {
        match &task.spec.kind {
            AgentKind::Builtin(spec) => builtin::run(&task, spec, &brief, &mut voice).await,
            _ => preset::run(&task, &brief, &mut voice).await,
        }
    });
    match ended {
        Ended::Well | Ended::Blocked => ExitCode::SUCCESS,
        Ended::Failed => {
            if let Some(Did::Failed { reason }) = voice.told.failed.map(|reason| Did::Failed { reason }) {
                eprintln!("{reason}");
            }
            ExitCode::FAILURE
        }
    }
}
