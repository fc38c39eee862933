//! Anything an attempt may return: it becomes a response whose status and findings agree, and that
//! response read again is the same one.
#![no_main]

use checkrein_core::classify::Classifier;
use checkrein_core::finding::Finding;
use checkrein_core::response::{Response, Status};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    let attempts = Response::attempts(&value, Classifier::builtin());
    assert_eq!(attempts.last(), Some(&Response::judged(&value, Classifier::builtin())));
    for response in &attempts {
        assert!(response.status != Status::Failure || !response.errors.is_empty());
        assert!(response.status != Status::Warning || !response.warnings.is_empty());
        let written = serde_json::to_value(response).expect("a response can be written");
        let again = Response::normalise(&written, Classifier::builtin());
        assert_eq!(told(&again.warnings), told(&response.warnings));
        assert_eq!(told(&again.errors), told(&response.errors));
        assert_eq!((again.status, &again.message), (response.status, &response.message));
    }
});

/// All of a finding but the odd word its severity once was.
fn told(findings: &[Finding]) -> Vec<Finding> {
    findings.iter().cloned().map(|finding| Finding { raw_severity: None, ..finding }).collect()
}
