//! Landlock, a second wall behind the mounts: the kernel checks each access by itself, forbids to change
//! mounts, and from its sixth version on lets no signal and no abstract socket reach a process outside.

use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::Landlock;
use super::error::SandboxError;

/// The newest version this was tried with; what later ones can forbid is left alone.
const TRIED: ABI = ABI::V7;

/// Applies as much of it as the kernel has, to this thread and all it starts: everything may be read, and
/// written below `writable`. What is in force is what is returned.
pub(super) fn restrict(writable: &[PathBuf]) -> Result<Landlock, SandboxError> {
    let failed = |error: &dyn std::fmt::Display| SandboxError::Landlock(error.to_string());
    if !has(AccessFs::ReadFile) {
        return Ok(Landlock::Absent);
    }
    if !has(AccessFs::Refer) {
        return Ok(Landlock::TooOld);
    }
    let all = AccessFs::from_all(TRIED);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|rules| rules.scope(Scope::from_all(TRIED)))
        .and_then(Ruleset::create)
        .map_err(|error| failed(&error))?;
    let places = writable.iter().map(|path| (path.clone(), all & !devices()));
    for (path, access) in places.chain([("/".into(), AccessFs::from_read(TRIED))]) {
        let place = PathFd::new(&path).map_err(|error| failed(&error))?;
        rules = rules.add_rule(PathBeneath::new(place, access)).map_err(|error| failed(&error))?;
    }
    let status = rules.restrict_self().map_err(|error| failed(&error))?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => Err(failed(&"the kernel has it and does not enforce it")),
        (_, LandlockStatus::Available { effective_abi, kernel_abi }) => {
            let abi = kernel_abi.map_or(effective_abi as u32, i32::unsigned_abs);
            Ok(if effective_abi >= ABI::V6 { Landlock::Scoped { abi } } else { Landlock::Files { abi } })
        }
        (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => {
            Err(failed(&"the kernel has it and does not know of it"))
        }
    }
}

/// Whether the kernel can forbid this.
fn has(access: AccessFs) -> bool {
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(access).is_ok()
}

fn devices() -> BitFlags<AccessFs> {
    AccessFs::MakeChar | AccessFs::MakeBlock
}
