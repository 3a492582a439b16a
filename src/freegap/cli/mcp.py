"""`freegap mcp`: the service for an assistant, over standard input and output or over HTTP."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from freegap.errors import InvalidArgument, MissingExtra
from freegap.serve.settings import read_settings

TOKEN = "FREEGAP_TOKEN"  # noqa: S105
"""The variable with the token of whoever the assistant asks for."""


def mcp(
    url: str | None = typer.Option(
        None, help="The address of a service; the token is in FREEGAP_TOKEN.", show_default=False
    ),
    http: bool = typer.Option(False, "--http", help="Listen, as a service of its own with these settings."),
    config: Path = typer.Option(Path("freegap.toml"), help="The settings, with --http."),
    host: str = typer.Option("127.0.0.1", help="The address to listen on, with --http."),
    port: int = typer.Option(8766, help="The port to listen on, with --http."),
) -> None:
    """Let an assistant ask within a quota and never read a row, by the Model Context Protocol."""
    try:
        from freegap.serve.agents import AtService, make_agent_app, make_agent_server
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("mcp", "starlette", "anyio", "fastapi"):
            raise
        raise MissingExtra("mcp", "mcp") from None
    if http == (url is not None):
        raise InvalidArgument("url", url, "or --http: one of the two", "Name the address of the service.")
    if url is not None:
        verbs = AtService(url, _token())
        make_agent_server(lambda _headers: verbs).run("stdio")
        return
    import uvicorn

    from freegap.serve.desk import Desk
    from freegap.serve.workers import WorkerProcesses

    settings = read_settings(config)
    desk = Desk(settings, WorkerProcesses(settings.limits))
    desk.open()
    uvicorn.run(
        make_agent_app(desk, host=host),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        server_header=False,
    )


def _token() -> str:
    token = os.environ.get(TOKEN, "")
    if not token:
        raise InvalidArgument(TOKEN, "", "is not set", "Put the token into that variable.")
    return token
