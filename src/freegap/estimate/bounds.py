"""Is it really above the threshold? Lower confidence bounds from gaps alone, and what a choice's gap says."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from freegap.errors import InvalidArgument
from freegap.estimate.noise_laws import GapNoise
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.above import AboveThreshold
from freegap.values.ranking import HybridTopK
from freegap.values.rationals import Rational, double, private_rational, proper_fraction

__all__ = ["confidence_argument", "expected_gap", "gap_noise", "gap_variances", "lower_bounds"]


_NEAR = Fraction(1, 10**12)


def confidence_argument(confidence: Rational) -> Fraction:
    """A confidence strictly between 0 and 1, and not so near to either that doubles cannot tell."""
    number = proper_fraction("confidence", confidence, "Pass for example confidence=0.95.")
    if not _NEAR <= number <= 1 - _NEAR:
        raise InvalidArgument(
            "confidence",
            confidence,
            "must be at least 10^-12 away from 0 and 1",
            "Pass for example confidence=0.95.",
        )
    return number


def gap_noise(plan: ThresholdPlan, branch: int) -> GapNoise:
    """The law of the noise in the gaps that a branch of this plan gives; the base branch is branch 0."""
    return GapNoise(plan.law, plan.branches[-1 - branch].scale, plan.threshold_scale)


def _threshold_plan(release: AboveThreshold) -> ThresholdPlan:
    if isinstance(release.plan, ThresholdPlan):
        return release.plan
    raise InvalidArgument(
        "release",
        f"<{release.plan.mechanism}>",
        "must have exponential, Laplace or geometric noise; the gaps of a base-2 release are of a list",
        "Ask with sparse_vector, adaptive_sparse_vector or hybrid_sparse_vector.",
    )


def lower_bounds(release: AboveThreshold, *, confidence: Rational = 0.95) -> tuple[float, ...]:
    """For each answer above the threshold a value that it exceeds, with this confidence.

    Meaning: before a question is asked, the chance that it is reported above the threshold with a bound that
    exceeds its true answer is at most 1 − confidence. A bound above the threshold says that the answer really
    is above it. The bounds cost nothing: they follow from the gaps (Ding 2020, section 5.4.3).

    >>> import freegap as fg
    >>> r = fg.sparse_vector([2, 950], 500, k=1, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> [bound > 500 for bound in fg.lower_bounds(r, confidence=0.99)]
    [True]
    """
    if not isinstance(release, AboveThreshold) or release.gap_multiples is None:
        raise InvalidArgument(
            "release",
            type(release).__name__,
            "must be a sparse-vector release with gaps",
            "Ask with gap=True.",
        )
    plan = _threshold_plan(release)
    # A question has one chance to be wrong in each branch: the error is divided among them.
    level = 1 - (1 - float(confidence_argument(confidence))) / len(plan.branches)
    below = {branch: gap_noise(plan, branch).quantile(level) for branch in set(release.branches)}
    # Gaps were rounded down, which only lowers the bound; one beyond all doubles is the largest of them.
    return tuple(
        min(double(estimate), sys.float_info.max) - below[branch]
        for estimate, branch in zip(release.estimates, release.branches, strict=True)
    )


def gap_variances(release: AboveThreshold | HybridTopK) -> tuple[float, ...]:
    """The variance of each estimate that the gaps of a release give, as `release.estimates` lists them.

    That of the noise as it was drawn, rounding aside: the answer's and the threshold's together.

    >>> import freegap as fg
    >>> r = fg.hybrid_top_k([900, 20, 700], 400, k=3, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> fg.gap_variances(r)  # exponential noise of scale 3, twice
    (18.0, 18.0)
    """
    if isinstance(release, HybridTopK) and isinstance(release.plan, TopKPlan):
        both = 2 * float(release.plan.law.variance(float(release.plan.scale)))
        return (both,) * len(release.estimates or ())
    if isinstance(release, AboveThreshold):
        plan = _threshold_plan(release)
        return tuple(gap_noise(plan, branch).variance for branch in release.branches)
    raise InvalidArgument(
        "release", type(release).__name__, "must be a release with gaps to a threshold", "See hybrid_top_k."
    )


def expected_gap(theta: Rational) -> float:
    """E[gap] of the exponential mechanism, (1 + e^−θ)·ln(1 + e^θ) (Ding 2020, theorem 5.13).

    theta: ε·u_s/(cΔ) − ln Σ_{j≠s} exp(ε·u_j/(cΔ)) of the chosen candidate s. It is a function of the private
    utilities: for planning and for experiments, not for a release.

    >>> round(expected_gap(0.0), 4)  # 2·ln 2
    1.3863
    """
    location = double(private_rational("theta", theta))
    softplus = math.log1p(math.exp(-abs(location))) + max(location, 0.0)
    if location < -30:
        return 1.0 + math.exp(location) / 2  # the product of a huge and a tiny number, by its series
    return (1 + math.exp(-location)) * softplus
