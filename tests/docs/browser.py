"""A headless Chromium, driven over its debugging pipe: nothing but the browser itself is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["Browser", "chromium"]

# What the browser would otherwise ask its maker for.
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-default-apps", "--remote-debugging-pipe",
)  # fmt: skip


def chromium() -> str | None:
    """The path of a Chromium on this machine."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page of a browser. Messages are JSON, ended by a zero byte, on the descriptors 3 and 4."""

    def __init__(self, profile: Path) -> None:
        requests, self._out = os.pipe()
        self._in, replies = os.pipe()
        # The shell gives the two pipes the numbers that the browser reads and writes.
        command = [str(chromium()), *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
        script = f'exec "$@" 3<&{requests} 4>&{replies}'
        self._process = subprocess.Popen(  # noqa: S603
            ["/bin/bash", "-c", script, "chromium", *command],
            pass_fds=(requests, replies),
            stderr=subprocess.DEVNULL,
        )
        os.close(requests)
        os.close(replies)
        self._read = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(timeout=30)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask the browser, and wait for the reply; what happens in between is in `events`."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._number:
                assert "error" not in reply, reply
                result: dict[str, Any] = reply["result"]
                return result
            self.events.append(reply)

    def open(self, url: str) -> list[dict[str, Any]]:
        """Go to a page and wait until it has loaded; what happened meanwhile."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())
        return list(self.events)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        reply = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            read = os.read(self._in, 1 << 20)
            assert read, "the browser is gone"
            self._read += read
        message, _, self._read = self._read.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded
