"""Figures 5-4, 5-5 and 5-6 of Ding 2020, figures 3 of Ding et al. 2019 and Ding et al. 2019 (arXiv), and the
one with more branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from freegap.report.pictures import BLUE, GREEN, GREY, ORANGE, SKY, YELLOW, legend, panels
from freegap_evidence.experiments.figures import curve
from freegap_evidence.experiments.table import Table

_BOTH = ((0, "Sparse Vector", BLUE, 8), (1, "Adaptive SVT w/ Gap", GREEN, 4))


def draw_answers(table: Table, *, noise: str) -> Any:
    """Figure 5-4: bars, the adaptive one divided by branch."""
    names = table.distinct("data")
    figure, axes = panels(1, len(names), size=(4.4, 3.5), sharey=True)
    _answers(axes, table, noise)
    legend(figure, axes[0], columns=3)
    return figure


def draw_answers_and_precision(table: Table) -> Any:
    """Figure 3 of Ding et al. 2019 (arXiv): the answers above, the precision below."""
    names = table.distinct("data")
    figure, axes = panels(2, len(names), size=(4.4, 3.0))
    _answers(axes[: len(names)], table, "Laplace")
    _shares(axes[len(names) :], table, "defghi", (("precision", "o-", ""),))
    axes[len(names)].set_ylabel("Precision")
    axes[len(names)].legend(frameon=False, loc="lower right")
    legend(figure, axes[0], columns=3)
    return figure


def _answers(axes: list[Any], table: Table, noise: str) -> None:
    """Bars for each data set, the adaptive one divided by branch."""
    names = table.distinct("data")
    for own, name, letter in zip(axes, names, "abcdef", strict=False):
        classical, adaptive = (table.where(data=name, branches=b) for b in (0, 1))
        k = classical.numbers("k")
        middle = adaptive.numbers("base")
        for shift, height, bottom, colour, title in (
            (-0.4, classical.numbers("answers"), 0, BLUE, "Sparse Vector"),
            (0.4, middle, 0, YELLOW, "Adaptive SVT w/ Gap (Middle)"),
            (0.4, adaptive.numbers("answers") - middle, middle, GREEN, "Adaptive SVT w/ Gap (Top)"),
        ):
            own.bar(k + shift, height, width=0.75, bottom=bottom, color=colour, label=f"{title} ({noise})")
        own.set_title(f"({letter}) {name}")
        own.set(xlabel="k")
        own.set_xticks(k)
        own.grid(axis="x", visible=False)
    axes[0].set_ylabel("# of Above-Threshold Answers")


def draw_quality(table: Table) -> Any:
    """Figure 5-5."""
    names = table.distinct("data")
    figure, axes = panels(1, len(names), size=(4.4, 3.5), sharey=True)
    _shares(axes, table, "abcdef", (("precision", "o--", ", Precision"), ("f_measure", "s-", ", F-Measure")))
    axes[0].set_ylabel("Precision, F-Measure")
    legend(figure, axes[0], columns=4)
    return figure


def _shares(axes: list[Any], table: Table, letters: str, columns: tuple[tuple[str, str, str], ...]) -> None:
    """columns: what is drawn of both mechanisms, with which line, and what is said behind their names."""
    for own, name, letter in zip(axes, table.distinct("data"), letters, strict=False):
        for branches, title, colour, size in _BOTH:
            rows = table.where(data=name, branches=branches)
            for column, line, what in columns:
                curve(own, rows, "k", column, line, colour, size, label=f"{title}{what}")
        own.set_title(f"({letter}) {name}")
        own.set(xlabel="k", ylim=(0, 1.05))
        own.set_xticks(rows.distinct("k"))


def draw_remaining(table: Table) -> Any:
    """Figure 5-6."""
    figure, (axes,) = panels(1, 1, size=(6.4, 3.8))
    looks = ((BLUE, "o-", 10), (ORANGE, "s-", 7), (GREEN, "^-", 5))  # lines lie on each other
    for name, (colour, line, size) in zip(table.distinct("data"), looks, strict=False):
        rows = table.where(data=name, branches=1)
        curve(axes, rows, "k", "remaining", line, colour, size, label=name)
    axes.set(xlabel="k", ylabel="% Remaining Privacy Budget", ylim=(0, 60))
    axes.set_xticks(table.distinct("k"))
    axes.legend(frameon=False, loc="lower right")
    return figure


def draw_branches(table: Table) -> Any:
    """Answers, F-measure and budget left, with 0 to 4 branches."""
    names = table.distinct("data")
    figure, axes = panels(3, len(names), size=(4.2, 2.6), sharex=True, sharey="row")
    grid = np.array(axes).reshape(3, len(names))
    shown = (
        ("answers", "# of Above-\nThreshold Answers"),
        ("f_measure", "F-Measure"),
        ("remaining", "% of budget left\nafter k answers"),
    )
    colours = (GREY, BLUE, GREEN, YELLOW, ORANGE, SKY)
    for column, name in enumerate(names):
        for row, (measure, label) in enumerate(shown):
            own = grid[row][column]
            for branches, colour in zip(table.distinct("branches"), colours, strict=False):
                rows = table.where(data=name, branches=branches)
                known = {0: " (Sparse Vector)", 1: " (the papers')"}.get(branches, "")
                curve(own, rows, "k", measure, "o-", colour, 4, label=f"branches: {branches}{known}")
            if column == 0:
                own.set_ylabel(label)
        grid[0][column].set_title(name)
        grid[2][column].set(xlabel="k")
        grid[2][column].set_xticks(table.distinct("k"))
    for own in grid[:, 0]:
        own.set_ylim(0, 1.05 * own.get_ylim()[1])  # shared along the row
    legend(figure, axes[0], columns=5)
    return figure
