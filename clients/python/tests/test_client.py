"""Policies and events against a real server."""

from __future__ import annotations

import asyncio
import json

import pytest

from checkrein import (
    AutonomyConfig,
    AutonomyLevel,
    CheckpointError,
    CheckpointStatus,
    CheckpointStore,
    Client,
    PendingReviewer,
    UnauthenticatedError,
)

from .conftest import Server


def test_the_policy_and_what_it_would_decide(worker: CheckpointStore) -> None:
    client = worker.client
    assert client.policy(worker="analyst")["level"] == "semi_supervised"
    assert client.explain(worker="analyst")["policy"]["scope"] == "worker"
    decision = client.decide(
        {"scope": "worker", "autonomy": "manual", "boundary": {"kind": "intermediate"}},
    )
    assert (decision["outcome"], decision["rule"]) == ("hold", "trigger")


@pytest.mark.parametrize(
    "variable, level",
    [
        ("manual", AutonomyLevel.MANUAL),
        ({"level": "semi_supervised", "checkpoint_types": ["invoice"]}, AutonomyLevel.SEMI_SUPERVISED),
        ({"level": "autonomous", "hold_at": [{"on": "deliverable"}]}, None),
        ({"level": "custom", "hold_at": [{"on": "deliverable"}]}, None),
        ({"level": "autonomous", "require_approval_for": ["release"]}, None),
    ],
)
def test_a_policy_that_says_more_than_a_level_is_not_cut_down(
    idle_server: Server, variable: object, level: AutonomyLevel
) -> None:
    text = variable if isinstance(variable, str) else json.dumps(variable)
    server = idle_server.start(CHECKREIN_WORKER_AUTONOMY=text)
    client = server.client("agent", "writer")
    if level is None:
        with pytest.raises(CheckpointError, match="says more than an autonomy level can"):
            AutonomyConfig.of_worker("w", client)
    else:
        config = AutonomyConfig.of_worker("w", client)
        assert config.level is level
        assert config.should_checkpoint("invoice")
        assert config.should_checkpoint("deliverable") is (level is AutonomyLevel.MANUAL)


def test_where_nothing_is_asked_for_a_worker_passes_and_it_is_on_record(idle_server: Server) -> None:
    (idle_server.directory / "tenant.yaml").write_text("workers:\n  manager: { autonomy: manual }\n")
    server = idle_server.start("--tenant", "tenant.yaml", DWORKERS_DEFAULT_AUTONOMY="autonomous")
    store = CheckpointStore(server.client("agent", "writer"))
    assert AutonomyConfig.of_worker("manager", store.client).level is AutonomyLevel.MANUAL
    assert AutonomyConfig.of_worker("somebody else", store.client).level is AutonomyLevel.AUTONOMOUS
    passed = store.create("draft", "somebody else")
    assert passed.status is CheckpointStatus.NOT_REQUIRED
    assert store.wait(passed.id, 0) == store.show(passed.id)
    assert asyncio.run(PendingReviewer(store).on_checkpoint("somebody else", "report", "draft")) is True
    assert asyncio.run(PendingReviewer(store).on_checkpoint("manager", "report", "draft")) is False
    assert not store.is_approved(passed.id)


def test_a_level_is_one_of_three_and_its_types_are_a_set() -> None:
    config = AutonomyConfig(checkpoint_types=frozenset({"invoice"}))
    assert config.level is AutonomyLevel.SEMI_SUPERVISED
    assert [config.should_checkpoint(kind) for kind in ("invoice", "Invoice", "deliverable")] == [True, False, False]
    assert AutonomyConfig(level="manual").level is AutonomyLevel.MANUAL  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`manual`, `semi_supervised`, `autonomous`"):
        AutonomyConfig(level="manuel")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes a set"):
        AutonomyConfig(checkpoint_types="invoice")  # type: ignore[arg-type]


def test_any_route_can_be_asked(server: Server) -> None:
    admin = server.client("admin", "root")
    workflow = {"id": "ship-it", "phases": {"build": {"steps": [{"id": "compile", "run": "true"}]}}}
    run = admin.post_once("/v1/runs", {"workflow": workflow})["run_id"]
    assert [item["run_id"] for item in admin.pages("/v1/runs", {"limit": 1}, cursor="before")] == [run]
    happened = admin.events(run=run)
    assert next(happened)["position"] >= 1


def test_events_go_on_where_they_were_when_the_server_comes_back(
    server: Server, worker: CheckpointStore, person: CheckpointStore
) -> None:
    worker.submit("c1", "draft", "analyst")
    events = person.client.events(after=0)
    seen = [next(events)]
    server.kill()
    server.again()
    worker.submit("c2", "draft", "analyst")
    person.approve("c1")
    seen += [next(events), next(events)]
    assert [(one["event"], one["checkpoint_id"]) for one in seen] == [
        ("checkpoint_created", "c1"),
        ("checkpoint_created", "c2"),
        ("checkpoint_resolved", "c1"),
    ]
    positions = [one["position"] for one in seen]
    assert positions == sorted(set(positions))


def test_a_stream_for_a_token_that_is_worth_nothing_is_an_error(server: Server) -> None:
    with pytest.raises(UnauthenticatedError):
        next(Client(server.url, "chk_wrong").events())
