//! One call of a tool: who asks, and what there is to answer from.

use std::sync::Arc;

use checkrein_core::frame::FrameCommand;
use checkrein_core::principal::Principal;
use checkrein_core::run::HoldKind;
use checkrein_engine::{AttemptFiles, Engine, EngineError, OwnAttempt, SessionWanted};
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RequestContext, RoleServer};

use super::Place;
use super::tool::Told;
use crate::error::{Kind, Problem};

/// Who asks, and how they get to what a person has to look at.
#[derive(Clone, Debug)]
pub struct Caller {
    pub by: Principal,
    pub look: Look,
    /// The one attempt it speaks for, where a token says so; then there is nothing else for it.
    pub attempt: Option<OwnAttempt>,
}

/// Where a person looks at what waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// In a terminal on this machine.
    Command,
    /// At this server, whose address it is.
    Server(String),
}

impl Look {
    /// The command or the link for a checkpoint.
    pub fn at(&self, id: &str, kind: &str) -> String {
        match self {
            Look::Command if kind == HoldKind::Review.name() => format!("checkrein review {}", quoted(id)),
            Look::Command => format!("checkrein checkpoint show {}", quoted(id)),
            Look::Server(base) => format!("{base}{}", crate::routes::checkpoint_page(id)),
        }
    }
}

/// The job an attempt is of, if that is the one which is meant.
pub fn own_job<'o>(own: &'o AttemptFiles, named: Option<&str>) -> Result<&'o str, Problem> {
    match named {
        Some(named) if !own.is_of(named) => {
            Err(Problem::from(EngineError::NoRun(named.to_owned())).hint("leave `job` out: it is yours"))
        }
        _ => Ok(own.job()),
    }
}

/// An id as a shell takes it.
fn quoted(id: &str) -> String {
    let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/@".contains(&byte));
    if plain { id.to_owned() } else { format!("'{}'", id.replace('\'', r"'\''")) }
}

pub struct Asking {
    pub place: Arc<Place>,
    pub caller: Caller,
    pub context: RequestContext<RoleServer>,
    pub request: CallToolRequestParams,
}

impl Asking {
    pub fn by(&self) -> &Principal {
        &self.caller.by
    }

    pub fn engine(&self) -> Result<&Arc<Engine>, Problem> {
        let gone = || Problem::new(Kind::Unavailable, "the store is out of reach here");
        self.place.engine.as_ref().ok_or_else(gone)
    }

    /// The attempt that is meant: the one this process is part of, or that of the job which is named.
    pub async fn attempt(&self, job: Option<&str>) -> Result<AttemptFiles, Problem> {
        match (&self.place.attempt, job) {
            (Some(OwnAttempt::Phase(own)), named) => {
                own_job(own, named)?;
                Ok(own.clone())
            }
            (_, Some(job)) => Ok(self.engine()?.attempt_files(self.by(), job).await?),
            (_, None) => Err(Problem::new(Kind::Invalid, "this is not the attempt of a job")
                .hint("name your job with `job`; inside the attempt of a job it is known")),
        }
    }

    /// Asks something of the caller's session of frames.
    pub async fn frames(&self, session: Option<String>, command: FrameCommand) -> Result<Told, Problem> {
        let wanted = SessionWanted { id: session, directory: self.place.directory.clone() };
        let answer = self.engine()?.frames(self.by(), &wanted, &command).await?;
        let failed = |error| Problem::new(Kind::Internal, format!("the answer cannot be written: {error}"));
        let mut value = serde_json::to_value(&answer).map_err(failed)?;
        if let Some(fields) = value.as_object_mut() {
            fields.remove("text");
        }
        Ok(Told::Both(answer.text, value))
    }

    /// Files are waited for on a thread of their own.
    pub async fn with_attempt<T: Send + 'static>(
        &self,
        job: Option<&str>,
        work: impl FnOnce(&AttemptFiles) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, Problem> {
        let attempt = self.attempt(job).await?;
        let working = tokio::task::spawn_blocking(move || work(&attempt));
        match working.await {
            Ok(done) => Ok(done?),
            Err(error) => Err(Problem::new(Kind::Internal, format!("the work broke off: {error}"))),
        }
    }
}
