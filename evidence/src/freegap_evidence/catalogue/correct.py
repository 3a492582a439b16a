"""Mechanisms that keep their promise, as programs of labelled noise, to be audited and to be proved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from freegap.laws.labelled import LabelledNoise

Answers = Sequence[Any]
Noise = LabelledNoise[Any]

RELEASES = 20  # of `laplace_parallel`
LARGEST = 5  # that `truncated_geometric` puts out
REPORT_KEEPS = 0.75  # the chance that a report of RAPPOR has the bit that was drawn once and for all


def laplace(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """The sum of the answers, of which one changes by at most 1, with Laplace noise."""
    return sum(answers) + noise.laplace(1 / epsilon)


def laplace_clamped(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """The same, clamped to [0, 3]: the two ends are atoms, and clamping is post-processing."""
    return min(max(sum(answers) + noise.laplace(1 / epsilon), 0.0), 3.0)


def histogram(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """Ding 2020, algorithm 9: every count with Laplace noise; one count changes by at most 1."""
    noisy = []
    for answer in answers:
        noisy.append(answer + noise.laplace(1 / epsilon))
    return noisy


def partial_sum(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """The running total, released once at the end."""
    total = 0
    for answer in answers:
        total = total + answer
    return total + noise.laplace(1 / epsilon)


def smart_sum(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """Running totals in blocks of two (Chan, Shi and Song 2011): an answer is in one block total and one
    single release, each with noise for half of ε."""
    out = []
    blocks, inside = 0, 0
    for place, answer in enumerate(answers, start=1):
        inside = inside + answer
        if place % 2 == 0:
            blocks = blocks + inside + noise.laplace(2 / epsilon)
            inside = 0
            out.append(blocks)
        else:
            out.append(blocks + inside + noise.laplace(2 / epsilon))
    return out


def prefix_sum(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """All sums of the first answers, each answer with noise of its own."""
    out = []
    total = 0
    for answer in answers:
        total = total + answer + noise.laplace(1 / epsilon)
        out.append(total)
    return out


def laplace_parallel(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """One sum, released twenty times, each time for a twentieth of ε."""
    return [sum(answers) + noise.laplace(RELEASES / epsilon) for _ in range(RELEASES)]


def sum_and_count(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """What a mean is made of, each for half of ε: how many answers are not zero, and their sum."""
    count = sum(1 for answer in answers if answer != 0)
    return [sum(answers) + noise.laplace(2 / epsilon), count + noise.laplace(2 / epsilon)]


def truncated_geometric(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """A count from 0 to 5 with two-sided geometric noise, clamped to where it was."""
    count = min(max(sum(answers), 0), LARGEST)
    return min(max(count + noise.discrete_laplace(1 / epsilon), 0), LARGEST)


def bloom_filter(answers: Answers) -> list[bool]:
    """Eight bits, of which one value sets the two to which it is hashed: two values differ in up to four."""
    value = int(sum(answers))
    places = {value % 8, (3 * value + 4) % 8}
    return [place in places for place in range(8)]


def one_time_rappor(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """Every bit of a Bloom filter as it is, or as it is not, for a quarter of ε."""
    keep = 1 / (1 + math.exp(-epsilon / 4))
    return [noise.coin(keep if bit else 1 - keep) for bit in bloom_filter(answers)]


def rappor(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """A first report of RAPPOR: the bits of `one_time_rappor`, which are kept for ever, each turned round
    with chance 1/4. Any number of reports has ε; one alone loses less."""
    keep = 1 / (1 + math.exp(-epsilon / 4))
    report = []
    for bit in bloom_filter(answers):
        kept_for_ever = (keep if bit else 1 - keep) - noise.uniform()  # positive: the bit is set
        as_it_is = REPORT_KEEPS - noise.uniform()  # positive: it is reported as it is
        report.append(kept_for_ever * as_it_is > 0)
    return report


def noisy_max_laplace(answers: Answers, noise: Noise, *, epsilon: float) -> int:
    """Ding 2020, algorithm 5: two-sided noise, the place of the largest noisy answer."""
    noisy = [answer + noise.laplace(2 / epsilon) for answer in answers]
    return max(range(len(noisy)), key=lambda i: noisy[i])


def noisy_max_exponential(answers: Answers, noise: Noise, *, epsilon: float) -> int:
    """Ding 2020, algorithm 6: one-sided noise, the place of the largest noisy answer."""
    noisy = [answer + noise.exponential(2 / epsilon) for answer in answers]
    return max(range(len(noisy)), key=lambda i: noisy[i])


def exponential_mechanism(answers: Answers, noise: Noise, *, epsilon: float) -> int:
    """The exponential mechanism by Gumbel noise (Ding 2020, algorithm 21 without the gap)."""
    noisy = [answer + noise.gumbel(2 / epsilon) for answer in answers]
    return max(range(len(noisy)), key=lambda i: noisy[i])


def noisy_max_with_gap(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """Ding 2020, algorithm 18 with k = 1: the place of the largest, and the gap to the runner-up."""
    if len(answers) < 2:
        raise ValueError("a gap needs a runner-up: pass at least two answers")
    noisy = [answer + noise.laplace(2 / epsilon) for answer in answers]
    best = max(range(len(noisy)), key=lambda i: noisy[i])
    return [best, noisy[best] - max(noisy[:best] + noisy[best + 1 :])]


def sparse_vector(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[bool]:
    """Ding 2020, algorithm 11; Lyu, Su and Li 2017, algorithm 1."""
    out = []
    noisy_threshold = threshold + noise.laplace(2 / epsilon)
    count = 0
    for answer in answers:
        if answer + noise.laplace(4 * bound / epsilon) >= noisy_threshold:
            out.append(True)
            count = count + 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def sparse_vector_fresh_threshold(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[bool]:
    """Lyu et al., algorithm 2 (Dwork and Roth 2014): the threshold gets fresh noise after each True."""
    out = []
    noisy_threshold = threshold + noise.laplace(2 * bound / epsilon)
    count = 0
    for answer in answers:
        if answer + noise.laplace(4 * bound / epsilon) >= noisy_threshold:
            out.append(True)
            count = count + 1
            if count >= bound:
                break
            noisy_threshold = threshold + noise.laplace(2 * bound / epsilon)
        else:
            out.append(False)
    return out


def numerical_sparse_vector(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[Any]:
    """Above the threshold, the answer with fresh noise; a third of ε for the threshold, for the questions and
    for the numbers."""
    out: list[Any] = []
    noisy_threshold = threshold + noise.laplace(3 / epsilon)
    count = 0
    for answer in answers:
        if answer + noise.laplace(6 * bound / epsilon) >= noisy_threshold:
            out.append(answer + noise.laplace(3 * bound / epsilon))
            count = count + 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def gap_sparse_vector(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[Any]:
    """Ding 2020, algorithm 17 with θ = 1/2: above the threshold, the gap to the noisy threshold."""
    out: list[Any] = []
    noisy_threshold = threshold + noise.laplace(2 / epsilon)
    count = 0
    for answer in answers:
        gap = answer + noise.laplace(4 * bound / epsilon) - noisy_threshold
        if gap >= 0:
            out.append(gap)
            count = count + 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def adaptive_sparse_vector(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[Any]:
    """Ding 2020, algorithm 16 with θ = 1/2: a first try with twice the noise costs half as much."""
    out: list[Any] = []
    spent = 0  # in shares of ε/(4·bound), besides the threshold's half
    middle = epsilon / (2 * bound)
    top = middle / 2
    margin = 4 * 1.4142 / top  # two standard deviations of Laplace noise of scale 2/top
    noisy_threshold = threshold + noise.laplace(2 / epsilon)
    for answer in answers:
        first = answer + noise.laplace(2 / top) - noisy_threshold
        second = answer + noise.laplace(2 / middle) - noisy_threshold
        if first >= margin:
            out.append(first)
            spent = spent + 1
        elif second >= 0:
            out.append(second)
            spent = spent + 2
        else:
            out.append(False)
        if spent + 2 > 2 * bound:
            break
    return out
