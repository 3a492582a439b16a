"""Digits of which some are given: next to 0 and to 1, where chance never leads."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from freegap.bits import SeededBits
from freegap.exact.digits import KeyedDigits

LEADING = 128  # digits of a word; an item's own has 16 more before it


class GivenWords(KeyedDigits):
    """All leading digits of one rank given; every other word is a cipher's."""

    def __init__(self, rank: int, leading: list[int], *, first: bool) -> None:
        super().__init__(SeededBits(0), len(leading))
        self._rank = rank
        self._given = leading
        self._prefixes = np.array([v >> LEADING if first else 40_000 for v in leading], dtype=np.uint16)

    def first(self) -> NDArray[np.uint16]:
        return self._prefixes

    def _first_of(self, begin: int, end: int) -> NDArray[np.uint16]:
        return self._prefixes[begin:end]

    def block(self, word, ranks, items):  # type: ignore[no-untyped-def]
        rows = np.array(super().block(word, ranks, items))
        places = np.asarray(items, dtype=np.intp)
        here = (np.broadcast_to(np.asarray(ranks), places.shape) == self._rank) & (places < len(self._given))
        if word == 0:
            for row in np.flatnonzero(here).tolist():
                value = self._given[int(places[row])]
                rows[row] = (value >> 64) & (2**64 - 1), value & (2**64 - 1)
        return rows


def extreme(length: int) -> list[int]:
    """Numbers of that many digits next to 0 and to 1, at every power of two."""
    near = [(1 << bit) + step for bit in range(0, length, 5) for step in (0, 1)]
    return [v for v in near if v] + [(1 << length) - 1 - v for v in near]
