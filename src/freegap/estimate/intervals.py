"""Error bars that hold after selection: of gaps to a threshold, and of measurements.

An answer that was found above a noisy threshold was found partly because its noise was high. The intervals
here take account of it: of the answers that a release finds, the part that its intervals miss is at most
1 − confidence on average, whatever the answers are and however large the noise is. This is the false coverage
rate of Benjamini and Yekutieli 2005, with 0 of 0 as 0. Write N for the noise of an answer, M for that of the
threshold, D = N − M, all as drawn; S(x) = P(N ≥ x), which is log-concave for every law here.

Upper end  Given M, selection makes N larger, if anything: P(N − M < −u | selected, M) ≤ P(N < M − u | M), and
           the mean of that over M is P(D < −u), exactly.
Lower end  (1) Where an answer exceeds its point of selection by at least e = x + y + d: with P(M ≤ y) ≥ 19/20
           and P(N ≥ −d) ≥ c, the chance of N − M > x and of such an excess, given selection, M and all other
           noise, is at most S(x + min(M, y))/c. Its mean over M is at most P(D > x)/(19c/20).
           (2) Everywhere: N > x' has probability r/n·a for each of n answers, of which r were found; divided
           by r and summed that is a (Benjamini and Yekutieli's adjustment), and M is bounded from below.

Both hold together with shares of the error; the higher end is given, and None where there is none. Proofs:
docs/mathematics/error-bars.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from freegap.errors import InvalidArgument
from freegap.estimate.bounds import confidence_argument, gap_noise, threshold_plan
from freegap.estimate.noise_laws import GapNoise, exceeded, half_width
from freegap.mechanisms.measurement import Measurement
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.above import AboveThreshold
from freegap.values.ranking import HybridTopK
from freegap.values.rationals import Rational, double

Interval = tuple[float | None, float | None]
"""The ends; None where the release says nothing about that side."""

_RARE = Fraction(1, 20)  # how often the threshold's noise may exceed y
_CENTRAL, _ABOVE_CENTRAL = Fraction(98, 100), Fraction(981, 1000)  # c, and what −d is the quantile of
_EVERYWHERE = Fraction(1, 10)  # the part of the lower end's error that pays for bounds of all answers


@dataclass(frozen=True)
class ErrorBars:
    """How far the interval of an answer reaches from threshold plus gap; public, whatever is found.

    below, above: the reach to either side.
    excess: by how much an answer must have exceeded its point of selection for `below` to hold.
    floor: the reach below for every answer that was found; None where the number of all is not known.
    """

    below: float
    above: float
    excess: float
    floor: float | None = None


def error_bars(
    noise: GapNoise,
    confidence: Rational = 0.95,
    *,
    found: int = 1,
    among: int | None = None,
    branches: int = 1,
    one_sided: bool = False,
) -> ErrorBars:
    """The error bars of gaps with this noise, from public parameters and the number found.

    found, among: how many were found, of how many in all; only `floor` depends on them.
    branches: how many branches could have found an answer; the error is divided among them.
    one_sided: a bound from below alone, which may err all the more often.

    >>> from freegap.laws import EXPONENTIAL
    >>> bars = error_bars(GapNoise(EXPONENTIAL, Fraction(10), Fraction(5)), one_sided=True)
    >>> round(bars.below, 2), round(bars.excess, 2)
    (21.42, 41.39)
    """
    level = (1 - confidence_argument(confidence)) / branches
    part = Fraction(0) if among is None else Fraction(found, among)
    return _error_bars(noise, level, part, one_sided)


@lru_cache(maxsize=256)  # the items of one release, and releases alike
def _error_bars(noise: GapNoise, level: Fraction, part: Fraction, one_sided: bool) -> ErrorBars:
    law, scale, bar = noise.law, noise.scale, noise.threshold_scale
    # One-sided noise errs downwards by the answer's and upwards by the threshold's: so the error is divided.
    downwards = level if one_sided else level * (scale / (scale + bar) if law.one_sided else Fraction(1, 2))
    everywhere = downwards * _EVERYWHERE if part else Fraction(0)
    central, lowest = (
        (Fraction(1), 0.0) if law.one_sided else (_CENTRAL, exceeded(law, scale, _ABOVE_CENTRAL))
    )
    below = noise.over(float((downwards - everywhere) * (1 - _RARE) * central))
    excess = below + noise.shift + exceeded(law, bar, _RARE) - lowest
    return ErrorBars(
        below=below,
        above=math.inf if one_sided else noise.under(float(level - downwards)),
        excess=max(excess, 0.0),
        floor=_floor(noise, everywhere, part) if part else None,
    )


def _floor(noise: GapNoise, level: Fraction, part: Fraction) -> float:
    law = noise.law
    if law.one_sided:
        return exceeded(law, noise.scale, level * part) - noise.shift
    rare = level / 2 * (1 - Fraction(1, 2**28))  # rounding
    lowest = exceeded(law, noise.threshold_scale, 1 - rare)
    return exceeded(law, noise.scale, level / 2 * part) - lowest - noise.shift


def confidence_intervals(
    release: AboveThreshold | HybridTopK | Measurement, *, confidence: Rational = 0.95
) -> tuple[Interval, ...]:
    """For each answer of a release an interval, as `labels` lists them; an end is None if nothing is known.

    Of the answers above a threshold, the part that their intervals miss is at most 1 − confidence on average:
    the false coverage rate, whatever was selected and however large the noise is. Of a measurement, each
    interval has its answer with this confidence, also where earlier releases decided what to measure.

    >>> import freegap as fg
    >>> found = fg.sparse_vector([2, 950], 500, k=1, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> [(low > 500, high < 1000) for low, high in fg.confidence_intervals(found)]
    [(True, True)]
    >>> measured = fg.measure([950], epsilon=1, bits=fg.SeededBits(1))
    >>> [(round(low), round(high)) for low, high in fg.confidence_intervals(measured)]
    [(946, 952)]
    """
    if isinstance(release, Measurement):
        return measured_intervals(release, float(1 - confidence_argument(confidence)))
    return tuple(_intervals(release, confidence, one_sided=False))


def measured_intervals(release: Measurement, level: float) -> tuple[tuple[float, float], ...]:
    """For each measurement an interval that misses its answer with probability `level`, or hardly less."""
    width = half_width(release.law, release.scale, release.resolution, level)
    values = [_finite(double(value)) for value in release.values]
    down, up = -math.inf, math.inf
    return tuple((math.nextafter(v - width, down), math.nextafter(v + width, up)) for v in values)


def lower_bounds(
    release: AboveThreshold | HybridTopK, *, confidence: Rational = 0.95
) -> tuple[float | None, ...]:
    """For each answer above the threshold a value that it exceeds, with this confidence; None if unknown.

    Of the answers that are found, the part whose bound is above them is at most 1 − confidence on average,
    also where noise alone lifts most of them above the threshold. A bound above the threshold says that the
    answer really is above it. The bounds cost nothing: they follow from the gaps.

    >>> import freegap as fg
    >>> r = fg.sparse_vector([2, 950], 500, k=1, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> [bound > 500 for bound in fg.lower_bounds(r, confidence=0.99)]
    [True]
    """
    return tuple(low for low, _ in _intervals(release, confidence, one_sided=True))


def _intervals(
    release: AboveThreshold | HybridTopK, confidence: Rational, *, one_sided: bool
) -> Iterator[Interval]:
    confidence_argument(confidence)  # whatever was found
    if isinstance(release, HybridTopK) and release.estimates is None:
        yield from [(None, None)] * len(release.labels)  # gaps to each other alone
        return
    for estimate, excess, bars, steps in _found(release, confidence, one_sided):
        step = float(release.resolution)
        value = _finite(double(estimate))
        ends = [bars.below] if excess >= bars.excess + step else []
        ends += [] if bars.floor is None else [bars.floor]
        low = math.nextafter(value - min(ends), -math.inf) if ends else None
        # Gaps were rounded down, which only lowers the lower end.
        yield low, None if one_sided else math.nextafter(value + bars.above + steps * step, math.inf)


def _found(
    release: AboveThreshold | HybridTopK, confidence: Rational, one_sided: bool
) -> Iterator[tuple[Fraction, float, ErrorBars, int]]:
    """Of each answer its estimate, its excess, its error bars, and how often its gap was rounded down."""
    if isinstance(release, HybridTopK) and isinstance(release.plan, TopKPlan):
        plan = release.plan
        bars = error_bars(GapNoise(plan.law, plan.scale, plan.scale), confidence, one_sided=one_sided)
        estimates = release.estimates or ()
        for rank, estimate in enumerate(estimates):
            yield estimate, double(estimate - release.threshold), bars, len(estimates) - rank
        return
    if not isinstance(release, AboveThreshold) or release.gap_multiples is None:
        raise InvalidArgument(
            "release",
            type(release).__name__,
            "must be a sparse-vector release with gaps, or a measurement",
            "Ask with gap=True.",
        )
    of = threshold_plan(release)
    by_branch = {
        branch: error_bars(
            gap_noise(of, branch),
            confidence,
            found=len(release.labels),
            among=release.among,
            branches=len(of.branches),
            one_sided=one_sided,
        )
        for branch in set(release.branches)
    }
    lines = _points_of_selection(of, release)
    for estimate, gap, branch, line in zip(
        release.estimates, release.selected_gaps, release.branches, lines, strict=True
    ):
        excess = -math.inf if line is None else double(gap - line)
        yield estimate, excess, by_branch[branch], 0 if of.law.lattice else 1


def _points_of_selection(plan: ThresholdPlan, release: AboveThreshold) -> list[Fraction | None]:
    """For each answer a gap above which it would have been selected, at least; None where none is known.

    That of its branch; and where only the largest k were selected, and k were found, that of the last:
    the first that was left out is below it, and nobody else's gap bounds that of the last one.
    """
    lines: list[Fraction | None] = [plan.branches[-1 - branch].margin for branch in release.branches]
    if release.largest and len(lines) == plan.k:
        last = release.selected_gaps[-1]
        lines = [*[last] * (plan.k - 1), None]
    return lines


def _finite(value: float) -> float:
    """An estimate beyond all doubles is the largest of them."""
    return max(-sys.float_info.max, min(value, sys.float_info.max))
