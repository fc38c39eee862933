//! What a person says to a job while its agent works.

use checkrein_agent::PersonMessage;
use checkrein_core::principal::Principal;
use checkrein_core::run::job::{Author, Comment, NewComment};
use checkrein_core::run::{Command, RunId, State};
use checkrein_store::Store;

use crate::agent_dir::AgentFile;
use crate::authority::{Act, require};
use crate::{Engine, EngineError, RunView};

impl Engine {
    /// Says something to the agent of a job: it hears it at its next turn if it works, else in its next brief.
    pub async fn send_message(
        &self,
        by: &Principal,
        id: &str,
        text: &str,
    ) -> Result<(RunView, Comment), EngineError> {
        require(by, Act::Comment)?;
        if text.trim().is_empty() {
            return Err(EngineError::Empty("text"));
        }
        let id = self.seen_run(by, id).await?;
        self.tell_agent(by, id, NewComment { text: text.to_owned(), ..NewComment::default() }).await
    }

    /// The same, of somebody who may.
    pub(crate) async fn tell_agent(
        &self,
        by: &Principal,
        id: RunId,
        comment: NewComment,
    ) -> Result<(RunView, Comment), EngineError> {
        loop {
            let mut view = self.load_run(&id).await?;
            let comment = comment.clone();
            let command = Command::Comment { comment, by: by.name.clone(), author: Author::Person };
            match self.apply(&mut view, command).await {
                Ok(_) => {
                    let said = view.run.state.job.as_ref().and_then(|job| job.comments.last().cloned());
                    return said.map(|said| (view, said)).ok_or(EngineError::NotAJob(id));
                }
                Err(EngineError::RunMoved) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Puts what people say where the agent of an attempt finds it, for as long as it is polled.
pub(crate) async fn deliver(store: Store, id: RunId, start: u64, file: AgentFile) {
    let mut known = 0;
    let changes = store.changes();
    let Ok(mut changes) = changes else { return std::future::pending::<()>().await };
    loop {
        changes.borrow_and_update();
        if let Ok(Some(stored)) = store.run(id.as_str()).await {
            let new = said_since(&stored.run.state, start);
            if new.len() != known && write(&file, &new).is_ok() {
                known = new.len();
            }
        }
        if changes.changed().await.is_err() {
            return std::future::pending::<()>().await;
        }
    }
}

/// What was said after the attempt had its brief.
fn said_since(state: &State, start: u64) -> Vec<PersonMessage> {
    let Some(job) = &state.job else { return Vec::new() };
    let new = job.comments.iter().filter(|comment| comment.waits() && comment.given != Some(start));
    let message = |comment: &Comment| PersonMessage {
        id: comment.id.clone(),
        by: comment.by.clone(),
        text: comment.text.clone(),
    };
    new.map(message).collect()
}

fn write(file: &AgentFile, messages: &[PersonMessage]) -> std::io::Result<()> {
    file.replace(&serde_json::to_vec(messages)?)
}
