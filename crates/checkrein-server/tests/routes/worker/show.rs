use checkrein_core::principal::Role;

use crate::place::Place;

#[test]
fn one_without_an_entry_has_what_all_have() {
    let place = Place::making().settings("workers: {writer: {autonomy: manual}}").start();
    let viewer = place.as_role(Role::Viewer);
    let shown = |name: &str| viewer.get(&format!("/v1/workers/{name}")).expect(200).json();
    assert_eq!(
        (&shown("writer")["policy"]["level"], &shown("writer")["declared"]),
        (&"manual".into(), &true.into())
    );
    let other = shown("some%20body");
    assert_eq!((&other["name"], &other["declared"]), (&"some body".into(), &false.into()));
    assert_eq!(other["policy"], viewer.get("/v1/policies?scope=worker").expect(200).json());
}
