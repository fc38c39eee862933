//! Anything an agent may hand in: its result is read whatever it is, and a list of todos that can be read is the
//! same when it is written and read again.
#![no_main]

use checkrein_core::run::job::{AgentResult, TodoList};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(value) = serde_json::from_str(text) {
        let (result, _) = AgentResult::read(&value);
        assert!(result.next_todos.iter().all(|todo| !todo.content.trim().is_empty()));
        assert!(result.confidence.is_none_or(|number| (0.0..=1.0).contains(&number)));
        let stored = serde_json::to_string(&result).expect("a result can be written");
        assert_eq!(serde_json::from_str::<AgentResult>(&stored).ok(), Some(result));
    }
    if let Ok(list) = TodoList::read(text) {
        assert_eq!(TodoList::read(&list.write()), Ok(list));
    }
    assert!(!TodoList::of_plan(text).is_empty());
});
