//! What a process may do beyond what any other of its user may.

use std::io;

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

use super::error::SandboxError;

/// What the inner process needs: to mount, and to give up the rest.
const NEEDED: [CapabilitySet; 2] = [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP];

/// The kernel has no more of them than fit.
const CAPABILITIES_MAX: u32 = 64;

/// Whether this process may mount as it is.
pub(super) fn may_mount() -> bool {
    capabilities(None).is_ok_and(|sets| NEEDED.iter().all(|needed| sets.effective.contains(*needed)))
}

/// A process that is not root loses its capabilities when it starts another program, unless they are ambient.
pub(super) fn keep_through_exec() -> Result<(), SandboxError> {
    let keep = || {
        let mut sets = capabilities(None)?;
        sets.inheritable = NEEDED.iter().fold(sets.inheritable, |all, needed| all | *needed);
        set_capabilities(None, sets)?;
        NEEDED.iter().try_for_each(|needed| configure_capability_in_ambient_set(*needed, true))
    };
    keep().map_err(SandboxError::failed("capabilities cannot be kept"))
}

/// Keys that the kernel keeps for the session of whoever began this are not for the command.
pub(super) fn leave_keyring() -> Result<(), SandboxError> {
    match keyutils_raw::keyctl_join_session_keyring(None) {
        Ok(_) => Ok(()),
        // A kernel without keys has none to hide.
        Err(error) if error.0 == Errno::NOSYS.raw_os_error() => Ok(()),
        Err(error) => Err(SandboxError::failed("the session keyring cannot be left")(io::Error::from(error))),
    }
}

/// Gives up everything, so that neither this process nor what it starts can get any of it back. What it has
/// in memory, and where it came from, is nobody's business either.
pub(super) fn give_up() -> Result<(), SandboxError> {
    let give_up = || {
        for number in 0..CAPABILITIES_MAX {
            match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
                Ok(()) => {}
                Err(Errno::INVAL) => break,
                Err(error) => return Err(error),
            }
        }
        clear_ambient_capability_set()?;
        let none = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?;
        set_no_new_privs(true)?;
        set_dumpable_behavior(DumpableBehavior::NotDumpable)
    };
    give_up().map_err(SandboxError::failed("privileges cannot be given up"))
}
