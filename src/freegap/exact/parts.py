"""The digits of many releases under one key: each release has a range of streams of its own.

Release g of a batch has the streams (i, r) with begin_g ≤ i < begin_g + n_g of `digits`, and the ranges of
two releases do not meet. To a release its part looks as a key of its own would: its stream (i, r) is stream
(begin_g + i, r) of the batch. So a release of a batch is the single release on its part, and a batch of one
the single release on the same source.

Why the releases of a batch are independent. All streams of a key are independent and uniform (`digits` says
under what assumption), and no stream belongs to two parts. A release is a function of its answers and of the
streams of its part. So given the answers, releases of one batch are as independent as releases under keys of
their own, and what is proved of the law of one holds for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.exact.digits import KeyedDigits
from freegap.values.answers import GridValues

Whole = NDArray[np.int64]


class DigitsPart(KeyedDigits):
    """The streams begin, …, begin + n − 1 of other digits, counted from 0."""

    def __init__(self, digits: KeyedDigits, begin: int, n: int) -> None:
        self.n = n
        self._digits = digits
        self._begin = begin

    def _first_of(self, begin: int, end: int) -> NDArray[np.uint16]:
        return self._digits._first_of(self._begin + begin, self._begin + end)

    def block(
        self, word: int, ranks: NDArray[np.uint64] | int, items: NDArray[np.integer[Any]] | range
    ) -> NDArray[np.uint64]:
        """The word-th block of 128 digits of each stream (i, r) of this part."""
        begin = self._begin
        if isinstance(items, range):
            return self._digits.block(word, ranks, range(items.start + begin, items.stop + begin))
        return self._digits.block(word, ranks, items + items.dtype.type(begin))


@dataclass(frozen=True, slots=True)
class Batch:
    """Populations: g has the answers values[begins[g] : begins[g] + lengths[g]].

    addresses: the first stream of each population's part of the digits.
    sizes: how many items have each answer; None where each is one.
    """

    values: GridValues
    sizes: Whole | None
    begins: Whole
    lengths: Whole
    addresses: Whole

    @classmethod
    def flat(cls, values: GridValues, offsets: Whole, sizes: Whole | None = None) -> Batch:
        """Populations one after the other, each from its offset up to the next one's."""
        return cls(values, sizes, offsets[:-1], np.diff(offsets), offsets[:-1])

    @classmethod
    def repeated(cls, values: GridValues, times: int, sizes: Whole | None = None) -> Batch:
        """One population so many times, each time with streams of its own."""
        n = len(values)
        return cls(values, sizes, np.zeros(times, np.int64), np.full(times, n), n * np.arange(times))

    def with_thresholds(self) -> Batch:
        """The same populations with one stream more each, the first, for a threshold."""
        addresses = self.addresses + np.arange(len(self))
        return Batch(self.values, self.sizes, self.begins, self.lengths, addresses)

    def __len__(self) -> int:
        return len(self.begins)

    @property
    def streams(self) -> int:
        """How many streams the populations have in all."""
        return int(self.lengths.sum())
