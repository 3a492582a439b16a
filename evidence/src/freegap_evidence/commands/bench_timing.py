"""`freegap bench timing`: what the time of a release tells, bare and padded."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from freegap.cli.terminal import print_json, progress_bar

__all__ = ["bench_timing"]


def bench_timing(
    trials: Annotated[int, typer.Option(help="Releases of each contest, bare.", min=100)] = 20_000,
    padded_trials: Annotated[int, typer.Option(help="Releases of each contest, padded.", min=100)] = 5_000,
    pad_to: Annotated[
        float | None, typer.Option(help="Seconds to pad to; four times the usual time if left out.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the bare times to this file, .svg or .png.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Time releases on inputs that should not be told apart, bare and padded (`freegap.pad_to`)."""
    from freegap_evidence.bench.side_channel import run

    with progress_bar(as_json) as bar:
        task = bar.add_task("timing", total=None)

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        result = run(
            trials=trials,
            padded_trials=padded_trials,
            seconds=None if pad_to is None else Fraction(str(pad_to)),
            progress=show,
        )
    if plot is not None:
        from freegap_evidence.bench.timing_page import timing_chart

        timing_chart(result["rows"], plot)
    if as_json:
        print_json(result)
        return
    for row in result["rows"]:
        bare, padded = row["bare"], row["padded"]
        one, other = bare["median_ms"]
        typer.echo(f"{row['mechanism']}: {row['pair']}")
        typer.echo(f"  bare       {_told(bare)}, medians {one:.3f} and {other:.3f} ms")
        late = f", {padded['late']} late" if padded["late"] else ""
        typer.echo(f"  {1000 * padded['pad_to']:>5g} ms   {_told(padded)}{late}")


def _told(record: dict[str, Any]) -> str:
    """Whether, and the advantage against what chance would give."""
    verdict = "told apart" if record["told_apart"] else "not told apart"
    chance = f"{record['critical']:.4f} by chance, {record['trials']:,} trials"
    return f"{verdict:<14}  advantage {record['advantage']:.4f} ({chance})"
