//! A prompt or a shell command with placeholders: what a command comes to never depends on a value.
#![no_main]

use checkrein_core::plan::{Context, fill_shell, fill_text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let with = |value: &str| Context::from([("a".to_owned(), value.to_owned())]);
    let _ = fill_text(text, &with("'\"$(x)`"));
    let one = fill_shell(text, &with("'\"$(x)`\n"));
    let other = fill_shell(text, &with(text));
    match (one, other) {
        (Ok((one, _)), Ok((other, _))) => assert_eq!(one, other),
        (one, other) => assert_eq!(one.is_ok(), other.is_ok()),
    }
    if !text.contains('{') {
        assert_eq!(fill_shell(text, &Context::new()), Ok((text.to_owned(), Vec::new())));
    }
});
