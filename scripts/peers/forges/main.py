"""Reviews of jobs wherever people review: here, at a stand-in for GitHub, in a real Gitea.

usage: main.py CHECKREIN GITHUB-DESCRIPTION --gitea DIRECTORY [--long] [CASE...]

Checkrein is killed between any two kinds of calls to a forge that follow each other, and at moments that are others each
time; with --long before and after every single call of a job.
CASE is `local`, `github`, `gitea`, or one scenario of theirs such as `gitea:whole` and `github:kills`; Gitea is needed for
its own.
"""

import argparse
import concurrent.futures
import os
import time
import traceback

import contract
import gitea_cases
import github
import github_cases
import kills
from servers import Gitea

# Most of the time of a scenario is waiting.
AT_ONCE = int(os.environ.get("CHECKREIN_FORGE_JOBS", "6"))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("binary")
    parser.add_argument("description")
    parser.add_argument("--gitea")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("cases", nargs="*")
    asked = parser.parse_intermixed_args()
    asked.binary = os.path.abspath(asked.binary)
    if wanted(asked, "gitea") and not asked.gitea:
        parser.error("--gitea is missing: scripts/peers/gitea builds one")
    forges = {}
    try:
        if wanted(asked, "gitea"):
            forges["gitea"] = Gitea(asked.gitea)
        if wanted(asked, "github"):
            forges["github"] = github.Github(asked.description)
        # What takes longest begins first.
        work = [(kind, forge, case) for kind, forge in forges.items() for case in kills_of(asked)]
        own = {"gitea": gitea_cases.CASES, "github": github_cases.CASES}
        work += [(kind, forge, case) for kind, forge in forges.items() for case in contract.ANYWHERE + contract.FORGES + own[kind]]
        work += [("local", None, case) for case in contract.ANYWHERE]
        several(asked, AT_ONCE, work)
        # These take the forge away from everybody else there.
        several(asked, len(forges), [(kind, forge, case) for case in contract.ALONE for kind, forge in forges.items()])
    finally:
        for forge in forges.values():
            forge.stop()
    if "github" in forges:
        description = forges["github"].description
        assert not description.violations, "\n".join(description.violations[:20])
        print(f"github: {description.checked} requests and replies are as the vendor describes them", flush=True)


def wanted(asked, kind, name=None):
    whole = not asked.cases or kind in asked.cases
    return whole or (f"{kind}:{name}" in asked.cases if name else any(case.startswith(f"{kind}:") for case in asked.cases))


def kills_of(asked):
    return (kills.every_call,) if asked.long else (kills.sample,)


def several(asked, at_once, work):
    """Scenarios beside each other."""
    chosen = [(kind, forge, case) for kind, forge, case in work
              if wanted(asked, kind, "kills" if case in (kills.sample, kills.every_call) else case.__name__)]
    if not chosen:
        return
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        running = {pool.submit(one, asked, kind, forge, case): f"{kind}:{case.__name__}" for kind, forge, case in chosen}
        failed = []
        for done in concurrent.futures.as_completed(running):
            if done.exception():
                failed.append(running[done])
                traceback.print_exception(done.exception())
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


def one(asked, kind, forge, case):
    if case in (kills.sample, kills.every_call):
        return case(asked.binary, forge)
    begun = time.monotonic()
    scene = contract.scene_for(case, asked.binary, forge)
    try:
        case(scene)
    except BaseException:
        for name in ("worker.log", "server.log"):
            if (scene.home / name).exists():
                print(f"{kind}:{case.__name__}: {name}\n{(scene.home / name).read_text()[-4000:]}", flush=True)
        if scene.id:
            print(scene.run("show", scene.id).stdout[-3000:], flush=True)
        raise
    finally:
        scene.close()
    print(f"{kind}: {case.__name__} ({time.monotonic() - begun:.0f} s)", flush=True)


main()
