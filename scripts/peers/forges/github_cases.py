"""What is GitHub's alone, beside what holds in every forge."""

import os
import time

import contract
import desks
from servers import until


def weather(scene):
    """A forge that is busy, out of breath and not ready to merge now and then."""
    def bot(method, part):
        return lambda login, how, path: login == "bot" and how == method and scene.repository in path and part in path
    scene.forge.weather += [
        {"when": bot("GET", "/pulls/1"), "times": 1, "status": 502, "message": "Server Error"},
        {"when": bot("PUT", "/merge"), "times": 2, "status": 405, "message": "Base branch was modified. Review and try the merge again."},
        {"when": bot("GET", "/comments"), "times": 1, "status": 403, "message": "API rate limit exceeded",
         "headers": {"x-ratelimit-remaining": "0", "retry-after": "1"}},
    ]
    desk = contract.whole(scene)
    merges = [one for one in scene.forge.log if one[:2] == ("bot", "PUT") and scene.repository in one[2]]
    assert len(merges) >= 4, merges
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
    desks.Local(scene).approve()
    scene.ends()
    assert not [event for event in scene.events("forge") if event.get("text")], scene.events("forge")


def tokens(scene):
    """The doctor knows what a token may do: a classic one by its scopes, a fine-grained one by what it is refused."""
    forge = scene.forge
    checks = contract.doctor(scene)
    assert checks["forge"]["state"] == "good" and "github" in checks["forge"]["found"] and "as bot" in checks["forge"]["found"], checks
    assert checks["forge token"]["state"] == "good", checks
    assert checks["forge repository"]["found"] == scene.repository, checks
    everything = ("contents", "issues", "pull_requests")
    for token, lacks in [
        (forge.token("bot", "read:org, public_repo"), ["repo"]),
        (forge.token("bot", ""), ["repo"]),
        (forge.token("bot", may=everything), []),
        (forge.token("bot", may=("contents", "issues")), ["pull requests"]),
        (forge.token("bot"), ["contents", "pull requests", "issues"]),
    ]:
        scene.env["FORGE_TOKEN"] = token
        found = contract.doctor(scene)["forge token"]
        assert found["state"] == ("broken" if lacks else "good"), (token, found)
        assert all(permission in found["found"] for permission in lacks), (token, found)
    scene.env["FORGE_TOKEN"] = "of-nobody"
    assert contract.doctor(scene)["forge"]["state"] == "broken"
    # Nothing was made by looking.
    assert not forge.repositories[scene.repository]["pulls"]


def commands(scene):
    """What a person can say in a comment, where no button says it."""
    scene.begin()
    first = scene.driven(1)
    desk, bob = contract.desk_of(scene), contract.desk_of(scene, "bob")
    bob.comment("/checkrein request-changes shorter")
    scene.driven(1, round=2)
    asked = scene.briefs()[-1]["review"]
    assert (asked["by"], asked["reason"]) == ("Bob", "shorter"), asked
    bob.comment("/checkrein start-over another way")
    second = scene.driven(1, round=3, revision=2)
    assert second["forge"]["number"] != first["forge"]["number"]
    assert desk.pull(first["forge"]["number"])["state"] == "closed"
    bob.comment("/checkrein reject no use")
    scene.look()
    assert scene.status() == "cancelled", scene.status()
    until("it to be closed", lambda: scene.look() or desk.pull(second["forge"]["number"])["state"] == "closed")
    assert not any(desk.is_merged(pull) for pull in contract.once_each(scene, desk))


def left_alone(scene):
    """While an agent works its worker rests: whoever drives a job sees to its forge, and nobody asks all the time."""
    (scene.home / "agent").rename(scene.home / "quick")
    (scene.home / "agent").write_text('#!/bin/sh\nsleep 6\nexec "$HOME/quick"\n')
    (scene.home / "agent").chmod(0o755)
    scene.begin()
    worker = scene.work()
    until("the agent", lambda: scene.events("attempt_started"))
    time.sleep(1)
    before = seconds_of(worker)
    time.sleep(4)
    used = seconds_of(worker) - before
    assert used < 0.5, used
    scene.held(1)


def seconds_of(process):
    """What a process has used of a processor."""
    with open(f"/proc/{process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


CASES = (weather, nothing_changed, tokens, commands, left_alone)
