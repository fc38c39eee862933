use checkrein_core::principal::Role;

use crate::place::Place;

#[test]
fn those_that_are_built_in_and_those_with_a_file() {
    let place =
        Place::making().expert("mine", "$extends: coder\ndescription: mine\nautonomy: guided\n").start();
    let listed = place.as_role(Role::Viewer).get("/v1/experts").expect(200).json();
    let words: Vec<String> = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| format!("{} {}", row["name"].as_str().unwrap(), row["level"].as_str().unwrap()))
        .collect();
    assert_eq!(
        words,
        [
            "coder partial",
            "debugger full",
            "mine guided",
            "researcher partial",
            "validator review",
            "writer partial"
        ]
    );
    assert_eq!(listed["items"][0]["source"], "built in");
}
