"""`freegap bench`: speed, as ratios measured in one run."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from freegap.cli.terminal import print_json, spinner
from freegap_evidence.commands.bench_audit import bench_audit
from freegap_evidence.commands.bench_base2 import base2
from freegap_evidence.commands.bench_timing import bench_timing

__all__ = ["app"]

app = typer.Typer(
    name="bench", help="Measure speed against a peer or a baseline, in one run.", no_args_is_help=True
)


@app.callback()
def _bench() -> None:
    """Measure speed against a peer or a baseline, in one run."""


app.command("base2")(base2)
app.command("audit")(bench_audit)
app.command("timing")(bench_timing)


@app.command("top-k")
def top_k(
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
    rounds: int = typer.Option(40, help="How often each contestant runs.", min=1),
    reference: bool = typer.Option(
        True, help="Time the paper's algorithm as well (seconds per run at n = 41,270)."
    ),
) -> None:
    """Noisy top-k: ours, the paper's algorithm, and an insecure NumPy baseline."""
    from freegap_evidence.bench.top_k import run

    with spinner("measuring", quiet=as_json) as status:
        result = run(rounds=rounds, reference=reference, progress=status.update)
    if as_json:
        print_json(result)
    else:
        Console().print(_top_k_table(result["rows"]), _large_table(result["large"]))


@app.command("sparse-vector")
def sparse_vector(
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
) -> None:
    """Sparse vector: questions per second, in batch and online, against an insecure NumPy loop."""
    from freegap_evidence.bench.sparse_vector import run

    with spinner("measuring", quiet=as_json) as status:
        result = run(progress=status.update)
    if as_json:
        print_json(result)
        return
    table = Table(title="Sparse vector: questions per second on one core", title_justify="left")
    for heading in ("form", "noise", "freegap", "insecure", "ratio of times"):
        table.add_column(heading, justify="left" if heading in ("form", "noise") else "right")
    for row in result["rows"]:
        table.add_row(
            row["form"],
            row["noise"],
            f"{row['per_second']:,.0f}",
            f"{1000 * row['questions'] / row['insecure_ms']:,.0f}",
            f"{row['ratio']:.2f}",
        )
    Console().print(table)


@app.command("tables")
def tables(
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
    cases: str = typer.Option(
        "", help="ROWSxITEMS, separated by commas, such as 1e8x1e6.", show_default="1e5x1e3 to 1e7x1e7"
    ),
) -> None:
    """Private top-k from Parquet: how time, memory and traffic grow."""
    from freegap_evidence.bench.tables import CASES, run

    chosen = tuple(_case(case) for case in cases.split(",")) if cases else CASES
    with spinner("measuring", quiet=as_json) as status:
        result = run(cases=chosen, progress=status.update)
    if as_json:
        print_json(result)
        return
    table = Table(title=f"Private top 10 from Parquet, {result['cores']} cores", title_justify="left")
    for heading in ("rows", "items", "s", "outside", "left engine", "driver", "process"):
        table.add_column(heading, justify="right")
    for row in result["rows"]:
        table.add_row(
            f"{row['rows']:,}",
            f"{row['items']:,}",
            f"{row['seconds']:.2f}",
            f"{row['outside_share']:.1%}",
            f"{row['bytes_left']:,} B",
            f"{row['driver_mb']:.1f} MB",
            f"{row['process_mb']:,.0f} MB",
        )
    Console().print(table)


def _case(text: str) -> tuple[int, int]:
    try:
        rows, items = (int(float(part)) for part in text.split("x"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not ROWSxITEMS, such as 1e7x1e6") from None
    return rows, items


def _top_k_table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="Noisy top-k, ε = 1, monotonic: milliseconds per release", title_justify="left")
    for heading in ("n", "k", "freegap", "reference", "insecure", "ratio"):
        table.add_column(heading, justify="right")
    for row in rows:
        reference = f"{row['reference_ms']:,.1f}" if "reference_ms" in row else "–"
        table.add_row(
            f"{row['n']:,}",
            str(row["k"]),
            f"{row['secure_ms']:.3f}",
            reference,
            f"{row['insecure_ms']:.3f}",
            f"{row['ratio']:.2f}",
        )
    return table


def _large_table(rows: list[dict[str, Any]]) -> Table:
    n, domain = rows[0]["n"], rows[0]["domain"]
    table = Table(
        title=f"{n:,} answers, and the same within a domain of {domain:,}: milliseconds per release",
        title_justify="left",
    )
    for heading in ("k", "freegap", "insecure", "ratio", "within the domain", "to explicit"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            str(row["k"]),
            f"{row['secure_ms']:.2f}",
            f"{row['insecure_ms']:.2f}",
            f"{row['ratio']:.2f}",
            f"{row['domain_ms']:.2f}",
            f"{row['domain_ratio']:.2f}",
        )
    return table
