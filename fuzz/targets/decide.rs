//! A request of `policy decide`: refused with a problem, or answered by the rules of the contract.
#![no_main]

use checkrein_core::decision::{Outcome, Request};
use checkrein_fuzz::check_problems;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (request, resolution) = match Request::parse("fuzz", text) {
        Ok(parsed) => parsed,
        Err(problems) => return check_problems(&problems, text),
    };
    let answer = request.answer(&resolution.policy);
    assert_eq!(answer, request.answer(&resolution.policy), "the same request has the same answer");
    assert_eq!(answer.reason.is_empty(), answer.outcome == Outcome::Proceed);
    assert_eq!(answer.rule.is_none(), answer.outcome == Outcome::Proceed);
    assert!(!answer.check_in || answer.outcome < Outcome::Stop);
    assert!(answer.totals.warnings >= request.totals.warnings);
    assert!(answer.totals.errors >= request.totals.errors);
    serde_json::to_string(&answer).expect("an answer can be written");
});
