//! What an agent reads before it works, and the files a job keeps about itself. Text alone: whoever calls
//! brings what is on the branch.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::super::Run;
use super::{
    AgentOutcome, Comment, FileChange, JobPhase, ReviewOf, Stage, Todo, TodoList, UnfinishedAttempt,
    UnfinishedBecause,
};
use crate::boundary::PhaseKind;
use crate::shown::one_line;

/// What stands on the branch when an attempt begins.
#[derive(Clone, Debug, Default)]
pub struct OnBranch {
    pub plan: Option<String>,
    pub workspace: Option<String>,
    /// What people changed on the branch since the attempt before: a diff.
    pub human_diff: Option<String>,
    /// Who they were, and what they say they did.
    pub human_commits: Vec<String>,
    /// The name of the job's main branch.
    pub main: String,
    /// The name under which the agent has the branch the job started from, where the result did not fit it.
    pub base: String,
    /// What an attempt without a result left.
    pub left: LeftInClone,
}

/// What an attempt that ended without a result left in its clone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftInClone {
    /// Titles of its commits, oldest first.
    pub commits: Vec<String>,
    pub files: Vec<FileChange>,
    /// What could not be taken over, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// The brief of the attempt that is due.
pub fn brief(run: &Run, branch: &OnBranch) -> String {
    let Some((definition, job)) = run.job() else { return String::new() };
    let phase = &job.phase;
    let repository = &definition.repository;
    let level = run.policy().level.as_deref().unwrap_or("custom");
    let mut out = String::new();
    let kind = phase.attempt_kind();
    let _ = writeln!(out, "# Phase {} ({kind}) of job {}\n", phase.number, run.id);
    let _ = writeln!(out, "Level: {level}. Round: {}. Branch: {}.\n", phase.round, phase.branch());
    section(&mut out, "Task", &definition.description);
    if let Some(instructions) = &definition.instructions {
        section(&mut out, "How you work", instructions);
    }
    section(&mut out, "What this phase is for", purpose(phase));
    if let Some(attempt) = &phase.unfinished {
        section(&mut out, "The attempt before this one", &unfinished(attempt, &branch.left));
    }
    if let Some(plan) = &branch.plan {
        section(&mut out, &format!("Plan ({})", repository.artefact("plan.md")), &fenced(plan, "markdown"));
    }
    if let Some(workspace) = branch.workspace.as_ref().filter(|text| !text.trim().is_empty()) {
        let title = format!("What is known so far ({})", repository.artefact("workspace.md"));
        section(&mut out, &title, &fenced(workspace, "markdown"));
    }
    if !phase.todos.is_empty() {
        section(&mut out, "Todos", &listed(&phase.todos));
    }
    if kind == PhaseKind::Strategic && !job.undone.is_empty() {
        let undone = job.undone.iter().map(|todo| format!("- {}", one_line(&todo.content)));
        section(&mut out, "Not done in the phase before", &undone.collect::<Vec<_>>().join("\n"));
    }
    if let Some(replan) = job.replan.as_ref().filter(|_| kind == PhaseKind::Strategic) {
        let text =
            format!("The phase of work before ended early and asks to plan again:\n\n{}", quote(replan));
        section(&mut out, "Why you plan again", &text);
    }
    if let Some(feedback) = feedback(run) {
        section(&mut out, "Feedback", feedback.trim_end());
    }
    if !branch.human_commits.is_empty() {
        let mut text = String::from("People changed the branch. Keep what they did.\n\n");
        bullets(&mut text, &branch.human_commits);
        if let Some(diff) = &branch.human_diff {
            let _ = write!(text, "\n{}", fenced(diff, "diff"));
        }
        section(&mut out, "What people changed", text.trim_end());
    }
    if let Some(conflict) = phase.work.as_ref().and_then(|work| work.conflict.as_ref()) {
        let other = match (&conflict.kept_on, &conflict.base) {
            (Some(kept_on), _) => kept_on,
            (None, Some(_)) => &branch.base,
            (None, None) => &branch.main,
        };
        let mut text = format!(
            "Merging met a conflict. Resolve it on this branch: merge `{}` into it, settle these files, and \
             commit the merge.\n\n",
            one_line(other)
        );
        bullets(&mut text, &conflict.files);
        section(&mut out, "Conflict", text.trim_end());
    }
    if !definition.documents.is_empty() {
        let path = |name: &String| format!("- {}", repository.artefact(&format!("documents/{name}")));
        section(&mut out, "Documents", &definition.documents.iter().map(path).collect::<Vec<_>>().join("\n"));
    }
    if !definition.datasources.is_empty() {
        let line = |source: &super::Datasource| {
            format!("- {}: its address is in ${} ({})", source.name, source.variable, source.shown)
        };
        section(
            &mut out,
            "Datasources",
            &definition.datasources.iter().map(line).collect::<Vec<_>>().join("\n"),
        );
    }
    section(&mut out, "Rules", &rules(phase, repository.artefacts()));
    out.push_str(ANSWER);
    out
}

fn purpose(phase: &JobPhase) -> &'static str {
    match (phase.attempt_kind(), phase.rework.as_ref().map(|rework| rework.of)) {
        (_, Some(ReviewOf::Tactical)) if phase.stage == Stage::Feedback => {
            "A person looked at the work of this phase and wants it changed. Read the feedback, look at what is \
             there, adapt the plan, and hand in corrective todos (next_todos). The work itself comes next, on the \
             same branch."
        }
        (PhaseKind::Strategic, Some(ReviewOf::JobComplete)) => {
            "A person looked at the result and wants it changed. Work on the feedback; then either hand in todos \
             (next_todos) for what is left, or, once you have committed the change, say job_complete again."
        }
        (PhaseKind::Strategic, Some(_)) => {
            "A person looked at the plan and wants it changed. Work on every comment, adapt the plan, and hand in \
             the todos of the next phase again (next_todos)."
        }
        (PhaseKind::Strategic, None) if phase.number == 1 => {
            "Understand the task, write down what you know, make a plan, and hand in the todos of the first phase \
             of work (next_todos). Do not do the work yet."
        }
        (PhaseKind::Strategic, None) => {
            "Look back at what was done, adapt the plan, and hand in the todos of the next phase of work \
             (next_todos), or say job_complete if nothing is left to do."
        }
        (PhaseKind::Tactical, _) => "Do the todos below, one after the other. Commit after each of them.",
    }
}

/// How an attempt without a result ended, and what is there of it.
fn unfinished(attempt: &UnfinishedAttempt, left: &LeftInClone) -> String {
    let how = match attempt.because {
        UnfinishedBecause::Lost => "was lost: its process died before it handed in a result.",
        UnfinishedBecause::Paused => "was paused before it handed in a result.",
        UnfinishedBecause::Failed => "failed.",
        UnfinishedBecause::Blocked => "could not continue.",
        UnfinishedBecause::Budget => "was ended because its budget was used up.",
        UnfinishedBecause::Stopped => "was stopped by the policy because of what it found.",
    };
    let mut text = format!("An attempt at this phase {how}\n\n");
    if let Some(reason) = &attempt.reason {
        text.push_str(&quote(reason));
    }
    if left.commits.is_empty() && left.files.is_empty() {
        text.push_str("It left nothing on this branch. ");
    } else {
        text.push_str(
            "What it left is on this branch and in your clone; what it had not committed was committed for it. Look \
             at it first, keep what is good, and do what is missing. ",
        );
    }
    text.push_str("Files that git ignores may be left over from it as well.\n");
    let mut list = |title: &str, items: &[String]| {
        if !items.is_empty() {
            let _ = write!(text, "\n{title}:\n\n");
            bullets(&mut text, items.get(..ITEMS_MAX).unwrap_or(items));
            if let Some(more) = items.len().checked_sub(ITEMS_MAX).filter(|more| *more > 0) {
                let _ = writeln!(text, "- … and {more} more");
            }
        }
    };
    let file =
        |file: &FileChange| format!("{} {} (+{} -{})", file.change, file.path, file.added, file.removed);
    list("Its commits", &left.commits);
    list("Files it changed", &left.files.iter().map(file).collect::<Vec<_>>());
    list("What could not be taken over", &left.left_out);
    text
}

/// So many lines of a list are in a brief; the rest is counted.
const ITEMS_MAX: usize = 50;

fn rules(phase: &JobPhase, artefacts: &str) -> String {
    let mut rules = format!(
        "- Work in this directory alone; it is a clone of your own, on the branch of this phase. Stay on it.\n\
         - Commit after each todo with a message such as `todo 1: what changed`. What you leave uncommitted is \
         committed for you.\n\
         - Keep `{artefacts}workspace.md` (what you know) and `{artefacts}plan.md` (what you mean to do) true.\n\
         - Never change files that decide what you may do: checkrein.yaml, hooks, CI. A person looks at any such \
         change.\n\
         - You cannot approve your own work. Do not try.\n"
    );
    if phase.rework.is_some() {
        rules.push_str("- Answer every comment in comment_replies, by its id: what you did, or why not.\n");
    }
    rules
}

const ANSWER: &str = "\
## How to answer

Write a JSON object to the file that $CHECKREIN_RESULT names. Everything in it may be left out:

```json
{\"outcome\": \"phase_done | job_complete | blocked | failed\",
 \"summary\": \"what you did\",
 \"next_todos\": [\"what the next phase of work has to do\"],
 \"todos_done\": [1, 2],
 \"replan\": \"why the todos of a tactical phase do not lead there; it ends, and is planned again\",
 \"deliverables\": [\"path\"],
 \"confidence\": 0.8,
 \"milestone\": \"the milestone of the plan you reached\",
 \"warnings\": [], \"errors\": [],
 \"comment_replies\": [{\"id\": \"c1\", \"text\": \"done\"}],
 \"usage\": {\"tokens\": 0, \"cost\": 0.0}}
```

job_complete counts in a strategic phase only, and only if no todos are left. Without a result, exit 0 means \
phase_done with the todos of `todos.yaml`, anything else means failed.
";

/// What people said since the agent was last given something; the whole of `feedback.md`.
pub fn feedback(run: &Run) -> Option<String> {
    let (_, job) = run.job()?;
    let rework = job.phase.rework.as_ref();
    let comments: Vec<&Comment> = job.comments.iter().filter(|comment| comment.waits()).collect();
    let reason =
        rework.filter(|_| job.phase.stage != Stage::Work || job.phase.kind() == PhaseKind::Strategic);
    if reason.is_none() && comments.is_empty() {
        return None;
    }
    let mut out = String::new();
    if let Some(rework) = reason {
        let said = rework.reason.as_deref().unwrap_or("no further words");
        let _ = writeln!(
            out,
            "{} requested changes of {}:\n\n{}",
            one_line(&rework.by),
            job.phase.name(),
            quote(said)
        );
        if !rework.files.is_empty() {
            out.push_str("Changes are requested in these files:\n\n");
            bullets(&mut out, &rework.files);
            out.push('\n');
        }
    }
    for comment in comments {
        let _ = write!(out, "- **{}** by {}", comment.id, one_line(&comment.by));
        match (&comment.file, comment.line) {
            (Some(file), Some(line)) => out.push_str(&format!(" at `{}:{line}`", one_line(file))),
            (Some(file), None) => out.push_str(&format!(" on `{}`", one_line(file))),
            (None, _) => {}
        }
        if let Some(tag) = comment.tag {
            let _ = write!(out, " [{}]", tag.name());
        }
        if let Some(to) = &comment.reply_to {
            let _ = write!(out, ", in reply to {to}");
        }
        let _ = writeln!(out, ":\n\n{}", quote(&comment.text));
    }
    Some(out)
}

/// The first `workspace.md` of a job, which says how far its agent may go (X19).
pub fn first_workspace(run: &Run) -> String {
    let Some((definition, _)) = run.job() else { return String::new() };
    format!("# Workspace\n\n{}\n\n## Task\n\n{}\n", level_line(run), definition.description.trim_end())
}

/// The line that says it, which the engine keeps true.
pub fn level_line(run: &Run) -> String {
    let policy = run.policy();
    let level = policy.level.as_deref().unwrap_or("custom");
    let about = match level {
        "full" => "nobody reviews before the end",
        "review" => "a person reviews the result",
        "partial" => "a person reviews the first plan and the result",
        "guided" => "a person reviews every plan and the result",
        "dependent" => "a person reviews every phase",
        _ => "a person reviews where the policy says so",
    };
    format!("Autonomy: {level} ({about})")
}

/// A workspace with the line in it, changed as little as can be.
pub fn with_level(workspace: &str, run: &Run) -> String {
    let line = level_line(run);
    if workspace.lines().any(|known| known == line) {
        return workspace.to_owned();
    }
    let mut found = false;
    let mut out = String::new();
    for known in workspace.lines() {
        let ours = !found && known.starts_with("Autonomy: ");
        found |= ours;
        out.push_str(if ours { &line } else { known });
        out.push('\n');
    }
    if found { out } else { format!("{}\n\n{line}\n", workspace.trim_end()) }
}

/// What the job can do, as a document beside the plan.
pub fn tools(run: &Run) -> String {
    let Some((definition, _)) = run.job() else { return String::new() };
    let agent = run.definition.plan.agent.as_deref().unwrap_or("none");
    let mut out = format!("# What the agent has\n\n- Command: `{}`\n", one_line(agent));
    let sandbox = match definition.isolation {
        super::Isolation::None => "no",
        super::Isolation::Sandbox => "yes",
    };
    let _ = writeln!(out, "- Sandbox: {sandbox}");
    for name in &definition.environment {
        let _ = writeln!(out, "- Variable: `{}`", one_line(name));
    }
    for source in &definition.datasources {
        let _ = writeln!(out, "- Datasource: {} ({})", one_line(&source.name), one_line(&source.shown));
    }
    for document in &definition.documents {
        let _ = writeln!(out, "- Document: `{}`", one_line(document));
    }
    out
}

/// What a phase leaves in the archive: how it went.
pub fn retrospective(phase: &JobPhase) -> String {
    let mut out = format!("# Phase {} ({})\n\n", phase.number, phase.kind());
    let Some(work) = &phase.work else { return out };
    let summary =
        if work.result.summary.is_empty() { "The agent left no summary." } else { &work.result.summary };
    let _ = writeln!(out, "{}\n", summary.trim_end());
    if let Some(confidence) = work.result.confidence {
        let _ = writeln!(out, "Confidence: {confidence}\n");
    }
    if !phase.todos.is_empty() {
        let _ = writeln!(out, "{}\n", listed(&phase.todos));
    }
    bullets(&mut out, &work.result.deliverables);
    format!("{}\n", out.trim_end())
}

/// What the commit of a merged phase says (L6).
pub fn merge_message(phase: &JobPhase) -> String {
    let result = phase.work.as_ref().map(|work| work.result.clone()).unwrap_or_default();
    let mut lines = result.summary.lines();
    let title = lines.next().unwrap_or_default().trim();
    let title = match (title.is_empty(), result.outcome) {
        (false, _) => one_line(title),
        (true, AgentOutcome::JobComplete) => "job complete".to_owned(),
        (true, _) if phase.kind() == PhaseKind::Strategic => "plan".to_owned(),
        (true, _) => "work".to_owned(),
    };
    let mut out = format!("phase {} ({}): {title}\n", phase.number, phase.kind());
    let rest = lines.collect::<Vec<_>>().join("\n");
    if !rest.trim().is_empty() {
        let _ = write!(out, "\n{}\n", rest.trim());
    }
    let done: Vec<String> =
        phase.todos.iter().filter(|todo| todo.done).map(|todo| todo.content.clone()).collect();
    if !done.is_empty() {
        out.push('\n');
        bullets(&mut out, &done);
    }
    out
}

/// `todos.yaml` for the phase that follows.
pub fn todo_list(phase: &JobPhase, todos: &[Todo]) -> TodoList {
    let next = super::phase_name(phase.number.saturating_add(1));
    TodoList { phase: next, description: None, todos: todos.to_vec() }
}

fn listed(todos: &[Todo]) -> String {
    let line = |todo: &Todo| {
        format!("{}. [{}] {}", todo.id, if todo.done { 'x' } else { ' ' }, one_line(&todo.content))
    };
    todos.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn bullets(out: &mut String, items: &[String]) {
    for item in items {
        let _ = writeln!(out, "- {}", one_line(item));
    }
}

fn section(out: &mut String, title: &str, text: &str) {
    let _ = writeln!(out, "## {title}\n\n{}\n", text.trim_end());
}

fn quote(text: &str) -> String {
    let mut out: String = text.lines().map(|line| format!("  > {line}\n")).collect();
    out.push('\n');
    out
}

/// In a fence that nothing inside can close.
fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end())
}
