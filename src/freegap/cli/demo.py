"""`freegap demo`: the main job on generated data, from end to end."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from freegap.bits import SeededBits
from freegap.cli.demo_story import tell
from freegap.cli.release import SEED
from freegap.cli.terminal import print_json
from freegap.demo import SYNTHETIC, Demo, chart, run
from freegap.errors import MissingExtra
from freegap.report.tables import TitledTable

_WIDEST_BAR = 19


def demo(
    out: Path = typer.Option(Path("out/demo"), help="Where the chart and the JSON go."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of the story."),
    seed: int | None = SEED,
) -> None:
    """Release the private top ten of a synthetic shop, then tell the whole story with a ledger."""
    console = Console(quiet=as_json)
    bits = None if seed is None else SeededBits(seed)
    made = run(bits=bits)
    console.print(Text(SYNTHETIC, style="bold yellow"))
    console.print(
        f"{made.customers:,} customers, {len(made.counts)} products. Question: which ten products are in "
        "the most baskets?\n"
    )
    console.print(_table(made))
    for note in made.release.footnotes():
        console.print(Text(note, style="dim"))
    out.mkdir(parents=True, exist_ok=True)
    (out / "top10.json").write_text(made.release.to_json(indent=2) + "\n", encoding="utf-8")
    written = [out / "top10.json"]
    try:
        for suffix in ("svg", "png"):
            chart(made, out / f"top10.{suffix}")
            written.append(out / f"top10.{suffix}")
    except MissingExtra as missing:
        console.print(Text(f"No chart: {missing}"))
    story = tell(console, out, bits)
    written += story.written
    if as_json:
        record = {"synthetic": SYNTHETIC, "top_10": made.release.to_dict(), **story.facts}
        print_json(record | {"written": [str(path) for path in written]})
    console.print("\nWritten: " + ", ".join(map(str, written)))


def _table(made: Demo) -> TitledTable:
    table = Table()
    table.add_column("rank", justify="right")
    table.add_column("product")
    table.add_column("released gap", justify="right", style="red")
    table.add_column("true gap", justify="right", style="dim")
    table.add_column("true count", justify="right", style="dim")
    table.add_column(Text.assemble("count, ", ("gap to next", "red")))
    release = made.release
    truth = [made.counts[label] for label in release.labels]
    runner_up = max(count for label, count in made.counts.items() if label not in release.labels)
    steps = zip(truth, [*truth[1:], runner_up], strict=True)
    per_cell = max(made.counts.values()) / _WIDEST_BAR
    for rank, (label, gap, (count, below)) in enumerate(
        zip(release.labels, release.gaps, steps, strict=True), start=1
    ):
        table.add_row(
            str(rank),
            label,
            f"{float(gap):,.1f}",
            f"{count - below:,}",
            f"{count:,}",
            _bar(count, float(gap), per_cell),
        )
    return TitledTable("Private top ten, with free gaps", table)


def _bar(count: int, gap: float, per_cell: float) -> Text:
    """A bar as long as the count, of which the last part, as long as the gap, is red."""
    whole = max(1, round(count / per_cell))
    red = min(whole, round(gap / per_cell))
    return Text.assemble(("█" * (whole - red), "cyan"), ("█" * red, "red"))
