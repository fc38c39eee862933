//! The bare repository of a job.
//!
//! It is the job's own, also when the job starts from a repository that was there: that one's working tree,
//! index, branches and configuration stay as they are until the result is published.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::branch::{Branch, Names};
use crate::call::{Call, Stop};
use crate::error::ForgeError;
use crate::git::{ATTRIBUTES, Git, UPLOAD_PACK};
use crate::identity::Signature;
use crate::oid::Oid;
use crate::refs::{Expected, Transaction};

#[derive(Clone, Debug)]
pub struct Bare {
    git: Git,
    path: PathBuf,
    names: Names,
    format: Format,
    /// Under which lease it is worked with, where the job may go on elsewhere.
    epoch: Option<u64>,
}

/// How objects are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Sha1,
    Sha256,
}

/// A repository that was there, looked at without changing anything.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where its references and objects are.
    pub directory: PathBuf,
    /// The branch the job starts from; none if it starts from a commit alone.
    pub branch: Option<String>,
    pub commit: Oid,
    pub(crate) format: Format,
}

impl Format {
    /// The one an object has its name in.
    pub fn of(oid: &Oid) -> Format {
        if oid.as_str().len() == 64 { Format::Sha256 } else { Format::Sha1 }
    }
}

impl Source {
    /// Finds the repository a directory belongs to, and the commit that `revision` is in it; what is checked
    /// out if none is named.
    pub fn look(git: &Git, directory: &Path, revision: Option<&str>) -> Result<Source, ForgeError> {
        let not_one = || ForgeError::NotARepository { path: directory.to_owned() };
        if !directory.is_dir() {
            return Err(not_one());
        }
        let asked =
            ["rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir", "--show-object-format"];
        let answer = git.call(directory, asked).answer()?;
        if answer.code != 0 {
            return Err(not_one());
        }
        let mut lines = answer.output.split(|b| *b == b'\n').map(OsStr::from_bytes);
        let common = PathBuf::from(lines.next().ok_or_else(not_one)?);
        // In a further working tree, what is checked out is its own matter.
        let found = PathBuf::from(lines.next().ok_or_else(not_one)?);
        let format = if lines.next() == Some(OsStr::new("sha256")) { Format::Sha256 } else { Format::Sha1 };

        let revision = revision.unwrap_or("HEAD");
        let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let answer = git.call_on(&found, verify).arg(format!("{revision}^{{commit}}")).answer()?;
        let no_commit = || ForgeError::NoCommit { revision: revision.to_owned(), repository: found.clone() };
        let commit = Oid::from_bytes(&answer.output).map_err(|_| no_commit())?;
        let symbolic =
            ["rev-parse", "--symbolic-full-name", "--verify", "--quiet", "--end-of-options", revision];
        let name = git.call_on(&found, symbolic).answer()?.output;
        let name = String::from_utf8_lossy(&name).trim().to_owned();
        let branch = name.strip_prefix("refs/heads/").map(str::to_owned);
        Ok(Source { directory: common, branch, commit, format })
    }

    /// A repository that was looked at before, and the commit that was found then.
    pub fn again(directory: &Path, branch: Option<String>, commit: Oid) -> Source {
        let format = Format::of(&commit);
        Source { directory: directory.to_owned(), branch, commit, format }
    }

    /// A file of the commit, if it is there and a file.
    pub fn file(&self, git: &Git, path: &str, limit_bytes: usize) -> Result<Option<Vec<u8>>, ForgeError> {
        let name = format!("{}:{path}", self.commit);
        let call = git.call_on(&self.directory, ["cat-file", "blob", &name]).output_bytes(limit_bytes);
        let answer = call.answer()?;
        Ok((answer.code == 0 && !answer.cut).then_some(answer.output))
    }

    /// The addresses of its remotes, `origin` first.
    pub fn remotes(&self, git: &Git) -> Result<Vec<String>, ForgeError> {
        let list = ["config", "--local", "--null", "--get-regexp", r"^remote\..*\.url$"];
        let output = git.call_on(&self.directory, list).answer()?.output;
        let mut found: Vec<(String, String)> = Vec::new();
        for record in output.split(|b| *b == 0) {
            let record = String::from_utf8_lossy(record);
            found.extend(record.split_once('\n').map(|(name, url)| (name.to_owned(), url.to_owned())));
        }
        found.sort_by_key(|(name, _)| name != "remote.origin.url");
        Ok(found.into_iter().map(|(_, url)| url).collect())
    }

    /// The names in a directory of the commit; none if it is not there.
    pub fn names(&self, git: &Git, directory: &str) -> Result<Vec<String>, ForgeError> {
        let name = format!("{}:{directory}", self.commit);
        let answer = git.call_on(&self.directory, ["ls-tree", "-z", "--name-only", &name]).answer()?;
        let names = answer.output.split(|b| *b == 0).filter(|name| !name.is_empty() && answer.code == 0);
        Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
    }
}

impl Bare {
    /// Makes a repository whose main branch has one empty commit. One that is there already is opened.
    pub fn create(git: &Git, path: &Path, names: Names, first: &Signature) -> Result<Bare, ForgeError> {
        Bare::build(git, path, names, Format::Sha1, |bare| {
            let tree = Oid::from_bytes(&bare.call(["mktree"]).run()?)?;
            let commit = bare.commit_tree(&tree, &[], first, first, "start of the job\n")?;
            bare.change(Transaction::default().set(bare.names.main().reference(), &commit, Expected::Absent))
        })
    }

    /// Makes a repository whose main branch starts at a commit of another one. One that is there already is
    /// opened. The history is copied: what happens to the other repository does not reach the job.
    pub fn create_from(git: &Git, path: &Path, names: Names, source: &Source) -> Result<Bare, ForgeError> {
        Bare::build(git, path, names, source.format, |bare| {
            let main = bare.names.main().reference();
            bare.fetch(&source.directory, &format!("{}:{main}", source.commit))
        })
    }

    pub fn open(git: &Git, path: &Path, names: Names) -> Result<Bare, ForgeError> {
        let not_one = |_| ForgeError::NotARepository { path: path.to_owned() };
        let path = path.canonicalize().map_err(not_one)?;
        let config = fs::read_to_string(path.join("config")).map_err(not_one)?;
        let format = if config.contains("objectformat = sha256") { Format::Sha256 } else { Format::Sha1 };
        Ok(Bare { git: git.clone(), path, names, format, epoch: None })
    }

    /// The same under a lease: what somebody who has a later one put into the forge is not taken over.
    #[must_use]
    pub fn under(self, epoch: Option<u64>) -> Bare {
        Bare { epoch, ..self }
    }

    /// The same, with calls of git that somebody else can stop.
    pub fn with_stop(mut self, stop: Stop) -> Bare {
        self.git = self.git.with_stop(stop);
        self
    }

    pub(crate) fn epoch(&self) -> Option<u64> {
        self.epoch
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The commit a branch is at, if it is there.
    pub fn head(&self, branch: &Branch) -> Result<Option<Oid>, ForgeError> {
        Ok(self.references(&[branch.reference()])?.remove(&branch.reference()))
    }

    /// Cuts a branch at a commit. Doing it again is harmless, also when the branch went on since.
    pub fn cut_branch(&self, branch: &Branch, at: &Oid) -> Result<(), ForgeError> {
        let change = Transaction::default().set(branch.reference(), at, Expected::Absent);
        match self.change(change) {
            Err(ForgeError::Moved { found: Some(found), .. }) if self.contains(&found, at)? => Ok(()),
            result => result,
        }
    }

    /// Deletes a branch that is where it was seen, and all that is remembered of its clone. Doing it again is
    /// harmless. Work that waits beside it and is not part of it is kept: the branch it is on.
    pub fn delete_branch(&self, branch: &Branch, expected: &Oid) -> Result<Option<Branch>, ForgeError> {
        let mut change = Transaction::default();
        match self.head(branch)? {
            Some(found) if found != *expected => {
                let (expected, found) = (Some(expected.clone()), Some(found));
                return Err(ForgeError::Moved { branch: branch.to_string(), expected, found });
            }
            Some(found) => change = change.delete(branch.reference(), Expected::At(found)),
            None => {}
        }
        let unmerged = branch.unmerged();
        let mut kept = None;
        for (name, at) in self.references(&[clone_references(branch), unmerged.reference()])? {
            if name == unmerged.reference() && !self.contains(expected, &at)? {
                kept = Some(unmerged.clone());
            } else {
                change = change.delete(name, Expected::At(at));
            }
        }
        self.change(change)?;
        Ok(kept)
    }

    /// Every branch there is, by name.
    pub fn branches(&self) -> Result<Vec<(String, Oid)>, ForgeError> {
        let found = self.references(&["refs/heads".to_owned()])?;
        let short = |name: String| name.strip_prefix("refs/heads/").map(str::to_owned).unwrap_or(name);
        Ok(found.into_iter().map(|(name, oid)| (short(name), oid)).collect())
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    pub(crate) fn format(&self) -> Format {
        self.format
    }

    pub(crate) fn call<I, S>(&self, arguments: I) -> Call
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.git.call_on(&self.path, arguments)
    }

    pub(crate) fn zero(&self) -> String {
        "0".repeat(if self.format == Format::Sha256 { 64 } else { 40 })
    }

    /// A place for what is needed only during a call.
    pub(crate) fn scratch(&self) -> Result<tempfile::TempDir, ForgeError> {
        let place = self.path.join("scratch");
        let made = fs::create_dir_all(&place).and_then(|()| tempfile::tempdir_in(&place));
        made.map_err(|error| ForgeError::file(&place, error))
    }

    pub(crate) fn existing_head(&self, branch: &Branch) -> Result<Oid, ForgeError> {
        let missing = || ForgeError::NoBranch { branch: branch.to_string(), repository: self.path.clone() };
        self.head(branch)?.ok_or_else(missing)
    }

    pub(crate) fn fetch(&self, from: &Path, what: &str) -> Result<(), ForgeError> {
        self.call(FETCH)
            .arg("--update-head-ok")
            .arg(UPLOAD_PACK)
            .arg("--")
            .arg(from)
            .arg(what)
            .run()
            .map(drop)
    }

    /// Builds it beside its place and moves it there, so that half of one is never found.
    pub(crate) fn build<E: From<ForgeError>>(
        git: &Git,
        path: &Path,
        names: Names,
        format: Format,
        fill: impl FnOnce(&Bare) -> Result<(), E>,
    ) -> Result<Bare, E> {
        if path.exists() {
            return Ok(Bare::open(git, path, names)?);
        }
        let parent = path.parent().unwrap_or(Path::new("/"));
        let failed = |error| E::from(ForgeError::file(path, error));
        fs::create_dir_all(parent).map_err(failed)?;
        let building = tempfile::Builder::new().prefix(".building-").tempdir_in(parent).map_err(failed)?;
        init(git, building.path(), format, &names.main())?;
        let mut bare = Bare::open(git, building.path(), names)?;
        for (key, value) in SETTINGS {
            bare.call(["config", key, value]).run()?;
        }
        fill(&bare)?;
        fs::rename(&bare.path, path).map_err(failed)?;
        bare.path = path.canonicalize().map_err(failed)?;
        Ok(bare)
    }
}

pub(crate) const FETCH: [&str; 7] = [
    "fetch",
    "--quiet",
    "--no-tags",
    "--no-write-fetch-head",
    "--no-auto-maintenance",
    "--no-recurse-submodules",
    "--update-shallow",
];

/// An empty repository without anybody's template, in which attributes have no say.
fn init(git: &Git, directory: &Path, format: Format, branch: &Branch) -> Result<(), ForgeError> {
    let format = match format {
        Format::Sha1 => "--object-format=sha1",
        Format::Sha256 => "--object-format=sha256",
    };
    let branch = format!("--initial-branch={branch}");
    git.call(directory, ["init", "--quiet", "--bare", "--template=", format, &branch]).run()?;
    let info = directory.join("info");
    let written = fs::create_dir_all(&info).and_then(|()| fs::write(info.join("attributes"), ATTRIBUTES));
    written.map_err(|error| ForgeError::file(&info, error))
}

/// What a person who pushes to a phase meets: nothing is rewritten or deleted, and what is broken stays out.
const SETTINGS: [(&str, &str); 5] = [
    ("receive.denyNonFastForwards", "true"),
    ("receive.denyDeletes", "true"),
    ("receive.fsckObjects", "true"),
    ("transfer.hideRefs", "refs/checkrein"),
    ("gc.auto", "0"),
];

/// Where it is remembered what was taken out of a branch's clone.
pub(crate) fn clone_references(branch: &Branch) -> String {
    format!("refs/checkrein/clones/{branch}")
}
