"""The paper's own secure algorithms, to be read beside the paper: Ding et al. 2023, algorithm 4 and lemma
4.1.

`coin_top_k` is the top-k without gaps of lemma 4.1, on geometric noise. `secure_top_k` is algorithm 4. It
samples the same distribution as `freegap.mechanisms.top_k` with exponential noise, by another route:
geometric noise on the grid γ*, refined by a factor M wherever there is a tie, and a random permutation
that stands for the order of what was rounded off. The fast core is tested against it, and its counters
are those of Ding et al. 2023, tables 5 and 6.

Followed with errata: the tie loop of Ding 2020, algorithms 28 and 29, ends after one round and is not used
here; in line 5 of Ding et al. 2023, algorithm 4, the index starts at 1; and where there are only k + 1
answers, there is no (k+2)-th to be tied with.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

from freegap.bits import BitSource
from freegap.exact.integers import geometric, shuffle


@dataclass
class Counters:
    """What one run did, for Ding et al. 2023's tables 5 and 6.

    samples: geometric variables drawn, in all and for the refinements alone.
    refinements: rounds of the tie loop.
    survivors: how many queries each round of the tie loop refined.
    seconds: processor time of the three parts of table 5: possible top k, resolve ties, find gaps.
    """

    samples: int = 0
    refinement_samples: int = 0
    refinements: int = 0
    survivors: list[int] = field(default_factory=list)
    seconds: tuple[float, float, float] = (0.0, 0.0, 0.0)


def secure_top_k(
    answers: Sequence[int],
    k: int,
    *,
    rate: Fraction,
    source: BitSource,
    refine_by: int = 10,
    prune: bool = True,
    counters: Counters | None = None,
) -> tuple[list[int], list[int]]:
    """The k largest noisy answers and their gaps; answers and gaps are multiples of γ*.

    rate: γ*/β, the resolution over the scale of the exponential noise (εγ*/2k in the paper).
    refine_by: the paper's M.
    prune: early query pruning (Ding et al. 2023, section 4.5): refine only what can still be in the top k +
    1.

    Distribution: that of Ding et al. 2023, algorithm 2 (theorems 5.2 and 5.3), for either value of `prune`.

    >>> from freegap.bits import SeededBits
    >>> secure_top_k([5, 90, 7], 1, rate=Fraction(1), source=SeededBits(1))[0]
    [1]
    """
    counted = counters if counters is not None else Counters()
    clock = [time.process_time()]
    pool: Sequence[int] = range(len(answers))
    noisy = [answer + geometric(rate, source) for answer in answers]  # in multiples of γ_t
    counted.samples += len(answers)
    refined = 1  # γ*/γ_t
    top = _largest(noisy, pool, k + 2)
    clock.append(time.process_time())
    while any(noisy[a] == noisy[b] for a, b in pairwise(top)):
        # A query below the (k+1)-th largest at this resolution is below it at every finer one.
        bar = noisy[top[k]]
        pool = [i for i in pool if noisy[i] >= bar] if prune else pool
        refined *= refine_by
        for i in pool:
            noisy[i] = refine_by * noisy[i] + geometric(rate / refined, source) % refine_by
        counted.samples += len(pool)
        counted.refinement_samples += len(pool)
        counted.refinements += 1
        counted.survivors.append(len(pool))
        top = _largest(noisy, pool, k + 2)
    clock.append(time.process_time())
    # The parts below γ_t are independent and alike, so that their order is a random permutation.
    order = shuffle(list(range(k + 1)), source)
    gaps = [(noisy[top[i]] - noisy[top[i + 1]] - (order[i] < order[i + 1])) // refined for i in range(k)]
    clock.append(time.process_time())
    counted.seconds = (clock[1] - clock[0], clock[2] - clock[1], clock[3] - clock[2])
    return top[:k], gaps


def coin_top_k(answers: Sequence[int], k: int, *, rate: Fraction, source: BitSource) -> list[int]:
    """The k largest of whole answers with geometric noise, ties broken by coin (Ding et al. 2023, lemma 4.1,
    for any k).

    rate: 1/β, where the noise is Geo(1 − e^(−1/β)): ε/2 in the lemma, which has k = 1.

    >>> from freegap.bits import SeededBits
    >>> coin_top_k([5, 90, 7], 1, rate=Fraction(1), source=SeededBits(1))
    [1]
    """
    noisy = [answer + geometric(rate, source) for answer in answers]
    order = shuffle(list(range(len(answers))), source)  # sorting leaves equal ones in this order
    return _largest(noisy, order, k)


def _largest(noisy: Sequence[int], pool: Sequence[int], count: int) -> list[int]:
    return sorted(pool, key=lambda i: noisy[i], reverse=True)[:count]
