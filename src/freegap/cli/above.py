"""`freegap above`: the items with more people than a threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from freegap.cli import release as shared
from freegap.cli.files import OUT


def above(
    table: str = shared.TABLE,
    item: list[str] | None = shared.ITEM,
    person: str | None = shared.PERSON,
    protect: str | None = shared.PROTECT,
    where: str | None = shared.WHERE,
    domain: list[str] | None = shared.DOMAIN,
    threshold: str = typer.Option(..., help="How many people an item must exceed.", show_default=False),
    k: int = typer.Option(..., "-k", "--k", help="How many items to release at most.", show_default=False),
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
    group: str | None = shared.GROUP,
    groups: str | None = shared.GROUPS,
    domain_group: str | None = shared.DOMAIN_GROUP,
    groups_per_person: int | None = shared.GROUPS_PER_PERSON,
    one_group_per_person: bool = shared.ONE_GROUP,
    delta: str | None = shared.DELTA,
    people: int | None = shared.PEOPLE,
    items_per_person: int | None = shared.ITEMS_PER_PERSON,
    noise: str | None = shared.NOISE,
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
    """Release the items with more distinct people than a threshold; unspent budget comes back."""
    unknown: dict[str, Any] = {"delta": delta, "people": people, "items_per_person": items_per_person}
    summed: dict[str, Any] = {"value": value, "low": low, "high": high, "unit": unit}
    grouping = shared.groups_of(group, groups, groups_per_person, one_group_per_person)
    windows: dict[str, Any] = {"every": every, "time": time, "since": since, "until": until}
    if dry_run:
        from freegap.tables.forecast import forecast_above

        made = forecast_above(
            k=k,
            epsilon=epsilon,
            rho=rho,
            noise=noise or "exponential",
            domain=shared.domain_of(domain, item),
            threshold=threshold,
            **unknown,
            **summed,
            **shared.in_windows(grouping, windows, protect),
        )
        shared.forecast(made, as_json=as_json)
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
        noise=noise,
        epsilon=epsilon,
        rho=rho,
    ) | {"domain_group": domain_group}
    source = shared.source_of(table, name, query, format_, delimiter, encoding, sheet, partitions, **windows)
    shared.deliver(
        lambda: freegap.above(
            source,
            threshold=threshold,
            k=k,
            **options,
            **unknown,
            **summed,
            **grouping,
        ),
        as_json=as_json,
        out=out,
    )
