"""Discrete sparse vector in base 2 (Ilvento 2020, algorithm 2): which answers are above a threshold.

The program and its theorem are in `questions`; here is what a caller touches, for all answers at once
(`sparse_vector`) and for one question at a time (`DiscreteSparseVector`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from freegap.base2.arguments import answer_units, array_units
from freegap.base2.batch import FastRun
from freegap.base2.eta import Eta
from freegap.base2.plan import Base2Plan
from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.dialogue import Dialogue
from freegap.errors import BudgetSpent
from freegap.values.above import AboveThreshold
from freegap.values.answers import named
from freegap.values.plans import PlainPlan
from freegap.values.rationals import Rational


def sparse_vector(
    answers: Any,
    threshold: Rational,
    *,
    k: int,
    eta: tuple[Eta, Eta],
    low: Rational,
    high: Rational,
    width: Rational,
    sensitivity: Rational = 1,
    resolution: Rational = 1,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> AboveThreshold:
    """Which answers are above a threshold, until k of them were: (η₁ + η₂)-private in base 2.

    Ilvento 2020, algorithm 2 and theorem 3.3. A run with fewer than k answers above is charged less
    (`spent`).

    answers: a list, an array, a dict or a Series of numbers. They are asked in order, labelled ones
        in the order of their labels. They are rounded down to the resolution and clamped to [low, high],
        never refused.
    threshold: a public number, a multiple of the resolution.
    k: how many answers above the threshold may be released.
    eta: (η₁, η₂), for the threshold and for the answers; `share_epsilon(ε, k=k)` makes them.
    low, high: the public range of the answers.
    width: w; the noisy threshold is clamped to within w of each answer. It does not touch privacy; a small
        one costs accuracy (an answer far below comes out above with a chance of e^(−w/scale)/2 all the same:
        take ln(number of answers) + 4 noise scales), a large one costs precision and time.
    sensitivity: how much one person can change each answer at most, a multiple of the resolution.
    resolution: γ, the grid on which all of this is exact.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged
        there (η₁ + η₂)·ln 2 at most, rounded up, and reserved first.
    bits: leave out for a private release; a seeded source for tests.

    >>> import freegap as fg
    >>> from freegap import base2
    >>> release = base2.sparse_vector(
    ...     [3, 900, 5, 870, 910], 500, k=2, eta=base2.share_epsilon(1, k=2),
    ...     low=0, high=1000, width=200, bits=fg.SeededBits(5),
    ... )
    >>> release.above, float(release.spent)
    ((False, True, False, True), 0.9982078413661882)
    """
    plan = Base2Plan.read(
        threshold,
        k=k,
        eta=eta,
        low=low,
        high=high,
        width=width,
        sensitivity=sensitivity,
        resolution=resolution,
    )
    return run_batch(plan, answers, ledger, bits)


def run_batch(
    plan: Base2Plan, answers: Any, ledger: LedgerAndDataset | None, bits: BitSource | None
) -> AboveThreshold:
    """Read all answers, then ask until k were above."""
    units, names = array_units(answers, plan.resolution, plan.low, plan.high, plan.threshold)
    source = source_or_system(bits)

    def release() -> AboveThreshold:
        found = list(FastRun(plan, source).ask_all(units))
        return _released(plan, found, len(units), names=names, private=source.private)

    return charged(ledger, plan, release)


def _released(
    plan: Base2Plan,
    found: list[tuple[int, int]],
    asked: int,
    *,
    names: Sequence[Any] | None = None,
    private: bool,
) -> AboveThreshold:
    """The record of a run.

    found: the positions answered ⊤, each with how many of the gaps it reached; its gap is the largest of
        these, a lower bound of the noisy distance to the noisy threshold.
    asked: how many questions there were; those after the k-th ⊤ were not answered.
    names: of the questions, where they have labels; positions are then not released.
    """
    ladder = (0, *plan.gaps)
    places = [position for position, _ in found]
    answered = places[-1] + 1 if plan.is_over(len(found)) else asked
    return AboveThreshold(
        plan=PlainPlan(plan.mechanism, plan.asked, plan.parameters),  # without the weights, which are large
        questions=range(answered) if names is None else tuple(names[:answered]),
        indices=tuple(places) if names is None else (),
        labels=named(names, places),
        gap_multiples=tuple(ladder[reached] for _, reached in found) if plan.with_gaps else None,
        branches=(0,) * len(found),
        thresholds=(Fraction(plan.threshold * plan.resolution),) * len(found),
        resolution=plan.resolution,
        spent=plan.charge(asked, len(found)),
        private=private,
    )


class OnlineRun(Dialogue):
    """One run, one question at a time. Thread-safe; of one process alone, since it holds its noise."""

    _in_whole_numbers = True

    def __init__(self, plan: Base2Plan, ledger: LedgerAndDataset | None, bits: BitSource | None) -> None:
        source = source_or_system(bits)
        self._plan = plan
        self._private = source.private
        self._found: list[tuple[int, int]] = []
        self._asked = 0
        self._in_doubt = 0  # questions that were begun and not answered

        def draw() -> None:
            self._fast = FastRun(plan, source)

        self._open(ledger, f"base2.{type(self).__name__}", plan, draw)

    @property
    def remaining(self) -> int:
        """How many answers above the threshold may still be released."""
        with self._between_questions():
            return self._plan.k - self._counted()

    def _counted(self) -> int:
        """How many answers above the threshold were released, or may have been."""
        return min(self._plan.k, self._fast.run.found + self._in_doubt)

    def _is_over(self) -> bool:
        return self._plan.is_over(self._counted())

    def _charge(self) -> Fraction:
        """(η₁ + η₂·found/k)·ln 2, rounded up."""
        return self._plan.charge(self._asked, self._counted())

    def _answer(self, answer: Any) -> int | None:
        plan = self._plan
        unit = answer_units(answer, plan.resolution, plan.low, plan.high) - plan.threshold
        with self._question():
            if self._is_over():
                done = "released, or lost to interruptions," if self._in_doubt else "released"
                raise BudgetSpent(
                    f"this run has {done} its {plan.k} answers above the threshold: nothing more may be "
                    "asked of it. Start another run, with a budget of its own."
                )
            # Counted, as if it were above, before it is answered: an error or an interruption from here on
            # wastes the question, and what it has cost stays charged.
            question, self._asked = self._asked, self._asked + 1
            self._in_doubt += 1
            reached = self._fast.ask(unit)
            if reached is not None:
                self._found.append((question, reached))
            self._in_doubt -= 1
            return reached

    def release(self) -> AboveThreshold:
        """The record of everything answered so far."""
        with self._between_questions():
            record = _released(self._plan, self._found, self._asked, private=self._private)
            record = replace(record, spent=self.spent)  # also for questions that were not answered
        if self._claim is not None:
            self._claim.hand_out(record)
        return record


class DiscreteSparseVector(OnlineRun):
    """`sparse_vector`, one question at a time: a question may be chosen from earlier answers.

    With a `ledger`, the whole budget is reserved until the run is exhausted or closed: use a `with` block.

    >>> import freegap as fg
    >>> from freegap import base2
    >>> run = base2.DiscreteSparseVector(
    ...     500, k=2, eta=base2.share_epsilon(1, k=2), low=0, high=1000, width=200, bits=fg.SeededBits(5)
    ... )
    >>> run.ask(3), run.ask(900), run.remaining
    (False, True, 1)
    """

    def __init__(
        self,
        threshold: Rational,
        *,
        k: int,
        eta: tuple[Eta, Eta],
        low: Rational,
        high: Rational,
        width: Rational,
        sensitivity: Rational = 1,
        resolution: Rational = 1,
        ledger: LedgerAndDataset | None = None,
        bits: BitSource | None = None,
    ) -> None:
        plan = Base2Plan.read(
            threshold,
            k=k,
            eta=eta,
            low=low,
            high=high,
            width=width,
            sensitivity=sensitivity,
            resolution=resolution,
        )
        super().__init__(plan, ledger, bits)

    def ask(self, answer: Any) -> bool:
        """Whether the noisy answer is at or above the noisy threshold."""
        return self._answer(answer) is not None
