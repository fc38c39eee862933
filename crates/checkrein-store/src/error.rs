//! What can go wrong with a store, in words a person can act on.

use std::path::PathBuf;

#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    #[error("the store `{}` cannot be opened: {reason}", path.display())]
    Open { path: PathBuf, reason: String },
    #[error("the store `{}` lies on a network file system ({kind}), where its log is not safe", path.display())]
    NetworkFileSystem { path: PathBuf, kind: String },
    #[error("the store `{}` was written by a newer Checkrein (schema {found}, this one knows {known})", path.display())]
    TooNew { path: PathBuf, found: i64, known: i64 },
    #[error("`{}` is not a Checkrein store", path.display())]
    NotAStore { path: PathBuf },
    #[error("the store `{}` is open in another process; nothing was changed", path.display())]
    InUse { path: PathBuf },
    #[error("`{}` is already there; nothing was overwritten", path.display())]
    Exists { path: PathBuf },
    #[error("`{}` cannot be restored: {reason}; the store was not touched", path.display())]
    BadBackup { path: PathBuf, reason: String },
    #[error("`{}` cannot be written: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("the store is damaged: {reason}")]
    Damaged { reason: String },
    #[error("the disk is full; nothing was saved")]
    DiskFull,
    #[error("the store is read-only; nothing was saved")]
    ReadOnly,
    #[error("the store stayed locked by another process for too long; nothing was saved")]
    Busy,
    /// After a failed write nobody knows what the disk holds, so nothing more is written.
    #[error(
        "the disk reported a write error ({reason}); the store stopped. What was acknowledged is safe, this may not be"
    )]
    WriteFailed { reason: String },
    #[error("the store `{}` was removed or replaced while it was open; what happened since then is lost", path.display())]
    Gone { path: PathBuf },
    #[error("the address of the store cannot be used: {reason}")]
    Address { reason: String },
    #[error("the store `{address}` cannot be reached: {reason}; nothing was saved")]
    Unreachable { address: String, reason: String },
    #[error("the store `{address}` was refused: {reason}")]
    Refused { address: String, reason: String },
    #[error("the store was lost while it saved, and cannot be asked whether it did: {reason}")]
    Unsure { reason: String },
    #[error("this takes {wanted}, and the store is {found}")]
    OtherBackend { wanted: &'static str, found: String },
    #[error("the store is closed")]
    Closed,
    #[error("the store failed: {reason}")]
    Other { reason: String },
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::NetworkFileSystem { .. } => Some("put it on a local disk with `--store FILE`"),
            StoreError::TooNew { .. } => Some("use the newer Checkrein"),
            StoreError::NotAStore { .. } => Some(
                "name another file; if it was a store, bring back a backup with `checkrein store restore FILE`",
            ),
            StoreError::InUse { .. } => Some("end what waits on it or serves it, and do it again"),
            StoreError::Exists { .. } => Some("name a file that is not there yet"),
            StoreError::BadBackup { .. } => Some("take another backup"),
            StoreError::File { .. } => Some("check its directory, who may write there, and the space left"),
            StoreError::Damaged { .. } => {
                Some("bring back a backup with `checkrein store restore FILE`; the damaged file is kept")
            }
            StoreError::DiskFull => Some("free some space and do it again"),
            StoreError::ReadOnly | StoreError::Open { .. } => {
                Some("check who may write to the file and its directory")
            }
            StoreError::Busy => Some("look for a process that holds the store, and do it again"),
            StoreError::Gone { .. } => Some(
                "look for what removed it, such as `git clean -x` in a step; `--store FILE` puts it elsewhere",
            ),
            StoreError::WriteFailed { .. } => Some("check the disk, then start again"),
            StoreError::Address { .. } => Some(
                "write the name of a file, or postgres://USER@HOST:PORT/DATABASE with the password in PGPASSWORD or ~/.pgpass",
            ),
            StoreError::Unreachable { .. } => Some("look whether the server runs, and do it again"),
            StoreError::Refused { .. } => Some("check user, password, database and rights at the server"),
            StoreError::Unsure { .. } => Some("look what is there, and do it again where it is missing"),
            StoreError::OtherBackend { .. } => {
                Some("use the tools of PostgreSQL, or `checkrein store export`")
            }
            StoreError::Closed | StoreError::Other { .. } => None,
        }
    }
}

impl StoreError {
    /// A file beside the store that could not be written.
    pub fn unwritable(path: &std::path::Path, error: &std::io::Error) -> StoreError {
        if error.kind() == std::io::ErrorKind::StorageFull {
            return StoreError::DiskFull;
        }
        // A name that was made up for the moment would only confuse.
        let reason = if error.get_ref().is_some() { error.kind().to_string() } else { error.to_string() };
        StoreError::File { path: path.to_owned(), reason }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> StoreError {
        use rusqlite::ErrorCode;
        use rusqlite::ffi::{SQLITE_IOERR_CORRUPTFS, SQLITE_IOERR_READ, SQLITE_IOERR_SHORT_READ};
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::DiskFull,
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged { reason },
            Some(ErrorCode::SystemIoFailure) => match error.sqlite_error().map(|error| error.extended_code) {
                Some(SQLITE_IOERR_READ | SQLITE_IOERR_SHORT_READ | SQLITE_IOERR_CORRUPTFS) => {
                    StoreError::Damaged { reason }
                }
                _ => StoreError::WriteFailed { reason },
            },
            _ => StoreError::Other { reason },
        }
    }
}

/// Why a commit changed nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CommitError {
    /// Somebody else changed the stream: load it again.
    #[error("the stream was changed meanwhile")]
    Conflict,
    /// It was made under a lease that somebody else has now: whoever made it stops.
    #[error("somebody else goes on with the run")]
    LeaseLost,
    #[error(transparent)]
    Store(#[from] StoreError),
}
