"""A picture of release times: two inputs side by side for each mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from freegap.report.pictures import BLUE, ORANGE, panels, save

__all__ = ["timing_chart"]


def timing_chart(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the distribution functions of the times of both inputs, one panel a contest.

    rows: of `freegap_evidence.bench.side_channel.run`, with the times below which each hundredth part lies.
    """
    figure, axes = panels(-(-len(rows) // 2), 2, size=(4.5, 1.9))
    for axis, row in zip(axes, rows, strict=False):
        for times, colour, name in zip(
            row["quantiles_ms"], (BLUE, ORANGE), ("one input", "the other"), strict=True
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
    save(figure, path)
