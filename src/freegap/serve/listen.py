"""The server that listens: uvicorn, with limits on connections, headers and waiting.

Nobody holds a connection by doing nothing with it: neither by sending the head of a request slowly, or not at
all, nor by not taking the reply. How long a body may take is the door's to say.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any, Literal

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from freegap.errors import InvalidArgument

_CONNECTIONS = 200
_IDLE = 5
_HEADERS = 16 * 1024
_SLOWEST_HEAD = 20
"""Seconds from the connection, or from the first byte after a reply, to the end of a request's head."""

_SLOWEST_READER = 30
"""Seconds in which a reply that waits may stand still."""


class _Impatient(H11Protocol):
    """Requests as h11 reads them, on a connection that is ended when its client is too slow."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._waiting: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait("head", _SLOWEST_HEAD)

    def data_received(self, data: bytes) -> None:
        self._wait("head", _SLOWEST_HEAD)  # goes on, if it is waited for already
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before or (self.cycle is not None and not self.cycle.response_complete):
            self._wait_no_more("head")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait("reader", _SLOWEST_READER)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._wait_no_more("reader")

    def connection_lost(self, exc: Exception | None) -> None:
        for what in list(self._waiting):
            self._wait_no_more(what)
        super().connection_lost(exc)

    def _wait(self, what: str, seconds: float) -> None:
        if what not in self._waiting:
            self._waiting[what] = self.loop.call_later(seconds, self.transport.abort)

    def _wait_no_more(self, what: str) -> None:
        if what in self._waiting:
            self._waiting.pop(what).cancel()


def server(app: Any, *, host: str, port: int, lifespan: Literal["on", "off"] = "off") -> uvicorn.Server:
    """Not started yet. h11 reads requests: it is strict, and the same on every machine. lifespan: whether the
    application wants to know when it begins."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            host=host,
            port=port,
            http=_Impatient,
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
