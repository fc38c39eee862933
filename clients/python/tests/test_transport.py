"""What is sent again, and what is not: against a server that fails on purpose."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Iterator, List, Optional, Tuple

import pytest

from checkrein import CheckpointError, CheckpointStore, Client, InvalidError, ProblemError, UnavailableError, UnreachableError
from checkrein.events import Parser
from checkrein.exceptions import ServerError

CHECKPOINT = (
    b'{"id": "c", "status": "pending", "worker": "w", "worker_name": "w", "phase": "", "type": "deliverable",'
    b' "digest": "d", "created_at": "2026-03-01T12:00:00.123456789Z", "rejection_reason": ""}'
)


class Failing(ThreadingHTTPServer):
    """Answers with what is in `script`, then well; 0 is a connection that is closed without an answer."""

    def __init__(self, *script: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script)
        self.asked: List[Tuple[str, str, Optional[str]]] = []

    @property
    def client(self) -> Client:
        return Client(f"http://127.0.0.1:{self.server_port}", "chk_x", retry_for_s=20)


class Handler(BaseHTTPRequestHandler):
    server: Failing

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.server.asked.append((self.command, self.path, self.headers["Idempotency-Key"]))
        status = self.server.script.pop(0) if self.server.script else 200
        if status == 0:
            self.close_connection = True
            return
        self.send_response(status)
        body = CHECKPOINT if status == 200 else b"{}"
        if status == 302:
            self.send_header("Location", "/elsewhere")
        if status == 503:
            self.send_header("Retry-After", "0")
        if status == 409:
            body = b'{"type": "urn:checkrein:problem:idempotency-key-in-use"}'
        self.send_header("Content-Type", "application/json" if status == 200 else "application/problem+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def failing(request: pytest.FixtureRequest) -> Iterator[Failing]:
    with Failing(*request.param) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("failing", [(0, 503, 409, 429)], indirect=True)
def test_a_question_is_sent_again_under_the_same_key(failing: Failing) -> None:
    made = CheckpointStore(failing.client).create("draft", "w")
    assert made.created_at.isoformat() == "2026-03-01T12:00:00.123456+00:00"
    assert len(failing.asked) == 5
    (key,) = {key for _, _, key in failing.asked}
    assert key is not None
    CheckpointStore(failing.client).create("draft", "w")
    assert failing.asked[-1][2] != key


@pytest.mark.parametrize("failing", [(0, 503)], indirect=True)
def test_reading_is_sent_again(failing: Failing) -> None:
    CheckpointStore(failing.client).show("c")
    assert len(failing.asked) == 3


@pytest.mark.parametrize("failing", [(0, 503)], indirect=True)
def test_a_change_without_a_key_is_sent_once(failing: Failing) -> None:
    with pytest.raises(UnreachableError):
        failing.client.request("POST", "/v1/tokens", body={})
    with pytest.raises(UnavailableError):
        failing.client.request("POST", "/v1/tokens", body={})
    assert len(failing.asked) == 2


@pytest.mark.parametrize("failing", [(400, 500)], indirect=True)
def test_a_refusal_is_final(failing: Failing) -> None:
    store = CheckpointStore(failing.client)
    with pytest.raises(InvalidError):
        store.create("draft", "w")
    with pytest.raises(ServerError, match="the server answered 500"):
        store.create("draft", "w")
    assert len(failing.asked) == 2


@pytest.mark.parametrize("failing", [(503,) * 50], indirect=True)
def test_trying_again_has_an_end(failing: Failing) -> None:
    client = failing.client
    client.retry_for_s = 0.3
    with pytest.raises(UnavailableError):
        client.request("GET", "/readyz")
    assert 1 < len(failing.asked) < 50


@pytest.mark.parametrize("failing", [(302,)], indirect=True)
def test_a_redirect_is_not_followed_with_the_token(failing: Failing) -> None:
    with pytest.raises(ProblemError, match="the server answered 302"):
        failing.client.request("GET", "/v1/runs")
    assert len(failing.asked) == 1


def test_events_are_read_line_by_line() -> None:
    parser = Parser()
    lines = [b"retry: 1000\n", b"id: 1\n", b"\n", b": alive\n", b"\n", b"id:2\r\n", b'data: {"a":\r\n', b"data: 1}\r\n"]
    assert [parser.feed(line) for line in lines] == [None] * len(lines)
    # Were it cut off here, the second event would have to come again.
    assert parser.last_id == "1"
    assert parser.feed(b"\n") == {"a": 1}
    assert parser.last_id == "2"


@pytest.mark.parametrize(
    "answer", [None, "<html>", [], {}, {"status": "approved"}, {**json.loads(CHECKPOINT), "status": "blessed"}], ids=repr
)
def test_an_answer_that_is_no_checkpoint_lets_nobody_pass(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    store = CheckpointStore(Client("http://127.0.0.1:1", "chk_x"))
    monkeypatch.setattr(store.client, "request", lambda *_, **__: answer)
    for call in (store.wait, store.show, store.is_approved):
        with pytest.raises(CheckpointError, match="no checkpoint this package knows"):
            call("c")
