//! Leases: a run belongs to one worker at a time, and whoever was overtaken changes nothing.

use std::collections::BTreeSet;
use std::time::Duration;

use checkrein_core::checkpoint::{Checkpoint, Verdict};
use checkrein_core::event::Event;
use checkrein_core::run::{Run, RunEvent, RunId, RunStatus};
use checkrein_store::{
    After, Claimant, Claimed, CommitError, Lease, Needs, Reach, Renewed, RunCommit, Standing, Stays, Store,
    Version,
};

use crate::runs::{commit, create, create_with};
use crate::{Open, creation, pending, resolution};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(3600);

fn by(name: &str) -> Claimant {
    Claimant {
        worker: format!("id-{name}"),
        name: name.to_owned(),
        host: "here".to_owned(),
        labels: Vec::new(),
        term: LONG,
        repository_max: None,
        passes_by: Vec::new(),
    }
}

async fn claim(store: &Store, by: &Claimant, count: usize) -> Vec<Lease> {
    store.claim_runs(by.clone(), count).await.unwrap()
}

fn ids(leases: &[Lease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.run.as_str()).collect()
}

/// A change of a run to another status.
fn turned(run: &mut Run, status: RunStatus) -> RunCommit {
    let before = run.state.version;
    run.state.status = status;
    run.state.version += 1;
    commit(run, before, vec![RunEvent::RunStarted], 6)
}

async fn turn(
    store: &Store,
    run: &mut Run,
    status: RunStatus,
    epoch: Option<u64>,
) -> Result<(), CommitError> {
    store.commit_run(RunCommit { epoch, ..turned(run, status) }).await
}

/// Makes each of them ready after the other.
async fn three(store: &Store) -> [Run; 3] {
    let mut runs = Vec::new();
    for id in ["r2", "r1", "r3"] {
        runs.push(create(store, id).await);
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    runs.try_into().unwrap()
}

pub async fn what_has_waited_longest_is_taken_first_and_once(open: Open<'_>) {
    let store = open();
    three(&store).await;
    let queue = store.queue().await.unwrap();
    assert_eq!((queue.len(), queue[0].count), (1, 3));
    let waiting = store.waiting_runs(2).await.unwrap();
    assert_eq!(waiting.iter().map(|row| row.run.as_str()).collect::<Vec<_>>(), ["r2", "r1"]);
    let (ann, ben) = (by("ann"), by("ben"));
    assert_eq!(ids(&claim(&store, &ann, 2).await), ["r2", "r1"]);
    assert_eq!(ids(&claim(&open(), &ben, 2).await), ["r3"]);
    assert_eq!(claim(&store, &ann, 2).await, []);
    assert_eq!(store.queue().await.unwrap(), []);
    let held = store.leases().await.unwrap();
    let of: Vec<_> =
        held.iter().map(|row| (row.run.as_str(), row.holder.as_ref().unwrap().name.as_str())).collect();
    assert!(of.contains(&("r1", "ann")) && of.contains(&("r3", "ben")) && of.len() == 3, "{of:?}");
    assert!(held.iter().all(|row| !row.holder.as_ref().unwrap().expired && row.epoch == 1));
}

pub async fn many_who_claim_at_once_share_the_runs(open: Open<'_>) {
    let store = open();
    for number in 0..40 {
        create(&store, &format!("r{number}")).await;
    }
    let mut claiming = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (store, by) = (open(), by(&format!("w{number}")));
        claiming.spawn(async move {
            let mut taken = Vec::new();
            loop {
                let some = store.claim_runs(by.clone(), 3).await.unwrap();
                if some.is_empty() && store.queue().await.unwrap().is_empty() {
                    return taken;
                }
                taken.extend(some.into_iter().map(|lease| lease.run.to_string()));
            }
        });
    }
    let taken: Vec<String> = claiming.join_all().await.into_iter().flatten().collect();
    assert_eq!(taken.len(), 40);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>().len(), 40);
}

pub async fn a_lease_that_ran_out_is_taken_over_once(open: Open<'_>) {
    let store = open();
    create(&store, "r1").await;
    let short = Claimant { term: Duration::from_millis(30), ..by("ann") };
    let [first] = &claim(&store, &short, 1).await[..] else { panic!("not one") };
    assert!(!first.left_behind);
    let mut racing = tokio::task::JoinSet::new();
    for number in 0..6 {
        let (store, by) = (open(), by(&format!("w{number}")));
        racing.spawn(async move {
            let began = std::time::Instant::now();
            let mut taken = Vec::new();
            while began.elapsed() < Duration::from_millis(400) {
                taken.extend(store.claim_runs(by.clone(), 1).await.unwrap());
            }
            taken
        });
    }
    let taken: Vec<Lease> = racing.join_all().await.into_iter().flatten().collect();
    let [second] = &taken[..] else { panic!("{taken:?}") };
    assert_eq!((second.epoch, second.left_behind), (first.epoch + 1, true));
}

pub async fn a_change_under_an_old_lease_is_refused(open: Open<'_>) {
    let store = open();
    let mut run = create(&store, "r1").await;
    let short = Claimant { term: Duration::ZERO, ..by("ann") };
    let old = claim(&store, &short, 1).await.remove(0);
    // It ran out, and nobody else wanted it: then it is still the last one.
    turn(&store, &mut run, RunStatus::Running, Some(old.epoch)).await.unwrap();
    let new = claim(&open(), &by("ben"), 1).await.remove(0);
    let late = turned(&mut run.clone(), RunStatus::Completed);
    let late = RunCommit { epoch: Some(old.epoch), ..late };
    let refused = store.commit_run(late.clone()).await;
    assert!(matches!(refused, Err(CommitError::LeaseLost)), "{refused:?}");
    // Nothing of it is there.
    assert_eq!(store.run_version("r1").await.unwrap(), Version(2));
    assert_eq!(store.history("r1").await.unwrap().len(), 2);
    // Beside others in one commit it is refused alone.
    let (mut moved, store) = (run.clone(), store.clone());
    let next = RunCommit { epoch: Some(new.epoch), ..turned(&mut moved, RunStatus::Running) };
    let (late, next, other) =
        tokio::join!(store.commit_run(late), store.commit_run(next), create(&store, "r2"));
    assert!(matches!(late, Err(CommitError::LeaseLost)), "{late:?}");
    next.unwrap();
    assert_eq!(other.state.version, 1);
    // What the old one gives back is not its own.
    store.release_run(old, After::Ready).await.unwrap();
    assert_eq!(store.lease("r1").await.unwrap().unwrap().holder.unwrap().name, "ben");
    // Somebody who does not drive it may change it.
    turn(&store, &mut moved, RunStatus::Cancelled, None).await.unwrap();
}

pub async fn who_has_the_lock_of_the_host_takes_over_at_once(open: Open<'_>) {
    let store = open();
    create(&store, "r1").await;
    let ann = claim(&store, &by("ann"), 1).await.remove(0);
    let elsewhere = Claimant { host: "there".to_owned(), ..by("cid") };
    let claim_run = async |by: &Claimant, standing| {
        store.claim_run("r1".to_owned(), by.clone(), standing, Reach::Here).await.unwrap()
    };
    for (by, standing) in
        [(&by("ben"), Standing::Unlocked), (&elsewhere, Standing::Locked), (&elsewhere, Standing::Unlocked)]
    {
        let Claimed::Refused(row) = claim_run(by, standing).await else { panic!("{by:?}") };
        assert_eq!(row.holder.unwrap().name, "ann");
    }
    let Claimed::Taken(ben) = claim_run(&by("ben"), Standing::Locked).await else { panic!("refused") };
    assert_eq!((ben.epoch, ben.left_behind), (ann.epoch + 1, true));
    // Ben goes on without the lock: then having it says nothing.
    store.set_lease_locked("r1".to_owned(), ben.epoch, false).await.unwrap();
    assert!(matches!(claim_run(&by("dan"), Standing::Locked).await, Claimed::Refused(_)));
    // Whoever is known to be gone is not waited for.
    assert!(!store.abandon_lease("r1".to_owned(), ann.epoch).await.unwrap());
    assert!(store.abandon_lease("r1".to_owned(), ben.epoch).await.unwrap());
    assert!(matches!(claim_run(&elsewhere, Standing::Unlocked).await, Claimed::Taken(_)));
    let none = store.claim_run("r9".to_owned(), by("ann"), Standing::Locked, Reach::Here).await.unwrap();
    assert_eq!(none, Claimed::NoRun);
}

fn asked(run: &str) -> Checkpoint {
    Checkpoint { run: Some(run.to_owned()), ..pending("c1") }
}

pub async fn a_run_that_waits_for_a_person_is_not_taken_until_there_is_an_answer(open: Open<'_>) {
    let store = open();
    let mut run = create(&store, "r1").await;
    let ann = by("ann");
    let lease = claim(&store, &ann, 1).await.remove(0);
    let held = turned(&mut run, RunStatus::Held);
    let held = RunCommit { checkpoint: Some(creation(asked("r1"))), epoch: Some(lease.epoch), ..held };
    store.commit_run(held).await.unwrap();
    store.release_run(lease, After::Waits).await.unwrap();
    assert_eq!(claim(&store, &ann, 1).await, []);
    assert_eq!(store.lease("r1").await.unwrap().unwrap().due_at, None);

    let answer = resolution(&asked("r1"), Version(1), Verdict::Approve, 2_000);
    store.commit(answer).await.unwrap();
    // Somebody says something else about it, and the answer still counts.
    turn(&store, &mut run, RunStatus::Held, None).await.unwrap();
    let lease = claim(&store, &ann, 1).await.remove(0);
    turn(&store, &mut run, RunStatus::Completed, Some(lease.epoch)).await.unwrap();
    store.release_run(lease, After::Waits).await.unwrap();
    assert_eq!(claim(&store, &ann, 1).await, []);

    // One that is only waited for so long is looked at again, and so is one that is paused so long.
    for (id, status) in [("r2", RunStatus::Held), ("r3", RunStatus::Paused)] {
        let mut other = create(&store, id).await;
        let soon = Needs { wake_in: Some(Duration::from_millis(150)), ..Needs::default() };
        store.commit_run(RunCommit { needs: soon, ..turned(&mut other, status) }).await.unwrap();
        assert_eq!(claim(&store, &ann, 1).await, []);
        let mut taken = Vec::new();
        while taken.is_empty() {
            taken = claim(&store, &ann, 1).await;
        }
        assert_eq!(ids(&taken), [id]);
    }
    let mut paused = create(&store, "r4").await;
    store.commit_run(turned(&mut paused, RunStatus::Paused)).await.unwrap();
    assert_eq!(store.lease("r4").await.unwrap().unwrap().due_at, None, "a person resumes any other");
}

pub async fn an_answer_that_comes_while_it_is_given_back_is_not_lost(open: Open<'_>) {
    let store = open();
    let mut run = create(&store, "r1").await;
    turn(&store, &mut run, RunStatus::Held, None).await.unwrap();
    store.commit(creation(asked("r1"))).await.unwrap();
    store.wake_run("r1".to_owned()).await.unwrap();
    let lease = claim(&store, &by("ann"), 1).await.remove(0);
    // Ann finds no answer. Before she gives it back, there is one.
    store.commit(resolution(&asked("r1"), Version(1), Verdict::Approve, 2_000)).await.unwrap();
    store.release_run(lease, After::Waits).await.unwrap();
    let lease = claim(&store, &by("ben"), 1).await.remove(0);
    // With nothing new, it waits.
    store.release_run(lease, After::Waits).await.unwrap();
    assert_eq!(claim(&store, &by("ben"), 1).await, []);
    // What failed is tried again later, not at once.
    store.wake_run("r1".to_owned()).await.unwrap();
    let lease = claim(&store, &by("ben"), 1).await.remove(0);
    store.release_run(lease, After::Again(LONG)).await.unwrap();
    assert_eq!(claim(&store, &by("ben"), 1).await, []);
    assert!(store.lease("r1").await.unwrap().unwrap().due_at.is_some());
    store.wake_run("r1".to_owned()).await.unwrap();
    let lease = claim(&store, &by("ben"), 1).await.remove(0);
    // However soon that would have been, what is woken does not wait for it.
    store.release_run(lease, After::Again(Duration::from_millis(900))).await.unwrap();
    assert_eq!(claim(&store, &by("ben"), 1).await, []);
    store.wake_run("r1".to_owned()).await.unwrap();
    assert_eq!(claim(&store, &by("ben"), 1).await.len(), 1);
}

pub async fn a_run_is_taken_where_its_files_and_labels_are(open: Open<'_>) {
    let store = open();
    let needs = |host: &str, requires: &[&str]| Needs {
        host: Some(host.to_owned()).filter(|host| !host.is_empty()),
        requires: requires.iter().map(|&label| label.to_owned()).collect(),
        ..Needs::default()
    };
    create_with(&store, "r1", needs("there", &[])).await;
    create_with(&store, "r2", needs("", &["gpu", "big \"disk\""])).await;
    create_with(&store, "r3", needs("here", &["gpu"])).await;
    create_with(&store, "r4", needs("", &[])).await;
    let with = |labels: &[&str]| Claimant {
        labels: labels.iter().map(|&label| label.to_owned()).collect(),
        ..by("ann")
    };
    assert_eq!(ids(&claim(&store, &with(&["disk"]), 9).await), ["r4"]);
    assert_eq!(ids(&claim(&store, &with(&["gpu", "x"]), 9).await), ["r3"]);
    let queue = store.queue().await.unwrap();
    let words: Vec<_> = queue.iter().map(|group| (group.pinned.as_deref(), group.requires.len())).collect();
    assert!(words.contains(&(Some("there"), 0)) && words.contains(&(None, 2)), "{words:?}");
    assert_eq!(ids(&claim(&store, &with(&["big \"disk\"", "gpu"]), 9).await), ["r2"]);
    assert_eq!(claim(&store, &with(&["gpu"]), 9).await, []);
    let row = store.lease("r1").await.unwrap().unwrap();
    assert_eq!((row.pinned.as_deref(), row.requires.len()), (Some("there"), 0));
    // To change something about it, one need not be there.
    let claim_run =
        async |reach| store.claim_run("r1".to_owned(), by("ann"), Standing::Locked, reach).await.unwrap();
    assert!(matches!(claim_run(Reach::Here).await, Claimed::Refused(row) if row.holder.is_none()));
    let Claimed::Taken(lease) = claim_run(Reach::Anywhere).await else { panic!("refused") };
    assert_eq!(lease.pinned.as_deref(), Some("there"));
    // A run that needs more than it said is given to others.
    store.release_run(lease, After::Elsewhere(vec!["arm".to_owned()])).await.unwrap();
    let there = Claimant { host: "there".to_owned(), ..by("ben") };
    assert_eq!(claim(&store, &there, 9).await, []);
    let there = Claimant { labels: vec!["arm".to_owned()], ..there };
    assert_eq!(ids(&claim(&store, &there, 9).await), ["r1"]);
    // After a move everything is in one place, and nobody has anything.
    store.settle_leases(Some("new".to_owned())).await.unwrap();
    let moved = Claimant { host: "new".to_owned(), ..with(&["gpu", "arm", "big \"disk\""]) };
    assert_eq!(claim(&store, &moved, 9).await.len(), 4);
}

pub async fn a_run_that_somebody_passes_by_is_left_to_others(open: Open<'_>) {
    let store = open();
    create_with(&store, "r1", Needs::default()).await;
    create_with(&store, "r2", Needs { host: Some("here".to_owned()), ..Needs::default() }).await;
    create_with(&store, "r\"3", Needs::default()).await;
    let passing =
        |runs: &[&str]| Claimant { passes_by: runs.iter().map(|&run| run.to_owned()).collect(), ..by("ann") };
    assert_eq!(claim(&store, &passing(&["r1", "r2", "r\"3", "gone"]), 9).await, []);
    assert_eq!(ids(&claim(&store, &passing(&["r1", "r\"3"]), 9).await), ["r2"]);
    let taken = claim(&store, &passing(&["r\"3"]), 9).await;
    assert_eq!(ids(&taken), ["r1"]);
    // What is given back at once is there for everybody else at once.
    store.release_run(taken[0].clone(), After::Ready).await.unwrap();
    assert_eq!(claim(&store, &passing(&["r1", "r\"3"]), 9).await, []);
    assert_eq!(ids(&claim(&store, &by("ben"), 9).await), ["r1", "r\"3"]);
}

pub async fn a_run_can_go_on_elsewhere_from_the_moment_its_files_can(open: Open<'_>) {
    let store = open();
    let repository = Some("https://git.example.org/team/App".to_owned());
    let needs = Needs { host: Some("here".to_owned()), repository, ..Needs::default() };
    create_with(&store, "r1", needs).await;
    let in_repository = || store.runs_in_repository("https://git.example.org/team/app");
    assert_eq!(in_repository().await.unwrap(), []);
    let (here, there) = (by("ann"), Claimant { host: "there".to_owned(), ..by("ben") });
    let first = claim(&store, &here, 1).await.remove(0);
    assert_eq!((first.pinned.as_deref(), first.home.as_deref()), (Some("here"), None));
    assert!(store.set_place(first.clone(), "here".to_owned(), Stays::Nowhere, LONG).await.unwrap());
    let row = store.lease("r1").await.unwrap().unwrap();
    assert_eq!((row.pinned, row.home.as_deref()), (None, Some("here")));
    store.release_run(first.clone(), After::Ready).await.unwrap();
    assert_eq!(in_repository().await.unwrap(), [RunId::new("r1")]);
    // Whoever takes it knows who had its files.
    let second = claim(&store, &there, 1).await.remove(0);
    assert_eq!((second.pinned.as_deref(), second.home.as_deref()), (None, Some("here")));
    assert!(
        !store.set_place(first, "here".to_owned(), Stays::There, LONG).await.unwrap(),
        "it was overtaken"
    );
    assert!(store.set_place(second.clone(), "there".to_owned(), Stays::There, LONG).await.unwrap());
    store.release_run(second, After::Ready).await.unwrap();
    assert!(claim(&store, &here, 1).await.is_empty());
    assert_eq!(ids(&claim(&store, &there, 1).await), ["r1"]);
}

pub async fn a_repository_has_no_more_runs_at_once_than_it_may(open: Open<'_>) {
    let store = open();
    for number in 0..6 {
        let repository = Some(if number < 4 { "one" } else { "two" }.to_owned());
        create_with(&store, &format!("r{number}"), Needs { repository, ..Needs::default() }).await;
    }
    let mut claiming = tokio::task::JoinSet::new();
    for number in 0..6 {
        let (store, by) = (open(), Claimant { repository_max: Some(1), ..by(&format!("w{number}")) });
        claiming.spawn(async move { store.claim_runs(by, 4).await.unwrap() });
    }
    let taken: Vec<Lease> = claiming.join_all().await.into_iter().flatten().collect();
    let runs: BTreeSet<&str> = ids(&taken).into_iter().collect();
    assert_eq!(runs, BTreeSet::from(["r0", "r4"]));
    store
        .release_run(taken.into_iter().find(|lease| lease.run.as_str() == "r0").unwrap(), After::Waits)
        .await
        .unwrap();
    let next = Claimant { repository_max: Some(1), ..by("ann") };
    assert_eq!(ids(&claim(&store, &next, 4).await), ["r1"]);
}

pub async fn renewing_tells_what_is_gone(open: Open<'_>) {
    let store = open();
    three(&store).await;
    let ann = Claimant { term: Duration::ZERO, ..by("ann") };
    store.register_worker(ann.clone(), 2).await.unwrap();
    let [first, second] = &claim(&store, &ann, 2).await[..] else { panic!("not two") };
    let ben = by("ben");
    // Ann's are the oldest of what can be taken, and have run out.
    let stolen = claim(&store, &ben, 1).await.remove(0);
    let kept = [first, second].map(|lease| (lease.run.clone(), lease.epoch)).to_vec();
    let renewed = store.renew_leases(ann.worker.clone(), kept.clone(), LONG).await.unwrap();
    let left = if stolen.run == first.run { second } else { first };
    assert!(stolen.run != left.run);
    let own: Vec<_> = [first, second]
        .iter()
        .filter(|lease| lease.run != stolen.run)
        .map(|lease| (lease.run.clone(), lease.epoch))
        .collect();
    assert_eq!((&renewed.renewed, &renewed.held), (&own, &own));
    for lease in [first, second].into_iter().filter(|lease| lease.run != stolen.run) {
        assert!(!store.lease(lease.run.as_str()).await.unwrap().unwrap().holder.unwrap().expired);
    }
    assert_eq!(store.renew_leases("nobody".to_owned(), kept, LONG).await.unwrap(), Renewed::default());
}

/// Somebody who stood still gave a run up without being able to say so, and is there again.
pub async fn what_a_worker_let_go_of_is_not_renewed(open: Open<'_>) {
    let store = open();
    create(&store, "r1").await;
    let ann = Claimant { term: Duration::ZERO, ..by("ann") };
    let [lease] = &claim(&store, &ann, 1).await[..] else { panic!("not one") };
    let own = (lease.run.clone(), lease.epoch);
    for kept in [vec![], vec![(lease.run.clone(), lease.epoch - 1)]] {
        let renewed = store.renew_leases(ann.worker.clone(), kept, LONG).await.unwrap();
        assert_eq!((renewed.renewed, renewed.held), (vec![], vec![own.clone()]));
    }
    assert_eq!(ids(&claim(&store, &by("ben"), 1).await), ["r1"]);
}

pub async fn workers_are_known_until_they_leave(open: Open<'_>) {
    let store = open();
    let ann = Claimant { labels: vec!["gpu".to_owned(), "arm".to_owned()], ..by("ann ü") };
    store.register_worker(ann.clone(), 4).await.unwrap();
    store.register_worker(by("ben"), 1).await.unwrap();
    let rows = open().worker_rows().await.unwrap();
    let [row, other] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.name.as_str(), row.host.as_str(), row.runs), ("ann ü", "here", 4));
    assert_eq!(row.labels, ["arm", "gpu"]);
    assert!(row.silent < LONG && row.seen_at >= row.started_at && other.started_at >= row.started_at);
    let before = row.seen_at;
    tokio::time::sleep(Duration::from_millis(5)).await;
    store.renew_leases(ann.worker.clone(), Vec::new(), LONG).await.unwrap();
    assert!(store.worker_rows().await.unwrap()[0].seen_at > before);
    store.unregister_worker(ann.worker).await.unwrap();
    let names: Vec<String> = store.worker_rows().await.unwrap().into_iter().map(|row| row.name).collect();
    assert_eq!(names, ["ben"]);
}

pub async fn a_run_can_belong_to_whoever_makes_it(open: Open<'_>) {
    let store = open();
    let made = create(&store, "r1").await;
    let events = store.history("r1").await.unwrap();
    let Event::Run(created) = events[0].event.clone() else { panic!("not a run's") };
    let second = Run { id: checkrein_core::run::RunId::new("r2"), ..made };
    let commit = RunCommit { claim: Some(by("ann")), ..commit(&second, 0, vec![created], 5) };
    store.commit_run(commit).await.unwrap();
    assert_eq!(ids(&claim(&store, &by("ben"), 9).await), ["r1"]);
    let row = store.lease("r2").await.unwrap().unwrap();
    assert_eq!((row.epoch, row.holder.unwrap().name.as_str()), (1, "ann"));
}

pub async fn a_run_that_is_forgotten_has_no_lease(open: Open<'_>) {
    let store = open();
    create(&store, "r1").await;
    assert!(store.lease("r1").await.unwrap().is_some());
    assert!(store.remove_run("r1".into(), Version(1)).await.unwrap());
    assert_eq!(store.lease("r1").await.unwrap(), None);
    assert_eq!(store.queue().await.unwrap(), []);
}
