"""The report for people: the p-value curve, the histograms with the event shaded, and a page with both."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from freegap.auditor.mechanism import answers_text
from freegap.errors import InvalidArgument
from freegap.report.pictures import BLUE, INK, ORANGE, panels, svg
from freegap.report.shell import safe, shell

if TYPE_CHECKING:
    from freegap.auditor.report import AuditReport, Counterexample

__all__ = ["PICTURES", "body", "draw", "page"]

EVENT = "#F0E442"  # behind the bars


def page(report: AuditReport) -> str:
    """The whole page."""
    return shell(f"Audit of {report.mechanism}", body(report))


def body(report: AuditReport) -> str:
    """What stands between the tags of the body; notebooks show this."""
    verdict = "warning" if report.violated else "line"
    shown = report.counterexample or report.closest
    parts = [f'<p class="{verdict}">{safe(report.title)}</p>']
    if shown is not None:
        heading = "Counterexample" if report.counterexample else "The closest that the search came"
        parts.append(f"<h2>{heading}</h2>{_counterexample(shown)}")
        if shown.histogram is not None:
            parts.append(f"<h2>Outputs on the two inputs</h2>{svg(draw(report, 'outputs'))}")
        parts.append(f"<h2>p-value for every ε</h2>{svg(draw(report, 'curve'))}")
        parts.append(
            "<p>Below the certain bound the p-value is practically zero: the mechanism is not private for "
            "those ε. Where the curve has risen, nothing was found against it. One set of samples, none of "
            "which took part in the search, serves the whole curve.</p>"
        )
    notes = "".join(f"<li>{safe(note)}</li>" for note in report.notes)
    parts.append(f"<ul>{notes}</ul>" if notes else "")
    parts.append(
        f"<footer>{report.candidates} inputs tried, {report.runs:,} runs in {report.seconds:.1f} s; "
        f"neighbours: {safe(report.neighbours)}; seed {report.seed}; freegap audit</footer>"
    )
    return "".join(parts)


def _counterexample(shown: Counterexample) -> str:
    ratio = "never on the second input" if math.isinf(shown.ratio) else f"{shown.ratio:.4g}"
    parameters = ", ".join(f"{name}={value!r}" for name, value in shown.parameters)
    rows = [
        ("First input", f"<code>{safe(answers_text(shown.first))}</code>"),
        ("Second input", f"<code>{safe(answers_text(shown.second))}</code>"),
        *([("Parameters", f"<code>{safe(parameters)}</code>")] if parameters else []),
        ("Event", f"<code>{safe(shown.event.text)}</code>"),
        ("On the first input", f"{shown.counts.hits1:,} of {shown.counts.runs1:,} runs"),
        ("On the second input", f"{shown.counts.hits2:,} of {shown.counts.runs2:,} runs"),
        ("Ratio", f"{ratio}; e<sup>ε</sup> allows {math.exp(shown.epsilon):.4g}"),
        ("Certain", f"ε ≥ {shown.epsilon_lower_bound:.4f}, confidence 1 − {1 - shown.confidence:.0e}"),
        ("p-value of the claim", f"{shown.p_value:.3g}"),
        ("Replay", f"seed {shown.seed}" if shown.replayable else "not possible"),
    ]
    cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


def draw(report: AuditReport, what: str) -> Any:
    """One picture, as a figure of `freegap.report.pictures`."""
    if what not in PICTURES:
        raise InvalidArgument(
            "what", what, "is not a picture of an audit", f"Pass one of {', '.join(PICTURES)}."
        )
    figure, (axes,) = panels(1, 1, size=(7.2, 3.6), lines="y")
    PICTURES[what](report, axes)
    return figure


def _curve(report: AuditReport, axes: Any) -> None:
    """Figures 4-2 to 4-4: the p-value of the hypothesis that the mechanism is ε-private, against ε."""
    levels, p_values = report.curve()
    axes.plot(levels, p_values, color=BLUE, linewidth=2, label="p-value")
    axes.axvline(report.epsilon, color=INK, linestyle="--", label=f"claimed ε = {report.epsilon:g}")
    axes.axvline(
        report.epsilon_lower_bound,
        color=ORANGE,
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
        (-0.2, histogram.first, runs[0], BLUE, "first input"),
        (0.2, histogram.second, runs[1], ORANGE, "second input"),
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
