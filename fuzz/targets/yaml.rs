//! Any text as YAML: a tree whose spans lie in the text, or a problem that says where.
#![no_main]

use checkrein_core::document::Format;
use checkrein_fuzz::check_document;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| check_document(text, Format::Yaml));
