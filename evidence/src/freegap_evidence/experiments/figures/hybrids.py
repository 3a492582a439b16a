"""Figures 5-7 and 5-8 of Ding 2020, on the paper's data set (the first)."""

from __future__ import annotations

from typing import Any

from freegap.report.pictures import BLUE, GREEN, INK, ORANGE, PURPLE, panels
from freegap_evidence.experiments.table import Table

# Lines lie on each other: the later, the smaller.
_LOOKS = ((BLUE, "o-", 11), (ORANGE, "s-", 8), (GREEN, "^-", 6), (PURPLE, "v--", 4))


def _lines(table: Table, column: str, factor: float) -> tuple[Any, Any, Table]:
    name = table.distinct("data")[0]
    shown = table.where(data=name)
    figure, (axes,) = panels(1, 1, size=(6.6, 4.0))
    for algorithm, (colour, line, size) in zip(shown.distinct("algorithm"), _LOOKS, strict=True):
        rows = shown.where(algorithm=algorithm)
        y = rows.numbers(column) / factor
        axes.plot(rows.numbers("k"), y, line, color=colour, markersize=size, label=algorithm)
    axes.set_title(name)
    axes.set_xlabel("k")
    axes.set_xticks(shown.distinct("k"))
    return figure, axes, shown


def draw_remaining(table: Table) -> Any:
    """Figure 5-7."""
    figure, axes, shown = _lines(table, "remaining", 1.0)
    axes.axvline(shown.numbers("threshold_rank")[0], color=INK, linestyle=":", linewidth=1)
    axes.annotate(
        "12 at or above T", (12, 40), xytext=(-5, 0), textcoords="offset points", ha="right", color=INK
    )
    axes.set(ylabel="% Remaining Privacy Budget", ylim=(-2, 60))
    axes.legend(frameon=False, loc="upper left")
    return figure


def draw_average(table: Table) -> Any:
    """Figure 5-8."""
    figure, axes, shown = _lines(table, "average_answer", 1e5)
    axes.axhline(shown.numbers("threshold")[0] / 1e5, color=INK, linestyle="--", linewidth=1.2, label="T")
    axes.set(ylabel="Average Query Answer (×10⁵)")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure
