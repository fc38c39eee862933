//! `forge:` of the user's settings: where people review besides here, and who they are.
//!
//! It counts in the user's own settings alone. Whoever can commit to a project could otherwise have a token
//! sent to an address of theirs, or name themselves a reviewer.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::checkrein::CheckreinFile;
use crate::document::{Gravity, Problem, Problems};
use crate::duration::Written;
use crate::run::job::ForgeKind;

/// Where people review jobs besides here. It counts in the user's settings alone.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ForgeShape {
    /// `gitea` (also Forgejo), `github`, or `local`: reviews are here alone.
    pub kind: ForgeKind,
    /// As people open it, such as `https://git.example.com`. GitHub's is known.
    pub url: Option<String>,
    /// The variable that holds the token of the account Checkrein uses there.
    pub token_env: Option<String>,
    /// `owner/name` for jobs in a repository whose remotes do not name one of the forge.
    pub repository: Option<String>,
    /// Who owns the repositories that are made for jobs that have none.
    pub owner: Option<String>,
    /// Names in the forge, and who they are here. Nobody else's verdicts and comments count.
    pub people: BTreeMap<String, String>,
    /// The variable that holds the secret the forge signs its webhooks with.
    pub webhook_secret_env: Option<String>,
    /// How often it is looked at while a review is open; 30 seconds by default, less often while nothing happens.
    pub poll: Option<Written>,
}

const GITHUB: &str = "https://github.com";
const POLL: Duration = Duration::from_secs(30);

impl ForgeShape {
    /// Its address without a slash at the end; none for reviews that are here alone.
    pub fn url(&self) -> Option<&str> {
        let said = self.url.as_deref().map(|url| url.trim().trim_end_matches('/'));
        match self.kind {
            ForgeKind::Local => None,
            ForgeKind::Github => Some(said.unwrap_or(GITHUB)),
            ForgeKind::Gitea => said,
        }
    }

    pub fn poll(&self) -> Duration {
        self.poll.map_or(POLL, |Written(poll)| poll.max(Duration::from_millis(100)))
    }

    /// Who somebody in the forge is here.
    pub fn person(&self, login: &str) -> Option<&str> {
        let known = self.people.iter().find(|(known, _)| known.eq_ignore_ascii_case(login));
        known.map(|(_, name)| name.as_str())
    }

    /// What is missing or cannot be.
    fn wrong(&self) -> Vec<(&'static str, &'static str)> {
        let mut wrong = Vec::new();
        if self.kind == ForgeKind::Local {
            return wrong;
        }
        match self.url() {
            None => wrong.push(("url", "a forge needs its `url`")),
            Some(url) if !(url.starts_with("https://") || url.starts_with("http://")) => {
                wrong.push(("url", "it begins with `https://`, or in a private network with `http://`"));
            }
            Some(url) if url.contains('@') || url.contains('?') || url.contains('#') => {
                wrong.push(("url", "it is a plain address; the token is in the variable `token_env` names"));
            }
            Some(_) => {}
        }
        match self.token_env.as_deref() {
            None | Some("") => wrong.push(("token_env", "a forge needs `token_env`, the name of a variable")),
            Some(name) if !is_variable(name) => {
                wrong.push(("token_env", "it is the name of a variable, never the token itself"));
            }
            Some(_) => {}
        }
        if self.webhook_secret_env.as_deref().is_some_and(|name| !is_variable(name)) {
            wrong.push(("webhook_secret_env", "it is the name of a variable, never the secret itself"));
        }
        if self.repository.as_deref().is_some_and(|name| !is_repository(name)) {
            wrong.push(("repository", "it is written `owner/name`"));
        }
        if self.people.values().any(|name| name.trim().is_empty()) {
            wrong.push(("people", "everybody has a name here"));
        }
        wrong
    }
}

fn is_variable(name: &str) -> bool {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    plain && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Whether a text is `owner/name` as forges write it.
pub(crate) fn is_repository(text: &str) -> bool {
    let part = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !part.is_empty() && part.bytes().all(plain) && !part.bytes().all(|byte| byte == b'.')
    };
    text.split_once('/').is_some_and(|(owner, name)| part(owner) && part(name))
}

impl CheckreinFile {
    /// Mistakes in `forge:`.
    pub(super) fn forge_problems(&self) -> Problems {
        let mut problems = Problems::default();
        let written = self.document.root.get("forge").filter(|_| self.shape.forge.is_some());
        if written.is_some_and(|forge| forge.get("kind").is_none()) {
            let problem = self.document.problem(Gravity::Error, &["forge"], "a forge needs its `kind`");
            problems.push(problem.hint("write `gitea`, `github` or `local`"));
        }
        for (key, message) in self.shape.forge.iter().flat_map(ForgeShape::wrong) {
            let path = ["forge", key];
            let problem = Problem::error(&self.document.name, message).path(self.document.path(&path));
            problems.push(problem.at(Some(self.document.position(&path))));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_a_repository() {
        for (text, expected) in [
            ("team/app", true),
            ("a-b/c.d_e", true),
            ("app", false),
            ("a/b/c", false),
            ("/app", false),
            ("team/", false),
            ("team/..", false),
            ("te am/app", false),
        ] {
            assert_eq!(is_repository(text), expected, "{text}");
        }
    }

    #[test]
    fn what_a_forge_needs() {
        let gitea = |change: &dyn Fn(&mut ForgeShape)| {
            let mut shape = ForgeShape {
                kind: ForgeKind::Gitea,
                url: Some("https://git.example.com/".into()),
                token_env: Some("GITEA_TOKEN".into()),
                ..ForgeShape::default()
            };
            change(&mut shape);
            shape.wrong().into_iter().map(|(key, _)| key).collect::<Vec<_>>()
        };
        assert_eq!(gitea(&|_| ()), [""; 0]);
        assert_eq!(gitea(&|shape| shape.url = None), ["url"]);
        assert_eq!(gitea(&|shape| shape.url = Some("git.example.com".into())), ["url"]);
        assert_eq!(gitea(&|shape| shape.url = Some("https://ann:secret@git.example.com".into())), ["url"]);
        assert_eq!(gitea(&|shape| shape.token_env = None), ["token_env"]);
        assert_eq!(gitea(&|shape| shape.token_env = Some("gto-123".into())), ["token_env"]);
        assert_eq!(gitea(&|shape| shape.repository = Some("app".into())), ["repository"]);
        assert_eq!(gitea(&|shape| *shape = ForgeShape::default()), [""; 0]);
    }

    #[test]
    fn people_are_found_whatever_the_case() {
        let people = BTreeMap::from([("Ann-B".to_owned(), "ann".to_owned())]);
        let shape = ForgeShape { people, ..ForgeShape::default() };
        assert_eq!(shape.person("ann-b"), Some("ann"));
        assert_eq!(shape.person("ann"), None);
    }
}
