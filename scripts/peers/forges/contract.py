"""What a review is, wherever it takes place: the same scenarios on local, Gitea and GitHub.

Those in ANYWHERE need no forge. Those in FORGES are about what a forge does by itself: who may speak, branches that
are taken away or rewritten, rules of branches, a repository with another name, a forge that is away."""

import base64
import hashlib
import hmac
import json
import re
import time
import urllib.error
import urllib.request

import desks
from door import Door
from scene import Scene
from servers import free_port, git, until

PLAN = ".checkrein/job/plan.md"


def desk_of(scene, login="ann"):
    kind = scene.forge.kind if scene.forge else "local"
    if kind == "local":
        return desks.Local(scene)
    return {"gitea": desks.Gitea, "github": desks.Github}[kind](scene, login)


# Anywhere


def whole(scene):
    """Inline comment, general comment, changes requested, a pushed commit, approval, merge by hand."""
    scene.watch_git()
    scene.begin()
    scene.work()
    desk = desk_of(scene)
    scene.held(1)
    desk.comment("be more precise here", PLAN, 3)
    desk.comment("and shorter")
    desk.request_changes("not yet")
    review = scene.held(1, round=2)
    # Everything that was said reached the agent once, with its place.
    for text in ("be more precise here", "and shorter"):
        assert scene.delivered(text) == 1, (text, scene.briefs())
    brief = scene.briefs()[1]
    assert brief["review"]["by"] == "Ann" and brief["review"]["reason"] == "not yet", brief["review"]
    [placed] = [comment for comment in brief["comments"]["new"] if comment["text"] == "be more precise here"]
    assert (placed["file"], placed["line"], placed["by"]) == (PLAN, 3, "Ann"), placed
    # What it replied can be read where the comments were made, once.
    for text in ("be more precise here", "and shorter"):
        until("the agent's replies", lambda: sum(f"seen: {text}" in said for said in desk.said()) == 1)
    # A commit of a person moves the review, and is what is approved.
    desk.push("hint.txt", "from Ann\n")
    moved = until("the review to move", lambda: (r := scene.review())["head"] != review["head"] and r)
    assert moved["round"] == 2 and moved["moved"], moved
    desk.approve()
    # The work passes without a review at this level; the end is merged by hand.
    scene.held(3)
    desk.merge()
    scene.ends()
    resolved = [event for event in scene.events("hold_released")]
    assert [event["by"] for event in resolved] == ["Ann", "Ann"], resolved
    result = result_of(scene)
    assert result == {"readme", "hint.txt", "letter.txt"}, result
    landed = scene.events("phase_landed")
    assert len(landed) == 3 and len({event["main"] for event in landed}) == 3, landed
    if scene.forge:
        # The plan, the work and the end each had one (L5); their branches are gone.
        pulls = once_each(scene, desk)
        assert [desk.is_merged(pull) for pull in pulls] == [True] * 3, pulls
        assert desk.branches() == {"main"}, desk.branches()
        # The last phase changed the job's own files alone, which stay behind.
        git("fetch", "--quiet", desk.url(), "main", cwd=scene.repo, header=desk.api.header())
        message = git("log", "-1", "--format=%s", "FETCH_HEAD", cwd=scene.repo)
        assert message.startswith("phase 2 (tactical): phase 2, round 1"), message
        nothing_secret(scene)
    return desk


def started_over(scene):
    """A review that is closed goes on on another branch; nothing of the first is lost."""
    scene.begin()
    scene.work()
    desk = desk_of(scene)
    first = scene.held(1)
    desk.comment("another way, please", PLAN, 1)
    desk.close()
    second = scene.held(1, round=2, revision=2)
    assert second["branch"] == first["branch"] + "-rev-2", second["branch"]
    assert scene.delivered("another way, please") == 1, scene.briefs()
    if scene.forge:
        assert first["forge"]["number"] != second["forge"]["number"], second["forge"]
    desk.approve()
    scene.held(3)


# In a forge


def whose_word_counts(scene):
    """Neither our own account's nor a stranger's; a command of a person does (X11)."""
    scene.begin()
    scene.work()
    desk, zoe, bob = desk_of(scene), desk_of(scene, "zoe"), desk_of(scene, "bob")
    scene.held(1)
    zoe.comment("as a stranger")
    zoe.comment("/checkrein approve")
    zoe.approve()
    desk_of(scene, "bot").comment("/checkrein approve")
    bob.comment("[APPROVE] looks good")
    until("Bob's comment", lambda: "[APPROVE] looks good" in [c["text"] for c in scene.review()["comments"]])
    assert scene.status() == "pending_review"
    assert "as a stranger" not in json.dumps(scene.review()["comments"])
    bob.comment("/checkrein approve 1111111")
    until("an answer", lambda: sum("does not count this" in text for text in desk.remarks()) == 1)
    assert scene.status() == "pending_review"
    bob.comment("/checkrein approve")
    scene.held(3)
    assert [event["by"] for event in scene.events("hold_released")] == ["Bob"]
    # A stranger's merge and a stranger's closing are shown, and decide nothing.
    zoe.close()
    scene.trouble("`zoe`, who is not among `people`")
    zoe.reopen()
    zoe.merge()
    scene.trouble("was merged in the forge by `zoe`")
    assert scene.status() == "pending_review"
    desks.Local(scene).approve()
    scene.ends()
    once_each(scene, desk)


def verdicts_from_here(scene):
    """What is said in the terminal shows in the forge; a rejection closes the pull request."""
    scene.begin()
    scene.work()
    desk, ann = desk_of(scene), desks.Local(scene)
    scene.held(1)
    number = desk.number()
    ann.comment("said here", PLAN, 3)
    ann.request_changes("once more, please")
    scene.held(1, round=2)
    until("it to show", lambda: sum("said here" in text and "seen:" not in text for text in desk.remarks(number)) == 1)
    assert sum("requested changes in Checkrein" in text for text in desk.remarks(number)) == 1, desk.remarks(number)
    assert [line["path"] for line in desk.lines(number) if "said here" in line["body"]][:1] == [PLAN]
    scene.run("reject", scene.id, "-m", "no use", env=ann.env, expect=(0, 5))
    until("it to be closed", lambda: desk.pull(number)["state"] == "closed")
    assert not desk.is_merged(desk.pull(number))
    assert any("no use" in text for text in desk.remarks(number)), desk.remarks(number)


def answered_there(scene):
    """What the agent replied is answered in the forge, and that reaches it as part of the same conversation."""
    scene.begin()
    scene.driven(1)
    desk, ann = desk_of(scene), desks.Local(scene)
    number = desk.number()
    desk.comment("too long", PLAN, 3)
    desk.request_changes("shorter")
    scene.driven(1, round=2)
    [reply] = [line for line in desk.lines(number) if "seen: too long" in line["body"]]
    desk.answer(number, reply, "still too long")
    # A comment from here is shown there, and answered there as well.
    ann.comment("and who reads it?", PLAN, 1)
    ann.request_changes("once more")
    scene.driven(1, round=3)
    [brief] = [one for one in scene.briefs() if one["phase"]["round"] == 3]
    new = {comment["text"]: comment for comment in brief["comments"]["new"]}
    assert (new["still too long"]["file"], new["still too long"]["line"]) == (PLAN, 3), new
    assert desk.threads is False or new["still too long"]["reply_to"], new["still too long"]
    for said in ("too long", "still too long", "and who reads it?"):
        assert scene.delivered(said) == 1, (said, scene.briefs())
        assert sum(f"seen: {said}" in text for text in desk.remarks(number)) == 1, (said, desk.remarks(number))
    assert sum("and who reads it?" in text and "seen:" not in text for text in desk.remarks(number)) == 1, desk.remarks(number)
    once_each(scene, desk)


def seen_before(scene):
    """An approval is of the commit that was looked at (X10): what is pushed after it is not part of it, neither before
    it is heard nor before it is merged."""
    scene.begin()
    first = scene.driven(1)
    desk = desk_of(scene)
    desk.approve()
    desk.push("hint.txt", "from Ann\n")
    scene.look()
    moved = scene.review()
    assert moved["moved"] and moved["head"] != first["head"] and scene.status() == "pending_review", moved
    assert sum("does not count this" in text and "it approves commit" in text for text in desk.remarks()) == 1, desk.remarks()
    # A command has to name what it approves by now.
    desk.comment("/checkrein approve")
    scene.look()
    assert scene.status() == "pending_review" and not scene.events("hold_released")
    desk.comment(f"/checkrein approve {moved['head'][:10]}")
    last = scene.driven(3)
    assert [event["by"] for event in scene.events("hold_released")] == ["Ann"]
    # Approved here, and pushed to there before it is merged.
    desks.Local(scene).approve()
    desks.commit_on(desk.url(), last["branch"], "late.txt", "nobody has seen this\n", desk.api.header())
    scene.finished()
    landed = scene.events("phase_landed")
    assert any("has commits nobody approved" in note for note in landed[-1].get("notes", [])), landed[-1]
    assert result_of(scene) == {"readme", "hint.txt", "letter.txt"}, result_of(scene)
    assert "late.txt" in desk.files(last["branch"])
    once_each(scene, desk)


def rewritten(scene):
    """Nobody's work is lost by a push by force: on the branch of a phase, the job's main branch, or where it began."""
    first = git("rev-parse", "HEAD", cwd=scene.repo)
    (scene.repo / "readme").write_text("hello all\n")
    git("commit", "--quiet", "--all", "-m", "second", cwd=scene.repo)
    desk = desk_of(scene)
    desk.send("main:main")
    scene.begin()
    scene.work()
    review = scene.held(1)
    git("switch", "--quiet", "--detach", first, cwd=scene.repo)
    (scene.repo / "other").write_text("instead\n")
    git("add", ".", cwd=scene.repo)
    git("commit", "--quiet", "-m", "other", cwd=scene.repo)
    instead = git("rev-parse", "HEAD", cwd=scene.repo)
    branch, main = review["branch"], f"checkrein/{scene.id}/main"
    desk.send(f"{instead}:{branch}", "--force")
    scene.trouble(f"branch `{branch}` was rewritten in the forge")
    assert scene.status() == "pending_review" and scene.review()["head"] == review["head"]
    # What was there is put back by whoever took it away.
    git("fetch", "--quiet", review["repository"], branch, cwd=scene.repo)
    desk.send(f"{review['head']}:{branch}", "--force")
    scene.no_trouble()
    # The branch that phases are merged to.
    there = desk.head(main)
    desk.send(f"{instead}:{main}", "--force")
    scene.trouble(f"branch `{main}` was rewritten in the forge")
    desk.send(f"{there}:{main}", "--force")
    scene.no_trouble()
    desk.approve()
    scene.held(3)
    # The branch the job began at: what somebody took away from it does not come back with the result.
    desk.send(f"{instead}:main", "--force")
    desk.approve()
    scene.ends()
    assert desk.head("main") == instead
    published = [event["published"] for event in scene.events("phase_landed") if "published" in event]
    assert "rewritten" in published[-1], published
    [offered] = [pull for pull in desk.pulls() if pull["state"] == "open"]
    assert offered["head"]["ref"].endswith("/result"), offered["head"]


def base_conflicts(scene):
    """A result that does not fit the branch the job began at is held until it does."""
    scene.begin()
    scene.work()
    desk = desk_of(scene)
    scene.held(1)
    desk.approve()
    review = scene.held(3)
    desks.commit_on(desk.url(), "main", "letter.txt", "Dear nobody,\n", desk.api.header())
    there, number = desk.head("main"), desk.number()
    desk.approve()
    held = scene.held(3, round=2)
    assert (held["conflict"]["files"], held["conflict"]["base"]) == (["letter.txt"], "main"), held["conflict"]
    assert desk.head("main") == there and not desk.is_merged(desk.pull(number)), desk.pull(number)
    desks.settle_on(desk.url(), review["branch"], "main", "letter.txt", "Dear both,\n", desk.api.header())
    until("the review to move", lambda: (r := scene.review())["head"] != review["head"] and r["conflict"] is None)
    desk.approve()
    scene.ends()
    git("fetch", "--quiet", desk.url(), "main", cwd=scene.repo, header=desk.api.header())
    assert git("show", "FETCH_HEAD:letter.txt", cwd=scene.repo) == "Dear both,"
    git("merge-base", "--is-ancestor", there, "FETCH_HEAD", cwd=scene.repo)
    assert desk.files("main") == {"readme", "letter.txt"}, desk.files("main")


def merge_taken_away(scene):
    """A merge that somebody takes out of the job's main branch again is made again; the phase is not lost."""
    forge = scene.forge
    scene.begin()
    review = scene.driven(1)
    desk, main = desk_of(scene), f"checkrein/{scene.id}/main"
    before = desk.head(main)
    desk.merge()
    until("the merge", lambda: desk.head(main) != before)
    desk.send(f"{before}:{main}", "--force")
    scene.driven(3)
    landed = scene.events("phase_landed")
    assert any("was merged again" in note for note in landed[0].get("notes", [])), landed[0]
    assert PLAN in desk.files(main), (forge.kind, review["branch"], desk.files(main))


def deleted(scene):
    """A branch that is deleted closes its pull request, which is a request to do it again."""
    scene.begin()
    scene.work()
    desk = desk_of(scene)
    first = scene.held(1)
    desk.delete_branch(first["branch"])
    second = scene.held(1, round=2, revision=2)
    assert second["forge"]["number"] != first["forge"]["number"], second["forge"]
    # The one that phases are merged to is put back.
    desk.delete_branch(f"checkrein/{scene.id}/main")
    third = until("the review to go on", lambda: next_review(scene, second))
    desk.approve()
    scene.held(3)
    desk.approve()
    scene.ends()
    assert result_of(scene) == {"readme", "letter.txt"}, (result_of(scene), third["revision"])


def retargeted(scene):
    """A pull request that somebody leads to another branch is led back: the job's own files do not get there."""
    scene.begin()
    scene.driven(1)
    desk = desk_of(scene)
    main, number = f"checkrein/{scene.id}/main", desk.number()
    retarget = lambda: desk.api.ask("PATCH", desk.path(f"/pulls/{number}"), {"base": "main"})
    retarget()
    scene.look()
    assert desk.pull(number)["base"]["ref"] == main
    # Between the approval and the merge as well.
    desks.Local(scene).approve()
    retarget()
    scene.driven(3)
    assert desk.pull(number)["base"]["ref"] == main and desk.is_merged(desk.pull(number))
    assert desk.files("main") == {"readme"} and PLAN in desk.files(main)


def next_review(scene, before):
    """The next revision; or the same where the forge left the pull request open, with the main branch there."""
    review = scene.review(otherwise=6)
    if not review or not (review["forge"] or {}).get("url"):
        return None
    if review["revision"] > before["revision"]:
        return review
    desk = desk_of(scene)
    there = f"checkrein/{scene.id}/main" in desk.branches()
    return review if there and desk.pull(review["forge"]["number"])["state"] == "open" else None


def away(scene):
    """A forge that is down for an hour is asked again, less and less often, and never taken for merged."""
    scene.begin()
    scene.driven(1)
    desk, ann = desk_of(scene), desks.Local(scene)
    number = desk.number()
    scene.forge.pause()
    ann.approve()
    rests, passed = [], 0
    while passed < 3600:
        scene.look()
        rest = scene.rest()
        rests.append(rest)
        passed += rest
        assert scene.status() == "processing", scene.status()
    # Longer and longer, from moments up to five minutes.
    assert rests[0] < 5 and rests[-1] == 300 and rests == sorted(rests) and len(rests) < 30, rests
    assert not scene.events("phase_landed")
    # It says so once, wherever one looks.
    troubles = [event for event in scene.events("forge") if event["news"] == "trouble"]
    assert len(troubles) == 1 and "cannot be reached" in troubles[0]["text"], troubles
    assert "trouble     the forge cannot be reached" in scene.run("show", scene.id).stdout
    # Before its time nobody asks.
    before = scene.beside("forge.json").read_text()
    scene.run("worker", "--once")
    assert scene.beside("forge.json").read_text() == before and not scene.events("phase_landed")
    scene.forge.start()
    assert desk.pull(number)["state"] == "open"
    # Once it is time to ask again, one look is enough: nobody waits for anything else.
    scene.look()
    assert scene.at(3), scene.status()
    assert len(scene.events("phase_landed")) == 2
    assert sum("approved this in Checkrein" in text for text in desk.remarks(number)) == 1, desk.remarks(number)
    assert scene.review()["forge"]["trouble"] is None
    assert "trouble " not in scene.run("show", scene.id).stdout.split("\n\n")[0]
    desk.merge()
    scene.work()
    scene.ends()
    once_each(scene, desk)


def protected(scene):
    """A branch that wants more approvals holds the merge; one that takes no push gets a pull request."""
    forge, mains = scene.forge, "checkrein/**/main"
    forge.protect(scene.repository, mains, approvals=2)
    forge.protect(scene.repository, "main", push=False)
    scene.begin()
    scene.work()
    desk, bob = desk_of(scene), desk_of(scene, "bob")
    scene.held(1)
    number = desk.number()
    desk.approve()
    said = scene.trouble("is approved")
    assert f"pull request {number}" in said and "approv" in said.split(":", 1)[1], said
    assert scene.status() == "processing" and not scene.events("phase_landed")
    bob.review_of(number, "approve")
    # Those of the work have no review here, so no approvals either.
    forge.unprotect(scene.repository, mains)
    scene.hint()
    scene.held(3)
    desk.approve()
    scene.ends()
    published = [event["published"] for event in scene.events("phase_landed") if "published" in event]
    assert "waits to be merged into `main`" in published[-1], published
    [open_pull] = [pull for pull in desk.pulls() if pull["state"] == "open"]
    assert open_pull["base"]["ref"] == "main" and open_pull["head"]["ref"].endswith("/result"), open_pull


def checks(scene):
    """Required checks: a merge waits for them, is shown, and happens once they pass; one that failed asks a person."""
    forge = scene.forge
    forge.protect(scene.repository, "checkrein/**/main", checks=["ci/build"])
    scene.begin()
    scene.work()
    desk = desk_of(scene)
    review = scene.held(1)
    desk.approve()
    scene.trouble("is approved")
    assert scene.status() == "processing" and not scene.events("phase_landed")
    forge.check(scene.repository, review["head"], "ci/build", "pending")
    scene.hint()
    scene.trouble("ci/build: pending")
    assert "ci/build: pending" in scene.run("show", scene.id).stdout
    # Its branch is taken away meanwhile: it is put back, and nothing is begun anew.
    desk.delete_branch(review["branch"])
    scene.hint()
    until("the branch to be there again", lambda: review["branch"] in desk.branches())
    forge.check(scene.repository, review["head"], "ci/build", "success")
    scene.hint()
    # The work has no review of its own, and waits for its checks all the same.
    work = until("the work", lambda: open_pull(desk, "phase-2-tactical"))
    assert len(scene.events("phase_landed")) == 1
    forge.check(scene.repository, work["head"]["sha"], "ci/build", "success")
    scene.hint()
    last = scene.held(3)
    forge.check(scene.repository, last["head"], "ci/build", "failure")
    desk.approve()
    again = scene.held(3, round=2)
    why = scene.events("run_held")[-1]["reason"]
    assert "does not merge" in why and "ci/build: fail" in why, why
    assert not any(desk.is_merged(pull) for pull in desk.pulls() if pull["number"] == again["forge"]["number"])
    desk.request_changes("mend it")
    mended = scene.held(3, round=3)
    until("the forge to have it", lambda: desk.pull()["head"]["sha"] == mended["head"])
    assert mended["head"] != last["head"] and mended["forge"]["number"] == last["forge"]["number"]
    forge.check(scene.repository, mended["head"], "ci/build", "success")
    desk.approve()
    scene.ends()
    once_each(scene, desk)


def open_pull(desk, phase):
    found = [pull for pull in desk.pulls() if pull["state"] == "open" and phase in pull["head"]["ref"]]
    return found[0] if found else None


def renamed(scene):
    """A repository that is called otherwise is found, and so are hints about it; one that is archived is told."""
    scene.serve_with_hook()
    scene.begin()
    scene.held(1)
    scene.repository = scene.forge.rename(scene.repository, scene.repository.split("/")[1] + "-renamed")
    desk = desk_of(scene)
    desk.push("hint.txt", "from Ann\n")
    scene.hint()
    until("the review to move", lambda: scene.review()["moved"])
    # From here on nobody looks without a hint.
    desk.approve()
    scene.held(3)
    scene.forge.archive(scene.repository, True)
    scene.hint()
    scene.trouble("is archived")
    scene.forge.archive(scene.repository, False)
    scene.hint()
    scene.no_trouble()
    desk.approve()
    scene.ends()
    assert result_of(scene) == {"readme", "hint.txt", "letter.txt"}


def hinted(scene):
    """A signed webhook of the forge's own is enough; a forged one is not."""
    scene.watch_git()
    hook = scene.serve_with_hook()
    body = json.dumps({"repository": {"full_name": scene.repository}}).encode()
    assert post(hook, body, "0" * 64) == 401
    assert post(hook, body, hmac.new(b"other", body, hashlib.sha256).hexdigest()) == 401
    assert post(hook, body, hmac.new(b"agreed-on", body, hashlib.sha256).hexdigest()) == 200
    scene.begin()
    desk = desk_of(scene)
    scene.held(1)
    # Nobody looks by themselves for an hour.
    desk.approve()
    scene.held(3)
    nothing_secret(scene, *every_answer(scene, hook.removesuffix("/v1/forges/hook")))
    desk.approve()
    scene.ends()


def made_for_it(scene, owner="bot"):
    """A job without a repository gets one in the forge."""
    git("remote", "remove", "origin", cwd=scene.repo)
    outside = scene.home / "outside"
    outside.mkdir()
    scene.repo = outside
    scene.begin(level="review")
    scene.repository = f"{owner}/checkrein-{scene.id}"
    scene.work()
    scene.held(3)
    scene.forge.may_see(scene.repository, "ann")
    desk = desk_of(scene)
    desk.merge()
    scene.ends()
    assert "letter.txt" in desk.files("main"), desk.files("main")


def made_for_a_team(scene):
    made_for_it(scene, "team")


ANYWHERE = (whole, started_over)
FORGES = (whose_word_counts, verdicts_from_here, answered_there, seen_before, rewritten, base_conflicts, merge_taken_away, deleted, retargeted, protected, checks, renamed, hinted,
          made_for_it, made_for_a_team)
# They take the forge away from everybody.
ALONE = (away,)


# What they share


def once_each(scene, desk):
    """One pull request for each branch, one merge for each phase, no text twice."""
    pulls = desk.pulls()
    heads = [pull["title"] + pull["body"] for pull in pulls]
    assert len(heads) == len(set(heads)), [pull["title"] for pull in pulls]
    for pull in pulls:
        remarks = [text.strip() for text in desk.remarks(pull["number"]) if "<!-- checkrein:" in text]
        assert len(remarks) == len(set(remarks)), remarks
    return pulls


def nothing_secret(scene, *answers):
    """The token is in no file of Checkrein's, no argument of git, no answer; neither is what git sends of it."""
    secrets = [scene.env["FORGE_TOKEN"], scene.env["HOOK_SECRET"]]
    login = f"x-access-token:{scene.env['FORGE_TOKEN']}".encode()
    # However it lies in what is encoded around it.
    secrets += [base64.b64encode(b"_" * skip + login)[4:-4].decode() for skip in range(3)]
    called = (scene.home / "called").read_text()
    assert "push" in called and "ls-remote" in called, called[:2000]
    for file in scene.home.rglob("*"):
        if file.is_file() and not file.is_symlink():
            text = file.read_bytes()
            for secret in secrets:
                assert secret.encode() not in text, (file, secret)
    shown = [scene.run(*asked).stdout for asked in (("show", scene.id, "--json"), ("show", scene.id), ("log", scene.id),
                                                    ("report", scene.id), ("policy", "explain"), ("runs", "--json"))]
    shown.append(scene.run("doctor", "--json", expect=(0, 1)).stdout)
    for text in (*shown, *answers):
        for secret in secrets:
            assert secret not in text, (secret, text[:2000])


def every_answer(scene, url):
    """What a server answers to every GET that a job has something to say to: its API, and the pages of the cockpit."""
    made = scene.run("token", "create", "--role", "admin", "--name", "Root", "--json")
    token = json.loads(made.stdout)["token"]
    asked = urllib.request.Request(url + "/v1/session", data=json.dumps({"token": token}).encode(), method="POST")
    asked.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(asked, timeout=60) as answer:
        cookie = answer.headers["Set-Cookie"].split(";")[0]

    def get(path, **headers):
        request = urllib.request.Request(url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    _, text = get("/v1/openapi.json", Authorization=f"Bearer {token}")
    paths = [path.replace("{id}", scene.id) for path, of in json.loads(text)["paths"].items() if "get" in of]
    # One of them waits for a verdict.
    paths = [path for path in paths if "{" not in path and not path.endswith("/wait")]
    answers = [get(path, Authorization=f"Bearer {token}") for path in paths]
    pages = ["/", "/inbox", "/runs", f"/runs/{scene.id}", f"/reviews/{scene.id}", "/settings", "/audit", "/workers"]
    answers += [get(path, Cookie=cookie) for path in pages]
    good = sum(status == 200 for status, _ in answers)
    assert good > 20, [(path, status) for path, (status, _) in zip(paths + pages, answers)]
    return [text for _, text in answers]


def result_of(scene):
    """The files of the branch the job started from, where people see them."""
    if scene.forge:
        return desk_of(scene).files("main")
    names = git("for-each-ref", "--format=%(refname)", "refs/heads/checkrein", cwd=scene.repo).splitlines()
    [name] = [name for name in names if name.endswith("/result")] or ["main"]
    return set(git("ls-tree", "-r", "--name-only", name, cwd=scene.repo).splitlines())


def doctor(scene):
    found = json.loads(scene.run("doctor", "--json", expect=(0, 1)).stdout)["checks"]
    return {check["check"]: check for check in found}


def post(url, body, signature):
    request = urllib.request.Request(url, data=body, method="POST")
    request.add_header("Content-Type", "application/json")
    request.add_header("X-Gitea-Signature", signature)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def scene_for(case, binary, forge, **more):
    """A scene as a scenario wants it: some want that nobody looks by themselves, some a team's repositories."""
    if forge is None:
        return Scene(binary, **more)
    poll = "1h" if case in (hinted, renamed) else "200ms"
    owner = {made_for_it: "bot", made_for_a_team: "team"}.get(case)
    name = f"{case.__name__.replace('_', '-')}-{time.time_ns() % 1_000_000_007}"
    door = Door(forge) if getattr(case, "through_door", False) else None
    url = door and door.url
    return Scene(binary, forge, forge.make_repository(name), url=url, door=door, poll=poll, owner=owner, **more)
