//! An agent that wants its own work approved. Without a sandbox a guard rail is in its way; in one, nothing
//! it tries gets through.

use std::fs;

use super::{Job, job, scene, with_repository};
use crate::place::Place;
use crate::run::{background, expect, only_run, show, until};

/// Tries everything, and notes what came of each.
const HOSTILE: &str = r#"
say() { echo "$1: $2" >> "${XDG_CACHE_HOME:-$here}/tried"; }
try() { name=$1; shift; if "$@" > out.txt 2>&1; then say "$name" worked; else say "$name" "refused: $(head -c 200 out.txt | tr '\n' ' ')"; fi; }
hold=$CHECKREIN_JOB_ID.1
bare() { env -u CHECKREIN_JOB_ID -u CHECKREIN_RUN_ID -u CHECKREIN_ATTEMPT -u CHECKREIN_PHASE -u CHECKREIN_BRIEF -u CHECKREIN_RESULT "$@"; }
if [ "$n.$r" = 2.1 ]; then
  # A second question is open by now: the one about this phase is asked when this attempt ends.
  try approve "$binary" approve "$hold" --store "$store"
  try approve-with-token env CHECKREIN_TOKEN="$(cat "$tokens/ann" 2> /dev/null)" "$binary" approve "$hold" --store "$store"
  try approve-bare bare "$binary" approve "$hold" --store "$store"
  try make-token bare "$binary" token create --role admin --name me --store "$store"
  try loosen "$binary" level "$CHECKREIN_JOB_ID" full --store "$store"
  try loosen-bare bare "$binary" level "$CHECKREIN_JOB_ID" full --store "$store"
  try cancel "$binary" cancel "$CHECKREIN_JOB_ID" --store "$store"
  try sql python3 -c "
import sqlite3, sys
c = sqlite3.connect('file:' + sys.argv[1] + '?mode=rw', uri=True)
sys.exit(c.execute('SELECT id FROM runs WHERE id = ?', [sys.argv[2]]).fetchone() is None)" "$store" "$CHECKREIN_JOB_ID"
  try token-file grep -q chk_ "$tokens/ann"
  try environment sh -c 'for p in /proc/[0-9]*; do tr "\0" "\n" < $p/environ 2> /dev/null; done | grep -q CHECKREIN_SECRET_OF_THE_ENGINE'
  ln -s "$(dirname "$store")" link
  try symlink sh -c "ls link/jobs/$CHECKREIN_JOB_ID/ | grep -q repository"
  try hook sh -c "printf '#!/bin/sh\ntouch %s/hooked\n' '$tokens' > '$repo/.git/hooks/post-checkout'"
  try settings sh -c "echo 'autonomy: {job: full}' > '$repo/checkrein.yaml'"
  try kill sh -c 'ps_found=no; for p in /proc/[0-9]*; do if tr "\0" " " < $p/cmdline 2> /dev/null | grep -q "job Write a lette[r]"; then kill -0 ${p#/proc/} && ps_found=yes; fi; done; [ $ps_found = yes ]'
  call() { python3 -c "import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(*map(int, sys.argv[1:])) < 0)" "$@"; }
  try ssh-agent python3 -c "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])" "$agent"
  try user-namespace unshare -Ur true
  try mount-in-namespace unshare -Urm mount -t tmpfs none "$repo"
  try keyring call "$keyctl" 0 -3 0
  try io-uring call "$io_uring_setup" 1 0
  try trace call "$ptrace" 0 0 0 0
  try vsock python3 -c "import socket; socket.socket(40, socket.SOCK_STREAM)"
  rm -f out.txt
fi
usual
"#;

fn attack(more: &[&str]) -> (Job, Vec<(String, String)>) {
    let place = with_repository(scene(HOSTILE));
    let (tokens, data) = (place.path().join("tokens"), place.path().join("data"));
    fs::create_dir_all(&tokens).unwrap();
    fs::create_dir_all(&data).unwrap();
    prepare(&place);
    let store = data.join("store.db").display().to_string();
    let token = place.run(&["token", "create", "--role", "reviewer", "--name", "ann", "--store", &store]);
    expect(&token, 0);
    // Where a person might keep it: among their credentials.
    let ssh = place.path().join("home/.ssh");
    fs::create_dir_all(&ssh).unwrap();
    fs::write(ssh.join("ann"), &token.stdout).unwrap();
    let socket = place.path().join("home/agent.sock");
    let _agent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let place = place.env("CHECKREIN_STORE", &store).env("CHECKREIN_SECRET_OF_THE_ENGINE", "x");
    let place = place.env("SSH_AUTH_SOCK", &socket.display().to_string());
    let repo = place.path().join("repo").display().to_string();
    let arguments = [&["--autonomy", "dependent", "--repo", &repo][..], more].concat();
    let job = job(place, &arguments, 3);
    job.ann("approve", &[], 0);
    job.resume(3);
    let cache = data.join("jobs").join(&job.id).join("cache/tried");
    let tried = fs::read_to_string(&cache).unwrap_or_else(|_| job.place.read("tried"));
    let lines: Vec<(String, String)> = tried
        .lines()
        .map(|line| line.split_once(": ").map(|(name, what)| (name.to_owned(), what.to_owned())).unwrap())
        .collect();
    (job, lines)
}

/// The agent knows where everything is: that is not what protects it.
fn prepare(place: &Place) {
    let path = place.path().join("agent");
    let text = fs::read_to_string(&path).unwrap();
    let known = format!(
        "keyctl={} io_uring_setup={} ptrace={} agent={}/home/agent.sock\nbinary={} store={}/data/store.db tokens={}/home/.ssh repo={}/repo\n",
        libc::SYS_keyctl,
        libc::SYS_io_uring_setup,
        libc::SYS_ptrace,
        place.path().display(),
        place.binary().display(),
        place.path().display(),
        place.path().display(),
        place.path().display()
    );
    fs::write(&path, known + &text).unwrap();
}

fn of<'t>(tried: &'t [(String, String)], name: &str) -> &'t str {
    let found = tried.iter().find(|(known, _)| known == name);
    &found.unwrap_or_else(|| panic!("`{name}` was not tried: {tried:?}")).1
}

#[test]
fn without_a_sandbox_a_guard_rail_is_in_its_way() {
    let (job, tried) = attack(&[]);
    for name in ["approve", "approve-with-token", "approve-bare", "loosen", "loosen-bare", "cancel"] {
        assert!(of(&tried, name).contains("from inside an agent's attempt"), "{name}: {tried:?}");
    }
    assert!(of(&tried, "make-token").contains("that takes the role admin, not agent"), "{tried:?}");
    // What it still can do is written down, and whoever reviews is told.
    for name in ["sql", "ssh-agent", "user-namespace", "keyring"] {
        assert_eq!(of(&tried, name), "worked", "{name}");
    }
    assert_eq!(job.asked()["isolation"], "none");
    assert_eq!(job.status(), "pending_review");
    let doctor = job.place.run(&["doctor"]);
    assert!(doctor.seen().contains("guard rail"), "{}", doctor.seen());
    // Its settings were read when it was given.
    assert_eq!(job.show()["policy"]["level"], "dependent");
}

#[test]
fn in_a_sandbox_nothing_gets_through() {
    let (job, tried) = attack(&["--sandbox"]);
    assert_eq!(tried.len(), 21, "{tried:?}");
    for (name, what) in &tried {
        assert!(what.starts_with("refused"), "{name} {what}");
    }
    assert_eq!(job.asked()["isolation"], "sandbox");
    assert_eq!(job.status(), "pending_review");
    assert_eq!(job.show()["policy"]["level"], "dependent");
    let repo = job.place.path().join("repo");
    assert!(!repo.join("checkrein.yaml").exists() && !repo.join(".git/hooks/post-checkout").exists());
    expect(&job.place.run(&["store", "check"]), 0);
    // And it can do its work.
    let asked = job.asked();
    let files: Vec<&str> =
        asked["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert!(files.contains(&"work-2"), "{files:?}");
}

/// An agent by name has files that others have not: its task, its messages, its home.
fn by_name(agent: &str) -> Place {
    let place = Place::new();
    let settings =
        format!("agents: {{scripted: {{command: 'sh {}'}}}}\n", place.path().join("agent").display());
    let known = format!("mine={}/home/.bashrc\n", place.path().display());
    place
        .file("agent", &format!("{}{known}{agent}\n", super::PRELUDE))
        .file("home/.bashrc", "# mine\n")
        .file("home/.config/checkrein/checkrein.yaml", &settings)
}

/// Lets an agent do a whole job: in a sandbox and without, as whoever runs the tests, and as an ordinary user if that is
/// root.
fn in_every_way(agent: &str, after: impl Fn(&Place, &str)) {
    let root = rustix::process::geteuid().is_root();
    for ordinary in [false, true].into_iter().take(if root { 2 } else { 1 }) {
        for isolation in [&["--sandbox"][..], &[]] {
            let case = format!("as nobody: {ordinary}, {isolation:?}");
            let place = by_name(agent);
            let place = if ordinary { place.run_as_nobody() } else { place };
            let job = ["job", "Write a letter", "--agent", "scripted", "--autonomy", "full"];
            let ran = place.run(&[&job[..], isolation].concat());
            assert_eq!(ran.code, 0, "{case}: {}", ran.seen());
            after(&place, &case);
        }
    }
}

/// Links to a person's file under every name that the files of this and the next attempts have, or once had, wherever
/// something can be written.
const PLANT: &str = r#"
out=$(dirname "$CHECKREIN_RESULT") own=$(dirname "$CHECKREIN_BRIEF") exchange=$(dirname "$(dirname "$CHECKREIN_BRIEF")")
plant() { mkdir -p "$(dirname "$1")"; ln -sfn "$mine" "$1"; }
{
  for place in "$out" "$own" "$exchange" "$exchange/.."; do
    for next in 2 3 4 5 6; do
      for file in brief.md brief.json agent.json messages.json result.json requests.jsonl; do
        plant "$place/000$next.$file"; plant "$place/000$next/$file"; plant "$place/000$next/out/$file"
      done
    done
  done
  for file in attempt-token.json session.json lease copied datasources.json; do plant "$exchange/../$file"; done
  for next in 2-phase-2-tactical 3-phase-3-strategic; do
    for end in stdout stderr requests.jsonl; do plant "$exchange/../../../runs/$CHECKREIN_JOB_ID/000$next.$end"; done
  done
  rm -rf "${XDG_CACHE_HOME:-$exchange/../cache}/agent"
  ln -s "$(dirname "$mine")" "${XDG_CACHE_HOME:-$exchange/../cache}/agent"
  plant "${XDG_CACHE_HOME:-$exchange/../cache}/session.json"
  ln -sfn "$(dirname "$mine")" "$out/home"; ln -sfn "$mine" "$CHECKREIN_RESULT"; rm -f "$CHECKREIN_RESULT"
} 2> /dev/null
usual
"#;

#[test]
fn a_link_that_waits_for_the_next_attempt_leads_nowhere() {
    in_every_way(PLANT, |place, case| {
        assert_eq!(place.read("home/.bashrc"), "# mine\n", "{case}");
        for entry in fs::read_dir(place.path().join("home")).unwrap() {
            let name = entry.unwrap().file_name();
            assert!([".bashrc", ".config", ".local"].iter().any(|known| name == *known), "{case}: {name:?}");
        }
        expect(&place.run(&["store", "check"]), 0);
    });
}

/// Pipes that nobody writes to wherever the engine may look.
const PIPES: &str = r#"
out=$(dirname "$CHECKREIN_RESULT") own=$(dirname "$CHECKREIN_BRIEF")
for at in "$out/requests.jsonl" "$own/messages.json" "$own/brief.json" "$own/../../session.json" "$own/../../datasources.json" \
    "${XDG_CACHE_HOME:-$own/../../cache}/agent/x" .git/index.lock; do
  rm -f "$at"; mkfifo "$at"
done 2> /dev/null
"#;

#[test]
fn a_pipe_holds_nobody_up() {
    in_every_way(&format!("{PIPES}usual"), |_, _| {});
}

#[test]
fn an_attempt_with_pipes_frees_its_place_when_it_is_cancelled() {
    let waits = format!("{PIPES}touch \"$here/began\"; sleep 600");
    let place = by_name(&waits);
    let mut engine = background(&place, &["job", "Write", "--agent", "scripted"]);
    until(|| place.path().join("began").exists().then_some(()));
    let id = only_run(&place).unwrap();
    // Looking at it does not wait either.
    expect(&place.run(&["log", &id, "--requests"]), 0);
    expect(&place.run(&["cancel", &id]), 0);
    expect(&engine.end(), 1);
    assert_eq!(show(&place, &id)["status"], "cancelled");
}

/// Ten trees of ten trees, nine times over: a few objects, and a billion files for whoever writes them out.
const BOMB: &str = r#"
if [ "$call" = 1 ]; then
  echo x > x; tree=$(git hash-object -w x) kind='100644 blob'
  for level in 1 2 3 4 5 6 7 8 9; do
    tree=$(for i in 0 1 2 3 4 5 6 7 8 9; do printf '%s %s\t%s\n' "$kind" "$tree" "$i"; done | git mktree) kind='040000 tree'
  done
  git update-ref HEAD "$(git commit-tree "$tree" -p HEAD -m 'so much')"
fi
usual
"#;

/// A few bytes that unpack to 20 GB.
const BLOB: &str = r#"
if [ "$call" = 1 ]; then
  rest=$(printf 'ab%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19); mkdir -p .git/objects/ab
  python3 -c "import sys, zlib; sys.stdout.buffer.write(zlib.compress(b'blob 20000000000' + bytes(1)))" > ".git/objects/ab/$rest"
  tree=$( (git ls-tree HEAD; printf '100644 blob ab%s\tzz\n' "$rest") | git mktree --missing)
  git commit-tree "$tree" -p HEAD -m 'so much' > commit; mv commit ".git/$(git symbolic-ref HEAD)"
fi
usual
"#;
/// One file of which a commit has so many that the disk is full of them.
const COPIES: &str = r#"
if [ "$call" = 1 ]; then
  file=$(head -c 1000000 /dev/zero | git hash-object -w --stdin)
  tree=$( (git ls-tree HEAD; for i in $(seq 100); do printf '100644 blob %s\tz%s\n' "$file" "$i"; done) | git mktree)
  git update-ref HEAD "$(git commit-tree "$tree" -p HEAD -m 'so much')"
fi
usual
"#;

#[test]
fn work_that_is_too_much_pauses_the_job_once() {
    for (agent, why) in
        [(BOMB, "has 1000000000 files"), (BLOB, "is 20000000000 bytes, at most"), (COPIES, "bytes, at most")]
    {
        let job = job(scene(agent), &["--config-override", r#"{"disk_bytes": 50000000}"#], 7);
        assert_eq!(job.status(), "paused");
        assert!(job.found().contains(why), "{}", job.found());
        assert!(job.given.stderr.contains("paused: The agent cannot go on"), "{}", job.given.seen());
        assert_eq!(job.calls().len(), 1, "it is not tried again by itself");
        assert!(!job.titles("phase-1-strategic").contains(&"so much".to_owned()));
        job.resume(3);
        assert_eq!(job.calls().len(), 2);
    }
}

/// It may be run by an ordinary user, whom permissions stop.
#[test]
fn permissions_taken_away_stop_nobody() {
    let agent = r#"usual; chmod 000 ${XDG_CACHE_HOME:+"$XDG_CACHE_HOME"} ."#;
    in_every_way(agent, |place, case| {
        let shown = show(place, &only_run(place).unwrap());
        assert_eq!(shown["status"], "completed", "{case}: {shown}");
    });
    let waits = "touch \"$here/began\"; cp \"$here/began\" left; chmod 000 .; sleep 600";
    let place = by_name(waits);
    let place = if rustix::process::geteuid().is_root() { place.run_as_nobody() } else { place };
    let mut engine = background(&place, &["job", "Write", "--agent", "scripted"]);
    let id = until(|| only_run(&place).filter(|_| place.path().join("began").exists()));
    expect(&place.run(&["cancel", &id]), 0);
    expect(&engine.end(), 1);
    assert_eq!(show(&place, &id)["status"], "cancelled");
}
