"""Exact probabilities of a sampler's outcomes, by running it on every string of bits.

A sampler is a function of a source of bits. Run on a string that is too short it raises
`BitsExhausted`, and both longer strings are tried; run on one that is long enough it has an outcome of
probability 2^-length. What is undecided at the largest depth is returned as well, so that a closed
form must lie within an interval that is known exactly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction

from freegap.bits import BitSource, ReplayedBits
from freegap.errors import BitsExhausted


def outcomes(
    sampler: Callable[[BitSource], Hashable], *, depth: int
) -> tuple[dict[Hashable, Fraction], Fraction]:
    """The decided probability of each outcome, and the undecided rest."""
    decided: dict[Hashable, Fraction] = defaultdict(Fraction)
    undecided = Fraction(0)
    prefixes = [""]
    while prefixes:
        prefix = prefixes.pop()
        source = ReplayedBits(prefix)
        try:
            outcome = sampler(source)
        except BitsExhausted:
            if len(prefix) == depth:
                undecided += Fraction(1, 2**depth)
            else:
                prefixes += [prefix + "0", prefix + "1"]
            continue
        # A sampler that leaves bits unread would have been decided by a shorter string.
        assert source.remaining == 0
        decided[outcome] += Fraction(1, 2 ** len(prefix))
    return dict(decided), undecided
