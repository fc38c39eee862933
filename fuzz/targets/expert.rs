//! An expert file that may extend a built-in expert, itself or nobody, from bytes to a job's policy.
#![no_main]

use checkrein_core::config::{Expert, ExpertFile, Owner};
use checkrein_core::policy::Scope;
use checkrein_fuzz::{check_layers, check_lines, check_problems, document_of};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(document) = document_of(data) else { return };
    let (file, problems) = match ExpertFile::read(&document, Owner::User) {
        Ok(read) => read,
        Err(problems) => return check_problems(&problems, &document.text),
    };
    check_lines(&problems, &document.text);
    let find = |name: &str| Ok((name == "coder").then(|| file.clone()));
    match Expert::find("coder", find, &[]) {
        Ok(expert) => check_layers(Scope::Job, &expert.layers(), &document.text),
        Err(problems) => check_problems(&problems, &document.text),
    }
});
