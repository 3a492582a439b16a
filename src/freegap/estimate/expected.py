"""How exact the top k will be: what follows from public parameters alone, before anything is looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.estimate.fusion import expected_ratio
from freegap.estimate.noise_laws import half_width
from freegap.laws import CONTINUOUS_NOISES, GEOMETRIC
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION, noise_argument
from freegap.mechanisms.measurement import measured_law, measured_scale
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.measures import Pure, ZeroConcentrated


def selection_plan(
    asked: Pure | ZeroConcentrated,
    k: Any,
    noise: Any,
    *,
    measured: bool,
    resolution: Any = DEFAULT_RESOLUTION,
    sensitivity: Any = 1,
    monotonic: bool = True,
) -> TopKPlan:
    """How `top_k` on a table selects: with half of what is asked where it measures as well.

    sensitivity, monotonic: of the totals of a value; of counts of people 1, and True.
    """
    if noise == GEOMETRIC.name:
        noise_argument(noise, CONTINUOUS_NOISES)  # it is for the order alone, and here gaps are released
    amounts: dict[str, Any] = asked.of(asked.spent / 2 if measured else asked.spent).arguments()
    return TopKPlan.read(
        "noisy_top_k",
        k=k,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        resolution=resolution,
        last_gap=not measured or isinstance(asked, Pure),
        **amounts,
    )


@dataclass(frozen=True)
class ExpectedErrors:
    """Of the top k of counts: what is charged, and how exact gaps and estimates, if any, will be.

    selection: the noise that selects.
    gap: the standard error of a gap.
    estimate: the root mean square error of an estimate where gaps are wide, so that noise decides nothing.
    measured: that of a measurement, which no estimate's exceeds, whatever noise decides.
    width: how far a 95 % interval reaches from the measurement, to either side.
    """

    selection: TopKPlan
    charge: Fraction
    gap: float
    estimate: float | None = None
    measured: float | None = None
    width: float | None = None


def top_k_errors(
    asked: Pure | ZeroConcentrated, k: Any, noise: Any, *, measured: bool, **moved: Any
) -> ExpectedErrors:
    """The errors of `top_k` on a table. moved: as `selection_plan` takes it, where totals are released.

    >>> top_k_errors(Pure(Fraction(1)), 10, None, measured=False).gap  # two exponential noises of scale 10
    14.142135623730951
    """
    selecting = selection_plan(asked, k, noise, measured=measured, **moved)
    variance = float(selecting.law.variance(float(selecting.scale)))
    gap = math.sqrt(2 * variance)
    if not measured:
        return ExpectedErrors(selecting, selecting.charge, gap)
    scale, cost = measured_scale(asked.of(asked.spent / 2), selecting.k, selecting.sensitivity)
    law = measured_law(asked)
    own = float(law.variance(float(scale)))
    left = expected_ratio(selecting.k, weight=own / (own + variance), dimension=selecting.k - 1)
    return ExpectedErrors(
        selecting,
        selecting.charge + cost,
        gap,
        estimate=math.sqrt(own * left),
        measured=math.sqrt(own),
        width=half_width(law, scale, selecting.resolution, 0.05),
    )
