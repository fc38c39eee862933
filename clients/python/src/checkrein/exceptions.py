"""Why a worker does not go on. Everything this package raises for a reason of its own is a `CheckpointError`."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

_TYPE_PREFIX = "urn:checkrein:problem:"


class CheckpointError(Exception):
    """Any trouble with a checkpoint, or with asking about one."""


class CheckpointRejectedError(CheckpointError):
    """What a waiting worker gets instead of an approval, with the reason (C9)."""

    def __init__(self, id: str, status: str, reason: str) -> None:
        super().__init__(f"checkpoint `{id}` is {status}" + (f": {reason}" if reason else ""))
        self.id = id
        #: `rejected`, `changes_requested` or `withdrawn`.
        self.status = status
        self.reason = reason


class CheckpointPendingError(CheckpointError, TimeoutError):
    """Nobody has answered in time. That is not an answer: wait longer, or leave it for now."""

    def __init__(self, id: str) -> None:
        super().__init__(f"checkpoint `{id}` still waits for a verdict")
        self.id = id


class UnreachableError(CheckpointError):
    """The server did not answer; a request that may be sent again has been."""


class ProblemError(CheckpointError):
    """The server refused. `type` never changes, `detail` names the value, `hint` says what to do next."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        #: As it was sent.
        self.problem = dict(problem)
        self.type = str(problem.get("type", "about:blank"))
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", "") or self.title or f"the server answered {status}")
        self.hint: Optional[str] = problem.get("hint")
        #: Each mistake in the request, with `path`, `message` and perhaps `hint`.
        self.errors: Sequence[Mapping[str, Any]] = problem.get("errors", [])
        #: When it is worth trying again, if the server says so.
        self.retry_after_s: Optional[float] = None
        hints = [self.hint, *(error.get("hint") for error in self.errors)]
        super().__init__("\n  hint: ".join([self.detail, *(hint for hint in hints if hint)]))

    @property
    def kind(self) -> str:
        """The type without its prefix, such as `already-decided`."""
        return self.type[len(_TYPE_PREFIX) :] if self.type.startswith(_TYPE_PREFIX) else self.type

    @staticmethod
    def of(status: int, problem: Mapping[str, Any]) -> ProblemError:
        """The class for the type; for a type that is newer than this package, the one for the status."""
        kind = str(problem.get("type", "")).replace(_TYPE_PREFIX, "", 1)
        by_status = _BY_STATUS.get(status, ServerError if status >= 500 else ProblemError)
        return _BY_KIND.get(kind, by_status)(status, problem)


class InvalidError(ProblemError):
    """The request cannot be read, or asks for what cannot be."""


class UnauthenticatedError(ProblemError):
    """It takes a valid token."""


class ForbiddenError(ProblemError):
    """The role of the token does not allow it; an agent's token gives no verdict, for one."""


class NotFoundError(ProblemError):
    """There is no such thing, or it is not for this token to see (C4)."""


class ConflictError(ProblemError):
    """What is there says otherwise."""


class OtherContentError(ConflictError):
    """The id stands for other content (C6)."""


class AlreadyDecidedError(ConflictError):
    """It was decided otherwise (C5)."""


class StaleDigestError(ConflictError):
    """The verdict is about something else than what waits now."""


class PreconditionFailedError(ProblemError):
    """Somebody else was there meanwhile."""


class RateLimitedError(ProblemError):
    """Too many requests."""


class ServerError(ProblemError):
    """The server failed."""


class UnavailableError(ServerError):
    """The server cannot use its store now."""


_BY_KIND: Mapping[str, type[ProblemError]] = {
    "other-content": OtherContentError,
    "already-decided": AlreadyDecidedError,
    "stale-digest": StaleDigestError,
}

_BY_STATUS: Mapping[int, type[ProblemError]] = {
    400: InvalidError,
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    412: PreconditionFailedError,
    413: InvalidError,
    415: InvalidError,
    422: InvalidError,
    429: RateLimitedError,
    503: UnavailableError,
}
