"""Jobs in a real Gitea, beside what holds in every forge."""

import hashlib
import hmac
import json
import time
import urllib.request

import contract
import desks
from scene import Scene
from servers import free_port, git, until


def once_each(scene, desk):
    """One pull request for each branch, one merge for each phase, no text twice."""
    pulls = desk.pulls()
    heads = [pull["title"] + pull["body"] for pull in pulls]
    assert len(heads) == len(set(heads)), [pull["title"] for pull in pulls]
    for pull in pulls:
        remarks = [text.strip() for text in desk.remarks(pull["number"]) if "<!-- checkrein:" in text]
        assert len(remarks) == len(set(remarks)), remarks
    return pulls


def whole(scene):
    desk = contract.whole(scene)
    pulls = once_each(scene, desk)
    # The plan, the work and the end each had one (L5).
    assert [pull["merged"] for pull in pulls] == [True] * 3, pulls
    branches = {branch["name"] for branch in desk.api.ask("GET", desk.path("/branches"))}
    assert branches == {"main"}, branches
    message = desk.api.ask("GET", desk.path("/commits?sha=main&limit=1&stat=false&files=false"))[0]["commit"]["message"]
    # The last phase changed the job's own files alone, which stay behind.
    assert message.startswith("phase 2 (tactical): phase 2, round 1"), message
    nothing_secret(scene)


def nothing_secret(scene):
    """The token is in no file of Checkrein's."""
    token = scene.env["FORGE_TOKEN"].encode()
    for file in scene.home.rglob("*"):
        if file.is_file() and not file.is_symlink():
            assert token not in file.read_bytes(), file
    shown = scene.run("show", scene.id, "--json").stdout + scene.run("log", scene.id).stdout
    assert token.decode() not in shown


def whose_word_counts(scene):
    """Neither our own account's nor a stranger's; a command of a person does (X11)."""
    scene.begin()
    worker = scene.work()
    desk = desks.Gitea(scene)
    scene.held(1)
    zoe = desks.Gitea(scene, "zoe")
    zoe.comment("as a stranger")
    zoe.comment("/checkrein approve")
    zoe.approve()
    desks.Gitea(scene, "bot").comment("/checkrein approve")
    bob = desks.Gitea(scene, "bob")
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
    zoe.api.ask("PATCH", zoe.path(f"/pulls/{zoe.number()}"), {"state": "open"})
    zoe.merge()
    scene.trouble("was merged in the forge by `zoe`")
    assert scene.status() == "pending_review"
    ann = desks.Local(scene)
    ann.approve()
    scene.ends()
    scene.end(worker)
    once_each(scene, desk)


def verdicts_from_here(scene):
    """What is said in the terminal shows in the forge; a rejection closes the pull request."""
    scene.begin()
    scene.work()
    desk, ann = desks.Gitea(scene), desks.Local(scene)
    scene.held(1)
    number = desk.number()
    ann.comment("said here", contract.PLAN, 3)
    ann.request_changes("once more, please")
    scene.held(1, round=2)
    until("it to show", lambda: sum("said here" in text and "seen:" not in text for text in desk.remarks(number)) == 1)
    assert sum("requested changes in Checkrein" in text for text in desk.remarks(number)) == 1, desk.remarks(number)
    assert [line["path"] for line in desk.lines(number) if "said here" in line["body"]][:1] == [contract.PLAN]
    scene.run("reject", scene.id, "-m", "no use", env=ann.env, expect=(0, 5))
    until("it to be closed", lambda: desk.pull(number)["state"] == "closed")
    assert not desk.pull(number)["merged"]
    assert any("no use" in text for text in desk.remarks(number)), desk.remarks(number)


def rewritten_and_deleted(scene):
    """Nobody's work is lost by a push by force or a deleted branch."""
    scene.begin()
    scene.work()
    desk = desks.Gitea(scene)
    review = scene.held(1)
    branch, url = review["branch"], f"{scene.forge.url}/{scene.repository}.git"
    header = desk.api.header()
    git("fetch", "--quiet", url, "main", cwd=scene.repo, header=header)
    git("push", "--quiet", "--force", url, f"FETCH_HEAD:refs/heads/{branch}", cwd=scene.repo, header=header)
    scene.trouble("was rewritten in the forge")
    assert scene.status() == "pending_review" and scene.review()["head"] == review["head"]
    # What was there is put back by whoever took it away.
    git("push", "--quiet", "--force", url, f"{review['head']}:refs/heads/{branch}", cwd=scene.repo, header=header)
    until("the trouble to be over", lambda: scene.events("forge")[-1].get("text", "") == "")
    desk.approve()
    second = scene.held(3)
    # A branch that is deleted closes its pull request in Gitea, which is a request to do it again.
    desk.api.ask("DELETE", desk.path("/branches/" + second["branch"].replace("/", "%2F")))
    third = scene.held(3, revision=2)
    assert third["head"] != second["head"]
    desk.approve()
    scene.ends()


def forge_away(scene):
    """A forge that is down is asked again and never taken for merged."""
    scene.begin()
    scene.work()
    desk, ann = desks.Gitea(scene), desks.Local(scene)
    scene.held(1)
    scene.forge.pause()
    ann.approve()
    scene.trouble("cannot be reached")
    assert scene.status() == "processing", scene.status()
    assert not scene.events("phase_landed")
    shown = json.loads(scene.run("show", scene.id, "--json").stdout)
    scene.forge.start()
    scene.held(3)
    assert len(scene.events("phase_landed")) == 2
    until("no trouble", lambda: scene.review()["forge"]["trouble"] is None)
    desk.merge()
    scene.ends()
    once_each(scene, desk)
    return shown


def protected(scene):
    """A branch that wants more approvals holds the merge; one that takes no push gets a pull request."""
    bot = scene.forge.accounts["bot"]
    rules = f"/repos/{scene.repository}/branch_protections"
    bot.ask("POST", rules, {"rule_name": "checkrein/**/main", "enable_push": True, "required_approvals": 2})
    bot.ask("POST", rules, {"rule_name": "main", "enable_push": False})
    scene.begin()
    scene.work()
    desk, bob = desks.Gitea(scene), desks.Gitea(scene, "bob")
    scene.held(1)
    desk.approve()
    scene.trouble("(405)")
    assert scene.status() == "processing" and not scene.events("phase_landed")
    number = scene.forge.accounts["ann"].ask("GET", f"/repos/{scene.repository}/pulls")[0]["number"]
    bob.api.ask("POST", bob.path(f"/pulls/{number}/reviews"), {"event": "APPROVED"})
    bot.ask("DELETE", rules + "/checkrein%2F%2A%2A%2Fmain")
    scene.held(3)
    desk.approve()
    scene.ends()
    published = [event["published"] for event in scene.events("phase_landed") if "published" in event]
    assert "waits to be merged into `main`" in published[-1], published
    [open_pull] = [pull for pull in desk.pulls() if pull["state"] == "open"]
    assert open_pull["base"]["ref"] == "main" and open_pull["head"]["ref"].endswith("/result"), open_pull


def renamed(scene):
    """A repository that is called otherwise is found."""
    scene.begin()
    scene.work()
    scene.held(1)
    name = scene.repository.split("/")[1] + "-renamed"
    scene.forge.accounts["bot"].ask("PATCH", f"/repos/{scene.repository}", {"name": name})
    scene.repository = f"bot/{name}"
    desk = desks.Gitea(scene)
    desk.push("hint.txt", "from Ann\n")
    until("the review to move", lambda: scene.review()["moved"])
    desk.approve()
    scene.held(3)
    desk.approve()
    scene.ends()


def hinted(scene):
    """A signed webhook of Gitea's own is enough; a forged one is not."""
    port = free_port()
    scene.serve(port)
    hook = f"http://127.0.0.1:{port}/v1/forges/hook"
    config = {"url": hook, "content_type": "json", "secret": "agreed-on"}
    events = ["pull_request", "pull_request_approved", "pull_request_rejected", "pull_request_comment", "push"]
    bot = scene.forge.accounts["bot"]
    bot.ask("POST", f"/repos/{scene.repository}/hooks", {"type": "gitea", "config": config, "events": events, "active": True})
    until("the server", lambda: answers(f"http://127.0.0.1:{port}/healthz"))
    body = json.dumps({"repository": {"full_name": scene.repository}}).encode()
    assert post(hook, body, "0" * 64) == 401
    assert post(hook, body, hmac.new(b"other", body, hashlib.sha256).hexdigest()) == 401
    assert post(hook, body, hmac.new(b"agreed-on", body, hashlib.sha256).hexdigest()) == 200
    scene.begin()
    desk = desks.Gitea(scene)
    scene.held(1)
    # Nobody looks by themselves for an hour.
    desk.approve()
    scene.held(3)
    desk.approve()
    scene.ends()


def made_for_it(binary, forge):
    """A job without a repository gets one in the forge."""
    scene = Scene(binary, forge, forge.make_repository("unused"))
    try:
        git("remote", "remove", "origin", cwd=scene.repo)
        outside = scene.home / "outside"
        outside.mkdir()
        scene.repo = outside
        scene.begin(level="review")
        scene.repository = f"bot/checkrein-{scene.id}"
        scene.work()
        scene.held(3)
        desks.Gitea(scene, "bot").api.ask("PUT", f"/repos/{scene.repository}/collaborators/ann", {"permission": "write"})
        desk = desks.Gitea(scene)
        desk.merge()
        scene.ends()
        found = {entry["name"] for entry in desk.api.ask("GET", desk.path("/contents"))}
        assert "letter.txt" in found, found
    finally:
        scene.close()


def settings_of_the_user(binary, forge):
    """A commit does not say where a token is sent; the doctor knows what a token may do."""
    scene = Scene(binary, forge, forge.make_repository("whose"))
    try:
        there = free_port()
        (scene.repo / "checkrein.yaml").write_text(
            f"forge: {{ kind: gitea, url: 'http://127.0.0.1:{there}', token_env: FORGE_TOKEN, people: {{ zoe: Zoe }} }}\n"
        )
        git("add", ".", cwd=scene.repo)
        git("commit", "--quiet", "-m", "mine", cwd=scene.repo)
        (scene.home / "settings.yaml").write_text(f"agent: {scene.home}/agent\n")
        given = scene.run("job", "Write a letter", "--autonomy", "guided")
        assert "is not followed" in given.stderr, given.stderr
        scene.id = last(scene)
        assert scene.review()["forge"] is None and not scene.events("forge")
        # Settings that change under a job send its token nowhere else.
        (scene.home / "settings.yaml").write_text(
            f"forge: {{ kind: gitea, url: '{forge.url}', token_env: FORGE_TOKEN }}\n"
        )
        checks = doctor(scene)
        assert checks["forge"]["state"] == "good" and "as bot" in checks["forge"]["found"], checks
        assert checks["forge token"]["state"] == "good", checks
        scene.env["FORGE_TOKEN"] = forge.token("bot", "read:user,read:repository,write:issue")
        checks = doctor(scene)
        assert checks["forge token"]["state"] == "broken" and "write:repository" in checks["forge token"]["found"], checks
        scene.env["FORGE_TOKEN"] = "0" * 40
        assert doctor(scene)["forge"]["state"] == "broken"
    finally:
        scene.close()


def doctor(scene):
    found = json.loads(scene.run("doctor", "--json", expect=(0, 1)).stdout)["checks"]
    return {check["check"]: check for check in found}


def last(scene):
    rows = json.loads(scene.run("runs", "--json").stdout)
    rows = rows["runs"] if isinstance(rows, dict) and "runs" in rows else rows
    return (rows["items"] if isinstance(rows, dict) else rows)[0]["run_id"]


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def post(url, body, signature):
    request = urllib.request.Request(url, data=body, method="POST")
    request.add_header("Content-Type", "application/json")
    request.add_header("X-Gitea-Signature", signature)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def run(binary, forge, only=None):
    cases = [whole, contract.started_over, whose_word_counts, verdicts_from_here, rewritten_and_deleted, forge_away,
             protected, renamed, hinted]
    for case in cases:
        if only and case.__name__ != only:
            continue
        begun = time.monotonic()
        name = case.__name__.replace("_", "-")
        poll = "1h" if case is hinted else "200ms"
        scene = Scene(binary, forge, forge.make_repository(name), poll=poll)
        try:
            case(scene)
        except BaseException:
            for name in ("worker.log", "server.log"):
                if (scene.home / name).exists():
                    print((scene.home / name).read_text()[-4000:])
            raise
        finally:
            scene.close()
        print(f"gitea: {case.__name__} ({time.monotonic() - begun:.0f} s)", flush=True)
    for case in (made_for_it, settings_of_the_user):
        if not only or case.__name__ == only:
            case(binary, forge)
            print(f"gitea: {case.__name__}", flush=True)
