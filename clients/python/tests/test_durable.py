"""What is held stays held: the server is killed, clients come back."""

from __future__ import annotations

import asyncio
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from checkrein import (
    Checkpoint,
    CheckpointRejectedError,
    CheckpointStatus,
    CheckpointStore,
    Client,
    PendingReviewer,
    UnreachableError,
)

from .conftest import Server


def test_a_checkpoint_survives_the_client_and_the_server(server: Server) -> None:
    agent, reviewer = server.token("agent", "writer"), server.token("reviewer", "ann")

    def store(token: str) -> CheckpointStore:
        return CheckpointStore(Client(server.url, token))

    store(agent).submit("report-7", "draft", "analyst", "report")
    server.kill(signal.SIGKILL)
    with pytest.raises(UnreachableError):
        first = store(agent)
        first.client.retry_for_s = 0
        first.show("report-7")
    server.again()
    store(reviewer).approve("report-7", "as agreed")
    server.kill(signal.SIGKILL)
    server.again()
    # Nothing but the id is known to this client.
    again = store(agent).submit("report-7", "draft", "analyst", "report")
    assert again.status is CheckpointStatus.APPROVED
    assert store(agent).wait("report-7", 0).reason == "as agreed"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_waiter_gets_the_verdict_of_a_server_that_came_back(
    server: Server,
    worker: CheckpointStore,
    person: CheckpointStore,
    how: signal.Signals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker.submit("report-7", "draft", "analyst", "report")
    polling = threading.Event()
    poll = worker._poll

    def told(id: str, poll_s: float, retry_for_s: float) -> Checkpoint:
        polling.set()
        return poll(id, poll_s, retry_for_s)

    monkeypatch.setattr(worker, "_poll", told)
    with ThreadPoolExecutor() as pool:
        waiter = pool.submit(worker.wait, "report-7")
        assert polling.wait(60)
        server.kill(how)
        server.again()
        assert not waiter.done()
        person.reject("report-7", "too short")
        with pytest.raises(CheckpointRejectedError, match="too short"):
            waiter.result(60)


async def ask(store: CheckpointStore, deliverable: object = "draft") -> bool:
    return await PendingReviewer(store, key="july").on_checkpoint("analyst", "report", deliverable)


def test_a_worker_that_paused_and_was_started_again_passes(
    server: Server, worker: CheckpointStore, person: CheckpointStore
) -> None:
    assert asyncio.run(ask(worker)) is False
    server.kill()
    server.again()
    assert asyncio.run(ask(worker)) is False
    (waiting,) = person.list_pending()
    person.approve(waiting.id)
    assert asyncio.run(ask(worker)) is True
    # Other content is another question.
    assert asyncio.run(ask(worker, b"\xff")) is False
    (waiting,) = person.list_pending()
    person.reject(waiting.id, "too short")
    with pytest.raises(CheckpointRejectedError, match="too short"):
        asyncio.run(ask(worker, b"\xff"))
