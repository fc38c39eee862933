"""Asking, waiting and deciding against a real server."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from checkrein import (
    AlreadyDecidedError,
    Checkpoint,
    CheckpointError,
    CheckpointPendingError,
    CheckpointRejectedError,
    CheckpointStatus,
    CheckpointStore,
    Client,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    OtherContentError,
    UnauthenticatedError,
)
from checkrein.exceptions import ConflictError, StaleDigestError

from .conftest import Server


@pytest.mark.parametrize(
    "deliverable",
    ["a text", "", "äöü 🦄", {"pages": 12, "draft": True}, [1, None], b"PK\xff\x00", {"base64": "AAAA"}],
    ids=repr,
)
def test_any_deliverable_comes_back_as_it_was(
    worker: CheckpointStore, person: CheckpointStore, deliverable: object
) -> None:
    asked = worker.create(deliverable, "analyst", "report")
    assert asked.deliverable == deliverable
    assert person.show(asked.id).deliverable == deliverable
    assert person.list_pending() == [person.show(asked.id)]


@pytest.mark.parametrize(
    "deliverable, read",
    [(0, "0"), (False, "false"), (b"text", "text"), ('{"a":1}', {"a": 1}), ('{"a": 1}', '{"a": 1}')],
    ids=repr,
)
def test_the_same_content_is_read_the_same_way_whoever_handed_it_in(
    worker: CheckpointStore, person: CheckpointStore, deliverable: object, read: object
) -> None:
    assert person.show(worker.create(deliverable, "analyst").id).deliverable == read


def test_what_no_view_shows_is_approved_when_that_is_confirmed(
    worker: CheckpointStore, person: CheckpointStore
) -> None:
    asked = worker.create(b"\xff\x00", "analyst")
    with pytest.raises(ConflictError, match="2 bytes that are not text"):
        person.approve(asked.id)
    assert person.approve(asked.id, confirmed=True).status is CheckpointStatus.APPROVED


def test_what_is_judged_is_what_was_sent(worker: CheckpointStore, person: CheckpointStore) -> None:
    with pytest.raises(InvalidError, match="9007199254740993"):
        worker.create({"amount": 2**53 + 1}, "analyst")
    assert person.show(worker.create(None, "analyst").id).deliverable == "null"


def test_a_waiter_is_told_every_answer_but_an_approval_as_an_error(
    worker: CheckpointStore, person: CheckpointStore
) -> None:
    with ThreadPoolExecutor() as pool:
        worker.submit("approved", "draft", "analyst", "report")
        approved = pool.submit(worker.wait, "approved", 60)
        person.approve("approved", "as agreed")
        assert approved.result().reason == "as agreed"
        for name, decide in (
            ("rejected", person.reject),
            ("changes_requested", person.request_changes),
            ("withdrawn", worker.withdraw),
        ):
            worker.submit(name, "draft", "analyst", "report")
            waiter = pool.submit(worker.wait, name, 60)
            decide(name, "too short")
            with pytest.raises(CheckpointRejectedError) as rejected:
                waiter.result()
            assert (rejected.value.id, rejected.value.status) == (name, name)
            assert str(rejected.value) == f"checkpoint `{name}` is {name}: too short"


def test_no_answer_in_time_is_not_an_approval(worker: CheckpointStore) -> None:
    asked = worker.create("draft", "analyst", "report")
    for timeout in (0, 0.05):
        with pytest.raises(CheckpointPendingError):
            worker.wait(asked.id, timeout)
    assert worker.is_pending(asked.id)


def test_who_waits_long_asks_again_and_again(
    worker: CheckpointStore, person: CheckpointStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("checkrein.autonomy.checkpoint._POLL_MAX_S", 0.02)
    polled = threading.Semaphore(0)
    poll = worker._poll

    def counted(id: str, poll_s: float, retry_for_s: float) -> Checkpoint:
        polled.release()
        return poll(id, poll_s, retry_for_s)

    monkeypatch.setattr(worker, "_poll", counted)
    asked = worker.create("draft", "analyst")
    with ThreadPoolExecutor() as pool:
        waiter = pool.submit(worker.wait, asked.id)
        for _ in range(3):
            assert polled.acquire(timeout=60)
        assert not waiter.done()
        person.approve(asked.id)
        assert waiter.result(60).status is CheckpointStatus.APPROVED


def test_a_checkpoint_is_decided_once(worker: CheckpointStore, person: CheckpointStore) -> None:
    asked = worker.submit("once", "draft", "analyst", "report")
    first = person.reject("once", "too short")
    assert person.reject("once", "other words") == first
    assert first.rejection_reason == "too short" and first.resolved_by == "ann"
    with pytest.raises(AlreadyDecidedError) as refused:
        person.approve("once")
    assert refused.value.status == 409
    assert refused.value.type == "urn:checkrein:problem:already-decided"
    assert str(refused.value) == "checkpoint `once` is already rejected by ann"
    assert worker.show("once").resolved_at == first.resolved_at != asked.resolved_at


def test_an_id_stands_for_one_content(worker: CheckpointStore, person: CheckpointStore) -> None:
    worker.submit("draft-7", "draft", "analyst", "report")
    person.approve("draft-7")
    assert worker.submit("draft-7", "draft", "analyst", "report").status is CheckpointStatus.APPROVED
    with pytest.raises(OtherContentError):
        worker.submit("draft-7", "another draft", "analyst", "report")


def test_an_id_nobody_knows(worker: CheckpointStore, person: CheckpointStore) -> None:
    assert worker.get("nobody/knows?") is None
    assert not worker.is_pending("nobody") and not worker.is_approved("nobody") and not worker.is_rejected("nobody")
    for call in (worker.show, worker.wait, person.approve):
        with pytest.raises(NotFoundError, match="there is no checkpoint `nobody`"):
            call("nobody")


def test_an_odd_id_is_an_id(worker: CheckpointStore, person: CheckpointStore) -> None:
    for id in ("a/b", "x?y=1#z", "100%", "ä b", "..."):
        worker.submit(id, "draft", "analyst")
        assert person.approve(id).id == id
        assert worker.wait(id).id == id
    # In an address these name another place.
    for id in ("..", "."):
        with pytest.raises(InvalidError, match="cannot be an id"):
            worker.submit(id, "draft", "analyst")


def test_an_agent_gives_no_verdict(worker: CheckpointStore) -> None:
    asked = worker.create("draft", "analyst", "report")
    for verdict in (worker.approve, worker.reject, worker.request_changes):
        with pytest.raises(ForbiddenError, match="that takes the role reviewer, not agent|may not"):
            verdict(asked.id, "because I say so")
    assert worker.is_pending(asked.id)


def test_an_agent_sees_only_its_own(server: Server, worker: CheckpointStore) -> None:
    asked = worker.create("draft", "analyst", "report")
    other = CheckpointStore(server.client("agent", "somebody-else"))
    assert other.get(asked.id) is None
    assert list(other.list()) == []


def test_a_verdict_may_be_bound_to_what_was_looked_at(worker: CheckpointStore, person: CheckpointStore) -> None:
    asked = worker.create("draft", "analyst", "report")
    with pytest.raises(StaleDigestError):
        person.approve(asked.id, digest="0" * 64)
    assert person.approve(asked.id, digest=asked.digest).status is CheckpointStatus.APPROVED


def test_of_racing_reviewers_exactly_one_wins(worker: CheckpointStore, person: CheckpointStore) -> None:
    def won(decide: str, id: str, barrier: threading.Barrier) -> bool:
        barrier.wait()
        try:
            getattr(person, decide)(id, "because")
            return True
        except AlreadyDecidedError:
            return False

    with ThreadPoolExecutor() as pool:
        for round in range(10):
            worker.submit(f"race-{round}", "draft", "analyst")
            barrier = threading.Barrier(2)
            racing = [pool.submit(won, how, f"race-{round}", barrier) for how in ("approve", "reject")]
            assert sum(one.result() for one in racing) == 1


def test_lists_are_in_creation_order_across_pages(worker: CheckpointStore, person: CheckpointStore) -> None:
    ids = [f"c{number}" for number in reversed(range(105))]
    for id in ids:
        worker.submit(id, "draft", "analyst", "report")
    person.approve("c50")
    assert [one.id for one in person.list(worker_name="analyst")] == ids
    assert [one.id for one in person.list(status=CheckpointStatus.APPROVED)] == ["c50"]
    assert list(person.list(phase="elsewhere")) == []


def test_mistakes_are_told_with_their_hint(server: Server, worker: CheckpointStore) -> None:
    with pytest.raises(InvalidError) as refused:
        worker.client.request("POST", "/v1/checkpoints", body={"worker": "analyst", "delivrable": "x"})
    assert refused.value.status == 422 and refused.value.kind == "invalid"
    assert str(refused.value) == "unknown key `delivrable`\n  hint: did you mean `deliverable`?"
    with pytest.raises(InvalidError, match="nothing to approve"):
        worker.client.request("POST", "/v1/checkpoints", body={"worker": "analyst"})
    with pytest.raises(UnauthenticatedError):
        CheckpointStore(Client(server.url, "chk_wrong")).create("draft", "analyst")


def test_without_a_token_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHECKREIN_TOKEN", raising=False)
    with pytest.raises(CheckpointError, match="CHECKREIN_TOKEN"):
        CheckpointStore()
