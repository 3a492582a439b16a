"""`freegap histogram`: every bin of a table, with noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from freegap.cli import release as shared
from freegap.cli.files import OUT
from freegap.errors import InvalidArgument

_ANY = "any"


def histogram(
    table: str = shared.TABLE,
    item: list[str] | None = shared.ITEM,
    person: str | None = shared.PERSON,
    protect: str | None = shared.PROTECT,
    where: str | None = shared.WHERE,
    domain: list[str] | None = typer.Option(
        None,
        help="The public items, each of which is a bin: a file with a column of them, or A..B for the whole "
        "numbers from A to B, or 'observed'.",
        show_default=False,
    ),
    items_per_person: str = typer.Option(
        ...,
        help="Count each person for so many of their items at most: 1 for disjoint bins; or 'any'.",
        show_default=False,
    ),
    epsilon: str | None = shared.EPSILON,
    rho: str | None = shared.RHO,
    ledger: str | None = shared.LEDGER,
    as_json: bool = shared.JSON,
    out: list[Path] | None = OUT,
    dry_run: bool = shared.DRY_RUN,
    domain_column: str | None = shared.DOMAIN_COLUMN,
    observed: bool = shared.OBSERVED,
    normalize: bool = shared.NORMALIZE,
    value: str | None = shared.VALUE,
    low: str | None = shared.LOW,
    high: str | None = shared.HIGH,
    unit: str | None = shared.UNIT,
    mean: bool = typer.Option(False, "--mean", help="Means of the value over people, in place of totals."),
    name: str | None = shared.NAME,
    query: str | None = shared.QUERY,
    format_: str | None = shared.FORMAT,
    delimiter: str | None = shared.DELIMITER,
    encoding: str | None = shared.ENCODING,
    sheet: str | None = shared.SHEET,
    partitions: list[str] | None = shared.PARTITIONS,
    seed: int | None = shared.SEED,
) -> None:
    """Release how many people each item has, or the total of a value, with noise."""
    asked: dict[str, Any] = {"epsilon": epsilon, "rho": rho, "items_per_person": _number(items_per_person)}
    summed: dict[str, Any] = {"value": value, "low": low, "high": high, "unit": unit}
    if dry_run:
        from freegap.tables.histogram_forecast import forecast_histogram

        shared.forecast(forecast_histogram(mean=mean, **asked, **summed), as_json=as_json)
        return
    import freegap

    options = shared.options_of(
        item=item,
        person=person,
        protect=protect,
        where=where,
        domain=domain,
        domain_column=domain_column,
        observed=observed,
        normalize=normalize,
        ledger=ledger,
        seed=seed,
        noise=None,
        epsilon=epsilon,
        rho=rho,
    )
    source = shared.source_of(table, name, query, format_, delimiter, encoding, sheet, partitions)
    shared.deliver(
        lambda: freegap.histogram(source, mean=mean, **(options | asked | summed)),
        as_json=as_json,
        out=out,
    )


def _number(text: str) -> int | None:
    if text == _ANY:
        return None
    if not text.isdecimal():
        raise InvalidArgument(
            "items_per_person", text, f"must be a whole number or '{_ANY}'", "Pass 1 where bins are disjoint."
        )
    return int(text)
