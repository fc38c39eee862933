//! Where a store on PostgreSQL is, and how safely it is spoken to.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::StoreError;

/// The address of a store on PostgreSQL. Never shows its password.
#[derive(Clone)]
pub struct PostgresAddress {
    pub(super) config: Config,
    pub(super) tls: Tls,
}

/// What is asked of the encryption, in libpq's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tls {
    pub mode: TlsMode,
    /// Who signs the server's certificate; those this machine trusts where none is named.
    pub root: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    Disable,
    /// Encrypted if the server can.
    Prefer,
    /// Encrypted, whoever the server is.
    Require,
    /// Signed by somebody who is trusted.
    VerifyCa,
    /// And made for this host.
    VerifyFull,
}

/// How long one try to connect may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// A server that is silent for so long is gone.
const SILENCE_MAX: Duration = Duration::from_secs(10);

impl PostgresAddress {
    /// `postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…`, as libpq takes it.
    pub fn parse(text: &str) -> Result<PostgresAddress, StoreError> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut tls = Tls { mode: TlsMode::Prefer, root: None };
        let mut rest: Vec<&str> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => tls.mode = TlsMode::parse(mode)?,
                Some(("sslrootcert", "system")) => tls.root = None,
                Some(("sslrootcert", file)) => tls.root = Some(decoded(file).into()),
                Some((name @ ("sslcert" | "sslkey"), _)) => {
                    return Err(StoreError::Address {
                        reason: format!("`{name}` is not known; sign in with a password"),
                    });
                }
                _ => rest.push(pair),
            }
        }
        let bare = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        let mut config: Config = bare.parse().map_err(|error: tokio_postgres::Error| {
            // Its own words do not repeat what was given.
            let why =
                std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            StoreError::Address { reason: why }
        })?;
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_MAX);
        }
        config.keepalives_idle(SILENCE_MAX / 2).keepalives_interval(SILENCE_MAX / 4).keepalives_retries(2);
        config.tcp_user_timeout(SILENCE_MAX);
        if config.get_application_name().is_none() {
            config.application_name("checkrein");
        }
        config.ssl_mode(match tls.mode {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        });
        Ok(PostgresAddress { config, tls })
    }

    /// Whether a text is meant as one.
    pub fn is_one(text: &str) -> bool {
        ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
    }

    pub fn has_password(&self) -> bool {
        self.config.get_password().is_some()
    }

    /// Uses this password if none is in the address.
    pub fn or_password(mut self, password: Option<String>) -> PostgresAddress {
        if self.config.get_password().is_none()
            && let Some(password) = password
        {
            self.config.password(password);
        }
        self
    }

    /// Host, port, database and user, for whoever looks for a password.
    pub fn parts(&self) -> (String, u16, String, String) {
        let host = self.config.get_hosts().first().map_or_else(String::new, shown);
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let user = self.config.get_user().unwrap_or_default().to_owned();
        let database = self.config.get_dbname().unwrap_or(&user).to_owned();
        (host, port, database, user)
    }
}

impl TlsMode {
    fn parse(text: &str) -> Result<TlsMode, StoreError> {
        Ok(match text {
            "disable" => TlsMode::Disable,
            "prefer" | "allow" => TlsMode::Prefer,
            "require" => TlsMode::Require,
            "verify-ca" => TlsMode::VerifyCa,
            "verify-full" => TlsMode::VerifyFull,
            other => {
                let known = "disable, prefer, require, verify-ca, verify-full";
                return Err(StoreError::Address { reason: format!("sslmode `{other}` is none of {known}") });
            }
        })
    }
}

fn shown(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        #[cfg(unix)]
        Host::Unix(path) => path.display().to_string(),
    }
}

/// `%2F` is a slash.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Without the password, and without what could hold one.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port, database, user) = self.parts();
        let user = if user.is_empty() { user } else { format!("{user}@") };
        if host.starts_with('/') {
            return write!(f, "postgres://{user}/{database}?host={host}&port={port}");
        }
        write!(f, "postgres://{user}{host}:{port}/{database}")
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl PartialEq for PostgresAddress {
    fn eq(&self, other: &PostgresAddress) -> bool {
        self.config == other.config && self.tls == other.tls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            ("postgres://ann:secret@db:6000/reins", "postgres://ann@db:6000/reins"),
            ("postgresql://ann:secret@db/reins?sslmode=require", "postgres://ann@db:5432/reins"),
            ("postgres://ann@db/reins?password=secret", "postgres://ann@db:5432/reins"),
            (
                "postgres:///reins?host=/run/pg&user=ann&password=secret",
                "postgres://ann@/reins?host=/run/pg&port=5432",
            ),
        ] {
            let address = PostgresAddress::parse(text).unwrap();
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("secret"));
            assert_eq!(address.config.get_password(), text.contains("secret").then_some(&b"secret"[..]));
        }
    }

    #[test]
    fn what_is_wrong_with_an_address_is_said_without_its_password() {
        for (text, reason) in [
            ("postgres://ann:secret@db/reins?sslmode=sometimes", "sslmode `sometimes`"),
            ("postgres://ann:secret@db:port/reins", "invalid"),
            ("postgres://ann:secret@db/reins?sslcert=a", "`sslcert` is not known"),
            ("postgres://ann:secret@db/reins?colour=red", "colour"),
        ] {
            let error = PostgresAddress::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn the_encryption_is_what_was_asked_for() {
        let of = |query: &str| PostgresAddress::parse(&format!("postgres://db/reins{query}")).unwrap().tls;
        assert_eq!(of(""), Tls { mode: TlsMode::Prefer, root: None });
        assert_eq!(of("?sslmode=disable").mode, TlsMode::Disable);
        let full = of("?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem&application_name=x");
        assert_eq!(full, Tls { mode: TlsMode::VerifyFull, root: Some("/etc/ca.pem".into()) });
    }
}
