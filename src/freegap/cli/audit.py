"""`freegap audit`: look for a counterexample in a function, in a program, or in the whole catalogue."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from freegap.errors import InvalidArgument

if TYPE_CHECKING:
    from freegap.audit import AuditReport
    from freegap.catalogue import Entry

__all__ = ["audit"]

CLAIMS = (0.2, 0.7, 1.5)


def audit(
    target: str = typer.Argument(None, help="The mechanism: package.module:function, or file.py:function."),
    epsilon: float = typer.Option(None, "--epsilon", "-e", help="The ε that the mechanism claims."),
    command: str = typer.Option(None, help="Audit a program over the line protocol (see the documentation)."),
    catalogue: bool = typer.Option(False, help="Audit every mechanism of the catalogue."),
    entries: str = typer.Option("", help="With --catalogue: only these entries, separated by commas."),
    neighbours: str = typer.Option("all", help='"one" if one answer changes, "all" if every one may.'),
    sensitivity: float = typer.Option(1, help="How much one person can change an answer."),
    argument: list[str] = typer.Option([], help="name=value for a further parameter; can be repeated."),
    samples: int = typer.Option(500_000, help="Runs on each input that confirm a finding."),
    search_samples: int = typer.Option(100_000, help="Runs on each input in the last round of the search."),
    confidence: float = typer.Option(1 - 1e-6, help="Confidence of the verdict and the bound."),
    delta: float = typer.Option(0.0, help="Audit (ε, δ) instead of ε."),
    tight: bool = typer.Option(False, help="Use all samples for the tightest bound; do not stop early."),
    deep: bool = typer.Option(False, help="Where nothing is found, look for rarer events, with more samples."),
    jobs: int = typer.Option(-1, help="Worker processes; -1 for all cores."),
    run_limit: float = typer.Option(10.0, help="Seconds that a single run may take."),
    seed: int = typer.Option(None, help="Replays an audit."),
    seeded: bool = typer.Option(False, help="With --command: the program draws its randomness from SEED."),
    html: Path = typer.Option(None, help="Write a report that stands alone."),
    plot: Path = typer.Option(None, help="Draw the p-value curve (.svg, .png or .pdf)."),
    as_json: bool = typer.Option(False, "--json", help="Print the record as JSON."),
) -> None:
    """Search for a counterexample to a claim of ε-differential privacy.

    Exit code 0: no violation found; 1: violated (or, with --catalogue, a wrong verdict); 2: no verdict.
    """
    settings: dict[str, Any] = {
        "samples": samples,
        "search_samples": search_samples,
        "confidence": confidence,
        "delta": delta,
        "stop_early": not tight,
        "deep": deep,
        "jobs": jobs,
        "run_limit": run_limit,
        "seed": seed,
    }
    if catalogue:
        _catalogue([name for name in entries.split(",") if name], epsilon, settings, as_json)
        return
    from freegap.audit import audit as run

    if epsilon is None:
        raise InvalidArgument("--epsilon", None, "is missing", "Say which ε is claimed: --epsilon 0.7")
    report = run(
        _mechanism(target, command, seeded=seeded, run_limit=run_limit),
        epsilon=epsilon,
        neighbours=neighbours,
        sensitivity=sensitivity,
        arguments=dict(map(_argument, argument)),
        **settings,
    )
    if html is not None:
        report.to_html(html)
    if plot is not None:
        report.plot(plot)
    if as_json:
        typer.echo(report.to_json(indent=2))
    else:
        _show(report)
    if report.violated:
        raise typer.Exit(1)


def _show(report: AuditReport) -> None:
    from rich.console import Console

    Console().print(report, highlight=False)


def _mechanism(target: str | None, command: str | None, *, seeded: bool, run_limit: float) -> Any:
    if (target is None) == (command is None):
        raise InvalidArgument(
            "TARGET", target, "there must be a function or a --command, not both", "Pass module:function."
        )
    if command is not None:
        from freegap.audit.command import Command

        return Command(command, seeded=seeded, run_limit=run_limit)
    module_name, _, name = str(target).partition(":")
    if not name:
        raise InvalidArgument("TARGET", target, "has no function", "Write package.module:function.")
    where = Path(module_name)
    sys.path.insert(0, str(where.parent if where.suffix == ".py" else Path.cwd()))
    # worker processes import the module by name, so they must find it as well
    os.environ["PYTHONPATH"] = os.pathsep.join([sys.path[0], os.environ.get("PYTHONPATH", "")])
    try:
        module: Any = importlib.import_module(where.stem if where.suffix == ".py" else module_name)
        for part in name.split("."):
            module = getattr(module, part)
    except (ImportError, AttributeError) as error:
        raise InvalidArgument(
            "TARGET", target, f"cannot be imported: {error}", "Write package.module:function."
        ) from None
    return module


def _argument(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InvalidArgument("--argument", text, "has no value", "Write name=value.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _catalogue(names: list[str], epsilon: float | None, settings: dict[str, Any], as_json: bool) -> None:
    from freegap.catalogue import CATALOGUE

    unknown = [name for name in names if name not in CATALOGUE]
    if unknown:
        raise InvalidArgument("--entries", unknown[0], "is not in the catalogue", "Leave it out to see all.")
    claims = CLAIMS if epsilon is None else (epsilon,)
    rows = []
    for name in names or CATALOGUE:
        for claim in claims:
            row = _row(CATALOGUE[name], claim, settings)
            rows.append(row)
            if not as_json:
                typer.echo(_line(row))
    wrong = [row for row in rows if not row["as_expected"]]
    if as_json:
        typer.echo(json.dumps({"as_expected": not wrong, "rows": rows}, indent=2, ensure_ascii=False))
    else:
        typer.echo(f"{len(rows) - len(wrong)} of {len(rows)} verdicts as expected")
    if wrong:
        raise typer.Exit(1)


def _row(entry: Entry, claim: float, settings: dict[str, Any]) -> dict[str, Any]:
    """Audit an entry: what came out, and what should have."""
    from freegap.audit import audit as run

    started = time.perf_counter()
    report = run(entry.batch, epsilon=claim, neighbours=entry.neighbours, **settings)
    shown = report.counterexample or report.closest
    strongest = report.closest
    loss = (
        entry.loss(claim, len(strongest.first), dict(strongest.arguments)) if strongest is not None else None
    )
    return {
        "name": entry.name,
        "source": entry.source,
        "mistake": entry.mistake,
        "wrong_line": entry.wrong_line,
        "neighbours": entry.neighbours,
        "epsilon": claim,
        "true_epsilon": entry.true_epsilon(claim),
        "broken": entry.broken_at(claim),
        "violated": report.violated,
        "as_expected": report.violated == entry.broken_at(claim),
        "epsilon_lower_bound": report.epsilon_lower_bound,
        "largest_loss_here": None if loss is None or loss > 1e6 else loss,
        "reached": None if loss is None or loss > 1e6 else report.epsilon_lower_bound / loss,
        "runs": report.runs,
        "seconds": round(time.perf_counter() - started, 3),
        "example": shown.to_dict() if shown is not None else None,
        "strongest": strongest.to_dict() if strongest is not None else None,
    }


def _line(row: dict[str, Any]) -> str:
    verdict = "violated" if row["violated"] else "passes"
    mark = "" if row["as_expected"] else "   <-- NOT AS EXPECTED"
    reached = "" if row["reached"] is None else f" ({row['reached']:.0%} of {row['largest_loss_here']:.3f})"
    return (
        f"{row['name']:<40} claims {row['epsilon']:<4g} {verdict:<9}"
        f"ε ≥ {row['epsilon_lower_bound']:.3f}{reached}  {row['seconds']:.1f} s{mark}"
    )
