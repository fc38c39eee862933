//! Workflows that extend others.

use super::{ran, responses, scene, show};

const BASE: &str = "id: base
autonomy: {warning_tolerance: high}
env: {WHO: base}
phases:
  build:
    pre_steps: [{id: fetch, run: echo fetch $WHO >> done}]
    steps: [{id: make, run: echo base-make >> done}, {id: lint, run: echo lint >> done}]
    post_steps: [{id: clean, run: echo clean >> done}]
  release:
    require_approval: true
    steps: [{id: ship, run: echo ship >> done}]
";

#[test]
fn wrappers_go_around_and_steps_are_replaced() {
    let place = scene(
        "id: mine
extends: lib/base
env: {WHO: mine}
phases:
  build:
    pre_steps: [{id: own-pre, run: echo own-pre >> done}]
    steps: [{id: make, run: echo own-make >> done}]
    post_steps: [{id: own-post, run: echo own-post >> done}]
  release: {enabled: false}",
    )
    .file("lib/base.yaml", BASE);
    let (_, id) = ran(&place, &[], 0);
    assert_eq!(
        place.read("done").lines().collect::<Vec<_>>(),
        ["fetch mine", "own-pre", "own-make", "own-post", "clean"]
    );
    let shown = show(&place, &id);
    assert_eq!((&shown["workflow_id"], &shown["phases"][1]["status"]), (&"mine".into(), &"skipped".into()));
    assert_eq!(shown["policy"]["tolerance"]["warning"], "high", "{shown}");
}

#[test]
fn inherited_steps_can_be_left_out() {
    let place = scene("extends: base.yaml\nskip_steps: [build:lint, clean]").file("base.yaml", BASE);
    let (_, id) = ran(&place, &["--phase", "build"], 0);
    assert_eq!(responses(&place, &id), ["build:fetch success", "build:make success"]);
}

#[test]
fn an_inherited_gate_stays_a_gate() {
    let place = scene("extends: base.yaml\nautonomy: {require_approval_for: []}").file("base.yaml", BASE);
    ran(&place, &["--yes"], 3);
    assert!(!place.read("done").contains("ship"));
}
