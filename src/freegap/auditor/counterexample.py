"""A counterexample: two inputs and an event, what was counted, and what follows from that."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from freegap.auditor.confirm import count_again
from freegap.auditor.events import Event, Histogram
from freegap.auditor.mechanism import Answers, Parameters, answers_text
from freegap.auditor.sampling import OutputSource
from freegap.auditor.statistics import EventCounts, Look, PureClaim, Spending, TestedClaim
from freegap.auditor.whole_inputs import plain_input
from freegap.errors import InvalidArgument, printable
from freegap.report.shell import facts
from freegap.values.written import jsonable


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
    parts: tuple[tuple[int, EventCounts], ...] = field(default=(), repr=False)
    """What the last look by bets is the sum of: the seed of the runs, and their counts."""

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

    def resume(self, *, runs: int = 1_000_000, seed: int | None = None) -> Counterexample:
        """Go on, until the claim is refuted or so many fresh runs are made: they count with those before.

        >>> import freegap as fg
        >>> def noisy(answers, rng, size):
        ...     return rng.random(size) < (0.6 if answers[0] > 0 else 0.4)
        >>> settings = {"samples": 100, "search_samples": 500, "patience": 1, "seed": 1, "jobs": 1}
        >>> close = fg.audit(noisy, epsilon="1/3", inputs=[([0], [1])], **settings).closest
        >>> later = close.resume(runs=50_000, seed=2)
        >>> close.lower_bound < later.lower_bound, later.counts.trials > close.counts.trials
        (True, True)
        """
        last = next((look for look in reversed(self.looks) if look.bets is not None), None)
        if last is None:
            raise InvalidArgument("report", None, "has no look to go on from", "Audit anew.")
        if not isinstance(runs, int) or runs < 1:
            raise InvalidArgument("runs", runs, "must be a whole number above 0", "Pass for example 100000.")
        entropy = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        if any(entropy == known for known, _ in self.parts):
            raise InvalidArgument(
                "seed", seed, "was used before: its runs would count twice", "Pass another."
            )
        source = replace(self.source, seed=entropy)
        inputs, added, look = (self.first, self.second), EventCounts(0, 0, 0, 0), last
        strongest = last
        for piece, size in enumerate(pieces(runs)):
            added = added + count_again(source, inputs, self.parameters, self.event, size, (piece,))
            look = Look(last.counts + added, last.share, last.bets)
            if self._against(look) > self._against(strongest):
                strongest = look
            if self._against(look) > 0:
                break
        looks = tuple(dict.fromkeys((*self.looks, strongest, look)))
        return replace(self, looks=looks, parts=(*self.parts, (entropy, added)))

    def _against(self, look: Look) -> float:
        return self.claim.against(look.counts, (1 - self.confidence) * look.share, look.bets)

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
            "looks": [look.to_dict() for look in self.looks],
            "parts": [{"seed": str(seed), **Look(counts, 1.0).to_dict()} for seed, counts in self.parts],
            "seed": str(self.seed) if self.replayable else None,
        }


def pieces(runs: int, first: int = 1000) -> Iterator[int]:
    """So many runs in parts, each a little larger than all before it.

    >>> list(pieces(10_000))
    [1000, 1000, 1000, 1500, 2250, 3250]
    """
    done = 0
    while done < runs:
        size = min(runs - done, max(first, done // 2))
        yield size
        done += size


def _confidence(confidence: float) -> str:
    return f"1 − {1 - confidence:.0e}" if confidence > 0.999 else f"{confidence:g}"
