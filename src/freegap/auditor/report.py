"""What an audit reports: a record that a person can read and a program can use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.confirm import count_again
from freegap.auditor.events import Event, Histogram
from freegap.auditor.mechanism import Answers, Parameters, answers_text
from freegap.auditor.sampling import OutputSource
from freegap.auditor.statistics import EventCounts, Look, PureClaim, Spending, TestedClaim
from freegap.auditor.traced import TraceFinding, trace_lines
from freegap.auditor.whole_inputs import plain_input
from freegap.errors import InvalidArgument, printable
from freegap.report.pictures import BLUE, INK, ORANGE, panels, save, svg
from freegap.report.shell import facts, safe, shell
from freegap.values.written import json_text, jsonable


@dataclass(frozen=True, kw_only=True)
class Counterexample:
    """Two neighbouring inputs and an event that is too much likelier on the first.

    first, second: the answers on two neighbouring databases.
    parameters: what else was passed to the mechanism.
    event: the set of outputs; `event.text` says it in words, `event.to_dict()` in full.
    looks: how often it happened, on samples that played no part in finding it, each time that was looked at.
    """

    first: Answers
    second: Answers
    parameters: Parameters
    event: Event
    looks: tuple[Look, ...]
    claim: TestedClaim
    confidence: float
    source: OutputSource = field(repr=False)
    histogram: Histogram | None = field(default=None, repr=False)

    @property
    def counts(self) -> EventCounts:
        """How often the event happened, at the last look."""
        return self.looks[-1].counts if self.looks else EventCounts(0, 0, 0, 0)

    @cached_property
    def lower_bound(self) -> float:
        """With the confidence of the audit, no smaller amount is possible, in the measure of the claim."""
        return Spending.lower_bound(self.looks, self.claim, 1 - self.confidence)

    @cached_property
    def epsilon_lower_bound(self) -> float:
        """With the confidence of the audit, no smaller ε is possible (at the δ that is claimed)."""
        claim = PureClaim(math.inf) if self.claim.epsilon is None else self.claim
        return Spending.lower_bound(self.looks, claim, 1 - self.confidence)

    @cached_property
    def delta_lower_bound(self) -> float | None:
        """With the confidence of the audit, no smaller δ is possible at the claimed ε; None without one."""
        if self.claim.epsilon is None:
            return None
        return Spending.delta_lower_bound(self.looks, self.claim.epsilon, 1 - self.confidence)

    @cached_property
    def p_value(self) -> float:
        """Valid for the claim that this pair and event respect what is claimed."""
        return float(Spending.p_value(self.looks, self.claim, self.claim.amount))

    @property
    def replayable(self) -> bool:
        """Whether the seed brings the same runs again."""
        return self.source.mechanism.replayable

    @property
    def seed(self) -> int:
        """Of the audit."""
        return self.source.seed

    @property
    def ratio(self) -> float:
        """How many times likelier the event came out on the first input; inf if never on the second."""
        if self.counts.rate2 == 0:
            return math.inf if self.counts.rate1 > 0 else math.nan
        return self.counts.rate1 / self.counts.rate2

    def check(self, *, runs: int = 100_000, seed: int | None = None) -> Counterexample:
        """Run it again, on so many fresh runs in all: the same inputs, parameters and event, other counts.

        >>> import freegap as fg
        >>> settings = {"epsilon": 1, "samples": 2000, "search_samples": 500, "seed": 1, "jobs": 1}
        >>> found = fg.audit(lambda answers, rng: sum(answers) + rng.integers(2), **settings).counterexample
        >>> again = found.check(runs=1000, seed=2)
        >>> again.counts.runs1 + again.counts.runs2, again.lower_bound > 1
        (1000, True)
        """
        entropy = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        source = replace(self.source, seed=entropy)
        counts = count_again(source, (self.first, self.second), self.parameters, self.event, runs)
        return replace(self, looks=(Look(counts, 1.0),), source=source, histogram=None)

    @property
    def rows(self) -> list[tuple[str, str]]:
        """What it is, by name; the first few say what happened, the others what follows."""
        counts, claim, delta = self.counts, self.claim, self.delta_lower_bound or 0.0
        allowed = f"; e^ε allows {math.exp(claim.epsilon):.3g}" if claim.epsilon is not None else ""
        beside = f" (and δ = {claim.delta:g})" if claim.delta else ""
        certain = f"{claim.symbol} ≥ {self.lower_bound:.4f} with confidence {_confidence(self.confidence)}"
        given = ", ".join(f"{name}={value!r}" for name, value in self.parameters)
        happens = (
            f"{counts.hits1:,} of {counts.runs1:,} runs on the first input, "
            f"{counts.hits2:,} of {counts.runs2:,} on the second"
        )
        alone = "not possible: the mechanism makes its own randomness"
        ratio = "never on the second input" if math.isinf(self.ratio) else f"{self.ratio:.4g}"
        return [
            ("inputs", f"{answers_text(self.first)}  and  {answers_text(self.second)}"),
            *([("parameters", given)] if given else []),
            ("event", self.event.text),
            ("happens", happens),
            ("ratio", f"{ratio}{allowed}{beside}"),
            ("so", f"{certain} (p-value for {claim.text(claim.amount)}: {self.p_value:.2g})"),
            *([("or", f"δ ≥ {delta:.3g} at ε = {claim.amount:g}")] if delta > claim.delta else []),
            ("replay", f"seed={self.seed}" if self.replayable else alone),
        ]

    def __str__(self) -> str:
        return "\n".join(printable(f"{name:<10} {value}") for name, value in self.rows)

    def _repr_html_(self) -> str:
        """The counterexample in a notebook."""
        return facts(self.rows)

    def to_dict(self) -> dict[str, Any]:
        """The counterexample as plain values."""
        return {
            "first": plain_input(self.first),
            "second": plain_input(self.second),
            "parameters": {name: jsonable(value) for name, value in self.parameters},
            "event": self.event.text,
            "event_in_full": self.event.to_dict(),
            "hits": [self.counts.hits1, self.counts.hits2],
            "runs": [self.counts.runs1, self.counts.runs2],
            "ratio": jsonable(self.ratio),
            "lower_bound": self.lower_bound,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "delta_lower_bound": self.delta_lower_bound,
            "p_value": self.p_value,
            "confidence": self.confidence,
            "seed": str(self.seed) if self.replayable else None,
        }


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """The record of an audit.

    claim: what was claimed, with its `amount`, and `delta`.
    violated: whether the claim was refuted, at the confidence asked for.
    lower_bound: the true ε (or ρ, where that is claimed) is at least this, at the confidence asked for.
    counterexample: the shrunk counterexample, if there is one.
    closest: the strongest pair and event that was confirmed, violation or not.
    logic: where the violation lies in the low digits of floating-point numbers, one of another kind.
    deterministic: no run ever differed from another on the same input.
    interrupted: the audit was stopped before its end; what it says is still valid.
    """

    mechanism: str
    claim: TestedClaim
    neighbours: str
    sensitivity: float
    confidence: float
    violated: bool
    lower_bound: float
    counterexample: Counterexample | None
    closest: Counterexample | None
    logic: Counterexample | None
    looks: tuple[Look, ...]
    seed: int
    replayable: bool
    deterministic: bool
    interrupted: bool
    candidates: int
    runs: int
    seconds: float
    notes: tuple[str, ...]
    trace: tuple[TraceFinding, ...] | None = None

    @property
    def epsilon_lower_bound(self) -> float:
        """The true ε is at least this (at the δ that is claimed), at the confidence asked for."""
        return max((found.epsilon_lower_bound for found in self._found), default=0.0)

    @property
    def delta_lower_bound(self) -> float | None:
        """The true δ at the claimed ε is at least this, at the confidence asked for; None without an ε."""
        if self.claim.epsilon is None:
            return None
        return max((found.delta_lower_bound or 0.0 for found in self._found), default=0.0)

    @property
    def _found(self) -> list[Counterexample]:
        return [found for found in (self.counterexample, self.closest, self.logic) if found is not None]

    @property
    def p_value(self) -> float:
        """A valid p-value for the claim, corrected for all looks and confirmations."""
        return float(self.p_values([self.claim.amount])[0])

    def p_values(self, amounts: Sequence[float]) -> NDArray[np.float64]:
        """The curve of figures 4-2 to 4-4: a valid p-value for each ε (or ρ), all from one set of samples."""
        return np.asarray(Spending.p_value(self.looks, self.claim, amounts))

    def curve(self, points: int = 111) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of ε (or ρ) from 0 to beyond the bound and the claim, and the p-value for each."""
        end = 1.5 * max(self.claim.amount, self.lower_bound)
        if self.claim.epsilon is not None:
            end = max(end, 0.3)
        levels = np.linspace(0, end, points)
        return levels, self.p_values([float(level) for level in levels])

    @property
    def title(self) -> str:
        """The verdict in one line."""
        claim = f"{self.mechanism} claims {self.claim.text(self.claim.amount)}"
        bound = f"{self.claim.symbol} ≥ {self.lower_bound:.4f}"
        if self.violated:
            return f"VIOLATED: {claim}, but {bound}"
        if self.interrupted:
            return f"Interrupted: {claim}; no violation confirmed so far ({bound})"
        return f"No violation found: {claim}, and {bound}"

    @property
    def _second(self) -> tuple[str, Counterexample] | None:
        """What must be shown beside the counterexample, and why."""
        small, strong = self.counterexample, self.closest
        if self.logic is not None:
            return "Apart from the low digits of floating-point numbers:", self.logic
        if small is None or strong is None or strong.lower_bound <= small.lower_bound:
            return None
        return "The bound of the first line is that of the example before it was made small:", strong

    def __str__(self) -> str:
        shown = self.counterexample or self.closest
        lines = [self.title]
        if shown is not None:
            if self.counterexample is None:
                lines.append("The closest that the search came:")
            lines += ["  " + line for line in str(shown).splitlines()]
        if self._second is not None:
            why, other = self._second
            lines += [why, *("  " + line for line in str(other).splitlines())]
        lines += [
            f"{self.candidates} inputs tried, {self.runs:,} runs in {self.seconds:.1f} s",
            *self.notes,
            *trace_lines(self.trace),
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
            "claim": self.claim.symbol,
            "measure": self.claim.measure,
            "amount": self.claim.amount,
            "delta": self.claim.delta,
            "neighbours": self.neighbours,
            "sensitivity": jsonable(self.sensitivity),
            "confidence": self.confidence,
            "violated": self.violated,
            "lower_bound": self.lower_bound,
            "epsilon_lower_bound": self.epsilon_lower_bound,
            "delta_lower_bound": self.delta_lower_bound,
            "p_value": self.p_value,
            "counterexample": self.counterexample.to_dict() if self.counterexample else None,
            "closest": self.closest.to_dict() if self.closest else None,
            "logic": self.logic.to_dict() if self.logic else None,
            "curve": {"amount": levels.tolist(), "p_value": p_values.tolist()},
            "seed": str(self.seed),
            "replayable": self.replayable,
            "deterministic": self.deterministic,
            "interrupted": self.interrupted,
            "candidates": self.candidates,
            "runs": self.runs,
            "seconds": self.seconds,
            "notes": list(self.notes),
            **({} if self.trace is None else {"trace": [finding.to_dict() for finding in self.trace]}),
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
        parts.append(f"<h2>{heading}</h2>{shown._repr_html_()}")
        if report._second is not None:
            parts.append(f"<p>{safe(report._second[0])}</p>{report._second[1]._repr_html_()}")
        if shown.histogram is not None:
            parts.append(f"<h2>Outputs on the two inputs</h2>{svg(draw(report, 'outputs'))}")
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


PICTURES = {"curve": _curve, "outputs": _outputs}
