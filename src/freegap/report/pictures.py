"""The style of every picture: colours that every eye tells apart, light grids, text that stays text.

The settings hold while a picture is made and while it is written, and for nobody else's pictures.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from freegap.errors import InvalidArgument, MissingExtra

# Okabe and Ito's palette
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, YELLOW, GREY, INK = "#56B4E9", "#E69F00", "#999999", "#333333"

_SUFFIXES = (".svg", ".png", ".pdf")
_METADATA = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}, "pdf": {"CreationDate": None}}
_COORDINATES = re.compile(r'\b(?:d|x|y|width|height|points)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}")
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "freegap",  # the same numbers give the same bytes
    "font.size": 10,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10,
    "legend.fontsize": 9,
}


def require_drawable(path: Path | None = None, *, argument: str = "path") -> None:
    """Whether pictures can be drawn, and in the format that the name asks for."""
    if path is not None and path.suffix.lower() not in _SUFFIXES:
        raise InvalidArgument(argument, str(path), "must end with .svg, .png or .pdf", "Pass out.svg.")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtra("matplotlib", "plot") from None


def panels(
    rows: int, columns: int, *, size: tuple[float, float] = (4.6, 3.4), lines: str = "both", **options: Any
) -> tuple[Any, list[Any]]:
    """A figure that belongs to no window, and its axes, row by row.

    size: that of one panel in inches. lines: those of the grid; both, x or y.
    """
    require_drawable()
    from matplotlib.figure import Figure

    with _style():
        figure: Any = Figure(figsize=(columns * size[0], rows * size[1]), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, **options)
    listed = [axes for row in grid for axes in row]
    for axes in listed:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis=lines, color="#e6e6e6", linewidth=0.8)
        axes.set_axisbelow(True)
    return figure, listed


def legend(figure: Any, axes: Any, *, columns: int) -> None:
    """One legend for all panels, below them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False, fontsize=9)


def svg(figure: Any) -> str:
    """The figure as an SVG element, for a page or a file of its own: the same figure is the same text."""
    text = io.StringIO()
    with _style():
        figure.savefig(text, format="svg", metadata=_METADATA["svg"])
    # A hundredth of a point is fine enough; matplotlib writes six places, and blanks at line ends. What
    # stands before the element refers to the network.
    drawn = text.getvalue()
    rounded = _COORDINATES.sub(lambda found: _LONG.sub(_short, found[0]), drawn[drawn.index("<svg") :])
    return "\n".join(line.rstrip() for line in rounded.splitlines()) + "\n"


def save(figure: Any, path: Path) -> None:
    """The figure as a file: .svg, .png or .pdf."""
    require_drawable(path)
    form = path.suffix.lower()[1:]
    if form == "svg":
        path.write_text(svg(figure), encoding="utf-8")
        return
    with _style():
        figure.savefig(path, format=form, dpi=110, metadata=_METADATA[form])


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib as mpl

    # Names may be in any script: in an SVG the reader's own fonts show them, elsewhere boxes do.
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font", category=UserWarning)
        yield


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}"
