"""`freegap bench serve`: the service under load and faults."""

from __future__ import annotations

import typer
from rich.console import Console

from freegap.cli.terminal import print_json, progress_bar, shown_in
from freegap.errors import MissingExtra
from freegap_evidence.commands.shown import table_of


def bench_serve(
    database: str | None = typer.Option(
        None,
        help="postgresql://…, an existing database, or sqlite for a small form.",
        show_default="a PostgreSQL server of its own",
    ),
    analysts: int = typer.Option(100, help="How many ask at once.", min=1),
    questions: int = typer.Option(3, help="How many questions each of them has.", min=1),
    servers: int = typer.Option(2, help="Processes of the service.", min=1),
    kills: int = typer.Option(200, help="How often something is killed.", min=0),
    outages: int = typer.Option(3, help="How often the database goes away and comes back.", min=0),
    rounds: int = typer.Option(50, help="Releases that are timed one after the other.", min=1),
    seed: int = typer.Option(1, help="Of what is killed, and when."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """The service under load, under kill -9, and with a database that goes away, held against its ledger.

    Exit code 1 if a promise was broken.
    """
    try:
        from freegap_evidence.bench.serve.trial import Size, run
    except ModuleNotFoundError as missing:
        if missing.name not in ("fastapi", "pyarrow", "sqlalchemy", "uvicorn"):
            raise
        raise MissingExtra(missing.name, "serve") from None
    from freegap_evidence.bench.serve.databases import databases

    size = Size(analysts, questions, servers, kills, outages, rounds=rounds)
    with progress_bar(as_json) as bar, databases(database) as made:
        result = run(size=size, databases=made, seed=seed, progress=shown_in(bar, "serve"))
    broken = [f"{row['what']}: {text}" for row in result["rows"] for text in row["broken"]]
    if as_json:
        print_json(result)
    else:
        times = {"": "{what}", "answers": "{answers}", "p50": "{p50_ms:,.0f}", "p99": "{p99_ms:,.0f}"}
        times["to bare"] = "{to_bare:.1f}"
        counted = {"": "{what}", "asked": "{asked}", "answered": "{answered}", "budget spent": "{spent}"}
        counted |= {"failed": "{failed}", "connection lost": "{lost}", "turned away": "{turned_away}"}
        counted |= {"kept for later": "{kept}", "left open": "{open}", "broken promises": "{number}"}
        title = f"{result['database']}, {servers} processes of the service, {result['cores']} cores"
        rows = [row | {"number": len(row["broken"])} for row in result["rows"]]
        timed = table_of(f"Milliseconds until the answer: {title}", result["times"], times, left=("",))
        Console().print(timed, table_of("Questions", rows, counted, left=("",)))
        for text in broken:
            typer.echo(text)
    if broken:
        raise typer.Exit(1)
