"""Choices that are the same on every machine: whole numbers from a seeded stream of bits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from freegap.bits import SeededBits
from freegap.exact.integers import sample_without_replacement, shuffle, uniform_below

T = TypeVar("T")


class Choices:
    """What a generator of cases draws from; nothing private rests on it."""

    def __init__(self, seed: str) -> None:
        self._bits = SeededBits(seed)

    def below(self, n: int) -> int:
        """A whole number from 0 to n − 1."""
        return uniform_below(n, self._bits)

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + self.below(high - low + 1)

    def of(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.below(len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """The items in some order."""
        return shuffle(list(items), self._bits)

    def distinct(self, n: int, below: int) -> list[int]:
        """n different whole numbers from 0 to below − 1."""
        return sample_without_replacement(n, below, self._bits)

    def parts(self, n: int, whole: int) -> list[int]:
        """n whole numbers from 0 to whole − 1, a power of two."""
        width = whole.bit_length() - 1
        drawn = self._bits.bits(width * n)
        return [(drawn >> (width * i)) & (whole - 1) for i in range(n)]

    def fraction(self) -> Fraction:
        """A number in [0, 1)."""
        return Fraction(self.below(2**20), 2**20)

    def log_uniform(self, most: int) -> int:
        """A whole number from 1 to `most` whose number of digits is about uniform."""
        return min(most, self.below(1 << self.between(1, most.bit_length())) + 1)
