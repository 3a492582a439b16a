"""Audit the mechanisms of every library that can be had, each in its own environment."""

from __future__ import annotations

import datetime
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from freegap.auditor import AuditReport, Command, audit
from freegap.auditor.computed import LowestBit, ZeroSign
from freegap.errors import MechanismFailed
from freegap_evidence.environments import Environment, Library, environment, read_libraries
from freegap_evidence.scoreboard.subjects import SUBJECTS, Subject

FOLDER = Path(__file__).parent
LIBRARIES = read_libraries(FOLDER / "libraries.toml")
SETTINGS: Mapping[str, Any] = {"samples": 20_000, "search_samples": 4000, "patience": 4, "seed": 1, "jobs": 1}

Row = dict[str, Any]


def command(found: Environment, name: str) -> list[str]:
    """The program that runs one mechanism of a library over the line protocol."""
    workers = FOLDER / "workers"
    worker = workers / f"{found.library.more['worker']}.py"
    return [str(found.python), "-I", str(workers / "harness.py"), str(worker), name]


def run(
    *,
    folder: Path,
    subjects: Sequence[Subject] = SUBJECTS,
    libraries: Sequence[Library] = LIBRARIES,
    install: bool = True,
    settings: Mapping[str, Any] = SETTINGS,
    told: Callable[[Row], None] = lambda row: None,
) -> dict[str, Any]:
    """Audit; what `freegap audit --libraries --json` prints. folder: where the environments are."""
    environments: dict[str, Environment] = {}
    rows = []
    by_name = {library.name: library for library in libraries}
    for subject in subjects:
        if subject.library not in environments:
            environments[subject.library] = environment(by_name[subject.library], folder, install=install)
        rows.append(_row(subject, environments[subject.library], settings))
        told(rows[-1])
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "python": platform.python_version(),
        "settings": {name: settings[name] for name in sorted(settings)},
        "libraries": [
            {"name": name, "versions": dict(found.versions), "skipped": found.reason or None}
            for name, found in environments.items()
        ],
        "rows": rows,
    }


def _row(subject: Subject, found: Environment, settings: Mapping[str, Any]) -> Row:
    row: Row = {
        "library": subject.library,
        "version": next(iter(found.versions.values()), ""),
        "mechanism": subject.what,
        "name": subject.name,
        "claim": subject.claim,
        "known": subject.known,
    }
    if found.python is None:
        return row | {"verdict": "not audited", "reason": found.reason}
    started = time.perf_counter()
    try:
        report = audit(
            Command(command(found, subject.name), run_limit=120),
            epsilon=subject.epsilon,
            delta=subject.delta,
            neighbours=subject.neighbours,
            **{**settings, **subject.settings},
        )
    except MechanismFailed as failure:
        return row | {"verdict": "not audited", "reason": failure.what.splitlines()[-1][:200]}
    return row | _outcome(report) | {"seconds": round(time.perf_counter() - started, 1)}


def by_low_digits(report: AuditReport) -> bool:
    """Whether the violation shows in the low digits of doubles."""
    clauses = () if report.counterexample is None else report.counterexample.event.clauses
    return any(isinstance(clause.feature, LowestBit | ZeroSign) for clause in clauses)


def _outcome(report: AuditReport) -> Row:
    """Faults of the logic and of floating-point numbers apart: a fault of both kinds has both."""
    floating = by_low_digits(report)
    logic = report.logic if floating else report.counterexample
    verdict = "violated" if logic is not None else "floating point" if floating else "no violation found"
    shown = logic or report.counterexample
    return {
        "verdict": verdict,
        "floating_point": floating,
        "lower_bound": shown.lower_bound if shown is not None else report.lower_bound,
        "runs": report.runs,
        "example": None if shown is None else str(shown),
        "notes": list(report.notes),
    }
