"""Servers on loopback for the tests of forges: started, asked over HTTP, and stopped at the end."""

import base64
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

# No test fails because it took long; one that hangs ends.
PATIENCE = int(os.environ.get("CHECKREIN_FORGE_PATIENCE", "300"))


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def until(what, check):
    """Waits for a condition, however loaded the machine is."""
    patience = PATIENCE
    begun = time.monotonic()
    while True:
        found = check()
        if found:
            return found
        if time.monotonic() - begun > patience:
            raise AssertionError(f"waited {patience} s for: {what}")
        time.sleep(0.2)


class Api:
    """Somebody's account at a forge."""

    def __init__(self, url, prefix, login, token, scheme):
        self.url, self.prefix, self.login, self.token, self.scheme = url, prefix, login, token, scheme

    def ask(self, method, path, body=None, expect=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + self.prefix + path, data=data, method=method)
        request.add_header("Authorization", f"{self.scheme} {self.token}")
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        if expect is not None and status != expect or expect is None and status >= 300:
            raise AssertionError(f"{method} {path} as {self.login}: {status} {text.decode()[:600]}")
        return json.loads(text) if text.strip() else None

    def header(self):
        login = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return f"Authorization: Basic {login}"


def git(*arguments, cwd=None, header=None, check=True):
    """Git as a person would use it, with nothing of this machine's settings."""
    env = {
        "PATH": os.environ["PATH"], "HOME": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.com",
        "GIT_COMMITTER_NAME": "Ann", "GIT_COMMITTER_EMAIL": "ann@example.com",
    }
    settings = [("init.defaultBranch", "main"), ("safe.directory", "*")]
    if header:
        settings.append(("http.extraHeader", header))
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings):
        env[f"GIT_CONFIG_KEY_{number}"], env[f"GIT_CONFIG_VALUE_{number}"] = key, value
    done = subprocess.run(["git", *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
    if check and done.returncode != 0:
        raise AssertionError(f"git {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


class Gitea:
    """A real Gitea with a bot, two people and an organisation."""

    kind = "gitea"
    prefix = "/api/v1"
    scheme = "token"

    def __init__(self, place):
        self.program, self.root = pathlib.Path(place) / "gitea", pathlib.Path(place) / "root"
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="checkrein-gitea-"))
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        # With every push it starts itself several times, for moments: nothing is collected in so short a life.
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "USER": "root", "GOGC": "off", "GOMEMLIMIT": "1GiB"}
        self.lock, self.bot_tokens = threading.Lock(), {}
        (self.home / "app.ini").write_text(
            f"""I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
APP_NAME = forge
RUN_MODE = prod
WORK_PATH = {self.home}
[server]
STATIC_ROOT_PATH = {self.root}
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {self.port}
ROOT_URL = {self.url}/
DISABLE_SSH = true
OFFLINE_MODE = true
LFS_START_SERVER = false
[database]
DB_TYPE = sqlite3
PATH = {self.home}/gitea.db
SQLITE_JOURNAL_MODE = WAL
SQLITE_TIMEOUT = 60000
[repository]
ROOT = {self.home}/repositories
[security]
INSTALL_LOCK = true
SECRET_KEY = of-a-test
INTERNAL_TOKEN = of-a-test
PASSWORD_HASH_ALGO = pbkdf2$1$8
[service]
DISABLE_REGISTRATION = true
[log]
MODE = file
LEVEL = warn
ROOT_PATH = {self.home}/log
[webhook]
ALLOWED_HOST_LIST = loopback
[cron]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
[queue]
TYPE = channel
"""
        )
        self.call("migrate")
        self.accounts = {}
        for login in ("bot", "ann", "bob", "zoe"):
            self.call("admin", "user", "create", "--username", login, "--password", "of-a-test-1", "--email",
                      f"{login}@example.com", "--must-change-password=false", "--admin=false")
            token = self.token(login, "all")
            self.accounts[login] = Api(self.url, self.prefix, login, token, self.scheme)
        self.start()
        self.accounts["bot"].ask("POST", "/orgs", {"username": "team"})

    def token(self, login, scopes):
        said = self.call("admin", "user", "generate-access-token", "--username", login, "--token-name",
                         f"{scopes}-{time.time_ns()}", "--scopes", scopes, "--raw")
        return said.strip().splitlines()[-1].strip()

    def bot_token(self, owner):
        """With the scopes that the manual names, and no others."""
        more = {None: "", "bot": ",write:user"}.get(owner, ",write:organization")
        scopes = f"read:user,write:repository,write:issue{more}"
        with self.lock:
            if scopes not in self.bot_tokens:
                self.bot_tokens[scopes] = self.token("bot", scopes)
            return self.bot_tokens[scopes]

    def call(self, *arguments):
        done = subprocess.run([self.program, "--config", self.home / "app.ini", *arguments], capture_output=True,
                              text=True, timeout=300, env=self.env)
        if done.returncode != 0:
            raise AssertionError(f"gitea {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def start(self):
        out = open(self.home / "out", "ab")
        self.process = subprocess.Popen([self.program, "--config", self.home / "app.ini", "web"], stdout=out, stderr=out,
                                        env=self.env)
        until("Gitea to answer", self.answers)

    def answers(self):
        try:
            with urllib.request.urlopen(self.url + "/api/healthz", timeout=5):
                return True
        except OSError:
            assert self.process.poll() is None, (self.home / "out").read_text()
            return False

    def pause(self):
        """Nobody answers until it is started again."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def make_repository(self, name):
        """A repository of the bot's that people may write to, with a first commit."""
        bot = self.accounts["bot"]
        bot.ask("POST", "/user/repos", {"name": name, "private": True, "auto_init": False, "default_branch": "main"})
        for login in ("ann", "bob", "zoe"):
            self.may_see(f"bot/{name}", login)
        return f"bot/{name}"

    def may_see(self, repository, login):
        self.accounts["bot"].ask("PUT", f"/repos/{repository}/collaborators/{login}", {"permission": "admin"})

    def protect(self, repository, branches, push=True, approvals=0, checks=()):
        rule = {"rule_name": branches, "enable_push": push, "required_approvals": approvals,
                "enable_status_check": bool(checks), "status_check_contexts": list(checks)}
        self.accounts["bot"].ask("POST", f"/repos/{repository}/branch_protections", rule)

    def unprotect(self, repository, branches):
        name = urllib.parse.quote(branches, safe="")
        self.accounts["bot"].ask("DELETE", f"/repos/{repository}/branch_protections/{name}")

    def check(self, repository, commit, name, state):
        """A check says how a commit is."""
        self.accounts["bob"].ask("POST", f"/repos/{repository}/statuses/{commit}", {"state": state, "context": name})

    def rename(self, repository, name):
        self.accounts["bot"].ask("PATCH", f"/repos/{repository}", {"name": name})
        return f"{repository.split('/')[0]}/{name}"

    def archive(self, repository, archived):
        self.accounts["bot"].ask("PATCH", f"/repos/{repository}", {"archived": archived})

    def hook(self, repository, url, secret):
        config = {"url": url, "content_type": "json", "secret": secret}
        events = ["pull_request", "pull_request_approved", "pull_request_rejected", "pull_request_comment", "push"]
        self.accounts["bot"].ask("POST", f"/repos/{repository}/hooks",
                                 {"type": "gitea", "config": config, "events": events, "active": True})

