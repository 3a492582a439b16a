"""`freegap bench base2`: threshold questions per second."""

from __future__ import annotations

from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from freegap.cli.terminal import print_json, spinner

__all__ = ["base2"]


def base2(
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table."),
    rounds: int = typer.Option(5, help="How often each mechanism runs.", min=1),
) -> None:
    """Base-2 sparse vectors: threshold questions per second, all at once and one at a time."""
    from freegap_evidence.bench.base2 import run

    with spinner("measuring", quiet=as_json) as status:
        result = run(rounds=rounds, progress=status.update)
    if as_json:
        print_json(result)
    else:
        Console().print(_table(result))


def _table(result: dict[str, Any]) -> Table:
    table = Table(
        title=f"Base-2 sparse vectors, {result['questions']:,} questions: questions per second "
        f"(wanted: {result['target_per_second']:,})",
        title_justify="left",
    )
    for heading in ("k", "width", "resolution", "bits", "⊤", "batch", "with gaps", "online"):
        table.add_column(heading, justify="right")
    for row in result["rows"]:
        table.add_row(
            str(row["k"]),
            f"{row['width']:,}",
            row["resolution"],
            f"{row['precision_bits']:,}",
            str(row["found"]),
            *(f"{row[f'{name}_per_second']:,}" for name in ("batch", "gap", "online")),
        )
    return table
