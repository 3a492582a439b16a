"""The figure of `freegap_evidence.experiments.coverage`: what intervals miss, and how large errors are."""

from __future__ import annotations

from typing import Any

import numpy as np

from freegap.report.pictures import BLUE, GREEN, INK, ORANGE, PURPLE, YELLOW, legend, panels
from freegap_evidence.experiments.table import Table

_MISSED = (
    ("missed", BLUE, "o-", "above a threshold"),
    ("missed_measured", GREEN, "s-", "measured top k"),
    ("missed_before", ORANGE, "^--", "above, selection left out"),
)
_ERRORS = (
    ("rmse_fused", PURPLE, "D-", "estimate"),
    ("rmse_papers", YELLOW, "v--", "estimate, selection left out"),
)


def draw_coverage(table: Table) -> Any:
    """Above, the share of the selected items that intervals miss; below, errors against a measurement's."""
    names = table.distinct("data")
    figure, axes = panels(2, len(names), size=(4.0, 2.9), sharex=True)
    grid = np.array(axes).reshape(2, len(names))
    for column, name in enumerate(names):
        rows = table.where(data=name)
        x, (missed, errors) = rows.numbers("epsilon"), grid[:, column]
        for field, colour, style, label in _MISSED:
            missed.plot(x, 100 * rows.numbers(field), style, color=colour, markersize=4, label=label)
        missed.axhline(5, color=INK, linestyle=":", linewidth=1)
        missed.set(yscale="symlog", ylim=(0, 110), yticks=[0, 1, 5, 20, 100], xscale="log")
        missed.set_yticklabels(["0", "1", "5", "20", "100"])
        missed.set_title(f"{name}, more than {rows.column('threshold')[0]:,}, k = {rows.column('k')[0]}")
        for field, colour, style, label in _ERRORS:
            ratio = rows.numbers(field) / rows.numbers("rmse_measured")
            errors.plot(x, ratio, style, color=colour, markersize=4, label=label)
        errors.axhline(1, color=INK, linestyle=":", linewidth=1)
        errors.set(ylim=(0, None), xlabel="ε")
        errors.set_xticks([0.05, 0.2, 1, 5], ["0.05", "0.2", "1", "5"])
    grid[0][0].set_ylabel("95 % intervals miss, %")
    grid[1][0].set_ylabel("error of an estimate,\nthat of a measurement = 1")
    for _, colour, style, label in _ERRORS:
        grid[0][0].plot([], [], style, color=colour, markersize=4, label=label)
    legend(figure, grid[0][0], columns=5)
    return figure
