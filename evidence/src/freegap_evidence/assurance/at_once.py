"""Many releases of a row at once, for its audit: the released code itself (`size=`), as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.bits import BitSource

ReleaseMany = Callable[[Sequence[float], Fraction, BitSource, int], Any]
"""answers, ε, bits, how many → what was released, as `audit` takes many outputs."""


def ranked_at_once(function: Callable[..., Any], *more: Any, **options: Any) -> ReleaseMany:
    """Of noisy top-k: the places, and the gaps where there are any."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        made = function(list(answers), *more, epsilon=epsilon, size=size, bits=bits, **options)
        return made.labels if made.gap_multiples is None else (made.labels, made.gap_multiples)

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
