"""The service as processes that can be killed: a server, what it forks from, and one for each question.

    freegap serve ── forker ── a question
                            └─ a question

On Linux only: whose process is whose is read from /proc.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Victim = Literal["worker", "server", "forker"]
_PATIENCE = 240
"""Seconds after which a process that does not come up is an error."""


@dataclass(frozen=True)
class ProcessEntry:
    """A process as /proc has it."""

    pid: int
    parent: int
    session: int


class ServiceProcess:
    """One process of the service at a port of its own, in a session of its own."""

    def __init__(self, config: Path) -> None:
        self._config = config
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._sessions: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, by the command that people start it with. `wait` tells when it answers."""
        command = [sys.executable, "-m", "freegap", "serve", "--config", str(self._config)]
        with self._config.with_name("log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603
                [*command, "--port", str(self.port)], stdout=log, stderr=log, start_new_session=True
            )
        self._sessions.append(self._process.pid)

    def wait(self) -> None:
        """Until it answers."""
        until = time.monotonic() + _PATIENCE
        while not self.answers():
            if self._process is None or self._process.poll() is not None or time.monotonic() > until:
                log = self._config.with_name("log").read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"The service did not start.\n{log[-2000:]}")
            time.sleep(0.05)

    def answers(self) -> bool:
        """Whether its health page does."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def victims(self, kind: Victim) -> list[int]:
        """The processes of a kind that run now."""
        if self._process is None:
            return []
        server = self._process.pid
        if kind == "server":
            return [server]
        forkers = {one.pid for one in _processes() if one.parent == server and _is_forker(one.pid)}
        if kind == "forker":
            return sorted(forkers)
        return sorted(one.pid for one in _processes() if one.parent in forkers)

    def kill(self, pid: int) -> bool:
        """`kill -9` of one of them; False where it had ended."""
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        if self._process is not None and pid == self._process.pid:
            self._process.wait()
        return True

    def left_over(self) -> list[int]:
        """Processes of servers that are gone."""
        now = {self._process.pid} if self._process is not None else set()
        gone = {*self._sessions} - now
        return [one.pid for one in _processes() if one.session in gone]

    def stop(self) -> None:
        """End it, and whatever it has left."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for one in _processes():
            if one.session in self._sessions:
                self.kill(one.pid)
        self._process = None


def _processes() -> Iterator[ProcessEntry]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            after_name = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
        except OSError:  # it has ended
            continue
        state, parent, _group, session = after_name.split()[:4]
        if state != "Z":
            yield ProcessEntry(int(folder.name), int(parent), int(session))


def _is_forker(pid: int) -> bool:
    try:
        return b"multiprocessing.forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
