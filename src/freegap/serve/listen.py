"""The server that listens: uvicorn, with limits on connections, headers and waiting."""

from __future__ import annotations

import socket
from typing import Any, Literal

import uvicorn

from freegap.errors import InvalidArgument

_CONNECTIONS = 200
_IDLE = 5
_HEADERS = 16 * 1024


def server(app: Any, *, host: str, port: int, lifespan: Literal["on", "off"] = "off") -> uvicorn.Server:
    """Not started yet. h11 reads requests: it is strict, and the same on every machine. lifespan: whether the
    application wants to know when it begins."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http="h11",
            ws="none",
            lifespan=lifespan,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=_IDLE,
            h11_max_incomplete_event_size=_HEADERS,
        )
    )


def bound(host: str, port: int) -> socket.socket:
    """A place to listen at, or an error that says that there is none; 0 for any port that is free."""
    try:
        return socket.create_server((host, port))
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or "no port"
        raise InvalidArgument(
            "port", port, f"cannot be listened at ({said})", "Pass another --port."
        ) from None
