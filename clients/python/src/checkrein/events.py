"""Server-sent events, and how a reader comes back without missing one."""

from __future__ import annotations

import http.client
import json
import logging
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional

from .exceptions import ProblemError
from .transport import Transport, backoff_s, read

_log = logging.getLogger("checkrein")

#: The server gives a sign of life every 15 seconds; who is silent for so long is gone.
_SILENCE_MAX_S = 45.0


def listen(transport: Transport, path: str, after: Optional[int]) -> Iterator[Dict[str, Any]]:
    """Ends only with a refusal that will not pass by itself, such as a token that was revoked."""
    last_id = None if after is None else str(after)
    tried = 0
    while True:
        tried += 1
        headers = {"Accept": "text/event-stream"}
        if last_id is not None:
            headers["Last-Event-ID"] = last_id
        request = transport.request("GET", path, headers=headers)
        try:
            connection, response = transport.open(request, _SILENCE_MAX_S)
            try:
                if response.status != 200:
                    read(response).raise_for_problem()
                parser = Parser()
                for line in response:
                    event = parser.feed(line)
                    last_id = parser.last_id or last_id
                    tried = 0
                    if event is not None:
                        yield event
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as error:
            _log.warning("the stream of events was cut off: %r", error)
        except ProblemError as problem:
            if problem.status not in (429, 503):
                raise
        time.sleep(backoff_s(max(tried, 1)))


@dataclass
class Parser:
    """Lines in, events out."""

    #: Of the last event that arrived as a whole: one that was cut off is to come again.
    last_id: Optional[str] = None
    _id: Optional[str] = None
    _data: List[str] = field(default_factory=list)

    def feed(self, raw: bytes) -> Optional[Dict[str, Any]]:
        line = raw.decode("utf-8", errors="replace").rstrip("\r\n")
        if not line:
            data, self._data = self._data, []
            self.last_id = self._id
            event: Optional[Dict[str, Any]] = json.loads("\n".join(data)) if data else None
            return event
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "data":
            self._data.append(value)
        elif name == "id":
            self._id = value
        return None
