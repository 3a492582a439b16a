"""`freegap audit`: look for a counterexample in a function, in a program, or in the whole catalogue."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from fractions import Fraction
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from freegap.cli.evidence import evidence
from freegap.cli.options import JOBS, NEIGHBOURS, load, name_and_value
from freegap.cli.terminal import print_json
from freegap.errors import InvalidArgument
from freegap.values.neighbours import Neighbours
from freegap.values.rationals import positive_rational

if TYPE_CHECKING:
    from freegap.auditor import AuditReport

CLAIMS = (0.2, 0.7, 1.5)
FEW_ROWS = 6


Target = Annotated[str | None, typer.Argument(help="package.module:function, or file.py:function.")]


def audit(
    target: Target = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e", help="The claimed ε.")] = None,
    delta: Annotated[str | None, typer.Option(help="The claimed δ beside it.")] = None,
    rho: Annotated[str | None, typer.Option(help="The claimed ρ, instead of ε.")] = None,
    alpha: Annotated[str | None, typer.Option(help="The order of a claimed Rényi divergence.")] = None,
    renyi: Annotated[str | None, typer.Option(help="The claimed Rényi divergence of that order.")] = None,
    mu: Annotated[str | None, typer.Option(help="The claimed μ of Gaussian privacy.")] = None,
    tradeoff: Annotated[
        str | None, typer.Option(help="The claimed trade-off curve: package.module:function.")
    ] = None,
    command: Annotated[str | None, typer.Option(help="Audit a program over the line protocol.")] = None,
    catalogue: Annotated[
        bool, typer.Option("--catalogue", help="Audit every mechanism of the catalogue.")
    ] = False,
    libraries: Annotated[
        bool, typer.Option("--libraries", help="Audit mechanisms of other libraries, as pip installs them.")
    ] = False,
    entries: Annotated[
        str, typer.Option(help="With --catalogue or --libraries: these, separated by commas.")
    ] = "",
    page: Annotated[Path | None, typer.Option(help="With --libraries: write the page of the docs.")] = None,
    environments: Annotated[
        Path | None, typer.Option(help="With --libraries: the folder of their virtual environments.")
    ] = None,
    neighbours: Annotated[str, typer.Option(help=NEIGHBOURS)] = "each",
    sensitivity: Annotated[str, typer.Option(help="How much one person can change an answer.")] = "1",
    lengths: Annotated[str | None, typer.Option(help="Of the inputs to try, such as 1,2,10.")] = None,
    inputs: Annotated[
        str | None, typer.Option(help="Pairs of inputs, as JSON: [[[1, 2], [1, 3]]], or a file of it.")
    ] = None,
    parameter: Annotated[
        list[str] | None, typer.Option(help="A parameter of the mechanism, as name=value.")
    ] = None,
    samples: Annotated[int, typer.Option(help="Runs on each input that confirm a finding.")] = 500_000,
    search_samples: Annotated[int, typer.Option(help="Runs on each input to find it.")] = 100_000,
    confidence: Annotated[str, typer.Option(help="Confidence of the verdict and the bound.")] = "0.999999",
    tight: Annotated[bool, typer.Option("--tight", help="Do not stop early: the tightest bound.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="If nothing is found, look for rarer events.")] = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Record what is drawn on neighbours, and say where it differs.")
    ] = False,
    patience: Annotated[
        int, typer.Option(help="Up to so many times the runs for what looks like a violation.")
    ] = 16,
    leave_out: Annotated[
        list[str] | None, typer.Option(help='Events not to look for: "floating-point" or "learned".')
    ] = None,
    jobs: Annotated[int, typer.Option(help=JOBS)] = 0,
    device: Annotated[
        str | None, typer.Option(help="Where the runs are made: cuda, or cpu; by default, one by one here.")
    ] = None,
    time_limit: Annotated[str | None, typer.Option(help="Seconds that the audit should take.")] = None,
    run_limit: Annotated[str, typer.Option(help="Seconds that a single run may take.")] = "10",
    seed: Annotated[int | None, typer.Option(help="Replays an audit.")] = None,
    seeded: Annotated[bool, typer.Option("--seeded", help="With --command: the program uses SEED.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a report that stands alone.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a picture (.svg, .png or .pdf).")] = None,
    picture: Annotated[str, typer.Option(help="Which: curve (of p-values), outputs, or tradeoff.")] = "curve",
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Search for a counterexample to a claim of privacy: ε, (ε, δ), ρ, Rényi, μ or a trade-off curve.

    Exit code 0: no violation found; 1: violated (or, with --catalogue, a wrong verdict); 2: no verdict.
    """
    settings: dict[str, Any] = {
        "samples": samples,
        "search_samples": search_samples,
        "confidence": confidence,
        "stop_early": not tight,
        "deep": deep,
        "trace": trace,
        "patience": patience,
        "leave_out": leave_out or (),
        "jobs": jobs,
        "device": device,
        "time_limit": time_limit,
        "run_limit": run_limit,
        "seed": seed,
        "progress": False if as_json else None,
    }
    if libraries:
        _libraries([name for name in entries.split(",") if name], page, environments, as_json)
        return
    given = dict(map(_in_doubles, map(name_and_value, parameter or [])))
    if catalogue:
        _catalogue([name for name in entries.split(",") if name], epsilon, given, settings, as_json)
        return
    from freegap.auditor import audit as run

    claim: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "rho": rho,
        "alpha": alpha,
        "renyi": renyi,
        "mu": mu,
    }
    if all(amount is None for amount in (*claim.values(), tradeoff)):
        raise InvalidArgument("epsilon", None, "is missing", "Say which ε is claimed: --epsilon 0.7")
    if lengths is not None:
        settings["lengths"] = [int(n) if n.strip().isdecimal() else n for n in lengths.split(",")]
    report = run(
        _mechanism(target, command, seeded=seeded, run_limit=run_limit),
        **claim,
        tradeoff=None if tradeoff is None else load("tradeoff", tradeoff),
        inputs=None if inputs is None else _pairs(inputs),
        neighbours=cast("Neighbours", neighbours),
        sensitivity=sensitivity,
        parameters=given,
        **settings,
    )
    if html is not None:
        report.to_html(html)
    if plot is not None:
        report.plot(plot, what=picture)
    if as_json:
        print_json(report.to_dict())
    else:
        _show(report)
    if report.violated:
        raise typer.Exit(1)


def _show(report: AuditReport) -> None:
    from rich.console import Console

    Console().print(report, highlight=False)


def _mechanism(target: str | None, command: str | None, *, seeded: bool, run_limit: str) -> Any:
    if (target is None) == (command is None):
        raise InvalidArgument(
            "target", target, "there must be a function or a --command, not both", "Pass module:function."
        )
    if command is not None:
        from freegap.auditor.programs import Command

        return Command(command, seeded=seeded, run_limit=run_limit)
    return load("target", str(target))


def _pairs(text: str) -> Any:
    """Pairs of inputs, from JSON or from a file of it."""
    try:
        return json.loads(text if text.lstrip().startswith("[") else Path(text).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidArgument(
            "inputs", text, "is neither JSON nor a file of it", "Write for example [[[1, 2], [1, 3]]]."
        ) from None


def _in_doubles(parameter: tuple[str, Any]) -> tuple[str, Any]:
    """As programs that are audited compute."""
    name, value = parameter
    return name, float(value) if isinstance(value, Fraction) else value


def _catalogue(
    names: list[str], epsilon: str | None, given: dict[str, Any], settings: dict[str, Any], as_json: bool
) -> None:
    catalogue = evidence("catalogue").CATALOGUE

    unknown = [name for name in names if name not in catalogue]
    if unknown:
        raise InvalidArgument("entries", unknown[0], "is not in the catalogue", "Leave it out to see all.")
    claims = CLAIMS if epsilon is None else (float(positive_rational("epsilon", epsilon)),)
    rows = []
    for row in _rows([(name, claim) for name in names or catalogue for claim in claims], given, settings):
        rows.append(row)
        typer.echo(_line(row), err=as_json)
    wrong = [row for row in rows if not row["as_expected"]]
    if as_json:
        print_json({"as_expected": not wrong, "rows": rows})
    else:
        typer.echo(f"{len(rows) - len(wrong)} of {len(rows)} verdicts as expected")
    if wrong:
        raise typer.Exit(1)


def _libraries(names: list[str], page: Path | None, environments: Path | None, as_json: bool) -> None:
    """Audit other libraries; exit code 1 where a known fault was not found."""
    scoreboard = evidence("scoreboard")
    known = {subject.title: subject for subject in scoreboard.SUBJECTS}
    unknown = [name for name in names if not any(title.startswith(name) for title in known)]
    if unknown:
        raise InvalidArgument(
            "entries", unknown[0], "is no library that is audited", f"Known: {', '.join(known)}."
        )
    chosen = [s for title, s in known.items() if not names or any(title.startswith(name) for name in names)]
    folder = environments or evidence("environments").cache_folder()

    def told(row: dict[str, Any]) -> None:
        bound = "" if "lower_bound" not in row else f"  ≥ {row['lower_bound']:.3f}, {row['seconds']} s"
        typer.echo(f"{row['library']} {row['mechanism']}: {row['verdict']}{bound}", err=as_json)

    result = scoreboard.run(folder=folder, subjects=chosen, told=told)
    if page is not None:
        page.write_text(scoreboard.page(result, command=f"freegap audit --libraries --page {page}"), "utf-8")
    if as_json:
        print_json(result)
    if any(row["known"] and row["verdict"] not in ("violated", "not audited") for row in result["rows"]):
        raise typer.Exit(1)


def _rows(
    tasks: list[tuple[str, float]], given: dict[str, Any], settings: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The rows of these entries and claims, in their order; many of them each in one of as many processes as
    there are to be, which are started once. The runs of an audit do not depend on where they are made."""
    import joblib

    jobs = joblib.effective_n_jobs(settings["jobs"] or -1)
    if jobs == 1 or len(tasks) < FEW_ROWS or settings["device"] is not None:
        yield from (_row(name, claim, given, settings) for name, claim in tasks)
        return
    alone = {**settings, "jobs": 1, "progress": False}
    spread = joblib.Parallel(n_jobs=jobs, return_as="generator", batch_size=1)
    yield from spread(joblib.delayed(_row)(name, claim, given, alone) for name, claim in tasks)


def _row(name: str, claim: float, given: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Audit an entry: what came out, and what should have.

    given: values for the parameters of that name, where the entry has them.
    """
    from freegap.auditor import audit as run

    started, entry = time.perf_counter(), evidence("catalogue").CATALOGUE[name]
    known = {name: value for name, value in given.items() if name in signature(entry.batch).parameters}
    report = run(
        entry.batch,
        scalar=entry.mechanism,
        epsilon=claim,
        neighbours=entry.neighbours,
        parameters=known,
        **settings,
    )
    shown = report.counterexample or report.closest
    strongest = report.closest
    loss = (
        entry.loss(claim, len(strongest.first), {**known, **dict(strongest.parameters)})
        if strongest is not None
        else None
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
