"""A release as a picture: estimates with error bars, or its first column of numbers as bars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.errors import InvalidArgument, printable
from freegap.report.pictures import BLUE, ORANGE, panels
from freegap.values.columns import Column
from freegap.values.results import NOT_PRIVATE, Release

_PLACES = ("release", "rank", "question", "branch")
_LONGEST_LABEL = 40
_LONGEST_TITLE = 90
_LONGEST_CHART = 500
"""More rows than this make no picture that anybody can read, and one of metres."""


def drawable(release: Release) -> bool:
    """Whether there are names, and numbers that say something of them."""
    columns = release.columns()
    return drawn_column(columns) is not None and any(not column.numeric for column in columns)


def draw(release: Release, *, titled: bool = True) -> Any:
    """The picture, as a figure of `freegap.report.pictures`.

    titled: False where the title of the release stands above it already.
    """
    columns = release.columns()
    names = [column.cells[:_LONGEST_CHART] for column in columns if not column.numeric]
    values = drawn_column(columns)
    if not names or values is None:
        raise InvalidArgument(
            "release", f"<{type(release).__name__}>", "has no numbers to draw", "Print it instead."
        )
    labels = _labels([" · ".join(row) for row in zip(*names, strict=True)])
    figure, (axes,) = panels(1, 1, size=(8, 1.6 + 0.36 * max(len(labels), 2)), lines="x")
    places = np.arange(len(labels))
    sizes = np.array([math.nan if value is None else float(value) for value in values.values[: len(labels)]])
    intervals = next((column for column in columns if column.kind is tuple), None)
    if intervals is None:
        axes.barh(places, sizes, color=BLUE, height=0.6)
        axes.set_xlabel(values.title + (f" ({values.unit})" if values.unit else ""))
    else:
        _bars(axes, places, sizes, intervals.values[: len(labels)])
        axes.set_xlabel(f"{values.title}, estimated, with {intervals.title}s")
    if values.name != "gap":
        _line(axes, release)
    # Labels are data: a dollar sign in one must not start a formula.
    axes.set_yticks(places, labels, parse_math=False)
    axes.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    axes.xaxis.set_major_formatter("{x:,.10g}")
    axes.set_title(_title(release, values, len(labels), titled=titled), loc="left", parse_math=False)
    return figure


def drawn_column(columns: Sequence[Column]) -> Column | None:
    """Estimates where there are any, else the first numbers that are not ranks or positions."""
    named = {column.name or column.title: column for column in columns if column.numeric}
    numbers = [column for name, column in named.items() if name not in _PLACES]
    return named.get("estimate") or next((c for c in numbers if c.kind is not tuple), None)


def _title(release: Release, values: Column, rows: int, *, titled: bool) -> str:
    """What the picture shows: the bars of gaps are no sizes, and must not be taken for them."""
    title = release.title if titled else ""
    if values.name == "gap":
        title = f"How far each of {rows} items is ahead: {values.title}, not its size"
    more = "" if len(release) <= rows else f"\nThe first {rows:,} of {len(release):,} rows"
    return _short(title, _LONGEST_TITLE) + more + ("" if release.private else f"\n{NOT_PRIVATE}")


def _bars(axes: Any, places: Any, sizes: Any, intervals: Sequence[Any]) -> None:
    """Points with error bars, and an arrow to the edge of the picture where one has no end."""
    ends = [[math.nan if end is None else float(end) for end in pair] for pair in intervals]
    bounds = np.array(ends, dtype=float).reshape(-1, 2)
    if len(sizes):
        spread = np.vstack([sizes - bounds[:, 0], bounds[:, 1] - sizes])
        axes.errorbar(sizes, places, xerr=np.fmax(spread, 0), fmt="o", markersize=3, color=BLUE, capsize=4)
    for edge in (0, 1):
        for place in places[np.isnan(bounds[:, edge])]:
            axes.annotate(
                "",
                (edge, place),
                (sizes[place], place),
                xycoords=("axes fraction", "data"),
                textcoords="data",
                arrowprops={"arrowstyle": "->", "color": BLUE, "linestyle": ":"},
            )


def _line(axes: Any, release: Release) -> None:
    """The threshold, where the release has one for all items."""
    threshold = release.to_dict().get("threshold")
    if threshold is None:
        return
    place = float(Fraction(threshold))
    axes.axvline(place, color=ORANGE, linestyle="--", linewidth=1.2)
    axes.annotate(
        _short(f"threshold {threshold}"),
        (place, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, -4),
        textcoords="offset points",
        color=ORANGE,
        va="top",
        fontsize=9,
    )


def _labels(names: Sequence[str]) -> list[str]:
    """Names short enough for an axis; those that would be equal then, as they are."""
    short = [_short(name) for name in names]
    often = Counter(short)
    return [text if often[text] == 1 else printable(name) for text, name in zip(short, names, strict=True)]


def _short(label: str, longest: int = _LONGEST_LABEL) -> str:
    text = printable(label)
    return text if len(text) <= longest else text[: longest - 1] + "…"
