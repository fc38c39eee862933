//! What a job was started with.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ForgeAt;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobDefinition {
    /// What is to be done, in a person's words.
    pub description: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expert: Option<String>,
    /// What the expert says to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    pub repository: Repository,
    /// Names of files that were handed over; they are among the job's own files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub documents: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datasources: Vec<Datasource>,
    /// A person's own plan, instead of what the first strategic phase would have made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    #[serde(default)]
    pub merge: Merge,
    #[serde(default)]
    pub isolation: Isolation,
    /// Wall time of one attempt.
    #[serde(default, with = "crate::duration::text", skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Time without output.
    #[serde(default, with = "crate::duration::text", skip_serializing_if = "Option::is_none")]
    pub idle_timeout: Option<Duration>,
    /// What an attempt's clone may grow to.
    pub disk_bytes: u64,
    /// Variables that are handed to the agent beside the ones every program needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Where people review it as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<ForgeAt>,
}

/// What the job works on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repository {
    /// One made for it.
    Own,
    /// One that was there. Its working tree and the branches in it are a person's.
    Existing {
        directory: String,
        /// The branch that was checked out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
        commit: String,
    },
}

impl Repository {
    /// Where the job keeps its own files in a branch (X12).
    pub const fn artefacts(&self) -> &'static str {
        match self {
            Repository::Own => "",
            Repository::Existing { .. } => ".checkrein/job/",
        }
    }

    /// A file of the job's own.
    pub fn artefact(&self, name: &str) -> String {
        format!("{}{name}", self.artefacts())
    }
}

/// Something the agent may read from. Its address may hold a password, and is kept elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datasource {
    pub name: String,
    /// The variable the agent finds its address in.
    pub variable: String,
    /// The address without what is secret in it.
    pub shown: String,
}

impl Datasource {
    /// The variable of a name: `orders-db` is `CHECKREIN_DATASOURCE_ORDERS_DB`.
    pub fn variable(name: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        format!("CHECKREIN_DATASOURCE_{}", name.chars().map(plain).collect::<String>())
    }

    /// An address as it may be shown: no password, and no value of a parameter that is one.
    pub fn shown(address: &str) -> String {
        let (plain, query) = address.split_once('?').map_or((address, None), |(a, q)| (a, Some(q)));
        let shown = match plain.split_once("://") {
            Some((scheme, rest)) => match rest.rsplit_once('@') {
                Some((who, place)) => {
                    let user = who.split(':').next().unwrap_or_default();
                    let secret = if who.contains(':') { ":***" } else { "" };
                    format!("{scheme}://{user}{secret}@{place}")
                }
                None => plain.to_owned(),
            },
            None => plain.to_owned(),
        };
        match query {
            Some(query) => {
                format!("{shown}?{}", query.split('&').map(parameter).collect::<Vec<_>>().join("&"))
            }
            None => shown,
        }
    }

    /// Every part of an address that must not be seen.
    pub fn secrets(address: &str) -> Vec<String> {
        let mut secrets = Vec::new();
        let (plain, query) = address.split_once('?').map_or((address, ""), |(a, q)| (a, q));
        if let Some((_, rest)) = plain.split_once("://")
            && let Some((who, _)) = rest.rsplit_once('@')
            && let Some((_, password)) = who.split_once(':')
        {
            secrets.push(password.to_owned());
        }
        let parameters = query.split('&').filter_map(|part| part.split_once('='));
        secrets.extend(parameters.filter(|(name, _)| is_secret(name)).map(|(_, value)| value.to_owned()));
        if !secrets.is_empty() {
            secrets.push(address.to_owned());
        }
        secrets
    }
}

fn parameter(part: &str) -> String {
    match part.split_once('=') {
        Some((name, _)) if is_secret(name) => format!("{name}=***"),
        _ => part.to_owned(),
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "passwd", "pwd", "secret", "token", "key"].iter().any(|word| name.contains(word))
}

/// How a phase becomes part of the job's main branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Merge {
    /// One commit for the phase.
    #[default]
    Squash,
    /// The phase's commits and one that joins them.
    Merge,
    /// The phase's commits, one after the other.
    Rebase,
}

/// How far the agent's processes are kept from everything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// They are the user's own processes; what keeps them from a verdict is a guard rail.
    #[default]
    None,
    Sandbox,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_in_an_address_is_not_shown() {
        for (address, shown, secrets) in [
            ("postgres://db/orders", "postgres://db/orders", 0),
            ("postgres://ann@db/orders", "postgres://ann@db/orders", 0),
            ("postgres://ann:s3cret@db:5432/orders", "postgres://ann:***@db:5432/orders", 2),
            ("postgres://ann:p@ss@db/orders", "postgres://ann:***@db/orders", 2),
            ("https://api/x?token=abc&page=2", "https://api/x?token=***&page=2", 2),
            ("sqlite:orders.db", "sqlite:orders.db", 0),
        ] {
            assert_eq!(Datasource::shown(address), shown);
            assert_eq!(Datasource::secrets(address).len(), secrets, "{address}");
        }
        assert_eq!(Datasource::variable("orders-db"), "CHECKREIN_DATASOURCE_ORDERS_DB");
    }
}
