"""Choices that are the same on every machine: whole numbers from a seeded stream of bits."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from freegap.bits import SeededBits
from freegap.exact.integers import sample_without_replacement, shuffle, uniform_below

__all__ = ["Choices"]

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

    def fractions(self, n: int) -> list[Fraction]:
        """n numbers in [0, 1), multiples of 2^-32."""
        drawn = self._bits.bits(32 * n)
        return [Fraction((drawn >> (32 * i)) & 0xFFFFFFFF, 1 << 32) for i in range(n)]

    def log_uniform(self, most: int) -> int:
        """A whole number from 1 to `most` whose number of digits is about uniform."""
        return min(most, self.below(1 << self.between(1, most.bit_length())) + 1)
