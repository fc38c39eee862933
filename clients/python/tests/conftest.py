"""A real server for each test: its own store, its own tokens, a port of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Dict, Iterator, List, Optional

import pytest

from checkrein import CheckpointStore, Client


def binary() -> str:
    found = os.environ.get("CHECKREIN_BIN") or shutil.which("checkrein")
    if found is None or not Path(found).is_file():
        hint = "`cargo build -p checkrein-cli`, then set CHECKREIN_BIN to target/debug/checkrein"
        raise RuntimeError(f"there is no `checkrein` to test with\n  hint: {hint}")
    return str(Path(found).resolve())


class Server:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.address = "127.0.0.1:0"
        self.arguments: List[str] = []
        self.environment: Dict[str, str] = {}
        self.process: Optional[subprocess.Popen[str]] = None

    def start(self, *arguments: str, **environment: str) -> Server:
        self.arguments, self.environment = list(arguments), environment
        return self.again()

    def again(self) -> Server:
        """Where it listened before, as it was started before."""
        assert self.process is None
        command = [binary(), "serve", "--listen", self.address, *self.arguments]
        self.process = subprocess.Popen(
            command, cwd=self.directory, env=self._env(), text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert self.process.stderr is not None
        said: List[str] = []
        for line in self.process.stderr:
            said.append(line)
            if "listens on http://" in line:
                self.address = line.strip().rpartition("http://")[2]
                return self
        raise AssertionError(f"the server did not start: {''.join(said)}")

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(timeout=30)
            assert self.process.stderr is not None
            self.process.stderr.close()
            self.process = None

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def token(self, role: str, name: str) -> str:
        command = [binary(), "token", "create", "--role", role, "--name", name]
        made = subprocess.run(command, cwd=self.directory, env=self._env(), text=True, capture_output=True)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def revoke(self, token_id: str) -> None:
        command = [binary(), "token", "revoke", token_id]
        subprocess.run(command, cwd=self.directory, env=self._env(), check=True, capture_output=True)

    def client(self, role: str, name: str, *, retry_for_s: float = 30.0) -> Client:
        return Client(self.url, self.token(role, name), retry_for_s=retry_for_s)

    def _env(self) -> Dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CHECKREIN_", "DWORKERS_"))}
        return {**kept, "CHECKREIN_STORE": str(self.directory / "store.db"), **self.environment}


@pytest.fixture
def idle_server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def server(idle_server: Server) -> Server:
    return idle_server.start()


@pytest.fixture
def worker(server: Server) -> CheckpointStore:
    """As the program sees it that asks."""
    return CheckpointStore(server.client("agent", "writer"))


@pytest.fixture
def person(server: Server) -> CheckpointStore:
    """As somebody sees it who answers."""
    return CheckpointStore(server.client("reviewer", "ann"))
