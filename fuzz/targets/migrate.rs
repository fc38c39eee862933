//! A file with legacy levels: rewritten it has none, and every phase sees the policy it saw before.
#![no_main]

use std::sync::Arc;

use checkrein_core::classify::Classifier;
use checkrein_core::config::{CheckreinFile, Owner, Workflow};
use checkrein_core::document::Document;
use checkrein_core::policy::{Layer, LayerRank, Policy, Reading, Resolution, Scope, migrate};
use checkrein_fuzz::document_of;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(before) = document_of(data) else { return };
    let Ok(migration) = migrate(&before) else { return };
    if migration.changes.is_empty() {
        return assert_eq!(migration.text, before.text, "nothing to do, nothing touched");
    }
    let after = Document::parse("fuzz", &migration.text, before.format);
    let after = Arc::new(after.expect("a rewritten document is a document"));
    let again = migrate(&after).expect("a rewritten document can be looked at again");
    assert_eq!(again.text, migration.text, "a second time changes nothing");
    for scope in Scope::ALL {
        let Some(old) = policy(&before, scope) else { continue };
        let new = policy(&after, scope).expect("what had a policy has one");
        assert_eq!(meaning(&new), meaning(&old), "{scope}:\n{}\n--\n{}", before.text, after.text);
    }
});

/// The policy a document gives a scope, as a workflow file or else as a checkrein.yaml.
fn policy(document: &Arc<Document>, scope: Scope) -> Option<Policy> {
    let layer: Option<Layer> = match Workflow::read(document) {
        Ok((workflow, _)) if scope == Scope::Workflow => workflow.layer(),
        _ => CheckreinFile::read(document, Owner::User, Reading::Coercing)
            .ok()?
            .0
            .layer(LayerRank::ProjectConfig, scope),
    };
    Some(Resolution::resolve(scope, layer.as_slice(), Classifier::builtin(), Reading::Coercing).ok()?.policy)
}

/// What a policy comes to: not the name of a level, nor how an override is written.
fn meaning(policy: &Policy) -> String {
    let phases: Vec<String> = policy.overrides.keys().cloned().collect();
    let effective: Vec<String> =
        phases.iter().map(|phase| format!("{phase}: {:?}", policy.for_phase(Some(phase)))).collect();
    let rest = Policy { level: None, overrides: Default::default(), ..policy.clone() };
    format!("{rest:?} {effective:?}")
}
