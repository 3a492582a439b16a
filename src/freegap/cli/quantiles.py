"""`freegap quantiles`: several quantiles of people's numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from freegap.cli import release as shared
from freegap.cli.files import OUT


def quantiles(
    table: str = shared.TABLE,
    value: str | None = typer.Option(None, help="The column of numbers.", show_default=False),
    person: str | None = shared.PERSON,
    protect: str | None = shared.PROTECT,
    where: str | None = shared.WHERE,
    q: str = typer.Option(..., help="The quantiles, such as 0.1,0.5,0.9.", show_default=False),
    low: str | None = typer.Option(
        None, help="The least that is counted; left out with --high, a range is found.", show_default=False
    ),
    high: str | None = typer.Option(None, help="The most that is counted.", show_default=False),
    resolution: str = typer.Option("1", help="The grid of what comes out."),
    per_person: str = typer.Option(
        "median", help="Which of a person's rows counts: median, smallest, largest. Or their spread."
    ),
    intervals: bool = typer.Option(
        False, "--intervals", help="Draw a 95 % interval for each, of the same budget."
    ),
    epsilon: str | None = shared.EPSILON,
    rho: str | None = shared.RHO,
    group: str | None = shared.GROUP,
    groups: str | None = shared.LISTED_GROUPS,
    groups_per_person: int | None = shared.GROUPS_PER_PERSON,
    one_group_per_person: bool = shared.ONE_GROUP,
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
    every: str | None = shared.EVERY,
    time: str | None = shared.TIME,
    since: str | None = shared.SINCE,
    until: str | None = shared.UNTIL,
    seed: int | None = shared.SEED,
) -> None:
    """Release several quantiles of people's numbers at once."""
    import freegap

    asked: dict[str, Any] = {
        "q": q.split(","),
        "low": low,
        "high": high,
        "resolution": resolution,
        "per_person": per_person,
        "intervals": intervals,
        "epsilon": epsilon,
        "rho": rho,
    }
    grouping = shared.groups_of(group, groups, groups_per_person, one_group_per_person)
    windows: dict[str, Any] = {"every": every, "time": time, "since": since, "until": until}
    if dry_run:
        from freegap.tables.quantiles_forecast import forecast_quantiles

        in_groups = shared.in_windows(grouping, windows, protect)
        shared.forecast(forecast_quantiles(**asked, **in_groups), as_json=as_json)
        return
    source = shared.source_of(table, name, query, format_, delimiter, encoding, sheet, partitions, **windows)
    reading: dict[str, Any] = {"protect": protect, "where": where}
    shared.deliver(
        lambda: freegap.quantiles(
            source,
            value=value,
            person=person,
            **reading,
            ledger=None if ledger is None else (freegap.Ledger(), ledger),
            bits=None if seed is None else freegap.SeededBits(seed),
            **asked,
            **grouping,
        ),
        as_json=as_json,
        out=out,
    )
