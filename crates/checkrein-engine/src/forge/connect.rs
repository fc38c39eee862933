//! A connection to the forge of a job, with the account that is used there.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use checkrein_core::config::{ForgeShape, Settings};
use checkrein_core::run::RunId;
use checkrein_core::run::job::ForgeAt;
use checkrein_forge::{Remote, Token};
use reqwest::Client;
use url::{Host, Url};

use super::LookError;
use super::at::{repository_name, shape_of};
use crate::Engine;
use crate::reach::Reach;

/// Whose tokens are used, by address: a token does not change under an engine.
#[derive(Debug, Default)]
pub(crate) struct Accounts(Mutex<HashMap<String, String>>);

/// The forge of a job.
pub(super) struct Connected {
    pub remote: Arc<Remote>,
    pub shape: ForgeShape,
    /// Our own account there: what it does is nobody's verdict (X11).
    pub login: String,
}

const ANSWER_MAX: Duration = Duration::from_secs(20);

impl Engine {
    pub(super) async fn connect(&self, at: &ForgeAt, id: &RunId) -> Result<Connected, LookError> {
        let shape = shape_of(&self.settings, at).map_err(LookError::trouble)?.clone();
        let remote = remote(&self.settings, &shape, &repository_name(at, id)).map_err(LookError::trouble)?;
        let known = || self.accounts.0.lock().unwrap_or_else(PoisonError::into_inner);
        let login = known().get(&at.url).cloned();
        let login = match login {
            Some(login) => login,
            None => {
                let login = remote.account().await?.login;
                known().insert(at.url.clone(), login.clone());
                login
            }
        };
        Ok(Connected { remote: remote.into(), shape, login })
    }
}

/// The forge the settings name, at one of its repositories.
pub(super) fn remote(settings: &Settings, shape: &ForgeShape, repository: &str) -> Result<Remote, String> {
    let url = shape.url().ok_or("the settings name no address of the forge")?;
    let token = token(settings, shape)?;
    let client = client(url)?;
    let remote = Remote::new(shape.kind, url, repository, Token::new(token.trim()), client);
    let remote = remote.ok_or("the forge is this machine alone")?;
    let ca_file = settings.variable("SSL_CERT_FILE").filter(|file| !file.is_empty());
    Ok(remote.with_ca_file(ca_file.map(PathBuf::from)))
}

/// What proves to the forge that we may.
pub(super) fn token(settings: &Settings, shape: &ForgeShape) -> Result<String, String> {
    let name = shape.token_env.as_deref().unwrap_or_default();
    let token = settings.variable(name).filter(|token| !token.trim().is_empty());
    let missing = || format!("the variable `{name}`, which holds the forge's token, is not set");
    token.ok_or_else(missing)
}

/// The token goes to the address that the user named and to no other; without encryption only where nobody
/// listens.
fn client(url: &str) -> Result<Client, String> {
    let parsed = Url::parse(url).map_err(|error| format!("`{url}` is no address: {error}"))?;
    let reach = if parsed.scheme() == "https" { Reach::Anywhere } else { Reach::Near };
    let literal = match parsed.host() {
        Some(Host::Ipv4(address)) => Some(address.into()),
        Some(Host::Ipv6(address)) => Some(address.into()),
        Some(Host::Domain(_)) | None => None,
    };
    if let Some(Err(why)) = literal.map(|address| reach.allows(address)) {
        return Err(format!("the forge at `{url}` is not spoken to: {why}"));
    }
    reach.client(ANSWER_MAX).map_err(|error| format!("no client: {}", error.without_url()))
}
