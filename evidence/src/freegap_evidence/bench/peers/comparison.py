"""The comparison: every library that can be had, on every task that it has a way for, in turns."""

from __future__ import annotations

import datetime
import math
import os
import platform
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from freegap_evidence.bench import audit
from freegap_evidence.bench.peers.contestant import Contestant, NoAnswer
from freegap_evidence.bench.peers.tasks import CASES, Case
from freegap_evidence.bench.timing import record
from freegap_evidence.environments import Environment, Library, environment, read_libraries

LIBRARIES = read_libraries(Path(__file__).with_name("libraries.toml"))
OURS = "freegap"

PUBLISHED = (
    # What is not a package that pip can install, in the words of its authors.
    ("StatDP", "1.6 to 23 s for each of the mechanisms below, on 32 logical cores", "Ding 2020, table 4-3"),
    ("CheckDP", "a proof or a counterexample within 70 s", "Wang, Ding, Kifer and Zhang 2020, abstract"),
    (
        "DP-Sniper",
        "bounds up to 12.4 times stronger than the state of the art, 15.5 times faster",
        "Bichsel, Steffen, Bogunovic and Vechev 2021, abstract",
    ),
)

Progress = Callable[[str, int, int], None]
Row = dict[str, Any]


def ways(library: Library, task: str) -> Sequence[str]:
    """The ways in which a library can do a task; none for many."""
    worker = library.more.get("worker")
    if worker is None:
        return ()
    return tuple(import_module(f"freegap_evidence.bench.peers.workers.{worker}").WAYS.get(task, ()))


def run(
    *,
    folder: Path,
    libraries: Sequence[Library] = LIBRARIES,
    cases: Sequence[Case] = CASES,
    rounds: int = 100,
    seconds: float = 20.0,
    limit: float = 300.0,
    install: bool = True,
    audited: bool = True,
    progress: Progress = lambda now, done, total: None,
) -> dict[str, Any]:
    """Compare; the result is what `freegap bench peers --json` prints.

    folder: where the environments are. rounds: how often each contestant runs, or until it has run for so
    many seconds in all. limit: the seconds after which one release is given up.
    """
    total = len(libraries) + len(cases) + audited
    environments = []
    for done, library in enumerate(libraries):
        progress(f"environment of {library.name}", done, total)
        environments.append(environment(library, folder, install=install))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="freegap-peers-") as data:
        for done, case in enumerate(cases, start=len(libraries)):
            progress(f"{case.task.name}, {case.title}", done, total)
            rows += _case(case, environments, Path(data), rounds=rounds, seconds=seconds, limit=limit)
    audits: list[Row] = []
    if audited:
        progress("audits", total - 1, total)
        audits = list(audit.measure())
    return record(
        "peers",
        rows,
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        cores=os.cpu_count(),
        processor=platform.machine(),
        rounds=rounds,
        load=_load(),
        libraries=[_library(found) for found in environments],
        audits=audits,
        published=[dict(zip(("tool", "figure", "source"), line, strict=True)) for line in PUBLISHED],
    )


def _load() -> float | None:
    """How many processes wanted a processor in the last minutes, where that is known."""
    return round(os.getloadavg()[2], 1) if hasattr(os, "getloadavg") else None


def _library(found: Environment) -> Row:
    about = {"name": found.library.name, "cannot": found.library.cannot, "versions": dict(found.versions)}
    return about | ({"skipped": found.reason} if found.python is None else {})


def _case(
    case: Case,
    environments: Iterable[Environment],
    folder: Path,
    *,
    rounds: int,
    seconds: float,
    limit: float,
) -> list[Row]:
    job = case.job(folder)
    told = {name: value for name, value in job.items() if name != "truth"}
    rows: list[Row] = []
    with ExitStack() as stack:
        racing: list[tuple[Row, Contestant]] = []
        for found in environments:
            if found.python is None:
                continue
            for way in ways(found.library, case.task.name):
                row: Row = {
                    "task": case.task.name,
                    "case": case.title,
                    "library": found.library.name,
                    "way": way,
                }
                rows.append(row | {"times": [], "processor": [], "errors": []})
                contestant = Contestant(found, told | {"way": way}, folder=folder, limit=limit)
                racing.append((rows[-1], stack.enter_context(contestant)))
        for row, contestant in list(racing):
            try:
                contestant.ready()
                contestant.run()  # not counted: what is loaded with the first release
            except NoAnswer as error:
                row["failed"] = str(error)
                racing.remove((row, contestant))
        finished: list[tuple[Row, Contestant]] = []
        while racing:
            for row, contestant in list(racing):
                try:
                    taken, processor, result = contestant.run()
                except NoAnswer as error:
                    row["failed"] = str(error)
                    racing.remove((row, contestant))
                    continue
                row["times"].append(taken)
                row["processor"].append(processor)
                row["errors"].append(case.task.error(job, result))
                if len(row["times"]) >= rounds or sum(row["times"]) >= seconds:
                    racing.remove((row, contestant))
                    finished.append((row, contestant))
        for row, contestant in finished:
            row["before_mb"], row["peak_mb"] = contestant.end()
    return _summed(rows)


def _summed(rows: list[Row]) -> list[Row]:
    """Medians, and ratios of processor time to the first of ours."""
    for row in rows:
        times, processor, errors = (row.pop(name) for name in ("times", "processor", "errors"))
        if "failed" in row or not times:
            continue
        row |= {
            "rounds": len(times),
            "median_ms": 1000 * median(times),
            "processor_ms": 1000 * median(processor),
            "error": fmean(errors),
            "error_deviation": stdev(errors) / math.sqrt(len(errors)) if len(errors) > 1 else None,
        }
    timed = [row for row in rows if "processor_ms" in row]
    ours = next((row["processor_ms"] for row in timed if row["library"] == OURS), None)
    for row in timed:
        if ours:
            row["ratio"] = row["processor_ms"] / ours
    return rows
