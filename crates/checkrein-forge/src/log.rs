//! Commits: what was done, by whom, and which of it by a person.

use crate::call::Call;
use crate::error::ForgeError;
use crate::identity::Identity;
use crate::oid::Oid;
use crate::path::TreePath;
use crate::repository::Bare;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub oid: Oid,
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub author_name: String,
    pub author_email: String,
    pub authored_at_seconds: i64,
    pub committer_name: String,
    pub committer_email: String,
    pub committed_at_seconds: i64,
    pub message: String,
}

/// Which commits are looked at.
#[derive(Clone, Copy, Debug)]
pub struct LogWanted<'w> {
    /// What is in it is left out.
    pub since: Option<&'w Oid>,
    pub head: &'w Oid,
    /// Only those that changed it.
    pub path: Option<&'w TreePath>,
    /// So many of the newest are left out.
    pub skip: usize,
    pub limit: usize,
}

impl Commit {
    /// The first line of the message.
    pub fn title(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

impl Bare {
    /// The commits of `head` that are not in `since`, newest first, at most `limit` of them.
    pub fn log(&self, since: Option<&Oid>, head: &Oid, limit: usize) -> Result<Vec<Commit>, ForgeError> {
        self.log_of(&LogWanted { since, head, path: None, skip: 0, limit })
    }

    /// The same from some commit on, or of one file or directory alone.
    pub fn log_of(&self, wanted: &LogWanted<'_>) -> Result<Vec<Commit>, ForgeError> {
        let call = self.call(["log", "-z", FORMAT, "--topo-order", "--no-show-signature"]);
        let call = call.arg(format!("--skip={}", wanted.skip)).arg(format!("--max-count={}", wanted.limit));
        let call = call.args(range(wanted.since, wanted.head));
        // A path is a path, whatever git would read into it.
        let call = call.env("GIT_LITERAL_PATHSPECS", "1");
        commits(call.args(wanted.path.map(TreePath::as_os_str)))
    }

    /// The commit whose name begins so, or one before it: `1a2b3c4d`, `1a2b3c4d~2`. None where there is none, or
    /// several.
    pub fn commit_named(&self, text: &str) -> Result<Option<Oid>, ForgeError> {
        let name = text.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
        let steps = text.get(name..).unwrap_or_default();
        let plain = steps.bytes().all(|byte| matches!(byte, b'~' | b'^' | b'0'..=b'9'));
        if !(4..=64).contains(&name) || !plain || steps.len() > 16 {
            return Ok(None);
        }
        let call = self.call(["rev-parse", "--verify", "--quiet", "--end-of-options"]);
        let answer = call.arg(format!("{text}^{{commit}}")).answer()?;
        Ok(if answer.code == 0 { Some(Oid::from_bytes(&answer.output)?) } else { None })
    }

    /// The commits since one that neither the engine nor an agent made, oldest first.
    ///
    /// What an agent commits gets the agent's name when it is collected, so an agent cannot pass for a person
    /// here.
    pub fn human_commits(
        &self,
        since: Option<&Oid>,
        head: &Oid,
        machines: &[&Identity],
        limit: usize,
    ) -> Result<Vec<Commit>, ForgeError> {
        let mut commits = self.log(since, head, limit)?;
        commits.retain(|commit| !machines.iter().any(|machine| machine.email() == commit.author_email));
        commits.reverse();
        Ok(commits)
    }

    /// The titles of the commits of `head` that are not in `since`, newest first, with the files each of them
    /// changed. At most `limit` of them.
    pub fn changed_by_commit(
        &self,
        since: Option<&Oid>,
        head: &Oid,
        limit: usize,
    ) -> Result<Vec<(String, Vec<TreePath>)>, ForgeError> {
        let call = self.call([
            "log",
            "-z",
            "--format=tformat:%x01%s",
            "--name-only",
            "--no-renames",
            "--topo-order",
        ]);
        let call = call.arg("--no-show-signature").arg(format!("--max-count={limit}"));
        let output = call.args(range(since, head)).run()?;
        let mut changes: Vec<(String, Vec<TreePath>)> = Vec::new();
        for record in output.split(|b| *b == 0) {
            let record = record.strip_prefix(b"\n").unwrap_or(record);
            match (record.strip_prefix(b"\x01"), changes.last_mut()) {
                (Some(title), _) => changes.push((String::from_utf8_lossy(title).into_owned(), Vec::new())),
                (None, Some((_, files))) if !record.is_empty() => files.push(TreePath::new(record)),
                _ => {}
            }
        }
        Ok(changes)
    }

    /// The first commit of a history.
    pub fn root(&self, head: &Oid) -> Result<Oid, ForgeError> {
        let output = self.call(["rev-list", "--max-parents=0", "--first-parent", head.as_str()]).run()?;
        Oid::from_bytes(output.split(|b| *b == b'\n').next().unwrap_or_default())
    }

    /// The newest commit two others have in common.
    pub fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, ForgeError> {
        let call = self.call(["merge-base", one.as_str(), other.as_str()]);
        let place = call.place();
        let answer = call.answer()?;
        match answer.code {
            0 => Oid::from_bytes(answer.output.split(|b| *b == b'\n').next().unwrap_or_default()).map(Some),
            1 => Ok(None),
            _ => Err(answer.failure(place)),
        }
    }

    /// Whether everything in `old` is in `new` too.
    pub fn contains(&self, new: &Oid, old: &Oid) -> Result<bool, ForgeError> {
        is_ancestor(self.call(["merge-base", "--is-ancestor", old.as_str(), new.as_str()]))
    }
}

pub(crate) fn is_ancestor(call: Call) -> Result<bool, ForgeError> {
    let place = call.place();
    let answer = call.answer()?;
    match answer.code {
        0 => Ok(true),
        1 => Ok(false),
        _ => Err(answer.failure(place)),
    }
}

pub(crate) fn range(since: Option<&Oid>, head: &Oid) -> Vec<String> {
    let mut words = vec![head.to_string()];
    words.extend(since.map(|since| format!("^{since}")));
    words.push("--".to_owned());
    words
}

pub(crate) const FORMAT: &str =
    "--format=tformat:%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B";

/// What a call that prints in this format has to say.
pub(crate) fn commits(call: Call) -> Result<Vec<Commit>, ForgeError> {
    let output = call.run()?;
    let mut fields = output.split(|b| *b == 0).map(|field| String::from_utf8_lossy(field).into_owned());
    let mut commits = Vec::new();
    while let Some(oid) = fields.next().filter(|field| !field.is_empty()) {
        let mut next = || fields.next().unwrap_or_default();
        commits.push(Commit {
            oid: Oid::parse(&oid)?,
            tree: Oid::parse(&next())?,
            parents: next().split_ascii_whitespace().map(Oid::parse).collect::<Result<_, _>>()?,
            author_name: next(),
            author_email: next(),
            authored_at_seconds: next().parse().unwrap_or_default(),
            committer_name: next(),
            committer_email: next(),
            committed_at_seconds: next().parse().unwrap_or_default(),
            message: next().trim_end().to_owned(),
        });
    }
    Ok(commits)
}
