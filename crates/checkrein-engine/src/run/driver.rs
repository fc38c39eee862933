//! Drives one run: does what is to be done, feeds the result back, until the run rests or waits.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use checkrein_core::checkpoint::{Checkpoint, CheckpointId, CheckpointStatus, Verdict};
use checkrein_core::deliverable::Deliverable;
use checkrein_core::event::Event;
use checkrein_core::principal::Principal;
use checkrein_core::report::{Remedy, Report};
use checkrein_core::run::{
    self, Applied, At, Boundary, Choice, Command, Effect, Hold, HoldKind, RETRIER, RemedyChosen, Run,
    RunEvent, RunId, RunStatus,
};
use checkrein_store::{After, Commit, CommitError, Reach, RunCommit, RunRow, Stays, Version};
use jiff::Timestamp;
use tokio::sync::watch as notice;

use super::attempt::{Performed, Performer, Stalled};
use super::log::Log;
use super::place::Place;
use super::{History, RunView};
use crate::agent::used_so_far;
use crate::authority::{Act, require};
use crate::lease::{ClaimedRun, HeldLease, retry_in};
use crate::process::{Exit, end_leftovers, wait_for_lock};
use crate::{Engine, EngineError, forge, job};

/// Told of everything that happens, after it is committed.
pub trait Watch {
    fn event(&mut self, run: &Run, seq: u64, at: Timestamp, event: &RunEvent);
    fn warn(&mut self, text: String);
}

/// Where a drive came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Waits at this checkpoint.
    Held { checkpoint: String },
    /// Completed, failed, paused or cancelled.
    Ended,
    /// A phase is to be merged, and its forge does not do it yet: it is tried again later.
    Troubled { text: String },
    /// What comes next takes a worker with these labels, and this one has not got them.
    Elsewhere { labels: Vec<String> },
}

/// The only one that drives its run, until it is dropped.
pub struct Driver<'e> {
    engine: &'e Engine,
    by: Principal,
    view: RunView,
    place: Place,
    performer: Performer,
    log: Log,
    /// The last attempt this driver has begun; one that somebody else has begun is not ours to wait for.
    begun: Option<u64>,
    lease: Arc<HeldLease>,
}

/// When a run that could not go on is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// How long what an engine that died left behind may take to go.
const LEFTOVERS_MAX: Duration = Duration::from_secs(30);

impl Engine {
    /// Takes a run up: a new one, one that was left, or one that has been answered.
    pub async fn drive_run<'e>(
        &'e self,
        by: &Principal,
        id: &str,
        watch: &mut dyn Watch,
    ) -> Result<Driver<'e>, EngineError> {
        require(by, Act::StartRun)?;
        let id = self.seen_run(by, id).await?;
        let lease = self.take_run(&id, Reach::Here).await?;
        self.drive_held(by, lease, watch).await
    }

    /// Takes up a run that was claimed from the queue.
    pub async fn drive_claimed<'e>(
        &'e self,
        by: &Principal,
        claimed: ClaimedRun,
        watch: &mut dyn Watch,
    ) -> Result<Driver<'e>, EngineError> {
        require(by, Act::StartRun)?;
        let held = claimed.0;
        // Whatever goes wrong before it goes on, it is tried again.
        held.then(After::Again(AGAIN_AFTER));
        let lease = self.lock_claimed(held).await?;
        self.drive_held(by, lease, watch).await
    }

    pub(super) async fn drive_held<'e>(
        &'e self,
        by: &Principal,
        lease: HeldLease,
        watch: &mut dyn Watch,
    ) -> Result<Driver<'e>, EngineError> {
        let id = lease.run().clone();
        let place = Place::of(&self.store, &id);
        place.fallbacks.iter().for_each(|trouble| watch.warn(trouble.clone()));
        let view = RunView { epoch: Some(lease.epoch()), ..self.load_run(&id).await? };
        job::clear_up(self, &view.run).await?;
        let log = Log::open(&place, &view.run, &view.history, &mut |text| watch.warn(text));
        let lease = Arc::new(lease);
        let performer = Performer::under(Arc::clone(&lease));
        Ok(Driver { engine: self, by: by.clone(), view, place, performer, log, begun: None, lease })
    }

    /// Applies a command to a run and commits what came of it: what is to be done now.
    pub(crate) async fn apply(
        &self,
        view: &mut RunView,
        command: Command,
    ) -> Result<Vec<Effect>, EngineError> {
        self.apply_all(view, vec![command], None).await
    }

    /// Applies several commands as one change, with a checkpoint that changes in the same step.
    pub(crate) async fn apply_all(
        &self,
        view: &mut RunView,
        commands: Vec<Command>,
        with: Option<Commit>,
    ) -> Result<Vec<Effect>, EngineError> {
        let mut run = view.run.clone();
        // A clock that was set back must not tell of an end before the beginning.
        let last = view.history.last().map_or(Timestamp::UNIX_EPOCH, |(_, at, _)| *at);
        let now = self.now().max(last);
        let before = Version(run.state.version);
        let mut applied = Applied { events: Vec::new(), effects: Vec::new() };
        for command in commands {
            let one = run.apply(command, now)?;
            applied.events.extend(one.events);
            applied.effects.extend(one.effects);
        }
        let new = (before.0 + 1..).zip(applied.events.iter().cloned());
        let mut history = std::mem::take(&mut view.history);
        history.extend(new.map(|(seq, event)| (seq, now, event)));
        let checkpoint = match with {
            Some(commit) => Ok(Some(commit)),
            None => self.checkpoint_of(&run, &history, &applied, now).await,
        };
        let checkpoint = match checkpoint {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                history.truncate(history.len() - applied.events.len());
                view.history = history;
                return Err(error);
            }
        };
        let row = RunRow { state: run.state.clone(), ..view.row.clone() };
        let commit = RunCommit {
            expected: before,
            run: row.clone(),
            events: applied.events,
            at: now,
            definition: None,
            checkpoint,
            needs: self.needs_of(&run),
            epoch: view.epoch,
            claim: None,
        };
        let told = before.0;
        match self.store.commit_run(commit).await {
            Ok(()) => {
                let held = run.state.hold.as_ref().filter(|_| run.state.status == RunStatus::Held);
                let checkpoint = held.map(|hold| run.id.checkpoint(hold));
                *view = RunView { row, run, history, checkpoint, epoch: view.epoch };
                self.forget_index_of(&view.run);
                Ok(applied.effects)
            }
            Err(error) => {
                // What was told already is not told again by whoever loads it anew.
                history.retain(|(seq, ..)| *seq <= told);
                view.history = history;
                Err(match error {
                    CommitError::Conflict => EngineError::RunMoved,
                    CommitError::LeaseLost => EngineError::LeaseLost(view.run.id.clone()),
                    CommitError::Store(error) => error.into(),
                })
            }
        }
    }

    /// The checkpoint that is opened or taken back with a change of its run.
    async fn checkpoint_of(
        &self,
        run: &Run,
        history: &History,
        applied: &Applied,
        now: Timestamp,
    ) -> Result<Option<Commit>, EngineError> {
        let pushed = applied.events.iter().any(|event| matches!(event, RunEvent::ReviewMoved { .. }));
        if let Some(hold) = run.state.hold.as_ref().filter(|_| pushed) {
            return self.moved_review(run, hold, now).await.map(Some);
        }
        for effect in &applied.effects {
            match effect {
                Effect::Ask { .. } | Effect::Record { .. } if run.job().is_some() => {
                    return review(run, effect, now).map(Some);
                }
                Effect::Ask { .. } => {
                    let Some(hold) = &run.state.hold else { continue };
                    let since = run.state.last_check_in.as_ref().map_or(0, |check_in| check_in.seq);
                    let events = history.iter().map(|(seq, at, event)| (*seq, *at, event));
                    let report = Report::of(run, events, since, now);
                    let content = Deliverable::from_data(run::asked(hold, &report)).content()?;
                    let opened = Checkpoint {
                        id: CheckpointId::new(run.id.checkpoint(hold))?,
                        run: Some(run.id.to_string()),
                        // Whoever owns the run owns it, too.
                        owner: None,
                        created_by: None,
                        worker: run.definition.plan.workflow.clone(),
                        phase: hold.boundary.phase.clone().unwrap_or_default(),
                        kind: hold.kind.name().to_owned(),
                        status: CheckpointStatus::Pending,
                        digest: content.digest,
                        moved: false,
                        round: hold.round,
                        created_at: now,
                        expires_at: run.policy().deadline(now),
                        resolved_at: None,
                        reason: None,
                        resolved_by: None,
                    };
                    return Ok(Some(Commit {
                        expected: Version(0),
                        events: vec![Event::created(&opened)],
                        checkpoint: opened,
                        at: now,
                        content: Some(content),
                    }));
                }
                Effect::Withdraw { checkpoint } => {
                    let stored = self.checkpoint_row(checkpoint).await?;
                    if stored.checkpoint.status != CheckpointStatus::Pending {
                        continue;
                    }
                    let settled = match stored.checkpoint.timed_out(now) {
                        Some(rejected) => rejected,
                        None => Checkpoint {
                            status: CheckpointStatus::Withdrawn,
                            reason: Some("its run was cancelled".to_owned()),
                            resolved_at: Some(now.max(stored.checkpoint.created_at)),
                            ..stored.checkpoint
                        },
                    };
                    return Ok(Some(Commit {
                        expected: stored.version,
                        events: vec![Event::resolved(&settled)],
                        at: settled.resolved_at.unwrap_or(now),
                        checkpoint: settled,
                        content: None,
                    }));
                }
                Effect::Attempt { .. }
                | Effect::Begin
                | Effect::Land
                | Effect::Record { .. }
                | Effect::End { .. }
                | Effect::Summarise => {}
            }
        }
        Ok(None)
    }

    /// The review as it is after somebody pushed: another content, under the same id.
    async fn moved_review(&self, run: &Run, hold: &Hold, now: Timestamp) -> Result<Commit, EngineError> {
        let stored = self.checkpoint_row(&run.id.checkpoint(hold)).await?;
        let content = Deliverable::from_data(run::job::asked(run, hold)).content()?;
        let events = vec![Event::CheckpointMoved { digest: content.digest }];
        let checkpoint = Checkpoint { digest: content.digest, moved: true, ..stored.checkpoint };
        Ok(Commit { expected: stored.version, checkpoint, events, at: now, content: Some(content) })
    }

    /// The command that answers the hold of a run, once there is a verdict.
    async fn answer_to(&self, view: &RunView) -> Result<Option<Command>, EngineError> {
        let (Some(hold), Some(id)) = (&view.run.state.hold, &view.checkpoint) else { return Ok(None) };
        let checkpoint = self.time_out(id).await?;
        let verdict = match checkpoint.status {
            CheckpointStatus::Pending => return Ok(None),
            CheckpointStatus::Approved => Verdict::Approve,
            // A missing, lost or late answer is never an approval.
            _ => Verdict::Reject,
        };
        let by = checkpoint.resolved_by.unwrap_or_else(|| "nobody".to_owned());
        Ok(Some(Command::Answer {
            hold: hold.number,
            verdict,
            by,
            reason: checkpoint.reason,
            start_over: false,
        }))
    }
}

/// The review a job waits at, or the record that none was required.
fn review(run: &Run, effect: &Effect, now: Timestamp) -> Result<Commit, EngineError> {
    let passed = |number: u32| Hold {
        number,
        kind: HoldKind::Review,
        boundary: At { at: Boundary::Phase, phase: None, task: None },
        round: 1,
        reason: "the policy asks for no review here".to_owned(),
        check_in: false,
        then: run.state.place,
        rejected: false,
    };
    let (hold, status) = match (effect, &run.state.hold) {
        (Effect::Record { hold }, _) => (passed(*hold), CheckpointStatus::NotRequired),
        (_, Some(hold)) => (hold.clone(), CheckpointStatus::Pending),
        (_, None) => (passed(0), CheckpointStatus::NotRequired),
    };
    let content = Deliverable::from_data(run::job::asked(run, &hold)).content()?;
    let checkpoint = Checkpoint {
        id: CheckpointId::new(run.id.checkpoint(&hold))?,
        run: Some(run.id.to_string()),
        owner: None,
        created_by: None,
        worker: run.definition.plan.workflow.clone(),
        phase: run.job().map(|(_, job)| job.phase.name()).unwrap_or_default(),
        kind: hold.kind.name().to_owned(),
        status,
        digest: content.digest,
        moved: false,
        round: hold.round,
        created_at: now,
        expires_at: run.policy().deadline(now).filter(|_| status == CheckpointStatus::Pending),
        resolved_at: (status == CheckpointStatus::NotRequired).then_some(now),
        reason: None,
        resolved_by: None,
    };
    let events = vec![Event::created(&checkpoint)];
    Ok(Commit { expected: Version(0), events, checkpoint, at: now, content: Some(content) })
}

impl Driver<'_> {
    pub fn view(&self) -> &RunView {
        &self.view
    }

    pub fn id(&self) -> &RunId {
        &self.view.run.id
    }

    /// Tells what happened before it was taken up.
    pub fn retell(&self, watch: &mut dyn Watch) {
        for (seq, at, event) in &self.view.history {
            watch.event(&self.view.run, *seq, *at, event);
        }
    }

    /// Goes on with a run that was paused or failed; one that is over refuses (W18).
    pub async fn resume(&mut self, watch: &mut dyn Watch) -> Result<(), EngineError> {
        match self.view.run.state.status {
            RunStatus::Created | RunStatus::Running | RunStatus::Held => Ok(()),
            _ => {
                require(&self.by, Act::ManageRuns)?;
                let by = self.by.name.clone();
                self.apply(Command::Resume { by }, watch).await?;
                self.begun = Some(self.view.run.state.starts);
                Ok(())
            }
        }
    }

    /// Runs the command of a proposed fix after a person's yes, and remembers how it went.
    pub async fn apply_remedy(
        &mut self,
        remedy: &Remedy,
        stop: &notice::Receiver<bool>,
        watch: &mut dyn Watch,
    ) -> Result<(Choice, super::OutputFiles), EngineError> {
        require(&self.by, Act::StartRun)?;
        let command = remedy.command.clone().unwrap_or_default();
        let mut stop = stop.clone();
        let stopped = async {
            if stop.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let settings = &self.engine.settings;
        let ran = self.performer.remedy(&self.view.run, settings, &self.place, &command, stopped).await;
        let (ended, output) = ran?;
        let exit_code = match ended.exit {
            Some(Exit::Code(code)) => Some(code),
            Some(Exit::Signal(_)) | None => None,
        };
        let choice = if exit_code == Some(0) { Choice::Applied } else { Choice::Failed };
        let chosen = RemedyChosen { exit_code, output: Some(output.clone()), ..self.chosen(remedy, choice) };
        self.apply(Command::Remedy(chosen), watch).await?;
        Ok((choice, self.place.output(&output)))
    }

    /// Remembers what a person did about a proposed fix.
    pub async fn note_remedy(
        &mut self,
        remedy: &Remedy,
        choice: Choice,
        watch: &mut dyn Watch,
    ) -> Result<(), EngineError> {
        self.apply(Command::Remedy(self.chosen(remedy, choice)), watch).await
    }

    fn chosen(&self, remedy: &Remedy, choice: Choice) -> RemedyChosen {
        RemedyChosen {
            id: Some(remedy.id()),
            task: remedy.task.clone(),
            title: remedy.title(),
            choice,
            by: self.by.name.clone(),
            command: remedy.command.clone(),
            file: remedy.file.clone(),
            exit_code: None,
            output: None,
        }
    }

    /// What happened since the last check-in.
    pub fn since_check_in(&self) -> Report {
        let run = &self.view.run;
        let since = run.state.last_check_in.as_ref().map_or(0, |check_in| check_in.seq);
        let events = self.view.history.iter().map(|(seq, at, event)| (*seq, *at, event));
        Report::of(run, events, since, self.engine.now())
    }

    /// Drives until the run waits or rests. When `stop` becomes true, the attempt under way is ended and
    /// the run is paused.
    pub async fn go(
        &mut self,
        stop: &notice::Receiver<bool>,
        watch: &mut dyn Watch,
    ) -> Result<Rest, EngineError> {
        let gone = self.went(stop, watch).await;
        let after = match &gone {
            Ok(Rest::Ended) => retry_in(&self.view.run, self.engine.now()).map_or(After::Waits, After::Again),
            Ok(Rest::Held { .. }) => {
                let watched = self.engine.watched_again(&self.view.run);
                let again = self.left_to_answer().into_iter().chain(watched).min();
                again.map_or(After::Waits, After::Again)
            }
            // Others may have what this process lacks.
            Ok(Rest::Troubled { .. }) if self.unfit().is_some() => {
                self.engine.leases.pass_by(self.id());
                After::Ready
            }
            Ok(Rest::Troubled { .. }) => {
                After::Again(forge::Pace::of(self.engine, self.id()).rest(self.engine.now()))
            }
            Ok(Rest::Elsewhere { .. }) => {
                After::Elsewhere(self.view.run.requires().iter().map(ToString::to_string).collect())
            }
            Err(_) => After::Again(AGAIN_AFTER),
        };
        self.lease.then(after);
        gone
    }

    /// What this process lacks to go on with a job that others could go on with.
    fn unfit(&self) -> Option<String> {
        self.engine.unfit(&self.view.run).filter(|_| self.lease.is_entrusted())
    }

    /// How long a person has for the answer, where that is limited.
    fn left_to_answer(&self) -> Option<Duration> {
        let left = self.view.expires_at()?.duration_since(self.engine.now());
        Some(Duration::try_from(left).unwrap_or_default())
    }

    async fn went(
        &mut self,
        stop: &notice::Receiver<bool>,
        watch: &mut dyn Watch,
    ) -> Result<Rest, EngineError> {
        let seen = self.view.history.len();
        let trouble = match self.unfit() {
            Some(text) => {
                self.engine.set_trouble(&mut self.view, Some(text.clone())).await?;
                Some(text)
            }
            None => forge::arrive(self.engine, &mut self.view, &self.lease).await?,
        };
        self.tell(seen, watch);
        if let Some(text) = trouble {
            return Ok(Rest::Troubled { text });
        }
        loop {
            if self.lease.is_lost() {
                return Err(EngineError::LeaseLost(self.id().clone()));
            }
            if matches!(self.view.run.state.status, RunStatus::Created | RunStatus::Running) {
                let requires: Vec<String> =
                    self.view.run.requires().iter().map(ToString::to_string).collect();
                let labels = self.engine.leases.lacks(&requires);
                if !labels.is_empty() {
                    return Ok(Rest::Elsewhere { labels });
                }
            }
            let next = match self.view.run.state.status {
                RunStatus::Created => Some(Command::Start),
                RunStatus::Held => match self.engine.answer_to(&self.view).await? {
                    Some(answer) => Some(answer),
                    None => {
                        self.attend_forge(watch).await?;
                        if self.view.run.state.status != RunStatus::Held {
                            continue;
                        }
                        if self.lease.stays() == Stays::There {
                            forge::entrust(self.engine, &self.view.run, &self.lease).await?;
                        }
                        job::show(self.engine, &self.view.run).await;
                        // Whoever is told that it waits can search it.
                        if let Err(error) = self.engine.index_held(&self.view).await {
                            watch.warn(format!("the workspace could not be indexed: {error}"));
                        }
                        let checkpoint = self.view.checkpoint.clone().unwrap_or_default();
                        return Ok(Rest::Held { checkpoint });
                    }
                },
                RunStatus::Running if self.view.run.state.under_way.is_none() => match self.view.run.due() {
                    Some(Effect::Land) => match self.land(watch).await? {
                        forge::Landing::Done(command) => Some(command),
                        forge::Landing::Waits(text) => return Ok(Rest::Troubled { text }),
                    },
                    _ => {
                        self.attend_forge(watch).await?;
                        Some(Command::Begin)
                    }
                },
                RunStatus::Running => {
                    let start = self.view.run.state.starts;
                    if self.begun == Some(start) {
                        self.perform(stop.clone()).await?
                    } else {
                        self.clear_away(start)?;
                        Some(Command::Lose { start })
                    }
                }
                RunStatus::Paused
                    if retry_in(&self.view.run, self.engine.now()).is_some_and(|wait| wait.is_zero()) =>
                {
                    Some(Command::Resume { by: RETRIER.to_owned() })
                }
                _ => {
                    // Whoever ended it elsewhere could not keep what was being done here (L14).
                    if self.begun.is_some() && self.view.run.state.status == RunStatus::Cancelled {
                        job::keep_work(self.engine, &self.view.run).await?;
                    }
                    job::show(self.engine, &self.view.run).await;
                    self.attend_forge(watch).await?;
                    forge::clear(self.engine, &self.view.run).await;
                    return Ok(Rest::Ended);
                }
            };
            let landed = matches!(next, Some(Command::Land(_))).then(|| self.view.run.clone());
            let moved = match next {
                Some(command) => self.apply_still(self.with_used(command), watch).await,
                None => Err(EngineError::RunMoved),
            };
            match moved {
                Ok(()) => {
                    if let Some(before) = landed {
                        forge::clear_phase(self.engine, &before).await;
                    }
                }
                // Somebody else changed it: it was cancelled, nearly always.
                Err(EngineError::RunMoved) => self.reload(watch).await?,
                Err(error) => return Err(error),
            }
            self.begun = Some(self.view.run.state.starts);
        }
    }

    /// Looks at the forge of a job, if it has one.
    async fn attend_forge(&mut self, watch: &mut dyn Watch) -> Result<(), EngineError> {
        let seen = self.view.history.len();
        forge::attend(self.engine, &mut self.view).await?;
        self.tell(seen, watch);
        Ok(())
    }

    async fn land(&mut self, watch: &mut dyn Watch) -> Result<forge::Landing, EngineError> {
        let seen = self.view.history.len();
        let landing = forge::land(self.engine, &mut self.view).await?;
        self.tell(seen, watch);
        Ok(landing)
    }

    /// Performs the attempt under way. None where the run has moved meanwhile.
    async fn perform(&mut self, mut stop: notice::Receiver<bool>) -> Result<Option<Command>, EngineError> {
        let mut why = None;
        let stopped = async {
            // Where nobody can stop it any more, nobody will.
            if stop.wait_for(|stop| *stop).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let (mut stopped, mut moved, mut lost) = (pin!(stopped), pin!(self.moved()), pin!(self.lease.lost()));
        let interrupted = std::future::poll_fn(|context| {
            if lost.as_mut().poll(context).is_ready() {
                why = Some(Interrupted::Lost);
            } else if stopped.as_mut().poll(context).is_ready() {
                why = Some(Interrupted::Stop);
            } else if moved.as_mut().poll(context).is_ready() {
                why = Some(Interrupted::Moved);
            }
            if why.is_some() { Poll::Ready(()) } else { Poll::Pending }
        });
        let engine = self.engine;
        let (run, performer) = (&self.view.run, &mut self.performer);
        let performed = if run.job().is_some() {
            job::perform(performer, engine, run, &self.place, interrupted).await?
        } else {
            performer.perform(run, &engine.settings, &self.place, engine.now(), interrupted).await?
        };
        Ok(match (why, performed) {
            (Some(Interrupted::Lost), _) => return Err(EngineError::LeaseLost(self.view.run.id.clone())),
            (Some(Interrupted::Moved), _) => {
                // Whoever paused it elsewhere goes on from what the forge has.
                let run = engine.load_run(&self.view.run.id).await?.run;
                if run.state.status == RunStatus::Paused {
                    forge::entrust_left(engine, &run, &self.lease).await?;
                }
                None
            }
            (None, Performed::Stopped) => None,
            (Some(Interrupted::Stop), Performed::Stopped) => {
                forge::entrust_left(engine, &self.view.run, &self.lease).await?;
                Some(Command::Pause { by: self.by.name.clone() })
            }
            (_, Performed::Finished(finished)) => Some(Command::Finish(*finished)),
            (_, Performed::Stalled(Stalled { start, reason, outage })) => {
                Some(Command::Stall { start, reason, outage })
            }
            (_, Performed::Lost) => {
                let start = self.view.run.state.starts;
                // A process that was killed is silent before it has let go of its lock.
                self.clear_away(start)?;
                Some(Command::Lose { start })
            }
        })
    }

    /// Ready when somebody else has ended the attempt under way. Another level or a comment leaves it alone.
    fn moved(&self) -> impl Future<Output = ()> + use<> {
        let (store, id) = (self.engine.store.clone(), self.view.run.id.clone());
        let (mut known, start) = (Version(self.view.run.state.version), self.start());
        async move {
            let Ok(mut changes) = store.changes() else { return std::future::pending().await };
            loop {
                changes.borrow_and_update();
                let version = store.run_version(id.as_str()).await.unwrap_or(known);
                if version != known {
                    let stored = store.run(id.as_str()).await;
                    let under_way = stored.ok().flatten().and_then(|stored| stored.run.state.under_way);
                    if under_way.map(|under_way| under_way.start) != start {
                        return;
                    }
                    known = version;
                }
                if changes.changed().await.is_err() {
                    return std::future::pending().await;
                }
            }
        }
    }

    /// Makes sure that nothing of an attempt that was left is alive.
    fn clear_away(&self, start: u64) -> Result<(), EngineError> {
        drop(wait_for_lock(&self.place.supervisor_lock(), LEFTOVERS_MAX)?);
        end_leftovers(&self.view.run.id.attempt(start), LEFTOVERS_MAX)?;
        Ok(())
    }

    /// The attempt under way.
    fn start(&self) -> Option<u64> {
        self.view.run.state.under_way.as_ref().map(|under_way| under_way.start)
    }

    async fn reload(&mut self, watch: &mut dyn Watch) -> Result<(), EngineError> {
        // Whoever was overtaken must not take what the other one does for something that was left.
        let row = self.engine.store.lease(self.id().as_str()).await?;
        if row.is_some_and(|row| row.epoch != self.lease.epoch()) {
            return Err(EngineError::LeaseLost(self.id().clone()));
        }
        let seen = self.view.history.len();
        self.engine.reload(&mut self.view).await?;
        self.tell(seen, watch);
        Ok(())
    }

    /// Applies what became of an attempt as long as it is the one under way, whatever people said meanwhile.
    async fn apply_still(
        &mut self,
        commands: Vec<Command>,
        watch: &mut dyn Watch,
    ) -> Result<(), EngineError> {
        let start = self.start();
        loop {
            match self.apply_all(commands.clone(), watch).await {
                Err(EngineError::RunMoved) if start.is_some() => {
                    self.reload(watch).await?;
                    if self.start() != start {
                        return Err(EngineError::RunMoved);
                    }
                }
                applied => return applied,
            }
        }
    }

    async fn apply(&mut self, command: Command, watch: &mut dyn Watch) -> Result<(), EngineError> {
        self.apply_all(vec![command], watch).await
    }

    /// What an attempt used that ends without a result is counted with its end.
    fn with_used(&self, command: Command) -> Vec<Command> {
        let unheard = matches!(command, Command::Pause { .. } | Command::Lose { .. });
        let used = unheard.then(|| used_so_far(&self.view, &self.place)).flatten();
        let spend = used.map(|(start, used)| Command::Spend { start, used });
        spend.into_iter().chain([command]).collect()
    }

    async fn apply_all(&mut self, commands: Vec<Command>, watch: &mut dyn Watch) -> Result<(), EngineError> {
        let seen = self.view.history.len();
        self.engine.apply_all(&mut self.view, commands, None).await?;
        self.tell(seen, watch);
        Ok(())
    }

    /// Logs and tells what happened after the first `seen` events.
    fn tell(&mut self, seen: usize, watch: &mut dyn Watch) {
        let new = self.view.history.len().saturating_sub(seen);
        self.log.append(&self.view.run, &self.view.history, new, &mut |text| watch.warn(text));
        for (seq, at, event) in self.view.history.iter().skip(seen) {
            watch.event(&self.view.run, *seq, *at, event);
        }
    }
}

enum Interrupted {
    Stop,
    Moved,
    /// The run is somebody else's, or may be.
    Lost,
}
