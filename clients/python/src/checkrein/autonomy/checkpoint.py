"""Checkpoints: one of them, how it stands, and where they are kept."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, Iterator, List, Mapping, Optional
from urllib.parse import quote

from ..client import Client
from ..exceptions import (
    CheckpointError,
    CheckpointPendingError,
    CheckpointRejectedError,
    ConflictError,
    NotFoundError,
)
from ..transport import backoff_s
from ..types import Word


class CheckpointStatus(Word):
    """How a checkpoint stands."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    CHANGES_REQUESTED = "changes_requested"
    #: What it belonged to was cancelled.
    WITHDRAWN = "withdrawn"
    #: The policy asked for none; recorded all the same.
    NOT_REQUIRED = "not_required"

    @property
    def passes(self) -> bool:
        """Whether a worker may go on. Everything that is not known to be a yes is a no."""
        return self in (CheckpointStatus.APPROVED, CheckpointStatus.NOT_REQUIRED)


@dataclass(frozen=True)
class Checkpoint:
    """A point where a person may have to look."""

    id: str
    worker_name: str
    phase: str
    #: What to look at: text, bytes or any JSON; None once retention has removed it.
    deliverable: Any
    status: CheckpointStatus
    #: Empty unless it was rejected.
    rejection_reason: str
    created_at: datetime
    resolved_at: Optional[datetime]
    #: What kind of point it is, such as `deliverable`.
    type: str
    #: The SHA-256 of the deliverable; a verdict may be bound to it.
    digest: str
    #: What was said with the verdict, whichever it was.
    reason: str
    resolved_by: Optional[str]

    @classmethod
    def of(cls, sent: Any, deliverable: Any = None) -> Checkpoint:
        """Of what the server sent; `deliverable` where the answer leaves it out and the caller knows it."""
        try:
            return cls._of(sent, deliverable)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # Whatever stands between may answer; nothing but a checkpoint lets a worker pass.
            raise CheckpointError(f"the server's answer is no checkpoint this package knows: {error!r}") from error

    @classmethod
    def _of(cls, sent: Mapping[str, Any], deliverable: Any) -> Checkpoint:
        if "deliverable" in sent:
            deliverable = _from_wire(sent["deliverable"], sent["digest"])
        resolved_at = sent.get("resolved_at")
        return cls(
            id=sent["id"],
            worker_name=sent["worker_name"],
            phase=sent["phase"],
            deliverable=deliverable,
            status=CheckpointStatus(sent["status"]),
            rejection_reason=sent["rejection_reason"],
            created_at=_time(sent["created_at"]),
            resolved_at=None if resolved_at is None else _time(resolved_at),
            type=sent["type"],
            digest=sent["digest"],
            reason=sent.get("reason") or "",
            resolved_by=sent.get("resolved_by"),
        )


#: So long the server is asked to wait at once; it would not wait longer than a minute.
_POLL_MAX_S = 50.0


class CheckpointStore:
    """Checkpoints that survive this process, the server's process and the machine.

    Threads may share it. What it may do is up to the token: an agent's asks, waits and sees its own; a
    reviewer's sees everything and decides.
    """

    def __init__(self, client: Optional[Client] = None) -> None:
        self.client = client or Client()

    def create(
        self, deliverable: Any, worker_name: str, phase: str = "", *, checkpoint_type: str = "deliverable"
    ) -> Checkpoint:
        """A new checkpoint, with an id made for it. It waits if the worker's policy on the server says so."""
        return self._ask({}, deliverable, worker_name, phase, checkpoint_type)

    def submit(
        self, id: str, deliverable: Any, worker_name: str, phase: str = "", *, checkpoint_type: str = "deliverable"
    ) -> Checkpoint:
        """The same under an id of the worker's own. Submitted again with the same content it is the checkpoint
        that is there, answer included, so a restarted worker passes (C10); other content is a conflict (C6)."""
        return self._ask({"id": id}, deliverable, worker_name, phase, checkpoint_type)

    def get(self, id: str) -> Optional[Checkpoint]:
        """None if nobody knows the id (C4)."""
        try:
            return self.show(id)
        except NotFoundError:
            return None

    def show(self, id: str) -> Checkpoint:
        """As `get`, but an id that nobody knows is a `NotFoundError`."""
        return Checkpoint.of(self.client.request("GET", _path(id)))

    def is_pending(self, id: str) -> bool:
        return self._is(id, CheckpointStatus.PENDING)

    def is_approved(self, id: str) -> bool:
        return self._is(id, CheckpointStatus.APPROVED)

    def is_rejected(self, id: str) -> bool:
        return self._is(id, CheckpointStatus.REJECTED)

    def wait(self, id: str, timeout: Optional[float] = None) -> Checkpoint:
        """Waits until somebody approves, for `timeout` seconds or for ever, also while the server is away.

        Everything else is an error: a rejection with its reason (C9), and no answer in time, which is never
        an approval.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        early = 0
        while True:
            left = _POLL_MAX_S if deadline is None else max(0.0, deadline - time.monotonic())
            began, poll = time.monotonic(), min(left, _POLL_MAX_S)
            checkpoint = self._poll(id, poll, float("inf") if deadline is None else left)
            if checkpoint.status.passes:
                return checkpoint
            if checkpoint.status is not CheckpointStatus.PENDING:
                raise CheckpointRejectedError(id, checkpoint.status.value, checkpoint.reason)
            if deadline is not None and time.monotonic() >= deadline:
                raise CheckpointPendingError(id)
            # A server that is ending answers at once; it is given time to come back.
            early = early + 1 if time.monotonic() - began < poll / 2 else 0
            if early:
                time.sleep(min(backoff_s(early), left))

    def list(
        self,
        *,
        status: Optional[CheckpointStatus] = None,
        worker_name: Optional[str] = None,
        phase: Optional[str] = None,
        checkpoint_type: Optional[str] = None,
        run: Optional[str] = None,
    ) -> Iterator[Checkpoint]:
        """In creation order (C7), without deliverables; `show` gives one with it."""
        query: Dict[str, Optional[str]] = {
            "status": None if status is None else CheckpointStatus(status).value,
            "worker": worker_name,
            "phase": phase,
            "type": checkpoint_type,
            "run": run,
        }
        return map(Checkpoint.of, self.client.pages("/v1/checkpoints", query))

    def list_pending(self) -> List[Checkpoint]:
        """What waits, in creation order (C7), with deliverables."""
        waiting = [self.get(checkpoint.id) for checkpoint in self.list(status=CheckpointStatus.PENDING)]
        # Between the list and the look somebody may have answered.
        return [one for one in waiting if one is not None and one.status is CheckpointStatus.PENDING]

    def approve(
        self, id: str, reason: Optional[str] = None, *, digest: Optional[str] = None, confirmed: bool = False
    ) -> Checkpoint:
        """Approves, or finds that it was approved before; a conflict if it was decided otherwise (C5). With a
        `digest` it counts only for that content. `confirmed` also approves what no view shows, such as bytes."""
        return self._decide(id, "approve", reason, digest, confirmed)

    def reject(self, id: str, reason: str, *, digest: Optional[str] = None) -> Checkpoint:
        """Rejects, or finds that it was rejected before; a conflict if it was decided otherwise (C5)."""
        return self._decide(id, "reject", reason, digest)

    def request_changes(self, id: str, reason: str, *, digest: Optional[str] = None) -> Checkpoint:
        """Asks for changes, and says which."""
        return self._decide(id, "request_changes", reason, digest)

    def withdraw(self, id: str, reason: Optional[str] = None) -> Checkpoint:
        """Takes back a checkpoint you made; an admin may take back anybody's. The hold of a run is a conflict: cancel
        the run instead."""
        return Checkpoint.of(self.client.post_once(_path(id, "withdraw"), {"reason": reason}))

    def clear(self) -> None:
        """Withdraws what workers wait for. For tests: what others made takes an admin's token, holds of runs stay,
        and what was decided stays on record."""
        for checkpoint in self.list_pending():
            with suppress(ConflictError):
                self.withdraw(checkpoint.id, "cleared")

    def _ask(
        self, key: Dict[str, Any], deliverable: Any, worker_name: str, phase: str, checkpoint_type: str
    ) -> Checkpoint:
        asked = {**key, "worker": worker_name, "phase": phase, "type": checkpoint_type}
        made = self.client.post_once("/v1/checkpoints", {**asked, **_to_wire(deliverable)})
        return Checkpoint.of(made, deliverable)

    def _poll(self, id: str, poll_s: float, retry_for_s: float) -> Checkpoint:
        query = {"timeout": f"{int(poll_s * 1000)}ms"}
        within = poll_s + self.client.answer_within_s
        path = _path(id, "wait")
        return Checkpoint.of(
            self.client.request("GET", path, query=query, retry_for_s=retry_for_s, answer_within_s=within)
        )

    def _decide(
        self, id: str, verdict: str, reason: Optional[str], digest: Optional[str], confirmed: bool = False
    ) -> Checkpoint:
        body = {"verdict": verdict, "reason": reason, "digest": digest, "confirmed": confirmed}
        return Checkpoint.of(self.client.post_once(_path(id, "verdict"), body))

    def _is(self, id: str, status: CheckpointStatus) -> bool:
        checkpoint = self.get(id)
        return checkpoint is not None and checkpoint.status is status


def _path(id: str, *rest: str) -> str:
    return "/".join(["/v1/checkpoints", quote(id, safe=""), *rest])


def _to_wire(deliverable: Any) -> Dict[str, Any]:
    if isinstance(deliverable, (bytes, bytearray)):
        return {"deliverable_base64": base64.b64encode(deliverable).decode()}
    return {"deliverable": deliverable}


def _from_wire(deliverable: Any, digest: str) -> Any:
    """Bytes are sent as `{"base64": …}`; the digest tells them from a JSON that only looks so."""
    if isinstance(deliverable, dict) and list(deliverable) == ["base64"]:
        try:
            content = base64.b64decode(deliverable["base64"], validate=True)
        except (TypeError, ValueError):
            return deliverable
        if hashlib.sha256(content).hexdigest() == digest:
            return content
    return deliverable


def _time(text: str) -> datetime:
    """Older Pythons read neither `Z` nor fractions of any length."""
    whole, fraction = re.sub(r"Z$", "", text).partition(".")[::2]
    return datetime.fromisoformat(f"{whole}.{fraction[:6]:0<6}+00:00")
