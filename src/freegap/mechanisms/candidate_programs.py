"""How draws are made until one is taken; `freegap.mechanisms.private_candidates` has the proofs.

Each program takes its draws, its coin and its dice as functions: so tests enumerate the one that is run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

from freegap.exact.logarithms import log_bounds


class Drawn(NamedTuple):
    """One draw from Q: which candidate, what it put out, and how that scored."""

    candidate: int
    output: Any
    score: Fraction | float


def select_program(
    sample: Callable[[], Drawn], stops: Callable[[], bool], threshold: Fraction, steps: int | None
) -> Drawn | None:
    """Ilvento 2020, algorithm 6: the first draw that reaches the threshold; None where there was none in
    time."""
    for _ in _rounds(steps):
        drawn = sample()
        if drawn.score >= threshold:
            return drawn
        if stops():
            break
    return None


def best_program(
    sample: Callable[[], Drawn], stops: Callable[[], bool], uniform: Callable[[int], int], steps: int | None
) -> Drawn:
    """Ilvento 2020, algorithm 7: the best of the draws until a coin or the hard stop ends it.

    uniform(n) is uniform on {0, …, n−1}. Of n equally good draws each is kept with probability 1/n. (To
    compare pairs with a fair coin, as printed, favours late draws. The law of the output is the same,
    since draws of equal score are alike.)
    """
    best = sample()
    equal = 1
    for _ in _rounds(None if steps is None else steps - 1):
        if stops():
            break
        drawn = sample()
        if drawn.score > best.score:
            best, equal = drawn, 1
        elif drawn.score == best.score:
            equal += 1
            if uniform(equal) == 0:
                best = drawn
    return best


def logarithmic(stops: Callable[[], bool], uniform: Callable[[int], int]) -> int:
    """N on {1, 2, …} with P(N = j) proportional to (1 − γ)^j/j, by coins that stop with probability γ.

    A run that starts at 1 ends at j with probability γ(1 − γ)^(j−1), if it gets there; from j − 1 it gets to
    j with probability 1 − 1/j, so to j at all with 1/2·2/3·…·(j−1)/j = 1/j. One that does not starts anew.
    """
    number = 1
    while not stops():
        number += 1
        if uniform(number) == 0:
            number = 1
    return number


@lru_cache(maxsize=64)  # of public parameters, which searches alike share
def hard_stop_after(stop: Fraction, epsilon0: Fraction) -> int:
    """T: the least whole number that is at least ln(2/ε₀)/γ and 1 + 1/(e·γ), both rounded up.

    >>> hard_stop_after(Fraction(1, 2), Fraction(1)), hard_stop_after(Fraction(1, 100), Fraction(1, 10))
    (2, 300)
    """
    by_epsilon = log_bounds(2 / epsilon0)[1] / stop
    by_stop = 1 + 1 / (Fraction(2718, 1000) * stop)  # 2.718 < e
    return math.ceil(max(by_epsilon, by_stop))


def _rounds(steps: int | None) -> Iterable[int]:
    return count() if steps is None else range(steps)
