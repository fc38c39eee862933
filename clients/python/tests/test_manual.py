"""Every Python block of the manuals runs, durable: against a server with the settings the manual shows.

`EXPRESSION  # True`, `# NAME is True` and `print(EXPRESSION)  # "text"` are checked.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any, Dict, List, Tuple

import pytest

from checkrein import (
    AutoApproveReviewer,
    CheckpointHandler,
    CheckpointPendingError,
    CheckpointStatus,
    CheckpointStore,
    Client,
    ForbiddenError,
    PendingReviewer,
)

from .conftest import Server

CLIENT = Path(__file__).parents[1]
MANUAL = (CLIENT / "../../docs/clients.md").read_text()
README = (CLIENT / "README.md").read_text()


def blocks(text: str, language: str) -> List[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def named(text: str) -> List[Any]:
    found = blocks(text, "python")
    return [pytest.param(block, id=f"{number}-{title(block)}") for number, block in enumerate(found, 1)]


def title(block: str) -> str:
    words = re.findall(r"^from checkrein\S* import (\w+)", block, re.MULTILINE)
    return words[-1] if words else "block"


def checked(block: str) -> str:
    block = re.sub(r"^(\S.*?\S) +# (True|False)$", r"assert (\1) is \2", block, flags=re.MULTILINE)
    block = re.sub(r'^print\((.*)\) +# (".*")$', r"assert (\1) == \2", block, flags=re.MULTILINE)
    return re.sub(r"^# (\w+ is (?:True|False))\b.*$", r"assert \1", block, flags=re.MULTILINE)


def run(block: str) -> Dict[str, Any]:
    names: Dict[str, Any] = {"__name__": "manual"}
    code = compile(checked(block), "manual", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    result = eval(code, names)
    if inspect.iscoroutine(result):
        asyncio.run(result)
    return names


@pytest.fixture
def settings(idle_server: Server) -> Server:
    (tenant,) = blocks(MANUAL, "yaml")
    (idle_server.directory / "tenant.yaml").write_text(tenant)
    (exported,) = blocks(MANUAL, "bash")
    variables: List[Tuple[str, str]] = re.findall(r"^export (\w+)=(\w+)$", exported, re.MULTILINE)
    assert [name for name, _ in variables] == ["DWORKERS_DEFAULT_AUTONOMY"]
    return idle_server.start("--tenant", "tenant.yaml", **dict(variables))


def act_as(monkeypatch: pytest.MonkeyPatch, server: Server, role: str) -> CheckpointStore:
    monkeypatch.setenv("CHECKREIN_URL", server.url)
    monkeypatch.setenv("CHECKREIN_TOKEN", server.token(role, role))
    return CheckpointStore()


@pytest.mark.parametrize("block", named(MANUAL))
def test_the_manual_runs(settings: Server, monkeypatch: pytest.MonkeyPatch, block: str) -> None:
    act_as(monkeypatch, settings, "reviewer")
    run(block)


DECIDES = re.compile(r"^store\.(?:approve|reject|clear)\(|AutoApproveReviewer\(", re.MULTILINE)


@pytest.mark.parametrize("block", [one for one in named(MANUAL) if DECIDES.search(one.values[0])])
def test_with_an_agents_token_nothing_of_the_manual_is_approved(
    settings: Server, monkeypatch: pytest.MonkeyPatch, block: str
) -> None:
    store = act_as(monkeypatch, settings, "agent")
    with pytest.raises(ForbiddenError):
        run(block)
    assert {one.status for one in store.list()} == {CheckpointStatus.PENDING}


def test_what_the_store_of_the_manual_leaves_behind(settings: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    store = act_as(monkeypatch, settings, "reviewer")
    (block,) = [block for block in blocks(MANUAL, "python") if "store.clear()" in block]
    names = run(block)
    assert len(names["pending"]) == 1 and names["cp"].rejection_reason == "Needs more competitor analysis"
    statuses = [(one.id, one.status.value) for one in store.list()]
    assert statuses[1:] == [("custom-id-123", "approved"), ("custom-id-124", "rejected")]
    assert statuses[0][1] == "withdrawn" and store.list_pending() == []


def test_an_automatic_approval_is_recorded_as_one(settings: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    store = act_as(monkeypatch, settings, "reviewer")
    (block,) = [block for block in blocks(MANUAL, "python") if "AutoApproveReviewer(" in block]
    run(block)
    (only,) = store.list()
    assert (only.status, only.reason) == (CheckpointStatus.APPROVED, "approved automatically")


def test_where_the_server_says_so_an_agent_passes_automatically(idle_server: Server) -> None:
    tenant = "workers:\n  analyst: { autonomy: manual, reviewer: auto-approve }\n"
    (idle_server.directory / "tenant.yaml").write_text(tenant)
    server = idle_server.start("--tenant", "tenant.yaml")
    store = CheckpointStore(server.client("agent", "writer"))
    assert asyncio.run(AutoApproveReviewer(store).on_checkpoint("analyst", "report", "draft")) is True
    (only,) = store.list()
    assert (only.resolved_by, only.reason) == ("auto-approve", "approved automatically")
    with pytest.raises(ForbiddenError, match="hint: set `reviewer: auto-approve` for worker `manager`"):
        asyncio.run(AutoApproveReviewer(store).on_checkpoint("manager", "report", "draft"))
    (held,) = store.list_pending()
    assert held.worker_name == "manager"


def test_the_reviewers_are_handlers(server: Server) -> None:
    (block,) = [block for block in blocks(MANUAL, "python") if "class CheckpointHandler" in block]
    store = CheckpointStore(server.client("agent", "writer"))
    for handler in (CheckpointHandler, run(block)["CheckpointHandler"]):
        for reviewer in (AutoApproveReviewer(store), PendingReviewer(store)):
            assert isinstance(reviewer, handler)
        assert not isinstance(store, handler)


def test_the_readme_runs_with_an_agents_token(settings: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    act_as(monkeypatch, settings, "agent")
    person = CheckpointStore(Client(settings.url, settings.token("reviewer", "ann")))
    (block,) = blocks(README, "python")
    with pytest.raises(CheckpointPendingError):
        run(block.replace("store.wait(cp.id)", "store.wait(cp.id, timeout=0)"))
    person.approve("report-7")
    run(block)
