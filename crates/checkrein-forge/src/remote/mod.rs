//! Forges: places where people review pull requests. One set of operations over a closed set of kinds.
//!
//! Every operation may be asked for twice. What makes something looks first whether it is there: a pull request
//! is known by its branch, a text of ours by the marker in it and by who wrote it.

mod copy;
mod git;
mod gitea;
mod github;
mod http;
mod marker;
mod publish;

use std::path::PathBuf;

use checkrein_core::run::job::{ForgeKind, Merge};
use jiff::Timestamp;

pub use git::{Pushed, Received, TakenFrom};
pub use http::RemoteError;
pub use marker::{key_of, marked, unmarked};
pub use publish::PublishedThere;

use gitea::Gitea;
use github::Github;
use http::Http;

/// A repository in a forge, and the account that is used there.
#[derive(Debug)]
pub struct Remote {
    kind: Kind,
    url: String,
    token: Token,
    /// Certificates that count beside those of the machine, for git.
    ca_file: Option<PathBuf>,
}

#[derive(Debug)]
enum Kind {
    Gitea(Gitea),
    Github(Github),
}

/// What proves that we may. It is shown nowhere.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub fn new(text: impl Into<String>) -> Token {
        Token(text.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

/// The account that a token is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub login: String,
    /// What the token may do, where the forge tells.
    pub scopes: Option<Vec<String>>,
}

/// A repository as the forge knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// `owner/name`; another one than was asked for where it was renamed.
    pub name: String,
    pub archived: bool,
    pub may_push: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    pub url: String,
    pub state: PullState,
    /// The commit it is of.
    pub head: String,
    pub head_branch: String,
    pub base_branch: String,
    pub merged_by: Option<String>,
    /// What it became part of its base branch as, where it was merged.
    pub merged_as: Option<String>,
    pub body: String,
    /// What the forge's clock said when it told this.
    pub told_at: Option<Timestamp>,
}

impl PullRequest {
    /// A forge forgets the name of a branch that is gone.
    fn is(&self, new: &NewPull<'_>) -> bool {
        self.base_branch == new.base_branch
            && (self.head_branch == new.head_branch || key_of(&self.body) == Some(new.key))
    }
}

/// What a program thinks of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    /// In the forge's words, such as `pending` and `failure`.
    pub says: String,
    /// Whether it is done, and did not pass.
    pub failed: bool,
}

impl Check {
    fn new(name: String, says: String) -> Check {
        let failed =
            ["failure", "error", "cancelled", "timed_out", "action_required"].contains(&says.as_str());
        Check { name, says, failed }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullState {
    Open,
    Closed,
    Merged,
}

/// A pull request that is to be there.
#[derive(Clone, Copy, Debug)]
pub struct NewPull<'a> {
    pub title: &'a str,
    pub body: &'a str,
    pub head_branch: &'a str,
    pub base_branch: &'a str,
    /// What its body carries, see [`marked`]: it is known by that where its branch is gone.
    pub key: &'a str,
}

/// What somebody thinks of a pull request as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    pub id: String,
    pub by: String,
    pub says: Says,
    pub body: String,
    /// The commit that was looked at.
    pub commit: Option<String>,
    pub at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    Approve,
    RequestChanges,
    /// Only words.
    Comment,
    /// Taken back, not sent yet, or a request to somebody: nothing that counts.
    Nothing,
}

/// What somebody wrote, at a line or about the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub id: String,
    pub by: String,
    pub body: String,
    pub place: Option<Spot>,
    /// The remark it answers, where the forge tells.
    pub reply_to: Option<String>,
    pub at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    pub file: String,
    /// Of the file as it is on the branch; none where it is about a line that was removed, or about the file.
    pub line: Option<u32>,
}

/// A remark of ours.
#[derive(Clone, Copy, Debug)]
pub struct NewRemark<'a> {
    pub body: &'a str,
    /// At a line of the file as it is at a commit.
    pub at: Option<(&'a str, u32, &'a str)>,
    /// The remark it answers.
    pub reply_to: Option<&'a str>,
}

/// A merge that was decided.
#[derive(Clone, Copy, Debug)]
pub struct RemoteMerge<'a> {
    pub how: Merge,
    /// Only this commit is merged.
    pub head: &'a str,
    pub title: &'a str,
    pub message: &'a str,
}

impl Remote {
    /// None for reviews that are here alone.
    pub fn new(
        kind: ForgeKind,
        url: &str,
        repository: &str,
        token: Token,
        client: reqwest::Client,
    ) -> Option<Remote> {
        let http = |api: String, accept: &'static str| Http::new(client.clone(), api, &token, accept);
        let kind = match kind {
            ForgeKind::Local => return None,
            ForgeKind::Gitea => {
                let http = http(format!("{url}/api/v1"), "application/json");
                Kind::Gitea(Gitea::new(http, repository))
            }
            ForgeKind::Github => {
                let http = http(github::api_of(url), "application/vnd.github+json");
                Kind::Github(Github::new(http, repository))
            }
        };
        Some(Remote { kind, url: url.to_owned(), token, ca_file: None })
    }

    pub fn with_ca_file(self, ca_file: Option<PathBuf>) -> Remote {
        Remote { ca_file, ..self }
    }

    /// `owner/name`
    pub fn repository(&self) -> &str {
        match &self.kind {
            Kind::Gitea(gitea) => &gitea.repository,
            Kind::Github(github) => &github.repository,
        }
    }

    /// The same forge and account, another repository.
    pub fn at(self, repository: &str) -> Remote {
        let kind = match self.kind {
            Kind::Gitea(gitea) => Kind::Gitea(Gitea { repository: repository.to_owned(), ..gitea }),
            Kind::Github(github) => Kind::Github(Github { repository: repository.to_owned(), ..github }),
        };
        Remote { kind, ..self }
    }

    pub async fn account(&self) -> Result<Account, RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.account().await,
            Kind::Github(github) => github.account().await,
        }
    }

    /// What the token may not do that is needed, also to make repositories of that owner; it changes nothing.
    pub async fn lacks(&self, account: &Account, owner: Option<&str>) -> Result<Vec<String>, RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.lacks(account, owner).await,
            Kind::Github(github) => github.lacks(account).await,
        }
    }

    /// The repository, if it is there and may be seen.
    pub async fn look(&self) -> Result<Option<Found>, RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.look().await,
            Kind::Github(github) => github.look().await,
        }
    }

    /// The repository; where it is not there it is made, private and empty.
    pub async fn ensure_repository(&self, about: &str) -> Result<Found, RemoteError> {
        if let Some(found) = self.look().await? {
            return Ok(found);
        }
        let login = self.account().await?.login;
        let made = match &self.kind {
            Kind::Gitea(gitea) => gitea.make_repository(&login, about).await,
            Kind::Github(github) => github.make_repository(&login, about).await,
        };
        match made {
            Ok(found) => Ok(found),
            // Somebody was faster, perhaps this very request the last time.
            Err(error) => self.look().await?.ok_or(error),
        }
    }

    /// The pull request of a branch: the open one, else the newest.
    pub async fn find(&self, new: &NewPull<'_>) -> Result<Option<PullRequest>, RemoteError> {
        let mut found = match &self.kind {
            Kind::Gitea(gitea) => gitea.pulls_of().await?,
            Kind::Github(github) => github.pulls_of(new.head_branch, new.base_branch).await?,
        };
        found.retain(|pull| pull.is(new));
        found.sort_by_key(|pull| (pull.state == PullState::Open, pull.number));
        Ok(found.pop())
    }

    /// Opens a pull request; one that is there for the branch, in whatever state, is found.
    pub async fn open(&self, new: &NewPull<'_>) -> Result<PullRequest, RemoteError> {
        if let Some(found) = self.find(new).await? {
            return Ok(found);
        }
        let made = match &self.kind {
            Kind::Gitea(gitea) => gitea.open(new).await,
            Kind::Github(github) => github.open(new).await,
        };
        match made {
            Ok(made) => Ok(made),
            Err(error @ (RemoteError::NotNow { .. } | RemoteError::Refused { .. })) => {
                self.find(new).await?.ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    pub async fn state(&self, number: u64) -> Result<PullRequest, RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.state(number).await,
            Kind::Github(github) => github.state(number).await,
        }
    }

    /// Who closed a pull request, where the forge tells.
    pub async fn closed_by(&self, number: u64) -> Result<Option<String>, RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.closed_by(number).await,
            Kind::Github(github) => github.closed_by(number).await,
        }
    }

    /// Oldest first.
    pub async fn opinions(&self, number: u64) -> Result<Vec<Opinion>, RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.opinions(number).await,
            Kind::Github(github) => github.opinions(number).await,
        }
    }

    /// At lines and about the whole, each kind oldest first.
    pub async fn remarks(&self, number: u64) -> Result<Vec<Remark>, RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.remarks(number).await,
            Kind::Github(github) => github.remarks(number).await,
        }
    }

    /// Writes a remark. Whoever calls has looked whether it is there. A line the forge does not know of makes
    /// it a remark about the whole.
    pub async fn remark(&self, number: u64, new: &NewRemark<'_>) -> Result<(), RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.remark(number, new).await,
            Kind::Github(github) => github.remark(number, new).await,
        }
    }

    pub async fn close(&self, number: u64) -> Result<(), RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.turn(number, "closed").await,
            Kind::Github(github) => github.turn(number, "closed").await,
        }
    }

    pub async fn reopen(&self, number: u64) -> Result<(), RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.turn(number, "open").await,
            Kind::Github(github) => github.turn(number, "open").await,
        }
    }

    /// Leads a pull request to this branch again.
    pub async fn retarget(&self, number: u64, base_branch: &str) -> Result<(), RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.retarget(number, base_branch).await,
            Kind::Github(github) => github.retarget(number, base_branch).await,
        }
    }

    /// Merges. That the forge took it is no proof: whoever calls looks at the state afterwards.
    pub async fn merge(&self, number: u64, merge: &RemoteMerge<'_>) -> Result<(), RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.merge(number, merge).await,
            Kind::Github(github) => github.merge(number, merge).await,
        }
    }

    /// What programs think of a commit.
    pub async fn checks(&self, commit: &str) -> Result<Vec<Check>, RemoteError> {
        match &self.kind {
            Kind::Gitea(gitea) => gitea.checks(commit).await,
            Kind::Github(github) => github.checks(commit).await,
        }
    }

    /// Where a person compares two commits or branches.
    pub fn compare_url(&self, base: &str, head: &str) -> String {
        format!("{}/{}/compare/{base}...{head}", self.url, self.repository())
    }
}
