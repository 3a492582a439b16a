"""Sparse vector for questions that are not known in advance: the same mechanisms, one question at a time.

`SparseVector(...).ask(answer)` and `sparse_vector(answers, ...)` give the same output on the same bits. A
question may depend on all earlier replies: theorem 5.3 of Ding 2020 holds for questions chosen adaptively,
because the alignment leaves all earlier replies as they are. `ask_many` asks several in a row, which is the
same as asking each of them by itself.

Nearly all questions are certainly below the threshold, by one comparison with a number that depends on the
noise alone (`NoisyThreshold.below`). A whole answer of the usual kind is compared with it at once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from freegap.bits import BitSource, note_draw, source_or_system
from freegap.charges import LedgerAndDataset, undisturbed
from freegap.dialogue import Dialogue
from freegap.errors import REDACTED, BudgetSpent, InvalidArgument
from freegap.exact.digits import KeyedDigits
from freegap.exact.noisy_threshold import BELOW
from freegap.laws import NoiseName
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.mechanisms.sparse_vector import entry_charge, noisy_threshold
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.values.answers import exact_number, labels_as_they_came, read_answers
from freegap.values.rationals import Rational
from freegap.values.thresholds import Offsets, read_own_threshold, read_threshold, subtract_threshold


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
_AT_ONCE = 1 << 14  # questions of `ask_many` whose noise is drawn at once
_USUAL = 2**63
_LOWEST = -_USUAL


class _Online(Dialogue):
    """What both online classes share: a noisy threshold, and a budget that answers above use up."""

    def __init__(
        self, plan: ThresholdPlan, threshold: Any, ledger: LedgerAndDataset | None, bits: BitSource | None
    ) -> None:
        self._plan = plan
        self._threshold = None if threshold is None else read_threshold(threshold, discrete=plan.law.lattice)
        source = source_or_system(bits)
        self.private: bool = source.private
        self._whole = 0 if self._threshold is None else math.floor(self._threshold)
        self._asked = 0
        self._above = 0
        self._in_doubt = 0  # questions that were begun and not answered
        self._answers_spent = Fraction(0)
        self._spent_up = False
        self._quick: list[float] = []  # of the questions from `_quick_from` on, see `NoisyThreshold.below`
        self._quick_from = 0

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
        """Of that ε. A question in doubt counts at the highest price, as far as the budget goes."""
        used = self._plan.threshold_budget + self._answers_spent
        if not self._in_doubt:
            return used
        return min(used + self._in_doubt * self._plan.answer_budget, self.epsilon)

    def _charge(self) -> Fraction:
        return self._plan.charge(self._used) if self._asked else Fraction(0)

    def _is_over(self) -> bool:
        if self._in_doubt:
            return self._plan.ends(self._used, self._above)
        return self._spent_up

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
        # One beyond that may have too many digits, which is looked at before it is counted.
        usual = type(answer) is int and _LOWEST < answer < _USUAL
        if threshold is None and usual and os.getpid() == self._process:
            with self._lock:
                question, cuts = self._asked, self._quick
                place = question - self._quick_from
                if 0 <= place < len(cuts) and not self._in_doubt:
                    note_draw()  # its digits come from a key that was drawn long ago
                    self._asked, self._in_doubt = question + 1, 1  # as in `_count`
                    # Less the whole part of the threshold, the offset is larger if anything.
                    if answer - self._whole < cuts[place]:
                        self._in_doubt = 0
                        return _BELOW
                    with undisturbed():
                        return self._reply(question, self._offset(answer, None))
        with self._question():
            self._require_budget()
            offset = self._offset(answer, threshold)
            reply = self._reply(self._count(1), offset)
            self._be_quick()
            return reply

    def ask_many(self, answers: Any, threshold: Any = None) -> list[Above | Below]:
        """Are these answers above the threshold? The same replies as `ask` gives to one after the other.

        answers: numbers in the order of asking: a list or an array, all known now. All are read before any is
            answered, so that an error costs nothing.
        threshold: instead of the common one: a number, or one for each answer. Rounded down as in `ask`.

        The list of replies ends with the one that uses up the budget, and is shorter than the answers then:
        no further ones are looked at.

        >>> import freegap as fg
        >>> asking = fg.SparseVector(500, k=2, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
        >>> [bool(reply) for reply in asking.ask_many([2, 950, 3, 990, 4])], asking.asked
        ([False, True, False, True], 4)
        """
        offsets = self._offsets(answers, threshold)
        if offsets is None:
            return []
        replies: list[Above | Below] = []
        with self._question():
            self._require_budget()
            while len(replies) < len(offsets.values) and not self._is_over():
                begin = len(replies)
                doubles = offsets.doubles(begin, begin + _AT_ONCE)
                first = self._count(len(doubles))
                more = self._replies(first, doubles, lambda j, b=begin: offsets.exact(b + j))
                replies += more
                self._asked = first + len(more)
        return replies

    def _replies(self, first: int, doubles: Any, exact: Any) -> list[Above | Below]:
        """To the questions from this one on, which are counted already, until the budget is used up."""
        with np.errstate(invalid="ignore"):
            certain = doubles < self._bar.below(first, len(doubles))
        replies: list[Above | Below] = [_BELOW] * len(doubles)
        for place in np.flatnonzero(~certain).tolist():
            self._in_doubt = len(replies) - place
            replies[place] = self._reply(first + place, exact(place))
            if self._is_over():
                return replies[: place + 1]
        self._in_doubt = 0
        return replies

    def _count(self, number: int) -> int:
        """The next question's number, counted with so many at the highest price before one is answered.

        An error or an interruption from here on wastes them, what they have cost stays charged, and their
        noise serves no other one.
        """
        question, self._asked = self._asked, self._asked + number
        self._in_doubt += number
        return question

    def _reply(self, question: int, offset: Fraction | int) -> Above | Below:
        number, multiple = self._bar.one(question, offset)
        if number == BELOW:
            self._in_doubt = 0
            return _BELOW
        gap = multiple * self._plan.resolution if self._plan.gap else None
        price = entry_charge((gap, self._plan.branches[number].budget))
        self._above += 1
        self._answers_spent += price
        self._in_doubt = 0
        self._spent_up = self._plan.ends(self._used, self._above)
        if self._spent_up:
            self._quick = []
        return Above(gap, price, len(self._plan.branches) - 1 - number)

    def _be_quick(self) -> None:
        """Let the questions whose noise is known be answered without further questions, if nothing else is
        to be looked at: a claim, a threshold of their own, a budget that is used up."""
        if self._claim is None and self._threshold is not None and not self._is_over():
            self._quick, self._quick_from = self._bar.certainly_below, self._bar.ahead_from

    def close(self) -> None:
        """Answer no further questions; see `Dialogue.close`."""
        super().close()
        if self._in_own_process:
            with self._lock:  # from here on `_question` refuses, so that nothing makes it quick again
                self._quick = []

    def _require_budget(self) -> None:
        """Refuse where the budget is used up; what was interrupted before stays charged."""
        if self._is_over():
            self._refuse()
        self._answers_spent += self._in_doubt * self._plan.answer_budget
        self._in_doubt = 0

    def _offset(self, answer: Any, threshold: Any) -> Fraction | int:
        plan, bar = self._plan, self._bar_of(threshold)
        if type(answer) is int and abs(answer) < _USUAL:  # the fast one; else its size is looked at
            return answer - bar
        return exact_number(answer, "answer", plan.resolution) // plan.resolution * plan.resolution - bar

    def _bar_of(self, threshold: Any) -> Fraction:
        """The threshold of a question: its own, or the common one."""
        plan = self._plan
        if threshold is not None:
            return read_own_threshold(threshold, plan.resolution, discrete=plan.law.lattice)
        if self._threshold is None:
            return read_threshold(None, discrete=False)  # says that a threshold is needed
        return self._threshold

    def _offsets(self, answers: Any, threshold: Any) -> Offsets | None:
        """Of several answers; None where there are none."""
        plan = self._plan
        numbers, labels = labels_as_they_came(answers, "answers")
        if labels is not None:
            raise InvalidArgument(
                "answers",
                REDACTED,
                "must be in the order of asking, and the order of labelled answers may be private",
                "Pass a list or an array of numbers.",
            )
        if isinstance(numbers, Iterable) and not isinstance(numbers, Sized):
            numbers = list(numbers)
        if isinstance(numbers, Sized) and getattr(numbers, "ndim", 1) == 1 and len(numbers) == 0:
            return None
        read = read_answers(numbers, plan.resolution)
        if isinstance(threshold, list | tuple | np.ndarray | Mapping) or hasattr(threshold, "to_numpy"):
            return subtract_threshold(read, threshold, plan.resolution, discrete=plan.law.lattice)
        bar = self._bar_of(threshold)
        return Offsets(read.values, read.grain, bar, bar)

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
