"""Checkrein is killed between every two calls to its forge, and nothing is done twice."""

import http.client
import http.server
import os
import re
import threading
import time
import urllib.parse

import contract
import desks
import gitea_cases
import servers
from scene import Scene


class Door:
    """Between Checkrein and its forge: kills whoever makes a call of a kind that nobody was killed at, once before it
    is passed on and once when it is answered."""

    def __init__(self, forge):
        self.target = urllib.parse.urlsplit(forge.url).netloc
        self.lock = threading.Lock()
        self.kill, self.seen, self.hits = None, set(), []
        door = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def serve(self):
                door.serve(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def aim(self, kill):
        with self.lock:
            self.kill = kill

    def target_of(self, kind):
        """When to kill whoever makes this call, if at all."""
        with self.lock:
            if self.kill is None:
                return None, None
            for when in ("before", "after"):
                if (when, kind) not in self.seen:
                    self.seen.add((when, kind))
                    self.hits.append((when, kind))
                    kill, self.kill = self.kill, None
                    return when, kill
            return None, None

    def serve(self, handler):
        data = self.read(handler)
        path = urllib.parse.urlsplit(handler.path).path
        kind = re.sub(r"/\d+", "/N", re.sub(r"^(/api/v1)?/(repos/)?bot/[^/.]+", "", path) or "/")
        when, kill = self.target_of(f"{handler.command} {kind}")
        if when == "before":
            kill()
            handler.close_connection = True
            return
        connection = http.client.HTTPConnection(self.target, timeout=120)
        headers = {name: value for name, value in handler.headers.items()
                   if name.lower() not in ("transfer-encoding", "content-length", "connection")}
        headers["Content-Length"] = str(len(data))
        connection.request(handler.command, handler.path, body=data, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if when == "after":
            kill()
            handler.close_connection = True
            return
        handler.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        connection.close()

    def read(self, handler):
        if handler.headers.get("Transfer-Encoding") != "chunked":
            return handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        data = b""
        while True:
            size = int(handler.rfile.readline().split(b";")[0], 16)
            data += handler.rfile.read(size)
            handler.rfile.readline()
            if size == 0:
                return data


def run(binary, forge):
    wanted = int(os.environ.get("CHECKREIN_FORGE_KILLS", "1"))
    door = Door(forge)
    begun = time.monotonic()
    jobs = 0
    while jobs == 0 or len(door.hits) < wanted:
        jobs += 1
        # The first job meets every kind of call; those after it meet them in every part.
        one_job(binary, forge, door, jobs, again=jobs > 1)
    kinds = sorted({kind for _, kind in door.hits})
    print(f"gitea: killed {len(door.hits)} times in {jobs} jobs, before and after {len(kinds)} kinds of call "
          f"({time.monotonic() - begun:.0f} s)", flush=True)
    for wanted in ("POST /pulls", "POST /pulls/N/merge", "POST /issues/N/comments", "POST /pulls/N/reviews",
                   "POST .git/git-receive-pack", "GET /pulls/N"):
        for when in ("before", "after"):
            assert (when, wanted) in door.hits, (when, wanted, kinds)


def one_job(binary, forge, door, number, again):
    """A guided job from the plan to the end, reviewed in Gitea, while Checkrein dies at its calls again and again."""
    scene = Scene(binary, forge, forge.make_repository(f"kills-{number}"), url=door.url)
    try:
        scene.begin()
        desk = desks.Gitea(scene)
        through(scene, door, again, lambda: scene.held(1))
        desk.comment("be more precise here", contract.PLAN, 3)
        desk.comment("and shorter")
        desk.request_changes("not yet")
        through(scene, door, again, lambda: scene.held(1, round=2))
        through(scene, door, again, lambda: replied(desk))
        desk.approve()
        through(scene, door, again, lambda: scene.held(3))
        desk.merge()
        through(scene, door, again, scene.ends)
        pulls = gitea_cases.once_each(scene, desk)
        assert len(pulls) == 3 and all(pull["merged"] for pull in pulls), [pull["title"] for pull in pulls]
        assert len(scene.events("phase_landed")) == 3
        assert scene.delivered("be more precise here") == 1, scene.briefs()
        commits = desk.api.ask("GET", desk.path("/commits?sha=main&stat=false&files=false"))
        subjects = [commit["commit"]["message"].splitlines()[0] for commit in commits]
        assert len(subjects) == len(set(subjects)), subjects
        assert contract.result_of(scene) == {"readme", "letter.txt"}
    except BaseException:
        print((scene.home / "worker.log").read_text()[-3000:], door.hits[-5:])
        raise
    finally:
        door.aim(None)
        scene.close()


def replied(desk):
    found = sum("seen: be more precise here" in text for text in desk.remarks())
    return found == 1


def through(scene, door, again, goal):
    """Workers that are killed at their calls, until one comes through to the goal."""
    if again:
        door.seen.clear()
    while True:
        worker = scene.work()
        door.aim(lambda: scene.end(worker))
        begun = time.monotonic()
        while worker.poll() is None:
            if met(goal):
                door.aim(None)
                scene.end(worker)
                return
            if time.monotonic() - begun > 180:
                raise AssertionError("a worker neither came through nor was killed")


def met(goal):
    """Whether it is reached now; whoever waits for it waits here."""
    patience, servers.PATIENCE = servers.PATIENCE, 0
    try:
        return goal() or None
    except AssertionError as error:
        if "waited" not in str(error):
            raise
        return None
    finally:
        servers.PATIENCE = patience
