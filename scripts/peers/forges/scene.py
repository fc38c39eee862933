"""A job with a scripted agent in a repository, and the processes of Checkrein that see to it."""

import datetime
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import urllib.request

from servers import free_port, git, until

AGENT = r"""#!/usr/bin/env python3
import json, os, pathlib
brief = json.load(open(os.environ["CHECKREIN_BRIEF_JSON"]))
kept = pathlib.Path(os.environ["HOME"]) / "briefs"
kept.mkdir(exist_ok=True)
(kept / f"{len(list(kept.iterdir())):03}.json").write_text(json.dumps(brief))
assert "FORGE_TOKEN" not in os.environ and "HOOK_SECRET" not in os.environ
number, round = int(os.environ["CHECKREIN_PHASE_NUMBER"]), int(os.environ["CHECKREIN_ROUND"])
kind, own = os.environ["CHECKREIN_PHASE_KIND"], pathlib.Path(os.environ["CHECKREIN_JOB_FILES"])
result = {"summary": f"phase {number}, round {round}"}
result["comment_replies"] = [
    {"id": comment["id"], "text": f"seen: {comment['text']}"} for comment in brief["comments"]["new"]
]
if kind == "strategic":
    plan = own / "plan.md"
    plan.parent.mkdir(parents=True, exist_ok=True)
    lines = plan.read_text() if plan.exists() else "# Plan\n\nwrite the letter\n"
    plan.write_text(lines + f"looked at in phase {number}, round {round}\n")
    if number == 3 or number == 2:
        result["outcome"] = "job_complete" if number == 3 else "phase_done"
    if number != 3:
        result["next_todos"] = ["write the letter"]
else:
    letter = pathlib.Path("letter.txt")
    letter.write_text((letter.read_text() if letter.exists() else "Dear all,\n") + f"round {round}\n")
json.dump(result, open(os.environ["CHECKREIN_RESULT"], "w"))
"""


class Scene:
    def __init__(self, binary, forge=None, repository=None, url=None, poll="200ms", owner=None, door=None):
        self.binary, self.forge, self.repository, self.door = binary, forge, repository, door
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="checkrein-forge-"))
        (self.home / "agent").write_text(AGENT)
        (self.home / "agent").chmod(0o755)
        self.repo = self.home / "repo"
        self.processes = []
        url = url or (forge and forge.url)
        lines = [f"agent: {self.home}/agent"]
        if forge:
            lines += [
                "forge:", f"  kind: {forge.kind}", f"  url: {url}", "  token_env: FORGE_TOKEN",
                "  webhook_secret_env: HOOK_SECRET", f"  poll: {poll}", "  people: { ann: Ann, bob: Bob, bot: Bot }",
                *([f"  owner: {owner}"] if owner else []),
            ]
        (self.home / "settings.yaml").write_text("\n".join(lines) + "\n")
        git("init", "--quiet", str(self.repo))
        (self.repo / "readme").write_text("hello\n")
        git("add", ".", cwd=self.repo)
        git("commit", "--quiet", "-m", "first", cwd=self.repo)
        if forge:
            git("remote", "add", "origin", f"{url}/{repository}.git", cwd=self.repo)
            header = forge.accounts["ann"].header()
            git("push", "--quiet", f"{forge.url}/{repository}.git", "main", cwd=self.repo, header=header)
        # What is checked out is not moved under its person.
        git("switch", "--quiet", "--create", "elsewhere", cwd=self.repo)
        git("switch", "--quiet", "main", cwd=self.repo)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "CHECKREIN_STORE": str(self.home / "store" / "store.db"),
            "CHECKREIN_CONFIG": str(self.home / "settings.yaml"), "HOOK_SECRET": "agreed-on", "NO_COLOR": "1",
        }
        if forge:
            self.env["FORGE_TOKEN"] = forge.bot_token(owner)
        self.id = None
        self.seen = self.looked = (None, None)

    def watch_git(self):
        """From now on whatever git is called with is kept."""
        (self.home / "bin").mkdir()
        called = f"printf '%s\\n' \"$*\" >> '{self.home}/called'"
        (self.home / "bin" / "git").write_text(f"#!/bin/sh\n{called}\nexec {shutil.which('git')} \"$@\"\n")
        (self.home / "bin" / "git").chmod(0o755)
        self.env["PATH"] = f"{self.home}/bin:{os.environ['PATH']}"

    def run(self, *arguments, expect=(0, 3), env=None):
        done = subprocess.run([self.binary, *arguments], cwd=self.repo, env={**self.env, **(env or {})},
                              capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        if done.returncode not in expect:
            raise AssertionError(f"checkrein {' '.join(arguments)}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def begin(self, level="guided"):
        """Gives the job; nobody works on it yet."""
        self.run("job", "Write a letter", "--queue", "--autonomy", level)
        self.id = self.last()
        return self.id

    def last(self):
        """The job that was given last."""
        rows = json.loads(self.run("runs", "--json").stdout)
        rows = rows["runs"] if isinstance(rows, dict) and "runs" in rows else rows
        rows = rows["items"] if isinstance(rows, dict) else rows
        return rows[0]["run_id"]

    def work(self):
        """A worker beside everything else."""
        out = open(self.home / "worker.log", "ab")
        process = subprocess.Popen([self.binary, "worker"], cwd=self.repo, env=self.env, stdout=out, stderr=out,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        self.processes.append(process)
        return process

    def serve(self, port):
        out = open(self.home / "server.log", "ab")
        process = subprocess.Popen([self.binary, "serve", "--listen", f"127.0.0.1:{port}"], cwd=self.repo, env=self.env,
                                   stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
        self.processes.append(process)
        return process

    def serve_with_hook(self):
        """A server that the forge tells of everything; the address it tells."""
        port = free_port()
        self.serve(port)
        until("the server", lambda: answers(f"http://127.0.0.1:{port}/healthz"))
        hook = f"http://127.0.0.1:{port}/v1/forges/hook"
        self.forge.hook(self.repository, hook, self.env["HOOK_SECRET"])
        return hook

    def beside(self, name):
        """A file beside the job."""
        return self.home / "store" / "jobs" / self.id / name

    def hint(self):
        """Somebody is to look now, as after a webhook."""
        self.beside("forge.hint").write_text("")

    def rest(self):
        """For how many seconds the forge is left alone, counted from when that was written down."""
        file = self.beside("forge.json")
        next = datetime.datetime.fromisoformat(json.loads(file.read_text())["next"])
        return round(next.timestamp() - file.stat().st_mtime)

    def pass_time(self):
        """As if the forge had been left alone for long enough."""
        file = self.beside("forge.json")
        if file.exists():
            paced = {**json.loads(file.read_text()), "next": "2020-01-01T00:00:00Z"}
            file.write_text(json.dumps(paced))

    def look(self):
        """What is ready goes on once, and the forge is looked at."""
        self.pass_time()
        self.run("worker", "--once")

    def driven(self, phase, round=1, revision=1):
        """Drives the job, and nothing else, until it waits at a round of a phase."""
        def check():
            self.look()
            return self.at(phase, round, revision)
        return until(f"round {round} of phase {phase}, revision {revision}", check)

    def end(self, process, how=signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, how)
        process.wait()

    def close(self, keep=False):
        for process in self.processes:
            self.end(process)
        if self.door:
            self.door.close()
        if not keep:
            shutil.rmtree(self.home, ignore_errors=True)

    def show(self):
        """What `show` says; asked again only where something happened."""
        count = len(self.events())
        if self.seen[0] != (self.id, count):
            self.seen = ((self.id, count), json.loads(self.run("show", self.id, "--json").stdout))
        return self.seen[1]

    def events(self, kind=None):
        """What happened to the job, oldest first."""
        store = sqlite3.connect(f"file:{self.env['CHECKREIN_STORE']}?mode=ro", uri=True, timeout=30)
        try:
            rows = store.execute("SELECT body FROM events WHERE stream LIKE '%' || ? ORDER BY position", (self.id,)).fetchall()
        finally:
            store.close()
        found = [json.loads(body) for (body,) in rows]
        return [event for event in found if kind is None or event.get("event") == kind]

    def status(self):
        return self.show()["status"]

    def review(self, otherwise=None):
        """The review it waits at; none where it ends with this code."""
        done = self.run("review", self.id, "--json", expect=(0, 3, otherwise))
        return None if done.returncode == otherwise else json.loads(done.stdout)

    def held(self, phase, round=1, revision=1):
        """Waits until the job waits at a round of a phase."""
        return until(f"round {round} of phase {phase}, revision {revision}", lambda: self.at(phase, round, revision))

    def at(self, phase, round=1, revision=1):
        """The review, if the job waits at this one."""
        shown = self.show()
        if shown["status"] in ("failed", "cancelled", "completed", "completed_with_warnings"):
            raise AssertionError(f"the job is {shown['status']}: {json.dumps(shown)[-1500:]}")
        if shown["status"] != "pending_review":
            return None
        # Nothing else happened: it is as it was.
        if self.looked[0] != self.seen[0]:
            self.looked = (self.seen[0], self.review(otherwise=6))
        review = self.looked[1]
        if review is None:
            return None
        there = review["phase_number"] == phase and review["round"] == round and review["revision"] == revision
        pull = not self.forge or (review["forge"] or {}).get("url")
        return review if there and pull else None

    def ends(self, status="completed"):
        def check():
            now = self.status()
            if now in ("completed", "completed_with_warnings", "failed", "cancelled"):
                assert now.startswith(status), (now, json.dumps(self.show())[-1500:])
                return now
            return None
        return until(f"the job to be {status}", check)

    def finished(self):
        """Drives the job, and nothing else, to its end."""
        def check():
            self.look()
            return self.status().startswith("completed")
        return until("the job to be completed", check)

    def briefs(self):
        kept = self.home / "briefs"
        return [json.loads(file.read_text()) for file in sorted(kept.iterdir())] if kept.exists() else []

    def delivered(self, text):
        """In how many rounds a comment was new; an attempt that was lost is repeated with what it had."""
        new = [(brief["phase"]["branch"], brief["phase"]["round"], comment["id"]) for brief in self.briefs()
               for comment in brief["comments"]["new"] if comment["text"].startswith(text)]
        return len(set(new))

    def troubled(self):
        """What the forge's last trouble is, if it has any."""
        found = [event for event in self.events("forge") if event["news"] == "trouble"]
        return found[-1].get("text") if found else None

    def trouble(self, words):
        return until(f"trouble with `{words}`", lambda: (text := self.troubled()) and words in text and text)

    def no_trouble(self):
        until("the trouble to be over", lambda: self.troubled() is None)


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False
