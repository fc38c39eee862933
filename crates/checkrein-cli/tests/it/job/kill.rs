//! Killed at any moment, a job loses no commit, merges each phase once and never has two agents.
//!
//! `CHECKREIN_JOB_KILLS` says how often (100 times if it is not set), `CHECKREIN_DICE` repeats the moments of
//! an earlier run.

use std::fs;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::{Job, agent_of, git, scene, try_git, with_repository};
use crate::place::{Place, Ran};
use crate::run::kill::{Dice, children_of, kill_9};
use crate::run::{Ann, Background, background, only_run, show, until};

const LANES: u64 = 2;
const LIFE_MAX_US: u64 = 900_000;

/// Holds a lock as long as it lives, commits as it goes, and leaves a mark for each comment it was given.
const AGENT: &str = r#"exec 9>> "$here/lock"
flock -n 9 || echo "$n $r $$" >> "$here/twice"
echo $$ > "$here/pid"
grep -o 'word-[0-9]*-[0-9]*' "$here/brief.$call" >> "$here/words"
mark() { echo "$1 $call" >> marks; git add marks; git commit -qm "$1 $call"; echo "$n $call $1" >> "$here/marked"; }
mark "begin-$n-$r"; sleep 0.05; mark "end-$n-$r"
case $n.$CHECKREIN_PHASE_KIND in
  1.*) plan ;;
  *.tactical) work ;;
  5.*) echo "$r" > report; complete ;;
  *) answer '{"summary":"planned","next_todos":["go on"]}' ;;
esac"#;

#[test]
fn a_job_that_is_killed_again_and_again_comes_to_the_same_end() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let kills = number("CHECKREIN_JOB_KILLS").unwrap_or(100);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let dice = number("CHECKREIN_DICE").unwrap_or(now as u64);
    println!("CHECKREIN_DICE={dice}");
    let began = Instant::now();
    let told = thread::scope(|scope| {
        let lane = |lane: u64| {
            let mut dice = Dice(dice.wrapping_add(lane));
            let mut told = Told::default();
            while told.kills < kills.div_ceil(LANES) {
                one_job(&mut dice, &mut told);
            }
            told
        };
        let lanes: Vec<_> = (0..LANES).map(|number| scope.spawn(move || lane(number))).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).collect::<Vec<_>>()
    });
    for told in told {
        println!("{told:?} in {:?}", began.elapsed());
        assert!(told.lost > 0, "no agent was ever hit: {told:?}");
    }
}

#[derive(Debug, Default)]
struct Told {
    jobs: u64,
    kills: u64,
    /// Attempts that were repeated.
    lost: u64,
}

/// Kills a job and answers its reviews until it is done, and looks whether it is what it should be.
fn one_job(dice: &mut Dice, told: &mut Told) {
    let existing = dice.below(2) == 0;
    let place = if existing { with_repository(scene(AGENT)) } else { scene(AGENT) };
    let ann = Ann::of(&place);
    let how = [["squash", "merge", "rebase"][usize::try_from(dice.below(3)).unwrap()]];
    let over = format!(r#"{{"merge":"{}"}}"#, how[0]);
    let agent = agent_of(&place);
    let mut give =
        vec!["job", "Write", "--agent", &agent, "--autonomy", "dependent", "--config-override", &over];
    if existing {
        give.extend(["--repo", "repo"]);
    }
    let (mut kills, mut words) = (0, Vec::new());
    let mut id: Option<String> = None;
    // Where nothing moves, lives grow longer: publishing many commits takes more than a moment.
    let (mut stands_at, mut stuck) = (Value::Null, 0);
    loop {
        let engine = match &id {
            None => background(&place, &give),
            Some(id) => background(&place, &["resume", id]),
        };
        let (ended, hits) = one_life(&place, engine, dice, LIFE_MAX_US * (1 + stuck / 4));
        kills += hits;
        id = id.or_else(|| only_run(&place));
        let Some(known) = &id else { continue };
        if let Some(ended) = &ended {
            let over = ended.code == 6 && ended.stderr.contains("is completed");
            // What lost its agent or a call of git fails, and goes on when it is taken up again.
            let hurt = ended.code == 1 && hits > 0;
            assert!(matches!(ended.code, 0 | 3) || over || hurt, "{}", ended.seen());
        }
        let shown = show(&place, known);
        let calls = fs::read_to_string(place.path().join("calls")).unwrap_or_default().lines().count();
        let now = json!([shown["status"], shown["phase"], calls]);
        stuck = if now == stands_at { stuck + 1 } else { 0 };
        stands_at = now;
        if shown["status"] == "pending_review" {
            answer(&place, known, &ann, dice, &mut words);
        } else if shown["status"].as_str().unwrap().starts_with("completed") {
            break;
        }
    }
    let id = id.unwrap();
    let given = place.run(&["show", &id]);
    let job = Job { place, id, ann, given };
    told.jobs += 1;
    told.kills += kills;
    told.lost += job.events_of("attempt_interrupted").len() as u64;
    is_whole(&job, existing, how[0], &words, kills);
}

/// Approves, or asks for a change with a comment of its own.
fn answer(place: &Place, id: &str, ann: &Ann, dice: &mut Dice, words: &mut Vec<String>) {
    let at = crate::run::waits_at(place, id);
    if words.len() < 3 && dice.below(3) == 0 {
        let word = format!("word-{}-{}", words.len(), dice.below(1_000_000));
        let comment = format!("marks:1={word}");
        crate::run::expect(&ann.says(place, &["request-changes", &at, "--comment", &comment]), 0);
        words.push(word);
    } else {
        crate::run::expect(&ann.says(place, &["approve", &at]), 0);
    }
}

/// Lets an engine live for a while; how it ended where it did by itself, and how many died by force.
fn one_life(place: &Place, mut engine: Background, dice: &mut Dice, life_max_us: u64) -> (Option<Ran>, u64) {
    let mut hits = 0;
    let live = |engine: &mut Background, dice: &mut Dice| {
        let end = Instant::now() + Duration::from_micros(dice.below(life_max_us));
        while Instant::now() < end && engine.child.try_wait().unwrap().is_none() {
            thread::sleep(Duration::from_millis(5));
        }
        engine.child.try_wait().unwrap().is_some()
    };
    if live(&mut engine, dice) {
        return (Some(engine.end()), hits);
    }
    // Mostly the engine alone; else what it waits for, and then it has some time to notice.
    let what = dice.below(10);
    let victim = match what {
        0 | 1 => children_of(engine.child.id()).into_iter().find(|(_, name)| name.contains("__supervise")),
        2 => children_of(engine.child.id()).into_iter().find(|(_, name)| name.contains("git")),
        3 => agent(place),
        _ => None,
    };
    if let Some((victim, _)) = victim {
        kill_9(victim);
        hits += 1;
        if what != 0 && live(&mut engine, dice) {
            return (Some(engine.end()), hits);
        }
    }
    if engine.child.try_wait().unwrap().is_some() {
        return (Some(engine.end()), hits);
    }
    engine.child.kill().unwrap();
    let ended = engine.end();
    if ended.code == -1 { (None, hits + 1) } else { (Some(ended), hits) }
}

/// The agent that began last, as long as it is one.
fn agent(place: &Place) -> Option<(u32, String)> {
    let pid: u32 = fs::read_to_string(place.path().join("pid")).ok()?.trim().parse().ok()?;
    let name = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    name.contains(place.path().to_str()?).then_some((pid, name))
}

fn is_whole(job: &Job, existing: bool, how: &str, words: &[String], kills: u64) {
    let main = if existing { format!("checkrein/{}/main", job.id) } else { "main".to_owned() };
    let about = format!("{} after {kills} kills ({how}, existing: {existing}): {:?}", job.id, job.calls());
    assert!(!job.place.path().join("twice").exists(), "two were alive: {} {about}", job.place.read("twice"));

    // Each phase is merged once.
    let titles = job.titles(&main);
    for phase in ["1 (strategic)", "2 (tactical)", "3 (strategic)", "4 (tactical)", "5 (strategic)"] {
        let merged = titles.iter().filter(|title| title.starts_with(&format!("phase {phase}"))).count();
        assert!(
            merged == 1 || (how == "rebase" && merged <= 1),
            "phase {phase}: {merged} {about} {titles:?}"
        );
    }
    let landed = job.events_of("phase_landed").len();
    assert_eq!(landed, 5, "{about}");

    // No commit is lost: each mark that an agent made after its commit is in the file it committed.
    let marks = job.file(&main, "marks");
    for line in job.place.read("marked").lines() {
        let mut parts = line.split(' ');
        let (_, call, mark) = (parts.next(), parts.next().unwrap(), parts.next().unwrap());
        let wanted = format!("{mark} {call}");
        assert_eq!(marks.lines().filter(|known| *known == wanted).count(), 1, "{wanted} {about}\n{marks}");
    }

    // Each comment reached an agent, and again only one whose attempt was lost.
    let failed = |event: &Value| event["response"]["status"] == "failure";
    let failed = job.events_of("attempt_finished").iter().filter(|event| failed(event)).count();
    let lost = failed + job.events_of("attempt_interrupted").len();
    let heard = job.place.read("words");
    for word in words {
        let times = heard.lines().filter(|known| known == word).count();
        assert!(times >= 1 && times <= 1 + lost, "{word}: {times} {about}");
    }
    let branches: Vec<String> = job.branches().into_iter().filter(|name| *name != main).collect();
    assert_eq!(branches, Vec::<String>::new(), "{about}");
    if existing {
        let repo = job.place.path().join("repo");
        assert_eq!(git(&repo, &["status", "--porcelain"]), "", "{about}");
        assert_eq!(git(&repo, &["log", "--format=%s", "main"]), "first", "{about}");
        let result = format!("checkrein/{}/result", job.id);
        assert_eq!(git(&repo, &["show", &format!("{result}:marks")]), marks, "{about}");
    }
    assert_eq!(try_git(&job.repository(), &["fsck", "--strict", "--no-dangling"]).1, 0, "{about}");
}

#[test]
fn when_the_engine_dies_its_agent_dies_and_its_work_is_gone_on_with() {
    let agent = r#"if test -f "$here/go"; then ls > "$here/seen"; usual; exit; fi
      echo half > half; git add half; git commit -qm 'half of it'; echo loose > loose
      sleep 600 & echo $! > "$here/pid"; wait"#;
    let place = scene(agent);
    let mut engine = background(&place, &["job", "Write", "--agent", &agent_of(&place)]);
    until(|| place.path().join("pid").exists().then_some(()));
    let id = only_run(&place).unwrap();
    engine.signal(rustix::process::Signal::KILL);
    engine.end();
    until(|| (!crate::run::alive(&place, "pid")).then_some(()));
    fs::write(place.path().join("go"), "").unwrap();
    let again = place.run(&["resume", &id]);
    crate::run::expect(&again, 3);
    assert!(again.stderr.contains("lost    phase-1-strategic, it is repeated"), "{}", again.seen());
    assert!(place.read("seen").contains("half\nloose"), "{}", place.read("seen"));
    let brief = place.read("brief.2");
    for told in ["was lost: its process died", "- half of it\n", "added half (", "added loose ("] {
        assert!(brief.contains(told), "{told}: {brief}");
    }
}

#[test]
fn an_agent_that_always_kills_its_supervisor_fails() {
    let place = scene(r#"echo half > half; kill -9 $(ps -o ppid= -p $PPID); sleep 600"#);
    let ran = super::give(&place, &[]);
    crate::run::expect(&ran, 1);
    assert_eq!(place.read("calls").lines().count(), 2);
    assert!(ran.stderr.contains("watches over the agent was killed"), "{}", ran.seen());
}

#[test]
fn what_a_killed_call_of_git_left_locked_is_taken_away() {
    let job = super::job(with_repository(scene("usual")), &["--repo", "repo"], 3);
    let name = |name: &str| format!("refs/heads/checkrein/{}/{name}.lock", job.id);
    let repo = job.place.path().join("repo/.git");
    let locks = [
        job.repository().join(name("main")),
        job.repository().join(name("phase-1-strategic")),
        job.repository().join("packed-refs.lock"),
        repo.join(name("result")),
    ];
    let before = SystemTime::now() - Duration::from_secs(60);
    for lock in &locks {
        let file = fs::File::create(lock).unwrap();
        file.set_modified(before).unwrap();
    }
    let half = job.repository().with_file_name(".cloning-x");
    fs::create_dir_all(half.join(".git")).unwrap();
    // A lock of the person's own is not ours to take.
    let theirs = repo.join("refs/heads/main.lock");
    fs::File::create(&theirs).unwrap().set_modified(before).unwrap();
    job.approve(3);
    job.approve(0);
    assert!(locks.iter().all(|lock| !lock.exists()) && !half.exists() && theirs.exists());
}

#[test]
fn a_call_of_git_that_outlived_its_engine_is_waited_for() {
    let job = super::job(scene("usual"), &[], 3);
    job.ann("approve", &[], 0);
    let lock = job.repository().join("refs/heads/main.lock");
    fs::write(&lock, "").unwrap();
    let mut engine = background(&job.place, &["resume", &job.id]);
    thread::sleep(Duration::from_millis(300));
    assert!(engine.child.try_wait().unwrap().is_none() && lock.exists());
    fs::remove_file(&lock).unwrap();
    crate::run::expect(&engine.end(), 3);
}
