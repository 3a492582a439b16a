"""The populations of a batch: answers for each of them, in one flat array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.errors import InvalidArgument
from freegap.exact.parts import Batch
from freegap.mechanisms.population import Population, read_population
from freegap.values.answers import GridValues, read_numbers
from freegap.values.labels import order_of_labels


@dataclass(frozen=True, slots=True)
class Populations:
    """The populations of a batch, and what they and their items are called.

    parts: each of them, or the one that all are; none where all items go by position.
    names: of the populations; None where all are the same answers.
    """

    batch: Batch
    grain: Fraction
    parts: Sequence[Population]
    names: Sequence[Any] | None

    @property
    def fewest(self) -> int:
        """How many items the smallest has."""
        return min((part.items for part in self.parts), default=int(self.batch.lengths.min()))

    def part(self, number: int) -> Population:
        """Population number so and so."""
        return self.parts[number if len(self.parts) > 1 else 0]


def read_populations(populations: Any, offsets: Any, resolution: Fraction) -> Populations:
    """Read populations by name, in a list, as the rows of a matrix, or flat with offsets."""
    if offsets is not None:
        values, grain = read_numbers(populations, resolution)
        bounds = _offsets_argument(offsets, len(values))
        return Populations(Batch.flat(values, bounds), grain, (), range(len(bounds) - 1))
    if isinstance(populations, np.ndarray) and populations.ndim == 2 and populations.size:
        number, width = populations.shape
        values, grain = read_numbers(populations.ravel(), resolution)
        return Populations(Batch.flat(values, np.arange(number + 1) * width), grain, (), range(number))
    names: Sequence[Any]
    if isinstance(populations, Mapping):
        listed = list(populations)
        names = [listed[place] for place in order_of_labels("populations", listed)]
        parts = [read_population(populations[name], resolution) for name in names]
    elif isinstance(populations, list | tuple):
        parts = [read_population(answers, resolution) for answers in populations]
        names = range(len(parts))
    else:
        raise InvalidArgument(
            "populations",
            f"<{type(populations).__name__}>",
            "must be a dict or a list of answers, a matrix, or a flat sequence with offsets",
            "Pass for example {'north': {'tea': 90, 'milk': 3}, …}.",
        )
    if not parts:
        raise InvalidArgument("populations", populations, "must not be empty", "Pass at least one.")
    return _joined(parts, names)


def _joined(parts: Sequence[Population], names: Sequence[Any]) -> Populations:
    """Populations in common units, one after the other."""
    grain = min(part.grain for part in parts)
    lengths = np.array([len(part.values) for part in parts])
    listed: GridValues
    factors = [int(part.grain / grain) for part in parts]
    arrays = [part.values for part in parts]
    largest = max(
        factor * max(abs(int(min(values))), abs(int(max(values))), 1)
        for factor, values in zip(factors, arrays, strict=True)
    )
    if largest < 2**61 and all(isinstance(values, np.ndarray) for values in arrays):
        listed = np.concatenate([np.asarray(v) * f for v, f in zip(arrays, factors, strict=True)])
    else:
        listed = [int(value) * f for v, f in zip(arrays, factors, strict=True) for value in v]
    sizes = None
    if any(part.sizes is not None for part in parts):
        sizes = np.concatenate(
            [np.ones(len(p.values), np.int64) if p.sizes is None else p.sizes for p in parts]
        )
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    return Populations(Batch.flat(listed, bounds, sizes), grain, parts, names)


def _offsets_argument(offsets: Any, length: int) -> NDArray[np.int64]:
    array = np.asarray(offsets) if isinstance(offsets, Iterable) else np.empty(0)
    sound = array.ndim == 1 and len(array) > 1 and array.dtype.kind in "iu"
    if not (sound and array[0] == 0 and array[-1] == length and (np.diff(array.astype(np.int64)) > 0).all()):
        raise InvalidArgument(
            "offsets",
            f"<{type(offsets).__name__}>",
            f"must rise from 0 to the number of answers, {length}",
            "Pass where each population begins, and at last the end.",
        )
    return array.astype(np.int64)
