"""What an audit reports: a record that a person can read and a program can use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.events import Event, Histogram
from freegap.auditor.mechanism import Answers, Parameters, answers_text
from freegap.auditor.statistics import EventCounts, Look, Spending
from freegap.errors import InvalidArgument, printable
from freegap.report.pictures import BLUE, INK, ORANGE, panels, save, svg
from freegap.report.shell import safe, shell
from freegap.values.results import json_text, jsonable

__all__ = ["PICTURES", "AuditReport", "Counterexample", "body", "draw", "page"]

EVENT = "#F0E442"  # behind the bars


@dataclass(frozen=True, kw_only=True)
class Counterexample:
    """Two neighbouring inputs and an event that is too much likelier on the first.

    first, second: the answers on two neighbouring databases.
    parameters: what else was passed to the mechanism.
    event: the set of outputs; `event.text` says it in words.
    counts: how often it happened, on samples that played no part in finding it.
    epsilon_lower_bound: with the confidence of the audit, no smaller ε is possible.
    p_value: valid for the claim that this pair and event respect the claimed ε.
    """

    first: Answers
    second: Answers
    parameters: Parameters
    event: Event
    counts: EventCounts
    epsilon: float
    delta: float
    epsilon_lower_bound: float
    p_value: float
    confidence: float
    seed: int
    replayable: bool
    histogram: Histogram | None = None

    @property
    def ratio(self) -> float:
        """How many times likelier the event came out on the first input; inf if never on the second."""
        if self.counts.rate2 == 0:
            return math.inf if self.counts.rate1 > 0 else math.nan
        return self.counts.rate1 / self.counts.rate2

    def __str__(self) -> str:
        allowed = f"{math.exp(self.epsilon):.3g}" + (f" (and δ = {self.delta:g})" if self.delta else "")
        lines = [
            f"inputs     {answers_text(self.first)}  and  {answers_text(self.second)}",
            *([f"parameters {_parameters(self.parameters)}"] if self.parameters else []),
            f"event      {self.event.text}",
            f"happens    {self.counts.hits1:,} of {self.counts.runs1:,} runs on the first input, "
            f"{self.counts.hits2:,} of {self.counts.runs2:,} on the second",
            f"ratio      {_ratio(self.ratio)}; e^ε allows {allowed}",
            f"so         ε ≥ {self.epsilon_lower_bound:.4f} with confidence {_confidence(self.confidence)} "
            f"(p-value for ε = {self.epsilon:g}: {self.p_value:.2g})",
            f"replay     seed={self.seed}"
            if self.replayable
            else "replay     not possible: the mechanism makes its own randomness",
        ]
        return "\n".join(map(printable, lines))

    def to_dict(self) -> dict[str, Any]:
        """The counterexample as plain values."""
        return {
            "first": [jsonable(x) for x in self.first],
            "second": [jsonable(x) for x in self.second],
            "parameters": {name: jsonable(value) for name, value in self.parameters},
            "event": self.event.text,
            "hits": [self.counts.hits1, self.counts.hits2],
            "runs": [self.counts.runs1, self.counts.runs2],
            "ratio": jsonable(self.ratio),
            "allowed_ratio": math.exp(self.epsilon),
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "p_value": self.p_value,
            "confidence": self.confidence,
            "seed": str(self.seed) if self.replayable else None,
        }


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """The record of an audit.

    violated: whether the claim was refuted, at the confidence asked for.
    epsilon_lower_bound: the true ε is at least this, at the confidence asked for.
    counterexample: the shrunk counterexample, if there is one.
    closest: the strongest pair and event that was confirmed, violation or not.
    deterministic: no run ever differed from another on the same input.
    interrupted: the audit was stopped before its end; what it says is still valid.
    """

    mechanism: str
    epsilon: float
    delta: float
    neighbours: str
    sensitivity: float
    confidence: float
    violated: bool
    epsilon_lower_bound: float
    counterexample: Counterexample | None
    closest: Counterexample | None
    looks: tuple[Look, ...]
    seed: int
    replayable: bool
    deterministic: bool
    interrupted: bool
    candidates: int
    runs: int
    seconds: float
    notes: tuple[str, ...]

    @property
    def p_value(self) -> float:
        """A valid p-value for the claim, corrected for all looks and confirmations."""
        return float(self.p_values([self.epsilon])[0])

    def p_values(self, epsilons: Sequence[float]) -> NDArray[np.float64]:
        """The curve of figures 4-2 to 4-4: a valid p-value for each ε, all from one set of samples."""
        levels = np.asarray(epsilons, dtype=np.float64)
        return np.asarray(Spending.p_value(self.looks, levels, delta=self.delta))

    def curve(self, points: int = 111) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of ε from 0 to beyond the bound and the claim, and the p-value for each."""
        end = 1.3 * max(self.epsilon, self.epsilon_lower_bound, 0.1) + 0.2
        levels = np.linspace(0, end, points)
        return levels, self.p_values([float(level) for level in levels])

    @property
    def title(self) -> str:
        """The verdict in one line."""
        claim = f"{self.mechanism} claims ε = {self.epsilon:g}" + (
            f", δ = {self.delta:g}" if self.delta else ""
        )
        if self.violated:
            return f"VIOLATED: {claim}, but ε ≥ {self.epsilon_lower_bound:.4f}"
        if self.interrupted:
            return f"Interrupted: {claim}; no violation confirmed so far (ε ≥ {self.epsilon_lower_bound:.4f})"
        return f"No violation found: {claim}, and ε ≥ {self.epsilon_lower_bound:.4f}"

    def __str__(self) -> str:
        shown = self.counterexample or self.closest
        lines = [self.title]
        if shown is not None:
            if self.counterexample is None:
                lines.append("The closest that the search came:")
            lines += ["  " + line for line in str(shown).splitlines()]
        lines += [
            f"{self.candidates} inputs tried, {self.runs:,} runs in {self.seconds:.1f} s",
            *self.notes,
        ]
        return "\n".join(map(printable, lines))

    def __rich__(self) -> Any:
        """The report for a terminal, the verdict in colour."""
        from rich.text import Text

        title, _, rest = str(self).partition("\n")
        return Text.assemble((title, "bold red" if self.violated else "bold green"), "\n", rest)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        levels, p_values = self.curve(41)
        return {
            "mechanism": self.mechanism,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "sensitivity": jsonable(self.sensitivity),
            "confidence": self.confidence,
            "violated": self.violated,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "p_value": self.p_value,
            "counterexample": self.counterexample.to_dict() if self.counterexample else None,
            "closest": self.closest.to_dict() if self.closest else None,
            "curve": {"epsilon": levels.tolist(), "p_value": p_values.tolist()},
            "seed": str(self.seed),
            "replayable": self.replayable,
            "deterministic": self.deterministic,
            "interrupted": self.interrupted,
            "candidates": self.candidates,
            "runs": self.runs,
            "seconds": self.seconds,
            "notes": list(self.notes),
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """The report as JSON."""
        return json_text(self.to_dict(), indent=indent)

    def plot(self, path: Any, *, what: str = "curve") -> None:
        """Draw the p-value curve (`what="curve"`) or the two histograms (`what="outputs"`) into a file.

        The ending of the name gives the format: .svg, .png or .pdf.
        """
        save(draw(self, what), Path(path))

    def to_html(self, path: Any) -> None:
        """Write a page that stands alone: no network, no scripts, pictures inside."""
        Path(path).write_text(page(self), encoding="utf-8")

    def _repr_html_(self) -> str:
        """The report in a notebook."""
        return body(self)


def _parameters(parameters: Parameters) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in parameters)


def _ratio(ratio: float) -> str:
    return "never on the second input" if math.isinf(ratio) else f"{ratio:.4g}"


def _confidence(confidence: float) -> str:
    return f"1 − {1 - confidence:.0e}" if confidence > 0.999 else f"{confidence:g}"


# For people ----------------------------------------------------------------------------------------------


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
