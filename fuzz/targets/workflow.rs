//! A workflow file, from bytes to its policy.
#![no_main]

use checkrein_core::config::Workflow;
use checkrein_core::policy::Scope;
use checkrein_fuzz::{check_layers, check_lines, check_problems, document_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(document) = document_of(data) else { return };
    match Workflow::read(&document) {
        Ok((workflow, problems)) => {
            check_lines(&problems, &document.text);
            check_layers(Scope::Workflow, workflow.layer().as_slice(), &document.text);
        }
        Err(problems) => check_problems(&problems, &document.text),
    }
});
