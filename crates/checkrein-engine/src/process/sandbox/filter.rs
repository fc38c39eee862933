//! Calls of the kernel that no agent needs and that reach past the sandbox: a third wall, behind mounts and Landlock.

use std::collections::BTreeMap;

use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule, apply_filter,
    sock_filter,
};

use super::error::SandboxError;

/// Refused, whatever they are called with.
const REFUSED: &[i64] = &[
    // Keys that the kernel keeps for the user.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Ways round this filter, and large parts of the kernel that hardly any program uses.
    libc::SYS_bpf,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    // Other processes: their memory, their files, what they do.
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    // Mounts and other namespaces.
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
];

/// From Linux 6.15 on, everywhere by this number.
const OPEN_TREE_ATTR: i64 = 467;

/// Namespaces: with one of users come the privileges of its root. One of time is left out, as `clone` has a signal
/// in the place of its flag; without the others it cannot be made.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// The bit of a call's number that makes it one of x32, the 32-bit programs of x86-64.
const X32: u32 = 0x4000_0000;

/// Refuses the calls, to this thread and all it starts. What comes by the calls of another architecture is ended.
pub(super) fn restrict() -> Result<(), SandboxError> {
    let failed = |error: &dyn std::fmt::Display| SandboxError::Filter(error.to_string());
    let (not_there, rest) = programs().map_err(|error| failed(&error))?;
    for program in [not_there, rest] {
        apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn programs() -> Result<(BpfProgram, BpfProgram), BackendError> {
    let program = |rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32| -> Result<BpfProgram, BackendError> {
        let refused = SeccompAction::Errno(error.cast_unsigned());
        SeccompFilter::new(rules, SeccompAction::Allow, refused, std::env::consts::ARCH.try_into()?)?
            .try_into()
    };
    // Its flags are in memory, where no filter sees them. Whoever finds it missing takes `clone`.
    let not_there = program(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let when = |argument: u8, operator, value: i32| {
        let value = u64::from(value.cast_unsigned());
        SeccompRule::new(vec![SeccompCondition::new(argument, Dword, operator, value)?])
    };
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        let namespace = |flag: &i32| when(0, MaskedEq(u64::from(flag.cast_unsigned())), *flag);
        rules.insert(call, NAMESPACES.iter().map(namespace).collect::<Result<_, _>>()?);
    }
    // What a terminal is made to type, it types for whoever sits there.
    let typing = [TIOCSTI, TIOCLINUX].map(|request| when(1, Eq, request));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    // The host of a virtual machine, and ciphers of the kernel.
    let families = [libc::AF_VSOCK, libc::AF_ALG].map(|family| when(0, Eq, family));
    rules.insert(libc::SYS_socket, families.into_iter().collect::<Result<_, _>>()?);
    let rest = program(rules, libc::EPERM)?;
    Ok((not_there, without_x32(rest)))
}

const TIOCSTI: i32 = 0x5412;
const TIOCLINUX: i32 = 0x541c;

/// Refuses every call whose number has the bit of x32: none of the rules would know it.
fn without_x32(program: BpfProgram) -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_NOT_BELOW: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const ERROR: u32 = 0x0005_0000;
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    let own = [
        step(LOAD_WORD, 0, 0),
        step(JUMP_IF_NOT_BELOW, 1, X32),
        step(RETURN, 0, ERROR | libc::EPERM.cast_unsigned()),
    ];
    own.into_iter().chain(program).collect()
}
