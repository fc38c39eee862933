//! A store moves to a server with what waits in it, and back.

use crate::world::{World, until};

const FLOW: &str = "autonomy: {check_in_frequency: per-step, ask: always}
phases:
  build:
    steps:
      - {id: a, run: echo a >> steps}
      - {id: b, run: echo b >> steps}
";

#[test]
fn a_store_moves_with_its_open_checkpoints() {
    let world = World::new("");
    world.flow("flow.yaml", FLOW);
    let file = world.work().join("store.db");
    let at_file = |arguments: &[&str], code: i32| {
        let mut command = world.command_at(file.to_str().unwrap(), "desk", arguments);
        let output = command.output().unwrap();
        let told =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {told}");
        told
    };
    let held = at_file(&["run", "flow.yaml"], 3);
    let run = held.lines().find_map(|line| line.strip_prefix("note: run ")).unwrap();
    let run = run.split([':', ' ']).next().unwrap().to_owned();
    at_file(&["checkpoint", "create", "--worker", "w", "--deliverable", "draft", "--id", "draft-1"], 3);
    let token = at_file(&["token", "create", "--role", "reviewer", "--name", "ann"], 0);
    let token = token.lines().next().unwrap().to_owned();

    let told = at_file(&["store", "copy", file.to_str().unwrap(), &world.address], 0);
    assert!(told.contains("runs"), "{told}");
    let open = world.run("desk", &["inbox"], 0);
    assert!(open.contains("draft-1") && open.contains(&run), "{open}");
    world.run("desk", &["store", "check"], 0);
    // A second time there is something in the way.
    let refused = at_file(&["store", "copy", file.to_str().unwrap(), &world.address], 6);
    assert!(refused.contains("not empty") || refused.contains("empty"), "{refused}");
    // The token still opens it, and what waited goes on there.
    let approve = |id: &str| {
        let mut command = world.command("desk", &["approve", id]);
        let output = command.env("CHECKREIN_TOKEN", &token).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    approve("draft-1");
    let worker = world.start("desk", &["worker"]);
    for number in 1.. {
        if world.status(&run) == "completed" {
            break;
        }
        let asked = until(|| {
            let sql = format!("SELECT id FROM checkpoints WHERE run = '{run}' AND status = 'pending'");
            let over = world.status(&run) == "completed";
            Some(world.sql(&sql)).filter(|id| !id.is_empty() || over)
        });
        if !asked.is_empty() {
            approve(&asked);
        }
        assert!(number < 9, "it asks for ever");
    }
    assert_eq!(std::fs::read_to_string(world.work().join("steps")).unwrap(), "a\nb\n");
    drop(worker);

    let back = world.work().join("back.db");
    world.run("desk", &["store", "copy", &world.address, back.to_str().unwrap()], 0);
    let output = world.command_at(back.to_str().unwrap(), "desk", &["show", &run]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("completed"), "{output:?}");
}
