"""The twins of the catalogue's mechanisms that make many runs at once.

With `size=1` and the same seed each gives the output of the scalar mechanism; a test compares the two.
Lists that end early are masked arrays; lists of booleans and numbers are a pair of masked arrays: which
answers were above, and the numbers that came with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap_evidence.catalogue.entry import GRID

Answers = Sequence[Any]
Floats = NDArray[np.float64]
Mixed = tuple[Any, Any]


def _released(numbers: Any) -> Any:
    return np.floor(numbers * GRID) / GRID


def _noisy(answers: Answers, noise: Floats) -> Floats:
    found: Floats = np.asarray(answers, dtype=np.float64) + noise
    return found


def laplace(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _released(sum(answers) + rng.laplace(scale=1 / epsilon, size=size))


def laplace_clamped(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return np.clip(laplace(answers, epsilon, rng, size), 0.0, 3.0)


def laplace_floating_point(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return sum(answers) + rng.laplace(scale=1 / epsilon, size=size)


def laplace_half_noise(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _released(sum(answers) + rng.laplace(scale=1 / (2 * epsilon), size=size))


def laplace_rare_leak(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    noise = rng.laplace(scale=1 / epsilon, size=size)
    return _released(sum(answers) + np.where(rng.random(size) < 0.0005, 0.0, noise))


def histogram(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _released(_noisy(answers, rng.laplace(scale=1 / epsilon, size=(size, len(answers)))))


def histogram_inverted_scale(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _released(_noisy(answers, rng.laplace(scale=epsilon, size=(size, len(answers)))))


def histogram_drops_empty_bins(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin: noise is drawn for the bins that are not empty, in their order."""
    full = np.asarray(answers, dtype=np.float64) != 0
    noisy = np.zeros((size, len(answers)))
    kept = [answer for answer in answers if answer != 0]
    noisy[:, full] = _released(_noisy(kept, rng.laplace(scale=1 / epsilon, size=(size, len(kept)))))
    return noisy


partial_sum = laplace


def partial_sum_noise_per_answer(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _released(sum(answers) + rng.laplace(scale=1 / (epsilon * len(answers)), size=size))


def smart_sum(answers: Answers, epsilon: float, rng: Any, size: int, *, exact_blocks: bool = False) -> Any:
    """Twin, with or without noise on the block totals."""
    out = np.empty((size, len(answers)))
    blocks, inside = np.zeros(size), 0.0
    for place, answer in enumerate(answers, start=1):
        inside += answer
        if place % 2 == 0:
            blocks = blocks + inside + (0.0 if exact_blocks else rng.laplace(scale=2 / epsilon, size=size))
            inside = 0.0
            out[:, place - 1] = _released(blocks)
        else:
            out[:, place - 1] = _released(blocks + inside + rng.laplace(scale=2 / epsilon, size=size))
    return out


def smart_sum_exact_blocks(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return smart_sum(answers, epsilon, rng, size, exact_blocks=True)


def noisy_max_laplace(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _noisy(answers, rng.laplace(scale=2 / epsilon, size=(size, len(answers)))).argmax(axis=1)


def noisy_max_half_noise(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _noisy(answers, rng.laplace(scale=1 / epsilon, size=(size, len(answers)))).argmax(axis=1)


def noisy_max_exponential(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _noisy(answers, rng.exponential(scale=2 / epsilon, size=(size, len(answers)))).argmax(axis=1)


def exponential_mechanism(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _noisy(answers, rng.gumbel(scale=2 / epsilon, size=(size, len(answers)))).argmax(axis=1)


def noisy_max_value_laplace(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    return _released(_noisy(answers, rng.laplace(scale=2 / epsilon, size=(size, len(answers)))).max(axis=1))


def noisy_max_value_exponential(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    noise = rng.exponential(scale=2 / epsilon, size=(size, len(answers)))
    return _released(_noisy(answers, noise).max(axis=1))


def noisy_max_with_gap(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    if len(answers) < 2:
        raise ValueError("a gap needs a runner-up: pass at least two answers")
    noisy = _noisy(answers, rng.laplace(scale=2 / epsilon, size=(size, len(answers))))
    ordered = np.sort(noisy, axis=1)
    return noisy.argmax(axis=1), _released(ordered[:, -1] - ordered[:, -2])


def noisy_max_with_value(answers: Answers, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    noisy = _noisy(answers, rng.laplace(scale=2 / epsilon, size=(size, len(answers))))
    return noisy.argmax(axis=1), _released(noisy.max(axis=1))


def _empty(size: int, length: int, kind: Any) -> Any:
    """Lists without items yet."""
    return np.ma.array(np.zeros((size, length), dtype=kind), mask=True)


def _stopped(above: NDArray[np.bool_], bound: int | None) -> Any:
    """Booleans up to and with the True that reaches the bound."""
    if bound is None:
        return above
    return np.ma.array(above, mask=np.cumsum(above, axis=1) - above >= bound)


def _with_numbers(above: NDArray[np.bool_], numbers: Floats, bound: int) -> Mixed:
    out = _stopped(above, bound)
    mask = np.ma.getmaskarray(out)
    return out, np.ma.array(_released(numbers), mask=mask | ~above)


def _compared(
    answers: Answers, threshold: float, rng: Any, size: int, thresholds: float, queries: float
) -> tuple[Floats, Floats]:
    """Noisy answers and noisy thresholds, given the two noise scales."""
    noisy_threshold = threshold + rng.laplace(scale=thresholds, size=size)
    return _noisy(answers, rng.laplace(scale=queries, size=(size, len(answers)))), noisy_threshold[:, None]


def sparse_vector(answers: Answers, threshold: float, bound: int, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    noisy, line = _compared(answers, threshold, rng, size, 2 / epsilon, 4 * bound / epsilon)
    return _stopped(noisy >= line, bound)


def sparse_vector_one_true_too_many(
    answers: Answers, threshold: float, bound: int, epsilon: float, rng: Any, size: int
) -> Any:
    """Twin."""
    noisy, line = _compared(answers, threshold, rng, size, 2 / epsilon, 4 * bound / epsilon)
    return _stopped(noisy >= line, bound + 1)


def sparse_vector_fresh_threshold(
    answers: Answers, threshold: float, bound: int, epsilon: float, rng: Any, size: int
) -> Any:
    """Twin: fresh noise is drawn for the runs that need it, when they need it."""
    out = _empty(size, len(answers), np.bool_)
    line = threshold + rng.laplace(scale=2 * bound / epsilon, size=size)
    running, count = np.ones(size, dtype=np.bool_), np.zeros(size, dtype=np.int64)
    for place, answer in enumerate(answers):
        noise = rng.laplace(scale=4 * bound / epsilon, size=int(running.sum()))
        above = np.zeros(size, dtype=np.bool_)
        above[running] = answer + noise >= line[running]
        out[running, place] = above[running]
        count += above
        running &= count < bound
        again = above & running
        line[again] = threshold + rng.laplace(scale=2 * bound / epsilon, size=int(again.sum()))
    return out


def sparse_vector_no_query_noise(
    answers: Answers, threshold: float, epsilon: float, rng: Any, size: int
) -> Any:
    """Twin."""
    line = threshold + rng.laplace(scale=2 / epsilon, size=size)
    return np.asarray(answers, dtype=np.float64) >= line[:, None]


def sparse_vector_no_bound(answers: Answers, threshold: float, epsilon: float, rng: Any, size: int) -> Any:
    """Twin."""
    noisy, line = _compared(answers, threshold, rng, size, 2 / epsilon, 2 / epsilon)
    return noisy >= line


def sparse_vector_noise_ignores_bound(
    answers: Answers, threshold: float, bound: int, epsilon: float, rng: Any, size: int
) -> Any:
    """Twin."""
    noisy, line = _compared(answers, threshold, rng, size, 4 / epsilon, 4 / (3 * epsilon))
    return _stopped(noisy >= line, bound)


def sparse_vector_releases_answers(
    answers: Answers, threshold: float, bound: int, epsilon: float, rng: Any, size: int
) -> Mixed:
    """Twin."""
    noisy, line = _compared(answers, threshold, rng, size, 2 / epsilon, 2 * bound / epsilon)
    return _with_numbers(noisy >= line, noisy, bound)


def gap_sparse_vector(
    answers: Answers, threshold: float, bound: int, epsilon: float, rng: Any, size: int
) -> Mixed:
    """Twin."""
    noisy, line = _compared(answers, threshold, rng, size, 2 / epsilon, 4 * bound / epsilon)
    return _with_numbers(noisy - line >= 0, noisy - line, bound)


def gap_sparse_vector_plain_threshold(
    answers: Answers, threshold: float, bound: int, epsilon: float, rng: Any, size: int
) -> Mixed:
    """Twin."""
    noisy, line = _compared(answers, threshold, rng, size, 4 / epsilon, 8 * bound / (3 * epsilon))
    return _with_numbers(noisy >= line, noisy - threshold, bound)


def adaptive_sparse_vector(
    answers: Answers,
    threshold: float,
    bound: int,
    epsilon: float,
    rng: Any,
    size: int,
    *,
    second_try_free: bool = False,
) -> Mixed:
    """Twin, with or without a charge for the second try."""
    middle = epsilon / (2 * bound)
    top = middle / 2
    margin = 2 * 2 * 2**0.5 / top
    line = threshold + rng.laplace(scale=2 / epsilon, size=size)
    above = _empty(size, len(answers), np.bool_)
    numbers = _empty(size, len(answers), np.float64)
    running, spent = np.ones(size, dtype=np.bool_), np.full(size, epsilon / 2)
    for place, answer in enumerate(answers):
        noise = rng.laplace(size=(int(running.sum()), 2)) * [2 / top, 2 / middle]
        gaps = answer + noise - line[running][:, None]
        far, near = gaps[:, 0] >= margin, gaps[:, 1] >= 0
        hit = far | near
        above[running, place] = hit
        shown = np.ma.array(_released(np.where(far, gaps[:, 0], gaps[:, 1])), mask=~hit)
        numbers[running, place] = shown
        spent[running] += np.where(far, top, np.where(near & (not second_try_free), middle, 0.0))
        running &= spent <= epsilon - middle + 1e-9 * epsilon
    return above, numbers


def adaptive_sparse_vector_second_try_free(
    answers: Answers, threshold: float, bound: int, epsilon: float, rng: Any, size: int
) -> Mixed:
    """Twin."""
    return adaptive_sparse_vector(answers, threshold, bound, epsilon, rng, size, second_try_free=True)
