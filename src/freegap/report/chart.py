"""A release from a table as a picture: estimates with error bars, or gaps where there are no estimates."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from freegap.errors import InvalidArgument, MissingExtra, printable
from freegap.tables.results import ItemsAbove, TableRelease
from freegap.values.results import NOT_PRIVATE, text_of

__all__ = ["chart_svg", "require_drawable", "save_chart"]

_BLUE, _RED = "#2f6690", "#c8553d"
_LONGEST_LABEL = 40
_LONGEST_TITLE = 90
_SUFFIXES = (".svg", ".png", ".pdf")


def chart_svg(release: TableRelease) -> str:
    """The picture as an SVG element that can stand in a page: text stays text, nothing is loaded."""
    figure, settings = _draw(release)
    buffer = io.StringIO()
    with settings, _any_script():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def save_chart(release: TableRelease, path: Path) -> None:
    """The picture as a file: .svg, .png or .pdf."""
    require_drawable(path)
    figure, settings = _draw(release)
    with settings, _any_script():
        figure.savefig(path, dpi=150)


@contextmanager
def _any_script() -> Iterator[None]:
    """Names may be in any script: in an SVG the reader's own fonts show them, elsewhere boxes do."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


def require_drawable(path: Path | None = None) -> None:
    """Whether pictures can be drawn, and in the format that the name asks for."""
    if path is not None and path.suffix.lower() not in _SUFFIXES:
        raise InvalidArgument("plot", str(path), "must end with .svg, .png or .pdf", "Pass out.svg.")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtra("matplotlib", "plot") from None


def _draw(release: TableRelease) -> tuple[Any, Any]:
    require_drawable()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    labels = [_short(text_of(label)) for label in release.labels]
    height = 1.6 + 0.36 * max(len(labels), 2)
    figure: Any = Figure(figsize=(8, height), layout="constrained")
    axes = figure.add_subplot()
    places = np.arange(len(labels))
    if release.estimates is not None and release.intervals is not None:
        _estimates(axes, places, release)
    else:
        axes.barh(places, [float(gap) for gap in release.gaps], color=_BLUE, height=0.6)
        axes.set_xlabel(release.gap_title + " (people)")
    # Labels are data: a dollar sign in one must not start a formula.
    axes.set_yticks(places, labels, parse_math=False)
    axes.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    axes.xaxis.set_major_formatter("{x:,.10g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#e5e5e5")
    axes.set_axisbelow(True)
    title = _short(release.title, _LONGEST_TITLE) + ("" if release.private else f"\n{NOT_PRIVATE}")
    axes.set_title(title, loc="left", fontsize=11, parse_math=False)
    return figure, mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "freegap"})


def _estimates(axes: Any, places: Any, release: TableRelease) -> None:
    values = np.array([float(estimate) for estimate in release.estimates or ()])
    bounds = np.array(release.intervals or np.empty((0, 2)), dtype=float).reshape(-1, 2)
    if len(values):
        spread = np.vstack([values - bounds[:, 0], bounds[:, 1] - values])
        axes.errorbar(
            values, places, xerr=np.maximum(spread, 0), fmt="o", markersize=3, color=_BLUE, capsize=4
        )
    if isinstance(release, ItemsAbove):
        axes.axvline(float(release.threshold), color=_RED, linestyle="--", linewidth=1.2)
        axes.annotate(
            _short(f"threshold {release.threshold}"),
            (float(release.threshold), 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -4),
            textcoords="offset points",
            color=_RED,
            va="top",
            fontsize=9,
        )
    axes.set_xlabel("people, estimated, with 95 % intervals")


def _short(label: str, longest: int = _LONGEST_LABEL) -> str:
    text = printable(label)
    return text if len(text) <= longest else text[: longest - 1] + "…"
