//! Whether the forge of the settings can be used: its address, its token, and what that may do.

use std::path::Path;

use checkrein_core::config::Settings;
use checkrein_core::run::job::ForgeKind;
use checkrein_forge::Source;

use super::at::forge_for;
use super::connect::remote;
use crate::doctor::{Finding, State};
use crate::job::find_git;

/// Looks at the forge the settings name; nothing is changed there. The repository is the one a job from this directory
/// would be reviewed in.
pub async fn examine_forge(settings: &Settings, directory: &Path) -> Vec<Finding> {
    let Some((shape, url)) = settings.forge().and_then(|shape| Some((shape, shape.url()?))) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    let repository = repository_around(settings, directory);
    let name = repository.clone().unwrap_or_else(|| "checkrein/nothing".to_owned());
    let remote = match remote(settings, shape, &name) {
        Ok(remote) => remote,
        Err(error) => {
            let token = shape.token_env.as_deref().unwrap_or_default();
            let remedy = format!("set {token} to a token of the account Checkrein uses at {url}");
            return vec![Finding::new("forge", State::Broken, error).remedy(remedy)];
        }
    };
    let account = match remote.account().await {
        Ok(account) => account,
        Err(error) => {
            let remedy = format!(
                "check `forge.url` and the token in {}",
                shape.token_env.as_deref().unwrap_or_default()
            );
            return vec![Finding::new("forge", State::Broken, format!("{url}: {error}")).remedy(remedy)];
        }
    };
    findings.push(Finding::new(
        "forge",
        State::Good,
        format!("{} at {url}, as {}", shape.kind, account.login),
    ));
    findings.push(match remote.lacks(&account, shape.owner.as_deref()).await {
        // What a fine-grained token may do is known only where it may do it.
        Ok(_) if shape.kind == ForgeKind::Github && account.scopes.is_none() && repository.is_none() => {
            let text = "it has no scopes, and what it may do depends on the repository";
            Finding::new("forge token", State::Info, text)
                .remedy("run `checkrein doctor` in a repository of the forge, or set `forge.repository`")
        }
        Ok(lacks) if lacks.is_empty() => Finding::new("forge token", State::Good, "it may do what is needed"),
        Ok(lacks) => Finding::new("forge token", State::Broken, format!("it lacks {}", lacks.join(", ")))
            .remedy("make a token that has this as well, see docs/forges.md"),
        Err(error) => Finding::new("forge token", State::Warning, error.to_string()),
    });
    if repository.is_some() {
        findings.push(match remote.look().await {
            Ok(Some(found)) if found.archived => {
                Finding::new("forge repository", State::Broken, format!("{} is archived", found.name))
            }
            Ok(Some(found)) if !found.may_push => {
                let text = format!("{} may not push to {}", account.login, found.name);
                Finding::new("forge repository", State::Broken, text)
                    .remedy("let the account write to the repository")
            }
            Ok(Some(found)) => Finding::new("forge repository", State::Good, found.name),
            Ok(None) => Finding::new(
                "forge repository",
                State::Broken,
                format!("there is no {name}, or it may not be seen"),
            )
            .remedy("check `forge.repository` or the remote it was found by, and what the account may see"),
            Err(error) => Finding::new("forge repository", State::Warning, error.to_string()),
        });
    }
    findings.push(if shape.people.is_empty() {
        Finding::new(
            "forge people",
            State::Warning,
            "nobody in the forge has a name here, so nobody's verdict counts",
        )
        .remedy("name reviewers in `forge.people`")
    } else {
        Finding::new("forge people", State::Good, format!("{} reviewers", shape.people.len()))
    });
    if shape.people.keys().any(|login| login.eq_ignore_ascii_case(&account.login)) {
        let text = format!("{} is the account Checkrein uses: its verdicts never count", account.login);
        findings.push(Finding::new("forge people", State::Warning, text).remedy("use an account of its own"));
    }
    let secret = shape.webhook_secret_env.as_ref().map(|name| (name, settings.variable(name)));
    findings.push(match secret {
        Some((_, Some(secret))) if !secret.is_empty() => {
            Finding::new("forge webhook", State::Good, "signed webhooks are taken at /v1/forges/hook")
        }
        Some((name, _)) => Finding::new("forge webhook", State::Warning, format!("{name} is not set"))
            .remedy("set it to the secret the forge signs with"),
        None => Finding::new("forge webhook", State::Info, "the forge is asked now and then"),
    });
    findings
}

/// The repository of the forge that a directory belongs to, or that the settings name.
fn repository_around(settings: &Settings, directory: &Path) -> Option<String> {
    let found = find_git().ok().and_then(|git| {
        let source = Source::look(&git, directory, None).ok()?;
        forge_for(settings, &git, Some(&source)).ok().flatten()
    });
    found.map(|at| at.repository).or_else(|| settings.forge()?.repository.clone())
}
