"""A service that listens: in a thread of this process, or as a command in one of its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn


@contextmanager
def listening(app: Any) -> Iterator[str]:
    """The address of the application while it is served."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive()
                thread.join(0.01)
            yield f"http://127.0.0.1:{place.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def running(*words: str) -> Iterator[tuple[str, str]]:
    """The address that a command of freegap prints when it listens, and all that it printed before."""
    command = [sys.executable, "-m", "freegap", *words]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            said, address = "", None
            for line in process.stdout:
                said += line
                address = re.search(r"http://127\.0\.0\.1:\d+", line)
                if address is not None:
                    break
            assert address is not None, said
            yield address[0], said
        finally:
            process.kill()
