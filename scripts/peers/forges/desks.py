"""How a person reviews a job: here, in Gitea, in GitHub. The same verbs, so that the same scenario runs on all."""

import json
import shutil
import tempfile

from servers import git, until


class Local:
    """Ann, with the command line and a clone of the job's repository."""

    def __init__(self, scene):
        self.scene = scene
        made = scene.run("token", "create", "--role", "reviewer", "--name", "Ann", "--json")
        self.env = {"CHECKREIN_TOKEN": json.loads(made.stdout)["token"]}
        self.comments = []

    def say(self, *arguments):
        self.scene.run(*arguments, env=self.env)

    def comment(self, text, file=None, line=None):
        self.comments.append(f"{file}:{line}={text}" if file else text)

    def request_changes(self, text):
        more = [part for comment in self.comments for part in ("--comment", comment)]
        self.comments = []
        self.say("request-changes", self.scene.id, "-m", text, *more)

    def approve(self):
        self.say("approve", self.scene.id, "--digest", self.scene.review()["head"])

    merge = approve

    def close(self):
        more = [part for comment in self.comments for part in ("--comment", comment)]
        self.comments = []
        self.say("request-changes", self.scene.id, "-m", "anew", "--start-over", *more)

    def push(self, file, text):
        review = self.scene.review()
        commit_on(review["repository"], review["branch"], file, text)

    def said(self):
        return [comment["text"] for comment in self.scene.review()["comments"]]


class Remote:
    """Ann in a forge: nothing here is done with Checkrein."""

    def __init__(self, scene, login="ann"):
        self.scene, self.forge = scene, scene.forge
        self.api = scene.forge.accounts[login]
        self.pending = []

    def path(self, rest=""):
        return f"/repos/{self.scene.repository}{rest}"

    def number(self):
        return self.scene.review()["forge"]["number"]

    def pull(self, number=None):
        return self.api.ask("GET", self.path(f"/pulls/{number or self.number()}"))

    def pulls(self):
        return self.api.ask("GET", self.path(f"/pulls?state=all&{self.page}=50"))

    def whole(self, text):
        self.api.ask("POST", self.path(f"/issues/{self.number()}/comments"), {"body": text})

    def push(self, file, text):
        commit_on(self.url(), self.pull()["head"]["ref"], file, text, self.api.header())

    def url(self):
        return f"{self.forge.url}/{self.scene.repository}.git"

    def send(self, what, *how):
        """Pushes from the repository people work in."""
        source, branch = what.split(":", 1)
        git("push", "--quiet", *how, self.url(), f"{source}:refs/heads/{branch}", cwd=self.scene.repo, header=self.api.header())

    def heads(self):
        lines = git("ls-remote", "--quiet", self.url(), "refs/heads/*", cwd=self.scene.home, header=self.api.header())
        rows = (line.split("\t") for line in lines.splitlines())
        return {name.removeprefix("refs/heads/"): commit for commit, name in rows}

    def head(self, branch):
        return self.heads()[branch]

    def branches(self):
        return set(self.heads())

    def delete_branch(self, branch):
        self.send(f":{branch}")

    def files(self, branch):
        """The names of everything on a branch."""
        place = self.scene.home / "repo"
        git("fetch", "--quiet", self.url(), f"+refs/heads/{branch}:refs/there/{branch}", cwd=place, header=self.api.header())
        return set(git("ls-tree", "-r", "--name-only", f"refs/there/{branch}", cwd=place).splitlines())

    def reopen(self):
        self.api.ask("PATCH", self.path(f"/pulls/{self.number()}"), {"state": "open"})

    def review_of(self, number, event):
        """A verdict on a pull request that nobody waits at any more."""
        self.api.ask("POST", self.path(f"/pulls/{number}/reviews"), {"event": self.words[event], "body": ""})

    def is_merged(self, pull):
        return bool(pull["merged_at"])

    def close(self):
        for text, file, line in self.pending:
            self.line(text, file, line)
        self.pending = []
        self.api.ask("PATCH", self.path(f"/pulls/{self.number()}"), {"state": "closed"})

    def remarks(self, number=None):
        """Texts of everything at lines and about the whole."""
        number = number or self.number()
        whole = self.api.ask("GET", self.path(f"/issues/{number}/comments"))
        return [one["body"] for one in whole + self.lines(number)]

    def said(self):
        return self.remarks()


class Gitea(Remote):
    page = "limit"
    # What stands at the same line is one conversation there.
    threads = False
    words = {"approve": "APPROVED", "request_changes": "REQUEST_CHANGES"}

    def comment(self, text, file=None, line=None):
        if file is None:
            return self.whole(text)
        self.pending.append((text, file, line))

    def line(self, text, file, line):
        body = {"event": "COMMENT", "comments": [{"path": file, "body": text, "new_position": line}]}
        self.api.ask("POST", self.path(f"/pulls/{self.number()}/reviews"), body)

    def answer(self, number, line, text):
        self.line(text, line["path"], line["position"])

    def review(self, event, text=""):
        # What was pushed just now is not what a review is of yet.
        until("Gitea to see what was pushed", lambda: self.seen() == self.pull()["head"]["sha"])
        comments = [{"path": file, "body": said, "new_position": line} for said, file, line in self.pending]
        self.pending = []
        body = {"event": event, "body": text, "comments": comments}
        self.api.ask("POST", self.path(f"/pulls/{self.number()}/reviews"), body)

    def seen(self):
        line = git("ls-remote", "--quiet", self.url(), f"refs/pull/{self.number()}/head", cwd=self.scene.home,
                   header=self.api.header())
        return line.split("\t")[0]

    def request_changes(self, text):
        self.review(self.words["request_changes"], text)

    def approve(self):
        self.review(self.words["approve"])

    def merge(self):
        number = self.number()
        def merged():
            try:
                self.api.ask("POST", self.path(f"/pulls/{number}/merge"), {"Do": "squash"})
                return True
            except AssertionError as error:
                if " 405 " in str(error):
                    return False
                raise
        until("Gitea to merge", merged)

    def lines(self, number):
        found = []
        for review in self.api.ask("GET", self.path(f"/pulls/{number}/reviews")):
            if review["comments_count"]:
                found += self.api.ask("GET", self.path(f"/pulls/{number}/reviews/{review['id']}/comments"))
        return found


class Github(Remote):
    page = "per_page"
    threads = True
    words = {"approve": "APPROVE", "request_changes": "REQUEST_CHANGES"}

    def comment(self, text, file=None, line=None):
        if file is None:
            return self.whole(text)
        self.pending.append((text, file, line))

    def line(self, text, file, line):
        body = {"body": text, "commit_id": self.pull()["head"]["sha"], "path": file, "line": line, "side": "RIGHT"}
        self.api.ask("POST", self.path(f"/pulls/{self.number()}/comments"), body)

    def answer(self, number, line, text):
        first = line.get("in_reply_to_id") or line["id"]
        self.api.ask("POST", self.path(f"/pulls/{number}/comments/{first}/replies"), {"body": text})

    def review(self, event, text=""):
        for said, file, line in self.pending:
            self.line(said, file, line)
        self.pending = []
        self.api.ask("POST", self.path(f"/pulls/{self.number()}/reviews"), {"event": event, "body": text})

    def request_changes(self, text):
        self.review(self.words["request_changes"], text)

    def approve(self):
        self.review(self.words["approve"])

    def merge(self):
        self.api.ask("PUT", self.path(f"/pulls/{self.number()}/merge"), {"merge_method": "squash"})

    def lines(self, number):
        return self.api.ask("GET", self.path(f"/pulls/{number}/comments?per_page=100"))


def commit_on(repository, branch, file, text, header=None):
    """A commit of Ann's on a branch, pushed."""
    place = tempfile.mkdtemp(prefix="checkrein-ann-")
    try:
        git("clone", "--quiet", "--branch", branch, str(repository), place, header=header)
        with open(f"{place}/{file}", "a") as out:
            out.write(text)
        git("add", "--all", cwd=place)
        git("commit", "--quiet", "-m", f"Ann's {file}", cwd=place)
        git("push", "--quiet", "origin", branch, cwd=place, header=header)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def settle_on(repository, branch, other, file, text, header=None):
    """Ann merges another branch into one, with a file as she wants it, and pushes."""
    place = tempfile.mkdtemp(prefix="checkrein-ann-")
    try:
        git("clone", "--quiet", "--branch", branch, str(repository), place, header=header)
        git("merge", "--quiet", f"origin/{other}", cwd=place, check=False)
        with open(f"{place}/{file}", "w") as out:
            out.write(text)
        git("add", "--all", cwd=place)
        git("commit", "--quiet", "-m", f"Ann settles {file}", cwd=place)
        git("push", "--quiet", "origin", branch, cwd=place, header=header)
    finally:
        shutil.rmtree(place, ignore_errors=True)
