//! Agents that take too long, are silent, fill the disk, or leave something running.

use std::fs;

use super::{Job, job, scene};
use crate::run::alive;

/// A process of each way to get away from a parent; their numbers are in files.
const FAMILY: &str = r#"sleep 600 & echo $! > "$here/pid.child"
setsid sh -c 'echo $$ > "$0/pid.session"; exec sleep 600' "$here" &
( ( sh -c 'echo $$ > "$0/pid.orphan"; exec sleep 600' "$here" & ) & )
setsid env -i sh -c 'echo $$ > "$0/pid.bare"; exec sleep 600' "$here" &
until test -s "$here/pid.session" && test -s "$here/pid.orphan" && test -s "$here/pid.bare"; do sleep 0.01; done
"#;

fn assert_none_left(job: &Job) {
    for name in ["child", "session", "orphan", "bare"] {
        assert!(!alive(&job.place, &format!("pid.{name}")), "{name} is alive");
    }
}

#[test]
fn an_agent_that_takes_too_long_is_ended_with_all_it_started() {
    let agent = format!("{FAMILY}\necho half > half; trap '' TERM; sleep 600");
    let over = ["--config-override", r#"{"timeout":"1s"}"#];
    let job = job(scene(&agent), &over, 1);
    assert_none_left(&job);
    assert!(job.found().contains("it took longer than 1s"), "{}", job.found());
    assert_eq!(job.file("phase-1-strategic", "half"), "half", "its work is kept");
    assert_eq!(job.titles("main").len(), 1);
}

#[test]
fn an_agent_that_is_silent_is_ended() {
    let over = ["--config-override", r#"{"idle_timeout":"500ms"}"#];
    let quiet = job(scene("echo half > half; sleep 600"), &over, 1);
    assert!(quiet.found().contains("it was silent for"), "{}", quiet.found());
    assert_eq!(quiet.file("phase-1-strategic", "half"), "half");
    let talks = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done; usual";
    job(scene(talks), &over, 3);
}

#[test]
fn what_an_agent_leaves_running_is_ended_before_its_work_is_taken() {
    let agent = format!("{FAMILY}\nusual");
    let job = job(scene(&agent), &[], 3);
    assert_none_left(&job);
    assert_eq!(job.calls().len(), 1);
}

#[test]
fn an_agent_that_fills_the_disk_is_ended() {
    let agent = r#"echo half > half; i=0
      while true; do head -c 1000000 /dev/zero > "fill-$i"; i=$((i + 1)); sleep 0.05; done"#;
    let over = ["--config-override", r#"{"disk_bytes":5000000}"#];
    let job = job(scene(agent), &over, 7);
    assert!(job.found().contains("5000000 are allowed"), "{}", job.found());
    assert_eq!(job.file("phase-1-strategic", "half"), "half");
    let clone = job.repository().with_file_name("clone");
    assert!(!clone.exists(), "what filled it is gone");
}

#[test]
fn what_filled_the_disk_is_not_met_again() {
    let agent = r#"if test -e "$here/again"; then usual; exit; fi
      touch "$here/again"; echo build/ > .gitignore; mkdir build; head -c 9000000 /dev/zero > build/much
      while true; do sleep 0.05; done"#;
    let over = ["--config-override", r#"{"disk_bytes":5000000}"#];
    let job = job(scene(agent), &over, 7);
    job.resume(3);
}

/// Wherever it can write.
#[test]
fn everything_an_agent_writes_counts() {
    let over = ["--config-override", r#"{"disk_bytes":5000000}"#, "--sandbox"];
    for place in [r#""$CHECKREIN_RESULT.much""#, r#""$XDG_CACHE_HOME/much""#] {
        let agent = format!(
            r#"if [ "$n.$r" = 1.1 ] && [ ! -e again ]; then touch again; head -c 9000000 /dev/zero > {place}; sleep 600; fi; usual"#
        );
        let job = job(scene(&agent), &over, 7);
        assert_eq!(job.status(), "paused", "{place}");
        assert!(job.found().contains("5000000 are allowed"), "{place}: {}", job.found());
        // What filled it is gone, and what was done is there.
        job.resume(3);
    }
}

#[test]
fn what_an_agent_prints_is_kept_within_bounds() {
    let agent = r#"head -c 9000000 /dev/zero | tr '\0' x; echo the end; usual"#;
    let job = job(scene(agent), &[], 3);
    let output = crate::run::data(&job.place, &format!("runs/{}", job.id));
    let bytes: u64 =
        fs::read_dir(output).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 6_000_000, "{bytes}");
    let log = job.place.run(&["log", &job.id]).stdout;
    assert!(log.contains("the end"));
}
