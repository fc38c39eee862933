//! Three lines: a length of time, a trigger, a boundary. What is read is written the same, and a
//! trigger without conditions never stays silent.
#![no_main]

use checkrein_core::boundary::Boundary;
use checkrein_core::duration;
use checkrein_core::policy::{On, Scope, Trigger};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let mut lines = input.lines();
    let mut line = || lines.next().unwrap_or("");
    duration::parse(line());
    let Ok(trigger) = serde_json::from_str::<Trigger>(line()) else { return };
    let written = serde_json::to_string(&trigger).expect("a trigger can be written");
    let read: Trigger = serde_json::from_str(&written).expect("and read again");
    assert_eq!(read, trigger);
    assert!(!trigger.to_string().is_empty());
    let Ok(boundary) = serde_json::from_str::<Boundary>(line()) else { return };
    let plain = Trigger { on: trigger.on.clone(), ..Trigger::ALWAYS };
    for scope in Scope::ALL {
        assert!(!trigger.fires(scope, &boundary) || plain.fires(scope, &boundary));
        assert!(trigger.on != On::Kind(boundary.kind.clone()) || plain.fires(scope, &boundary));
        assert!(Trigger::ALWAYS.fires(scope, &boundary));
    }
});
