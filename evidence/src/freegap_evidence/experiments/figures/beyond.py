"""The figures beyond the papers."""

from __future__ import annotations

from typing import Any

import numpy as np

from freegap.report.pictures import BLUE, GREEN, INK, ORANGE, PURPLE, YELLOW, legend, panels
from freegap_evidence.experiments.figures import curve
from freegap_evidence.experiments.table import Table

_MEASURES = {
    "top-k": ("Noisy Top-K", "% improvement in MSE"),
    "sparse-vector": ("SVT", "% improvement in MSE"),
    "adaptive": ("Adaptive SVT", "# of Above-Threshold Answers"),
}
_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, YELLOW)


def draw_agreement(table: Table) -> Any:
    """Exact and insecure, with two standard errors."""
    measures = table.distinct("measure")
    figure, axes = panels(1, len(measures), size=(4.2, 3.4))
    for own, measure in zip(axes, measures, strict=True):
        rows = table.where(measure=measure)
        k = rows.numbers("k")
        for shift, column, mark, colour, cap, label in (
            (-0.25, "insecure", "s", ORANGE, 0, "insecure twin (NumPy, floating point)"),
            (0.25, "exact", "o", BLUE, 3, "exact release (freegap)"),
        ):
            error = 2 * rows.numbers(f"{column}_standard_error")
            style = {"fmt": mark, "color": colour, "markersize": 5, "capsize": cap, "label": label}
            own.errorbar(k + shift, rows.numbers(column), yerr=error, **style)
        title, unit = _MEASURES[measure]
        own.set_title(f"{title}, {rows.column('data')[0]}")
        own.set(xlabel="k", ylabel=unit)
        own.set_xticks(rows.distinct("k"))
        own.set_ylim(bottom=0)
    legend(figure, axes[0], columns=2)
    return figure


def draw_cost(table: Table) -> Any:
    """Milliseconds a release."""
    mechanisms = table.distinct("mechanism")
    figure, axes = panels(1, len(mechanisms), size=(4.0, 3.3), sharey=True)
    for own, mechanism in zip(axes, mechanisms, strict=True):
        rows = table.where(mechanism=mechanism)
        places = np.arange(len(rows.rows))
        for shift, column, colour, label in (
            (-0.2, "exact_ms", BLUE, "exact release (freegap)"),
            (0.2, "insecure_ms", ORANGE, "insecure, vectorised NumPy"),
        ):
            bars = own.bar(places + shift, rows.numbers(column), width=0.38, color=colour, label=label)
            own.bar_label(bars, [f"{value:.2g}" for value in rows.numbers(column)], padding=2, fontsize=8)
        own.set_xticks(places, [f"{r['data']}\nn = {r['n']:,}" for r in rows.records()], fontsize=8)
        own.set_yscale("log")
        own.margins(y=0.12)
        own.set_title(mechanism)
        own.grid(axis="x", visible=False)
    axes[0].set_ylabel("milliseconds per release")
    legend(figure, axes[0], columns=2)
    return figure


def draw_split(table: Table) -> Any:
    """Squared error against the part of ε that selects, as a multiple of that with one half."""
    names, levels = table.distinct("data"), table.distinct("epsilon")
    figure, axes = panels(len(levels), len(names), size=(4.8, 3.1), sharex=True, sharey=True)
    grid = np.array(axes).reshape(len(levels), len(names))
    for row, epsilon in enumerate(levels):
        for column, name in enumerate(names):
            own = grid[row][column]
            for k, colour in zip(table.distinct("k"), _COLOURS, strict=False):
                rows = table.where(data=name, epsilon=epsilon, k=k)
                x = rows.numbers("split")
                half = rows.numbers("rmse_of_rank")[x == 0.5][0]
                errors = (rows.numbers("rmse_of_rank") / half) ** 2
                own.plot(x, errors, "o-", color=colour, markersize=4, label=f"k = {k}, measured")
                expected = (rows.numbers("closed_form") / rows.numbers("closed_form")[x == 0.5][0]) ** 2
                own.plot(x, expected, "--", color=colour, linewidth=1.2, label=f"k = {k}, closed form")
                least = errors.argmin()
                own.plot(x[least], errors[least], "*", color=colour, markersize=14, markeredgecolor=INK)
            own.axvline(0.5, color=INK, linestyle=":", linewidth=1)
            own.set_title(f"{name}, ε = {epsilon:g}")
            own.set_ylim(0, 3)
        grid[row][0].set_ylabel("squared error,\nthat with one half = 1")
    for own in grid[-1]:
        own.set_xlabel("part of ε that selects (★ best, ⋮ one half)")
    legend(figure, axes[0], columns=3)
    return figure


def draw_choosing(table: Table) -> Any:
    """How well each mechanism does what a user wants, and what it spends, against how many are above."""
    k = table.distinct("k")[0]
    names, levels = table.distinct("data"), table.distinct("epsilon")
    # Counts far apart and much budget; counts close together and little budget.
    rows_of = (
        (names[0], levels[0], "counts far apart"),
        (names[-1], levels[-1], "counts closer than the noise"),
    )
    figure, axes = panels(3, 2, size=(4.5, 3.4))
    for place, own in enumerate(axes):
        name, epsilon, means = rows_of[place % 2]
        column, title, label = _WISHES[place // 2]
        shown = table.where(data=name, epsilon=epsilon)
        for algorithm, (colour, line, size) in zip(shown.distinct("algorithm"), _CHOICES, strict=True):
            rows = shown.where(algorithm=algorithm)
            curve(own, rows, "above", column, line, colour, size, label=algorithm)
        own.axvline(k, color=INK, linestyle=":", linewidth=1.2)
        own.annotate(
            f"k = {k}",
            (k, 0.03),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
        )
        own.set(xscale="log", ylabel=label, ylim=(0, 107 if column == "spent" else 1.07))
        own.set_xticks([2, 4, 8, 12, 24, 48, 96], ["2", "4", "8", "12", "24", "48", "96"])
        own.minorticks_off()
        own.set_title(f"{title}\n{name}, ε = {epsilon:g}: {means}", fontsize=10)
        own.set_xlabel("number of items above the threshold T")
    legend(figure, axes[0], columns=5)
    return figure


_WISHES = (
    ("f_largest", "The k largest above T", "F-Measure"),
    ("f_all", "All above T, as many as possible", "F-Measure"),
    ("spent", "What it costs", "% of ε spent"),
)
# Lines lie on each other: the later, the smaller.
_CHOICES = ((GREEN, "^-", 9), (BLUE, "o-", 10), (ORANGE, "s--", 7), (PURPLE, "v-", 6), (YELLOW, "D-", 4))
