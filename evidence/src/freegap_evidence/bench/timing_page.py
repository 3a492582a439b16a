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

    rows: of `freegap_evidence.bench.side_channel.run`, with the times below which each hundredth part lies.
    """
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtra("matplotlib", "plot") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "freegap"
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text, which can be searched
    from matplotlib import pyplot

    columns = 2
    figure, axes = pyplot.subplots(
        -(-len(rows) // columns), columns, figsize=(9, 1.9 * -(-len(rows) // columns)), squeeze=False
    )
    for axis, row in zip(axes.flat, rows, strict=False):
        for times, colour, name in zip(
            row["quantiles_ms"], _COLOURS, ("one input", "the other"), strict=True
        ):
            axis.step(times, [place / len(times) for place in range(len(times))], color=colour, label=name)
        axis.set_xlim(
            0.98 * min(times[0] for times in row["quantiles_ms"]),
            1.02 * max(times[80] for times in row["quantiles_ms"]),
        )
        axis.set_title(f"{row['mechanism']}: {row['pair']}", fontsize=9)
        axis.set_xlabel("time of a release, ms", fontsize=8)
        axis.set_ylabel("share done", fontsize=8)
        axis.tick_params(labelsize=7)
        axis.legend(fontsize=7, loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=120)
    pyplot.close(figure)
