//! Jobs at a forge go on on another machine, from what was pushed there last.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::cut::Way;
use crate::forge::Forge;
use crate::world::{Machine, World, until};

/// An agent that commits each of three steps, does none that is there, and waits before the last one.
const AGENT: &str = r#"#!/bin/sh
set -e
printf '%s %s\n' "$CHECKREIN_PHASE_NUMBER" "$(git rev-parse HEAD)" >> "$WITNESS/attempts"
case $CHECKREIN_PHASE_KIND in
strategic)
    if [ -f step-3 ]
    then echo '{"outcome": "job_complete", "summary": "all steps are done"}' > "$CHECKREIN_RESULT"
    else echo '{"summary": "a plan", "next_todos": ["do the steps"]}' > "$CHECKREIN_RESULT"
    fi ;;
tactical)
    for step in 1 2 3; do
        [ -f step-$step ] && continue
        [ $step = 3 ] && until [ -f "$WITNESS/go" ]; do sleep 0.1; done
        echo $step > step-$step
        echo $step >> "$WITNESS/steps"
        git add . && git commit --quiet -m "step $step"
    done
    echo '{"summary": "did the steps"}' > "$CHECKREIN_RESULT" ;;
esac
"#;

struct Scene {
    // Machines end before what they use.
    world: World,
    forge: Forge,
    job: String,
}

impl Scene {
    /// A job in a repository of machine `one`, with a document, that nobody has begun.
    fn new(level: &str, more: &[&str]) -> Scene {
        let forge = Forge::new();
        let world = World::new(&format!("machine: {{shared: [WORK]}}\n{}", forge.settings()));
        let agent = world.work().join("agent.sh");
        std::fs::write(&agent, AGENT).unwrap();
        let executable = <std::fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        std::fs::set_permissions(&agent, executable).unwrap();
        std::fs::write(world.work().join("notes.md"), "What to know.\n").unwrap();
        let app = world.root.path().join("app");
        forge.clone_to(&app);
        let mut arguments = vec!["job", "Do three steps", "--agent", "cmd:./agent.sh", "--autonomy", level];
        arguments.extend(["--repo", app.to_str().unwrap(), "--queue", "--doc", "notes.md"]);
        arguments.extend(["--config-override", r#"{"environment": ["WITNESS"]}"#]);
        arguments.extend(more);
        let output = world.command("one", &arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let job = String::from_utf8(output.stdout).unwrap().trim().to_owned();
        Scene { world, forge, job }
    }

    fn worker(&self, name: &str) -> Machine {
        self.world.start(name, &["worker", "--name", name])
    }

    fn branch(&self, name: &str) -> String {
        format!("checkrein/{}/{name}", self.job)
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
        let heads: Vec<&str> = pulls.iter().map(|pull| pull.head.rsplit('/').next().unwrap()).collect();
        assert_eq!(heads, ["phase-1-strategic", "phase-2-tactical", "phase-3-strategic"]);
        for pull in &pulls {
            assert_eq!((pull.merges, pull.open), (1, false), "{pull:?}");
            let mut said: Vec<_> = pull.remarks.iter().map(|(_, text)| text).collect();
            said.sort();
            said.dedup();
            assert_eq!(said.len(), pull.remarks.len(), "{:?}", pull.remarks);
        }
        let files = self.forge.git(&["ls-tree", "--name-only", "main"]);
        assert_eq!(files.lines().collect::<Vec<_>>(), ["README.md", "step-1", "step-2", "step-3"]);
    }
}

#[test]
fn a_job_at_a_forge_goes_on_elsewhere_when_its_worker_is_killed() {
    let scene = Scene::new("review", &[]);
    let mut one = scene.worker("one");
    scene.until_two_steps_are_pushed();
    let two = scene.worker("two");
    one.kill();
    // The repository it was given in is gone with its machine.
    std::fs::rename(scene.world.root.path().join("app"), scene.world.root.path().join("gone")).unwrap();
    println!("a worker that was killed was taken over from after {:?}", scene.until_taken_over("two"));
    let titles = scene.titles("phase-2-tactical");
    assert!(titles.contains(&"step 2".to_owned()), "{titles:?}");
    assert!(titles.contains(&"checkrein: goes on on another machine".to_owned()), "{titles:?}");
    scene.go_on();
    let held = scene.until_held();
    let shown = scene.world.run("two", &["review", &held], 0);
    assert!(shown.contains("step-3"), "{shown}");
    let documents =
        scene.forge.git(&["show", &format!("{}:.checkrein/job/documents/notes.md", scene.branch("main"))]);
    assert_eq!(documents, "What to know.");
    scene.judge("two", &["approve", &held]);
    scene.assert_done_once();
    drop(two);
}
