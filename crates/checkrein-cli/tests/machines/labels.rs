//! Who takes a run: whoever has what it requires and sees its files.

use crate::world::{World, until};

const FLOW: &str = "requires: [linux]
phases:
  build:
    steps:
      - {id: plain, run: echo plain >> steps}
      - {id: train, run: echo train >> steps, requires: [gpu]}
      - {id: after, run: echo after >> steps}
";

#[test]
fn a_step_is_done_by_a_worker_that_has_what_it_requires() {
    let world = World::new("machine: {shared: [WORK], labels: [linux]}\n");
    world.flow("flow.yaml", FLOW);
    let run = world.queue("desk", "flow.yaml");
    // Somebody who has too little takes what it can, and gives the rest back.
    let told = world.run("plain", &["worker", "--once"], 0);
    assert!(told.contains(&format!("run {run} waits for a worker that has gpu")), "{told}");
    assert_eq!(world.status(&run), "running");
    let shown = world.run("desk", &["show", &run], 0);
    assert!(shown.contains("requires    gpu, linux"), "{shown}");
    assert!(shown.contains("a worker: no worker that runs has `gpu`, `linux`"), "{shown}");
    let again = world.run("plain", &["worker", "--once"], 0);
    assert!(!again.contains(&run), "{again}");
    let told = world.run("strong", &["worker", "--once", "--label", "gpu"], 0);
    assert!(told.contains(&format!("run {run} is completed")), "{told}");
    assert_eq!(
        std::fs::read_to_string(world.work().join("steps")).unwrap().split_whitespace().collect::<Vec<_>>(),
        ["plain", "train", "after"]
    );
    world.assert_done_once(&run, 3);
    let events = world.events(&run);
    assert!(!events.iter().any(|event| event["event"] == "attempt_interrupted"), "nothing was begun in vain");
}

#[test]
fn a_run_stays_where_its_files_are_and_says_so() {
    let world = World::new("");
    world.flow("flow.yaml", "phases:\n  build:\n    steps:\n      - {id: a, run: echo a}\n");
    let run = world.queue("here", "flow.yaml");
    let told = world.run("there", &["worker", "--once"], 0);
    assert!(!told.contains(&run), "{told}");
    assert_eq!(world.status(&run), "created");
    let shown = world.run("there", &["show", &run], 0);
    assert!(shown.contains("only on") && shown.contains("where no worker runs"), "{shown}");
    let workers = world.json("there", &["workers", "--json"]);
    assert_eq!(workers["queue"]["waiting"], 1);
    assert!(
        workers["queue"]["stuck"][0]["why"].as_str().unwrap().contains("where no worker runs"),
        "{workers}"
    );
    // Nobody drives it from elsewhere, by its name either.
    let refused = world.run("there", &["resume", &run], 6);
    assert!(refused.contains("and it goes on there alone"), "{refused}");
    let here = world.start("here", &["worker", "--name", "w1"]);
    until(|| (world.status(&run) == "completed").then_some(()));
    let workers = world.run("there", &["workers"], 0);
    assert!(workers.contains("w1") && workers.contains("alive"), "{workers}");
    assert!(workers.contains("No run waits for a worker."), "{workers}");
    drop(here);
}

#[test]
fn no_more_runs_of_a_repository_go_on_at_once_than_it_may_have() {
    let world = World::new("machine: {shared: [WORK], runs_per_repository: 1}\n");
    let step = crate::world::witnessed("a", "0.3").replace("$WITNESS/{run_id}", "$WITNESS/all");
    world.flow("flow.yaml", &format!("phases:\n  build:\n    steps:\n{step}"));
    let workers = ["one", "two"].map(|name| world.start(name, &["worker", "--runs", "4", "--name", name]));
    let runs: Vec<String> = (0..6).map(|_| world.queue("desk", "flow.yaml")).collect();
    for run in &runs {
        until(|| (world.status(run) == "completed").then_some(()));
        world.assert_done_once(run, 1);
    }
    assert_eq!(world.collisions(), "", "two at once in one repository");
    drop(workers);
}
