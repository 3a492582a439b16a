"""The noise in the gaps of a release, its variance, and what the gap of a choice says."""

from __future__ import annotations

import math
from fractions import Fraction

from freegap.errors import InvalidArgument
from freegap.estimate.noise_laws import GapNoise
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.above import AboveThreshold
from freegap.values.ranking import HybridTopK
from freegap.values.rationals import Rational, double, private_rational, proper_fraction

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


def threshold_plan(release: AboveThreshold) -> ThresholdPlan:
    """The plan of a sparse vector with known noise in its gaps."""
    if isinstance(release.plan, ThresholdPlan):
        return release.plan
    raise InvalidArgument(
        "release",
        f"<{release.plan.mechanism}>",
        "must have exponential, Laplace or geometric noise; the gaps of a base-2 release are of a list",
        "Ask with sparse_vector, adaptive_sparse_vector or hybrid_sparse_vector.",
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
        plan = threshold_plan(release)
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
