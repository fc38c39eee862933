//! An open store, and who is at the keyboard.

use std::future::Future;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use checkrein_core::config::{Settings, env};
use checkrein_core::document::Problems;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, EngineError, RunView};
use checkrein_server::wire::page::Page;
use checkrein_server::wire::run::RunItem;
use checkrein_store::{RunFilter, Store, StoreError};
use jiff::Timestamp;

use crate::error::CliError;
use crate::files;
use crate::remote::Remote;
use crate::settings::Places;

/// The options of every command that needs the store.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StorePlace {
    /// The store [default: $CHECKREIN_STORE, the nearest .checkrein/ upwards, the user's data directory]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,

    #[command(flatten)]
    server: ServerPlace,

    #[command(flatten)]
    places: Places,
}

/// A server that is asked instead.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServerPlace {
    /// Ask this server instead of a store of one's own, with the token in $CHECKREIN_TOKEN [default: $CHECKREIN_SERVER]
    #[arg(long, value_name = "URL", conflicts_with = "store")]
    server: Option<String>,
}

impl ServerPlace {
    pub fn remote(&self) -> Result<Option<Remote>, CliError> {
        self.url().map(|url| Remote::at(&url)).transpose()
    }

    fn url(&self) -> Option<String> {
        let set = || std::env::var(env::SERVER).ok().filter(|url| !url.trim().is_empty());
        self.server.clone().or_else(set)
    }
}

/// Where a command is done: on a store, or by a server.
pub enum Desk {
    Here(Box<Session>),
    There(Box<Remote>),
}

pub struct Session {
    pub engine: Engine,
    runtime: tokio::runtime::Runtime,
}

const FILE_NAME: &str = "store.db";

impl Desk {
    /// A run with everything that happened in it.
    pub fn view(&self, run: &str) -> Result<RunView, CliError> {
        match self {
            Desk::Here(session) => {
                let who = session.principal()?;
                Ok(session.wait(session.engine.run(&who, run))?)
            }
            Desk::There(remote) => remote.view(run),
        }
    }

    /// Runs, the newest first.
    pub fn runs(
        &self,
        filter: &RunFilter,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<RunItem>, CliError> {
        match self {
            Desk::Here(session) => {
                let who = session.principal()?;
                let page = session.wait(session.engine.runs(&who, filter, before, limit))?;
                Ok(Page::of(page, |stored| RunItem::from(&stored)))
            }
            Desk::There(remote) => {
                let wanted = [
                    ("status", filter.status.map(|status| status.name().to_owned())),
                    ("workflow", filter.workflow.clone()),
                    ("before", before.map(|before| before.to_string())),
                ];
                let query: Vec<(&str, String)> =
                    wanted.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
                remote.list(&["runs"], &query, "before", limit)
            }
        }
    }

    pub fn now(&self) -> Timestamp {
        match self {
            Desk::Here(session) => session.engine.now(),
            Desk::There(_) => checkrein_engine::now(),
        }
    }
}

impl StorePlace {
    /// The server that was named, or the store.
    pub fn desk(&self) -> Result<Desk, CliError> {
        match self.remote()? {
            Some(remote) => Ok(Desk::There(Box::new(remote))),
            None => Ok(Desk::Here(Box::new(self.open()?))),
        }
    }

    /// The same for commands that change nothing.
    pub fn desk_to_read(&self) -> Result<Desk, CliError> {
        match self.remote()? {
            Some(remote) => Ok(Desk::There(Box::new(remote))),
            None => Ok(Desk::Here(Box::new(self.open_to_read()?))),
        }
    }

    /// The server that was named; a store that was named is nearer than one in the environment.
    pub fn remote(&self) -> Result<Option<Remote>, CliError> {
        if self.store.is_some() { Ok(None) } else { self.server.remote() }
    }

    pub fn open(&self) -> Result<Session, CliError> {
        self.open_by(Store::open, self.places.load()?)
    }

    /// With settings that were read before.
    pub fn open_with(&self, settings: Settings) -> Result<Session, CliError> {
        self.open_by(Store::open, settings)
    }

    /// For commands that change nothing: they work where the store cannot be written, too.
    pub fn open_to_read(&self) -> Result<Session, CliError> {
        self.open_by(Store::open_to_read, self.places.load()?)
    }

    fn open_by(
        &self,
        open: fn(&Path) -> Result<Store, StoreError>,
        settings: Settings,
    ) -> Result<Session, CliError> {
        if self.store.is_none() && self.server.url().is_some() {
            return Err(CliError::usage("this is done on a store, and a server is named").hint(format!(
                "name the store with `--store FILE`, or leave `--server` and {} out",
                env::SERVER
            )));
        }
        let store = open(&self.path()?)?;
        Ok(Session { engine: Engine::new(store, settings), runtime: runtime()? })
    }

    /// Whoever looks after a store that may not open. A token is believed only by a store that does.
    pub fn keeper(&self) -> Result<Principal, CliError> {
        let token = std::env::var_os(env::TOKEN).is_some_and(|token| !token.is_empty());
        if token { self.open()?.principal() } else { Ok(local(Role::Admin)) }
    }

    /// The settings that apply, and what is odd about them.
    pub fn settings(&self) -> Result<(Settings, Problems), CliError> {
        self.places.load_quietly()
    }

    /// Whether the project's settings were named.
    pub fn names_settings(&self) -> bool {
        self.places.names_settings()
    }

    /// Where the store is, whether or not it is there yet.
    pub fn path(&self) -> Result<PathBuf, CliError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(given) = self.store.clone().or_else(|| set(env::STORE)) {
            let text = given.to_string_lossy();
            let path = text.strip_prefix("sqlite:").map_or_else(|| given.clone(), PathBuf::from);
            return Ok(if path.is_dir() { path.join(FILE_NAME) } else { path });
        }
        let here = std::env::current_dir()
            .map_err(|error| CliError::failed(format!("no current directory: {error}")))?;
        if let Some(directory) = files::nearest(&here, ".checkrein") {
            return Ok(directory.join(FILE_NAME));
        }
        let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
        data.map(|data| data.join("checkrein").join(FILE_NAME)).ok_or_else(|| {
            CliError::usage("there is no place for the store")
                .hint("name one with `--store FILE`, or set HOME")
        })
    }
}

pub fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CliError::failed(format!("no runtime: {error}")))
}

impl Session {
    /// The engine alone, for whoever has a runtime of their own.
    pub fn into_engine(self) -> Engine {
        self.engine
    }

    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Whoever runs this command, for everything but a verdict.
    pub fn principal(&self) -> Result<Principal, CliError> {
        self.wait(self.principal_async())
    }

    /// The same where something is waited for already.
    pub async fn principal_async(&self) -> Result<Principal, CliError> {
        if let Some(principal) = self.by_token().await? {
            return Ok(principal);
        }
        let role = if inside_attempt() { Role::Agent } else { Role::Admin };
        Ok(local(role))
    }

    /// Whoever makes tokens. Where there are administrators, one of them or a person at a terminal;
    /// before that, whoever set the store up.
    pub fn manager(&self) -> Result<Principal, CliError> {
        let who = self.principal()?;
        let anonymous = std::env::var_os(env::TOKEN).is_none_or(|token| token.is_empty());
        if anonymous && !std::io::stdin().is_terminal() && self.wait(self.engine.has_administrator())? {
            return Err(CliError::failed("without a terminal this takes an administrator's token")
                .hint(format!("a person does it in a terminal, or sets {}", env::TOKEN)));
        }
        Ok(who)
    }

    /// Whoever gives a verdict. A person at a terminal may; a program needs a reviewer's token; what
    /// runs inside an agent's attempt never may, whatever it holds.
    pub fn judge(&self) -> Result<Principal, CliError> {
        self.wait(self.judge_async())
    }

    /// The same where something is waited for already.
    pub async fn judge_async(&self) -> Result<Principal, CliError> {
        outside_attempt("a verdict cannot be given")?;
        if let Some(principal) = self.by_token().await? {
            return Ok(principal);
        }
        if std::io::stdin().is_terminal() {
            return Ok(local(Role::Admin));
        }
        Err(CliError::failed("without a terminal a verdict needs a reviewer's credential")
            .hint(format!("a person gives it in a terminal, or as {} to a program of theirs", env::TOKEN)))
    }

    async fn by_token(&self) -> Result<Option<Principal>, CliError> {
        // A token that is no text is a wrong one, not none.
        let secret = std::env::var_os(env::TOKEN).map(|secret| secret.to_string_lossy().into_owned());
        match secret.filter(|secret| !secret.trim().is_empty()) {
            Some(secret) => {
                let principal = self.engine.authenticate(&secret).await;
                principal.map(Some).map_err(|error: EngineError| error.into())
            }
            None => Ok(None),
        }
    }
}

/// The person this machine knows, or a program on their behalf.
fn local(role: Role) -> Principal {
    let kind = match role {
        Role::Agent => PrincipalKind::Agent,
        _ if std::io::stdin().is_terminal() => PrincipalKind::Person,
        _ => PrincipalKind::Program,
    };
    Principal::new(local_name(), kind, role)
}

/// What this machine calls whoever runs this.
pub fn local_name() -> String {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let name = set("USER").or_else(|| set("LOGNAME"));
    name.unwrap_or_else(|| format!("uid-{}", rustix::process::getuid().as_raw()))
}

/// Refuses what could take away or bring verdicts from inside an attempt, whatever it holds.
pub fn outside_attempt(what: &str) -> Result<(), CliError> {
    if inside_attempt() {
        return Err(CliError::failed(format!("{what} from inside an agent's attempt"))
            .hint("do it from a terminal of your own"));
    }
    Ok(())
}

/// Checkrein tells every attempt what it is; a process that was told is inside one, and so is one that
/// forgot it and still has a supervisor above it.
pub fn inside_attempt() -> bool {
    env::FOR_AGENTS.iter().any(|name| std::env::var_os(name).is_some())
        || checkrein_engine::process::is_supervised()
}
