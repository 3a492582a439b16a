"""How the tables of the experiments are drawn: one function a figure, from a table to a matplotlib figure."""

from __future__ import annotations

from typing import Any

from freegap_evidence.experiments.table import Table

__all__ = ["curve", "with_errors"]


def curve(axes: Any, rows: Table, x: str, y: str, line: str, colour: str, size: float, **style: Any) -> None:
    """One column against another."""
    axes.plot(rows.numbers(x), rows.numbers(y), line, color=colour, markersize=size, **style)


def with_errors(axes: Any, rows: Table, x: str, y: str, colour: str, mark: str, **style: Any) -> None:
    """One column against another, with two standard errors on either side."""
    error = 2 * rows.numbers("standard_error")
    axes.errorbar(rows.numbers(x), rows.numbers(y), yerr=error, color=colour, marker=mark, **style)
