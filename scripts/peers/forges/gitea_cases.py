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
    given = scene.run("job", "Write a letter", "--autonomy", "guided")
    assert "is not followed" in given.stderr, given.stderr
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
    scene.env["FORGE_TOKEN"] = "0" * 40
    assert contract.doctor(scene)["forge"]["state"] == "broken"


CASES = (settings_of_the_user,)
# Where the real one differs most from a stand-in: when it sees a push, how it closes, retargets and refuses.
SHORT = (contract.whole, contract.deleted, contract.checks, settings_of_the_user)
