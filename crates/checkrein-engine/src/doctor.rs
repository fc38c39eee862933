//! What Checkrein needs on this machine, whether it is there, and what to do if not.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use checkrein_store::{FileSystem, Store, StoreAddress, StoreError, WebhookRow};
use jiff::{SignedDuration, Timestamp};
use rustix::fs::Access;

use crate::process::{Landlock, ProcessError, Protection, sandbox_available, this_program};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub check: &'static str,
    pub state: State,
    pub found: String,
    /// What to do about it; empty where there is nothing to do.
    pub remedy: String,
}

/// How it is. Ordered: the worst of several is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Good,
    /// Worth knowing.
    Info,
    /// Works, and should be mended.
    Warning,
    /// Does not work.
    Broken,
}

impl State {
    pub const fn name(self) -> &'static str {
        match self {
            State::Good => "good",
            State::Info => "info",
            State::Warning => "warning",
            State::Broken => "broken",
        }
    }
}

impl Finding {
    pub fn new(check: &'static str, state: State, found: impl Into<String>) -> Finding {
        Finding { check, state, found: found.into(), remedy: String::new() }
    }

    pub fn remedy(self, remedy: impl Into<String>) -> Finding {
        Finding { remedy: remedy.into(), ..self }
    }
}

/// A store needs little; what fills a disk is something else.
const FREE_BYTES_LOW: u64 = 256 << 20;
const FREE_BYTES_NONE: u64 = 4 << 20;
/// Two machines' clocks may differ by so much.
const CLOCK_SKEW_MAX: SignedDuration = SignedDuration::from_mins(2);

/// Looks at the store and the machine. A store that is not there is not made.
pub async fn examine(path: &Path) -> Vec<Finding> {
    let mut findings = Vec::new();
    let directory = nearest_directory(path);
    let store = if path.exists() {
        findings.push(Finding::new("store", State::Good, path.display().to_string()));
        open(path, &mut findings).await
    } else {
        let found = format!("{} is not there yet", path.display());
        findings.push(Finding::new("store", State::Info, found).remedy("the first checkpoint makes it"));
        findings.push(writable(directory));
        None
    };
    findings.push(file_system(FileSystem::of(directory)));
    findings.push(space(directory));
    if path.exists() {
        findings.push(permissions("file", path));
        findings.push(permissions("directory", directory));
    }
    if let Some(store) = store {
        inside(&store, &mut findings).await;
    }
    findings.push(git());
    findings.push(sandbox(sandbox_available(&this_program())));
    findings
}

/// The same where the store is on a server; `files` is where this machine keeps what belongs to it.
pub async fn examine_server(address: &StoreAddress, files: &Path) -> Vec<Finding> {
    let mut findings = vec![Finding::new("store", State::Good, address.to_string())];
    if let Some(store) = opened(Store::open_at(address, files), &mut findings).await {
        if let Ok(theirs) = store.database_clock().await {
            findings.push(clock(Some(theirs), crate::now()));
        }
        let directory = nearest_directory(store.directory());
        findings.push(writable(directory));
        findings.push(space(directory));
        inside(&store, &mut findings).await;
    }
    findings.push(git());
    findings.push(sandbox(sandbox_available(&this_program())));
    findings
}

async fn open(path: &Path, findings: &mut Vec<Finding>) -> Option<Store> {
    opened(Store::open(path), findings).await
}

async fn opened(store: Result<Store, StoreError>, findings: &mut Vec<Finding>) -> Option<Store> {
    let broken = |check: &'static str, error: &StoreError| {
        Finding::new(check, State::Broken, error.to_string()).remedy(error.hint().unwrap_or_default())
    };
    let store = match store {
        Ok(store) => store,
        Err(error) => {
            findings.push(broken("open", &error));
            return None;
        }
    };
    findings.push(Finding::new("open", State::Good, "opens"));
    findings.push(match store.try_write().await {
        Ok(()) => Finding::new("write", State::Good, "a change was written and is safe on the disk"),
        Err(error) => broken("write", &error),
    });
    Some(store)
}

/// Where the store will be.
fn writable(directory: &Path) -> Finding {
    match rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Finding::new("write", State::Good, format!("{} can be written", directory.display())),
        Err(error) => {
            let found = format!("{} cannot be written: {error}", directory.display());
            Finding::new("write", State::Broken, found)
                .remedy("check who may write there, or name another place with `--store FILE`")
        }
    }
}

fn file_system(found: Option<FileSystem>) -> Finding {
    match found {
        None => Finding::new("file system", State::Info, "unknown"),
        Some(FileSystem { kind, network: true, .. }) => {
            Finding::new("file system", State::Broken, format!("{kind}, shared over a network"))
                .remedy("put the store on a local disk with `--store FILE`")
        }
        Some(FileSystem { kind, volatile: true, .. }) => {
            Finding::new("file system", State::Warning, format!("{kind}, gone after a restart"))
                .remedy("put the store on a disk with `--store FILE`")
        }
        Some(FileSystem { kind, unclear: true, .. }) => {
            Finding::new("file system", State::Warning, format!("{kind}, may be a network file system"))
                .remedy("if other machines share it, put the store on a local disk with `--store FILE`")
        }
        Some(FileSystem { kind, .. }) => Finding::new("file system", State::Good, kind),
    }
}

fn space(directory: &Path) -> Finding {
    let Some(FileSystem { free_bytes, .. }) = FileSystem::of(directory) else {
        return Finding::new("space", State::Info, "unknown");
    };
    let found = format!("{} MiB free", free_bytes >> 20);
    let state = match free_bytes {
        0..FREE_BYTES_NONE => State::Broken,
        FREE_BYTES_NONE..FREE_BYTES_LOW => State::Warning,
        _ => return Finding::new("space", State::Good, found),
    };
    Finding::new("space", state, found)
        .remedy("free some space; `checkrein store sweep` and `vacuum` give back what old checkpoints take")
}

/// What agents hand in is nobody else's business. Whoever may write to the directory can put another
/// file in the store's place; whoever may only look into it sees a name.
fn permissions(check: &'static str, path: &Path) -> Finding {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => return Finding::new(check, State::Broken, error.to_string()),
    };
    let mode = metadata.permissions().mode() & 0o777;
    let (state, others) = match (mode & 0o022, mode & 0o044) {
        (0, 0) => return Finding::new(check, State::Good, format!("permissions {mode:03o}")),
        (0, _) if metadata.is_dir() => {
            let found = format!("permissions {mode:03o}: others may look in");
            return Finding::new(check, State::Info, found);
        }
        (0, _) => (State::Warning, "others may read"),
        _ => (State::Warning, "others may write"),
    };
    Finding::new(check, state, format!("permissions {mode:03o}: {others}"))
        .remedy(format!("chmod go-rwx {}", path.display()))
}

async fn inside(store: &Store, findings: &mut Vec<Finding>) {
    match store.check().await {
        Ok(checked) if checked.problems_total == 0 => {
            let found = format!("{} checkpoints, {} events agree", checked.checkpoints, checked.events);
            findings.push(Finding::new("integrity", State::Good, found));
        }
        Ok(checked) => {
            let first = checked.problems.first().cloned().unwrap_or_default();
            let found = match checked.problems_total {
                1 => first,
                more => format!("{first} and {} more", more - 1),
            };
            findings.push(Finding::new("integrity", State::Broken, found).remedy(
                "`checkrein store check` shows all; bring back a backup with `checkrein store restore FILE`",
            ));
        }
        Err(error) => findings.push(
            Finding::new("integrity", State::Broken, error.to_string())
                .remedy(error.hint().unwrap_or_default()),
        ),
    }
    let Ok(stats) = store.stats().await else { return };
    findings.push(Finding::new("schema", State::Good, format!("version {}", stats.schema)));
    findings.push(clock(stats.newest_event, crate::now()));
    findings.extend(webhooks(&store.webhooks().await.unwrap_or_default()));
}

/// Whether those who are to be told hear anything. Nothing is said where nobody is.
fn webhooks(rows: &[WebhookRow]) -> Vec<Finding> {
    let check = "webhooks";
    let mut findings = Vec::new();
    for row in rows {
        let name = if row.name.is_empty() { row.id.clone() } else { format!("{} ({})", row.id, row.name) };
        let finding = match (&row.disabled, row.failing_since) {
            (Some((at, why)), _) => {
                Finding::new(check, State::Warning, format!("{name} is sent nothing since {at:.0}: {why}"))
                    .remedy(format!("mend it, then `checkrein webhook enable {}`", row.id))
            }
            (None, Some(since)) => {
                Finding::new(check, State::Warning, format!("nothing arrives at {name} since {since:.0}"))
                    .remedy(format!("`checkrein webhook deliveries {}` says why", row.id))
            }
            (None, None) => continue,
        };
        findings.push(finding);
    }
    if findings.is_empty() && !rows.is_empty() {
        findings.push(Finding::new(check, State::Good, format!("{} told", rows.len())));
    }
    findings
}

/// A clock that was set back shows by what was written before that.
fn clock(newest: Option<Timestamp>, now: Timestamp) -> Finding {
    match newest.filter(|newest| newest.duration_since(now) > CLOCK_SKEW_MAX) {
        None => Finding::new("clock", State::Good, "nothing in the store is from the future"),
        Some(newest) => {
            let found = format!("it is {now:.0}, and the store has an event of {newest:.0}");
            Finding::new("clock", State::Warning, found)
                .remedy("set the clock; the order of events does not depend on it")
        }
    }
}

fn git() -> Finding {
    match Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            let text = String::from_utf8_lossy(&output.stdout);
            Finding::new("git", State::Info, text.trim().trim_start_matches("git version ").to_owned())
        }
        _ => Finding::new("git", State::Info, "not found").remedy("jobs need git; checkpoints do not"),
    }
}

/// How well an agent that is hostile could be kept from answering for a person.
fn sandbox(available: Result<Protection, ProcessError>) -> Finding {
    let check = "sandbox";
    match available {
        Err(error) => {
            Finding::new(check, State::Info, error.to_string()).remedy("docs/sandbox.md says what it needs")
        }
        Ok(protection) => {
            let found = Finding::new(check, State::Good, protection.to_string());
            match protection.landlock {
                Landlock::Scoped { .. } => found,
                // Mounts do without it; sockets that have no file are out of their reach.
                Landlock::Absent | Landlock::TooOld | Landlock::Files { .. } => Finding {
                    state: State::Info,
                    ..found
                }
                .remedy(
                    "abstract sockets of other programs stay reachable; Linux 6.12 with Landlock closes them",
                ),
            }
        }
    }
}

fn nearest_directory(path: &Path) -> &Path {
    let here = Path::new(".");
    let mut above = path.ancestors().skip(1).map(|at| if at.as_os_str().is_empty() { here } else { at });
    above.find(|directory| directory.is_dir()).unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Limiting, MemoryLimit, Namespaces, ProcessLimit};

    #[test]
    fn a_file_system_that_may_be_shared_is_worth_a_warning() {
        let local =
            FileSystem { kind: "ext4", network: false, unclear: false, volatile: false, free_bytes: 0 };
        for (found, state) in [
            (Some(local), State::Good),
            (Some(FileSystem { kind: "fuse", unclear: true, ..local }), State::Warning),
            (Some(FileSystem { kind: "tmpfs", volatile: true, ..local }), State::Warning),
            (Some(FileSystem { kind: "nfs", network: true, ..local }), State::Broken),
            (None, State::Info),
        ] {
            assert_eq!(file_system(found).state, state, "{found:?}");
        }
    }

    #[test]
    fn a_sandbox_is_as_good_as_its_walls() {
        let limits = Limiting { memory: MemoryLimit::Process, processes: ProcessLimit::User };
        let with = |landlock| Ok(Protection { namespaces: Namespaces::User, landlock, limits });
        for (available, state, words) in [
            (with(Landlock::Scoped { abi: 7 }), State::Good, "in a user namespace, Landlock ABI 7"),
            (with(Landlock::Files { abi: 4 }), State::Info, "in a user namespace, Landlock ABI 4"),
            (with(Landlock::TooOld), State::Info, "Landlock too old to be used"),
            (with(Landlock::Absent), State::Info, "no Landlock"),
            (Err(ProcessError::NoSandbox { reason: "why".to_owned() }), State::Info, "no sandbox here: why"),
        ] {
            let finding = sandbox(available);
            assert_eq!(finding.state, state, "{finding:?}");
            assert!(finding.found.contains(words), "{finding:?}");
            assert_eq!(finding.remedy.is_empty(), state == State::Good, "{finding:?}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_is_noticed() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        for (newest_second, state) in
            [(999_000, State::Good), (1_000_060, State::Good), (1_000_200, State::Warning)]
        {
            let newest = Timestamp::from_second(newest_second).ok();
            assert_eq!(clock(newest, now).state, state, "{newest_second}");
        }
        assert_eq!(clock(None, now).state, State::Good);
    }
}
