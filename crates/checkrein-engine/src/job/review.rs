//! Reviews: what a person looks at, comments on and marks.

use checkrein_core::boundary::PhaseKind;
use checkrein_core::checkpoint::{Checkpoint, CheckpointId, CheckpointStatus};
use checkrein_core::decision::Rule;
use checkrein_core::deliverable::Content;
use checkrein_core::finding::{Finding, FindingKind};
use checkrein_core::principal::{Principal, Role};
use checkrein_core::run::job::{
    Author, Comment, FileMark, FileMarks, JobDefinition, JobState, NewComment, ReviewOf, Todo, TodoList, kind,
};
use checkrein_core::run::{Command, Run, RunEvent, RunId, RunStatus};
use checkrein_forge::{Change, Commit, Conflict, Diff, DiffLimits, Oid, TreeEntry};
use checkrein_store::{StoredCheckpoint, Version};
use serde_json::Value;

use super::edit::stands_at;
use super::place::JobPlace;
use super::repository::JobRepository;
use super::round::of_round;
use super::work::{blocking, changes};
use crate::authority::{Act, require};
use crate::checkpoint::{CheckpointView, expect_version};
use crate::run::RunView;
use crate::{Engine, EngineError};

/// A review with its run, as it stands now.
#[derive(Clone, Debug)]
pub struct Reviewed {
    pub checkpoint: CheckpointView,
    pub view: RunView,
    /// Of this review, oldest first, with what the agent replied.
    pub comments: Vec<Comment>,
    /// What people said about single files.
    pub marks: FileMarks,
    /// Every rule that spoke for a hold, in words.
    pub because: Vec<String>,
    /// What was found in the phase; in all of them, where the whole job is looked at.
    pub findings: Vec<Found>,
    /// Whether it is the one its run waits at.
    pub open: bool,
}

impl RunView {
    /// The comment that came with a request.
    pub(crate) fn said(&self, key: &str) -> Option<&Comment> {
        self.history.iter().find_map(|(_, _, event)| match event {
            RunEvent::Commented(comment) if comment.key.as_deref() == Some(key) => Some(&**comment),
            _ => None,
        })
    }
}

/// A finding and the phase it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub phase: String,
    pub finding: Finding,
}

/// What git has to show for it.
#[derive(Clone, Debug)]
pub struct ReviewMaterial {
    /// The repository people clone from and push to.
    pub repository: std::path::PathBuf,
    pub branch: String,
    pub base: Oid,
    pub head: Oid,
    pub diff: Diff,
    /// Oldest first.
    pub commits: Vec<Commit>,
    /// Those of them that neither the agent nor the engine made.
    pub human: Vec<Oid>,
    /// Of the last round alone, where there was one before.
    pub since_last_round: Option<Diff>,
    /// Both sides of what does not fit, where that is why it is held.
    pub conflict: Option<Conflict>,
    /// The job's own documents as they are on the branch: names and texts.
    pub artefacts: Vec<(String, String)>,
}

const COMMITS_MAX: usize = 500;
/// Lines of a larger file are not counted.
const FILE_BYTES_MAX: usize = 16 << 20;

impl Engine {
    /// Where people clone the branches of a job from and push to; none before it has begun.
    pub fn job_repository(&self, id: &RunId) -> Option<std::path::PathBuf> {
        Some(JobPlace::of(&self.store, id).repository()).filter(|path| path.exists())
    }

    /// A review by the id of its checkpoint, or of the run that waits at it. What was pushed meanwhile is
    /// noticed.
    pub async fn review(&self, by: &Principal, id: &str) -> Result<Reviewed, EngineError> {
        require(by, Act::Read)?;
        let mut stored = self.review_checkpoint(id).await?;
        if !self.sees(by, stored.checkpoint.id.as_str()).await? {
            return Err(EngineError::NoCheckpoint(id.to_owned()));
        }
        let run = stored.checkpoint.run.clone().ok_or_else(|| EngineError::NotAReview(id.to_owned()))?;
        let mut view = self.load_run(&self.named_run(&run).await?).await?;
        if view.run.job().is_none() {
            return Err(EngineError::NotAReview(id.to_owned()));
        }
        if view.checkpoint.as_deref() == Some(stored.checkpoint.id.as_str())
            && self.noticed(&mut view).await?
        {
            stored = self.checkpoint_row(stored.checkpoint.id.as_str()).await?;
        }
        self.at_hand(&view.run).await?;
        stored.checkpoint = stored.checkpoint.standing_at(self.now());
        let open = view.checkpoint.as_deref() == Some(stored.checkpoint.id.as_str())
            && stored.checkpoint.status == CheckpointStatus::Pending;
        let (comments, marks) = said(&view, &stored.checkpoint);
        let because = because(&view, &stored.checkpoint);
        let checkpoint = self.view(stored).await?;
        let findings = findings(&view, &checkpoint);
        Ok(Reviewed { checkpoint, view, comments, marks, because, findings, open })
    }

    /// Where the store can only be read, what was seen is not written down.
    async fn noticed(&self, view: &mut RunView) -> Result<bool, EngineError> {
        match self.notice_push(view).await {
            Err(EngineError::Store(_)) => Ok(false),
            noticed => noticed,
        }
    }

    async fn review_checkpoint(&self, id: &str) -> Result<StoredCheckpoint, EngineError> {
        match self.checkpoint_row(id).await {
            Ok(stored) => Ok(stored),
            Err(EngineError::NoCheckpoint(_)) => {
                let run = self.named_run(id).await.map_err(|error| match error {
                    EngineError::NoRun(_) => EngineError::NoCheckpoint(id.to_owned()),
                    other => other,
                })?;
                let view = self.load_run(&run).await?;
                let waiting = view.checkpoint.ok_or(EngineError::NothingToReview(run))?;
                self.checkpoint_row(&waiting).await
            }
            Err(error) => Err(error),
        }
    }

    /// The diff, the commits and the documents of a review.
    pub async fn review_material(
        &self,
        by: &Principal,
        reviewed: &Reviewed,
    ) -> Result<ReviewMaterial, EngineError> {
        require(by, Act::Read)?;
        let asked = reviewed.asked();
        let commit = |name: &str| Oid::parse(asked.get(name).and_then(Value::as_str).unwrap_or_default());
        let (base, head) = (commit("base")?, commit("head")?);
        let before = self.head_before(&reviewed.checkpoint.checkpoint).await?;
        let number = |name: &str| {
            let number = asked.get(name).and_then(Value::as_u64);
            number.and_then(|number| u32::try_from(number).ok()).unwrap_or(1)
        };
        let (phase, revision) = (number("phase_number"), number("revision"));
        let met = reviewed.view.run.job().and_then(|(_, job)| job.phase.work.as_ref()?.conflict.clone());
        let met = met.filter(|_| reviewed.open);
        let run = reviewed.view.run.clone();
        let place = JobPlace::of(&self.store, &run.id);
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            let Some((definition, _)) = run.job() else { return Err(EngineError::NotAJob(run.id.clone())) };
            let branch = repository.names.phase(phase, kind(phase), revision);
            let limits = DiffLimits::default();
            let diff = repository.bare.diff(&base, &head, &limits)?;
            let mut commits = repository.bare.log(Some(&base), &head, COMMITS_MAX)?;
            commits.reverse();
            let machines = [repository.engine.email(), repository.agent.email()];
            let human = commits.iter().filter(|commit| !machines.contains(&commit.author_email.as_str()));
            let human = human.map(|commit| commit.oid.clone()).collect();
            let since_last_round =
                before.map(|before| repository.bare.diff(&before, &head, &limits)).transpose()?;
            let conflict = match met {
                Some(met) => {
                    let (other, _) = repository.other_side(&branch, &met)?;
                    repository.bare.conflict_between(&head, &other)?
                }
                None => None,
            };
            let own = definition.repository.artefacts();
            let names = ["plan.md", "todos.yaml", "workspace.md", "feedback.md"];
            let artefact = |name: &&str| {
                let path = format!("{own}{name}");
                repository.text(&head, &path).map(|text| (path, text))
            };
            Ok(ReviewMaterial {
                repository: repository.bare.path().to_owned(),
                branch: branch.to_string(),
                artefacts: names.iter().filter_map(artefact).collect(),
                base,
                head,
                diff,
                commits,
                human,
                since_last_round,
                conflict,
            })
        })
        .await
    }

    /// The commit that was looked at in the round before.
    async fn head_before(&self, checkpoint: &Checkpoint) -> Result<Option<Oid>, EngineError> {
        let Some(round) = checkpoint.round.checked_sub(1).filter(|round| *round > 0) else {
            return Ok(None);
        };
        let before = match self.checkpoint_row(&of_round(checkpoint, round)).await {
            Ok(stored) => stored,
            Err(EngineError::NoCheckpoint(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let asked = asked(self.view(before).await?.content.as_ref());
        Ok(asked.get("head").and_then(Value::as_str).and_then(|head| Oid::parse(head).ok()))
    }

    /// Adds a comment to the review a job waits at. An agent replies to what people wrote at its own.
    pub async fn comment(
        &self,
        by: &Principal,
        id: &str,
        comment: NewComment,
        expected: Option<Version>,
    ) -> Result<Comment, EngineError> {
        let act = if comment.reply_to.is_some() { Act::Reply } else { Act::Comment };
        require(by, act)?;
        if comment.text.trim().is_empty() {
            return Err(EngineError::Empty("comment"));
        }
        // Whoever said it and died before they were answered says it again.
        if let Some(said) = self.said_before(by, id, comment.key.as_deref()).await? {
            return Ok(said);
        }
        let view = self.spoken_of(by, id, expected).await?;
        self.check_comments(&view, std::slice::from_ref(&comment)).await?;
        let author = if by.role == Role::Agent { Author::Agent } else { Author::Person };
        let command = Command::Comment { comment, by: by.name.clone(), author };
        let view = self.say(by, id, command, expected).await?;
        let last = view.history.iter().rev().find_map(|(_, _, event)| match event {
            RunEvent::Commented(comment) => Some(Comment::clone(comment)),
            _ => None,
        });
        last.ok_or_else(|| EngineError::NotAReview(id.to_owned()))
    }

    /// Says of one file that it is fine, or that it wants changes; none takes that back. A mark is about what the
    /// file is now; with `looked_at`, the commit that was on the screen, it is refused if the file was another one there.
    pub async fn mark_file(
        &self,
        by: &Principal,
        id: &str,
        file: &str,
        mark: Option<FileMark>,
        looked_at: Option<&str>,
        expected: Option<Version>,
    ) -> Result<(), EngineError> {
        require(by, Act::GiveVerdict)?;
        loop {
            let mut view = self.spoken_of(by, id, expected).await?;
            let content = match mark {
                Some(_) => {
                    // A mark is about something a person can have looked at.
                    let about = NewComment { file: Some(file.to_owned()), ..NewComment::default() };
                    self.check_comments(&view, &[about]).await?;
                    Some(self.content_to_mark(&view, id, file, looked_at).await?)
                }
                None => None,
            };
            let command = Command::Mark { file: file.to_owned(), mark, by: by.name.clone(), content };
            match self.apply(&mut view, command).await {
                Ok(_) => return Ok(()),
                Err(EngineError::RunMoved) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// What a file is in the commit under review.
    async fn content_to_mark(
        &self,
        view: &RunView,
        id: &str,
        file: &str,
        looked_at: Option<&str>,
    ) -> Result<String, EngineError> {
        let (checkpoint, head) = stands_at(view, id)?;
        let looked_at = looked_at.filter(|looked_at| *looked_at != head).map(str::to_owned);
        let (run, file) = (view.run.clone(), file.to_owned());
        let place = JobPlace::of(&self.store, &run.id);
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            let content = content_of(&repository.bare.list_files(&Oid::parse(&head)?)?, &file);
            if let Some(looked_at) = looked_at {
                let seen = repository.bare.list_files(&Oid::parse(&looked_at)?);
                if seen.map_or(true, |seen| content_of(&seen, &file) != content) {
                    return Err(EngineError::HeadMoved { id: checkpoint, looked_at, head });
                }
            }
            Ok(content)
        })
        .await
    }

    /// The run that waits at a review; what is said later would be said about the next phase.
    pub(super) async fn spoken_of(
        &self,
        by: &Principal,
        id: &str,
        expected: Option<Version>,
    ) -> Result<RunView, EngineError> {
        let StoredCheckpoint { checkpoint, version, .. } = self.review_checkpoint(id).await?;
        if !self.sees(by, checkpoint.id.as_str()).await? {
            return Err(EngineError::NoCheckpoint(id.to_owned()));
        }
        let run = checkpoint.run.clone().ok_or_else(|| EngineError::NotAReview(id.to_owned()))?;
        let run = self.named_run(&run).await?;
        let view = self.load_run(&run).await?;
        if view.run.job().is_none() {
            return Err(EngineError::NotAReview(id.to_owned()));
        }
        if view.checkpoint.as_deref() != Some(checkpoint.id.as_str()) {
            return Err(EngineError::ReviewOver(checkpoint.id));
        }
        expect_version(checkpoint.id.as_str(), expected, version)?;
        Ok(view)
    }

    /// The comment that a request left before.
    async fn said_before(
        &self,
        by: &Principal,
        id: &str,
        key: Option<&str>,
    ) -> Result<Option<Comment>, EngineError> {
        let Some(key) = key else { return Ok(None) };
        let Ok(StoredCheckpoint { checkpoint, .. }) = self.review_checkpoint(id).await else {
            return Ok(None);
        };
        let Some(run) = checkpoint.run.clone() else { return Ok(None) };
        if !self.sees(by, checkpoint.id.as_str()).await? {
            return Ok(None);
        }
        let view = self.load_run(&RunId::new(run)).await?;
        Ok(view.said(key).cloned())
    }

    pub(super) async fn say(
        &self,
        by: &Principal,
        id: &str,
        command: Command,
        expected: Option<Version>,
    ) -> Result<RunView, EngineError> {
        loop {
            let mut view = self.spoken_of(by, id, expected).await?;
            match self.apply(&mut view, command.clone()).await {
                Ok(_) => return Ok(view),
                Err(EngineError::RunMoved) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether there is a place for these comments in the review a job waits at: a file that changed, and a line
    /// it has. While the agent works anything may be said.
    pub async fn check_comments(&self, view: &RunView, comments: &[NewComment]) -> Result<(), EngineError> {
        let mut places = Vec::new();
        for comment in comments.iter().filter(|comment| comment.reply_to.is_none()) {
            places.extend(comment.file.clone().map(|file| (file, comment.line)));
        }
        let work = view.run.job().and_then(|(_, job)| job.phase.work.clone());
        let (Some(at), Some(work)) = (&view.checkpoint, work) else { return Ok(()) };
        if places.is_empty() {
            return Ok(());
        }
        self.at_hand(&view.run).await?;
        let (run, id) = (view.run.clone(), CheckpointId::new(at.clone())?);
        let place = JobPlace::of(&self.store, &run.id);
        blocking(move || {
            let repository = JobRepository::look(&run, &place)?;
            let (base, head) = (Oid::parse(work.looked_at().0)?, Oid::parse(&work.head)?);
            let files = repository.bare.changed_files(&base, &head)?;
            for (file, line) in places {
                let here = files.iter().find_map(|changed| match &changed.change {
                    Change::Renamed { from, .. } if from.to_string() == file => Some((from, &base)),
                    Change::Deleted if changed.path.to_string() == file => Some((&changed.path, &base)),
                    _ => (changed.path.to_string() == file).then_some((&changed.path, &head)),
                });
                let Some((path, commit)) = here else { return Err(EngineError::NotInReview { id, file }) };
                let (Some(line), Ok(content)) =
                    (line, repository.bare.show_file(commit, path, FILE_BYTES_MAX))
                else {
                    continue;
                };
                let lines = String::from_utf8_lossy(&content.bytes).lines().count();
                if !content.cut && usize::try_from(line).is_ok_and(|line| line > lines) {
                    return Err(EngineError::NoLine { file, line, lines });
                }
            }
            Ok(())
        })
        .await
    }

    /// Looks whether somebody pushed to the branch under review; then the review is of that (X10).
    pub(crate) async fn notice_push(&self, view: &mut RunView) -> Result<bool, EngineError> {
        loop {
            let Some((hold, known)) = waits_at(view) else { return Ok(false) };
            self.at_hand(&view.run).await?;
            let run = view.run.clone();
            let place = JobPlace::of(&self.store, &run.id);
            let roams = self.roams(&run);
            let found = blocking(move || {
                let repository = JobRepository::look(&run, &place)?;
                let Some((definition, job)) = run.job() else { return Ok(None) };
                let branch = repository.branch(&job.phase);
                repository.take_mirrored(definition, &branch);
                let Some(head) = repository.bare.head(&branch)? else { return Ok(None) };
                if head.as_str() == known {
                    return Ok(None);
                }
                // Where the job has gone on elsewhere, what is here may be older than what is under review.
                if roams && !repository.bare.contains(&head, &Oid::parse(&known)?).unwrap_or(false) {
                    return Ok(None);
                }
                let base =
                    job.phase.work.as_ref().map(|work| work.looked_at().0.to_owned()).unwrap_or_default();
                let files = repository.bare.changed_files(&Oid::parse(&base)?, &head)?;
                let lapsed = lapsed(&repository, job, &head)?;
                let todos = todos_changed(&repository, definition, job, known.as_str(), &head);
                // Whoever pushes beside work that is kept has settled it; what main does not take is not settled.
                let met = job.phase.work.as_ref().and_then(|work| work.conflict.as_ref());
                let still = match met.filter(|met| met.kept_on.is_none()) {
                    Some(met) => repository.still_met(&run, &branch, met, &head)?,
                    None => None,
                };
                Ok(Some((head, changes(&files), todos, still, lapsed)))
            })
            .await?;
            let Some((head, mut files, next_todos, conflict, lapsed)) = found else { return Ok(false) };
            // What the record names is in the forge, for whoever goes on elsewhere.
            if roams && !crate::forge::has(self, &view.run, &head).await? {
                return Ok(false);
            }
            let files_total = files.len();
            files.truncate(500);
            let head = head.to_string();
            let command = Command::Push { hold, head, files, files_total, next_todos, conflict, lapsed };
            match self.apply(view, command).await {
                Ok(_) => return Ok(true),
                Err(EngineError::RunMoved) => self.reload(view).await?,
                Err(error) => return Err(error),
            }
        }
    }
}

/// The hold of a review and the commit it is of.
fn waits_at(view: &RunView) -> Option<(u32, String)> {
    let (_, job) = view.run.job()?;
    let hold = view.run.state.hold.as_ref().filter(|_| view.run.state.status == RunStatus::Held)?;
    Some((hold.number, job.phase.work.as_ref()?.head.clone()))
}

impl Reviewed {
    /// What its checkpoint shows: the deliverable a verdict is bound to.
    pub fn asked(&self) -> Value {
        asked(self.checkpoint.content.as_ref())
    }
}

pub(super) fn asked(content: Option<&Content>) -> Value {
    content.and_then(|content| serde_json::from_slice(&content.bytes).ok()).unwrap_or_default()
}

/// Every comment of the review from its first round on, and what was said about files.
fn said(view: &RunView, checkpoint: &Checkpoint) -> (Vec<Comment>, FileMarks) {
    let of = |job: &JobState| (job.comments.clone(), FileMarks::of(job));
    let now = view.run.job().filter(|(_, job)| job.phase.name() == checkpoint.phase);
    match now {
        Some((_, job)) => of(job),
        None => as_it_ended(view, &checkpoint.phase).map(|job| of(&job)).unwrap_or_default(),
    }
}

/// What a file is among those of a commit: its mode and its object.
fn content_of(there: &[TreeEntry], path: &str) -> String {
    let entry = there.iter().find(|entry| entry.path.to_string() == path);
    entry.map_or_else(|| "gone".to_owned(), |entry| format!("{} {}", entry.kind.mode(), entry.oid))
}

/// The approved files that a commit has otherwise than they were approved.
pub(super) fn lapsed(
    repository: &JobRepository,
    job: &JobState,
    head: &Oid,
) -> Result<Vec<String>, EngineError> {
    let mut approved = job.marks.iter().filter(|(_, marked)| marked.mark == FileMark::Approved).peekable();
    if approved.peek().is_none() {
        return Ok(Vec::new());
    }
    let there = repository.bare.list_files(head)?;
    let lapsed = approved.filter(|(path, marked)| marked.content != Some(content_of(&there, path)));
    Ok(lapsed.map(|(path, _)| path.clone()).collect())
}

/// The job as it was when a phase ended.
fn as_it_ended(view: &RunView, phase: &str) -> Option<JobState> {
    let mut history = view.history.iter();
    let (_, at, created) = history.next()?;
    let (id, definition) = (view.run.id.clone(), view.run.definition.clone());
    let (mut run, _) = Run::create(id, definition, created.clone(), *at);
    for (_, at, event) in history {
        if matches!(event, RunEvent::PhaseEnded { phase: ended, .. } if ended == phase) {
            break;
        }
        run.fold(event, *at);
    }
    run.state.job.map(|job| *job)
}

/// What was found until the review was opened, each thing once.
fn findings(view: &RunView, reviewed: &CheckpointView) -> Vec<Found> {
    let checkpoint = &reviewed.checkpoint;
    let context = asked(reviewed.content.as_ref()).get("context").cloned().unwrap_or_default();
    let whole = context.as_str() == Some(ReviewOf::JobComplete.name());
    let mut found: Vec<Found> = Vec::new();
    for (_, at, event) in &view.history {
        let RunEvent::AttemptFinished(attempt) = event else { continue };
        if *at > checkpoint.created_at || !(whole || attempt.phase == checkpoint.phase) {
            continue;
        }
        let response = &attempt.response;
        let warnings = response.warnings.iter().map(|finding| (FindingKind::Warning, finding));
        let errors = response.errors.iter().map(|finding| (FindingKind::Error, finding));
        for (kind, finding) in errors.chain(warnings) {
            let finding = Finding { kind, ..finding.clone() };
            let one = Found { phase: attempt.phase.clone(), finding };
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found
}

/// What was decided right before the hold.
fn because(view: &RunView, checkpoint: &Checkpoint) -> Vec<String> {
    let mut decided: Vec<(Rule, String)> = Vec::new();
    let mut held = false;
    for (_, at, event) in &view.history {
        match event {
            RunEvent::RunHeld { .. } | RunEvent::AttemptStarted { .. } if held => break,
            RunEvent::AttemptStarted { .. } => decided.clear(),
            RunEvent::Decided(told) => decided.clone_from(&told.because),
            RunEvent::RunHeld { reason, .. } if *at == checkpoint.created_at => {
                held = true;
                // A conflict at the merge was no decision of the policy.
                if !decided.iter().any(|(_, text)| text == reason) {
                    decided = vec![(Rule::Conflict, reason.clone())];
                }
            }
            RunEvent::ReviewMoved { conflict: None, .. } if held => {
                for (rule, text) in &mut decided {
                    if *rule == Rule::Conflict && !text.ends_with(SETTLED) {
                        text.push_str(SETTLED);
                    }
                }
            }
            _ => {}
        }
    }
    decided.into_iter().map(|(_, text)| text).collect()
}

/// What is to be done next, where somebody changed it in a plan under review: what is approved is done.
fn todos_changed(
    repository: &JobRepository,
    definition: &JobDefinition,
    job: &JobState,
    known: &str,
    head: &Oid,
) -> Option<Vec<Todo>> {
    if job.phase.kind() != PhaseKind::Strategic {
        return None;
    }
    let path = definition.repository.artefact("todos.yaml");
    let now = repository.text(head, &path)?;
    if Oid::parse(known).is_ok_and(|known| repository.text(&known, &path).as_ref() == Some(&now)) {
        return None;
    }
    TodoList::read(&now).ok().map(|list| list.todos).filter(|todos| !todos.is_empty())
}
const SETTLED: &str = "; what was pushed since settles it";
