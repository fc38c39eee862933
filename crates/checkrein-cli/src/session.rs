//! An open store, and who is at the keyboard.

use std::future::Future;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use checkrein_core::config::{Settings, env};
use checkrein_core::document::Problems;
use checkrein_core::principal::{Principal, PrincipalKind, Role};
use checkrein_engine::{Engine, EngineError, RunView};
use checkrein_server::wire::page::Page;
use checkrein_server::wire::run::RunItem;
use checkrein_store::{PostgresAddress, RunFilter, Store, StoreAddress, StoreError};
use jiff::Timestamp;

use crate::error::{CliError, note};
use crate::remote::Remote;
use crate::settings::{Places, ProjectPlace};

/// The options of every command that needs the store.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StorePlace {
    /// The store, a file or postgres://USER@HOST/DATABASE [default: $CHECKREIN_STORE, the one in the nearest .checkrein/ upwards, `store` in the user's settings, the user's data directory]
    #[arg(long, value_name = "STORE")]
    store: Option<PathBuf>,

    #[command(flatten)]
    places: Places,
}

/// The options of every command that a server can do as well.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DeskPlace {
    #[command(flatten)]
    here: StorePlace,

    /// Ask this server instead of a store, with the token in $CHECKREIN_TOKEN [default: $CHECKREIN_SERVER]
    #[arg(long, value_name = "URL", conflicts_with = "store")]
    server: Option<String>,
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

impl DeskPlace {
    /// The server that was named, or the store.
    pub fn desk(&self) -> Result<Desk, CliError> {
        match self.remote()? {
            Some(remote) => Ok(Desk::There(Box::new(remote))),
            None => Ok(Desk::Here(Box::new(self.here.open()?))),
        }
    }

    /// The same for commands that change nothing.
    pub fn desk_to_read(&self) -> Result<Desk, CliError> {
        match self.remote()? {
            Some(remote) => Ok(Desk::There(Box::new(remote))),
            None => Ok(Desk::Here(Box::new(self.here.open_to_read()?))),
        }
    }

    /// The same for commands that may record something, but make no store for it.
    pub fn desk_if_there(&self) -> Result<Desk, CliError> {
        match self.remote()? {
            Some(remote) => Ok(Desk::There(Box::new(remote))),
            None => Ok(Desk::Here(Box::new(self.here.open_if_there()?))),
        }
    }

    /// The server that was named; a store that was named is nearer than one in the environment.
    pub fn remote(&self) -> Result<Option<Remote>, CliError> {
        let set = || std::env::var(env::SERVER).ok().filter(|url| !url.trim().is_empty());
        let named = self.server.clone().or_else(|| if self.here.store.is_some() { None } else { set() });
        named.map(|url| Remote::at(&url)).transpose()
    }

    /// The store, for what only a store can do.
    pub const fn here(&self) -> &StorePlace {
        &self.here
    }
}

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
    pub fn open(&self) -> Result<Session, CliError> {
        self.open_with(self.places.load()?)
    }

    /// With settings that were read before.
    pub fn open_with(&self, settings: Settings) -> Result<Session, CliError> {
        let address = self.address_with(&settings)?;
        let session = open_by(Store::open_at, &address, settings)?;
        if let StoreAddress::Sqlite(path) = &address {
            ignore_beside(path);
        }
        Ok(session)
    }

    /// The store alone, if it is there or `make` says that it is to be made.
    pub fn engine_if(&self, make: bool) -> Result<Option<Engine>, CliError> {
        let settings = self.places.load_quietly()?.0;
        let address = self.address_with(&settings)?;
        if !make && missing(&address, &settings).is_some() {
            return Ok(None);
        }
        let store = Store::open_at(&address, &files_root()?)?;
        if let StoreAddress::Sqlite(path) = &address {
            ignore_beside(path);
        }
        Ok(Some(Engine::new(store, settings)))
    }

    /// For commands that change nothing: they work where the store cannot be written, too, and where there is none.
    pub fn open_to_read(&self) -> Result<Session, CliError> {
        self.open_there_or_not(Store::open_at_to_read)
    }

    /// For commands that may record something, but make no store for it.
    pub fn open_if_there(&self) -> Result<Session, CliError> {
        self.open_there_or_not(Store::open_existing_at)
    }

    /// For commands that have nothing to do without a store.
    pub fn open_existing(&self) -> Result<Session, CliError> {
        self.open_only_there(Store::open_at)
    }

    /// The same for those that change nothing.
    pub fn open_existing_to_read(&self) -> Result<Session, CliError> {
        self.open_only_there(Store::open_at_to_read)
    }

    fn open_only_there(&self, open: OpenStore) -> Result<Session, CliError> {
        let settings = self.places.load()?;
        let address = self.address_with(&settings)?;
        if let Some((message, hint)) = missing(&address, &settings) {
            return Err(CliError::usage(message)
                .hint(hint.unwrap_or_else(|| "name one with `--store STORE`".to_owned())));
        }
        open_by(open, &address, settings)
    }

    fn open_there_or_not(&self, open: OpenStore) -> Result<Session, CliError> {
        let settings = self.places.load()?;
        let address = self.address_with(&settings)?;
        // Nobody has to have a store; one that was named, or is elsewhere, was meant.
        if let Some((message, hint)) = missing(&address, &settings) {
            match hint {
                Some(hint) => note(format_args!("{message}\n  hint: {hint}")),
                None if self.is_named() => note(message),
                None => {}
            }
        }
        open_by(open, &address, settings)
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

    /// Where the project's settings are.
    pub const fn project(&self) -> &ProjectPlace {
        self.places.project()
    }

    /// Whether the command itself says which store is meant.
    pub fn is_given(&self) -> bool {
        self.store.is_some()
    }

    /// Whether somebody said which store is meant.
    pub fn is_named(&self) -> bool {
        self.store.is_some() || std::env::var_os(env::STORE).is_some_and(|store| !store.is_empty())
    }

    /// Where the store is, whether or not it is there yet.
    pub fn address(&self) -> Result<StoreAddress, CliError> {
        // Broken settings do not keep anybody from a store that was named.
        if let Some(given) = self.store.clone().or_else(|| set(env::STORE)) {
            return address_of(&given);
        }
        self.address_with(&self.places.load_quietly()?.0)
    }

    /// The file it is; a store on a server is none.
    pub fn path(&self) -> Result<PathBuf, CliError> {
        match self.address()? {
            StoreAddress::Sqlite(path) => Ok(path),
            StoreAddress::Postgres(address) => {
                let found = address.to_string();
                Err(StoreError::OtherBackend { wanted: "a store in a file", found }.into())
            }
        }
    }

    fn address_with(&self, settings: &Settings) -> Result<StoreAddress, CliError> {
        if let Some(given) = self.store.clone().or_else(|| set(env::STORE)) {
            return address_of(&given);
        }
        let here = std::env::current_dir()
            .map_err(|error| CliError::failed(format!("no current directory: {error}")))?;
        let near = here.ancestors().map(|directory| directory.join(".checkrein"));
        if let Some(directory) = near.into_iter().find(|directory| holds_store(directory)) {
            return Ok(StoreAddress::Sqlite(directory.join(FILE_NAME)));
        }
        if let Some(named) = settings.store() {
            return address_of(Path::new(named));
        }
        Ok(StoreAddress::Sqlite(data_directory()?.join(FILE_NAME)))
    }
}

type OpenStore = fn(&StoreAddress, &Path) -> Result<Store, StoreError>;

fn open_by(open: OpenStore, address: &StoreAddress, settings: Settings) -> Result<Session, CliError> {
    let store = open(address, &files_root()?)?;
    Ok(Session { engine: Engine::new(store, settings), runtime: runtime()? })
}

/// What is said about a store that is not there, and which one nearby is.
fn missing(address: &StoreAddress, settings: &Settings) -> Option<(String, Option<String>)> {
    let StoreAddress::Sqlite(path) = address else { return None };
    if path.exists() || path.is_symlink() {
        return None;
    }
    let message = format!("there is no store at `{}`", path.display());
    let near = std::env::current_dir().ok().into_iter().flat_map(|here| {
        here.ancestors().map(|directory| directory.join(".checkrein").join(FILE_NAME)).collect::<Vec<_>>()
    });
    let named = settings.store().filter(|store| !store.contains("://")).map(PathBuf::from);
    let own = data_directory().ok().map(|directory| directory.join(FILE_NAME));
    let other = near.chain(named).chain(own).find(|other| other.is_file());
    let hint = other.map(|other| format!("there is one at `{0}`: `--store {0}`", other.display()));
    Some((message, hint))
}

fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// What somebody wrote: an address, a file, or the directory of one.
pub fn address_of(given: &Path) -> Result<StoreAddress, CliError> {
    // A file may have a name that is no text; an address is one.
    let address = match given.to_str() {
        Some(text) => StoreAddress::parse(text)?,
        None => StoreAddress::Sqlite(given.to_owned()),
    };
    Ok(match address {
        // A path that ends with a slash is a directory, also before it is there.
        StoreAddress::Sqlite(path)
            if path.is_dir() || given.as_os_str().as_encoded_bytes().ends_with(b"/") =>
        {
            StoreAddress::Sqlite(path.join(FILE_NAME))
        }
        StoreAddress::Postgres(address) if !address.has_password() => {
            let password = password_for(&address);
            StoreAddress::Postgres(Box::new(address.or_password(password)))
        }
        other => other,
    })
}

/// As PostgreSQL's own programs find it.
fn password_for(address: &PostgresAddress) -> Option<String> {
    if let Ok(password) = std::env::var(env::PGPASSWORD) {
        return Some(password).filter(|password| !password.is_empty());
    }
    let file = set(env::PGPASSFILE).or_else(|| set("HOME").map(|home| home.join(".pgpass")))?;
    let (host, port, database, user) = address.parts();
    let wanted = [host, port.to_string(), database, user];
    std::fs::read_to_string(file).ok()?.lines().find_map(|line| {
        let fields = fields_of(line);
        let (password, named) = fields.split_last().filter(|(_, named)| named.len() == wanted.len())?;
        let fits = named.iter().zip(&wanted).all(|(named, wanted)| named == "*" || named == wanted);
        fits.then(|| password.clone())
    })
}

/// The fields of a line of `.pgpass`; a backslash takes a colon for what it is.
fn fields_of(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '#' if fields.len() == 1 && fields.iter().all(String::is_empty) => return Vec::new(),
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => {
                fields.iter_mut().next_back().into_iter().for_each(|field| field.extend(characters.next()))
            }
            other => fields.iter_mut().next_back().into_iter().for_each(|field| field.push(other)),
        }
    }
    fields
}

/// Where this machine keeps the files of runs whose store is on a server.
pub fn files_root() -> Result<PathBuf, CliError> {
    match set(env::FILES) {
        Some(given) => std::path::absolute(&given)
            .map_err(|error| CliError::usage(format!("`{}` cannot be used: {error}", given.display()))),
        // Where there is none, a store in a file needs none.
        None => Ok(data_directory().unwrap_or_else(|_| std::env::temp_dir())),
    }
}

fn data_directory() -> Result<PathBuf, CliError> {
    let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
    data.map(|data| data.join("checkrein")).ok_or_else(|| {
        CliError::usage("there is no place for the store").hint("name one with `--store FILE`, or set HOME")
    })
}

/// Whether a `.checkrein/` is a place for a store: it has one, was made for one, or is empty. One that has only
/// experts or a job's own files belongs to the repository, and what is written there may be committed.
fn holds_store(directory: &Path) -> bool {
    let made_for_one = || [FILE_NAME, ".gitignore"].iter().any(|name| directory.join(name).exists());
    let empty = || std::fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none());
    directory.is_dir() && (made_for_one() || empty())
}

/// What lies beside a store in a repository is nobody's to commit.
fn ignore_beside(store: &Path) {
    let Some(directory) = store.parent().filter(|directory| directory.ends_with(".checkrein")) else {
        return;
    };
    // Where it cannot be written, the store cannot either, and says so.
    if let Ok(mut file) = std::fs::File::create_new(directory.join(".gitignore")) {
        let _ = file.write_all(GITIGNORE.as_bytes());
    }
}

/// For git: what Checkrein keeps in a directory of a project.
pub const GITIGNORE: &str = include_str!("commands/init/gitignore");

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

    /// Whoever speaks through a client: an agent, unless a token says otherwise.
    pub fn agent(&self) -> Result<Principal, CliError> {
        Ok(self.wait(self.by_token())?.unwrap_or_else(|| local(Role::Agent)))
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

    /// Whoever takes back what they asked. That takes what asking took: a program without a token may, for what was asked
    /// in this person's name; what runs inside an attempt may not.
    pub fn asker(&self) -> Result<Principal, CliError> {
        outside_attempt("a checkpoint cannot be withdrawn")?;
        if let Some(principal) = self.wait(self.by_token())? {
            return Ok(principal);
        }
        Ok(local(if std::io::stdin().is_terminal() { Role::Admin } else { Role::Reviewer }))
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
pub fn local(role: Role) -> Principal {
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
