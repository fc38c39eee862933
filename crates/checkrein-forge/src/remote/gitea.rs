//! Gitea and Forgejo.

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
pub(super) struct Gitea {
    pub http: Http,
    pub repository: String,
}

/// How Gitea and Forgejo say that a rule of the branch is in the way.
const RULES: [&str; 7] = [
    "required status checks",
    "enough approvals",
    "requested changes",
    "official review requests",
    "behind the base branch",
    "protected files",
    "not allowed to merge",
];

/// So many pages of pull requests are looked through for one of ours.
const RECENT_PAGES: usize = 4;

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
    merged: bool,
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
    #[serde(default)]
    statuses: Option<Vec<Status>>,
}

#[derive(Deserialize)]
struct Status {
    context: String,
    status: String,
}

#[derive(Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    name: String,
    #[serde(default)]
    sha: String,
}

#[derive(Deserialize)]
struct Review {
    id: u64,
    #[serde(default)]
    user: Option<User>,
    state: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    commit_id: String,
    #[serde(default)]
    dismissed: bool,
    #[serde(default)]
    comments_count: u64,
    #[serde(default)]
    submitted_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    path: Option<String>,
    /// Of the file as it is; 0 where it is about a line that was removed.
    #[serde(default)]
    position: u32,
}

#[derive(Deserialize)]
struct Happened {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    user: Option<User>,
}

impl Gitea {
    pub fn new(http: Http, repository: &str) -> Gitea {
        Gitea { http, repository: repository.to_owned() }
    }

    fn path(&self, rest: &str) -> String {
        format!("/repos/{}{rest}", self.repository)
    }

    pub async fn account(&self) -> Result<Account, RemoteError> {
        let user: User = self.http.get("/user").await?;
        Ok(Account { login: user.login, scopes: None })
    }

    /// A token without a scope is refused before anything is looked for, so what is asked for is nothing that
    /// is there.
    pub async fn lacks(&self, account: &Account, owner: Option<&str>) -> Result<Vec<String>, RemoteError> {
        let nowhere = format!("/repos/{}/checkrein-doctor-looks-for-nothing", segment(&account.login));
        let mut lacks = Vec::new();
        let mut wanted = vec![
            ("write:repository", format!("{nowhere}/pulls")),
            ("write:issue", format!("{nowhere}/issues/1/comments")),
        ];
        // A repository without a name is not made.
        wanted.extend(owner.map(|owner| match owner.eq_ignore_ascii_case(&account.login) {
            true => ("write:user", repositories_of(owner, &account.login)),
            false => ("write:organization", repositories_of(owner, &account.login)),
        }));
        for (scope, path) in wanted {
            match self.http.send(Method::POST, &path, &json!({})).await {
                Err(RemoteError::Refused { status: 403, .. }) => lacks.push(scope.to_owned()),
                Ok(_) | Err(RemoteError::NotFound { .. } | RemoteError::Refused { .. }) => {}
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
        let path = repositories_of(owner, login);
        let body = json!({"name": name, "description": about, "private": true, "auto_init": false, "default_branch": "main"});
        let told = self.http.send(Method::POST, &path, &body).await?;
        read::<Repository>(&told).map(Found::from)
    }

    /// What was changed last comes first; what is looked for was changed not long ago.
    pub async fn pulls_of(&self) -> Result<Vec<PullRequest>, RemoteError> {
        let path = self.path("/pulls?state=all&sort=recentupdate");
        let pulls: Vec<Pull> = self.http.list(&path, "limit", RECENT_PAGES).await?;
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
        let path = self.path(&format!("/issues/{number}/timeline"));
        let happened: Vec<Happened> = self.http.list(&path, "limit", PAGES_MAX).await?;
        let last = happened.into_iter().rev().find(|event| event.kind == "close" || event.kind == "reopen");
        Ok(last.filter(|event| event.kind == "close").and_then(|event| event.user).map(|user| user.login))
    }

    pub async fn opinions(&self, number: u64) -> Result<Vec<Opinion>, RemoteError> {
        let reviews = self.reviews(number).await?;
        Ok(reviews.into_iter().map(Opinion::from).collect())
    }

    async fn reviews(&self, number: u64) -> Result<Vec<Review>, RemoteError> {
        self.http.list(&self.path(&format!("/pulls/{number}/reviews")), "limit", PAGES_MAX).await
    }

    pub async fn remarks(&self, number: u64) -> Result<Vec<Remark>, RemoteError> {
        let mut remarks = Vec::new();
        for review in self.reviews(number).await? {
            if review.comments_count == 0 || review.state == "PENDING" {
                continue;
            }
            let path = self.path(&format!("/pulls/{number}/reviews/{}/comments", review.id));
            let comments: Vec<Comment> = self.http.get(&path).await?;
            remarks.extend(comments.into_iter().map(|comment| comment.told("line")));
        }
        let path = self.path(&format!("/issues/{number}/comments"));
        // This list has no pages.
        let comments: Vec<Comment> = self.http.get(&path).await?;
        remarks.extend(comments.into_iter().map(|comment| comment.told("whole")));
        Ok(remarks)
    }

    pub async fn remark(&self, number: u64, new: &NewRemark<'_>) -> Result<(), RemoteError> {
        if let Some((file, line, commit)) = new.at {
            self.withdraw_halves(number).await?;
            let comments = json!([{"path": file, "body": new.body, "new_position": line}]);
            let body = json!({"event": "COMMENT", "commit_id": commit, "comments": comments});
            let path = self.path(&format!("/pulls/{number}/reviews"));
            return self.http.send(Method::POST, &path, &body).await.map(drop);
        }
        let path = self.path(&format!("/issues/{number}/comments"));
        self.http.send(Method::POST, &path, &json!({"body": new.body})).await.map(drop)
    }

    /// A request that was cut off may have left a remark that was not sent; the next one would send both.
    async fn withdraw_halves(&self, number: u64) -> Result<(), RemoteError> {
        for review in self.reviews(number).await?.iter().filter(|review| review.state == "PENDING") {
            let path = self.path(&format!("/pulls/{number}/reviews/{}", review.id));
            self.http.ask(Method::DELETE, &path, None).await?;
        }
        Ok(())
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
            "Do": how,
            "MergeTitleField": merge.title,
            "MergeMessageField": merge.message,
            "head_commit_id": merge.head,
            "delete_branch_after_merge": false,
        });
        let path = self.path(&format!("/pulls/{number}/merge"));
        let sent = self.http.send(Method::POST, &path, &body).await;
        sent.map(drop).map_err(|error| error.of_rules(&RULES))
    }

    pub async fn checks(&self, commit: &str) -> Result<Vec<Check>, RemoteError> {
        let found: Statuses =
            self.http.get(&self.path(&format!("/commits/{}/status", segment(commit)))).await?;
        let statuses = found.statuses.unwrap_or_default();
        Ok(statuses.into_iter().map(|status| Check::new(status.context, status.status)).collect())
    }
}

/// Where a repository of somebody's is made.
fn repositories_of(owner: &str, login: &str) -> String {
    match owner.eq_ignore_ascii_case(login) {
        true => "/user/repos".to_owned(),
        false => format!("/orgs/{}/repos", segment(owner)),
    }
}

fn pull(told: &Told) -> Result<PullRequest, RemoteError> {
    read::<Pull>(told).map(|pull| pull.told(told.at()))
}

impl Pull {
    fn told(self, told_at: Option<Timestamp>) -> PullRequest {
        let state = match (self.merged, self.state.as_str()) {
            (true, _) => PullState::Merged,
            (false, "open") => PullState::Open,
            (false, _) => PullState::Closed,
        };
        PullRequest {
            number: self.number,
            url: self.html_url,
            state,
            head: self.head.sha,
            head_branch: self.head.name,
            base_branch: self.base.name,
            merged_by: self.merged_by.map(|user| user.login),
            merged_as: self.merge_commit_sha.filter(|commit| self.merged && !commit.is_empty()),
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
        let says = match (review.dismissed, review.state.as_str()) {
            (true, _) => Says::Nothing,
            (false, "APPROVED") => Says::Approve,
            (false, "REQUEST_CHANGES") => Says::RequestChanges,
            (false, "COMMENT") => Says::Comment,
            (false, _) => Says::Nothing,
        };
        Opinion {
            id: format!("review-{}", review.id),
            by: review.user.map(|user| user.login).unwrap_or_default(),
            says,
            body: review.body,
            commit: Some(review.commit_id).filter(|commit| !commit.is_empty()),
            at: review.submitted_at,
        }
    }
}

impl Comment {
    fn told(self, kind: &str) -> Remark {
        Remark {
            id: format!("{kind}-{}", self.id),
            by: self.user.map(|user| user.login).unwrap_or_default(),
            body: self.body,
            place: self.path.map(|file| Spot { file, line: Some(self.position).filter(|line| *line > 0) }),
            // What stands at the same line is one conversation.
            reply_to: None,
            at: self.created_at,
        }
    }
}
