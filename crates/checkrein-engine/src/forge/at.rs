//! Which repository of a forge a job has its pull requests in.

use checkrein_core::config::{ForgeShape, Settings};
use checkrein_core::run::job::{ForgeAt, ForgeKind, ForgeNews, Pull, Settled};
use checkrein_core::run::{Run, RunEvent, RunId};
use checkrein_forge::{Git, Source};
use url::Url;

use crate::EngineError;
use crate::run::RunView;

/// A review as it can be opened in the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeLink {
    pub kind: ForgeKind,
    /// The pull request; none while there is none.
    pub url: Option<String>,
    pub number: Option<u64>,
    pub settled: Option<Settled>,
    /// What keeps it from its forge.
    pub trouble: Option<String>,
}

impl RunView {
    /// The pull request of a phase, where the job has a forge.
    pub fn forge_link(&self, phase: &str) -> Option<ForgeLink> {
        let (definition, job) = self.run.job()?;
        let kind = definition.forge.as_ref()?.kind;
        let now = job.phase.name() == phase;
        let pull = if now { job.pull().cloned() } else { self.pull_before(phase) };
        Some(ForgeLink {
            kind,
            url: pull.as_ref().map(|pull| pull.url.clone()),
            number: pull.as_ref().map(|pull| pull.number),
            settled: pull.and_then(|pull| pull.settled),
            trouble: job.trouble.clone(),
        })
    }

    /// Of a phase that is over.
    fn pull_before(&self, phase: &str) -> Option<Pull> {
        let mut found: Option<Pull> = None;
        for (_, _, event) in &self.history {
            let RunEvent::Forge(news) = event else { continue };
            match (&**news, &mut found) {
                (ForgeNews::PullOpened { pull }, _) if pull.phase == phase => found = Some(pull.clone()),
                (ForgeNews::PullSettled { number, how }, Some(pull)) if pull.number == *number => {
                    pull.settled = Some(*how);
                }
                _ => {}
            }
        }
        found
    }
}

/// Stands for the id of the job in the name of a repository that is made for it.
const JOB: &str = "{job}";

/// Where a new job is reviewed; none where that is here alone. Only the user's own settings and the remotes of
/// the user's own repository have a say.
pub(crate) fn forge_for(
    settings: &Settings,
    git: &Git,
    source: Option<&Source>,
) -> Result<Option<ForgeAt>, EngineError> {
    let Some((shape, url)) = settings.forge().and_then(|shape| Some((shape, shape.url()?))) else {
        return Ok(None);
    };
    let at =
        |repository: String, made: bool| ForgeAt { kind: shape.kind, url: url.to_owned(), repository, made };
    let Some(source) = source else {
        return Ok(shape.owner.as_ref().map(|owner| at(format!("{owner}/checkrein-{JOB}"), true)));
    };
    let remotes = source.remotes(git)?;
    let named = remotes.iter().find_map(|remote| repository_of(remote, url));
    Ok(named.or_else(|| shape.repository.clone()).map(|repository| at(repository, false)))
}

/// `owner/name` of a job.
pub(super) fn repository_name(at: &ForgeAt, id: &RunId) -> String {
    at.repository.replace(JOB, id.as_str())
}

/// The settings that go with the forge of a job. What a job says alone opens nothing: its address has to be the
/// one the settings of whoever runs it name.
pub(super) fn shape_of<'s>(settings: &'s Settings, at: &ForgeAt) -> Result<&'s ForgeShape, String> {
    let shape = settings.forge();
    let same = shape.filter(|shape| shape.kind == at.kind && shape.url() == Some(at.url.as_str()));
    same.ok_or_else(|| {
        format!(
            "the settings here have no `forge` of kind {} at {}, which the job is reviewed in",
            at.kind, at.url
        )
    })
}

/// `owner/name`, where an address of git leads to the forge.
fn repository_of(remote: &str, forge: &str) -> Option<String> {
    let forge = Url::parse(forge).ok()?;
    let host = forge.host_str()?;
    let path = match Url::parse(remote) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => {
            let same =
                url.host_str() == Some(host) && url.port_or_known_default() == forge.port_or_known_default();
            let below = forge.path().trim_end_matches('/');
            same.then(|| url.path().strip_prefix(below).map(str::to_owned)).flatten()?
        }
        Ok(url) if url.scheme() == "ssh" => (url.host_str() == Some(host)).then(|| url.path().to_owned())?,
        // `git@host:owner/name.git`
        _ => {
            let (place, path) = remote.split_once(':')?;
            let there = place.rsplit_once('@').map_or(place, |(_, there)| there);
            (there.eq_ignore_ascii_case(host)).then(|| path.to_owned())?
        }
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let plain = path.split_once('/').is_some_and(|(owner, name)| {
        let plain = |part: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
            !part.is_empty() && part.bytes().all(fits) && !part.starts_with('.')
        };
        plain(owner) && plain(name)
    });
    plain.then(|| path.to_owned())
}

/// Whether a phase has something a pull request can be made of, and its policy wants one (L5, L11).
pub(super) fn wants_pull(run: &Run) -> bool {
    let Some((_, job)) = run.job() else { return false };
    let Some(work) = &job.phase.work else { return false };
    job.phase.review.is_some() || (!run.policy().hold_at.is_empty() && work.files_total > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_remote_leads() {
        for (remote, forge, expected) in [
            ("https://git.example.com/team/app.git", "https://git.example.com", Some("team/app")),
            ("https://git.example.com/team/app", "https://git.example.com", Some("team/app")),
            ("https://ann@git.example.com/team/app.git", "https://git.example.com", Some("team/app")),
            ("https://git.example.com/sub/team/app.git", "https://git.example.com/sub", Some("team/app")),
            ("https://git.example.com:8443/team/app.git", "https://git.example.com", None),
            ("http://127.0.0.1:3000/team/app.git", "http://127.0.0.1:3000", Some("team/app")),
            ("git@git.example.com:team/app.git", "https://git.example.com", Some("team/app")),
            ("ssh://git@git.example.com:2222/team/app.git", "https://git.example.com", Some("team/app")),
            ("https://evil.example/team/app.git", "https://git.example.com", None),
            ("https://git.example.com.evil.example/team/app.git", "https://git.example.com", None),
            ("https://git.example.com/a/b/c.git", "https://git.example.com", None),
            ("https://git.example.com/team/..", "https://git.example.com", None),
            ("/srv/git/app.git", "https://git.example.com", None),
        ] {
            assert_eq!(repository_of(remote, forge).as_deref(), expected, "{remote}");
        }
    }
}
