"""How cost grows, as a page and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from freegap.report.pictures import BLUE, GREY, ORANGE, panels, save
from freegap_evidence.bench.timing import number

Record = dict[str, Any]


def page(result: Record, *, command: str, figure: str) -> str:
    """The whole page, in Markdown."""
    machine = result["machine"]
    text = f"""# How cost grows, one size at a time

Written by `{command}` on {result["date"]}, with Python {machine["python"]} and NumPy {machine["numpy"]} on
{result["cores"]} cores. [How the cost grows](scale.md) has whole tables of up to 10⁸ rows, and where it ends;
[side by side](peers.md) compares with other libraries.

One size grows while the others stay. Each point is a process of its own; *time* is the median of up to seven
releases, on the clock and of the processor (which is what is fitted, and does not depend on what else the
machine does), *memory* what they added to the data that was there before. The exponent p is that of the line
c·sizeᵖ through the points from the size named in the table on, where the fixed cost of a call counts no more.
Theory says how time grows at most; more than {result["tolerance"]} above it is called faster.

![Time and memory of a release as sizes grow]({figure})

| what grows | exponent of time | theory | exponent of memory | fitted from | why |
|---|---:|---:|---:|---:|---|
"""
    for row in result["rows"]:
        faster = " **faster**" if row["faster_than_theory"] else ""
        text += (
            f"| {row['title']} | {_or_dash(row['time_exponent'])}{faster} | {row['theory']:g} "
            f"| {_or_dash(row['memory_exponent'])} | {row['settled']:,} | {row['why']} |\n"
        )
    for row in result["rows"]:
        share = row["points"][-1]["system_share"]
        if row["faster_than_theory"] and share is not None:
            text += f"""
{row["title"]}: at the last size {share:.0%} of the processor time is the operating system's, which
hands out new pages to each release. What a smaller one frees, the next one uses again.
"""
    text += "\n## The points\n"
    for row in result["rows"]:
        text += f"\n{row['title']}:\n\n| size | ms | processor ms | added MB |\n|---:|---:|---:|---:|\n"
        for point in row["points"]:
            clock, processor = number(point["ms"]), number(point["processor_ms"])
            text += f"| {point['size']:,} | {clock} | {processor} | {point['added_mb']:,.1f} |\n"
    return text


def _or_dash(exponent: float | None) -> str:
    return "–" if exponent is None else f"{exponent:.2f}"


def chart(result: Record, path: Path) -> None:
    """A panel for each size: time and its line, and the memory that was added."""
    rows = result["rows"]
    figure, axes = panels(-(-len(rows) // 2), 2, size=(4.8, 2.7))
    for axis in axes[len(rows) :]:
        axis.set_visible(False)
    for axis, row in zip(axes, rows, strict=False):
        sizes = [point["size"] for point in row["points"]]
        axis.loglog(sizes, [point["processor_ms"] for point in row["points"]], "o-", color=BLUE, label="ms")
        used = [(point["size"], point["added_mb"]) for point in row["points"] if point["added_mb"] >= 0.1]
        axis.loglog([size for size, _ in used], [mb for _, mb in used], "s--", color=ORANGE, label="MB")
        last = row["points"][-1]
        line = [last["processor_ms"] * (size / last["size"]) ** row["theory"] for size in sizes]
        axis.loglog(sizes, line, ":", color=GREY, label=f"exponent {row['theory']:g}")
        lowest = min(point["processor_ms"] for point in row["points"])
        axis.set_ylim(bottom=min(lowest, *(mb for _, mb in used)) / 3 if used else lowest / 3)
        axis.set_title(f"{row['title']}: {_or_dash(row['time_exponent'])}", fontsize=9)
        axis.tick_params(labelsize=7)
    axes[0].legend(fontsize=8, frameon=False)
    save(figure, path)
