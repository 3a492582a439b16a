"""Ilvento 2020: accuracy and cost of the base-2 sparse vector against width and resolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from freegap.report.pictures import BLUE, GREEN, GREY, ORANGE, legend, panels
from freegap_evidence.experiments.figures import with_errors
from freegap_evidence.experiments.table import Table


def draw_clamping(table: Table) -> Any:
    """The F-measure against the width and against the resolution, and the cost against the resolution."""
    figure, (by_width, by_grid, cost) = panels(1, 3, size=(4.2, 3.4))
    first = table.column("mechanism")[0]
    widths = _sorted(table.where(mechanism=first, resolution=1.0), "width_scales")
    finest = min(table.where(mechanism=first).records(), key=lambda row: row["resolution"])
    grids = _sorted(table.where(mechanism=first, width_scales=finest["width_scales"]), "resolution")
    for axes, rows, column, label in (
        (by_width, widths, "width_scales", "width w, in noise scales"),
        (by_grid, grids, "resolution", "resolution γ"),
    ):
        with_errors(axes, rows, column, "f_measure", BLUE, "o", markersize=5, label=first)
        for mechanism, colour, line in zip(
            table.distinct("mechanism")[1:], (ORANGE, GREEN), ("-", ":"), strict=True
        ):
            level = float(table.where(mechanism=mechanism).numbers("f_measure")[0])
            axes.axhline(level, color=colour, linestyle=line, label=mechanism)
        axes.set(xscale="log", xlabel=label, ylim=(0, 1.05))
    by_width.set_ylabel("F-Measure")
    x = grids.numbers("resolution")
    cost.plot(x, grids.numbers("milliseconds"), "o-", color=BLUE, label="milliseconds per release")
    cost.plot(
        x, grids.numbers("precision_bits") / 1000, "s--", color=GREY, label="thousand bits of precision"
    )
    cost.set(xscale="log", yscale="log", xlabel="resolution γ")
    cost.legend(frameon=False)
    legend(figure, by_width, columns=3)
    return figure


def _sorted(table: Table, column: str) -> Table:
    order = np.argsort(table.numbers(column))
    return Table(table.columns, tuple(table.rows[i] for i in order))
