//! A forge on loopback that speaks as much of GitHub's API as a job needs, and git by `git http-backend`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use tempfile::TempDir;

pub const TOKEN: &str = "token-of-a-test";
const REPOSITORY: &str = "team/app";

/// Somebody pushes to a branch while somebody else is about to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// Looking at the repository before the push, and the push.
    LookAndPush,
    /// What git saw when it began to push, and its writing of the branch.
    PushAndWrite,
}

pub struct Forge {
    pub url: String,
    state: Arc<State>,
}

struct State {
    url: String,
    root: TempDir,
    /// The one repository; none before it is made.
    repository: Mutex<Option<String>>,
    /// Who pushes in between, to which branch; the last one comes first.
    intruders: Mutex<Vec<(Between, String)>>,
    pulls: Mutex<Vec<Pull>>,
    /// Nobody answers.
    away: AtomicBool,
}

#[derive(Clone, Debug)]
pub struct Pull {
    pub head: String,
    pub base: String,
    pub body: String,
    pub open: bool,
    /// The commit it became part of its base as.
    pub merged: Option<String>,
    pub merges: usize,
    pub sha: String,
    /// Who, and what.
    pub remarks: Vec<(String, String)>,
    /// Who, and how.
    pub reviews: Vec<(String, String, String)>,
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Forge {
    /// With a repository.
    pub fn new() -> Forge {
        let forge = Forge::empty();
        forge.state.make(REPOSITORY);
        forge
    }

    pub fn empty() -> Forge {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let root = TempDir::new().unwrap();
        let state = State {
            url: url.clone(),
            root,
            repository: Mutex::default(),
            intruders: Mutex::default(),
            pulls: Mutex::default(),
            away: AtomicBool::new(false),
        };
        let state = Arc::new(state);
        let known = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&known);
                thread::spawn(move || state.serve(client));
            }
        });
        Forge { url, state }
    }

    /// Settings of a user who reviews there.
    pub fn settings(&self) -> String {
        format!(
            "forge:\n  kind: github\n  url: {}\n  token_env: FORGE_TOKEN\n  poll: 1s\n  people: {{ann: Ann}}\n",
            self.url
        )
    }

    /// A repository somebody works in, whose first commit is in the forge as well.
    pub fn clone_to(&self, place: &Path) {
        std::fs::create_dir_all(place).unwrap();
        git(place, &["init", "--quiet", "--initial-branch=main"]);
        std::fs::write(place.join("README.md"), "An app.\n").unwrap();
        git(place, &["add", "."]);
        git(place, &["commit", "--quiet", "-m", "first"]);
        git(place, &["remote", "add", "origin", &format!("{}/{REPOSITORY}.git", self.url)]);
        git(place, &["push", "--quiet", self.state.bare().to_str().unwrap(), "main"]);
    }

    pub fn pulls(&self) -> Vec<Pull> {
        self.state.pulls.lock().unwrap().clone()
    }

    /// Somebody says something about a pull request.
    pub fn review(&self, number: usize, by: &str, says: &str, body: &str) {
        let mut pulls = self.state.pulls.lock().unwrap();
        pulls[number - 1].reviews.push((by.to_owned(), says.to_owned(), body.to_owned()));
    }

    /// The one repository.
    pub fn repository(&self) -> Option<String> {
        self.state.name()
    }

    /// Whoever pushes next meets these, one after the other.
    pub fn intrude(&self, branch: &str, between: &[Between]) {
        let mut intruders = self.state.intruders.lock().unwrap();
        *intruders = between.iter().rev().map(|between| (*between, branch.to_owned())).collect();
    }

    pub fn set_away(&self, away: bool) {
        self.state.away.store(away, Ordering::Relaxed);
    }

    /// What git says about the repository there.
    pub fn git(&self, arguments: &[&str]) -> String {
        git(&self.state.bare(), arguments)
    }

    /// The titles of the commits on a branch, oldest first; none where there is no such branch.
    pub fn titles(&self, branch: &str) -> Vec<String> {
        let Some(head) = self.state.head(branch) else { return Vec::new() };
        let said = self.git(&["log", "--reverse", "--format=%s", &head]);
        said.lines().map(str::to_owned).collect()
    }

    /// How often a branch was moved there.
    pub fn moves(&self, branch: &str) -> usize {
        self.git(&["reflog", "show", "--format=%H", &format!("refs/heads/{branch}")]).lines().count()
    }
}

impl State {
    fn name(&self) -> Option<String> {
        self.repository.lock().unwrap().clone()
    }

    fn bare(&self) -> PathBuf {
        self.root.path().join(format!("{}.git", self.name().unwrap()))
    }

    fn make(&self, name: &str) {
        let before = self.repository.lock().unwrap().replace(name.to_owned());
        assert_eq!(before, None, "there is one");
        git(
            self.root.path(),
            &["init", "--quiet", "--bare", "--initial-branch=main", &format!("{name}.git")],
        );
        for setting in [["http.receivepack", "true"], ["core.logAllRefUpdates", "always"]] {
            git(&self.bare(), &["config", setting[0], setting[1]]);
        }
    }

    /// Puts a commit of somebody else on a branch, if somebody is to come now.
    fn let_in(&self, now: Between) {
        let mut intruders = self.intruders.lock().unwrap();
        let Some((_, branch)) = intruders.pop_if(|(between, _)| *between == now) else { return };
        let head = self.head(&branch).unwrap();
        let (tree, title) = (format!("{head}^{{tree}}"), format!("in between {}", intruders.len()));
        let commit = git(&self.bare(), &["commit-tree", &tree, "-p", &head, "-m", &title]);
        git(&self.bare(), &["update-ref", &format!("refs/heads/{branch}"), &commit]);
    }

    fn head(&self, branch: &str) -> Option<String> {
        let name = format!("refs/heads/{branch}");
        let asked = ["rev-parse", "--verify", "--quiet", &name];
        let output = git_command(&self.bare(), &asked).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }

    fn serve(&self, client: TcpStream) {
        let Some(request) = read(&client) else { return };
        if self.away.load(Ordering::Relaxed) {
            return;
        }
        let (status, kind, body) = if request.path.contains(".git/") {
            self.git_backend(&request)
        } else {
            let (status, answer) = self.answer(&request);
            (status.to_string(), "application/json".to_owned(), answer.to_string().into_bytes())
        };
        let mut client = client;
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let _ = client.write_all(head.as_bytes()).and_then(|()| client.write_all(&body));
    }

    fn git_backend(&self, request: &Request) -> (String, String, Vec<u8>) {
        let header = |name: &str| {
            let found = request.headers.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        match request.method.as_str() {
            "GET" if request.query == "service=git-receive-pack" => self.let_in(Between::LookAndPush),
            "POST" if request.path.ends_with("/git-receive-pack") => self.let_in(Between::PushAndWrite),
            _ => {}
        }
        let mut command = Command::new("git");
        command.arg("http-backend").env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.env("GIT_PROJECT_ROOT", self.root.path()).env("GIT_HTTP_EXPORT_ALL", "1");
        command.env("REMOTE_USER", "bot").env("REMOTE_ADDR", "127.0.0.1").env("HOME", "/dev/null");
        command.env("PATH_INFO", &request.path).env("QUERY_STRING", &request.query);
        command.env("REQUEST_METHOD", &request.method).env("CONTENT_TYPE", header("content-type"));
        command.env("HTTP_CONTENT_ENCODING", header("content-encoding"));
        command.env("GIT_PROTOCOL", header("git-protocol"));
        command.env("CONTENT_LENGTH", request.body.len().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (mut stdin, body) = (child.stdin.take().unwrap(), request.body.clone());
        let fed = thread::spawn(move || stdin.write_all(&body));
        let output = child.wait_with_output().unwrap().stdout;
        let _ = fed.join();
        let end = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(output.len());
        let head = String::from_utf8_lossy(&output[..end]).into_owned();
        let field = |name: &str| {
            head.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
        };
        let status = field("Status:").unwrap_or_else(|| "200 OK".to_owned());
        (
            status,
            field("Content-Type:").unwrap_or_default(),
            output.get(end + 4..).unwrap_or_default().to_vec(),
        )
    }

    fn answer(&self, request: &Request) -> (u16, Value) {
        let path = request.path.strip_prefix("/api/v3").unwrap_or(&request.path);
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        if path == "/user" {
            return (200, json!({"login": "bot"}));
        }
        if (request.method.as_str(), path) == ("POST", "/orgs/team/repos") {
            let name = format!("team/{}", body["name"].as_str().unwrap_or_default());
            self.make(&name);
            return (201, json!({"full_name": name, "permissions": {"push": true}}));
        }
        let found = self.name().and_then(|name| Some((path.strip_prefix(&format!("/repos/{name}"))?, name)));
        let Some((rest, name)) = found else { return (404, json!({"message": "Not Found"})) };
        let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        let mut pulls = self.pulls.lock().unwrap();
        for pull in pulls.iter_mut().filter(|pull| pull.open) {
            pull.sha = self.head(&pull.head).unwrap_or_else(|| pull.sha.clone());
        }
        // A forge keeps what was on the branch of a pull request.
        for (number, pull) in (1..).zip(pulls.iter()) {
            git(&self.bare(), &["update-ref", &format!("refs/pull/{number}/head"), &pull.sha]);
        }
        match (request.method.as_str(), parts.as_slice()) {
            ("GET", []) => (200, json!({"full_name": name, "permissions": {"push": true}})),
            ("GET", ["pulls"]) => {
                let shown = (1..).zip(pulls.iter()).map(|(number, pull)| self.shown(number, pull));
                (200, if request.query.contains("page=2") { json!([]) } else { shown.collect() })
            }
            ("POST", ["pulls"]) => {
                let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
                let pull = Pull {
                    sha: self.head(&text("head")).unwrap_or_default(),
                    head: text("head"),
                    base: text("base"),
                    body: text("body"),
                    open: true,
                    merged: None,
                    merges: 0,
                    remarks: Vec::new(),
                    reviews: Vec::new(),
                };
                pulls.push(pull.clone());
                (201, self.shown(pulls.len(), &pull))
            }
            (method, [_, number, what @ ..]) => {
                let number: usize = number.parse().unwrap_or_default();
                match number.checked_sub(1).and_then(|index| pulls.get_mut(index)) {
                    Some(pull) => self.of_pull(method, (number, pull), what, &body, &request.query),
                    None => (404, json!({"message": "Not Found"})),
                }
            }
            _ => (404, json!({"message": "Not Found"})),
        }
    }

    fn of_pull(
        &self,
        method: &str,
        (number, pull): (usize, &mut Pull),
        what: &[&str],
        body: &Value,
        query: &str,
    ) -> (u16, Value) {
        let first = !query.contains("page=2");
        let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
        match (method, what) {
            ("GET", []) => (200, self.shown(number, pull)),
            ("PATCH", []) => {
                pull.open = text("state") != "closed" && pull.merged.is_none();
                (200, self.shown(number, pull))
            }
            ("PUT", ["merge"]) if !pull.open || text("sha") != pull.sha => {
                (409, json!({"message": "Head branch was modified"}))
            }
            ("PUT", ["merge"]) => {
                let base = self.head(&pull.base).unwrap();
                let tree = git(&self.bare(), &["merge-tree", "--write-tree", &base, &pull.sha]);
                let message = format!("{}\n\n{}", text("commit_title"), text("commit_message"));
                let tree = tree.lines().next().unwrap().to_owned();
                let commit = git(&self.bare(), &["commit-tree", &tree, "-p", &base, "-m", message.trim()]);
                git(&self.bare(), &["update-ref", &format!("refs/heads/{}", pull.base), &commit, &base]);
                (pull.open, pull.merged, pull.merges) = (false, Some(commit.clone()), pull.merges + 1);
                (200, json!({"merged": true, "sha": commit}))
            }
            ("GET", ["reviews"]) => {
                let one = |(id, (by, says, body)): (usize, &(String, String, String))| {
                    json!({"id": id, "user": {"login": by}, "state": says, "body": body, "commit_id": pull.sha,
                           "submitted_at": "2999-01-01T00:00:00Z"})
                };
                (200, if first { (1..).zip(&pull.reviews).map(one).collect() } else { json!([]) })
            }
            ("GET", ["comments"]) => {
                let one = |(id, (by, body)): (usize, &(String, String))| json!({"id": id, "user": {"login": by}, "body": body, "created_at": "2026-01-01T00:00:00Z"});
                (200, if first { (1..).zip(&pull.remarks).map(one).collect() } else { json!([]) })
            }
            ("POST", ["comments"]) => {
                pull.remarks.push(("bot".to_owned(), text("body")));
                (201, json!({"id": pull.remarks.len()}))
            }
            _ => (404, json!({"message": "Not Found"})),
        }
    }

    fn shown(&self, number: usize, pull: &Pull) -> Value {
        json!({
            "number": number, "html_url": format!("{}/{}/pull/{number}", self.url, self.name().unwrap_or_default()),
            "state": if pull.open { "open" } else { "closed" }, "body": pull.body,
            "merged_at": pull.merged.as_ref().map(|_| "2026-01-01T00:00:00Z"), "merge_commit_sha": pull.merged,
            "merged_by": pull.merged.as_ref().map(|_| json!({"login": "bot"})),
            "head": {"ref": pull.head, "sha": pull.sha}, "base": {"ref": pull.base, "sha": ""},
        })
    }
}

fn read(client: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let header =
        |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    if header("expect").is_some() {
        (&*client).write_all(b"HTTP/1.1 100 Continue\r\n\r\n").ok()?;
    }
    let mut body = Vec::new();
    if header("transfer-encoding") == Some("chunked") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = u64::from_str_radix(size.trim(), 16).ok()?;
            reader.by_ref().take(size).read_to_end(&mut body).ok()?;
            reader.read_line(&mut String::new()).ok()?;
            if size == 0 {
                break;
            }
        }
    } else {
        let length = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        reader.by_ref().take(length).read_to_end(&mut body).ok()?;
    }
    Some(Request { method, path: path.to_owned(), query: query.to_owned(), headers, body })
}

pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = git_command(directory, arguments).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {words}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub fn git_command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.current_dir(directory).args(arguments).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", "/dev/null");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Ann").env(format!("GIT_{role}_EMAIL"), "ann@example.com");
    }
    command
}
