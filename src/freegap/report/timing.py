"""A picture of release times: two inputs side by side for each mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from freegap.errors import MissingExtra

__all__ = ["timing_chart"]

_COLOURS = ("#4477aa", "#ee6677")


def timing_chart(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the distribution functions of the times of both inputs, one panel a contest.

    rows: of `freegap.bench.side_channel.run`, with `times_ms`.
    """
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtra("matplotlib", "plot") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "freegap"
    from matplotlib import pyplot

    columns = 2
    figure, axes = pyplot.subplots(
        -(-len(rows) // columns), columns, figsize=(9, 1.9 * -(-len(rows) // columns)), squeeze=False
    )
    for axis, row in zip(axes.flat, rows, strict=False):
        for times, colour, name in zip(row["times_ms"], _COLOURS, ("one input", "the other"), strict=True):
            ordered = sorted(times)
            shares = [(place + 1) / len(ordered) for place in range(len(ordered))]
            axis.step(ordered, shares, color=colour, label=name, linewidth=1.5)
        usual = sorted(t for side in row["times_ms"] for t in side)
        axis.set_xlim(0.9 * usual[0], 1.1 * usual[int(0.98 * len(usual))])
        axis.set_title(f"{row['mechanism']}: {row['pair']}", fontsize=9)
        axis.set_xlabel("time of a release, ms", fontsize=8)
        axis.set_ylabel("share done", fontsize=8)
        axis.tick_params(labelsize=7)
        axis.legend(fontsize=7, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=120)
    pyplot.close(figure)
