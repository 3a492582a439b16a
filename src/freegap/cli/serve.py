"""`freegap serve`: the service, the tokens of those who use it, and the key that it signs with."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from freegap.cli.terminal import print_json
from freegap.errors import MissingExtra
from freegap.receipts.keys import SigningKey, earlier_keys
from freegap.serve.database import ServiceDatabase
from freegap.serve.people import ROLES, People
from freegap.serve.settings import read_settings

app = typer.Typer(name="serve", help="Let a team ask, and nobody read.", invoke_without_command=True)
tokens = typer.Typer(name="token", help="Make, list and revoke tokens.", no_args_is_help=True)
keys = typer.Typer(name="key", help="Show and replace the key that signs receipts.", no_args_is_help=True)
app.add_typer(tokens)
app.add_typer(keys)

_CONFIG: Path = typer.Option(Path("freegap.toml"), help="The settings.")
_JSON: bool = typer.Option(False, "--json", help="Print JSON.")


@app.callback()
def _serve(
    context: typer.Context,
    config: Path = _CONFIG,
    host: str = typer.Option("127.0.0.1", help="The address to listen on."),
    port: int = typer.Option(8765, help="The port to listen on."),
) -> None:
    """Let a team ask, and nobody read: an HTTP service over the tables of a configuration."""
    if context.invoked_subcommand is not None:
        return
    _require_installed()
    _server(config, host, port).run()


def _require_installed() -> None:
    try:
        import freegap.serve.app
        import freegap.serve.listen  # noqa: F401
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in (
            "anyio",
            "fastapi",
            "jinja2",
            "pydantic",
            "uvicorn",
        ):
            raise
        raise MissingExtra("fastapi", "serve") from None


def _server(config: Path, host: str, port: int) -> Any:
    """The service of a configuration, not started yet."""
    from freegap.serve.app import make_app
    from freegap.serve.desk import Desk
    from freegap.serve.listen import server
    from freegap.serve.workers import WorkerProcesses

    settings = read_settings(config)
    desk = Desk(settings, WorkerProcesses(settings.limits))
    desk.open()
    return server(make_app(desk), host=host, port=port)


@app.command()
def demo(
    out: Path = typer.Option(Path("out/serve-demo"), help="The folder to make it in, or to go on with."),
    host: str = typer.Option("127.0.0.1", help="The address to listen on."),
    port: int = typer.Option(8765, help="The port to listen on; 0 for any that is free."),
    as_json: bool = _JSON,
) -> None:
    """A service to look at: the synthetic shop of `freegap demo`, and somebody in each role."""
    _require_installed()
    from freegap.serve.listen import bound
    from freegap.serve.shop import make_shop

    with bound(host, port) as place:
        made = make_shop(out)
        url = f"http://{host}:{place.getsockname()[1]}/"
        people = [{"name": name, "role": role, "token": token} for name, (role, token) in made.tokens.items()]
        if as_json:
            print_json({"config": str(made.config), "people": people, "url": url})
        else:
            typer.echo(
                f"Everything is in {out}; the data are synthetic. Tokens to sign in with, for a week:\n"
            )
            for person in people:
                typer.echo("  {name:5} {role:8} {token}".format(**person))
            typer.echo(f"\nOpen {url} in a browser. Ctrl-C ends the service.")
        sys.stdout.flush()  # whoever reads a pipe needs the address now
        _server(made.config, host, port).run(sockets=[place])


def _people(config: Path) -> People:
    return People(ServiceDatabase(read_settings(config).people))


@tokens.callback()
def _tokens() -> None:
    """Make, list and revoke tokens."""


@tokens.command()
def add(
    name: str = typer.Argument(help="Whose it is.", show_default=False),
    role: str = typer.Option("analyst", help=f"{', '.join(ROLES)}."),
    days: int = typer.Option(90, help="How long it is good."),
    config: Path = _CONFIG,
    as_json: bool = _JSON,
) -> None:
    """Make a token and print it, this once. The first owner is made so."""
    token = _people(config).add(name, role, days=days)
    if as_json:
        print_json({"name": name, "role": role, "token": token})
    else:
        typer.echo(token)


@tokens.command("list")
def list_tokens(config: Path = _CONFIG, as_json: bool = _JSON) -> None:
    """List all tokens, without their secrets."""
    found = [asdict(token) for token in _people(config).tokens()]
    if as_json:
        print_json(found)
        return
    table = Table("number", "name", "role", "expires", "revoked")
    for token in found:
        table.add_row(
            *(Text(str(token[name] or "")) for name in ("number", "name", "role", "expires", "revoked"))
        )
    Console().print(table)


@tokens.command()
def revoke(
    number: int = typer.Argument(help="The number of the token, as `list` shows it.", show_default=False),
    config: Path = _CONFIG,
    as_json: bool = _JSON,
) -> None:
    """End a token now."""
    _people(config).revoke(number)
    if as_json:
        print_json({"number": number, "revoked": True})
    else:
        typer.echo(f"Token {number} is revoked.")


@keys.callback()
def _keys() -> None:
    """Show and replace the key that signs receipts."""


@keys.command()
def show(config: Path = _CONFIG, as_json: bool = _JSON) -> None:
    """Print the public keys, one a line, the one in use last: `receipt verify --key` takes the list."""
    _print_keys(read_settings(config).key_file, as_json)


@keys.command()
def rotate(config: Path = _CONFIG, as_json: bool = _JSON) -> None:
    """Make a new key. The old private key is gone; its public key is kept, and receipts of it stay good."""
    file = read_settings(config).key_file
    SigningKey.replaced(file)
    _print_keys(file, as_json)


def _print_keys(file: Path, as_json: bool) -> None:
    used, earlier = SigningKey.made(file).public.text, [key.text for key in earlier_keys(file)]
    if as_json:
        print_json({"key": used, "earlier": earlier})
    else:
        typer.echo("\n".join([*earlier, used]))
