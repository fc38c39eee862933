//! Killed at any moment, a run loses nothing and repeats at most what was under way.
//!
//! `CHECKREIN_KILLS` says how often (200 times if it is not set), `CHECKREIN_DICE` repeats the moments of
//! an earlier run.

use std::collections::BTreeMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::{
    Background, alive, background, expect, logged, of_type, only_run, ran, resume, scene, show, status,
    steps, until,
};
use crate::place::Place;

const STEPS: usize = 30;
const LANES: usize = 2;
const LIFE_MAX_US: u64 = 260_000;

/// Holds a lock as long as anything of the attempt is alive, and leaves its mark once.
const STEP: &str = r#"exec 9>> lock
flock -n 9 || echo "$1 $$" >> twice
echo "$1" >> done
case $1 in *5) echo '{"warnings":[{"text":"five","severity":"low","category":"style"}]}' > "$CHECKREIN_RESPONSE" ;; esac
sleep 0.00$((${#1} * 3))
"#;

/// How often the runs check in: at the end, or after each step, which is answered by `--yes`.
const CHECK_INS: [&str; 2] = ["check_in_frequency: end-only", "check_in_frequency: per-step, ask: always"];

/// Thirty steps in three phases.
fn thirty(check_ins: &str) -> Place {
    let mut flow = format!("autonomy: {{{check_ins}}}\nphases:\n");
    for phase in ["build", "evaluate", "release"] {
        flow.push_str(&format!("  {phase}:\n    steps:\n"));
        for step in 0..STEPS / 3 {
            flow.push_str(&format!("      - {{id: s{step}, run: sh step {phase}:s{step}}}\n"));
        }
    }
    scene(&flow).file("step", STEP)
}

/// What must be the same however often it was killed.
fn result(place: &Place, id: &str) -> Value {
    let shown = show(place, id);
    let report = place.run(&["report", id, "--format", "minimal"]).stdout;
    let report: Vec<&str> =
        report.lines().filter(|line| !line.contains("Duration:") && !line.contains("Run:")).collect();
    let said: Vec<Value> = of_type(&logged(place, id), "step-response")
        .iter()
        .map(|one| json!([one["step_id"], one["attempt"], one["status"], one["warnings"]]))
        .collect();
    json!({
        "status": shown["status"], "phases": shown["phases"], "totals": shown["response_totals"],
        "report": report, "responses": said, "ends": of_type(&logged(place, id), "workflow-execution").len(),
    })
}

fn undisturbed(check_ins: &str) -> (Value, Vec<String>) {
    let place = thirty(check_ins);
    let (_, id) = ran(&place, &["--yes"], 0);
    (result(&place, &id), place.read("done").lines().map(str::to_owned).collect())
}

#[test]
fn a_run_that_is_killed_again_and_again_comes_to_the_same_end() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let kills = number("CHECKREIN_KILLS").unwrap_or(200);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let dice = number("CHECKREIN_DICE").unwrap_or(now as u64);
    println!("CHECKREIN_DICE={dice}");
    let undisturbed = CHECK_INS.map(undisturbed);
    for (expected, _) in &undisturbed {
        assert_eq!(expected["responses"].as_array().unwrap().len(), STEPS);
    }
    let began = Instant::now();
    let told = thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES as u64)
            .map(|lane| {
                let undisturbed = &undisturbed;
                scope.spawn(move || {
                    let mut dice = Dice(dice.wrapping_add(lane));
                    let mut told = Told::default();
                    while told.kills < kills.div_ceil(LANES as u64) {
                        let which = usize::try_from(told.runs).unwrap() % CHECK_INS.len();
                        one_run(&mut dice, &mut told, CHECK_INS[which], &undisturbed[which]);
                    }
                    told
                })
            })
            .collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect::<Vec<_>>()
    });
    for told in told {
        println!("{told:?} in {:?}", began.elapsed());
        assert!(told.repeated > 0, "no step was ever hit: {told:?}");
    }
}

#[derive(Debug, Default)]
struct Told {
    runs: u64,
    kills: u64,
    repeated: u64,
}

/// Kills a run until it is done, and looks whether it is what it should be.
fn one_run(dice: &mut Dice, told: &mut Told, check_ins: &str, (expected, order): &(Value, Vec<String>)) {
    let place = thirty(check_ins);
    let mut id: Option<String> = None;
    let mut kills = 0;
    loop {
        let engine = match &id {
            None => background(&place, &["run", "flow.yaml", "--yes", "--json"]),
            Some(id) => background(&place, &["resume", id, "--yes", "--json"]),
        };
        let (ended, hits) = one_life(engine, dice);
        kills += hits;
        if let Some(ended) = ended {
            // Killed after its end was recorded and before it could say so, it is over all the same.
            let over = ended.code == 6 && ended.stderr.contains("is completed_with_warnings");
            assert!(ended.code == 0 || over, "{}", ended.seen());
            break;
        }
        id = id.or_else(|| only_run(&place));
        // It was done before it died; its log is completed by whoever runs something next.
        if id.as_ref().is_some_and(|id| status(&place, id).starts_with("completed")) {
            expect(&place.run(&["resume", id.as_deref().unwrap()]), 6);
            break;
        }
    }
    let id = id.or_else(|| only_run(&place)).unwrap();
    let done = place.read("done");
    let about = format!("after {kills} kills: {done}");
    assert!(!place.path().join("twice").exists(), "two were alive: {} {about}", place.read("twice"));
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut place_now = 0;
    for step in done.lines() {
        *counts.entry(step).or_default() += 1;
        let found = order.iter().position(|known| known == step).unwrap();
        // Never back by more than the one under way, never ahead by more than the next.
        assert!(found == place_now || found == place_now + 1, "{step} out of order {about}");
        place_now = found;
    }
    assert_eq!(counts.len(), STEPS, "none is skipped {about}");
    let repeated: u64 = counts.values().map(|count| count - 1).sum();
    assert!(repeated <= kills, "{repeated} repeated {about}");
    assert_eq!(&result(&place, &id), expected, "{about}");
    told.runs += 1;
    told.kills += kills;
    told.repeated += repeated;
}

/// Lets an engine live for a while; how it ended where it did by itself, and how many died by force.
fn one_life(mut engine: Background, dice: &mut Dice) -> (Option<crate::place::Ran>, u64) {
    let mut hits = 0;
    let what = dice.below(10);
    thread::sleep(Duration::from_micros(dice.below(LIFE_MAX_US)));
    let supervisor = if what < 5 { supervisor_of(engine.child.id()) } else { None };
    // Sometimes both at once, sometimes the supervisor and later the engine, mostly the engine alone.
    if let Some(supervisor) = supervisor {
        kill_9(supervisor);
        hits += 1;
        if what < 2 {
            thread::sleep(Duration::from_micros(dice.below(LIFE_MAX_US)));
        }
    }
    if engine.child.try_wait().unwrap().is_some() {
        return (Some(engine.end()), hits);
    }
    engine.child.kill().unwrap();
    let ended = engine.end();
    if ended.code == -1 { (None, hits + 1) } else { (Some(ended), hits) }
}

#[test]
fn when_the_engine_dies_its_step_dies_and_is_repeated() {
    let place = scene(&steps(&[
        ("a", "echo a >> done"),
        ("b", "echo b >> done; test -f go || { sleep 600 & echo $! > pid; wait; }"),
        ("c", "echo c >> done"),
    ]));
    let mut engine = background(&place, &["run", "flow.yaml"]);
    until(|| place.path().join("pid").exists().then_some(()));
    let id = only_run(&place).unwrap();
    engine.signal(Signal::KILL);
    engine.end();
    until(|| (!alive(&place, "pid")).then_some(()));
    assert_eq!(status(&place, &id), "running");
    fs::write(place.path().join("go"), "").unwrap();
    let again = resume(&place, &id, 0);
    assert!(again.stderr.contains("lost    build:b, it is repeated"), "{}", again.seen());
    assert_eq!(place.read("done"), "a\nb\nb\nc\n");
    assert_eq!(super::responses(&place, &id).len(), 3, "a lost attempt has no response");
}

#[test]
fn when_both_die_the_step_is_ended_before_it_is_repeated() {
    let place = scene(&steps(&[(
        "a",
        "exec 9>> lock; flock -n 9 || echo twice >> twice; echo a >> done; test -f go || { sleep 600 & echo $! > pid; wait; }",
    )]));
    let mut engine = background(&place, &["run", "flow.yaml"]);
    until(|| place.path().join("pid").exists().then_some(()));
    let id = only_run(&place).unwrap();
    let supervisor = supervisor_of(engine.child.id()).unwrap();
    kill_9(supervisor);
    engine.child.kill().unwrap();
    engine.end();
    fs::write(place.path().join("go"), "").unwrap();
    resume(&place, &id, 0);
    assert!(!alive(&place, "pid"));
    assert!(!place.path().join("twice").exists());
    assert_eq!(place.read("done"), "a\na\n");
}

#[test]
fn when_the_supervisor_dies_its_step_is_ended_and_repeated() {
    let place = scene(&steps(&[
        (
            "a",
            "exec 9>> lock; flock -n 9 || echo twice >> twice; echo a >> done; test -f go || { touch go; sleep 600 & echo $! > pid; wait; }",
        ),
        ("b", "echo b >> done"),
    ]));
    let mut engine = background(&place, &["run", "flow.yaml"]);
    until(|| place.path().join("pid").exists().then_some(()));
    kill_9(supervisor_of(engine.child.id()).unwrap());
    let ended = engine.end();
    expect(&ended, 0);
    assert!(ended.stderr.contains("lost    build:a, it is repeated"), "{}", ended.seen());
    assert!(!alive(&place, "pid") && !place.path().join("twice").exists());
    assert_eq!(place.read("done"), "a\na\nb\n");
    assert_eq!(show(&place, &only_run(&place).unwrap())["response_totals"]["errors"], 0);
}

#[test]
fn a_step_that_always_kills_its_supervisor_fails() {
    let place = scene(&steps(&[("a", "echo a >> done; kill -9 $PPID; sleep 600")]));
    let (run, _) = ran(&place, &[], 4);
    assert!(run.stderr.contains("The process that watches over the step was killed"), "{}", run.seen());
    assert_eq!(place.read("done"), "a\na\n");
}

/// The process between an engine and its steps.
pub fn supervisor_of(engine: u32) -> Option<u32> {
    children_of(engine).first().map(|(pid, _)| *pid)
}

/// The processes an engine has started itself, and how they were called.
pub fn children_of(engine: u32) -> Vec<(u32, String)> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let children = pids.filter(|pid| parent(*pid) == Some(engine));
    let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    children.map(|pid| (pid, name(pid))).collect()
}

pub fn kill_9(pid: u32) {
    // It may have gone by itself.
    let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL);
}

pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}
