"""The server that listens: uvicorn, with limits on connections, headers and waiting."""

from __future__ import annotations

from typing import Any

import uvicorn

_CONNECTIONS = 200
_IDLE = 5
_HEADERS = 16 * 1024


def server(app: Any, *, host: str, port: int) -> uvicorn.Server:
    """Not started yet. h11 reads requests: it is strict, and the same on every machine."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http="h11",
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=_IDLE,
            h11_max_incomplete_event_size=_HEADERS,
        )
    )
