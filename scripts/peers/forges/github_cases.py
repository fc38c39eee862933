"""Jobs at GitHub's stand-in, beside what holds in every forge."""

import json
import time

import contract
import desks
from scene import Scene
from servers import until


def whole(scene):
    """With a forge that is busy, out of breath and not ready to merge now and then."""
    def bot(method, part):
        return lambda login, how, path: login == "bot" and how == method and part in path
    scene.forge.weather += [
        {"when": bot("GET", "/pulls/1"), "times": 1, "status": 502, "message": "Server Error"},
        {"when": bot("PUT", "/merge"), "times": 2, "status": 405, "message": "Base branch was modified. Review and try the merge again."},
        {"when": bot("GET", "/comments"), "times": 1, "status": 403, "message": "API rate limit exceeded",
         "headers": {"x-ratelimit-remaining": "0", "retry-after": "1"}},
    ]
    desk = contract.whole(scene)
    pulls = desk.pulls()
    assert len(pulls) == 3 and all(pull["merged_at"] for pull in pulls), [pull["title"] for pull in pulls]
    merges = [one for one in scene.forge.log if one[0] == "bot" and one[1] == "PUT"]
    assert len(merges) >= 3, merges
    # Replies are in the thread of what they answer.
    answers = [line for line in desk.lines(1) if "seen: be more precise here" in line["body"]]
    [question] = [line for line in desk.lines(1) if line["body"] == "be more precise here"]
    assert [line.get("in_reply_to_id") for line in answers] == [question["id"]], answers
    troubles = [event.get("text") for event in scene.events("forge") if event["news"] == "trouble"]
    assert troubles and troubles[-1] is None, troubles


def nothing_changed(scene):
    """GitHub makes no pull request of nothing; that is no trouble (L11)."""
    (scene.home / "agent").write_text(
        "#!/bin/sh\nprintf '%s' '{\"outcome\":\"job_complete\",\"summary\":\"nothing to do\"}' > \"$CHECKREIN_RESULT\"\n"
    )
    scene.begin()
    scene.work()
    until("the review", lambda: scene.status() == "pending_review")
    time.sleep(1)
    ann = desks.Local(scene)
    ann.approve()
    scene.ends()
    assert not [event for event in scene.events("forge") if event.get("text")], scene.events("forge")


def deleted(scene):
    """A branch that is deleted closes its pull request there; the next one is another."""
    scene.begin()
    scene.work()
    desk = desks.Github(scene)
    review = scene.held(1)
    import servers
    url = f"{scene.forge.url}/{scene.repository}.git"
    servers.git("push", "--quiet", url, f":refs/heads/{review['branch']}", cwd=scene.repo, header=desk.api.header())
    scene.held(1, revision=2)
    desk.approve()
    scene.held(3)


def run(binary, forge, only=None):
    for case in (whole, contract.started_over, nothing_changed, deleted):
        if only and case.__name__ != only:
            continue
        begun = time.monotonic()
        scene = Scene(binary, forge, forge.make_repository(case.__name__.replace("_", "-")))
        try:
            case(scene)
            assert not forge.description.violations, "\n".join(forge.description.violations[:20])
        except BaseException:
            print((scene.home / "worker.log").read_text()[-4000:])
            raise
        finally:
            scene.close()
        print(f"github: {case.__name__} ({time.monotonic() - begun:.0f} s)", flush=True)
    print(f"github: {forge.description.checked} requests and replies are as the vendor describes them", flush=True)
