//! Any text as JSON: a tree whose spans lie in the text, or a problem that says where. What is
//! accepted must be JSON to others as well, with the same meaning.
#![no_main]

use checkrein_core::document::{Document, Format};
use checkrein_fuzz::check_document;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    check_document(text, Format::Json);
    if let Ok(document) = Document::parse("fuzz", text, Format::Json) {
        let theirs: Value = serde_json::from_str(text).expect("accepted here, so JSON everywhere");
        let ours = document.root.to_json();
        assert!(same(&ours, &theirs), "{ours} is not {theirs}");
    }
});

/// Equal but for the last digit of a number, which parsers round differently.
fn same(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => {
            let (Some(ours), Some(theirs)) = (ours.as_f64(), theirs.as_f64()) else { return false };
            (ours - theirs).abs() <= theirs.abs() * 1e-15
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| same(ours, theirs))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().all(|(key, ours)| theirs.get(key).is_some_and(|theirs| same(ours, theirs)))
        }
        _ => ours == theirs,
    }
}
