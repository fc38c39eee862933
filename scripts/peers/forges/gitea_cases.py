"""What is Gitea's alone, beside what holds in every forge."""

import contract
from servers import free_port, git


def settings_of_the_user(scene):
    """A commit does not say where a token is sent; the doctor knows what a token may do."""
    forge, there = scene.forge, free_port()
    (scene.repo / "checkrein.yaml").write_text(
        f"forge: {{ kind: gitea, url: 'http://127.0.0.1:{there}', token_env: FORGE_TOKEN, people: {{ zoe: Zoe }} }}\n"
    )
    git("add", ".", cwd=scene.repo)
    git("commit", "--quiet", "-m", "mine", cwd=scene.repo)
    (scene.home / "settings.yaml").write_text(f"agent: {scene.home}/agent\n")
    refused = scene.run("job", "Write a letter", "--autonomy", "guided", expect=(2,))
    assert "a project does not set `forge`" in refused.stderr, refused.stderr
    git("rm", "--quiet", "checkrein.yaml", cwd=scene.repo)
    git("commit", "--quiet", "-m", "not mine", cwd=scene.repo)
    scene.run("job", "Write a letter", "--autonomy", "guided")
    scene.id = scene.last()
    assert scene.review()["forge"] is None and not scene.events("forge")
    # Settings that change under a job send its token nowhere else.
    (scene.home / "settings.yaml").write_text(
        f"forge: {{ kind: gitea, url: '{forge.url}', token_env: FORGE_TOKEN }}\n"
    )
    checks = contract.doctor(scene)
    assert checks["forge"]["state"] == "good" and "as bot" in checks["forge"]["found"], checks
    assert checks["forge token"]["state"] == "good", checks
    assert checks["forge repository"] == {
        "check": "forge repository", "state": "good", "found": scene.repository, "remedy": None}, checks
    scene.env["FORGE_TOKEN"] = forge.token("bot", "read:user,read:repository,write:issue")
    checks = contract.doctor(scene)
    assert checks["forge token"]["state"] == "broken" and "write:repository" in checks["forge token"]["found"], checks
    # What takes more where repositories are made, and for whom.
    for owner, scope in (("bot", "write:user"), ("team", "write:organization")):
        (scene.home / "settings.yaml").write_text(
            f"forge: {{ kind: gitea, url: '{forge.url}', token_env: FORGE_TOKEN, owner: {owner} }}\n"
        )
        scene.env["FORGE_TOKEN"] = forge.bot_token(None)
        found = contract.doctor(scene)["forge token"]
        assert found["state"] == "broken" and found["found"] == f"it lacks {scope}", found
        scene.env["FORGE_TOKEN"] = forge.bot_token(owner)
        assert contract.doctor(scene)["forge token"]["state"] == "good", (owner, contract.doctor(scene))
    scene.env["FORGE_TOKEN"] = "0" * 40
    assert contract.doctor(scene)["forge"]["state"] == "broken"


def weather(scene):
    """A Gitea that is busy, out of breath or not ready to merge now and then, and one that does what it is asked for and
    says otherwise: nothing is taken for merged that is not, and nothing is done twice."""
    later = '{"message":"Please try again later"}'
    scene.door.weather = [
        {"kind": "GET /pulls/N", "times": 1, "status": 503, "body": "<html>starting</html>"},
        {"kind": "GET .git/info/refs", "times": 1, "status": 502, "body": "bad gateway"},
        {"kind": "GET /issues/N/comments", "times": 1, "status": 429, "body": "{}", "headers": {"Retry-After": "1"}},
        {"kind": "POST /pulls/N/merge", "times": 2, "status": 405, "body": later},
        {"kind": "POST /pulls/N/merge", "times": 1, "status": 409, "body": '{"message":"head out of date"}'},
        {"kind": "POST /pulls", "times": 1, "status": 500, "body": "{}", "done": True},
        {"kind": "POST /issues/N/comments", "times": 1, "status": 502, "body": "{}", "done": True},
        {"kind": "POST /pulls/N/reviews", "times": 1, "status": 504, "body": "{}", "done": True},
        {"kind": "POST /pulls/N/merge", "times": 1, "status": 500, "body": "{}", "done": True},
    ]
    contract.whole(scene)
    assert not any(one["times"] for one in scene.door.weather), scene.door.weather
    troubles = [event.get("text") for event in scene.events("forge") if event["news"] == "trouble"]
    assert any("429" in text for text in troubles if text) and troubles[-1] is None, troubles


weather.through_door = True


def gone(scene):
    """A repository that is deleted, and an account that may not write any more, are shown; nothing is lost here."""
    scene.begin()
    review = scene.driven(1)
    bot, ann = scene.forge.accounts["bot"], scene.forge.accounts["ann"]
    # It is given to somebody who lets us read it.
    bot.ask("POST", f"/repos/{scene.repository}/transfer", {"new_owner": "ann"})
    name = scene.repository.split("/")[1]
    ann.ask("POST", f"/repos/{scene.repository}/transfer/accept")
    ann.ask("PUT", f"/repos/ann/{name}/collaborators/bot", {"permission": "read"})
    scene.look()
    assert "`bot` may not push to repository" in scene.troubled(), scene.troubled()
    assert f"ann/{name}" in scene.troubled(), scene.troubled()
    assert scene.status() == "pending_review"
    # It may again, under the other name.
    ann.ask("PUT", f"/repos/ann/{name}/collaborators/bot", {"permission": "write"})
    scene.repository = f"ann/{name}"
    scene.look()
    assert scene.troubled() is None, scene.troubled()
    contract.desk_of(scene).approve()
    last = scene.driven(3)
    ann.ask("DELETE", f"/repos/ann/{name}")
    scene.look()
    assert "there is no" in scene.troubled(), scene.troubled()
    contract.desks.Local(scene).approve()
    scene.look()
    assert scene.status() == "processing" and len(scene.events("phase_landed")) == 2, scene.status()
    # Everything is here, as it was.
    assert git("rev-parse", f"refs/heads/{last['branch']}", cwd=last["repository"]) == last["head"]
    assert review["repository"] == last["repository"]


CASES = (settings_of_the_user, weather, gone)
