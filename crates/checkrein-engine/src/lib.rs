//! Where decisions meet I/O. Each thing a person, a program or an agent can do is one method of
//! [`Engine`]; the command line, HTTP and MCP call the same one.

mod agent;
mod agent_dir;
mod authority;
mod checkpoint;
pub mod companion;
mod definition;
mod doctor;
mod error;
mod event;
mod expert;
mod forge;
mod frame;
mod held;
mod inbox;
mod job;
mod lease;
mod named_worker;
mod notification;
mod policy;
pub mod process;
mod reach;
mod request;
mod run;
mod search;
mod secret;
mod session;
mod sight;
mod store;
mod token;
mod webhook;
mod work;
pub mod worker;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use checkrein_core::config::{Settings, Subject};
use checkrein_core::policy::{Policy, Scope};
use checkrein_store::Store;
use jiff::Timestamp;

use companion::Companion;
use forge::Accounts;
use held::Held;
use lease::Leases;
use notification::Senders;
use request::Requests;
use search::Searching;
use secret::{JobSecrets, Secrets};

pub use agent::{ActivityItem, ActivityPage, ModelRequest};
pub use agent_dir::open_regular;
pub use authority::{Act, MATRIX, allowed, least};
pub use checkpoint::{CheckpointView, Judged, Naming, NewCheckpoint, VerdictRequest};

pub use checkrein_agent::{Found as AgentFound, HOST, doctor as agents_found, host};
pub use checkrein_store::OpenChat;
pub use companion::{Asking, ChatOf, ChatPiece, ChatView};
pub use definition::{Defined, DefinitionError, RunRequest, define, not_there, with_agent};
pub use doctor::{Finding, State, examine, examine_server};
pub use error::EngineError;
pub use event::EventsOf;
pub use expert::{ExpertFiles, ExpertRow, FoundExpert, expert_among, find_expert, list_experts};
pub use forge::{ForgeLink, HintError, Looked, examine_forge};
pub use frame::{Client, HookAnswer, SessionWanted, SweptFrames};
pub use inbox::{AskKind, Asks, Waiting};
pub use job::{
    ATTEMPT_PREFIX, AttemptFiles, BranchFile, BranchFiles, BranchesWanted, EDIT_BYTES_MAX, Edit, Edited,
    FileEdit, Found, JobView, NewJob, OwnAttempt, RepositoryWanted, ReviewMaterial, Reviewed, Round, Settled,
    Settlement, Side, Thread, Uncommitted, omissions, threads, uncommitted_experts,
};
pub use lease::{ClaimedRun, Hand, RunWhere, Seat, Stuck, TERM as LEASE_TERM, Workforce, host_name};
pub use named_worker::WorkerView;
pub use policy::Decided;
pub use request::{Begun, Nonce, UnderWay};
pub use run::{
    AttemptOutput, Driver, History, OutputFiles, Rest, RunView, SweptRuns, Watch, edit, git_branch,
    output_name,
};
pub use search::{SearchAnswer, SearchBy, SearchHit, SearchRequest};
pub use secret::Masker;
pub use session::{NewSession, SessionOf};
pub use store::{CopiedStore, Sweep, SweptAll, copy_store, restore_store};
pub use token::{NewToken, PREFIX as TOKEN_PREFIX, Token};
pub use webhook::{NewWebhook, WebhookView, WebhookWithSecret, public_url};
pub use work::{LOOK_EVERY, Shift, WatchWork};

pub struct Engine {
    store: Store,
    settings: Settings,
    /// Workers' policies, resolved when first asked for; settings do not change under an engine.
    worker_policies: Mutex<HashMap<String, Arc<Policy>>>,
    held: Held,
    requests: Requests,
    secrets: Secrets,
    job_secrets_known: JobSecrets,
    senders: Senders,
    accounts: Accounts,
    public_url: Option<String>,
    searching: Searching,
    companion: Companion,
    leases: Leases,
}

/// Names come from outside; so many are remembered.
const WORKER_POLICIES_MAX: usize = 1024;

impl Engine {
    pub fn new(store: Store, settings: Settings) -> Engine {
        Engine {
            leases: Leases::new(store.clone(), &settings, Seat::default()),
            store,
            worker_policies: Mutex::default(),
            held: Held::default(),
            requests: Requests::default(),
            secrets: Secrets::of(&settings),
            job_secrets_known: JobSecrets::default(),
            senders: Senders::default(),
            accounts: Accounts::default(),
            public_url: None,
            searching: Searching::new(&settings),
            companion: Companion::new(&settings),
            settings,
        }
    }

    /// Where people find this Checkrein in a browser: links in notifications begin with it.
    pub fn with_public_url(self, public_url: Option<String>) -> Engine {
        Engine { public_url, ..self }
    }

    /// Who this process is among those that go on with runs.
    pub fn with_seat(self, seat: Seat) -> Engine {
        Engine { leases: Leases::new(self.store.clone(), &self.settings, seat), ..self }
    }

    pub fn public_url(&self) -> Option<&str> {
        self.public_url.as_deref()
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    fn worker_policy(&self, worker: &str) -> Result<Arc<Policy>, EngineError> {
        let known = || self.worker_policies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(policy) = known().get(worker) {
            return Ok(Arc::clone(policy));
        }
        let policy = Arc::new(self.settings.resolve(Scope::Worker, Subject::Worker(worker), &[])?.policy);
        let mut known = known();
        if known.len() >= WORKER_POLICIES_MAX {
            known.clear();
        }
        known.insert(worker.to_owned(), Arc::clone(&policy));
        Ok(policy)
    }

    /// What the clock says; faces have none of their own.
    pub fn now(&self) -> Timestamp {
        now()
    }
}

/// The one place that looks at the clock.
pub fn now() -> Timestamp {
    // The store keeps milliseconds; what is answered is what will be read again.
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}
