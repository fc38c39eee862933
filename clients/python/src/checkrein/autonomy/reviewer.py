"""What is asked at a checkpoint: a reviewer that approves, one that leaves it to a person, or your own."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any, Optional, Protocol, runtime_checkable

from ..exceptions import CheckpointRejectedError, ForbiddenError
from .checkpoint import Checkpoint, CheckpointStatus, CheckpointStore

#: As the server says it of its own automatic reviewer.
AUTOMATIC = "approved automatically"


@runtime_checkable
class CheckpointHandler(Protocol):
    """`True`: the worker continues. `False`: it pauses. A reviewer that cannot do its work raises, and the
    worker pauses as well."""

    async def on_checkpoint(self, worker_name: str, phase: str, deliverable: Any) -> bool: ...


class AutoApproveReviewer:
    """Approves everything, and has the server record what it approved and that nobody looked (C11).

    Where the server's settings say `reviewer: auto-approve` for the worker, or ask for no approval, any
    token will do. Otherwise the verdict takes a reviewer's token: an agent's is refused with
    `ForbiddenError`, and the checkpoint waits for a person.
    """

    def __init__(self, store: Optional[CheckpointStore] = None) -> None:
        self.store = store or CheckpointStore()

    async def on_checkpoint(self, worker_name: str, phase: str, deliverable: Any) -> bool:
        return await asyncio.to_thread(self._approve, worker_name, phase, deliverable)

    def _approve(self, worker_name: str, phase: str, deliverable: Any) -> bool:
        asked = self.store.create(deliverable, worker_name, phase)
        if asked.status is CheckpointStatus.PENDING:
            try:
                asked = self.store.approve(asked.id, AUTOMATIC, digest=asked.digest)
            except ForbiddenError as refused:
                hint = f"set `reviewer: auto-approve` for worker `{worker_name}` on the server"
                raise ForbiddenError(refused.status, {**refused.problem, "hint": hint}) from refused
        return passed(asked)


class PendingReviewer:
    """Leaves the answer to a person: a checkpoint waits in the store, and the worker pauses.

    With a `key` for the piece of work, the same question asked again, after a restart too, is the same
    checkpoint (C10): `True` once it was approved, `CheckpointRejectedError` if it was rejected (C9).
    Without one every call is a new question. It is `True` at once only where the server's policy asks for
    no approval.
    """

    def __init__(self, store: Optional[CheckpointStore] = None, *, key: Optional[str] = None) -> None:
        self.store = store or CheckpointStore()
        self.key = key

    async def on_checkpoint(self, worker_name: str, phase: str, deliverable: Any) -> bool:
        return await asyncio.to_thread(self._ask, worker_name, phase, deliverable)

    def _ask(self, worker_name: str, phase: str, deliverable: Any) -> bool:
        if self.key is None:
            return passed(self.store.create(deliverable, worker_name, phase))
        id = f"{self.key}-{_digest(worker_name, phase, deliverable)}"
        return passed(self.store.submit(id, deliverable, worker_name, phase))


def passed(checkpoint: Checkpoint) -> bool:
    """Pending and rejected are told apart: one pauses, the other raises."""
    if checkpoint.status.passes:
        return True
    if checkpoint.status is CheckpointStatus.PENDING:
        return False
    raise CheckpointRejectedError(checkpoint.id, checkpoint.status.value, checkpoint.reason)


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=lambda value: {"bytes": bytes(value).hex()})
    return hashlib.sha256(text.encode()).hexdigest()[:16]
