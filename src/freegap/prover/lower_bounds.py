"""How much a mechanism loses at least, by an event whose probabilities are known: the other side of a proof.

A proof says that no event tells neighbours apart by more than e^ε. Here an event is found that tells them
apart by nearly as much, with both probabilities in exact and ball arithmetic, so that the loss is certain: no
smaller ε is true. Where the two meet, nothing is left to gain by a better proof, nor by a better attack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from freegap.errors import InvalidArgument
from freegap.forms import Aligned, Composition, Ranking, Selection, Stream
from freegap.prover.check import problem_of
from freegap.prover.classes import classes_of
from freegap.prover.climbing import Search, Trial
from freegap.prover.counterexample import certified, loss_of
from freegap.prover.events import ExactViolation
from freegap.prover.kinds import kinds_of
from freegap.prover.problem import Problem
from freegap.symbolic import Limits, NotDecided, OutOfTime
from freegap.values.rationals import Rational, positive_rational

_SIZES = (1, 2, 3, 4, 5, 6)
_LOOKS = 12
_LAST_SECONDS = 30


@dataclass(frozen=True)
class LowerBound:
    """What `lower_bound` found.

    claimed: the ε that is claimed.
    loss: at least so much is lost, which is certain; 0 where nothing was found, infinity for an event that
        the neighbour never shows.
    witness: the neighbours, the event and its probabilities that show it.
    queries: on so many answers.
    reason: why the search ended before it reached what was wanted, if it did.
    """

    claimed: Fraction
    loss: Fraction | float
    witness: ExactViolation | None
    queries: int | None
    reason: str | None = None

    @property
    def share(self) -> float:
        """The loss as a share of the claim: 1 where they meet, and more where the claim is wrong."""
        return float(self.loss) / float(self.claimed)

    def __str__(self) -> str:
        if self.witness is None:
            return f"no loss is known: {self.reason}"
        size = f"at least {float(self.loss):.6g}, {self.share:.2%} of the claimed ε = {self.claimed}"
        lines = [f"the loss is {'infinite' if self.loss == math.inf else size}"]
        if self.loss > self.claimed:
            lines.append("  more than is claimed: it is not private at this ε")
        lines += ["  " + line for line in str(self.witness).splitlines()[:-1]]  # the last is about a claim
        if self.reason is not None:
            lines.append(f"  {self.reason}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: rationals as text."""
        witness = self.witness
        return {
            "claimed": str(self.claimed),
            "loss": str(self.loss),
            "share": self.share,
            "queries": self.queries,
            "reason": self.reason,
            "answers": None if witness is None else [str(a) for a in witness.answers],
            "neighbour": None if witness is None else [str(a) for a in witness.neighbour],
            "event": None if witness is None else str(witness.event),
            "probability": None if witness is None else str(witness.probability),
            "probability_of_neighbour": None if witness is None else str(witness.probability_of_neighbour),
        }


def bound_loss(
    mechanism: Any,
    *,
    epsilon: Rational,
    queries: int | None,
    sensitivity: Rational,
    neighbours: str,
    parameters: Mapping[str, Any] | None,
    resolution: Rational | None,
    share: Rational,
    seconds: Rational,
) -> LowerBound:
    """See `freegap.lower_bound`."""
    enough = positive_rational("share", share)
    if enough >= 1:
        raise InvalidArgument(
            "share", share, "must be below 1", "No event need reach the whole of ε; pass 0.99."
        )
    form = isinstance(mechanism, Aligned | Composition | Ranking | Selection | Stream)
    if form and parameters:
        raise InvalidArgument("parameters", parameters, "are those of the form", "Pass the form alone.")
    problem = problem_of(
        mechanism.program if form else mechanism,
        epsilon=epsilon,
        queries=1 if queries is None else queries,
        sensitivity=sensitivity,
        neighbours=neighbours,
        parameters=parameters,
        resolution=resolution,
        seconds=seconds,
    )
    return largest_loss(problem, (queries,) if queries is not None else _sizes(mechanism), enough)


def _sizes(mechanism: Any) -> tuple[int, ...]:
    """The numbers of answers to try: of a selection more than it selects."""
    first: Any = mechanism.first if isinstance(mechanism, Composition) else mechanism
    least = first.k + 1 if isinstance(first, Ranking | Selection) else 1
    return tuple(size for size in _SIZES if size >= least)


def largest_loss(problem: Problem, sizes: tuple[int, ...], share: Fraction) -> LowerBound:
    """The largest loss that is found on inputs of these sizes; the search ends at this share of ε.

    Sizes are looked at in turns, since it is not known which is needed, and a larger one joins in each turn;
    only then comes the search uphill from where the loss is largest.
    """
    aim = share * problem.epsilon
    searches: list[_SizedSearch] = []
    looking: list[_SizedSearch] = []
    waiting = list(sizes)
    reason = f"nothing larger was found on {_named(sizes)}"
    try:
        while waiting or looking:
            if waiting:
                try:
                    looking.append(_SizedSearch(replace(problem, queries=waiting.pop(0)), aim))
                    searches.append(looking[-1])
                except _NotOnSoMany as undecided:
                    reason = str(undecided)
            for search in looking:
                if search.reaches(lambda at: at.look(_LOOKS)):
                    return search.bound()
            looking = [search for search in looking if not search.looked]
        for search in sorted(searches, key=lambda search: -search.nearest):
            if search.reaches(Search.climb):
                return search.bound()
    except OutOfTime:
        reason = "the time was up"
    bounds = [search.bound() for search in searches]
    nothing = LowerBound(problem.epsilon, Fraction(0), None, None)
    return replace(max(bounds, key=lambda bound: bound.loss, default=nothing), reason=reason)


def _named(sizes: tuple[int, ...]) -> str:
    numbers = ", ".join(map(str, sizes[:-1])) + (" or " if sizes[1:] else "") + str(sizes[-1])
    return f"{numbers} answer{'s' if sizes != (1,) else ''}"


class _NotOnSoMany(Exception):
    """The program cannot be followed on so many answers; it may need more, or fewer."""


class _SizedSearch:
    """A search on inputs of one size."""

    def __init__(self, problem: Problem, aim: Fraction) -> None:
        self.problem = problem
        self.found: ExactViolation | None = None
        self.looked = False
        try:
            self._kinds = kinds_of(problem, classes_of(problem))
        except OutOfTime:
            raise
        except NotDecided as undecided:
            raise _NotOnSoMany(str(undecided).removeprefix("not decided: ")) from None
        self._search = Search(problem, self._kinds, lambda kind: aim, lambda at: self._certified(at, aim))

    def _certified(self, at: Trial, loss: Fraction) -> ExactViolation | None:
        return certified(self.problem, self._kinds, at, loss)

    def reaches(self, step: Callable[[Search[ExactViolation]], ExactViolation | None]) -> bool:
        """Whether this step of the search finds enough; what cannot be computed is not found."""
        try:
            self.found = step(self._search)
        except OutOfTime:
            raise
        except NotDecided:
            self.looked = True
            return False
        self.looked = self._search.looked
        return self.found is not None

    @property
    def nearest(self) -> float:
        """How near to the aim the best was."""
        return self._search.nearest

    def bound(self) -> LowerBound:
        """What was found; where it is not enough, what came nearest, for what it certainly is."""
        if self.found is None and self._search.best is not None:
            self.problem = replace(self.problem, limits=Limits().within(_LAST_SECONDS))
            with suppress(NotDecided):
                self.found = self._certified(self._search.best, Fraction(0))
        loss = Fraction(0) if self.found is None else loss_of(self.found)
        return LowerBound(self.problem.epsilon, loss, self.found, self.problem.queries)
