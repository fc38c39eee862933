"""Checkrein is killed between every two calls to its forge, and nothing is done twice."""

import concurrent.futures
import http.client
import http.server
import os
import re
import subprocess
import threading
import time
import urllib.parse

import contract
from scene import Scene

AT_ONCE = int(os.environ.get("CHECKREIN_FORGE_JOBS", "3"))
SAMPLE = int(os.environ.get("CHECKREIN_FORGE_KILLS", "3"))
# So many calls lie between two kills of a job: enough to get on.
STRIDE = 36

# Calls that change something, at each of which somebody has to have been killed.
CHANGING = {
    "gitea": ("POST /pulls", "POST /pulls/N/merge", "POST /issues/N/comments", "POST /pulls/N/reviews",
              "POST .git/git-receive-pack"),
    "github": ("POST /pulls", "PUT /pulls/N/merge", "POST /issues/N/comments", "POST /pulls/N/comments/N/replies",
               "POST .git/git-receive-pack"),
}


class Door:
    """Between Checkrein and its forge: counts the calls, and kills whoever makes one that is chosen, before it is
    passed on or when it is answered and nobody has heard that."""

    def __init__(self, forge, choose):
        self.target = urllib.parse.urlsplit(forge.url).netloc
        self.choose, self.kill = choose, None
        self.lock = threading.Lock()
        self.calls, self.hits = [], []
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

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def aim(self, kill):
        with self.lock:
            self.kill = kill

    def chosen(self, kind):
        """When to kill whoever makes this call, if at all."""
        with self.lock:
            self.calls.append(kind)
            when = self.choose(len(self.calls), kind) if self.kill else None
            if when is None:
                return None, None
            self.hits.append((when, kind))
            kill, self.kill = self.kill, None
            return when, kill

    def serve(self, handler):
        data = self.read(handler)
        path = urllib.parse.urlsplit(handler.path).path
        kind = re.sub(r"^(/api/v\d)?/(repos/)?bot/[^/.]+", "", path) or "/"
        kind = re.sub(r"/[0-9a-f]{40}", "/COMMIT", kind)
        when, kill = self.chosen(f"{handler.command} {re.sub(r'/[0-9]+', '/N', kind)}")
        if when == "before":
            kill()
            handler.close_connection = True
            return
        connection = http.client.HTTPConnection(self.target, timeout=300)
        headers = {name: value for name, value in handler.headers.items()
                   if name.lower() not in ("transfer-encoding", "content-length", "connection")}
        headers["Content-Length"] = str(len(data))
        connection.request(handler.command, handler.path, body=data, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
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


def run(binary, forge, every_call):
    begun = time.monotonic()
    # At every kind of call, twice, in one job.
    seen = set()

    def each_kind(_, kind):
        for when in ("before", "after"):
            if (when, kind) not in seen:
                seen.add((when, kind))
                return when
        return None

    _, hits = one_job(binary, forge, each_kind)
    for kind in CHANGING[forge.kind]:
        for when in ("before", "after"):
            assert (when, kind) in hits, (when, kind, sorted(hits))
    print(f"{forge.kind}: killed {len(hits)} times in a job, at each of {len(hits) // 2} kinds of call, before and after it "
          f"({time.monotonic() - begun:.0f} s)", flush=True)
    # At the n-th call: at every one of them, or at some.
    begun = time.monotonic()
    calls, _ = one_job(binary, forge, lambda *_: None)
    points = [(first, when) for first in range(1, STRIDE + 1) for when in ("before", "after")]
    if not every_call:
        points = points[::max(1, len(points) // SAMPLE)][:SAMPLE] if SAMPLE else []
    killed = set()

    def at(point):
        first, when = point

        def every_so_often(number, _):
            if number % STRIDE != first % STRIDE:
                return None
            killed.add((number, when))
            return when
        one_job(binary, forge, every_so_often)

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(at, points))
    if every_call:
        missed = [number for number in range(1, len(calls) + 1) for when in ("before", "after") if (number, when) not in killed]
        assert not missed, missed
    print(f"{forge.kind}: killed {len(killed)} times in {len(points)} jobs, "
          f"{'before and after every one' if every_call else 'at some'} of {len(calls)} calls "
          f"({time.monotonic() - begun:.0f} s)", flush=True)


def one_job(binary, forge, choose):
    """A guided job from the plan to the end, reviewed in the forge alone, while Checkrein dies at calls it makes."""
    door = Door(forge, choose)
    name = f"kills-{time.time_ns()}"
    scene = Scene(binary, forge, forge.make_repository(name), url=door.url, poll="1h")
    try:
        scene.begin()
        desk = contract.desk_of(scene)
        drive(scene, door, lambda: scene.at(1))
        desk.comment("be more precise here", contract.PLAN, 3)
        desk.comment("and shorter")
        desk.request_changes("not yet")
        second = drive(scene, door, lambda: scene.at(1, round=2))
        drive(scene, door, lambda: sum("seen: be more precise here" in text for text in desk.remarks()) == 1)
        desk.push("hint.txt", "from Ann\n")
        drive(scene, door, lambda: (now := scene.review())["moved"] and now["head"] != second["head"])
        desk.approve()
        drive(scene, door, lambda: scene.at(3))
        desk.merge()
        drive(scene, door, lambda: scene.status() == "completed")
        pulls = contract.once_each(scene, desk)
        assert len(pulls) == 3 and all(desk.is_merged(pull) for pull in pulls), [pull["title"] for pull in pulls]
        assert len(scene.events("phase_landed")) == 3
        for said in ("be more precise here", "and shorter"):
            assert scene.delivered(said) == 1, scene.briefs()
            assert sum(f"seen: {said}" in text for text in desk.remarks(pulls_first(pulls))) == 1, desk.remarks(1)
        assert contract.result_of(scene) == {"readme", "hint.txt", "letter.txt"}
        contract.git("fetch", "--quiet", desk.url(), "main", cwd=scene.repo, header=desk.api.header())
        subjects = contract.git("log", "--format=%s", "FETCH_HEAD", cwd=scene.repo).splitlines()
        assert len(subjects) == len(set(subjects)), subjects
        return door.calls, door.hits
    except BaseException:
        log = scene.home / "worker.log"
        print(log.read_text()[-3000:] if log.exists() else "", door.hits[-5:], flush=True)
        raise
    finally:
        door.aim(None)
        scene.close()
        door.close()


def pulls_first(pulls):
    return min(pull["number"] for pull in pulls)


def drive(scene, door, goal):
    """Processes that go on with the job, one after the other, until the goal is reached."""
    for _ in range(200):
        scene.pass_time()
        with open(scene.home / "worker.log", "ab") as out:
            process = subprocess.Popen([scene.binary, "worker", "--once"], cwd=scene.repo, env=scene.env, stdout=out,
                                       stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
        scene.processes.append(process)
        door.aim(lambda process=process: scene.end(process))
        process.wait(timeout=600)
        door.aim(None)
        found = goal() if process.returncode == 0 else None
        if found:
            return found
        if process.returncode not in (0, -9):
            raise AssertionError(f"a worker ended with {process.returncode}")
    raise AssertionError("the goal is never reached")
