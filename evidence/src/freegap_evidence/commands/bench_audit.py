"""`freegap bench audit`: the speed of the audit."""

from __future__ import annotations

from typing import Annotated

import typer

from freegap.cli.terminal import print_json

__all__ = ["bench_audit"]


def bench_audit(
    epsilon: Annotated[float, typer.Option(help="The claimed ε.")] = 0.7,
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as JSON.")] = False,
) -> None:
    """Time the audits that the dissertation timed, and the overhead on a scalar mechanism."""
    from freegap_evidence.bench.audit import measure, overhead, summary

    rows = []
    for row in measure(epsilon):
        rows.append(row)
        if not as_json:
            typer.echo(
                f"{row['name']:<36} {row['seconds']:6.2f} s  (processor {row['processor_seconds']:6.2f} s, "
                f"paper {row['paper_seconds']:5.2f} s)  ε ≥ {row['epsilon_lower_bound']:.3f}"
            )
    scalar = overhead()
    if as_json:
        print_json(summary(rows, scalar))
    else:
        typer.echo(
            f"scalar {scalar['name']}: {scalar['runs']:,} runs, overhead over merely calling it "
            f"{scalar['overhead']:+.1%} of processor time"
        )
