"""The items that a mechanism chooses among: listed one by one, or in groups with equal answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.bits import BitSource
from freegap.exact.digits import KeyedDigits
from freegap.exact.integers import sample_without_replacement
from freegap.exact.ranking import NoisyRanking
from freegap.laws import ExactLaw
from freegap.values.answers import Answers, GridValues, read_answers
from freegap.values.counts import Counts


@dataclass(frozen=True, slots=True)
class Population:
    """Answers on a grid, with the number of items that have each; `sizes` is None where each is one."""

    answers: Answers
    counts: Counts | None

    @property
    def values(self) -> GridValues:
        """The answers in units of `grain`."""
        return self.answers.values

    @property
    def grain(self) -> Fraction:
        """The unit of the values."""
        return self.answers.grain

    @property
    def sizes(self) -> NDArray[np.int64] | None:
        """How many items have each answer."""
        return None if self.counts is None else self.counts.sizes

    @property
    def items(self) -> int:
        """How many items there are in all."""
        return len(self.answers) if self.counts is None else self.counts.items

    def ranking(
        self,
        law: ExactLaw,
        scale: Fraction,
        resolution: Fraction,
        digits: KeyedDigits,
        *,
        threshold: Fraction | None = None,
    ) -> NoisyRanking:
        """The answers with noise of this law and scale, of which the largest can be asked for.

        threshold: takes part as one item more, the last.
        """
        values, grain, sizes, singles = self.values, self.grain, self.sizes, self.answers.singles
        if threshold is not None:
            values, grain = self.with_threshold(threshold, resolution)
            singles = None  # one is missing, and the unit may be another
            sizes = None if sizes is None else np.append(sizes, 1)
        return NoisyRanking(
            values,
            grain=grain,
            scale=scale,
            resolution=resolution,
            law=law,
            digits=digits,
            sizes=sizes,
            groups=None if self.counts is None else self.counts.large,
            singles=singles,
        )

    def with_threshold(self, bar: Fraction, grid: Fraction) -> tuple[GridValues, Fraction]:
        """The answers and, as the last item, the threshold, in common units."""
        values = self.values
        grain = self.grain if (bar / self.grain).denominator == 1 else grid
        factor, last = int(self.grain / grain), int(bar / grain)
        if isinstance(values, np.ndarray):
            # Where all answers are 0 the factor itself must fit as well.
            largest = max(factor * max(int(values.max()), -int(values.min()), 1), abs(last))
            if largest < 2**61:  # so that differences fit an int64
                return np.append(values * factor, last), grain
        return [*(int(value) * factor for value in values), last], grain

    @property
    def named_by_place(self) -> bool:
        """Whether items are listed and have no names but their positions."""
        return self.counts is None and self.answers.names is None

    def indices(self, selected: Sequence[int]) -> tuple[int, ...]:
        """The selected places as they may be released: a group's number would tell its private answer."""
        return self.answers.indices(selected) if self.counts is None else ()

    @property
    def questions(self) -> Sequence[Any]:
        """What the items are called, where they are listed."""
        return self.answers.questions(len(self.answers)) if self.counts is None else ()

    def labels(self, selected: Sequence[int], source: BitSource) -> tuple[Any, ...]:
        """A label for each selected place.

        Members of a group are chosen uniformly, without replacement: the law of the identities of its
        largest noisy answers.
        """
        if self.counts is None:
            return self.answers.labels(selected)
        groups: NDArray[np.intp] = np.asarray(selected, np.intp)
        return self.counts.labels(groups, members_of(groups, self.counts.sizes[groups], source))


def members_of(places: NDArray[np.intp], sizes: NDArray[np.int64], source: BitSource) -> NDArray[np.int64]:
    """A member for each of these places of one population, of groups of these sizes."""
    members = np.zeros(len(places), np.int64)
    many = np.flatnonzero(sizes > 1)
    groups = places[many]
    if len(groups) and (groups == groups[0]).all():  # that of all items that nobody has, mostly
        members[many] = sample_without_replacement(len(groups), int(sizes[many[0]]), source)[::-1]
        return members
    listed = groups.tolist()
    size_of = dict(zip(listed, sizes[many].tolist(), strict=True))
    drawn = {
        group: sample_without_replacement(chosen, size_of[group], source)
        for group, chosen in Counter(listed).items()
    }
    members[many] = [drawn[group].pop() for group in listed]
    return members


def read_population(answers: Any, resolution: Fraction) -> Population:
    """Read answers or `Counts`, rounded down to the grid."""
    if isinstance(answers, Counts):
        return Population(answers.read(resolution), answers)
    return Population(read_answers(answers, resolution), None)
