"""Checkrein is killed between every two calls to its forge, and nothing is done twice."""

import os
import queue
import random
import subprocess
import time

import contract
from door import Door
from scene import Scene

# How many jobs are killed at moments that the dice choose.
JOBS = int(os.environ.get("CHECKREIN_FORGE_KILLS", "1"))
# One in so many calls is such a moment, before it or after it.
SIDES = 20

# Calls that change something, at each of which somebody has to have been killed.
CHANGING = {
    "gitea": ("POST /pulls", "POST /pulls/N/merge", "POST /issues/N/comments", "POST /pulls/N/reviews",
              "POST .git/git-receive-pack"),
    "github": ("POST /pulls", "PUT /pulls/N/merge", "POST /issues/N/comments", "POST /pulls/N/comments/N/replies",
               "POST .git/git-receive-pack"),
}


def sample(binary, forge):
    """Between any two kinds of calls that follow each other, after every kind of call and every branch that is made, moved or
    deleted, and at moments of the dice."""
    dice = int(os.environ.get("CHECKREIN_DICE") or time.time_ns() % 1_000_000)
    for job in range(JOBS):
        begun = time.monotonic()
        rolled = random.Random(dice + job)
        done = set()

        def choose(call):
            for key in (("between", call.before, call.kind), ("after", call.kind, call.branches)):
                if key not in done:
                    done.add(key)
                    return "before" if key[0] == "between" else "after"
            return rolled.choice(("before", "after")) if rolled.randrange(SIDES) == 0 else None

        try:
            door = one_job(binary, forge, choose)
        except BaseException:
            print(f"{forge.kind}: CHECKREIN_DICE={dice + job} rolls the same moments", flush=True)
            raise
        hit_everything(forge, door)
        pairs = sum(key[0] == "between" for key in done)
        # The branch of the job is deleted at its very end, when nobody has recorded that yet.
        assert any(deed == "deletes" and name.endswith("/main") for key in done if key[0] == "after" for deed, name in key[2]), done
        print(f"{forge.kind}: killed {len(door.hits)} times in a job: between each of {pairs} pairs of calls that follow each "
              f"other, after each of {len(done) - pairs} kinds and pushes, and at moments of the dice {dice + job} "
              f"({time.monotonic() - begun:.0f} s)", flush=True)


def every_call(binary, forge):
    """Before every single call of a job and after it: no process gets further than one call beyond where the one before
    it was killed, whatever state the job is in."""
    begun = time.monotonic()
    plain = one_job(binary, forge, lambda _: None)
    print(f"{forge.kind}: a job makes {len(plain.calls)} calls of {len(set(plain.calls))} kinds "
          f"({time.monotonic() - begun:.0f} s)", flush=True)
    begun = time.monotonic()
    done = set()

    def choose(call):
        for when in ("before", "after"):
            # What the job was when the process began, and all that process has asked for.
            key = (when, call.state, call.asked)
            if key not in done:
                done.add(key)
                return when
        return None

    door = one_job(binary, forge, choose)
    hit_everything(forge, door)
    assert set(plain.calls) <= set(door.calls), set(plain.calls) - set(door.calls)
    print(f"{forge.kind}: killed {len(door.hits)} times in a job, before and after every one of its calls: one pull request "
          f"for each phase, one merge, no comment twice ({time.monotonic() - begun:.0f} s)", flush=True)


def hit_everything(forge, door):
    for kind in CHANGING[forge.kind]:
        for when in ("before", "after"):
            assert (when, kind) in door.hits, (when, kind, sorted(set(door.hits)))


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
        assert contract.result_of(scene) == {"readme", "hint.txt", "letter.txt"}, contract.result_of(scene)
        contract.git("fetch", "--quiet", desk.url(), "main", cwd=scene.repo, header=desk.api.header())
        subjects = contract.git("log", "--format=%s", "FETCH_HEAD", cwd=scene.repo).splitlines()
        assert len(subjects) == len(set(subjects)), subjects
        return door
    except BaseException:
        log = scene.home / "worker.log"
        print(log.read_text()[-3000:] if log.exists() else "", door.hits[-5:], flush=True)
        raise
    finally:
        door.aim(None)
        scene.close()
        door.close()


def kill(scene, process, number):
    """Every other time what it has started lives on, as when a machine is out of memory."""
    if number % 2:
        scene.end(process)
    else:
        process.kill()
        process.wait()


def state(scene):
    """How far the job is. An attempt that is lost and repeated takes it nowhere."""
    return sum(not event["event"].startswith("attempt_") for event in scene.events())


def pulls_first(pulls):
    return min(pull["number"] for pull in pulls)


def drive(scene, door, goal):
    """Processes that go on with the job, one after the other, until the goal is reached."""
    for _ in range(2000):
        scene.pass_time()
        started = queue.SimpleQueue()
        door.aim(lambda: kill(scene, started.get(), len(door.hits)), state(scene))
        with open(scene.home / "worker.log", "ab") as out:
            process = subprocess.Popen([scene.binary, "worker", "--once"], cwd=scene.repo, env=scene.env, stdout=out,
                                       stderr=out, stdin=subprocess.DEVNULL, start_new_session=True)
        scene.processes.append(process)
        started.put(process)
        process.wait(timeout=600)
        door.aim(None)
        found = goal() if process.returncode == 0 else None
        if found:
            return found
        if process.returncode not in (0, -9):
            raise AssertionError(f"a worker ended with {process.returncode}")
    raise AssertionError("the goal is never reached")
