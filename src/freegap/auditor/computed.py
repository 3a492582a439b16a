"""Features that are computed from several cells or from their bits: a learned score, the lowest set bit.

The learned event: the outputs to which a classifier gives a score above some threshold. The event with the
largest ratio at a given mass is a threshold on the ratio of the two likelihoods (Neyman and Pearson), and a
classifier that is taught to tell the two inputs apart approximates that ratio: the idea of DP-Sniper. The
classifier is a linear discriminant of the numbers, their distances from the answers and the labels, so that
the ratio of two Laplace densities is within its reach, the event is a weighted sum, and teaching it takes
milliseconds.

The floating-point feature tells which of the representable numbers can come out at all. A double near 0 can
have a last digit far below that of a double near 1. Noise added to the answer 1 comes out as a multiple of
the last digit of 1, even where the sum is close to 0; noise added to the answer 0 comes out as it is. So the
worth of the lowest set bit tells the two answers apart, whatever the distribution (Mironov 2012): the
textbook Laplace mechanism is not private for any ε.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.features import AtPlace, Component, Feature, Reading, path_text, spread, value_text
from freegap.auditor.outputs import ABSENT, INTEGER, REAL, Floats, Label, Outputs, Path

MOST_TERMS = 150
LEAST_SAMPLES = 1000
MOST_SAMPLES = 20_000


@dataclass(frozen=True)
class Term:
    """One input of the classifier: a place that is a label, a number, or the distance from an answer."""

    path: Path
    kind: str
    value: float | Label | None = None

    def read(self, outputs: Outputs) -> Floats:
        """The term of every output."""
        reading = Component(self.path).read(outputs)
        if self.kind == "label":
            code = outputs.code_of(self.value) if isinstance(self.value, Label) else None
            here: Floats = (reading.codes == (-9 if code is None else code)).astype(np.float64)
            return here
        if self.kind == "absent":
            missing: Floats = (reading.codes == ABSENT).astype(np.float64)
            return missing
        number = np.where(reading.is_number, reading.numbers, 0.0)
        if self.kind == "distance" and isinstance(self.value, float):
            number = np.where(reading.is_number, np.abs(number - self.value), 0.0)
        clipped: Floats = np.clip(number, -1e6, 1e6)
        return clipped

    @property
    def text(self) -> str:
        """The term in words."""
        place = path_text(self.path)
        if self.kind == "label":
            return f"[{place} = {self.value}]"
        if self.kind == "distance":
            return f"|{place} - {value_text(self.value)}|"
        return f"[no {place}]" if self.kind == "absent" else place


@dataclass(frozen=True)
class LearnedScore:
    """A weighted sum of terms, rounded to two digits so that it can be written down."""

    terms: tuple[Term, ...]
    weights: tuple[float, ...]

    @property
    def text(self) -> str:
        """The feature in words, heaviest terms first."""
        order = sorted(range(len(self.terms)), key=lambda i: -abs(self.weights[i]))
        shown = [f"{self.weights[i]:+g}·{self.terms[i].text}" for i in order[:6]]
        more = f" + {len(order) - 6} more terms" if len(order) > 6 else ""
        return f"learned score ({' '.join(shown)}{more})"

    def read(self, outputs: Outputs) -> Reading:
        """The score of every output."""
        total = np.zeros(len(outputs))
        for term, weight in zip(self.terms, self.weights, strict=True):
            total += weight * term.read(outputs)
        return Reading(np.full(len(outputs), REAL, dtype=np.int32), total, ())


def learn_score(first: Outputs, second: Outputs, answers: Sequence[float]) -> Feature | None:
    """A score that is high for outputs of the first kind; None where there is nothing to learn from."""
    first, second = first.part(0, MOST_SAMPLES), second.part(0, MOST_SAMPLES)
    terms = _terms(first, second, answers)
    if len(terms) < 2 or min(len(first), len(second)) < LEAST_SAMPLES:
        return None
    table = np.concatenate([_table(terms, first), _table(terms, second)])
    scale = table.std(axis=0)
    useful = scale > 0
    if not useful.any():
        return None
    scaled = (table[:, useful] - table[:, useful].mean(axis=0)) / scale[useful]
    found = discriminant(scaled[: len(first)], scaled[len(first) :])
    weights = [float(f"{w:.2g}") for w in found / scale[useful]]
    kept = [term for term, keep in zip(terms, useful, strict=True) if keep]
    heavy = [(term, weight) for term, weight in zip(kept, weights, strict=True) if weight != 0]
    if not heavy:
        return None
    return LearnedScore(tuple(term for term, _ in heavy), tuple(weight for _, weight in heavy))


SHRINKAGE = 1e-4


def discriminant(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fisher's linear discriminant: what parts two tables best by a weighted sum of their columns, where both
    scatter alike. The common covariance is moved a little towards one without correlations."""
    rows = len(first) + len(second)
    apart = [part - part.mean(axis=0) for part in (first, second)]
    covariance = sum((part.T @ part for part in apart), np.zeros((first.shape[1],) * 2)) / rows
    even = np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    common = (1 - SHRINKAGE) * covariance + SHRINKAGE * even
    weights: NDArray[np.float64] = np.linalg.lstsq(common, first.mean(axis=0) - second.mean(axis=0))[0]
    return weights


def _table(terms: Sequence[Term], outputs: Outputs) -> NDArray[np.float64]:
    table = np.empty((len(outputs), len(terms)), order="F")
    for i, term in enumerate(terms):
        table[:, i] = term.read(outputs)
    return table


def _terms(first: Outputs, second: Outputs, answers: Sequence[float]) -> list[Term]:
    terms: list[Term] = []
    near = sorted(set(answers))[:4]
    for path in dict.fromkeys((*first.paths, *second.paths)):
        codes = np.unique(np.concatenate([part.column(path)[0] for part in (first, second)]))
        if REAL in codes or INTEGER in codes:
            terms.append(Term(path, "number"))
            terms += [Term(path, "distance", float(answer)) for answer in near]
        if ABSENT in codes:
            terms.append(Term(path, "absent"))
        for part in (first, second):
            present = np.unique(part.column(path)[0])
            terms += [Term(path, "label", part.labels[code]) for code in present[present >= 0][:4]]
    # every place has its number before any has its distances
    return sorted(dict.fromkeys(terms), key=lambda term: term.kind == "distance")[:MOST_TERMS]


# Floating-point numbers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class LowestBit(AtPlace):
    """The power of two that the lowest set bit of a number is worth."""

    words: ClassVar[str] = "power of two of the lowest set bit of {}"

    def read(self, outputs: Outputs) -> Reading:
        """Nothing for zero, which has no set bit, and for what is not a number.

        >>> from freegap.auditor.reading import from_objects
        >>> LowestBit().read(from_objects([1.0, 1.5, 0.375, 12.0])).numbers.tolist()
        [0.0, -1.0, -3.0, 2.0]
        """
        codes, numbers = outputs.column(self.path)
        mantissa, exponent = np.frexp(numbers)
        whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
        lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        present = (codes == REAL) & (numbers != 0)
        found = np.where(present, exponent - 53.0 + lowest, 0.0)
        return Reading(np.where(present, np.int32(INTEGER), np.int32(ABSENT)), found, ())


@dataclass(frozen=True)
class ZeroSign(AtPlace):
    """Whether a zero is negative: -0.0 is equal to 0.0, and another output all the same."""

    words: ClassVar[str] = "sign of the zero {}"

    def read(self, outputs: Outputs) -> Reading:
        """A label for zeros alone.

        >>> from freegap.auditor.reading import from_objects
        >>> ZeroSign().read(from_objects([0.0, -0.0, 1.0])).codes.tolist()
        [0, 1, -1]
        """
        codes, numbers = outputs.column(self.path)
        zero = (codes == REAL) & (numbers == 0)
        found = np.where(zero, np.signbit(numbers).astype(np.int32), np.int32(ABSENT))
        return Reading(found, np.zeros(len(outputs)), (Label("sign", "+"), Label("sign", "-")))


def floating_features(first: Outputs, second: Outputs, most: int = 2) -> list[Feature]:
    """What the bits of a few of the places with reals tell, from the first to the last."""
    bits = lowest_bits(first, second, most)
    negative = any((np.signbit(part.numbers) & (part.numbers == 0)).any() for part in (first, second))
    return [*bits, *(ZeroSign(bit.path) for bit in bits if negative)]


def lowest_bits(first: Outputs, second: Outputs, most: int = 2) -> tuple[LowestBit, ...]:
    """The feature for a few of the places that hold reals, from the first to the last."""
    real = dict.fromkeys(
        path
        for part in (first, second)
        for path, some in zip(part.paths, (part.codes == REAL).any(axis=0), strict=True)
        if some
    )
    return tuple(map(LowestBit, spread(list(real), most)))
