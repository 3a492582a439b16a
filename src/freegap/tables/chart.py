"""A release from a table as a picture: estimates with error bars, or gaps where there are no estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from freegap.errors import printable
from freegap.report.pictures import BLUE, ORANGE, panels
from freegap.tables.results import ItemsAbove, TableRelease
from freegap.values.results import NOT_PRIVATE, text_of

__all__ = ["draw"]

_LONGEST_LABEL = 40
_LONGEST_TITLE = 90


def draw(release: TableRelease) -> Any:
    """The picture, as a figure of `freegap.report.pictures`."""
    labels = [_short(text_of(label)) for label in release.labels]
    figure, (axes,) = panels(1, 1, size=(8, 1.6 + 0.36 * max(len(labels), 2)), lines="x")
    places = np.arange(len(labels))
    if release.estimates is not None and release.intervals is not None:
        _estimates(axes, places, release)
    else:
        axes.barh(places, [float(gap) for gap in release.gaps], color=BLUE, height=0.6)
        axes.set_xlabel(release.gap_title + " (people)")
    # Labels are data: a dollar sign in one must not start a formula.
    axes.set_yticks(places, labels, parse_math=False)
    axes.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    axes.xaxis.set_major_formatter("{x:,.10g}")
    title = _short(release.title, _LONGEST_TITLE) + ("" if release.private else f"\n{NOT_PRIVATE}")
    axes.set_title(title, loc="left", parse_math=False)
    return figure


def _estimates(axes: Any, places: Any, release: TableRelease) -> None:
    values = np.array([float(estimate) for estimate in release.estimates or ()])
    bounds = np.array(release.intervals or np.empty((0, 2)), dtype=float).reshape(-1, 2)
    if len(values):
        spread = np.vstack([values - bounds[:, 0], bounds[:, 1] - values])
        axes.errorbar(
            values, places, xerr=np.maximum(spread, 0), fmt="o", markersize=3, color=BLUE, capsize=4
        )
    if isinstance(release, ItemsAbove):
        axes.axvline(float(release.threshold), color=ORANGE, linestyle="--", linewidth=1.2)
        axes.annotate(
            _short(f"threshold {release.threshold}"),
            (float(release.threshold), 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -4),
            textcoords="offset points",
            color=ORANGE,
            va="top",
            fontsize=9,
        )
    axes.set_xlabel("people, estimated, with 95 % intervals")


def _short(label: str, longest: int = _LONGEST_LABEL) -> str:
    text = printable(label)
    return text if len(text) <= longest else text[: longest - 1] + "…"
