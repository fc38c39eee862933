"""Reviews of jobs wherever people review: here, in a real Gitea, at a stand-in for GitHub.

usage: main.py CHECKREIN GITEA-DIRECTORY GITHUB-DESCRIPTION [CASE]

CASE runs one scenario alone: `local`, `kills`, `gitea`, `github`, or `gitea:NAME` and `github:NAME`.
CHECKREIN_FORGE_KILLS says how often Checkrein is killed; 40 by default.
"""

import sys
import time

import contract
import gitea_cases
import github
import github_cases
import kills
from servers import Gitea


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    binary, gitea, description = sys.argv[1:4]
    wanted, _, name = (sys.argv[4] if len(sys.argv) == 5 else "").partition(":")
    begun = time.monotonic()
    if wanted in ("", "local"):
        contract.local(binary)
        print(f"local: whole, started_over ({time.monotonic() - begun:.0f} s)", flush=True)
    if wanted in ("", "github"):
        forge = github.Github(description)
        try:
            github_cases.run(binary, forge, name)
        finally:
            forge.stop()
    if wanted in ("", "gitea", "kills"):
        forge = Gitea(gitea)
        try:
            if wanted in ("", "gitea"):
                gitea_cases.run(binary, forge, name)
            if wanted in ("", "kills"):
                kills.run(binary, forge)
        finally:
            forge.stop()


main()
