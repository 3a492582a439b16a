"""Many releases of a row at once, for its audit, as columns.

Where a function has `size=`, that is the released code itself. Where it has not, the batch is one that draws
the same from the same digits: a test compares each with the function of the row, release by release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.bits import BitSource
from freegap.mechanisms.batched_hybrid import draw_largest_above
from freegap.mechanisms.measurement import measure
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k import noisy_max, noisy_top_k

ReleaseMany = Callable[[Sequence[float], Fraction, BitSource, int], Any]
"""answers, ε, bits, how many → what was released, as `audit` takes many outputs."""


def _budget(epsilon: Fraction, divisor: int | None) -> dict[str, Fraction]:
    """ε; or ρ = ε²/divisor, where there is one."""
    return {"epsilon": epsilon} if divisor is None else {"rho": epsilon**2 / divisor}


def ranked_at_once(
    function: Callable[..., Any], *more: Any, divisor: int | None = None, **options: Any
) -> ReleaseMany:
    """Of noisy top-k: the places, and the gaps where there are any."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        asked = _budget(epsilon, divisor)
        made = function(list(answers), *more, **asked, size=size, bits=bits, **options)
        return made.labels if made.gap_multiples is None else (made.labels, made.gap_multiples)

    return release


def ended_at_once(threshold: int, k: int, divisor: int | None = None, **options: Any) -> ReleaseMany:
    """Of hybrid top-k, which is noisy top-k with the threshold as the last item, and ends there."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        items = [*answers, threshold]
        budget: dict[str, Any] = _budget(epsilon, divisor)
        made = noisy_top_k(items, k, **budget, size=size, bits=bits, **options)
        places, gaps = np.array(made.labels), made.gap_multiples
        over = np.cumsum(places == len(answers), axis=1) - (places == len(answers)) > 0
        places[over] = NOT_ASKED
        return places, np.ma.array(gaps, mask=over)

    return release


def chosen_at_once(**options: Any) -> ReleaseMany:
    """Of the exponential mechanism, which is noisy max with Gumbel noise of the scale 2/ε = 1/√ρ."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        made = noisy_max(list(answers), rho=epsilon**2 / 4, size=size, bits=bits, **options)
        return made.labels, made.gap_multiples

    return release


def above_at_once(threshold: int, k: int, **options: Any) -> ReleaseMany:
    """Of hybrid sparse vector: the batch by which tables with groups are released."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        plan = ThresholdPlan.read("hybrid_sparse_vector", k=k, epsilon=epsilon, **options)
        values = np.tile(np.array(answers, dtype=np.int64), size)
        offsets = np.arange(size + 1) * len(answers)
        made = draw_largest_above(plan, values, offsets, Fraction(threshold), bits)
        places = np.full((size, k), NOT_ASKED)
        gaps: Any = np.ma.array(np.zeros((size, k), dtype=np.int64), mask=True)
        released = np.arange(k) < made.found[:, None]
        places[released], gaps[released] = made.places, made.gaps
        return places, gaps

    return release


NOT_ASKED, BELOW = -2, -1


def runs_at_once(function: Callable[..., Any], threshold: int, **options: Any) -> ReleaseMany:
    """Of sparse vector, for each question: not asked, below, or how often ε₁ was halved; and its gap."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        made = function(list(answers), threshold, epsilon=epsilon, size=size, bits=bits, **options)
        shape = (size, len(answers))
        entries = np.where(np.arange(len(answers)) < made.answered[:, None], BELOW, NOT_ASKED)
        runs = np.repeat(np.arange(size), np.diff(made.starts))
        entries[runs, made.indices] = made.branches
        if made.gap_multiples is None:
            return entries
        gaps: Any = np.ma.array(np.zeros(shape, dtype=np.int64), mask=True)
        gaps[runs, made.indices] = made.gap_multiples
        return entries, gaps

    return release


def side_by_side(function: Callable[..., Any], *, shared: bool, divisor: int | None = None) -> ReleaseMany:
    """Of measurements and histograms: many times the answers in one call, each with noise of its own.

    shared: the budget is shared out among the answers, and so as many times of it leave the noise as it is.
    divisor: where it is ρ = ε²/divisor.
    """

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        budget = epsilon if divisor is None else epsilon**2 / divisor
        asked = {"epsilon" if divisor is None else "rho": budget * (size if shared else 1)}
        made = function(list(answers) * size, **asked, bits=bits)
        return np.array(made.multiples, dtype=np.int64).reshape(size, len(answers))

    return release


def then_measured(select: ReleaseMany, divisor: int | None = None) -> ReleaseMany:
    """Of select_and_measure with k = 1: half of ε selects, in this way, and half measures what was selected.

    As many measurements for as many times the budget have the noise of one each.

    divisor: where each half is ρ = ε²/divisor, as it is in `select`.
    """

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        half = epsilon / 2 if divisor is None else epsilon
        places, gaps = select(answers, half, bits, size)
        found = places >= 0
        if places.shape[1] == 1:  # by rank; else for each of the questions whether it is above
            values = np.array(answers)[places[found]]
        else:
            values = np.broadcast_to(np.array(answers), places.shape)[found]
        column: Any = np.ma.array(np.zeros(places.shape, dtype=np.int64), mask=True)
        if len(values):
            budget: dict[str, Any] = {
                name: amount * len(values) for name, amount in _budget(half, divisor).items()
            }
            column[found] = measure(values.tolist(), **budget, resolution=1, bits=bits).multiples
        return places, gaps, column

    return release
