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
        assert_eq!(document.root.to_json(), theirs);
    }
});
