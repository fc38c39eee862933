//! A disk that fails when it is told to: a layer under SQLite that is the real file system but for one
//! call. It also keeps what a power cut would leave, which is each file as it was last synced.

#![allow(unsafe_code, reason = "SQLite's file system layer is an interface in C")]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::ffi;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call fails, once.
    Error,
    /// There is no space, once.
    Full,
    /// Half of it is written, then the call fails.
    Torn,
    /// It fails, and everything after it.
    Gone,
}

#[derive(Default)]
struct Disk {
    /// Only what lies below it counts.
    below: PathBuf,
    /// Where each file is kept as it was last synced.
    synced: PathBuf,
    calls: u64,
    fail: Option<(u64, Fault)>,
    fired: Option<&'static str>,
    open: HashMap<usize, Opened>,
    /// Our table of calls for each real one: files that are locked and files that are not differ.
    tables: HashMap<usize, usize>,
}

struct Opened {
    path: PathBuf,
    real: &'static ffi::sqlite3_io_methods,
}

/// From now on, call number `at` that writes below `below` fails.
pub fn arm(below: &Path, synced: &Path, at: u64, fault: Fault) {
    register();
    let mut disk = disk();
    disk.below = below.to_owned();
    disk.synced = synced.to_owned();
    disk.calls = 0;
    disk.fail = Some((at, fault));
    disk.fired = None;
}

/// All is well again; which call failed, if any did.
pub fn disarm() -> Option<&'static str> {
    let mut disk = disk();
    disk.fail = None;
    disk.below = PathBuf::from("/nowhere");
    disk.fired.take()
}

pub fn fired() -> bool {
    disk().fired.is_some()
}

fn disk() -> MutexGuard<'static, Disk> {
    static DISK: OnceLock<Mutex<Disk>> = OnceLock::new();
    DISK.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    /// What becomes of a call on a file.
    fn call(&mut self, file: *mut ffi::sqlite3_file, name: &'static str) -> Option<Fault> {
        if !self.open.get(&(file as usize)).is_some_and(|opened| opened.path.starts_with(&self.below)) {
            return None;
        }
        self.calls += 1;
        let (at, fault) = self.fail?;
        let fails = self.calls == at || (fault == Fault::Gone && self.calls > at);
        if !fails {
            return None;
        }
        self.fired.get_or_insert(name);
        Some(fault)
    }

    fn keep(&self, path: &Path) {
        if path.starts_with(&self.below) {
            let name = path.file_name().expect("a file has a name");
            std::fs::copy(path, self.synced.join(name)).expect("a copy can be made");
        }
    }
}

struct Real(*mut ffi::sqlite3_vfs);

// SAFETY: SQLite's layers live as long as the process and are never changed.
unsafe impl Send for Real {}
// SAFETY: as above.
unsafe impl Sync for Real {}

static REAL: OnceLock<Real> = OnceLock::new();

/// Makes it the layer of every connection of this process.
fn register() {
    REAL.get_or_init(|| {
        // SAFETY: the default layer is always there; the copy is never freed, as SQLite keeps it.
        unsafe {
            let vfs = ffi::sqlite3_vfs_find(std::ptr::null());
            assert!(!vfs.is_null());
            let mut copy = *vfs;
            copy.zName = CString::new("faults").expect("no zeros in it").into_raw();
            copy.xOpen = Some(open);
            copy.xDelete = Some(delete);
            assert_eq!(ffi::sqlite3_vfs_register(Box::into_raw(Box::new(copy)), 1), ffi::SQLITE_OK);
            Real(vfs)
        }
    });
}

fn real() -> *mut ffi::sqlite3_vfs {
    REAL.get().expect("it is registered").0
}

fn methods(file: *mut ffi::sqlite3_file) -> &'static ffi::sqlite3_io_methods {
    disk().open.get(&(file as usize)).expect("it is open").real
}

unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: handed on as it came. The methods are replaced by a copy that never goes away.
    unsafe {
        let answer = ((*real()).xOpen.expect("there is one"))(real(), name, file, flags, out);
        if answer != ffi::SQLITE_OK {
            return answer;
        }
        let real: &'static ffi::sqlite3_io_methods = &*(*file).pMethods;
        let mut disk = disk();
        let ours = disk.tables.entry((*file).pMethods as usize).or_insert_with(|| {
            let ours = ffi::sqlite3_io_methods {
                xClose: Some(close),
                xWrite: Some(write),
                xTruncate: Some(truncate),
                xSync: Some(sync),
                ..*real
            };
            Box::into_raw(Box::new(ours)) as usize
        });
        (*file).pMethods = *ours as *const ffi::sqlite3_io_methods;
        // A file without a name is a temporary one.
        let name = if name.is_null() { c"" } else { CStr::from_ptr(name) };
        let path = PathBuf::from(name.to_str().expect("paths of tests are text"));
        disk.open.insert(file as usize, Opened { path, real });
        answer
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let real = methods(file);
    disk().open.remove(&(file as usize));
    // SAFETY: handed on as it came.
    unsafe { (real.xClose.expect("there is one"))(file) }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    data: *const c_void,
    amount: c_int,
    offset: ffi::sqlite3_int64,
) -> c_int {
    let fault = disk().call(file, "write");
    let write = methods(file).xWrite.expect("there is one");
    match fault {
        // SAFETY: handed on as it came.
        None => unsafe { write(file, data, amount, offset) },
        Some(Fault::Full) => ffi::SQLITE_FULL,
        Some(Fault::Torn) => {
            // SAFETY: the first half of what came.
            unsafe { write(file, data, amount / 2, offset) };
            ffi::SQLITE_IOERR_WRITE
        }
        Some(Fault::Error | Fault::Gone) => ffi::SQLITE_IOERR_WRITE,
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: ffi::sqlite3_int64) -> c_int {
    let fault = disk().call(file, "truncate");
    match fault {
        // SAFETY: handed on as it came.
        None => unsafe { (methods(file).xTruncate.expect("there is one"))(file, size) },
        Some(_) => ffi::SQLITE_IOERR_TRUNCATE,
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    if disk().call(file, "sync").is_some() {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    // SAFETY: handed on as it came.
    let answer = unsafe { (methods(file).xSync.expect("there is one"))(file, flags) };
    let disk = disk();
    if let Some(opened) = disk.open.get(&(file as usize)) {
        disk.keep(&opened.path);
    }
    answer
}

unsafe extern "C" fn delete(_: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: handed on as it came.
    let (path, answer) = unsafe {
        let path = PathBuf::from(CStr::from_ptr(name).to_str().expect("paths of tests are text"));
        (path, ((*real()).xDelete.expect("there is one"))(real(), name, sync))
    };
    let disk = disk();
    if let (true, Some(name)) = (path.starts_with(&disk.below), path.file_name()) {
        let _ = std::fs::remove_file(disk.synced.join(name));
    }
    answer
}
