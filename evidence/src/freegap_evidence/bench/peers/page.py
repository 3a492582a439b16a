"""The comparison as a page and a figure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from freegap.report.pictures import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SKY, YELLOW, panels, save
from freegap_evidence.bench.peers.comparison import OURS
from freegap_evidence.bench.peers.tasks import CHOICE, HISTOGRAM, MEDIAN, TABLE, THRESHOLD, TOP_K
from freegap_evidence.bench.timing import number

TASKS = (TOP_K, CHOICE, HISTOGRAM, THRESHOLD, MEDIAN, TABLE)
_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW, GREY, INK)

Record = dict[str, Any]


def page(result: Record, *, command: str, figure: str) -> str:
    """The whole page, in Markdown."""
    machine = result["machine"]
    head = f"""# Side by side with other libraries

Written by `{command}` on {result["date"]}, with Python {machine["python"]} on {result["cores"]} cores
({result["processor"]}). What each library is for is on [freegap and other libraries](other-libraries.md);
how our own cost grows, on [how cost grows](growth.md).

Each library is in a virtual environment of its own, in the pinned version named below, and is used as its
documentation says. All contestants at one size have the same data and the same privacy, and take turns, so
that what else the machine does strikes all alike.

- *ms* is the median time of one release, from data in memory (from a file, where the task says so) to its
  result. Starting Python, importing the library and the first release are not counted.
- *processor ms* is the median processor time, of all threads and processes. It does not depend on what else
  the machine does; on average {result["load"]} processes wanted one of its cores meanwhile. Where that is
  more than there are cores, *ms* is an upper bound.
- *to freegap* is the processor time over freegap's in the same turns, of its first line.
- *memory* is what the process and those it started held at the peak; in brackets, what the releases added.
- The *error* is the mean over the releases that were timed, with its standard error.

![Processor time of a release, by task and library]({figure})
"""
    parts = [head, *(_section(result, task) for task in TASKS), _audit(result), _libraries(result)]
    return "\n".join(part.strip() + "\n" for part in parts if part)


def _section(result: Record, task: Any) -> str:
    rows = [row for row in result["rows"] if row["task"] == task.name]
    if not rows:
        return ""
    direction = "more is better" if task.more_is_better else "less is better"
    text = f"## {task.title}\n\nError: {task.errors}; {direction}. {task.note}\n\n"
    text += "| | library | way | ms | processor ms | to freegap | memory, MB | error |\n"
    text += "|---|---|---|---:|---:|---:|---:|---:|\n"
    case = ""
    for row in rows:
        shown = row["case"] if row["case"] != case else ""
        case = row["case"]
        text += f"| {shown} | {row['library']} | {row['way']} | {' | '.join(cells(row))} |\n"
    without = _without(result, task.name, {row["library"] for row in rows})
    return text + (f"\nNot compared here: {without}.\n" if without else "")


def cells(row: Record) -> tuple[str, str, str, str, str]:
    """Time, processor time, ratio, memory and error of a line, as texts."""
    if "failed" in row:
        return (f"failed: {row['failed'].replace('|', '/')}", "", "", "", "")
    deviation = row["error_deviation"]
    error = number(row["error"]) + (f" ± {number(deviation)}" if deviation else "")
    ratio = number(row["ratio"]) if "ratio" in row else ""
    memory = f"{row['peak_mb']:.0f} ({row['peak_mb'] - row['before_mb']:.0f})"
    return (number(row["median_ms"]), number(row["processor_ms"]), ratio, memory, error)


def _without(result: Record, task: str, with_one: Iterable[str]) -> str:
    others = [
        library["name"]
        for library in result["libraries"]
        if "skipped" not in library and library["name"] not in with_one
    ]
    return ", ".join(others)


def _audit(result: Record) -> str:
    if not result["audits"]:
        return ""
    lines = "".join(
        f"| `{row['name']}` | {'violated' if row['violated'] else 'no violation'} | "
        f"{row['epsilon_lower_bound']:.2f} | {row['seconds']:.2f} | {row['paper_seconds']:.2f} |\n"
        for row in result["audits"]
    )
    published = "".join(f"| {p['tool']} | {p['figure']} | {p['source']} |\n" for p in result["published"])
    return f"""## Audits

`freegap audit` on the mechanisms that StatDP was timed with, at ε = {result["audits"][0]["epsilon"]}, in this
run, beside the time published for StatDP (Ding 2020, table 4-3: on 32 logical cores, so no ratio is given).

| mechanism | verdict | certified ε ≥ | seconds | StatDP, published |
|---|---|---:|---:|---:|
{lines}
Tools that are not packages which pip could install here, by what their authors published:

| tool | figure | source |
|---|---|---|
{published}"""


def _libraries(result: Record) -> str:
    lines = ""
    for library in result["libraries"]:
        versions = ", ".join(f"{name} {version}".strip() for name, version in library["versions"].items())
        lines += f"| {library['name']} | {library.get('skipped') or versions} | {library['cannot']} |\n"
    return f"""## The libraries, and what they cannot do

| library | version | does not offer, of what is compared here |
|---|---|---|
{lines}"""


def chart(result: Record, path: Path) -> None:
    """Processor time of a release, logarithmically, a panel for each task, at its largest size."""
    names = [library["name"] for library in result["libraries"]]
    drawn = []
    for task in TASKS:
        rows = [row for row in result["rows"] if row["task"] == task.name and "processor_ms" in row]
        if rows:
            drawn.append((task, [row for row in rows if row["case"] == rows[-1]["case"]]))
    figure, axes = panels(-(-len(drawn) // 2), 2, size=(5.4, 2.3), lines="x")
    for axis in axes[len(drawn) :]:
        axis.set_visible(False)
    for axis, (task, rows) in zip(axes, drawn, strict=False):
        rows = sorted(rows, key=lambda row: -row["processor_ms"])
        places = range(len(rows))
        colours = [_COLOURS[names.index(row["library"]) % len(_COLOURS)] for row in rows]
        axis.barh(places, [row["processor_ms"] for row in rows], color=colours, height=0.6)
        labels = [row["library"] if row["library"] != OURS else f"{OURS}: {row['way']}" for row in rows]
        axis.set_yticks(list(places), labels=labels, fontsize=8)
        axis.set_xscale("log")
        axis.set_xlabel("processor ms", fontsize=8)
        axis.tick_params(axis="x", labelsize=7)
        axis.set_title(f"{task.name}: {rows[0]['case']}", fontsize=9)
    save(figure, path)
