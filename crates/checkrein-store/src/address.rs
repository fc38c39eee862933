//! Where a store is.

use std::fmt;
use std::path::PathBuf;

use checkrein_core::document::closest;

use crate::{PostgresAddress, StoreError};

/// A file, or a database of a server. Never shows a password.
#[derive(Clone, Debug, PartialEq)]
pub enum StoreAddress {
    Sqlite(PathBuf),
    Postgres(Box<PostgresAddress>),
}

impl StoreAddress {
    /// `postgres://…`, `sqlite:FILE` or `FILE`.
    pub fn parse(text: &str) -> Result<StoreAddress, StoreError> {
        if PostgresAddress::is_one(text) {
            return Ok(StoreAddress::Postgres(Box::new(PostgresAddress::parse(text)?)));
        }
        if let Some(file) = text.strip_prefix("sqlite:") {
            return match file.starts_with("//") && !file.starts_with("///") {
                true => Err(StoreError::Address { reason: "a file is written `sqlite:FILE`".to_owned() }),
                false => Ok(StoreAddress::Sqlite(file.into())),
            };
        }
        match foreign_scheme(text) {
            Some(reason) => Err(StoreError::Address { reason }),
            None => Ok(StoreAddress::Sqlite(text.into())),
        }
    }
}

/// What is wrong with an address of a kind nobody here knows. Taken for a file, verdicts would be kept where nobody
/// looks for them.
fn foreign_scheme(text: &str) -> Option<String> {
    const KNOWN: [&str; 3] = ["postgres", "postgresql", "sqlite"];
    let (scheme, rest) = text.split_once(':')?;
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(letters);
    match closest(scheme, KNOWN).filter(|_| is_scheme) {
        Some(near) => {
            let slashes = if near == "sqlite" { "" } else { "//" };
            Some(format!("`{scheme}:` is no kind of store; did you mean `{near}:{slashes}`?"))
        }
        None if is_scheme && rest.starts_with("//") => Some(format!("`{scheme}://` is no kind of store")),
        None => None,
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreAddress::Sqlite(path) => write!(f, "{}", path.display()),
            StoreAddress::Postgres(address) => write!(f, "{address}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_not_taken_for_one() {
        for file in ["a.db", "/x/a.db", "a:b.db", "./mysql://x", "sqlite:a.db", "sqlite:///x/a.db", "C:/x.db"]
        {
            assert!(matches!(StoreAddress::parse(file), Ok(StoreAddress::Sqlite(_))), "{file}");
        }
        for (text, expected) in [
            ("postgress://a:secret@b/c", "`postgress:` is no kind of store; did you mean `postgres://`?"),
            ("Postgres://a@b/c", "`Postgres:` is no kind of store; did you mean `postgres://`?"),
            ("postgres:a@b/c", "`postgres:` is no kind of store; did you mean `postgres://`?"),
            ("sqlit:a.db", "`sqlit:` is no kind of store; did you mean `sqlite:`?"),
            ("mysql://a:secret@b/c", "`mysql://` is no kind of store"),
            ("https://b/c", "`https://` is no kind of store"),
            ("sqlite://a.db", "a file is written `sqlite:FILE`"),
        ] {
            let error = StoreAddress::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("secret"), "{text}: {error}");
        }
    }
}
