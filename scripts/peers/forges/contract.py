"""What a review is, wherever it takes place: the same scenarios on local, Gitea and GitHub."""

import desks
from scene import Scene
from servers import git, until

PLAN = ".checkrein/job/plan.md"


def desk_of(scene):
    kind = scene.forge.kind if scene.forge else "local"
    return {"local": desks.Local, "gitea": desks.Gitea, "github": desks.Github}[kind](scene)


def whole(scene):
    """Inline comment, general comment, changes requested, a pushed commit, approval, merge by hand."""
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
    [placed] = [comment for comment in brief["comments"] if comment["text"] == "be more precise here"]
    assert (placed["file"], placed["line"], placed["by"]) == (PLAN, 3, "Ann"), placed
    # What it replied can be read where the comments were made, once.
    until("the agent's replies", lambda: sum("seen: be more precise here" in text for text in desk.said()) == 1)
    assert sum("seen: and shorter" in text for text in desk.said()) == 1, desk.said()
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
    return desk


def started_over(scene):
    """A review that is closed goes on on another branch; nothing of the first is lost."""
    scene.begin()
    scene.work()
    desk = desk_of(scene)
    first = scene.held(1)
    desk.comment("another way, please", PLAN, 1)
    desk.close()
    second = scene.held(1, revision=2)
    assert second["branch"] == first["branch"] + "-rev-2", second["branch"]
    assert scene.delivered("another way, please") == 1, scene.briefs()
    if scene.forge:
        assert first["forge"]["number"] != second["forge"]["number"], second["forge"]
    desk.approve()
    scene.held(3)
    return desk


def result_of(scene):
    """The files of the branch the job started from, where people see them."""
    if scene.forge:
        url = f"{scene.forge.url}/{scene.repository}.git"
        header = scene.forge.accounts["ann"].header()
        git("fetch", "--quiet", url, "+refs/heads/main:refs/there/main", cwd=scene.repo, header=header)
        name = "refs/there/main"
    else:
        names = git("for-each-ref", "--format=%(refname)", "refs/heads/checkrein", cwd=scene.repo).splitlines()
        [name] = [name for name in names if name.endswith("/result")] or ["main"]
    return set(git("ls-tree", "-r", "--name-only", name, cwd=scene.repo).splitlines())


def local(binary):
    for scenario in (whole, started_over):
        scene = Scene(binary)
        try:
            scenario(scene)
        finally:
            scene.close()
