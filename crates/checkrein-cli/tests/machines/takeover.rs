//! Whoever dies or stands still is taken over from, once.

use std::time::Instant;

use rustix::process::Signal;

use crate::cut::Way;
use crate::world::{World, until, witnessed};

/// Everything is where all machines see it.
const SHARED: &str = "machine: {shared: [WORK]}\n";

fn three_steps(seconds: &str) -> String {
    let steps: String = ["a", "b", "c"].iter().map(|id| witnessed(id, seconds)).collect();
    format!("phases:\n  build:\n    steps:\n{steps}")
}

/// The run a machine has, with something of it under way.
fn holds(world: &World, machine: &str) -> Option<String> {
    let sql = format!(
        "SELECT l.run FROM leases AS l JOIN runs AS r ON r.id = l.run
         WHERE l.name = '{machine}' AND json_typeof(r.state::json -> 'under_way') IS NOT NULL LIMIT 1"
    );
    Some(world.sql(&sql)).filter(|run| !run.is_empty())
}

/// Two servers and three workers, of which one is killed, one stopped and continued, one cut off: no run is lost,
/// none is done twice, and no two are at one.
#[test]
fn servers_and_workers_that_die_stand_still_or_are_cut_off_lose_nothing() {
    let world = World::new(SHARED);
    world.flow("flow.yaml", &three_steps("2"));
    let way = Way::new(world.server.port);
    let served =
        |name: &str| world.start(name, &["serve", "--listen", "127.0.0.1:0", "--runs", "2", "--name", name]);
    let worker = |name: &str| world.start(name, &["worker", "--runs", "2", "--name", name]);
    let (mut one, two) = (served("one"), served("two"));
    let (mut dies, mut stops) = (worker("dies"), worker("stops"));
    let cut_off = world.spawn("cut", way.command(&world, "cut", &["worker", "--runs", "2", "--name", "cut"]));
    until(|| (world.sql("SELECT count(*) FROM workers") == "5").then_some(()));
    let mut runs: Vec<String> = (0..16).map(|_| world.queue("desk", "flow.yaml")).collect();
    // Each of them is at something when it is met.
    until(|| holds(&world, "dies"));
    dies.kill();
    until(|| holds(&world, "stops"));
    stops.signal(Signal::STOP);
    let lost = until(|| holds(&world, "cut"));
    way.cut();
    let cut_at = Instant::now();
    until(|| {
        (world.sql(&format!("SELECT coalesce(name, '') FROM leases WHERE run = '{lost}'")) != "cut")
            .then_some(())
    });
    // Slow machines are slow; what counts is that it does not wait for anybody.
    println!("what was cut off was taken over after {:?}", cut_at.elapsed());
    stops.signal(Signal::CONT);
    // By now everything may be done that was not taken over.
    runs.extend((0..8).map(|_| world.queue("desk", "flow.yaml")));
    until(|| holds(&world, "one"));
    one.kill();
    way.mend();
    for run in &runs {
        until(|| (world.status(run) == "completed").then_some(()));
    }
    for run in &runs {
        world.assert_done_once(run, 3);
    }
    assert_eq!(world.collisions(), "");
    assert_eq!(world.sql("SELECT count(*) FROM runs"), runs.len().to_string());
    // Whoever woke up says that it is not theirs any more, and goes on with others.
    until(|| stops.log().contains("is not ours any more").then_some(()));
    assert!(stops.is_running());
    drop((two, cut_off));
}

/// A worker that wakes before anybody had room for its run has given it up all the same; it does not keep it from
/// others, nor from itself.
#[test]
fn what_a_worker_gave_up_in_its_sleep_goes_on() {
    let world = World::new(SHARED);
    world.flow("flow.yaml", &three_steps("2"));
    let mut stops = world.start("stops", &["worker", "--runs", "1", "--name", "stops"]);
    let run = world.queue("desk", "flow.yaml");
    until(|| holds(&world, "stops"));
    stops.signal(Signal::STOP);
    let expired =
        format!("SELECT 1 FROM leases WHERE run = '{run}' AND expires_ms < extract(epoch FROM now()) * 1000");
    until(|| (world.sql(&expired) == "1").then_some(()));
    stops.signal(Signal::CONT);
    until(|| (world.status(&run) == "completed").then_some(()));
    world.assert_done_once(&run, 3);
    assert_eq!(world.collisions(), "");
}

/// On one machine, a worker that stands still has the lock of its run; it is passed by.
#[test]
fn a_worker_that_stands_still_is_passed_by_on_its_own_machine() {
    let world = World::new("");
    let steps = format!("phases:\n  build:\n    steps:\n{}{}", witnessed("a", "600"), witnessed("b", "0"));
    world.flow("flow.yaml", &steps.replace("sleep 600", "until test -f go; do sleep 0.2; done"));
    let mut stops = world.start("same", &["worker", "--name", "stops"]);
    let run = world.queue("same", "flow.yaml");
    until(|| holds(&world, "stops"));
    stops.signal(Signal::STOP);
    let began = Instant::now();
    let mut command = world.command("same", &["worker", "--name", "next"]);
    command.stdin(std::process::Stdio::null());
    let next = world.spawn("next", command);
    let starts = || world.sql(&format!("SELECT state::json ->> 'starts' FROM runs WHERE id = '{run}'"));
    until(|| (holds(&world, "next").is_some() && starts() == "2").then_some(()));
    println!("passed by after {:?}", began.elapsed());
    // It wakes while the other one is at it, and leaves that alone.
    stops.signal(Signal::CONT);
    until(|| stops.log().contains("is not ours any more").then_some(()));
    std::fs::write(world.work().join("go"), "").unwrap();
    until(|| (world.status(&run) == "completed").then_some(()));
    world.assert_done_once(&run, 2);
    assert_eq!((world.collisions().as_str(), starts().as_str()), ("", "3"));
    drop(next);
}

/// Who is killed on the same machine is not waited for.
#[test]
fn a_worker_that_was_killed_is_followed_by_another_on_its_machine() {
    let world = World::new("");
    let steps = format!("phases:\n  build:\n    steps:\n{}", witnessed("a", "600"));
    world.flow("flow.yaml", &steps.replace("sleep 600", "test -f go || sleep 600"));
    let mut dies = world.start("same", &["worker", "--name", "dies"]);
    let run = world.queue("same", "flow.yaml");
    until(|| holds(&world, "dies"));
    std::fs::write(world.work().join("go"), "").unwrap();
    dies.kill();
    world.run("same", &["worker", "--once"], 0);
    assert_eq!(world.status(&run), "completed");
    world.assert_done_once(&run, 1);
    // Its lease had not run out: what was seen was that it is gone.
    let epochs = world.sql(&format!("SELECT epoch FROM leases WHERE run = '{run}'"));
    assert_eq!(epochs, "2");
}
