//! Workers beside the requests, each on a thread of its own: what they wait for must not keep requests
//! waiting.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use checkrein_core::principal::Principal;
use checkrein_core::run::RunId;
use checkrein_engine::{ClaimedRun, Engine, EngineError, Looked, RunView, Shift, WatchWork};
use checkrein_store::Version;
use tokio::sync::{Notify, oneshot, watch};

/// Makes somebody who is told what a worker does.
pub type Watcher = Arc<dyn Fn() -> Box<dyn WatchWork + Send> + Send + Sync>;

/// How workers are set up.
#[derive(Clone)]
pub struct Work {
    /// How many runs go on at once.
    pub runs: usize,
    /// For whom they work.
    pub by: Principal,
    pub watcher: Watcher,
}

#[derive(Clone)]
pub struct Workers {
    engine: Arc<Engine>,
    work: Work,
    stop: watch::Receiver<bool>,
    under_way: Arc<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    runs: Mutex<HashSet<RunId>>,
    /// Jobs whose forge is looked at.
    looks: Mutex<HashMap<RunId, Look>>,
    ended: Notify,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

enum Look {
    UnderWay,
    /// Somebody drives the job and sees to its forge, or it could not be looked at; until then nobody tries.
    Left {
        until: Instant,
    },
}

/// Who asks and decides a thousand times a second is not looked after a thousand times.
const LOOK_MIN: Duration = Duration::from_millis(20);
/// How often a run that was resumed looks for room.
const ROOM_EVERY: Duration = Duration::from_millis(50);
/// So many forges are looked at at once.
const LOOKS_MAX: usize = 4;
/// How long the forge of a job is left to somebody else who drives it.
const LEFT_TO_OTHERS: Duration = Duration::from_secs(2);
/// How long a look around that failed is waited for.
const TRY_AGAIN: Duration = Duration::from_secs(5);

impl Workers {
    /// Begins to look for runs. When `stop` becomes true, those under way are paused.
    pub fn start(engine: Arc<Engine>, work: Work, stop: watch::Receiver<bool>) -> std::io::Result<Workers> {
        let workers = Workers { engine, work, stop, under_way: Arc::default() };
        let own = workers.clone();
        workers.spawn(move || async move { own.look_around().await })?;
        let own = workers.clone();
        workers.spawn(move || async move { own.deliver().await })?;
        Ok(workers)
    }

    /// Finds what can go on, and starts as much of it as there is room for.
    async fn look_around(&self) {
        let (mut watch, mut stopped) = ((self.work.watcher)(), self.stop.clone());
        while !*self.stop.borrow() {
            let looked = async {
                let mut changes = self.engine.store().changes()?;
                self.engine.enter(u32::try_from(self.work.runs).unwrap_or(u32::MAX)).await?;
                loop {
                    changes.borrow_and_update();
                    let seen = self.engine.now();
                    self.engine.record_timeouts().await?;
                    for id in self.engine.due_forges(seen) {
                        self.look(id);
                    }
                    self.engine.free_left_runs().await?;
                    for claimed in self.engine.claim_runs(&self.work.by, self.room()).await? {
                        self.begin(claimed);
                    }
                    tokio::select! {
                        _ = changes.changed() => tokio::time::sleep(LOOK_MIN).await,
                        () = self.under_way.ended.notified() => {}
                        () = tokio::time::sleep(self.engine.rest(seen)) => {}
                    }
                }
            };
            let looked: Result<(), EngineError> = tokio::select! {
                looked = looked => looked,
                _ = stopped.wait_for(|stop| *stop) => break,
            };
            if let Err(error) = looked {
                watch.warn(format!("the worker will try again: {error}"));
                tokio::time::sleep(TRY_AGAIN).await;
            }
        }
        if let Err(error) = self.engine.leave().await {
            watch.warn(format!("the worker could not say that it ends: {error}"));
        }
    }

    /// How many more runs may go on.
    fn room(&self) -> usize {
        let runs = self.under_way.runs.lock().unwrap_or_else(PoisonError::into_inner);
        self.work.runs.saturating_sub(runs.len())
    }

    /// Tells webhooks what happens.
    async fn deliver(&self) {
        let watcher = Arc::clone(&self.work.watcher);
        let warn = move |text| watcher().warn(text);
        self.engine.deliver(Shift::UntilStopped, &self.stop, &warn).await;
    }

    fn begin(&self, claimed: ClaimedRun) {
        let id = claimed.id().clone();
        let (own, run) = (self.clone(), id.clone());
        self.under_way.runs.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone());
        let working = move || async move {
            own.engine.go_on(&own.work.by, claimed, &own.stop, &mut *(own.work.watcher)()).await;
            own.end(&run);
        };
        // Where there is no thread now, it is given back, and found again.
        if self.spawn(working).is_err() {
            self.end(&id);
        }
    }

    /// Looks at the forge of a job beside everything else: a forge may take its time.
    fn look(&self, id: RunId) {
        // Whoever goes on with it sees to its forge.
        if self.under_way.runs.lock().unwrap_or_else(PoisonError::into_inner).contains(&id) {
            return;
        }
        let mut looks = self.under_way.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|_, look| match look {
            Look::UnderWay => true,
            Look::Left { until } => *until > Instant::now(),
        });
        let under_way = looks.values().filter(|look| matches!(look, Look::UnderWay)).count();
        if under_way >= LOOKS_MAX || looks.contains_key(&id) {
            return;
        }
        let (own, run) = (self.clone(), id.clone());
        let looking = move || async move {
            let looked = own.engine.look_at_forge(&run).await;
            if let Err(error) = &looked {
                (own.work.watcher)().failed(&run, error);
            }
            let mut looks = own.under_way.looks.lock().unwrap_or_else(PoisonError::into_inner);
            // One that could not be looked at is as due as before: nobody is woken for it.
            if let Ok(Looked::Done) = looked {
                looks.remove(&run);
                own.under_way.ended.notify_one();
            } else {
                looks.insert(run, Look::Left { until: Instant::now() + LEFT_TO_OTHERS });
            }
        };
        if self.spawn(looking).is_ok() {
            looks.insert(id, Look::UnderWay);
        }
    }

    /// Something happened that a look around finds.
    pub fn wake(&self) {
        self.under_way.ended.notify_one();
    }

    fn end(&self, id: &RunId) {
        self.under_way.runs.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        let mut looks = self.under_way.looks.lock().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|run, look| run != id || matches!(look, Look::UnderWay));
        drop(looks);
        self.under_way.ended.notify_one();
    }

    /// Resumes a run and goes on with it, when there is room; answers as soon as it is resumed.
    pub async fn resume(
        &self,
        by: Principal,
        id: String,
        expected: Option<Version>,
    ) -> Result<RunView, EngineError> {
        let (tell, told) = oneshot::channel();
        let own = self.clone();
        let resuming = move || async move {
            let mut watch = (own.work.watcher)();
            let taken = own.engine.take_up_run(&by, &id, expected, &mut *watch).await;
            let mut driver = match taken {
                Ok(driver) => driver,
                // A worker where its files are takes it up.
                Err(EngineError::RunElsewhere { .. }) => {
                    return drop(tell.send(own.engine.resume_run(&by, &id, expected).await));
                }
                Err(error) => return drop(tell.send(Err(error))),
            };
            // Whoever asked may be gone; the run goes on.
            let _ = tell.send(Ok(driver.view().clone()));
            let id = driver.id().clone();
            if !own.take_room(&id).await {
                return;
            }
            watch.goes_on(&id);
            match driver.go(&own.stop, &mut *watch).await {
                Ok(rest) => watch.rests(&driver.view().run, &rest),
                Err(error) => watch.failed(&id, &error),
            }
            drop(driver);
            own.end(&id);
        };
        let unheard = || EngineError::Store(checkrein_store::StoreError::Closed);
        self.spawn(resuming).map_err(|_| unheard())?;
        told.await.unwrap_or_else(|_| Err(unheard()))
    }

    /// Waits until one more may go on, and counts it; not when the server ends before that.
    async fn take_room(&self, id: &RunId) -> bool {
        while !*self.stop.borrow() {
            {
                let mut runs = self.under_way.runs.lock().unwrap_or_else(PoisonError::into_inner);
                if runs.len() < self.work.runs {
                    runs.insert(id.clone());
                    return true;
                }
            }
            tokio::time::sleep(ROOM_EVERY).await;
        }
        false
    }

    /// Waits until every worker has ended.
    pub fn join(&self) {
        loop {
            let next = self.under_way.threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match next {
                Some(thread) => drop(thread.join()),
                None => return,
            }
        }
    }

    /// What drives a run stays on its thread.
    fn spawn<W: Future<Output = ()>>(
        &self,
        work: impl FnOnce() -> W + Send + 'static,
    ) -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let name = "checkrein-work".to_owned();
        let thread = thread::Builder::new().name(name).spawn(move || runtime.block_on(work()))?;
        let mut threads = self.under_way.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
        Ok(())
    }
}
