//! What a job was started with.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ForgeAt;
use crate::secret;

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
    /// What the processes of an attempt may use in the sandbox.
    #[serde(default = "memory_bytes")]
    pub memory_bytes: u64,
    /// So many processes and threads an attempt may have in the sandbox.
    #[serde(default = "processes")]
    pub processes: u64,
    /// Variables that are handed to the agent beside the ones every program needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Where people review it as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<ForgeAt>,
}

/// Also of jobs that began before there were such limits.
pub(crate) const fn memory_bytes() -> u64 {
    8 << 30
}

pub(crate) const fn processes() -> u64 {
    4096
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

    /// An address as it may be shown. One that is no plain URL or file is secret as a whole: there is a password
    /// somewhere in most of them.
    pub fn shown(address: &str) -> String {
        if is_file(address) {
            return address.to_owned();
        }
        Url::parse(address).map_or_else(|| MASK.to_owned(), |url| url.shown())
    }

    /// Every part of an address that must not be seen, in every form it may be written in.
    pub fn secrets(address: &str) -> Vec<String> {
        if Datasource::shown(address) == address {
            return Vec::new();
        }
        let mut parts = vec![address];
        match Url::parse(address) {
            Some(url) => parts.extend(url.secrets()),
            None => parts.extend(values(address)),
        }
        let known = parts.into_iter().filter(|part| !part.is_empty());
        let mut forms: Vec<String> = known.flat_map(secret::forms).collect();
        forms.sort_unstable();
        forms.dedup();
        // One may begin with another, and must not leave its end behind.
        forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
        forms
    }
}

const MASK: &str = "***";

/// The parts of a plain URL.
struct Url<'a> {
    scheme: &'a str,
    user: Option<&'a str>,
    password: Option<&'a str>,
    /// Host and port; several, where they are separated by commas.
    place: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    fragment: Option<&'a str>,
}

impl<'a> Url<'a> {
    /// None where anything in it may mean something else to whoever reads it.
    fn parse(address: &'a str) -> Option<Url<'a>> {
        let (scheme, rest) = address.split_once("://")?;
        let of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(of_scheme) {
            return None;
        }
        // A password may hold what ends an authority elsewhere, so the last `@` is looked for in all of it.
        let (who, rest) = match rest.rsplit_once('@') {
            Some((who, rest)) => (Some(who), rest),
            None => (None, rest),
        };
        let (user, password) = match who.map(|who| who.split_once(':').unwrap_or((who, ""))) {
            Some((user, password)) => (Some(user), Some(password).filter(|password| !password.is_empty())),
            None => (None, None),
        };
        let (rest, fragment) = split(rest, '#');
        let (rest, query) = split(rest, '?');
        let at = rest.find('/').unwrap_or(rest.len());
        let (place, path) = rest.split_at_checked(at)?;
        let of_place =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']' | ',');
        let of_path = |c: char| {
            !(c.is_whitespace() || c.is_control() || matches!(c, ';' | '(' | ')' | '"' | '\'' | '\\'))
        };
        let sound = place.chars().all(of_place) && path.chars().all(of_path);
        sound.then_some(Url { scheme, user, password, place, path, query, fragment })
    }

    /// Databases have users with names; elsewhere a user may be a token.
    fn shown_user(&self) -> Option<&'a str> {
        const DATABASES: [&str; 10] = [
            "postgres",
            "postgresql",
            "mysql",
            "mariadb",
            "mongodb",
            "mongodb+srv",
            "sqlserver",
            "mssql",
            "oracle",
            "clickhouse",
        ];
        self.user.filter(|user| DATABASES.contains(&self.scheme) && is_plain(user))
    }

    fn shown(&self) -> String {
        let mut out = format!("{}://", self.scheme);
        if self.user.is_some() {
            out.push_str(self.shown_user().unwrap_or(MASK));
            if self.password.is_some() {
                out.push_str(":***");
            }
            out.push('@');
        }
        out.push_str(self.place);
        let part = |part: &'a str| if part.is_empty() || is_plain(part) { part } else { MASK };
        out.push_str(&self.path.split('/').map(part).collect::<Vec<_>>().join("/"));
        if let Some(query) = self.query {
            out.push('?');
            out.push_str(&query.split('&').map(parameter).collect::<Vec<_>>().join("&"));
        }
        if self.fragment.is_some() {
            out.push_str("#***");
        }
        out
    }

    /// What is secret wherever it stands. A word that is only left out, such as a version, is not.
    fn secrets(&self) -> Vec<&'a str> {
        const VALUE_CHARS_MIN: usize = 12;
        let mut parts: Vec<&str> = self.password.into_iter().chain(self.fragment).collect();
        parts.extend(self.password.into_iter().flat_map(of_each_host));
        // With a password, a user without digits is somebody's name.
        let token = |user: &&str| self.password.is_none() || user.contains(|c: char| c.is_ascii_digit());
        if self.shown_user().is_none() {
            parts.extend(self.user.filter(token));
        }
        parts.extend(self.path.split('/').filter(|part| !is_plain(part)));
        let query = self.query.into_iter().flat_map(|query| query.split('&'));
        for part in query.filter(|part| parameter(part) != *part) {
            let (name, value) = part.split_once('=').unwrap_or(("", part));
            if names_a_secret(name) || value.len() >= VALUE_CHARS_MIN {
                parts.push(value);
            }
        }
        parts
    }
}

/// The passwords in what stands for one where an address names several hosts, each with its own:
/// `SECRET@h1,b:SECRET`.
fn of_each_host(password: &str) -> Vec<&str> {
    let Some((first, rest)) = password.split_once(',') else { return Vec::new() };
    let without_host = |part| str::rsplit_once(part, '@').map(|(who, _)| who);
    let Some(first) = without_host(first) else { return Vec::new() };
    let others = rest.split(',').map(|part| without_host(part).unwrap_or(part));
    std::iter::once(first).chain(others.filter_map(|who| who.split_once(':').map(|(_, own)| own))).collect()
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(before, after)| (before, Some(after)))
}

/// A name a person gave something: a token is longer, or has letters and digits in no order.
fn is_plain(word: &str) -> bool {
    const CHARS_MAX: usize = 32;
    const MIXED_CHARS_MAX: usize = 15;
    let of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
    let mixed = word.contains(|c: char| c.is_ascii_digit());
    !word.is_empty()
        && word.len() <= if mixed { MIXED_CHARS_MAX } else { CHARS_MAX }
        && word.chars().all(of_name)
}

/// A parameter, with its value where it is known that it says nothing secret.
fn parameter(part: &str) -> String {
    const OPEN: [&str; 30] = [
        "sslmode",
        "ssl",
        "tls",
        "encrypt",
        "charset",
        "encoding",
        "collation",
        "timeout",
        "connect_timeout",
        "application_name",
        "schema",
        "search_path",
        "currentschema",
        "database",
        "db",
        "dbname",
        "table",
        "mode",
        "cache",
        "page",
        "limit",
        "offset",
        "version",
        "api-version",
        "region",
        "format",
        "parsetime",
        "retrywrites",
        "w",
        "replicaset",
    ];
    match part.split_once('=') {
        Some((name, value))
            if OPEN.contains(&name.to_ascii_lowercase().as_str())
                && (value.is_empty() || is_plain(value)) =>
        {
            part.to_owned()
        }
        Some((name, _)) if is_plain(name) => format!("{name}={MASK}"),
        _ => MASK.to_owned(),
    }
}

/// A file, said by its ending or where it is.
fn is_file(address: &str) -> bool {
    const SCHEMES: [&str; 4] = ["sqlite", "sqlite3", "duckdb", "file"];
    const ENDINGS: [&str; 8] =
        [".db", ".sqlite", ".sqlite3", ".duckdb", ".csv", ".json", ".parquet", ".xlsx"];
    let path = match address.split_once(':') {
        Some((scheme, path)) if SCHEMES.contains(&scheme) => path,
        Some(_) => return false,
        None => address,
    };
    let of_path = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '~' | ' ');
    let somewhere = ["/", "./", "../", "~/"].iter().any(|start| path.starts_with(start));
    path.chars().all(of_path) && (somewhere || ENDINGS.iter().any(|ending| path.ends_with(ending)))
}

/// The passwords an address of another form sets: `password=x`, `Pwd={x}`, `user:x@tcp(…)`.
fn values(address: &str) -> Vec<&str> {
    let mut found = Vec::new();
    if let Some((who, _)) = address.rsplit_once('@') {
        let who = who.rsplit_once("//").map_or(who, |(_, who)| who);
        let password = who.split_once(':').map(|(_, password)| password);
        found.extend(password.into_iter().flat_map(of_each_host).chain(password));
    }
    for separators in [&[';', '&', '?', '#'][..], &[' ', '\t', '\n']] {
        for (name, value) in address.split(separators).filter_map(|part| part.split_once('=')) {
            if names_a_secret(name) {
                found.extend([value.trim(), value.trim().trim_matches(['\'', '"', '{', '}'])]);
            }
        }
    }
    found
}

fn names_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["pass", "pwd", "secret", "token", "key", "sig", "cred", "auth"];
    words.iter().any(|word| name.contains(word))
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
            ("postgres://db/orders", "postgres://db/orders", &[][..]),
            ("postgres://ann@db/orders", "postgres://ann@db/orders", &[]),
            ("postgres://db:5432/orders?sslmode=require", "postgres://db:5432/orders?sslmode=require", &[]),
            ("postgres://ann:s3cret@db:5432/orders", "postgres://ann:***@db:5432/orders", &["s3cret"]),
            ("postgres://ann:p@ss@db/orders", "postgres://ann:***@db/orders", &["p@ss", "p%40ss"]),
            (
                "postgres://ann:p%40ss%2Fx@db/orders",
                "postgres://ann:***@db/orders",
                &["p%40ss%2Fx", "p@ss/x", "p@ss\\/x"],
            ),
            ("https://api/x?token=abc&page=2", "https://api/x?token=***&page=2", &["abc"]),
            (
                "https://ghp_0123456789abcdef@github.com/a/b",
                "https://***@github.com/a/b",
                &["ghp_0123456789abcdef"],
            ),
            (
                "https://t0ken:x-oauth-basic@github.com/a",
                "https://***:***@github.com/a",
                &["t0ken", "x-oauth-basic"],
            ),
            (
                "amqp://a:multiSECRET15@h1,b:multiSECRET16@h2,c:multiSECRET17@h3:5672/v",
                "amqp://***:***@h3:5672/v",
                &["multiSECRET15", "multiSECRET16", "multiSECRET17"],
            ),
            ("amqp://a:first1@h1,h2,b:second2@h3/v x", "***", &["first1", "second2"]),
            ("postgres://ann:one,two@db/orders", "postgres://ann:***@db/orders", &["one,two"]),
            ("redis://:s3cret@cache:6379/0", "redis://***:***@cache:6379/0", &["s3cret"]),
            (
                "https://acct.blob.core.windows.net/c/b?sv=2024-01-01&sp=r&sig=Zm9v%2BYmFy%3D",
                "https://acct.blob.core.windows.net/c/b?sv=***&sp=***&sig=***",
                &["Zm9v%2BYmFy%3D", "Zm9v+YmFy="],
            ),
            (
                "https://b.s3.amazonaws.com/k?X-Amz-Credential=AKIA%2Fx&X-Amz-Signature=deadbeef01",
                "https://b.s3.amazonaws.com/k?X-Amz-Credential=***&X-Amz-Signature=***",
                &["AKIA%2Fx", "AKIA/x", "deadbeef01"],
            ),
            (
                "https://hooks.example.com/services/T00000000/B00000000/XXXX1111YYYY2222ZZZZ",
                "https://hooks.example.com/services/T00000000/B00000000/***",
                &["XXXX1111YYYY2222ZZZZ"],
            ),
            ("https://api.example.com/x#s3cret", "https://api.example.com/x#***", &["s3cret"]),
            ("host=db user=ann password=s3cret99 dbname=orders", "***", &["s3cret99"]),
            (
                "host=db password='s3cret 99' dbname=orders",
                "***",
                &["host=db password='s3cret 99' dbname=orders"],
            ),
            ("Driver={PostgreSQL};Server=db;Uid=ann;Pwd=s3cret99;", "***", &["s3cret99"]),
            ("Server=db;Password={s3;cret99};", "***", &["Server=db;Password={s3;cret99};"]),
            ("ann:s3cret99@tcp(db:3306)/orders?parseTime=true", "***", &["s3cret99"]),
            ("mysql://ann:s3cret99@tcp(db:3306)/orders", "***", &["s3cret99"]),
            ("jdbc:postgresql://db/orders?user=ann&password=s3cret99", "***", &["s3cret99"]),
            ("jdbc:sqlserver://db;user=ann;password=s3cret99", "***", &["s3cret99"]),
            ("AccountName=a;AccountKey=Zm9vYmFy==;", "***", &["Zm9vYmFy=="]),
            ("ghp_0123456789abcdef0123", "***", &["ghp_0123456789abcdef0123"]),
            ("sqlite:orders.db", "sqlite:orders.db", &[]),
            ("sqlite:///home/ann/orders.db", "sqlite:///home/ann/orders.db", &[]),
            ("/data/orders 2024.csv", "/data/orders 2024.csv", &[]),
            ("data.db", "data.db", &[]),
        ] {
            assert_eq!(Datasource::shown(address), shown, "{address}");
            let known = Datasource::secrets(address);
            assert_eq!(known.is_empty(), secrets.is_empty(), "{address}: {known:?}");
            for secret in secrets.iter().copied().chain((!secrets.is_empty()).then_some(address)) {
                assert!(known.iter().any(|known| known == secret), "{address}: {secret} is not in {known:?}");
            }
        }
        assert_eq!(Datasource::variable("orders-db"), "CHECKREIN_DATASOURCE_ORDERS_DB");
    }
}
