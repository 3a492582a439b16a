"""What all figures share: colours that every eye tells apart, light grids, the paper's words on the axes."""

from __future__ import annotations

import io
import re
from typing import Any

from freegap.errors import MissingExtra

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "INK",
    "ORANGE",
    "PURPLE",
    "SKY",
    "YELLOW",
    "legend",
    "panels",
    "png",
    "svg",
]

# Okabe and Ito's palette
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, YELLOW, GREY, INK = "#56B4E9", "#E69F00", "#999999", "#333333"

_COORDINATES = re.compile(r'\b(?:d|x|y|width|height|points)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}")

_SETTINGS = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "freegap",  # the same numbers give the same bytes
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "legend.fontsize": 9,
}


def panels(
    rows: int, columns: int, *, size: tuple[float, float] = (4.6, 3.4), **options: Any
) -> tuple[Any, list[Any]]:
    """A figure that belongs to no window, and its axes, row by row; `size` is that of one panel in inches."""
    mpl = _matplotlib()
    with mpl.rc_context(_SETTINGS):
        from matplotlib.figure import Figure

        figure: Any = Figure(figsize=(columns * size[0], rows * size[1]), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, **options)
    listed = [axes for row in grid for axes in row]
    for axes in listed:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e6e6e6", linewidth=0.8)
        axes.set_axisbelow(True)
    return figure, listed


def legend(figure: Any, axes: Any, *, columns: int) -> None:
    """One legend for all panels, below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


def svg(figure: Any) -> str:
    """The figure as SVG: the same figure is the same text."""
    with _matplotlib().rc_context(_SETTINGS):
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    # A hundredth of a point is fine enough; matplotlib writes six places, and blanks at line ends.
    rounded = _COORDINATES.sub(lambda found: _LONG.sub(_short, found[0]), text.getvalue())
    return "\n".join(line.rstrip() for line in rounded.splitlines()) + "\n"


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}"


def png(figure: Any) -> bytes:
    """The figure as PNG."""
    with _matplotlib().rc_context(_SETTINGS):
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=110, metadata={"Software": None})
    return data.getvalue()


def _matplotlib() -> Any:
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtra("matplotlib", "experiments") from None
    return mpl
