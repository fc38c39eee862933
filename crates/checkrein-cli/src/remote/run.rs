use std::sync::Arc;

use checkrein_core::event::Event as Said;
use checkrein_core::run::{Definition, Run, RunEvent, RunId, RunStatus};
use checkrein_engine::{RunView, Watch};
use checkrein_server::wire;
use checkrein_server::wire::event::Event;
use checkrein_server::wire::page::Page;
use checkrein_store::RunRow;
use jiff::Timestamp;

use super::Remote;
use crate::error::CliError;

impl Remote {
    /// A run with everything that happened in it: told by its events, here as there.
    pub fn view(&self, id: &str) -> Result<RunView, CliError> {
        self.wait(async {
            let run: wire::run::Run = self.get_async(&["runs", id], &[]).await?;
            let id = run.run_id.as_str();
            let definition = self.definition(id).await?;
            let mut history = Vec::new();
            let mut after = 0;
            loop {
                let query = [("limit", super::PAGE.to_string()), ("after", after.to_string())];
                let page: Page<Event> = self.get_async(&["runs", id, "events"], &query).await?;
                history.extend(page.items.iter().filter_map(run_event));
                match page.next {
                    Some(next) => after = next,
                    None => break,
                }
            }
            told(id, definition, history)
        })
    }

    pub async fn definition(&self, id: &str) -> Result<Arc<Definition>, CliError> {
        self.get_async(&["runs", id, "definition"], &[]).await.map(Arc::new)
    }

    /// Watches a run until it rests or waits for a person. What happened up to `known` is not shown again, and
    /// what was said at a checkpoint that is answered by now is no new question.
    pub async fn follow(
        &self,
        id: &str,
        known: u64,
        answered: Option<&str>,
        watch: &mut impl Watch,
    ) -> Result<RunView, CliError> {
        let definition = self.definition(id).await?;
        let mut events = self.events(id);
        let mut history: Vec<(u64, Timestamp, RunEvent)> = Vec::new();
        let mut run: Option<Run> = None;
        loop {
            let Some((seq, at, event)) = run_event(&events.next().await?) else { continue };
            match &mut run {
                Some(run) => run.fold(&event, at),
                none => *none = Run::told(RunId::new(id), Arc::clone(&definition), [(event.clone(), at)]),
            }
            let Some(now) = &run else { return Err(unreadable()) };
            if seq > known {
                watch.event(now, seq, at, &event);
            }
            history.push((seq, at, event));
            let rests = !matches!(now.state.status, RunStatus::Created | RunStatus::Running);
            let again = answered.is_some() && waits_at(now).as_deref() == answered;
            if rests && seq > known && !again {
                return view(now.clone(), history);
            }
        }
    }
}

fn run_event(event: &Event) -> Option<(u64, Timestamp, RunEvent)> {
    match event.unsaid()? {
        Said::Run(said) => Some((event.seq, event.at, said)),
        _ => None,
    }
}

fn told(
    id: &str,
    definition: Arc<Definition>,
    history: Vec<(u64, Timestamp, RunEvent)>,
) -> Result<RunView, CliError> {
    let events = history.iter().map(|(_, at, event)| (event.clone(), *at));
    let run = Run::told(RunId::new(id), definition, events).ok_or_else(unreadable)?;
    view(run, history)
}

fn view(run: Run, history: Vec<(u64, Timestamp, RunEvent)>) -> Result<RunView, CliError> {
    let Some((_, _, RunEvent::RunCreated { workflow, target, work_id, definition, rerun_of, .. })) =
        history.first()
    else {
        return Err(unreadable());
    };
    let row = RunRow {
        id: run.id.clone(),
        workflow: workflow.clone(),
        target: target.clone(),
        work_id: work_id.clone(),
        rerun_of: rerun_of.clone(),
        owner: None,
        definition: *definition,
        state: run.state.clone(),
    };
    let checkpoint = waits_at(&run);
    Ok(RunView { row, run, history, checkpoint, epoch: None })
}

/// The checkpoint that a run waits at.
fn waits_at(run: &Run) -> Option<String> {
    let held = run.state.hold.as_ref().filter(|_| run.state.status == RunStatus::Held);
    held.map(|hold| run.id.checkpoint(hold))
}

fn unreadable() -> CliError {
    CliError::failed("what the server tells of the run does not begin with its beginning")
        .hint("is it a Checkrein server of the same version?")
}
