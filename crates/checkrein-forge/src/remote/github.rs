//! GitHub, and GitHub Enterprise Server.

use jiff::Timestamp;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::http::{Http, PAGES_MAX, Told, read, segment};
use super::{
    Account, Check, Found, NewPull, NewRemark, Opinion, PullRequest, PullState, Remark, RemoteError,
    RemoteMerge, Says, Spot,
};
use checkrein_core::run::job::Merge;

#[derive(Debug)]
pub(super) struct Github {
    pub http: Http,
    pub repository: String,
}

/// How GitHub says that a rule of the branch or the repository is in the way.
const RULES: [&str; 7] = [
    "equired status check",
    "approving review",
    "Changes have been requested",
    "code owner",
    "rule violations",
    "not allowed on this repository",
    "not authorized",
];

/// What is made nowhere: it says what the doctor of a token asks for.
const NOTHING: &str = "checkrein-doctor-looks-for-nothing";

/// Where the API of an address is.
pub(super) fn api_of(url: &str) -> String {
    if url == "https://github.com" { "https://api.github.com".to_owned() } else { format!("{url}/api/v3") }
}

#[derive(Deserialize)]
struct User {
    login: String,
}

#[derive(Deserialize)]
struct Repository {
    full_name: String,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
struct Permissions {
    #[serde(default)]
    push: bool,
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    html_url: String,
    state: String,
    #[serde(default)]
    merged_at: Option<Timestamp>,
    #[serde(default)]
    body: Option<String>,
    head: Side,
    base: Side,
    #[serde(default)]
    merged_by: Option<User>,
    #[serde(default)]
    merge_commit_sha: Option<String>,
}

#[derive(Deserialize)]
struct Statuses {
    statuses: Vec<Status>,
}

#[derive(Deserialize)]
struct Status {
    context: String,
    state: String,
}

#[derive(Deserialize)]
struct CheckRuns {
    check_runs: Vec<CheckRun>,
}

#[derive(Deserialize)]
struct CheckRun {
    name: String,
    status: String,
    #[serde(default)]
    conclusion: Option<String>,
}

#[derive(Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    name: String,
    sha: String,
}

#[derive(Deserialize)]
struct Review {
    id: u64,
    #[serde(default)]
    user: Option<User>,
    state: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    commit_id: Option<String>,
    #[serde(default)]
    submitted_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    line: Option<u32>,
    #[serde(default)]
    side: Option<String>,
    #[serde(default)]
    in_reply_to_id: Option<u64>,
}

#[derive(Deserialize)]
struct Issue {
    #[serde(default)]
    closed_by: Option<User>,
}

impl Github {
    pub fn new(http: Http, repository: &str) -> Github {
        Github { http, repository: repository.to_owned() }
    }

    fn path(&self, rest: &str) -> String {
        format!("/repos/{}{rest}", self.repository)
    }

    pub async fn account(&self) -> Result<Account, RemoteError> {
        let told = self.http.ask(Method::GET, "/user", None).await?;
        let user: User = read(&told)?;
        let scopes = told.header("x-oauth-scopes").map(|scopes| {
            let scopes = scopes.split(',').map(|scope| scope.trim().to_owned());
            scopes.filter(|scope| !scope.is_empty()).collect()
        });
        Ok(Account { login: user.login, scopes })
    }

    /// A classic token has scopes. A fine-grained one has none: it is refused before what is asked for is looked
    /// at, so what is asked for cannot be made.
    pub async fn lacks(&self, account: &Account) -> Result<Vec<String>, RemoteError> {
        if let Some(scopes) = &account.scopes {
            let lacks = !scopes.iter().any(|scope| scope == "repo");
            return Ok(if lacks { vec!["repo".to_owned()] } else { Vec::new() });
        }
        let mut lacks = Vec::new();
        for (permission, path, body) in [
            ("contents", "/git/refs", json!({"ref": format!("refs/heads/{NOTHING}"), "sha": "0".repeat(40)})),
            ("pull requests", "/pulls", json!({"title": NOTHING, "head": NOTHING, "base": NOTHING})),
            ("issues", "/issues/0/comments", json!({"body": NOTHING})),
        ] {
            match self.http.send(Method::POST, &self.path(path), &body).await {
                Err(RemoteError::Refused { status: 403, .. }) => {
                    lacks.push(format!("write access to {permission}"));
                }
                Ok(_)
                | Err(
                    RemoteError::NotFound { .. } | RemoteError::Refused { .. } | RemoteError::NotNow { .. },
                ) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(lacks)
    }

    pub async fn look(&self) -> Result<Option<Found>, RemoteError> {
        match self.http.get::<Repository>(&self.path("")).await {
            Ok(found) => Ok(Some(found.into())),
            Err(RemoteError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn make_repository(&self, login: &str, about: &str) -> Result<Found, RemoteError> {
        let (owner, name) = self.repository.split_once('/').unwrap_or((login, &self.repository));
        let path = match owner.eq_ignore_ascii_case(login) {
            true => "/user/repos".to_owned(),
            false => format!("/orgs/{}/repos", segment(owner)),
        };
        let body = json!({"name": name, "description": about, "private": true, "auto_init": false});
        let told = self.http.send(Method::POST, &path, &body).await?;
        read::<Repository>(&told).map(Found::from)
    }

    pub async fn pulls_of(&self, head: &str, base: &str) -> Result<Vec<PullRequest>, RemoteError> {
        let owner = self.repository.split('/').next().unwrap_or_default();
        let (head, base) = (segment(&format!("{owner}:{head}")), segment(base));
        let path = self.path(&format!("/pulls?state=all&head={head}&base={base}"));
        let pulls: Vec<Pull> = self.http.list(&path, "per_page", PAGES_MAX).await?;
        Ok(pulls.into_iter().map(|pull| pull.told(None)).collect())
    }

    pub async fn open(&self, new: &NewPull<'_>) -> Result<PullRequest, RemoteError> {
        let body =
            json!({"title": new.title, "body": new.body, "head": new.head_branch, "base": new.base_branch});
        pull(&self.http.send(Method::POST, &self.path("/pulls"), &body).await?)
    }

    pub async fn state(&self, number: u64) -> Result<PullRequest, RemoteError> {
        pull(&self.http.ask(Method::GET, &self.path(&format!("/pulls/{number}")), None).await?)
    }

    pub async fn closed_by(&self, number: u64) -> Result<Option<String>, RemoteError> {
        let issue: Issue = self.http.get(&self.path(&format!("/issues/{number}"))).await?;
        Ok(issue.closed_by.map(|user| user.login))
    }

    pub async fn opinions(&self, number: u64) -> Result<Vec<Opinion>, RemoteError> {
        let path = self.path(&format!("/pulls/{number}/reviews"));
        let reviews: Vec<Review> = self.http.list(&path, "per_page", PAGES_MAX).await?;
        Ok(reviews.into_iter().map(Opinion::from).collect())
    }

    pub async fn remarks(&self, number: u64) -> Result<Vec<Remark>, RemoteError> {
        let path = self.path(&format!("/pulls/{number}/comments"));
        let lines: Vec<Comment> = self.http.list(&path, "per_page", PAGES_MAX).await?;
        let path = self.path(&format!("/issues/{number}/comments"));
        let whole: Vec<Comment> = self.http.list(&path, "per_page", PAGES_MAX).await?;
        let lines = lines.into_iter().map(|comment| comment.told("line"));
        Ok(lines.chain(whole.into_iter().map(|comment| comment.told("whole"))).collect())
    }

    pub async fn remark(&self, number: u64, new: &NewRemark<'_>) -> Result<(), RemoteError> {
        let above = new.reply_to.and_then(|id| id.strip_prefix("line-"));
        if let Some(above) = above {
            let path = self.path(&format!("/pulls/{number}/comments/{above}/replies"));
            return self.http.send(Method::POST, &path, &json!({"body": new.body})).await.map(drop);
        }
        if let Some((file, line, commit)) = new.at {
            let path = self.path(&format!("/pulls/{number}/comments"));
            let body =
                json!({"body": new.body, "commit_id": commit, "path": file, "line": line, "side": "RIGHT"});
            match self.http.send(Method::POST, &path, &body).await {
                // The line is not part of the diff.
                Err(RemoteError::Refused { status: 422, .. }) => {}
                sent => return sent.map(drop),
            }
        }
        let path = self.path(&format!("/issues/{number}/comments"));
        self.http.send(Method::POST, &path, &json!({"body": new.body})).await.map(drop)
    }

    pub async fn turn(&self, number: u64, state: &str) -> Result<(), RemoteError> {
        let path = self.path(&format!("/pulls/{number}"));
        self.http.send(Method::PATCH, &path, &json!({"state": state})).await.map(drop)
    }

    pub async fn retarget(&self, number: u64, base: &str) -> Result<(), RemoteError> {
        let path = self.path(&format!("/pulls/{number}"));
        self.http.send(Method::PATCH, &path, &json!({"base": base})).await.map(drop)
    }

    pub async fn merge(&self, number: u64, merge: &RemoteMerge<'_>) -> Result<(), RemoteError> {
        let how = match merge.how {
            Merge::Squash => "squash",
            Merge::Merge => "merge",
            Merge::Rebase => "rebase",
        };
        let body = json!({
            "commit_title": merge.title,
            "commit_message": merge.message,
            "sha": merge.head,
            "merge_method": how,
        });
        let path = self.path(&format!("/pulls/{number}/merge"));
        let sent = self.http.send(Method::PUT, &path, &body).await;
        sent.map(drop).map_err(|error| error.of_rules(&RULES))
    }

    pub async fn checks(&self, commit: &str) -> Result<Vec<Check>, RemoteError> {
        let at = self.path(&format!("/commits/{}", segment(commit)));
        let found: Statuses = self.http.get(&format!("{at}/status")).await?;
        let runs: CheckRuns = self.http.get(&format!("{at}/check-runs")).await?;
        let statuses = found.statuses.into_iter().map(|status| Check::new(status.context, status.state));
        let runs = runs.check_runs.into_iter();
        let runs = runs.map(|run| Check::new(run.name, run.conclusion.unwrap_or(run.status)));
        Ok(statuses.chain(runs).collect())
    }
}

fn pull(told: &Told) -> Result<PullRequest, RemoteError> {
    read::<Pull>(told).map(|pull| pull.told(told.at()))
}

impl Pull {
    fn told(self, told_at: Option<Timestamp>) -> PullRequest {
        let state = match (self.merged_at, self.state.as_str()) {
            (Some(_), _) => PullState::Merged,
            (None, "open") => PullState::Open,
            (None, _) => PullState::Closed,
        };
        PullRequest {
            number: self.number,
            url: self.html_url,
            state,
            head: self.head.sha,
            head_branch: self.head.name,
            base_branch: self.base.name,
            merged_by: self.merged_by.map(|user| user.login),
            merged_as: self.merge_commit_sha.filter(|_| state == PullState::Merged),
            body: self.body.unwrap_or_default(),
            told_at,
        }
    }
}

impl From<Repository> for Found {
    fn from(found: Repository) -> Found {
        Found {
            name: found.full_name,
            archived: found.archived,
            may_push: found.permissions.is_none_or(|permissions| permissions.push),
        }
    }
}

impl From<Review> for Opinion {
    fn from(review: Review) -> Opinion {
        let says = match review.state.as_str() {
            "APPROVED" => Says::Approve,
            "CHANGES_REQUESTED" => Says::RequestChanges,
            "COMMENTED" => Says::Comment,
            _ => Says::Nothing,
        };
        Opinion {
            id: format!("review-{}", review.id),
            by: review.user.map(|user| user.login).unwrap_or_default(),
            says,
            body: review.body.unwrap_or_default(),
            commit: review.commit_id,
            at: review.submitted_at,
        }
    }
}

impl Comment {
    fn told(self, kind: &str) -> Remark {
        let line = self.line.filter(|_| self.side.as_deref() != Some("LEFT"));
        Remark {
            id: format!("{kind}-{}", self.id),
            by: self.user.map(|user| user.login).unwrap_or_default(),
            body: self.body.unwrap_or_default(),
            place: self.path.map(|file| Spot { file, line }),
            reply_to: self.in_reply_to_id.map(|id| format!("line-{id}")),
            at: self.created_at,
        }
    }
}
