"""What an audit reports, for people: a page that stands alone, and its pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from freegap.auditor.traced import trace_lines
from freegap.errors import InvalidArgument
from freegap.report.pictures import BLUE, INK, ORANGE, panels, svg
from freegap.report.shell import safe, shell

if TYPE_CHECKING:
    from freegap.auditor.report import AuditReport

BAND = (
    "Tests that call the first input on a growing set of outputs. The band holds for all of them together "
    "and at any time: each of its ends is a confidence sequence (bets, by Ville's inequality), and the level "
    "is shared by a union bound. Where all of it lies below the dashed line, the claim is broken."
)


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
        parts.append(f"<h2>{heading}</h2>{shown._repr_html_()}")
        if report._second is not None:
            parts.append(f"<p>{safe(report._second[0])}</p>{report._second[1]._repr_html_()}")
        if shown.histogram is not None:
            parts.append(f"<h2>Outputs on the two inputs</h2>{svg(draw(report, 'outputs'))}")
            parts.append(f"<h2>How well the inputs can be told apart</h2>{svg(draw(report, 'tradeoff'))}")
            parts.append(f"<p>{BAND}</p>")
        parts.append(f"<h2>p-value for every {report.claim.symbol}</h2>{svg(draw(report, 'curve'))}")
        parts.append(
            "<p>Below the certain bound the p-value is practically zero: the mechanism is not private for "
            "smaller amounts. Where the curve has risen, nothing was found against it. One set of samples, "
            "none of which took part in the search, serves the whole curve.</p>"
        )
    notes = "".join(f"<li>{safe(note)}</li>" for note in (*report.notes, *trace_lines(report.trace)))
    parts.append(f"<ul>{notes}</ul>" if notes else "")
    parts.append(
        f"<footer>{report.candidates} inputs tried, {report.runs:,} runs in {report.seconds:.1f} s; "
        f"neighbours: {safe(report.neighbours)}; seed {report.seed}; freegap audit</footer>"
    )
    return "".join(parts)


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
    claim = report.claim
    axes.axvline(claim.amount, color=INK, linestyle="--", label=f"claimed {claim.text(claim.amount)}")
    axes.axvline(
        report.lower_bound,
        color=ORANGE,
        linestyle=":",
        label=f"certain: {claim.symbol} ≥ {report.lower_bound:.3f}",
    )
    axes.set(xlabel=f"test {claim.symbol}", ylabel="p-value", ylim=(-0.02, 1.02), xlim=(0, float(levels[-1])))
    axes.set_title(report.title, fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=9, loc="center left" if report.violated else "best")


def _outputs(report: AuditReport, axes: Any) -> None:
    """How often each output came on the two inputs, along the feature that the event looks at."""
    shown = report.counterexample or report.closest
    if shown is None or shown.histogram is None or not shown.histogram.bars:
        axes.text(0.5, 0.5, "no samples", ha="center", transform=axes.transAxes)
        return
    shown.histogram.draw(axes, shown.event, (shown.counts.runs1, shown.counts.runs2))


def _tradeoff(report: AuditReport, axes: Any) -> None:
    """The errors of tests that call the first input on more and more bars, beside those that are allowed."""
    claim, alarms, tests = report.claim, np.linspace(0, 1, 201), report.errors
    claimed = f"claimed {claim.text(claim.amount)}"
    axes.plot(alarms, claim.least_error(alarms), color=INK, linestyle="--", label=claimed)
    if tests is not None:
        low, high = tests.at(alarms)
        axes.fill_between(alarms, low, high, color=BLUE, alpha=0.25, linewidth=0, label="confidence band")
        axes.plot(tests.alarm, tests.miss, color=BLUE, linewidth=2, label="seen")
    axes.set(xlabel="false alarms: the first input is called on the second", ylabel="misses")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.set_title(report.title, fontsize=10, loc="left")
    axes.legend(frameon=False, fontsize=9, loc="upper right")


PICTURES = {"curve": _curve, "outputs": _outputs, "tradeoff": _tradeoff}
