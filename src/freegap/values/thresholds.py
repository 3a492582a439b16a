"""Reading thresholds: one for all questions, or one for each, which is then subtracted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.errors import InvalidArgument
from freegap.values.answers import Answers, GridValues, as_array, exact_number, read_numbers, split_labels
from freegap.values.rationals import double, rational


@dataclass(frozen=True, slots=True)
class Offsets:
    """Answers minus thresholds: offset i is values[i]·grain − constant."""

    values: GridValues
    grain: Fraction
    constant: Fraction
    thresholds: tuple[Fraction, ...] | Fraction

    def exact(self, i: int) -> Fraction:
        """Offset i."""
        return int(self.values[i]) * self.grain - self.constant

    def doubles(self, begin: int, end: int) -> NDArray[np.float64]:
        """Offsets begin, …, end − 1, each within 2^-50·(1 + |offset|): a grain is at most 1."""
        if self.constant.denominator == 1 and self.grain.denominator == 1:  # the grain is 1
            whole, rest = self.constant.numerator, 0.0
        else:
            whole = math.floor(self.constant / self.grain)
            rest = float(self.constant - whole * self.grain)
        part = self.values[begin:end]
        if isinstance(part, list) or abs(whole) >= 2**62:
            return np.array([double(self.exact(i)) for i in range(begin, begin + len(part))])
        # The whole part is subtracted exactly; the rest is less than one grain.
        offsets = (part - np.int64(whole)).astype(np.float64)
        if self.grain.denominator != 1:
            offsets *= float(self.grain)
        if rest:
            offsets -= rest
        return offsets

    def part(self, begin: int, end: int) -> Offsets:
        """Those of the answers begin, …, end − 1."""
        own = self.thresholds
        thresholds = own[begin:end] if isinstance(own, tuple) else own
        return Offsets(self.values[begin:end], self.grain, self.constant, thresholds)

    def threshold(self, i: int) -> Fraction:
        """The threshold of question i."""
        return self.thresholds[i] if isinstance(self.thresholds, tuple) else self.thresholds


def read_threshold(threshold: Any, *, discrete: bool) -> Fraction:
    """A threshold for all questions, as it is; a whole number where everything else is."""
    if threshold is None or isinstance(threshold, bool | list | tuple | Mapping | np.ndarray):
        raise InvalidArgument("threshold", threshold, "must be a number", "Pass for example threshold=100.")
    number = rational("threshold", threshold)
    if discrete and number.denominator != 1:
        raise _refuse_part(threshold)
    return number


def read_own_threshold(threshold: Any, resolution: Fraction, *, discrete: bool) -> Fraction:
    """The threshold of one question: read as an answer is, and rounded down to the grid as it is."""
    if not isinstance(threshold, float | np.floating):
        number = read_threshold(threshold, discrete=discrete)
    else:
        number = exact_number(threshold, "threshold", resolution)
        if discrete and number.denominator != 1:
            raise _refuse_part(threshold)
    return number // resolution * resolution


def _refuse_part(threshold: Any) -> InvalidArgument:
    return InvalidArgument(
        "threshold",
        threshold,
        "must be a whole number with geometric noise",
        'Pass a whole number, or noise="exponential".',
    )


def subtract_threshold(answers: Answers, threshold: Any, resolution: Fraction, *, discrete: bool) -> Offsets:
    """The offsets of all answers from one threshold, or from one each.

    Thresholds are public. One for all is taken as it is; one for each is read and rounded down as the answers
    are (`read_own_threshold` for a single question). Labelled answers have labelled thresholds: the order in
    which they came says nothing, and may be private.
    """
    if not isinstance(threshold, list | tuple | np.ndarray | Mapping) and not hasattr(threshold, "to_numpy"):
        number = read_threshold(threshold, discrete=discrete)
        return Offsets(answers.values, answers.grain, number, number)
    array = as_array(one_threshold_each(threshold, answers.names), "threshold")
    values, grain = read_numbers(array, resolution, argument="threshold")
    if discrete and bool((array != np.asarray(values, dtype=array.dtype)).any()):
        raise _refuse_part(f"<{len(values)} thresholds>")
    if len(values) != len(answers):
        raise InvalidArgument(
            "threshold",
            f"<{len(values)} thresholds>",
            f"must be one for all or one for each of the {len(answers)} answers",
            "Pass a number, or as many numbers as there are answers.",
        )
    common = min(grain, answers.grain)
    own = _multiplied(answers.values, int(answers.grain / common))
    other = _multiplied(values, int(grain / common))
    differences: GridValues
    if isinstance(own, np.ndarray) and isinstance(other, np.ndarray):
        differences = own - other
    else:
        differences = [int(a) - int(t) for a, t in zip(own, other, strict=True)]
    return Offsets(differences, common, Fraction(0), tuple(int(t) * grain for t in values))


def one_threshold_each(threshold: Any, names: Sequence[Any] | None) -> Any:
    """The numbers of a sequence of thresholds, in the order in which answers with these names are taken."""
    numbers, own = split_labels(threshold, "threshold")
    positions = None if own is None else list(range(len(own)))  # what a plain Series is labelled by
    if own != (positions if names is None else list(names)):
        raise InvalidArgument(
            "threshold",
            f"<{type(threshold).__name__}>",
            "must be one for all, or have the labels of the answers",
            "Pass a dict of thresholds for a dict of answers, and a list for a list.",
        )
    return numbers


def _multiplied(values: GridValues, factor: int) -> GridValues:
    """As int64 where differences of the products still fit, else as Python ints."""
    if isinstance(values, np.ndarray) and factor * max(int(values.max()), -int(values.min()), 1) < 2**61:
        return values * factor
    return [int(value) * factor for value in values]
