"""Mechanisms that break their promise, as programs of labelled noise. The wrong line carries the reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from freegap.laws.labelled import LabelledNoise
from freegap_evidence.catalogue.correct import LARGEST, RELEASES, REPORT_KEEPS, bloom_filter

Answers = Sequence[Any]
Noise = LabelledNoise[Any]


def laplace_floating_point(answers: Answers, epsilon: float, rng: Any, size: int | None = None) -> Any:
    """The textbook Laplace mechanism in doubles."""
    return sum(answers) + rng.laplace(scale=1 / epsilon, size=size)  # WRONG: low digits tell the answer


def laplace_half_noise(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """Half of the noise that is needed."""
    return sum(answers) + noise.laplace(1 / (2 * epsilon))  # WRONG: the scale is 1/ε


def laplace_rare_leak(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """Once in two thousand runs, no noise at all."""
    drawn = noise.laplace(1 / epsilon)
    if noise.uniform(1) < 0.0005:
        return sum(answers)  # WRONG: a rare release without noise
    return sum(answers) + drawn


def histogram_inverted_scale(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """Ding 2020, algorithm 10."""
    noisy = []
    for answer in answers:
        noisy.append(answer + noise.laplace(epsilon))  # WRONG: the scale is 1/ε
    return noisy


def histogram_drops_empty_bins(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """Bins that are empty get no noise and come out as zero."""
    noisy = []
    for answer in answers:
        if answer == 0:
            noisy.append(0.0)  # WRONG: an exact zero says that the bin was empty
        else:
            noisy.append(answer + noise.laplace(1 / epsilon))
    return noisy


def partial_sum_noise_per_answer(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """The noise is shared out over the answers, as if each could stand for the others."""
    total = 0
    for answer in answers:
        total = total + answer
    scale = 1 / (epsilon * len(answers))  # WRONG: one answer moves the total by 1, so the scale is 1/ε
    return total + noise.laplace(scale)


def smart_sum_exact_blocks(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """The totals of whole blocks are added without noise."""
    out = []
    blocks, inside = 0, 0
    for place, answer in enumerate(answers, start=1):
        inside = inside + answer
        if place % 2 == 0:
            blocks = blocks + inside  # WRONG: a block total needs noise as well
            inside = 0
            out.append(blocks)
        else:
            out.append(blocks + inside + noise.laplace(2 / epsilon))
    return out


def prefix_sum_noise_per_total(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """Every sum of the first answers gets noise of its own."""
    out = []
    total = 0
    for answer in answers:
        total = total + answer
        out.append(total + noise.laplace(1 / epsilon))  # WRONG: the first answer is a part of every sum
    return out


def laplace_parallel_each_alone(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """Twenty releases of one sum, each charged as if it were the only one."""
    scale = 1 / epsilon  # WRONG: all of them together have ε, so the scale is 20/ε
    return [sum(answers) + noise.laplace(scale) for _ in range(RELEASES)]


def mean_exact_count(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """The mean of the answers that are not zero, with noise for that many."""
    count = max(1, sum(1 for answer in answers if answer != 0))
    scale = 1 / (count * epsilon)  # WRONG: how wide the noise is tells how many there are
    return sum(answers) / count + noise.laplace(scale)


def truncated_geometric_renormalised(answers: Answers, noise: Noise, *, epsilon: float) -> int:
    """Two-sided geometric noise, drawn again until the count is from 0 to 5."""
    count = min(max(sum(answers), 0), LARGEST)
    weights = [math.exp(-epsilon * abs(place - count)) for place in range(LARGEST + 1)]
    return noise.choice(weights)  # WRONG: what the weights are divided by depends on the count as well


def one_time_rappor_bits_alone(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """Every bit of a Bloom filter, as if two values differed in one."""
    keep = 1 / (1 + math.exp(-epsilon))  # WRONG: they differ in up to four, so each has a quarter of ε
    return [noise.coin(keep if bit else 1 - keep) for bit in bloom_filter(answers)]


def rappor_without_memory(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """A report of RAPPOR from the filter itself."""
    report = []
    for bit in bloom_filter(answers):  # WRONG: of the bits that were drawn once and for all, with ε
        report.append(noise.coin(REPORT_KEEPS if bit else 1 - REPORT_KEEPS))
    return report


def noisy_max_value_laplace(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """Ding 2020, algorithm 7."""
    noisy = [answer + noise.laplace(2 / epsilon) for answer in answers]
    return max(noisy)  # WRONG: the value depends on every answer, the place would not


def noisy_max_value_exponential(answers: Answers, noise: Noise, *, epsilon: float) -> Any:
    """Ding 2020, algorithm 8."""
    noisy = [answer + noise.exponential(2 / epsilon) for answer in answers]
    return max(noisy)  # WRONG: one-sided noise never goes below the largest answer


def noisy_max_half_noise(answers: Answers, noise: Noise, *, epsilon: float) -> int:
    """The noise that would do if all answers moved the same way."""
    noisy = [answer + noise.laplace(1 / epsilon) for answer in answers]  # WRONG: the scale is 2/ε
    return max(range(len(noisy)), key=lambda i: noisy[i])


def noisy_max_with_value(answers: Answers, noise: Noise, *, epsilon: float) -> list[Any]:
    """The place of the largest noisy answer, and the answer."""
    noisy = [answer + noise.laplace(2 / epsilon) for answer in answers]
    place = max(range(len(noisy)), key=lambda i: noisy[i])
    return [place, noisy[place]]  # WRONG: only the gap to the runner-up would be free


def sparse_vector_no_query_noise(
    answers: Answers, noise: Noise, *, threshold: float, epsilon: float
) -> list[bool]:
    """Ding 2020, algorithm 12; Lyu et al., algorithm 5 (Stoddard et al. 2014)."""
    noisy_threshold = threshold + noise.laplace(2 / epsilon)
    out = []
    for answer in answers:
        out.append(answer >= noisy_threshold)  # WRONG: no noise on the answer, and no bound on the Trues
    return out


def sparse_vector_no_bound(answers: Answers, noise: Noise, *, threshold: float, epsilon: float) -> list[bool]:
    """Ding 2020, algorithm 13; Lyu et al., algorithm 6 (Chen et al. 2015)."""
    noisy_threshold = threshold + noise.laplace(2 / epsilon)
    out = []
    for answer in answers:
        above = answer + noise.laplace(2 / epsilon) >= noisy_threshold
        out.append(above)  # WRONG: every True costs, and nothing counts them
    return out


def sparse_vector_noise_ignores_bound(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[bool]:
    """Ding 2020, algorithm 14; Lyu et al., algorithm 4 (Lee and Clifton 2014)."""
    out = []
    noisy_threshold = threshold + noise.laplace(4 / epsilon)
    count = 0
    for answer in answers:
        drawn = noise.laplace(4 / (3 * epsilon))  # WRONG: the noise must grow with the bound
        if answer + drawn >= noisy_threshold:
            out.append(True)
            count = count + 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def sparse_vector_releases_answers(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[Any]:
    """Ding 2020, algorithm 15; Lyu et al., algorithm 3 (Roth 2011)."""
    out: list[Any] = []
    noisy_threshold = threshold + noise.laplace(2 / epsilon)
    count = 0
    for answer in answers:
        noisy = answer + noise.laplace(2 * bound / epsilon)
        if noisy >= noisy_threshold:
            out.append(noisy)  # WRONG: the value says where the noisy threshold is not
            count = count + 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def sparse_vector_one_true_too_many(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[bool]:
    """Stops after the bound has been passed, not reached."""
    out = []
    noisy_threshold = threshold + noise.laplace(2 / epsilon)
    count = 0
    for answer in answers:
        if answer + noise.laplace(4 * bound / epsilon) >= noisy_threshold:
            out.append(True)
            count = count + 1
            if count > bound:  # WRONG: >= lets out one True less
                break
        else:
            out.append(False)
    return out


def numerical_sparse_vector_numbers_free(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[Any]:
    """Threshold and questions have all of ε, and the numbers another one."""
    out: list[Any] = []
    noisy_threshold = threshold + noise.laplace(2 / epsilon)
    count = 0
    for answer in answers:
        if answer + noise.laplace(4 * bound / epsilon) >= noisy_threshold:
            out.append(answer + noise.laplace(bound / epsilon))  # WRONG: nothing is left for the numbers
            count = count + 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def gap_sparse_vector_plain_threshold(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[Any]:
    """Ding 2020, algorithm 17 with θ = 1/4, but for the gap that is released."""
    out: list[Any] = []
    noisy_threshold = threshold + noise.laplace(4 / epsilon)
    count = 0
    for answer in answers:
        noisy = answer + noise.laplace(8 * bound / (3 * epsilon))
        if noisy >= noisy_threshold:
            out.append(noisy - threshold)  # WRONG: the gap is to the noisy threshold
            count = count + 1
            if count >= bound:
                break
        else:
            out.append(False)
    return out


def adaptive_sparse_vector_second_try_free(
    answers: Answers, noise: Noise, *, threshold: float, bound: int, epsilon: float
) -> list[Any]:
    """The second try is never charged."""
    out: list[Any] = []
    spent = epsilon / 2
    middle = epsilon / (2 * bound)
    top = middle / 2
    margin = 4 * 1.4142 / top
    noisy_threshold = threshold + noise.laplace(2 / epsilon)
    for answer in answers:
        first = answer + noise.laplace(2 / top) - noisy_threshold
        second = answer + noise.laplace(2 / middle) - noisy_threshold
        if first >= margin:
            out.append(first)
            spent = spent + top
        elif second >= 0:
            out.append(second)  # WRONG: this branch costs `middle` each time it is taken
        else:
            out.append(False)
        if spent > epsilon - middle + 1e-9 * epsilon:
            break
    return out
