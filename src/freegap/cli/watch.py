"""`freegap watch`: an alert when a count of people passes a threshold, day after day."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import typer

from freegap.cli import release as shared
from freegap.cli.files import OUT


def watch(
    table: str = shared.TABLE,
    item: list[str] = typer.Option(
        ..., help="The column of items. May be repeated: items of several columns.", show_default=False
    ),
    of: list[str] = typer.Option(
        ..., help="The item whose people are counted. Once for each --item.", show_default=False
    ),
    person: str = typer.Option(..., help="The column of persons.", show_default=False),
    where: str | None = shared.WHERE,
    threshold: str = typer.Option(..., help="How many people are too many.", show_default=False),
    k: int = typer.Option(1, "-k", "--k", help="How many alerts there may be before the watch is over."),
    epsilon: str = typer.Option(
        ..., help="The privacy budget in ε, for all days together.", show_default=False
    ),
    state: Path | None = typer.Option(
        None, help="The watch's own file: it holds a secret. Made by the first question.", show_default=False
    ),
    question: str | None = typer.Option(
        None, help="A public name; the date (UTC) where it is left out.", show_default=False
    ),
    ledger: str | None = shared.LEDGER,
    as_json: bool = shared.JSON,
    out: list[Path] | None = OUT,
    dry_run: bool = shared.DRY_RUN,
    name: str | None = shared.NAME,
    query: str | None = shared.QUERY,
    format_: str | None = shared.FORMAT,
    delimiter: str | None = shared.DELIMITER,
    encoding: str | None = shared.ENCODING,
    sheet: str | None = shared.SHEET,
    partitions: list[str] | None = shared.PARTITIONS,
    seed: int | None = shared.SEED,
) -> None:
    """Ask about new data each day, for one ε: an alert comes when a count passes a threshold."""
    asked: dict[str, Any] = {"threshold": threshold, "k": k, "epsilon": epsilon}
    if dry_run:
        from freegap.tables.forecast import forecast_watch

        shared.forecast(forecast_watch(**asked), as_json=as_json)
        return
    import freegap
    from freegap.tables.domains import WrittenItem
    from freegap.tables.watch import watch as ask

    source = shared.source_of(table, name, query, format_, delimiter, encoding, sheet, partitions)
    shared.deliver(
        lambda: ask(
            source,
            item=item if len(item) > 1 else item[0],
            of=WrittenItem(tuple(of)),
            person=person,
            where=where,
            **asked,
            state=cast(Path, state),  # a missing one is refused there, in the words of the option
            question=question or datetime.now(UTC).date().isoformat(),
            ledger=None if ledger is None else (freegap.Ledger(), ledger),
            bits=None if seed is None else freegap.SeededBits(seed),
        ),
        as_json=as_json,
        out=out,
    )
