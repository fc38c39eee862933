"""Reviews of jobs wherever people review: here, at a stand-in for GitHub, in a real Gitea.

usage: main.py CHECKREIN GITHUB-DESCRIPTION [--gitea DIRECTORY] [--long] [CASE...]

Without --gitea the real Gitea is left out. With --long every scenario runs in it, and Checkrein is killed at every
call of a job, before it is passed on and after it was answered; without, those run in which it differs most from the
stand-in for GitHub, and Checkrein is killed at every kind of call and at some of the others.
CASE is `local`, `github`, `gitea`, or one scenario of theirs such as `gitea:whole` and `github:kills`.
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
AT_ONCE = int(os.environ.get("CHECKREIN_FORGE_JOBS", "3"))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("binary")
    parser.add_argument("description")
    parser.add_argument("--gitea")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("cases", nargs="*")
    asked = parser.parse_intermixed_args()
    asked.binary = os.path.abspath(asked.binary)
    if wanted(asked, "local"):
        several(asked, "local", None, contract.ANYWHERE)
    if wanted(asked, "github"):
        forge = github.Github(asked.description)
        try:
            several(asked, "github", forge, contract.ANYWHERE + contract.FORGES + github_cases.CASES)
            one_by_one(asked, "github", forge)
        finally:
            forge.stop()
        assert not forge.description.violations, "\n".join(forge.description.violations[:20])
        print(f"github: {forge.description.checked} requests and replies are as the vendor describes them", flush=True)
    if asked.gitea and wanted(asked, "gitea"):
        forge = Gitea(asked.gitea)
        try:
            cases = contract.ANYWHERE + contract.FORGES + gitea_cases.CASES
            short = not asked.long and not asked.cases
            several(asked, "gitea", forge, (case for case in cases if not short or case in gitea_cases.SHORT))
            one_by_one(asked, "gitea", forge)
        finally:
            forge.stop()


def wanted(asked, kind, name=None):
    whole = not asked.cases or kind in asked.cases
    return whole or (f"{kind}:{name}" in asked.cases if name else any(case.startswith(f"{kind}:") for case in asked.cases))


def several(asked, kind, forge, cases):
    """Scenarios beside each other."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        chosen = [case for case in cases if wanted(asked, kind, case.__name__)]
        running = {pool.submit(one, asked, kind, forge, case): case for case in chosen}
        failed = []
        for done in concurrent.futures.as_completed(running):
            if done.exception():
                failed.append(running[done].__name__)
                traceback.print_exception(done.exception())
    if failed:
        raise SystemExit(f"{kind}: failed: {', '.join(failed)}")


def one(asked, kind, forge, case):
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


def one_by_one(asked, kind, forge):
    for case in contract.ALONE:
        if wanted(asked, kind, case.__name__) and (asked.long or asked.cases):
            one(asked, kind, forge, case)
    if wanted(asked, kind, "kills"):
        kills.run(asked.binary, forge, asked.long)


main()
