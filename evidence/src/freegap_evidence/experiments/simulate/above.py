"""Sparse vector and its adaptive form, many runs at once: twin of `mechanisms.sparse_vector.form`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap_evidence.experiments.simulate.noise import Floats


def plan(
    k: int,
    epsilon: Fraction,
    *,
    noise: str = "exponential",
    branches: int = 0,
    share: Fraction | str | None = None,
    monotonic: bool = True,
) -> ThresholdPlan:
    """The budget of a release, divided as the library divides it; θ = 1/(1 + k^⅔) by default.

    monotonic: as counts are; False for the noise that any queries need, with θ = 1/(1 + (2k)^⅔).
    """
    return ThresholdPlan.read(
        "adaptive_sparse_vector",
        k=k,
        epsilon=epsilon,
        monotonic=monotonic,
        noise=noise,
        share=share,
        branches=branches,
    )


@dataclass(frozen=True)
class ThresholdNoise:
    """threshold: one per run; answers: for each branch of the plan an array of runs × answers."""

    threshold: Floats
    answers: tuple[Floats, ...]


def draw_threshold_noise(
    plan: ThresholdPlan, runs: int, answers: int, rng: np.random.Generator
) -> ThresholdNoise:
    """The noise of `runs` releases by this plan."""
    return ThresholdNoise(
        plan.law.sample(rng, float(plan.threshold_scale), (runs,)),
        tuple(plan.law.sample(rng, float(b.scale), (runs, answers)) for b in plan.branches),
    )


@dataclass(frozen=True)
class Answered:
    """What each run answered, as arrays of runs × answers.

    above: reported above the threshold.
    branch: the number of the branch that did, 0 for the cheapest; meaningless elsewhere.
    gap: to the noisy threshold; meaningless elsewhere.
    order: how many reports above there were up to and with this one.
    """

    plan: ThresholdPlan
    above: NDArray[np.bool_]
    branch: NDArray[np.int8]
    gap: Floats
    order: NDArray[np.int32]

    def spent(self, stop_after: int | None = None) -> Floats:
        """The budget that each run charged, if stopped after so many reports above."""
        counted = self.above if stop_after is None else self.above & (self.order <= stop_after)
        budgets = np.array([float(b.budget) for b in self.plan.branches])
        charged = np.where(counted, budgets[self.branch], 0.0).sum(axis=1)
        return np.asarray(float(self.plan.threshold_budget) + charged)


def answer(offsets: Floats, plan: ThresholdPlan, noise: ThresholdNoise) -> Answered:
    """Ding 2020, algorithm 16 (one branch: algorithm 17): offsets are the answers less the threshold, in
    order."""
    above = np.zeros(offsets.shape, dtype=np.bool_)
    branch = np.zeros(offsets.shape, dtype=np.int8)
    gap = np.zeros(offsets.shape)
    line = noise.threshold[:, None]
    for number, (part, own) in enumerate(zip(plan.branches, noise.answers, strict=True)):
        value = offsets + own
        value -= line
        value -= float(part.shift)
        hit = (value >= float(part.margin)) & ~above
        above |= hit
        branch[hit] = number
        np.copyto(gap, value, where=hit)
    # Charges as whole multiples of the cheapest branch: where a run stops must not hang on rounding.
    dearest = 1 << (len(plan.branches) - 1)
    units = np.where(above, np.left_shift(1, branch.astype(np.int32)), 0)
    before = np.cumsum(units, axis=1) - units
    above &= before <= (plan.k - 1) * dearest
    return Answered(plan, above, branch, gap, np.cumsum(above, axis=1, dtype=np.int32))
