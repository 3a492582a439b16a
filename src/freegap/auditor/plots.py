"""The pictures of an audit: the p-value curve, and the two histograms with the event shaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from freegap.errors import InvalidArgument, MissingExtra

if TYPE_CHECKING:
    from freegap.auditor.report import AuditReport

__all__ = ["PICTURES", "draw", "save"]

FIRST, SECOND, EVENT, CLAIM = "#0072B2", "#D55E00", "#F0E442", "#444444"  # told apart by every eye


def save(report: AuditReport, path: Any, what: str) -> None:
    """Draw one picture into a file, in the format of its name."""
    figure = draw(report, what)
    try:
        figure.savefig(Path(path), bbox_inches="tight", dpi=150)
    except ValueError as error:
        raise InvalidArgument(
            "path", path, str(error), "Use a name that ends in .svg, .png or .pdf."
        ) from None


def draw(report: AuditReport, what: str) -> Any:
    """One picture, as a matplotlib figure that belongs to no window."""
    try:
        from matplotlib.figure import Figure
    except ImportError as missing:
        raise MissingExtra("matplotlib", "plot") from missing
    if what not in PICTURES:
        raise InvalidArgument(
            "what", what, "is no picture of an audit", f"Pass one of {', '.join(PICTURES)}."
        )
    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.add_subplot()
    PICTURES[what](report, axes)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def _curve(report: AuditReport, axes: Any) -> None:
    """Figures 4-2 to 4-4: the p-value of the hypothesis that the mechanism is ε-private, against ε."""
    levels, p_values = report.curve()
    axes.plot(levels, p_values, color=FIRST, linewidth=2, label="p-value")
    axes.axvline(report.epsilon, color=CLAIM, linestyle="--", label=f"claimed ε = {report.epsilon:g}")
    axes.axvline(
        report.epsilon_lower_bound,
        color=SECOND,
        linestyle=":",
        label=f"certain: ε ≥ {report.epsilon_lower_bound:.3f}",
    )
    axes.set(xlabel="test ε", ylabel="p-value", ylim=(-0.02, 1.02), xlim=(0, float(levels[-1])))
    axes.set_title(report.title, fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=9, loc="center left" if report.violated else "best")


def _outputs(report: AuditReport, axes: Any) -> None:
    """How often each output came on the two inputs, along the feature that the event looks at."""
    shown = report.counterexample or report.closest
    if shown is None or shown.histogram is None or not shown.histogram.bars:
        axes.text(0.5, 0.5, "no samples", ha="center", transform=axes.transAxes)
        return
    histogram = shown.histogram
    kept = [i for i, bar in enumerate(histogram.bars) if histogram.first[i] or histogram.second[i]]
    ranges = [i for i in kept if histogram.bars[i].low is not None]
    runs = (max(1, shown.counts.runs1), max(1, shown.counts.runs2))
    names = [histogram.bars[i].name for i in kept]
    for place, i in enumerate(kept):
        if histogram.bars[i].shaded:
            axes.axvspan(place - 0.5, place + 0.5, color=EVENT, alpha=0.45, linewidth=0)
    places = range(len(kept))
    for offset, counts, total, colour, name in (
        (-0.2, histogram.first, runs[0], FIRST, "first input"),
        (0.2, histogram.second, runs[1], SECOND, "second input"),
    ):
        heights = [counts[i] / total for i in kept]
        axes.bar([place + offset for place in places], heights, width=0.4, color=colour, label=name)
    every = max(1, len(kept) // 10)
    if ranges and len(ranges) == len([i for i in kept if histogram.bars[i].name != "other"]):
        names = [_short(histogram.bars[i].low, histogram.bars[i].name) for i in kept]
    marks = list(places)[::every]
    axes.set_xticks(marks, [_fit(names[place]) for place in marks], fontsize=8)
    axes.set(ylabel="share of runs", xlabel=_fit(shown.event.clauses[-1].feature.text, 90))
    axes.set_title(f"event (shaded): {_fit(shown.event.text, 80)}", fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=9)


PICTURES = {"curve": _curve, "outputs": _outputs}


def _short(low: float | None, name: str) -> str:
    return name if low is None else ("…" if low == float("-inf") else f"{low:.3g}")


def _fit(text: str, most: int = 24) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
