"""A service that listens, in a thread of this process."""

from __future__ import annotations

import socket
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
