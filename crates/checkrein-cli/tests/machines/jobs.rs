//! Jobs at a forge go on on another machine, from what was pushed there last.

mod moved;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::cut::Way;
use crate::forge::{Forge, git, git_command};
use crate::world::{Machine, World, until};

/// An agent that commits each of three steps, does none that is there, and waits before the last one.
const AGENT: &str = r#"#!/bin/sh
set -e
echo "$CHECKREIN_PHASE_NUMBER $CHECKREIN_DATASOURCE_DATA" >> "$WITNESS/attempts"
case $CHECKREIN_PHASE_KIND in
strategic)
    if [ "$CHECKREIN_ROUND" != 1 ]
    then echo more > more.md; echo '{"outcome": "job_complete", "summary": "more is done"}' > "$CHECKREIN_RESULT"
    elif [ -f step-3 ]
    then echo '{"outcome": "job_complete", "summary": "all steps are done"}' > "$CHECKREIN_RESULT"
    else echo '{"summary": "a plan", "next_todos": ["do the steps"]}' > "$CHECKREIN_RESULT"
    fi ;;
tactical)
    for step in 1 2 3; do
        [ -f step-$step ] && continue
        [ $step = 3 ] && until [ -f "$WITNESS/go" ]; do
            sleep 0.2
            [ -f "$WITNESS/tick" ] && date +%N > tick && git add . && git commit --quiet -m "tick $$" \
                && echo >> "$WITNESS/ticks"
        done
        echo $step > step-$step
        echo $step >> "$WITNESS/steps"
        git add . && git commit --quiet -m "step $step"
    done
    echo '{"summary": "did the steps"}' > "$CHECKREIN_RESULT" ;;
esac
"#;

/// What whoever takes a job over puts on its branch.
const FENCE: &str = "checkrein: goes on on another machine";

struct Scene {
    // Machines end before what they use.
    world: World,
    forge: Forge,
    job: String,
    /// What the names of its branches begin with.
    branches: String,
}

impl Scene {
    /// A job in a repository of machine `one`, with a document, that nobody has begun.
    fn new(level: &str, more: &[&str]) -> Scene {
        let forge = Forge::new();
        let settings = forge.settings();
        Scene::with(forge, &settings, level, more)
    }

    /// A job outside any repository: one is made for it.
    fn made(level: &str) -> Scene {
        let forge = Forge::empty();
        let settings = format!("{}  owner: team\n", forge.settings());
        let mut scene = Scene::with(forge, &settings, level, &[]);
        scene.branches = String::new();
        scene
    }

    fn with(forge: Forge, settings: &str, level: &str, more: &[&str]) -> Scene {
        let world = World::new(&format!("machine: {{shared: [WORK]}}\n{settings}"));
        let agent = world.work().join("agent.sh");
        std::fs::write(&agent, AGENT).unwrap();
        let executable = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        std::fs::set_permissions(&agent, executable).unwrap();
        std::fs::write(world.work().join("notes.md"), "What to know.\n").unwrap();
        let app = world.root.path().join("app");
        let mut arguments = vec!["job", "Do three steps", "--agent", "cmd:./agent.sh", "--autonomy", level];
        if forge.repository().is_some() {
            forge.clone_to(&app);
            arguments.extend(["--repo", app.to_str().unwrap()]);
        }
        arguments.extend(["--queue", "--doc", "notes.md"]);
        arguments.extend(["--config-override", r#"{"environment": ["WITNESS"]}"#]);
        arguments.extend(more);
        let output = world.command("one", &arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let job = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        let branches = format!("checkrein/{job}/");
        Scene { world, forge, job, branches }
    }

    fn worker(&self, name: &str) -> Machine {
        self.world.start(name, &["worker", "--name", name])
    }

    /// The job's own repository on a machine.
    fn repository(&self, machine: &str) -> PathBuf {
        let mut places = vec![self.world.root.path().join("files").join(machine)];
        while let Some(place) = places.pop() {
            if place.ends_with(format!("{}/repository.git", self.job)) {
                return place;
            }
            let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
            places.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
        }
        panic!("no repository on {machine}");
    }

    fn branch(&self, name: &str) -> String {
        format!("{}{name}", self.branches)
    }

    fn titles(&self, name: &str) -> Vec<String> {
        self.forge.titles(&self.branch(name))
    }

    fn witness(&self, name: &str) -> PathBuf {
        self.world.root.path().join("witness").join(name)
    }

    fn seen(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.witness(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Who has the job.
    fn holder(&self) -> String {
        self.world.sql(&format!("SELECT coalesce(name, '') FROM leases WHERE run = '{}'", self.job))
    }

    fn pinned(&self) -> String {
        self.world.sql(&format!("SELECT pinned FROM leases WHERE run = '{}'", self.job))
    }

    /// Two steps are committed and in the forge, and the job can go on anywhere.
    fn until_two_steps_are_pushed(&self) {
        until(|| self.titles("phase-2-tactical").contains(&"step 2".to_owned()).then_some(()));
        until(|| self.pinned().is_empty().then_some(()));
    }

    /// Ready when a machine is at the attempt; how long it took.
    fn until_taken_over(&self, by: &str) -> Duration {
        let began = Instant::now();
        let before = self.seen("attempts").len();
        until(|| (self.holder() == by && self.seen("attempts").len() > before).then_some(()));
        began.elapsed()
    }

    fn go_on(&self) {
        std::fs::write(self.witness("go"), "").unwrap();
    }

    fn until_held(&self) -> String {
        until(|| {
            let sql = format!("SELECT id FROM checkpoints WHERE run = '{}' AND status = 'pending'", self.job);
            Some(self.world.sql(&sql)).filter(|id| !id.is_empty())
        })
    }

    /// A verdict of a reviewer on a machine.
    fn judge(&self, machine: &str, arguments: &[&str]) {
        let token = self.world.run(machine, &["token", "create", "--role", "reviewer", "--name", "ann"], 0);
        let token = token.lines().next().unwrap().to_owned();
        let output = self.world.command(machine, arguments).env("CHECKREIN_TOKEN", token).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The job is done: each step once, each phase in one pull request that was merged once, and nothing said twice.
    fn assert_done_once(&self) {
        until(|| (self.world.status(&self.job) == "completed").then_some(()));
        assert_eq!(self.seen("steps"), ["1", "2", "3"]);
        let pulls = self.forge.pulls();
        let mut heads: Vec<&str> = pulls.iter().map(|pull| pull.head.rsplit('/').next().unwrap()).collect();
        heads.sort_unstable();
        heads.dedup();
        assert_eq!(heads.len(), pulls.len(), "one of each phase");
        assert_eq!(heads, ["phase-1-strategic", "phase-2-tactical"]);
        for pull in &pulls {
            assert_eq!((pull.merges, pull.open), (1, false), "{pull:?}");
            let mut said: Vec<_> = pull.remarks.iter().map(|(_, text)| text).collect();
            said.sort();
            said.dedup();
            assert_eq!(said.len(), pull.remarks.len(), "{:?}", pull.remarks);
        }
        let files = self.forge.git(&["ls-tree", "--name-only", "main"]);
        let steps: Vec<&str> = files.lines().filter(|name| name.starts_with("step-")).collect();
        assert_eq!(steps, ["step-1", "step-2", "step-3"]);
        // The job's own branches have served.
        until(|| {
            (self.forge.git(&["branch", "--list", "--format=%(refname:short)"]) == "main").then_some(())
        });
    }
}

#[test]
fn a_job_at_a_forge_goes_on_elsewhere_when_its_worker_is_killed() {
    let scene = Scene::new("review", &["--datasource", "data=https://data.example.org/all"]);
    // What it begins with is in the forge before anybody has begun.
    assert_eq!(scene.pinned(), "");
    let mut one = scene.worker("one");
    scene.until_two_steps_are_pushed();
    let two = scene.worker("two");
    one.kill();
    // The repository it was given in is gone with its machine.
    std::fs::rename(scene.world.root.path().join("app"), scene.world.root.path().join("gone")).unwrap();
    let took = scene.until_taken_over("two");
    println!("a worker that was killed was taken over from after {took:?}");
    let titles = scene.titles("phase-2-tactical");
    assert_eq!(&titles[titles.len() - 3..], ["step 1", "step 2", FENCE], "{titles:?}");
    assert_eq!(scene.seen("attempts").pop().unwrap(), "2 https://data.example.org/all");
    // Whoever had it pushes to the forge in vain.
    let old = scene.repository("one");
    let branch = format!("refs/heads/{}", scene.branch("phase-2-tactical"));
    let late = git(&old, &["commit-tree", &format!("{branch}^{{tree}}"), "-p", &branch, "-m", "late"]);
    let url = format!("{}/team/app.git", scene.forge.url);
    assert!(
        !git_command(&old, &["push", "--quiet", &url, &format!("{late}:{branch}")])
            .status()
            .unwrap()
            .success()
    );
    scene.go_on();
    let held = scene.until_held();
    // It can be looked at and answered on a machine that never had it.
    let shown = scene.world.run("three", &["review", &held], 0);
    assert!(shown.contains("step-3"), "{shown}");
    let notes = format!("{}:.checkrein/job/documents/notes.md", scene.branch("main"));
    assert_eq!(scene.forge.git(&["show", &notes]), "What to know.");
    scene.judge("three", &["approve", &held]);
    scene.assert_done_once();
    drop(two);
}

#[test]
fn a_worker_that_stands_still_finds_its_job_gone_and_pushes_nothing_more() {
    let scene = Scene::new("review", &[]);
    let mut one = scene.worker("one");
    scene.until_two_steps_are_pushed();
    one.signal(Signal::STOP);
    let two = scene.worker("two");
    let took = scene.until_taken_over("two");
    println!("a worker that stands still was taken over from after {took:?}");
    let moves = scene.forge.moves(&scene.branch("phase-2-tactical"));
    one.signal(Signal::CONT);
    until(|| one.log().contains("is not ours any more").then_some(()));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(scene.forge.moves(&scene.branch("phase-2-tactical")), moves);
    scene.go_on();
    // Whoever woke up may take it back, as anybody may.
    let held = scene.until_held();
    scene.judge("one", &["approve", &held]);
    scene.assert_done_once();
    drop(two);
}

/// It goes on pushing until it gives up, and what it pushed by then is not lost.
#[test]
fn a_worker_that_is_cut_off_from_the_store_alone_spoils_nothing() {
    let scene = Scene::new("review", &[]);
    let way = Way::of_its_own(scene.world.server.port);
    let one = scene.world.spawn("one", way.command(&scene.world, "one", &["worker", "--name", "one"]));
    scene.until_two_steps_are_pushed();
    let two = scene.worker("two");
    std::fs::write(scene.witness("tick"), "").unwrap();
    way.cut();
    let ticks = |titles: &[String]| titles.iter().filter(|title| title.starts_with("tick")).count();
    let before = ticks(&scene.titles("phase-2-tactical"));
    let took = scene.until_taken_over("two");
    println!("a worker that was cut off was taken over from after {took:?}");
    std::thread::sleep(Duration::from_secs(3));
    std::fs::remove_file(scene.witness("tick")).unwrap();
    way.mend();
    until(|| one.log().contains("is not ours any more").then_some(()));
    std::thread::sleep(Duration::from_secs(2));
    let titles = scene.titles("phase-2-tactical");
    let fence = titles.iter().position(|title| title == FENCE).unwrap();
    let (old, new) = titles.split_at(fence);
    assert!(ticks(old) > before, "what was pushed without the store is there: {titles:?}");
    assert!(ticks(new) > 0, "{titles:?}");
    let whose = |titles: &[String]| titles.iter().find(|title| title.starts_with("tick")).cloned().unwrap();
    let first = whose(old);
    assert!(!new.contains(&first), "nothing of the old one comes after the fence: {titles:?}");
    scene.go_on();
    let held = scene.until_held();
    scene.judge("two", &["approve", &held]);
    scene.assert_done_once();
    drop((one, two));
}

#[test]
fn a_review_whose_machine_is_gone_is_answered_and_worked_on_elsewhere() {
    let scene = Scene::new("review", &[]);
    scene.go_on();
    let mut one = scene.worker("one");
    let held = scene.until_held();
    until(|| scene.holder().is_empty().then_some(()));
    one.kill();
    std::fs::remove_dir_all(scene.world.root.path().join("files/one")).unwrap();
    std::fs::rename(scene.world.root.path().join("app"), scene.world.root.path().join("gone")).unwrap();
    scene.judge("two", &["request-changes", &held, "-m", "more, please"]);
    let two = scene.worker("two");
    let again = until(|| Some(scene.until_held()).filter(|id| *id != held));
    let shown = scene.world.run("two", &["review", &again], 0);
    assert!(shown.contains("more.md"), "{shown}");
    drop(two);
    // Nobody is told of what is said in the forge: somebody looks, though the machine that did is gone.
    let three = scene.worker("three");
    let number = scene.forge.pulls().len();
    scene.forge.review(number, "ann", "APPROVED", "");
    until(|| (scene.world.status(&scene.job) == "completed").then_some(()));
    assert_eq!(scene.forge.git(&["show", "main:more.md"]), "more");
    drop(three);
}

#[test]
fn a_forge_that_is_away_fails_no_attempt_and_keeps_the_job_where_it_is() {
    let scene = Scene::new("review", &[]);
    let mut one = scene.worker("one");
    scene.until_two_steps_are_pushed();
    scene.forge.set_away(true);
    scene.go_on();
    until(|| (scene.pinned() != "").then_some(()));
    until(|| {
        let shown = scene.world.run("two", &["show", &scene.job], 0);
        (shown.contains("trouble") && shown.contains("only on")).then_some(())
    });
    let told = scene.world.run("two", &["worker", "--once"], 0);
    assert!(!told.contains("goes on"), "{told}");
    scene.forge.set_away(false);
    let held = scene.until_held();
    until(|| scene.pinned().is_empty().then_some(()));
    one.kill();
    let two = scene.worker("two");
    scene.judge("two", &["approve", &held]);
    scene.assert_done_once();
    drop(two);
}

#[test]
fn a_job_whose_datasource_only_its_machine_knows_stays_there_and_says_so() {
    let scene = Scene::new("review", &["--datasource", "data=postgres://reader:secret@db.example.org/data"]);
    assert_ne!(scene.pinned(), "");
    let told = scene.world.run("two", &["worker", "--once"], 0);
    assert!(!told.contains(&scene.job), "{told}");
    let shown = scene.world.run("two", &["show", &scene.job], 0);
    assert!(shown.contains("where alone its datasources are known"), "{shown}");
    scene.go_on();
    let one = scene.worker("one");
    let held = scene.until_held();
    assert_ne!(scene.pinned(), "");
    scene.judge("one", &["approve", &held]);
    scene.assert_done_once();
    drop(one);
}
