"""Sparse vector for questions that are not known in advance: the same mechanisms, one question at a time.

`SparseVector(...).ask(answer)` and `sparse_vector(answers, ...)` give the same output on the same bits. A
question may depend on all earlier replies: theorem 5.3 of Ding 2020 holds for questions chosen adaptively,
because the alignment leaves all earlier replies as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset
from freegap.dialogue import Dialogue
from freegap.errors import BudgetSpent
from freegap.exact.digits import KeyedDigits
from freegap.exact.noisy_threshold import BELOW
from freegap.laws import NoiseName
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.mechanisms.sparse_vector import entry_charge, noisy_threshold
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.values.answers import exact_number
from freegap.values.rationals import Rational
from freegap.values.thresholds import read_own_threshold, read_threshold


@dataclass(frozen=True, slots=True)
class Above:
    """The answer is above the threshold: by this gap (None without gaps), at this charge."""

    gap: Fraction | None
    spent: Fraction
    branch: int = 0

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Below:
    """The answer is below the threshold, which costs nothing."""

    gap: None = None
    spent: Fraction = Fraction(0)
    branch: None = None

    def __bool__(self) -> bool:
        return False


_BELOW = Below()


class _Online(Dialogue):
    """What both online classes share: a noisy threshold, and a budget that answers above use up."""

    def __init__(
        self, plan: ThresholdPlan, threshold: Any, ledger: LedgerAndDataset | None, bits: BitSource | None
    ) -> None:
        self._plan = plan
        self._threshold = None if threshold is None else read_threshold(threshold, discrete=plan.law.lattice)
        source = source_or_system(bits)
        self.private: bool = source.private
        self._asked = 0
        self._above = 0
        self._answers_spent = Fraction(0)

        def draw() -> None:
            self._bar = noisy_threshold(plan, KeyedDigits(source, 0))

        self._open(ledger, plan.mechanism, plan, draw)

    @property
    def measure(self) -> str:
        """What `spent` is measured in: "epsilon" or "rho"."""
        return self._plan.asked.name

    @property
    def epsilon(self) -> Fraction:
        """The ε that the questions use up: the one that was asked for, or the one that ρ allows."""
        return self._plan.epsilon

    @property
    def _used(self) -> Fraction:
        """Of that ε."""
        return self._plan.threshold_budget + self._answers_spent

    def _charge(self) -> Fraction:
        return self._plan.charge(self._used) if self._asked else Fraction(0)

    def _is_over(self) -> bool:
        return self._plan.ends(self._used, self._above)

    @property
    def remaining(self) -> Fraction:
        """What is left of `epsilon`."""
        with self._between_questions():
            return self.epsilon - (self._used if self._asked else 0)

    @property
    def asked(self) -> int:
        """How many questions have been answered."""
        return self._asked

    def ask(self, answer: Any, threshold: Any = None) -> Above | Below:
        """Is this answer above the threshold? Costs only where it is.

        answer: the true answer to the question; a number.
        threshold: of this question alone, instead of the common one. It is rounded down to the resolution, as
            the answer is, and as each of a list of thresholds is in `sparse_vector`.
        """
        with self._question():
            if self._is_over():
                self._refuse()
            offset = self._offset(answer, threshold)
            # Counted, at the highest price, before it is answered: an error or an interruption from here on
            # wastes the question, what it has cost stays charged, and its noise serves no other one.
            question, self._asked = self._asked, self._asked + 1
            self._answers_spent += self._plan.answer_budget
            number, multiple = self._bar.one(question, offset)
            if number == BELOW:
                self._answers_spent -= self._plan.answer_budget
                return _BELOW
            gap = multiple * self._plan.resolution if self._plan.gap else None
            price = entry_charge((gap, self._plan.branches[number].budget))
            self._above += 1
            self._answers_spent -= self._plan.answer_budget - price
            return Above(gap, price, len(self._plan.branches) - 1 - number)

    def _offset(self, answer: Any, threshold: Any) -> Fraction | int:
        plan = self._plan
        if threshold is not None:
            bar = read_own_threshold(threshold, plan.resolution, discrete=plan.law.lattice)
        elif self._threshold is not None:
            bar = self._threshold
        else:
            bar = read_threshold(None, discrete=False)  # says that a threshold is needed
        if type(answer) is int and abs(answer) < 2**63:  # the fast one; else its size is looked at
            return answer - bar
        return exact_number(answer, "answer", plan.resolution) // plan.resolution * plan.resolution - bar

    def _refuse(self) -> NoReturn:
        why = (
            f"{self._above} answers above the threshold were given, as asked for"
            if self._above == self._plan.stop_after
            else f"of ε = {self.epsilon} only {self.remaining} is left, less than the "
            f"{self._plan.answer_budget} that another answer above the threshold may cost"
        )
        raise BudgetSpent(
            f"no further questions: {why}. Nothing was drawn or charged for this one. Make a new "
            f"{type(self).__name__} with a budget of its own."
        )

    def __repr__(self) -> str:
        state = "exhausted" if self.exhausted else "closed" if self._closed else f"{self.remaining} left"
        return (
            f"<{type(self).__name__}: {self._asked} asked, {self._above} above, ε = {self.epsilon}, {state}>"
        )


class SparseVector(_Online):
    """Sparse vector, online: ask one question after the other, until k were above the threshold.

    The arguments are those of `sparse_vector`. `threshold` may be left out and given with each question.
    With a `ledger`, all of ε is reserved until the object is exhausted or closed: use it in a `with` block.

    >>> import freegap as fg
    >>> with fg.SparseVector(500, k=2, epsilon=1, monotonic=True, bits=fg.SeededBits(1)) as asking:
    ...     [bool(asking.ask(answer)) for answer in (2, 950, 3)], asking.exhausted
    ([False, True, False], False)
    """

    def __init__(
        self,
        threshold: Any = None,
        *,
        k: int,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        sensitivity: Rational = 1,
        monotonic: bool = False,
        noise: NoiseName = "exponential",
        share: Rational | None = None,
        gap: bool = True,
        resolution: Rational = DEFAULT_RESOLUTION,
        ledger: LedgerAndDataset | None = None,
        bits: BitSource | None = None,
    ) -> None:
        plan = ThresholdPlan.read(
            "SparseVector",
            k=k,
            epsilon=epsilon,
            rho=rho,
            sensitivity=sensitivity,
            monotonic=monotonic,
            noise=noise,
            resolution=resolution,
            share=share,
            gap=gap,
        )
        super().__init__(plan, threshold, ledger, bits)


class AdaptiveSparseVector(_Online):
    """Adaptive sparse vector, online; the arguments are those of `adaptive_sparse_vector`.

    >>> import freegap as fg
    >>> asking = fg.AdaptiveSparseVector(100, k=2, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> replies = [asking.ask(900), asking.ask(900)]
    >>> [reply.branch for reply in replies], asking.exhausted  # half the price each: one more is possible
    ([1, 1], False)
    """

    def __init__(
        self,
        threshold: Any = None,
        *,
        k: int,
        epsilon: Rational | None = None,
        rho: Rational | None = None,
        branches: int = 1,
        margin: Rational = 2,
        stop_after: int | None = None,
        sensitivity: Rational = 1,
        monotonic: bool = False,
        noise: NoiseName = "exponential",
        share: Rational | str | None = None,
        resolution: Rational = DEFAULT_RESOLUTION,
        ledger: LedgerAndDataset | None = None,
        bits: BitSource | None = None,
    ) -> None:
        plan = ThresholdPlan.read(
            "AdaptiveSparseVector",
            k=k,
            epsilon=epsilon,
            rho=rho,
            sensitivity=sensitivity,
            monotonic=monotonic,
            noise=noise,
            resolution=resolution,
            share=share,
            branches=branches,
            margin=margin,
            stop_after=stop_after,
        )
        super().__init__(plan, threshold, ledger, bits)
