"""One request and its answer over HTTP, sent again where that is harmless. Standard library alone."""

from __future__ import annotations

import http.client
import json
import logging
import random
import ssl
import time
from dataclasses import dataclass
from typing import Any, Mapping, Optional
from urllib.parse import urlencode, urlsplit

from .exceptions import CheckpointError, ProblemError, UnreachableError

_log = logging.getLogger("checkrein")

#: Refusals that say: not now.
_STATUSES_LATER = (429, 503)
_KIND_LATER = "idempotency-key-in-use"

Connection = http.client.HTTPConnection

_DELAY_FIRST_S = 0.1
_DELAY_MAX_S = 5.0


@dataclass(frozen=True)
class Request:
    """What is asked. It is sent again only if it is `repeatable`: it changes nothing, or has a key."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: Optional[bytes]

    @property
    def repeatable(self) -> bool:
        return self.method in ("GET", "HEAD") or "Idempotency-Key" in self.headers


@dataclass(frozen=True)
class Answer:
    status: int
    media_type: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The value; for what is not JSON, the text."""
        text = self.body.decode("utf-8", errors="replace")
        if not self.media_type.endswith("json"):
            return text
        try:
            return json.loads(text) if text else None
        except ValueError as error:
            raise CheckpointError(f"the server's answer cannot be read: {error}") from error

    def raise_for_problem(self) -> None:
        if 200 <= self.status < 300:
            return
        problem = self.json() if self.media_type == "application/problem+json" else None
        after = self.headers.get("retry-after", "")
        refused = ProblemError.of(self.status, problem if isinstance(problem, dict) else {})
        refused.retry_after_s = float(after) if after.isdigit() else None
        raise refused


class Transport:
    """Speaks to one server. Has no state between requests, so threads may share it.

    Redirects are not followed and proxies not used: the token goes to the server that was named.
    """

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CheckpointError(f"`{url}` is no address of a server\n  hint: such as http://127.0.0.1:7117")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port
        self._prefix = parts.path.rstrip("/")
        self._token = token
        self._where = url

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Request:
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        target = self._prefix + path + (f"?{urlencode(asked)}" if asked else "")
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **(headers or {})}
        content: Optional[bytes] = None
        if body is not None:
            content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            sent["Content-Type"] = "application/json"
        return Request(method, target, sent, content)

    def send(self, request: Request, *, retry_for_s: float, answer_within_s: float) -> Answer:
        """Sends until there is an answer, for at most `retry_for_s`; problems are raised."""
        deadline = time.monotonic() + retry_for_s
        tried = 0
        while True:
            tried += 1
            try:
                answer = self._once(request, answer_within_s)
                answer.raise_for_problem()
                return answer
            except (OSError, http.client.HTTPException) as error:
                why = str(error) or type(error).__name__
                failure: CheckpointError = UnreachableError(f"no answer from {self._where}: {why}")
                failure.__cause__ = error
                at_least = 0.0
            except ProblemError as problem:
                if problem.status not in _STATUSES_LATER and problem.kind != _KIND_LATER:
                    raise
                failure, at_least = problem, problem.retry_after_s or 0.0
            delay = max(backoff_s(tried), at_least)
            if not request.repeatable or time.monotonic() + delay > deadline:
                raise failure
            _log.warning("%s; trying again in %.1f s", failure, delay)
            time.sleep(delay)

    def open(self, request: Request, answer_within_s: float) -> tuple[Connection, http.client.HTTPResponse]:
        """Sends once and gives the response unread; the connection is the caller's to close."""
        connection = self._connect(answer_within_s)
        try:
            connection.request(request.method, request.target, request.body, dict(request.headers))
            return connection, connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def _once(self, request: Request, answer_within_s: float) -> Answer:
        connection, response = self.open(request, answer_within_s)
        try:
            return read(response)
        finally:
            connection.close()

    def _connect(self, timeout_s: float) -> Connection:
        if self._secure:
            context = ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=timeout_s, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)


def read(response: http.client.HTTPResponse) -> Answer:
    media_type = response.headers.get_content_type()
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status, media_type, headers, response.read())


def backoff_s(tried: int) -> float:
    """Twice as long each time, and never the same for two clients that were cut off together."""
    longest: float = min(_DELAY_MAX_S, _DELAY_FIRST_S * 2.0 ** min(tried - 1, 16))
    return random.uniform(0.5, 1.0) * longest
