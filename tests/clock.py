"""A clock that tests set: it moves when it is looked at, slept on or told to, and never by itself."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["Clock", "Drawn"]


class Clock:
    """Stands in for the module `time`, in whole nanoseconds.

    tick: by how much each look moves it; a program that waits awake must see it move.
    slept: what was asked of `sleep`, in nanoseconds.
    """

    def __init__(self, tick: int = 1) -> None:
        self.now = 1_000
        self.tick = tick
        self.slept: list[int] = []

    def perf_counter_ns(self) -> int:
        self.now += self.tick
        return self.now - self.tick

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds * 10**9))
        self.now += self.slept[-1]

    def work(self, nanoseconds: int) -> None:
        """As a program that takes so long would move it."""
        self.now += nanoseconds


class Drawn:
    """A source whose bits come out as this share of what is possible."""

    private = False

    def __init__(self, share: Fraction) -> None:
        self.share = share

    def bits(self, n: int) -> int:
        return int(self.share * 2**n)
