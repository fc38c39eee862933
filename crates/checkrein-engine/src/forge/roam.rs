//! Which jobs can go on on any machine: those whose forge has all they need.

use checkrein_core::run::job::Datasource;
use checkrein_core::run::{Definition, Run};

use super::at::shape_of;
use super::connect::token;
use super::look::forge_of;
use crate::Engine;

/// Where programs are that other machines have as well.
const EVERYWHERE: [&str; 6] = ["/bin/", "/sbin/", "/usr/", "/opt/", "/nix/", "/snap/"];

impl Engine {
    /// Whether a job can go on elsewhere once its branches are in its forge.
    pub(crate) fn roams(&self, run: &Run) -> bool {
        run.job().is_some() && self.tied(&run.definition).is_none()
    }

    /// Why this process cannot go on with a job that others could have from its forge: it lacks what it takes to come by
    /// its files, and to hand them on.
    pub(crate) fn unfit(&self, run: &Run) -> Option<String> {
        let at = forge_of(run).filter(|_| self.store.is_shared() && !run.state.status.is_over())?;
        if let Err(lacks) = shape_of(&self.settings, &at).and_then(|shape| token(&self.settings, shape)) {
            return Some(lacks);
        }
        let tied = self.tied(&run.definition)?;
        Some(format!(
            "by the settings here it can only go on on the machine {tied}; `machine.shared` names what all machines see"
        ))
    }

    /// What keeps a run on the machine it was given on, whatever its forge has: what is there and nowhere else.
    pub(crate) fn tied(&self, definition: &Definition) -> Option<&'static str> {
        let Some(job) = definition.job.as_deref() else { return Some("where its files are") };
        if !self.store.is_shared() || job.forge.is_none() {
            return Some("where its files are");
        }
        if !job.datasources.iter().all(is_told) {
            return Some("where alone its datasources are known");
        }
        // A named agent is looked for by everybody; a script of somebody's own is a file of their machine.
        let plan = &definition.plan;
        let agent = plan.agent.as_deref().filter(|_| plan.agent_spec.is_none()).unwrap_or_default();
        let program = agent.trim_start_matches('\'').split_whitespace().next().unwrap_or_default();
        let own = program.starts_with('/') && !EVERYWHERE.iter().any(|place| program.starts_with(place));
        if own && !self.is_shared_place(program.as_ref()) {
            return Some("where alone its agent is");
        }
        None
    }
}

/// Whether an address is in the record of its job as it is, and means the same on every machine. One with a password is
/// in no record.
fn is_told(source: &Datasource) -> bool {
    let scheme = source.shown.split_once("://").map(|(scheme, _)| scheme);
    let local = scheme.is_none_or(|scheme| scheme.contains("sqlite") || scheme.contains("file"));
    !local && !source.shown.contains("***")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_addresses_other_machines_can_use() {
        for (address, told) in [
            ("postgres://reader@db.example.org/data", true),
            ("https://api.example.org/v1?page=2", true),
            ("postgres://reader:secret@db.example.org/data", false),
            ("https://api.example.org/v1?token=abc", false),
            ("sqlite:///home/ann/data.db", false),
            ("file:///home/ann/data.csv", false),
            ("/home/ann/data.db", false),
            ("data.db", false),
        ] {
            let shown = Datasource::shown(address);
            let source = Datasource { name: "data".into(), variable: Datasource::variable("data"), shown };
            assert_eq!(is_told(&source), told, "{address}");
        }
    }
}
