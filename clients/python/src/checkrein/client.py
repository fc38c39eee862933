"""A server, and what can be asked of it beside checkpoints: policies, events, and anything else by `request`."""

from __future__ import annotations

import os
import uuid
from typing import Any, Dict, Iterator, Mapping, Optional
from urllib.parse import quote

from .events import listen
from .exceptions import CheckpointError
from .transport import Transport

#: Where `checkrein serve` listens unless told otherwise.
URL_DEFAULT = "http://127.0.0.1:7117"


class Client:
    """One server, as one principal.

    Without arguments the address is `CHECKREIN_URL`, else `http://127.0.0.1:7117`, and the token
    `CHECKREIN_TOKEN`. What it says to the server it says for `retry_for_s` at most, if that can be said
    twice: reading, and asking or deciding with a key, which each such method makes for itself.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        retry_for_s: float = 30.0,
        answer_within_s: float = 30.0,
    ) -> None:
        token = (token or os.environ.get("CHECKREIN_TOKEN", "")).strip()
        if not token:
            hint = "make one with `checkrein token create --role agent` and set CHECKREIN_TOKEN"
            raise CheckpointError(f"there is no token to ask with\n  hint: {hint}")
        self.url = url or os.environ.get("CHECKREIN_URL") or URL_DEFAULT
        self.retry_for_s = retry_for_s
        self.answer_within_s = answer_within_s
        self.transport = Transport(self.url, token)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        idempotency_key: Optional[str] = None,
        if_match: Optional[str] = None,
        retry_for_s: Optional[float] = None,
        answer_within_s: Optional[float] = None,
    ) -> Any:
        """Any route of docs/http.md, such as `request("GET", "/v1/runs")`. A POST is sent again only with
        an `idempotency_key`. The answer is JSON, or a text."""
        headers: Dict[str, str] = {}
        if idempotency_key is not None:
            headers["Idempotency-Key"] = idempotency_key
        if if_match is not None:
            headers["If-Match"] = if_match
        request = self.transport.request(method, path, body=body, query=query, headers=headers)
        answer = self.transport.send(
            request,
            retry_for_s=self.retry_for_s if retry_for_s is None else retry_for_s,
            answer_within_s=self.answer_within_s if answer_within_s is None else answer_within_s,
        )
        return answer.json()

    def post_once(self, path: str, body: Any) -> Any:
        """A POST that is done once, however often it has to be sent."""
        return self.request("POST", path, body=body, idempotency_key=str(uuid.uuid4()))

    def pages(self, path: str, query: Mapping[str, Any], *, cursor: str = "after") -> Iterator[Dict[str, Any]]:
        """Every item of a list, page by page as they are needed."""
        asked = dict(query)
        while True:
            page = self.request("GET", path, query=asked)
            yield from page["items"]
            if page.get("next") is None:
                return
            asked[cursor] = page["next"]

    def policy(
        self, *, scope: Optional[str] = None, worker: Optional[str] = None, expert: Optional[str] = None
    ) -> Dict[str, Any]:
        """The policy in force."""
        return self._object("GET", "/v1/policies", {"scope": scope, "worker": worker, "expert": expert})

    def explain(
        self, *, scope: Optional[str] = None, worker: Optional[str] = None, expert: Optional[str] = None
    ) -> Dict[str, Any]:
        """The policy in force, and where each value comes from."""
        return self._object("GET", "/v1/policies/explain", {"scope": scope, "worker": worker, "expert": expert})

    def decide(self, situation: Mapping[str, Any]) -> Dict[str, Any]:
        """What would be decided, with its reasons; the request of `checkrein policy decide`."""
        # It changes nothing, so the key is there only to say that it may be sent again.
        answer: Dict[str, Any] = self.post_once("/v1/policies/decide", dict(situation))
        return answer

    def events(self, *, after: Optional[int] = None, run: Optional[str] = None) -> Iterator[Dict[str, Any]]:
        """What happens, from now on or after a position, without end and without a gap; of one run from
        its beginning. A connection that is lost is made again where it was."""
        path = "/v1/events" if run is None else f"/v1/runs/{quote(run, safe='')}/events"
        return listen(self.transport, path, after)

    def _object(self, method: str, path: str, query: Mapping[str, Any]) -> Dict[str, Any]:
        answer: Dict[str, Any] = self.request(method, path, query=query)
        return answer
