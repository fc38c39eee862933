"""A stateful stand-in for GitHub on loopback. Every request and every reply is checked against the vendor's own
description of the API; replies begin as the examples that are in it."""

import base64
import copy
import datetime
import fnmatch
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request

import jsonschema
import referencing
from referencing.jsonschema import DRAFT202012

from servers import Api

PEOPLE = ("bot", "ann", "bob", "zoe")
ORGANISATION = "team"
NAME = "urn:description"
# GitHub's words for a push that a rule forbids.
PROTECTION = """#!/bin/sh
while read -r pattern; do
    case "$1" in
        refs/heads/$pattern) echo "error: GH006: Protected branch update failed for $1." >&2; exit 1 ;;
    esac
done < protected
"""


def nullable(node):
    """OpenAPI 3.0 says `nullable` where JSON Schema says `null`."""
    if isinstance(node, list):
        return [nullable(one) for one in node]
    if not isinstance(node, dict):
        return node
    node = {key: nullable(value) for key, value in node.items()}
    if node.pop("nullable", False) is True:
        return {"anyOf": [node, {"type": "null"}]}
    return node


class Description:
    def __init__(self, file):
        with open(file) as text:
            self.document = json.load(text)
        kept = {"components": nullable(self.document["components"])}
        resource = DRAFT202012.create_resource(kept)
        self.registry = referencing.Registry().with_resource(NAME, resource)
        self.violations = []
        self.checked = 0
        self.validators = {}
        self.patterns = []
        for path in self.document["paths"]:
            pattern = re.sub(r"\{[^}]+\}", "([^/]+)", path)
            self.patterns.append((re.compile(f"^{pattern}$"), path))
        # What names a thing goes before what takes anything.
        self.patterns.sort(key=lambda row: row[1].count("{"))

    def operation(self, method, path):
        for pattern, name in self.patterns:
            found = self.document["paths"][name].get(method.lower()) if pattern.match(path) else None
            if found:
                return name, found
        return None, None

    def check(self, what, schema, value):
        self.checked += 1
        validator = self.validators.get(what)
        if validator is None:
            text = json.dumps(nullable(schema)).replace('"#/components/', f'"{NAME}#/components/')
            validator = jsonschema.Draft202012Validator(json.loads(text), registry=self.registry)
            self.validators[what] = validator
        for error in list(validator.iter_errors(value))[:3]:
            self.violations.append(f"{what}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")

    def resolved(self, node):
        while isinstance(node, dict) and "$ref" in node:
            found = self.document
            for part in node["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            node = found
        return node

    def request(self, method, path, query, body):
        name, operation = self.operation(method, path)
        if operation is None:
            self.violations.append(f"{method} {path} is not in the description")
            return
        known = {self.resolved(one)["name"] for one in operation.get("parameters", []) if self.resolved(one)["in"] == "query"}
        for key in query:
            if key not in known:
                self.violations.append(f"{method} {name}: nobody knows `{key}`")
        wanted = operation.get("requestBody")
        if wanted and body is not None:
            schema = self.resolved(wanted)["content"]["application/json"]["schema"]
            self.check(f"request of {method} {name}", schema, body)

    def reply(self, method, path, status, body):
        name, operation = self.operation(method, path)
        if operation is None or status in (401, 429, 502, 503):
            return
        answer = operation["responses"].get(str(status))
        if answer is None:
            self.violations.append(f"{method} {name} does not answer {status}")
            return
        content = self.resolved(answer).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema and body is not None:
            self.check(f"reply {status} of {method} {name}", schema, body)

    def example(self, method, path, status):
        operation = self.document["paths"][path][method]
        content = self.resolved(operation["responses"][str(status)])["content"]["application/json"]
        examples = content.get("examples") or {"one": {"value": content.get("example")}}
        one = examples.get("default") or next(iter(examples.values()))
        value = copy.deepcopy(self.resolved(one)["value"])
        return value[0] if isinstance(value, list) else value


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Refusal(Exception):
    def __init__(self, status, message, headers=None, errors=None):
        super().__init__(message)
        self.status, self.message, self.headers, self.errors = status, message, headers or {}, errors


class Github:
    kind = "github"
    prefix = "/api/v3"
    scheme = "Bearer"

    def __init__(self, description):
        self.description = Description(description)
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="checkrein-github-"))
        self.lock = threading.RLock()
        self.repositories, self.ids = {}, 1000
        # What a repository was called before, and the repository.
        self.moved = {}
        self.weather = []
        self.log = []
        self.down = False
        self.tokens = {}
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def serve(self):
                stand_in.serve(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, request, address):
                # Whoever is killed hangs up in the middle of a request.
                if not isinstance(sys.exc_info()[1], ConnectionError):
                    super().handle_error(request, address)

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.accounts = {}
        for login in PEOPLE:
            self.accounts[login] = Api(self.url, self.prefix, login, self.token(login, "repo, read:org"), self.scheme)

    def stop(self):
        self.server.shutdown()
        shutil.rmtree(self.home, ignore_errors=True)

    def pause(self):
        """Nobody answers until it is started again."""
        self.down = True

    def start(self):
        self.down = False

    def token(self, login, scopes=None, may=()):
        """A classic token has scopes; a fine-grained one has none, and may write what is named."""
        token = f"token-of-{login}-{len(self.tokens)}"
        self.tokens[token] = {"login": login, "scopes": scopes, "may": may}
        return token

    def bot_token(self, _):
        """With the scope that the manual names, and no others."""
        return self.token("bot", "repo")

    # What people set up beside the API.

    def make_repository(self, name):
        self.new_repository("bot", name)
        return f"bot/{name}"

    def new_repository(self, owner, name):
        bare = self.home / owner / f"{name}.git"
        bare.parent.mkdir(exist_ok=True)
        subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", bare], check=True)
        subprocess.run(["git", "-C", bare, "config", "http.receivepack", "true"], check=True)
        (bare / "protected").write_text("")
        (bare / "hooks").mkdir(exist_ok=True)
        (bare / "hooks" / "update").write_text(PROTECTION)
        (bare / "hooks" / "update").chmod(0o755)
        self.repositories[f"{owner}/{name}"] = {
            "bare": bare, "pulls": {}, "number": 0, "name": f"{owner}/{name}", "id": self.next_id(), "rules": {},
            "statuses": {}, "hooks": [], "archived": False,
        }

    def may_see(self, repository, login):
        """Everybody sees everything here."""

    def protect(self, repository, branches, push=True, approvals=0, checks=()):
        with self.lock:
            found = self.repositories[repository]
            found["rules"][branches] = {"push": push, "approvals": approvals, "checks": checks}
            closed = [pattern for pattern, rule in found["rules"].items() if not rule["push"]]
            (found["bare"] / "protected").write_text("".join(f"{pattern}\n" for pattern in closed))

    def unprotect(self, repository, branches):
        self.protect(repository, branches)

    def check(self, repository, commit, name, state):
        """A check says how a commit is."""
        self.accounts["bob"].ask("POST", f"/repos/{repository}/statuses/{commit}", {"state": state, "context": name})

    def rename(self, repository, name):
        with self.lock:
            found = self.repositories.pop(repository)
            owner = repository.split("/")[0]
            bare = found["bare"].with_name(f"{name}.git")
            found["bare"].rename(bare)
            found.update(bare=bare, name=f"{owner}/{name}")
            self.repositories[found["name"]] = found
            self.moved[repository] = found
        return f"{owner}/{name}"

    def archive(self, repository, archived):
        self.repositories[repository]["archived"] = archived

    def hook(self, repository, url, secret):
        self.repositories[repository]["hooks"].append((url, secret))

    def tell(self, repository):
        """Somebody changed something: who asked to be told is."""
        body = json.dumps({"action": "edited", "repository": {"full_name": repository["name"]}}).encode()
        for url, secret in repository["hooks"]:
            request = urllib.request.Request(url, data=body, method="POST")
            signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
            request.add_header("Content-Type", "application/json")
            request.add_header("X-GitHub-Event", "pull_request")
            request.add_header("X-Hub-Signature-256", f"sha256={signature}")
            threading.Thread(target=lambda: urllib.request.urlopen(request, timeout=60).close(), daemon=True).start()

    def git(self, repository, *arguments, check=True, **more):
        env = {"PATH": os.environ["PATH"], "HOME": "/dev/null", "GIT_AUTHOR_NAME": "GitHub", "GIT_AUTHOR_EMAIL": "g@example.com",
               "GIT_COMMITTER_NAME": "GitHub", "GIT_COMMITTER_EMAIL": "g@example.com"}
        done = subprocess.run(["git", "-C", repository["bare"], *arguments], env=env, capture_output=True, text=True, **more)
        if check and done.returncode != 0:
            raise Refusal(409, done.stderr)
        return done.stdout.strip() if done.returncode == 0 else None

    # HTTP

    def serve(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        length = int(handler.headers.get("Content-Length") or 0)
        chunked = handler.headers.get("Transfer-Encoding", "") == "chunked"
        data = read_chunks(handler.rfile) if chunked else handler.rfile.read(length)
        if self.down:
            handler.close_connection = True
            return
        if ".git/" in url.path:
            return self.serve_git(handler, url, data)
        method, path = handler.command, urllib.parse.unquote(url.path).removeprefix(self.prefix)
        query = dict(urllib.parse.parse_qsl(url.query))
        body = json.loads(data) if data else None
        headers, described = {}, True
        try:
            token = self.token_of(handler.headers.get("Authorization", ""))
            login = token["login"]
            path = self.by_id(path)
            found = self.moved_from(path)
            if found:
                # It leads to the number of the repository, which is described nowhere.
                old, repository = found
                to = f"{self.url}{self.prefix}/repositories/{repository['id']}{path.removeprefix('/repos/' + old)}"
                to += f"?{url.query}" if url.query else ""
                status = 301 if method == "GET" else 307
                answer = json.dumps({"message": "Moved Permanently", "url": to}).encode()
                return send(handler, status, answer, {"Content-Type": "application/json", "Location": to})
            self.description.request(method, path, query, body)
            lacks = lacking(token, method, path)
            if lacks:
                described = False
                raise Refusal(403, "Resource not accessible by personal access token",
                              {"X-Accepted-GitHub-Permissions": f"{lacks}=write"})
            with self.lock:
                self.log.append((login, method, path))
                for storm in list(self.weather):
                    if storm["when"](login, method, path):
                        storm["times"] -= 1
                        if storm["times"] <= 0:
                            self.weather.remove(storm)
                        # How a server is out of order is described nowhere.
                        described = False
                        raise Refusal(storm["status"], storm["message"], storm.get("headers"))
                status, answer = self.answer(login, method, path, query, body)
                named = re.match(r"^/repos/([^/]+/[^/]+)/", path)
                if method != "GET" and named and named.group(1) in self.repositories:
                    self.tell(self.repositories[named.group(1)])
        except Refusal as refusal:
            status, headers = refusal.status, refusal.headers
            answer = {"message": refusal.message, "documentation_url": "https://docs.github.com/rest", "status": str(status)}
            if refusal.errors:
                answer["errors"] = refusal.errors
        if described:
            self.description.reply(method, path, status, answer)
        if method == "GET" and path == "/user" and status == 200 and token["scopes"] is not None:
            headers["X-OAuth-Scopes"] = token["scopes"]
        send(handler, status, json.dumps(answer).encode(), {"Content-Type": "application/json", **headers})

    def token_of(self, header):
        scheme, _, token = header.partition(" ")
        if scheme.lower() == "basic":
            token = base64.b64decode(token).decode().split(":", 1)[1]
        if token not in self.tokens:
            raise Refusal(401, "Bad credentials")
        return self.tokens[token]

    def by_id(self, path):
        """The path of a repository that is asked for by its number."""
        found = re.match(r"^/repositories/(\d+)(.*)$", path)
        if not found:
            return path
        [name] = [name for name, one in self.repositories.items() if one["id"] == int(found.group(1))]
        return f"/repos/{name}{found.group(2)}"

    def moved_from(self, path):
        for old, repository in self.moved.items():
            if path == f"/repos/{old}" or path.startswith(f"/repos/{old}/"):
                return old, repository
        return None

    def serve_git(self, handler, url, data):
        try:
            login = self.token_of(handler.headers.get("Authorization", ""))["login"]
        except Refusal:
            return send(handler, 401, b"no", {"WWW-Authenticate": "Basic"})
        name, _, rest = url.path.removeprefix("/").partition(".git/")
        # Nobody renames it while git is at it.
        with self.lock:
            if name in self.moved:
                to = f"{self.url}/{self.moved[name]['name']}.git/{rest}?{url.query}"
                return send(handler, 301, b"", {"Location": to})
            if name not in self.repositories:
                return send(handler, 404, b"not found", {})
            env = {
                "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.home), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": f"/{name}.git/{rest}",
                "QUERY_STRING": url.query, "REQUEST_METHOD": handler.command, "REMOTE_USER": login, "HOME": "/dev/null",
                "CONTENT_TYPE": handler.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(data)),
                "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
            }
            done = subprocess.run(["git", "http-backend"], env=env, input=data, capture_output=True)
            self.follow(self.repositories[name], login)
            if rest == "git-receive-pack":
                self.tell(self.repositories[name])
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        status = int(headers.pop("Status", "200").split()[0])
        send(handler, status, body, headers)

    def follow(self, repository, login):
        """Pull requests are of what is on their branches; one that lost either of them is closed."""
        for pull in repository["pulls"].values():
            if pull["state"] != "open":
                continue
            head = self.git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{pull['head']}", check=False)
            base = self.git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{pull['base']}", check=False)
            if head is None or base is None:
                pull.update(state="closed", closed_by=login, closed_at=now())
            elif head != pull["sha"]:
                pull["sha"] = head
                self.git(repository, "update-ref", f"refs/pull/{pull['number']}/head", head)

    # The API

    def answer(self, login, method, path, query, body):
        if path == "/user":
            user = self.description.example("get", "/user", 200)
            return 200, {**user, **self.user(login)}
        if path in ("/user/repos", f"/orgs/{ORGANISATION}/repos"):
            owner = login if path == "/user/repos" else ORGANISATION
            if f"{owner}/{body['name']}" in self.repositories:
                raise Refusal(422, "Repository creation failed.", errors=[
                    {"resource": "Repository", "code": "custom", "field": "name", "message": "name already exists on this account"}])
            self.new_repository(owner, body["name"])
            return 201, self.repository(f"{owner}/{body['name']}")
        found = re.match(r"^/repos/([^/]+/[^/]+)(/.*)?$", path)
        name, rest = found.group(1), found.group(2) or ""
        if name not in self.repositories:
            raise Refusal(404, "Not Found")
        repository = self.repositories[name]
        if rest == "":
            return 200, self.repository(name)
        if rest == "/pulls":
            return self.pulls(repository, login, method, query, body)
        if rest == "/git/refs":
            raise Refusal(422, "Object does not exist")
        found = re.match(r"^/statuses/(\w+)$", rest)
        if found:
            repository["statuses"].setdefault(found.group(1), {})[body["context"]] = body["state"]
            example = self.description.example("post", "/repos/{owner}/{repo}/statuses/{sha}", 201)
            return 201, {**example, "state": body["state"], "context": body["context"]}
        found = re.match(r"^/commits/(\w+)/(status|check-runs)$", rest)
        if found:
            return 200, self.checks(repository, found.group(1), found.group(2))
        found = re.match(r"^/(pulls|issues)/(\d+)(/.*)?$", rest)
        pull = repository["pulls"].get(int(found.group(2)))
        if pull is None:
            raise Refusal(404, "Not Found")
        return self.of_pull(repository, pull, login, method, found.group(1) + (found.group(3) or ""), body, query)

    def pulls(self, repository, login, method, query, body):
        if method == "GET":
            head = query.get("head", ":").split(":", 1)[1]
            found = [pull for pull in repository["pulls"].values()
                     if query.get("state", "open") in ("all", pull["state"]) and head in ("", pull["head"])
                     and query.get("base", pull["base"]) == pull["base"]]
            return 200, [self.shown(repository, pull, simple=True) for pull in paged(found, query)]
        base = self.git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{body['base']}", check=False)
        head = self.git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{body['head']}", check=False)
        if base is None or head is None:
            raise invalid("head" if head is None else "base", "invalid")
        if self.git(repository, "rev-list", "--count", f"{base}..{head}") == "0":
            raise invalid(None, "custom", f"No commits between {body['base']} and {body['head']}")
        for pull in repository["pulls"].values():
            if pull["state"] == "open" and (pull["head"], pull["base"]) == (body["head"], body["base"]):
                raise invalid(None, "custom", f"A pull request already exists for bot:{body['head']}.")
        repository["number"] += 1
        pull = {"number": repository["number"], "title": body["title"], "body": body.get("body"), "head": body["head"],
                "base": body["base"], "sha": head, "state": "open", "by": login, "merged_by": None, "merged_at": None,
                "closed_by": None, "closed_at": None, "at": now(), "reviews": [], "lines": [], "whole": [], "merge_sha": None}
        repository["pulls"][pull["number"]] = pull
        self.git(repository, "update-ref", f"refs/pull/{pull['number']}/head", head)
        return 201, self.shown(repository, pull)

    def of_pull(self, repository, pull, login, method, what, body, query):
        if what == "pulls" and method == "GET":
            return 200, self.shown(repository, pull)
        if what == "pulls" and method == "PATCH":
            self.turn(repository, pull, login, body.get("state"))
            pull["base"] = body.get("base", pull["base"])
            return 200, self.shown(repository, pull)
        if what == "issues":
            issue = self.description.example("post", "/repos/{owner}/{repo}/issues", 201)
            user = self.shown(repository, pull)["user"]
            closed_by = pull["closed_by"] and self.person(user, pull["closed_by"])
            return 200, {**issue, "user": user, "number": pull["number"], "state": pull["state"], "closed_by": closed_by}
        if what == "pulls/merge":
            return self.merge(repository, pull, login, body)
        if what == "pulls/reviews" and method == "GET":
            return 200, [self.review(one) for one in paged(pull["reviews"], query)]
        if what == "pulls/reviews":
            if body["event"] == "APPROVE" and login == pull["by"]:
                raise Refusal(422, "Unprocessable Entity", errors=["Can not approve your own pull request"])
            says = {"APPROVE": "APPROVED", "REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}[body["event"]]
            one = {"id": self.next_id(), "by": login, "state": says, "body": body.get("body", ""), "commit": pull["sha"], "at": now()}
            pull["reviews"].append(one)
            return 200, self.review(one)
        if what == "pulls/comments" and method == "GET":
            return 200, [self.line(one) for one in paged(pull["lines"], query)]
        found = re.match(r"^pulls/comments/(\d+)/replies$", what)
        if found:
            above = [one for one in pull["lines"] if one["id"] == int(found.group(1))]
            if not above:
                raise Refusal(404, "Not Found")
            first = above[0].get("reply_to") or above[0]["id"]
            one = {**above[0], "id": self.next_id(), "by": login, "body": body["body"], "at": now(), "reply_to": first}
            pull["lines"].append(one)
            return 201, self.line(one)
        if what == "pulls/comments":
            base = self.git(repository, "merge-base", f"refs/heads/{pull['base']}", pull["sha"])
            changed = self.git(repository, "diff", "--name-only", base, pull["sha"]).splitlines()
            if body["path"] not in changed:
                raise invalid("pull_request_review_thread.path", "invalid")
            one = {"id": self.next_id(), "by": login, "body": body["body"], "path": body["path"], "line": body["line"],
                   "side": body.get("side", "RIGHT"), "commit": body["commit_id"], "at": now(), "reply_to": None}
            pull["lines"].append(one)
            return 201, self.line(one)
        if what == "issues/comments" and method == "GET":
            return 200, [self.whole(one) for one in paged(pull["whole"], query)]
        if what == "issues/comments":
            one = {"id": self.next_id(), "by": login, "body": body["body"], "at": now()}
            pull["whole"].append(one)
            return 201, self.whole(one)
        raise Refusal(404, "Not Found")

    def checks(self, repository, commit, kind):
        path = f"/repos/{{owner}}/{{repo}}/commits/{{ref}}/{kind}"
        example = self.description.example("get", path, 200)
        if kind == "check-runs":
            return {**example, "total_count": 0, "check_runs": []}
        said = repository["statuses"].get(commit, {})
        row = example["statuses"][0]
        rows = [{**row, "context": name, "state": state} for name, state in said.items()]
        return {**example, "sha": commit, "statuses": rows, "total_count": len(rows),
                "state": "success" if all(state == "success" for state in said.values()) and said else "pending"}

    def barred(self, repository, pull):
        """What the rules of a branch say against a merge, in GitHub's words."""
        for pattern, rule in repository["rules"].items():
            if not fnmatch.fnmatch(pull["base"], pattern):
                continue
            last = {one["by"]: one for one in pull["reviews"] if one["state"] in ("APPROVED", "CHANGES_REQUESTED")}
            approvals = sum(one["state"] == "APPROVED" and one["commit"] == pull["sha"] for one in last.values())
            if approvals < rule["approvals"]:
                return f"At least {rule['approvals']} approving reviews are required by reviewers with write access."
            for name in rule["checks"]:
                state = repository["statuses"].get(pull["sha"], {}).get(name)
                if state != "success":
                    says = {None: "is expected", "pending": "is pending"}.get(state, "is failing")
                    return f'Required status check "{name}" {says}.'
        return None

    def turn(self, repository, pull, login, state):
        if state == "closed" and pull["state"] == "open":
            pull.update(state="closed", closed_by=login, closed_at=now())
        elif state == "open" and pull["state"] == "closed":
            there = self.git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{pull['head']}", check=False)
            if pull["merged_at"] or there is None:
                raise invalid("state", "invalid", "state cannot be changed")
            pull.update(state="open", closed_by=None, closed_at=None, sha=there)

    def merge(self, repository, pull, login, body):
        if pull["state"] != "open":
            raise Refusal(405, "Pull Request is not mergeable")
        if (body or {}).get("sha") not in (None, pull["sha"]):
            raise Refusal(409, "Head branch was modified. Review and try the merge again.")
        barred = self.barred(repository, pull)
        if barred:
            raise Refusal(405, barred)
        base = self.git(repository, "rev-parse", f"refs/heads/{pull['base']}")
        tree = self.git(repository, "merge-tree", "--write-tree", base, pull["sha"], check=False)
        if tree is None:
            raise Refusal(405, "Pull Request is not mergeable")
        title = (body or {}).get("commit_title") or f"{pull['title']} (#{pull['number']})"
        message = f"{title}\n\n{(body or {}).get('commit_message') or ''}".strip() + "\n"
        parents = ["-p", base] + (["-p", pull["sha"]] if (body or {}).get("merge_method") == "merge" else [])
        commit = self.git(repository, "commit-tree", tree.splitlines()[0], *parents, "-m", message)
        self.git(repository, "update-ref", f"refs/heads/{pull['base']}", commit, base)
        pull.update(state="closed", merged_at=now(), merged_by=login, closed_at=now(), closed_by=login, merge_sha=commit)
        return 200, {"sha": commit, "merged": True, "message": "Pull Request successfully merged"}

    # Shapes

    def next_id(self):
        self.ids += 1
        return self.ids

    def user(self, login):
        return {"login": login, "id": PEOPLE.index(login) + 1, "html_url": f"{self.url}/{login}"}

    def person(self, example, login):
        return {**example, **self.user(login)}

    def repository(self, name):
        example = self.description.example("get", "/repos/{owner}/{repo}", 200)
        for other in ("source", "parent", "template_repository"):
            example.pop(other, None)
        return {**example, "full_name": name, "name": name.split("/")[1], "language": None,
                "archived": self.repositories[name]["archived"],
                "permissions": {"admin": True, "maintain": True, "push": True, "triage": True, "pull": True}}

    def shown(self, repository, pull, simple=False):
        path = "/repos/{owner}/{repo}/pulls" if simple else "/repos/{owner}/{repo}/pulls/{pull_number}"
        example = self.description.example("get", path, 200)
        user = example["user"]
        url = f"{self.url}/{repository['name']}/pull/{pull['number']}"
        base = self.git(repository, "rev-parse", "--verify", "--quiet", f"refs/heads/{pull['base']}", check=False) or "0" * 40
        shown = {**example, "number": pull["number"], "id": pull["number"], "html_url": url, "state": pull["state"],
                 "title": pull["title"], "body": pull["body"], "user": self.person(user, pull["by"]),
                 "created_at": pull["at"], "merged_at": pull["merged_at"], "closed_at": pull["closed_at"],
                 "merge_commit_sha": pull["merge_sha"], "requested_teams": [],
                 "head": {**example["head"], "ref": pull["head"], "sha": pull["sha"], "label": f"bot:{pull['head']}"},
                 "base": {**example["base"], "ref": pull["base"], "sha": base, "label": f"bot:{pull['base']}"}}
        if not simple:
            merged_by = pull["merged_by"] and self.person(user, pull["merged_by"])
            shown.update(merged=bool(pull["merged_at"]), merged_by=merged_by, mergeable=None if pull["state"] == "open" else False)
        return shown

    def review(self, one):
        example = self.description.example("get", "/repos/{owner}/{repo}/pulls/{pull_number}/reviews", 200)
        return {**example, "id": one["id"], "state": one["state"], "body": one["body"], "commit_id": one["commit"],
                "submitted_at": one["at"], "user": self.person(example["user"], one["by"])}

    def line(self, one):
        example = self.description.example("get", "/repos/{owner}/{repo}/pulls/{pull_number}/comments", 200)
        shown = {**example, "id": one["id"], "body": one["body"], "path": one["path"], "line": one["line"], "side": one["side"],
                 "commit_id": one["commit"], "original_commit_id": one["commit"], "created_at": one["at"],
                 "user": self.person(example["user"], one["by"])}
        shown.pop("in_reply_to_id", None)
        return {**shown, "in_reply_to_id": one["reply_to"]} if one["reply_to"] else shown

    def whole(self, one):
        example = self.description.example("get", "/repos/{owner}/{repo}/issues/{issue_number}/comments", 200)
        return {**example, "id": one["id"], "body": one["body"], "created_at": one["at"],
                "user": self.person(example["user"], one["by"])}


def lacking(token, method, path):
    """What a fine-grained token would have to be allowed."""
    if token["scopes"] is not None or method == "GET":
        return None
    for part, permission in (("/merge", "contents"), ("/git/", "contents"), ("/issues", "issues"), ("/pulls", "pull_requests")):
        if part in path:
            return None if permission in token["may"] else permission
    return None


def paged(rows, query):
    size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
    return list(rows)[size * (page - 1):size * page]


def invalid(field, code, message=None):
    error = {"resource": "PullRequest", "code": code, **({"field": field} if field else {}), **({"message": message} if message else {})}
    return Refusal(422, "Validation Failed", errors=[error])


def read_chunks(stream):
    data = b""
    while True:
        size = int(stream.readline().split(b";")[0], 16)
        data += stream.read(size)
        stream.readline()
        if size == 0:
            return data


def send(handler, status, body, headers):
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
