//! The file system as the command sees it.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};

use super::Sandbox;
use super::devices::Devices;
use super::error::SandboxError;
use super::listed::put_list;
use super::mounting::{
    EMPTY, IN_MEMORY, copy, is_visible, make_point, make_read_only, mount_empty, put_link, put_tree,
    remount_read_only,
};
use super::plan::{Kind, Plan, above, plan};
use super::{mountinfo, proc};

/// Arranges it, and says which paths can be written now.
pub(super) fn arrange(sandbox: &Sandbox) -> Result<Vec<PathBuf>, SandboxError> {
    // Whatever is done here is not to be seen outside, and the other way round.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|error| SandboxError::NoNamespaces { source: error.into() })?;
    let mounts = mountinfo::read()?;
    let plan = plan(sandbox, &mounts)?;
    // Each is taken before it is covered: what is writable before everything becomes read-only, the rest after.
    let devices = Devices::take()?;
    let mut taken = BTreeMap::new();
    for path in of_kind(&plan, |kind| *kind == Kind::Writable) {
        taken.insert(path, Taken::Tree(take_writable(path)?));
    }
    mounts.iter().try_for_each(make_read_only)?;
    for (path, kind) in &plan {
        let found = match kind {
            Kind::Readable => take_readable(path)?,
            Kind::Listed { .. } => Some(Taken::List(take_list(path)?)),
            _ => None,
        };
        taken.extend(found.map(|found| (path, found)));
    }
    proc::mount()?;
    for (path, kind) in &plan {
        let hidden = above(&plan, path).is_some_and(Kind::hides);
        match (kind, taken.remove(path)) {
            (Kind::Masked, _) if !hidden => mount_empty(path, c"mode=0755")?,
            (Kind::Private, _) => mount_empty(path, IN_MEMORY)?,
            (Kind::Devices, _) => devices.put()?,
            (Kind::Listed { without }, Some(Taken::List(list))) => put_list(path, &list, without)?,
            (_, Some(Taken::Tree(tree))) => put_tree(path, &tree)?,
            (_, Some(Taken::Link(target))) if hidden => put_link(path, &target)?,
            _ => {}
        }
    }
    put_blanks(&plan)?;
    seal(&plan)?;
    let written = of_kind(&plan, |kind| matches!(kind, Kind::Writable | Kind::Private | Kind::Devices));
    let written: Vec<PathBuf> = written.cloned().chain([PathBuf::from("/proc")]).collect();
    verify(&written)?;
    Ok(written)
}

/// What was at a path before it was covered.
enum Taken {
    /// A copy of the mounts there, not mounted anywhere.
    Tree(OwnedFd),
    Link(PathBuf),
    List(OwnedFd),
}

fn of_kind(plan: &Plan, wanted: impl Fn(&Kind) -> bool) -> impl Iterator<Item = &PathBuf> {
    plan.iter().filter(move |(_, kind)| wanted(kind)).map(|(path, _)| path)
}

fn take_writable(path: &Path) -> Result<OwnedFd, SandboxError> {
    let place = open(path, OFlags::PATH).map_err(|error| not_opened(path, error))?;
    copy(&place, Path::new("")).map_err(SandboxError::at(path, "cannot be made writable"))
}

fn take_readable(path: &Path) -> Result<Option<Taken>, SandboxError> {
    let place = match open(path, OFlags::PATH | OFlags::NOFOLLOW) {
        Ok(place) => place,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(None),
        Err(error) => return Err(not_opened(path, error)),
    };
    let stat = fstat(&place).map_err(SandboxError::at(path, "cannot be looked at"))?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return Ok(fs::read_link(path).ok().map(Taken::Link));
    }
    let tree = copy(&place, Path::new("")).map_err(SandboxError::at(path, "cannot be made readable"))?;
    Ok(Some(Taken::Tree(tree)))
}

fn take_list(path: &Path) -> Result<OwnedFd, SandboxError> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY).map_err(|error| not_opened(path, error))
}

/// Opens a path only if it has no symbolic links at that moment.
fn open(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    openat2(CWD, path, flags | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn not_opened(path: &Path, error: Errno) -> SandboxError {
    if error == Errno::LOOP {
        let why = "has a symbolic link in it: name the place it leads to";
        return SandboxError::Refused { path: path.to_owned(), why };
    }
    SandboxError::at(path, "cannot be used")(error)
}

/// Covers files one by one. They are last, since nothing can lie below them.
fn put_blanks(plan: &Plan) -> Result<(), SandboxError> {
    let blank = Path::new("/dev/.blank");
    for path in of_kind(plan, |kind| *kind == Kind::Blank) {
        make_point(blank, FileType::RegularFile)?;
        mount_bind(blank, path).map_err(SandboxError::at(path, "cannot be covered"))?;
        remount_read_only(path, EMPTY)?;
    }
    // Covers keep what they are made of.
    if blank.exists() { fs::remove_file(blank) } else { Ok(()) }
        .map_err(SandboxError::at(blank, "cannot be removed"))
}

/// From here on nothing can be put where all has its place.
fn seal(plan: &Plan) -> Result<(), SandboxError> {
    for (path, kind) in plan {
        let covered = match kind {
            Kind::Masked => !above(plan, path).is_some_and(Kind::hides),
            Kind::Listed { .. } | Kind::Devices => true,
            _ => false,
        };
        if covered {
            remount_read_only(path, EMPTY)?;
        }
    }
    Ok(())
}

/// Looks once more, at what came of it.
fn verify(written: &[PathBuf]) -> Result<(), SandboxError> {
    let mounts = mountinfo::read()?;
    let mut seen = mounts.iter().filter(|mount| is_visible(mount));
    let open =
        seen.find(|mount| !mount.read_only && !written.iter().any(|path| mount.point.starts_with(path)));
    if let Some(open) = open {
        return Err(SandboxError::Refused { path: open.point.clone(), why: "is still writable" });
    }
    // A root that is no mount of its own, as in a change of root, is in nobody's list.
    if mounts.iter().any(|mount| mount.point == Path::new("/")) {
        return Ok(());
    }
    Err(SandboxError::Refused { path: "/".into(), why: "cannot be made read-only: it is not a mount" })
}
