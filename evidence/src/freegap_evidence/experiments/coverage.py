"""Beyond the papers: do error bars hold after selection, and do gaps make estimates better or worse?

Each run makes two releases with the same ε. `above` finds the items above a threshold, and its intervals are
those of `freegap.estimate.intervals`; beside them, intervals that take the noise as it was drawn. The top k
are selected with one half and measured with the other; the measurements, the papers' estimates from
measurements and gaps, and the library's are compared with the counts of the selected items.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from freegap.estimate.bounds import gap_noise
from freegap.estimate.intervals import ErrorBars, error_bars
from freegap.estimate.noise_laws import half_width
from freegap.laws import EXPONENTIAL, LAPLACE
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap_evidence.experiments.data.sets import FURTHER, RATINGS_NAME, RETAIL_NAME, T10_NAME, DataSet
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.figures.coverage import draw_coverage
from freegap_evidence.experiments.simulate.above import draw_threshold_noise, plan
from freegap_evidence.experiments.simulate.estimates import blue, fused
from freegap_evidence.experiments.simulate.noise import Floats, chunks
from freegap_evidence.experiments.simulate.ranked import RankedRuns, hybrid_sparse_vector, top_k
from freegap_evidence.experiments.table import Table

LEVEL = 0.05
_FEWER = 10  # there is noise for every item of every run


def lower_ends(values: Floats, gaps: Floats, released: Any, k: int, bars: Any, floors: Floats) -> Floats:
    """The lower ends of the intervals of `above`, many runs at once: twin of `freegap.estimate.intervals`.

    values: threshold plus gap. floors: the reach below for every item, by the number found.
    """
    found = released.sum(axis=1)
    line = np.where(found == k, gaps[:, -1], 0.0)[:, np.newaxis]
    exceeds = gaps - line >= bars.excess
    exceeds[:, -1] &= found < k
    reach = np.where(
        exceeds, np.minimum(bars.below, floors[found][:, np.newaxis]), floors[found][:, np.newaxis]
    )
    return np.asarray(values - reach)


def _above(
    counts: Floats, threshold: float, made: ThresholdPlan, runs: int, rng: np.random.Generator
) -> dict[str, float]:
    noise, k, n = gap_noise(made, 0), made.k, len(counts)
    bars = error_bars(noise, found=1, among=n)
    floors = np.array([0.0] + [_floor(error_bars(noise, found=r, among=n)) for r in range(1, k + 1)])
    over, under = noise.over(LEVEL / 2), noise.under(LEVEL / 2)
    missed, before, widths, found = 0.0, 0.0, 0.0, 0
    for size in chunks(runs, n):
        ranked = hybrid_sparse_vector(counts, threshold, made, draw_threshold_noise(made, size, n, rng))
        truth, values, released = counts[ranked.items], threshold + ranked.gaps, ranked.released
        low, high = lower_ends(values, ranked.gaps, released, k, bars, floors), values + bars.above
        missed += _share(ranked, (truth < low) | (truth > high))
        before += _share(ranked, (truth < values - over) | (truth > values + under))
        widths += float((high - np.maximum(low, 0))[released].sum())
        found += int(released.sum())
    return {
        "missed": missed / runs,
        "missed_before": before / runs,
        "width": widths / max(found, 1),
        "width_before": over + under,
        "found": found / runs,
    }


def _floor(bars: ErrorBars) -> float:
    return np.inf if bars.floor is None else bars.floor


def _share(ranked: RankedRuns, outside: Any) -> float:
    """The sum over the runs of the share of what was found that is outside; 0 where nothing was found."""
    shares = (outside & ranked.released).sum(axis=1) / np.maximum(ranked.released.sum(axis=1), 1)
    return float(shares.sum())


def _measured(
    counts: Floats, k: int, epsilon: float, runs: int, rng: np.random.Generator
) -> dict[str, float]:
    scale = 2 * k / epsilon  # of both: half of ε each, counts
    width = half_width(LAPLACE, Fraction(scale), Fraction(0), LEVEL)
    squares, outside = np.zeros(3), 0
    for size in chunks(runs, len(counts)):
        ranked = top_k(counts, k, EXPONENTIAL.sample(rng, scale, (size, len(counts))))
        truth = counts[ranked.items]
        measured = truth + LAPLACE.sample(rng, scale, (size, k))
        best = blue(measured, ranked.gaps[:, :-1], 0.5)
        ours = fused(measured, best, variance=2 * scale**2, weight=2 / 3, dimension=k - 1)
        squares += [float(((found - truth) ** 2).sum()) for found in (measured, best, ours)]
        outside += int((np.abs(measured - truth) > width).sum())
    names = ("rmse_measured", "rmse_papers", "rmse_fused")
    return dict(zip(names, np.sqrt(squares / (runs * k)), strict=True)) | {
        "missed_measured": outside / (runs * k)
    }


def _compute(setting: ExperimentSetting) -> Table:
    p, runs = setting.parameters, max(1, setting.runs // _FEWER)

    def point(data: DataSet, epsilon: float) -> dict[str, Any]:
        counts, k = data.counts.astype(np.float64), p["k"]
        threshold = p["threshold"].get(data.name, int(counts[2 * k]))
        rng = setting.rng(data.name, epsilon)
        return {
            "data": data.name,
            "items": len(counts),
            "threshold": threshold,
            "k": k,
            "epsilon": epsilon,
            "runs": runs,
            **_above(counts, threshold, _plan(k, epsilon), runs, rng),
            **_measured(counts, k, epsilon, runs, rng),
        }

    return Table.of(
        point(*each) for each in setting.track([(d, e) for d in setting.data for e in p["epsilon"]])
    )


@cache
def _plan(k: int, epsilon: float) -> ThresholdPlan:
    return plan(k, Fraction(str(epsilon)))


def _compare(table: Table) -> Comparison:
    runs = table.numbers("runs")
    worst = {name: table.numbers(name) for name in ("missed", "missed_measured", "missed_before")}
    slack = 5 * np.sqrt(LEVEL * (1 - LEVEL) / runs)
    ratio, papers = (
        table.numbers(name) / table.numbers("rmse_measured") for name in ("rmse_fused", "rmse_papers")
    )
    holds = all((worst[name] <= LEVEL + slack).all() for name in ("missed", "missed_measured"))
    wider = table.numbers("width") / table.numbers("width_before")
    text = (
        f"intervals of what is above a threshold miss {100 * worst['missed'].min():.1f} to "
        f"{100 * worst['missed'].max():.1f} %, where those that leave out selection miss up to "
        f"{100 * worst['missed_before'].max():.0f} %, and are {wider.min():.1f} to {wider.max():.1f} times "
        f"as wide; "
        f"those of measurements miss {100 * worst['missed_measured'].min():.1f} to "
        f"{100 * worst['missed_measured'].max():.1f} %. The error of fused estimates is "
        f"{ratio.min():.2f} to {ratio.max():.2f} times that of measurements; by the papers' weights "
        f"{papers.min():.2f} to {papers.max():.2f} times"
    )
    return Comparison(holds=bool(holds and (ratio <= 1 + 1 / np.sqrt(runs)).all()), text=text)


EXPERIMENTS = (
    Experiment.of(
        "coverage",
        Computation(
            name="coverage",
            compute=_compute,
            parameters={
                "k": 20,
                "epsilon": [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0],
                "threshold": {RETAIL_NAME: 1500, T10_NAME: 4000, RATINGS_NAME: 150},
            },
            data=FURTHER,
            counted=lambda runs: f"{max(1, runs // _FEWER):,} runs per point",
        ),
        draw_coverage,
        _compare,
    ),
)
