//! Ways on which a job comes to another machine beside the death of its worker, and what is in the way of it.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::{FENCE, Scene};
use crate::forge::{Between, Forge};
use crate::world::{Machine, until};

impl Scene {
    /// What a machine had of the job is gone.
    fn lose_files_of(&self, machine: &str) {
        let files = self.world.root.path().join("files");
        std::fs::rename(files.join(machine), files.join(format!("{machine}-gone"))).unwrap();
    }

    /// Ready when another attempt has begun.
    fn until_begun_again(&self, before: usize) {
        until(|| (self.seen("attempts").len() > before).then_some(()));
    }

    /// How many commits the agent made in vain, and how many of them are in the forge. One may be there that the agent
    /// had no time to count.
    fn ticks(&self) -> (usize, usize) {
        let titles = self.titles("phase-2-tactical");
        (self.seen("ticks").len(), titles.iter().filter(|title| title.starts_with("tick")).count())
    }

    /// Has the agent commit something new again and again, for a while.
    fn until_it_ticked(&self) {
        let before = self.ticks().0;
        std::fs::write(self.witness("tick"), "").unwrap();
        until(|| (self.ticks().0 > before + 4).then_some(()));
    }

    /// Asks for changes at the end of the job, so that there is a pull request that waits.
    fn until_held_in_the_forge(&self) -> usize {
        let first = self.until_held();
        self.judge("desk", &["request-changes", &first, "-m", "more, please"]);
        until(|| Some(self.until_held()).filter(|id| *id != first));
        until(|| self.holder().is_empty().then_some(()));
        until(|| Some(self.forge.pulls().len()).filter(|pulls| *pulls == 3))
    }
}

#[test]
fn a_job_whose_repository_was_made_for_it_goes_on_elsewhere() {
    let scene = Scene::made("review");
    assert_eq!(scene.forge.repository().unwrap(), format!("team/checkrein-{}", scene.job));
    assert_eq!(scene.pinned(), "", "it is in the forge before anybody has begun");
    let mut one = scene.worker("one");
    scene.until_two_steps_are_pushed();
    one.kill();
    scene.lose_files_of("one");
    let two = scene.worker("two");
    scene.until_taken_over("two");
    let titles = scene.titles("phase-2-tactical");
    assert_eq!(&titles[titles.len() - 3..], ["step 1", "step 2", FENCE], "{titles:?}");
    scene.go_on();
    let held = scene.until_held();
    let shown = scene.world.run("three", &["review", &held], 0);
    assert!(shown.contains("step-3"), "{shown}");
    scene.judge("three", &["approve", &held]);
    scene.assert_done_once();
    let titles = scene.titles("main");
    let merges = titles.iter().filter(|title| title.contains("phase") || title.contains("Phase")).count();
    assert!(merges >= 2, "{titles:?}");
    drop(two);
}

const SECRET: &str = "agreed-on";
const HINT: &str = r#"{"repository":{"full_name":"team/app"}}"#;
/// By `printf %s HINT | openssl dgst -sha256 -hmac agreed-on`.
const SIGNED: &str = "3f4f5d425df2f5e25607c11393af0d70adcbdd1bd9246295ae2a99083d81b14f";

/// A job whose forge is looked at so seldom that it cannot be why something is heard, and a server without workers.
fn with_webhook() -> (Scene, Machine, String) {
    let forge = Forge::new();
    let settings = forge.settings().replace("poll: 1s", "poll: 5m\n  webhook_secret_env: HOOK_SECRET");
    let scene = Scene::with(forge, &settings, "review", &[]);
    let mut command = scene.world.command("server", &["serve", "--listen", "127.0.0.1:0", "--no-worker"]);
    command.env("HOOK_SECRET", SECRET);
    let server = scene.world.spawn("server", command);
    let address = until(|| {
        let log = server.log();
        let (_, rest) = log.split_once("listens on http://")?;
        rest.split_once(char::is_whitespace).map(|(address, _)| address.to_owned())
    });
    (scene, server, address)
}

/// What a server answers to a webhook.
fn hint(address: &str, signature: &str) -> String {
    let mut server = TcpStream::connect(address).unwrap();
    let request = format!(
        "POST /v1/forges/hook HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {}\r\n\r\n{HINT}",
        HINT.len()
    );
    server.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    server.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_webhook_that_comes_to_another_server_wakes_the_job_where_its_files_are() {
    let (scene, server, address) = with_webhook();
    scene.go_on();
    let one = scene.worker("one");
    let number = scene.until_held_in_the_forge();
    scene.forge.review(number, "ann", "APPROVED", "");
    let refused = hint(&address, &"0".repeat(64));
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert_eq!(scene.world.status(&scene.job), "held");
    let taken = hint(&address, SIGNED);
    assert!(taken.ends_with(r#"{"jobs":1}"#), "{taken}");
    until(|| (scene.world.status(&scene.job) == "completed").then_some(()));
    assert_eq!(scene.forge.git(&["show", "main:more.md"]), "more");
    drop((one, server));
}

#[test]
fn a_webhook_wakes_a_job_whose_machine_is_gone_on_another_one() {
    let (scene, server, address) = with_webhook();
    scene.go_on();
    let mut one = scene.worker("one");
    let number = scene.until_held_in_the_forge();
    one.kill();
    scene.lose_files_of("one");
    let two = scene.worker("two");
    scene.forge.review(number, "ann", "APPROVED", "");
    let taken = hint(&address, SIGNED);
    assert!(taken.ends_with(r#"{"jobs":1}"#), "{taken}");
    until(|| (scene.world.status(&scene.job) == "completed").then_some(()));
    assert_eq!(scene.forge.git(&["show", "main:more.md"]), "more");
    drop((two, server));
}

/// The forge is where it is resumed from, so what was committed right before the pause is there.
#[test]
fn a_job_that_was_paused_is_resumed_elsewhere_with_all_that_was_committed() {
    let scene = Scene::new("review", &[]);
    let one = scene.worker("one");
    scene.until_two_steps_are_pushed();
    scene.until_it_ticked();
    scene.world.run("desk", &["pause", &scene.job], 0);
    assert_eq!(scene.world.status(&scene.job), "paused");
    let (made, there) = scene.ticks();
    assert!(there >= made, "{made} were made and {there} are in the forge");
    let before = scene.seen("attempts").len();
    let two = scene.world.start("two", &["resume", &scene.job]);
    scene.until_begun_again(before);
    // The same where it is paused on the machine that has its files.
    scene.until_it_ticked();
    scene.world.run("two", &["pause", &scene.job], 0);
    std::fs::remove_file(scene.witness("tick")).unwrap();
    let (made, there) = scene.ticks();
    assert!(there >= made, "{made} were made and {there} are in the forge");
    assert_eq!(scene.titles("phase-2-tactical").iter().filter(|title| *title == FENCE).count(), 1);
    drop(two);
    scene.lose_files_of("two");
    let before = scene.seen("attempts").len();
    let three = scene.world.start("three", &["resume", &scene.job]);
    scene.until_begun_again(before);
    assert_eq!(scene.titles("phase-2-tactical").iter().filter(|title| *title == FENCE).count(), 2);
    scene.go_on();
    let held = scene.until_held();
    scene.judge("desk", &["approve", &held]);
    scene.assert_done_once();
    drop((one, three));
}

/// Both ways on which a push can come too late: git sees it before it pushes, or the forge when it writes.
#[test]
fn a_branch_that_moves_while_it_is_taken_over_is_taken_over_as_it_is_then() {
    let scene = Scene::new("review", &[]);
    let mut one = scene.worker("one");
    scene.until_two_steps_are_pushed();
    one.kill();
    // What ran under it is over before others begin, and pushes nothing.
    let between = [Between::LookAndPush, Between::PushAndWrite, Between::LookAndPush];
    scene.forge.intrude(&scene.branch("phase-2-tactical"), &between);
    let two = scene.worker("two");
    scene.until_taken_over("two");
    let titles = scene.titles("phase-2-tactical");
    let last = ["step 1", "step 2", "in between 2", "in between 1", "in between 0", FENCE];
    assert_eq!(&titles[titles.len() - last.len()..], last, "{titles:?}");
    scene.go_on();
    let held = scene.until_held();
    scene.judge("two", &["approve", &held]);
    scene.assert_done_once();
    drop(two);
}

/// Whoever cannot go on with a job leaves it to those who can, also while it looks around itself.
#[test]
fn a_worker_without_the_token_or_the_settings_leaves_a_job_to_one_that_has_them() {
    let scene = Scene::new("review", &[]);
    let mut one = scene.worker("one");
    scene.until_two_steps_are_pushed();
    one.kill();
    let moves = scene.forge.moves(&scene.branch("phase-2-tactical"));
    let mut command = scene.world.command("no-token", &["worker", "--name", "no-token"]);
    command.env_remove("FORGE_TOKEN");
    let no_token = scene.world.spawn("no-token", command);
    until(|| no_token.log().contains("the variable `FORGE_TOKEN`").then_some(()));
    let shown = scene.world.run("desk", &["show", &scene.job], 0);
    assert!(shown.contains("the variable `FORGE_TOKEN`"), "{shown}");
    for (name, settings, says) in [
        ("no-forge", format!("machine: {{shared: [{}]}}\n", scene.world.work().display()), "have no `forge`"),
        ("no-settings", String::new(), "have no `forge`"),
        ("not-shared", scene.forge.settings(), "where alone its agent is"),
    ] {
        let file = scene.world.root.path().join(format!("{name}.yaml"));
        std::fs::write(&file, settings).unwrap();
        let mut command = scene.world.command(name, &["worker", "--once", "--name", name]);
        let output = command.env("CHECKREIN_CONFIG", &file).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && told.contains(says), "{name}: {told}");
    }
    // Nobody of them began, or pushed anything.
    assert_eq!(scene.seen("attempts").len(), 2);
    assert_eq!(scene.forge.moves(&scene.branch("phase-2-tactical")), moves);
    let three = scene.worker("three");
    scene.until_taken_over("three");
    scene.go_on();
    let held = scene.until_held();
    scene.judge("desk", &["approve", &held]);
    scene.assert_done_once();
    drop((no_token, three));
}
