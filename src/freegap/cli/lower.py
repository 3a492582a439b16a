"""`freegap prove --lower`: how much is lost at least, of a mechanism, or of all that the library proves."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from freegap.cli.evidence import evidence
from freegap.cli.terminal import print_json, progress_bar
from freegap.errors import InvalidArgument
from freegap.prover import lower_bound


def show_lower_bound(mechanism: Any, as_json: bool, **claim: Any) -> int:
    """Of one mechanism."""
    found = lower_bound(mechanism, **claim)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(str(found))
    return 0 if found.loss <= found.claimed else 1


def show_meetings(only: str, jobs: int, as_json: bool, page: Path | None) -> int:
    """Of the library and of the catalogue, beside what is proved."""
    meeting = evidence("assurance.meeting")
    places = [
        (place, which)
        for place, entry in enumerate(meeting.MEETINGS)
        for which in range(len(meeting.EPSILONS))
        if only in entry.name
    ]
    if not places:
        names = ", ".join(entry.name for entry in meeting.MEETINGS)
        raise InvalidArgument("only", only, "is not part of any name", f"The names are: {names}.")
    results = []
    with progress_bar(as_json) as bar:
        task = bar.add_task("mechanisms", total=len(places))
        for (place, which), found in zip(places, _results(places, jobs), strict=True):
            results.append(meeting.Met(meeting.MEETINGS[place], meeting.EPSILONS[which], *found))
            bar.update(task, advance=1, description=results[-1].meeting.name)
    if page is not None:
        page.write_text(meeting.page(results), encoding="utf-8")
    if as_json:
        print_json([result.to_dict() for result in results])
    else:
        table = Table(*meeting.COLUMNS)
        for result in results:
            table.add_row(*result.row, style="green" if result.met else "red")
        Console().print(table)
        typer.echo(f"{sum(result.met for result in results)} of {len(results)} meet within 1 %")
    return 0 if all(result.met for result in results) else 1


def _search(place: int, which: int) -> Any:
    """One of them, in a process of its own."""
    meeting = evidence("assurance.meeting")
    return meeting.MEETINGS[place].bound(meeting.EPSILONS[which])


def _results(places: list[tuple[int, int]], jobs: int) -> Iterator[Any]:
    # Not forked: z3 keeps global state that does not survive it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(places)), mp_context=context) as pool:
        yield from pool.map(_search, *zip(*places, strict=True))
