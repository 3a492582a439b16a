"""What an audit reports: a record that a person can read and a program can use."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.counterexample import Counterexample
from freegap.auditor.pages import body, draw, page
from freegap.auditor.statistics import Look, Spending, TestedClaim
from freegap.auditor.traced import TraceFinding, trace_lines
from freegap.auditor.tradeoff import ErrorBand, errors
from freegap.errors import InvalidArgument, printable
from freegap.report.pictures import save
from freegap.values.written import json_text, jsonable


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
    runs_after: of the runs, those after the verdict: to make the counterexample small, and to look for one of
        another kind.
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
    runs_after: int = 0
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
    def errors(self) -> ErrorBand | None:
        """How well the two inputs can be told apart along the feature of the event; None without samples."""
        shown = self.counterexample or self.closest
        return (
            None if shown is None or shown.histogram is None else errors(shown.histogram, 1 - self.confidence)
        )

    def resume(self, *, runs: int = 1_000_000, seed: int | None = None) -> AuditReport:
        """Go on where the audit stopped, with fresh runs of what came closest: until the claim is refuted, or
        so many are made. The evidence grows, today or tomorrow (`from_json`), here or elsewhere (`combine`).
        """
        if self.closest is None:
            raise InvalidArgument("report", None, "has nothing to go on with", "Audit anew.")
        return with_more(self, self.closest.resume(runs=runs, seed=seed))

    def combine(self, *others: AuditReport) -> AuditReport:
        """This report and others that went on from it (`resume`) on machines of their own, as one.

        All that were made belong in it: to leave out those that look bad is no test. What several have in
        common, such as the audit that they started from, counts once.
        """
        from freegap.auditor.saved import combined

        return combined([self, *others])

    @staticmethod
    def from_json(text: str, mechanism: Callable[..., Any], **given: Any) -> AuditReport:
        """A report that was written by `to_json`, to go on with: with the same mechanism, and `parameters`
        as they were given to the audit (and `tradeoff`, where a curve was claimed). It has no histograms.
        """
        from freegap.auditor.saved import report_of

        return report_of(json.loads(text), mechanism, **given)

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
            "claimed": self.claim.claimed,
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
            "errors": None if self.errors is None else self.errors.to_dict(),
            "seed": str(self.seed),
            "replayable": self.replayable,
            "deterministic": self.deterministic,
            "interrupted": self.interrupted,
            "candidates": self.candidates,
            "runs": self.runs,
            "runs_after": self.runs_after,
            "seconds": self.seconds,
            "notes": list(self.notes),
            **({} if self.trace is None else {"trace": [finding.to_dict() for finding in self.trace]}),
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """The report as JSON."""
        return json_text(self.to_dict(), indent=indent)

    def plot(self, path: Any, *, what: str = "curve") -> None:
        """Draw the p-value curve (`what="curve"`), the two histograms (`what="outputs"`), or how well the
        inputs can be told apart (`what="tradeoff"`) into a file.

        The ending of the name gives the format: .svg, .png or .pdf.
        """
        save(draw(self, what), Path(path))

    def to_html(self, path: Any) -> None:
        """Write a page that stands alone: no network, no scripts, pictures inside."""
        Path(path).write_text(page(self), encoding="utf-8")

    def _repr_html_(self) -> str:
        """The report in a notebook."""
        return body(self)


def with_more(report: AuditReport, found: Counterexample) -> AuditReport:
    """A report whose closest has been looked at further."""
    violated = report.violated or found.lower_bound > report.claim.amount
    before = 0 if report.closest is None else report.closest.counts.trials
    return replace(
        report,
        violated=violated,
        lower_bound=max(report.lower_bound, found.lower_bound),
        counterexample=(report.counterexample or found) if violated else None,
        closest=found,
        looks=tuple(dict.fromkeys((*report.looks, *found.looks))),
        runs=report.runs + found.counts.trials - before,
    )
