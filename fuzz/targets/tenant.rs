//! A tenant file, from bytes to the policy of each of its workers.
#![no_main]

use checkrein_core::config::Tenant;
use checkrein_core::policy::{Reading, Scope};
use checkrein_fuzz::{check_layers, check_lines, check_problems, document_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(document) = document_of(data) else { return };
    match Tenant::read(&document, Reading::Coercing) {
        Ok((tenant, problems)) => {
            check_lines(&problems, &document.text);
            tenant.label();
            for worker in tenant.workers() {
                check_layers(Scope::Worker, tenant.layer(worker).as_slice(), &document.text);
            }
        }
        Err(problems) => check_problems(&problems, &document.text),
    }
});
