"""Beyond the papers: which part of ε should select, and which measure?

The papers take one half each. With the part s for selecting, exponential noise on counts has variances
(k/sε)² for the selection and 2(k/(1−s)ε)² for the measurements, and corollary 5.9.1 gives that of the fused
estimates. It is least for small s: a measurement with twice the budget has a quarter of the variance, and
gaps take away two thirds at most. But a selection with little budget selects wrongly. So an estimate is
compared with what it stands for in the answer, the count that really has its rank: a wrong item counts as an
error.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from freegap.estimate.fusion import blue_variance_ratio
from freegap.laws import EXPONENTIAL, LAPLACE
from freegap_evidence.experiments.data.sets import BMS_POS_NAME, T40_NAME, DataSet
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.figures.beyond import draw_split
from freegap_evidence.experiments.simulate.estimates import blue
from freegap_evidence.experiments.simulate.noise import chunks, reach
from freegap_evidence.experiments.simulate.ranked import top_k
from freegap_evidence.experiments.table import Table


def fused_variance(k: int, split: float, epsilon: float) -> float:
    """The variance of a fused estimate by corollary 5.9.1, exponential noise on counts.

    >>> fused_variance(10**6, 0.5, 1.0) / (8 * 10**12)  # a third of the measurement's
    0.333...
    """
    measured = 2 * (k / ((1 - split) * epsilon)) ** 2
    ratio = Fraction((k / (split * epsilon)) ** 2 / measured)
    return measured * float(blue_variance_ratio(k, ratio))


def _simulate(
    data: DataSet, k: int, split: float, epsilon: float, runs: int, rng: np.random.Generator
) -> dict[str, float]:
    select, measure = k / (split * epsilon), k / ((1 - split) * epsilon)
    floor = float(data.counts[k]) - reach(select, select, chances=runs * len(data.counts))
    near = data.counts[data.counts >= floor].astype(np.float64)
    by_rank = data.counts[:k].astype(np.float64)
    squares, right = np.zeros(3), 0
    for size in chunks(runs, len(near)):
        ranked = top_k(near, k, EXPONENTIAL.sample(rng, select, (size, len(near))))
        truth = near[ranked.items]
        measured = truth + LAPLACE.sample(rng, measure, (size, k))
        fused = blue(measured, ranked.gaps[:, :-1], select**2 / (2 * measure**2))
        squares += [((fused - line) ** 2).sum() for line in (by_rank, truth)] + [
            ((measured - by_rank) ** 2).sum()
        ]
        right += int((truth >= by_rank[-1]).sum())
    errors = np.sqrt(squares / (runs * k))
    names = ("rmse_of_rank", "rmse_of_item", "rmse_of_rank_measured_only")
    return dict(zip(names, errors, strict=True)) | {"share_of_top_k": right / (runs * k)}


def _compute(setting: ExperimentSetting) -> Table:
    def point(data: DataSet, epsilon: float, k: int, percent: int) -> dict[str, Any]:
        rng = setting.rng(data.name, epsilon, k, percent)
        return {
            "data": data.name,
            "epsilon": epsilon,
            "k": k,
            "split": percent / 100,
            "runs": setting.runs,
            **_simulate(data, k, percent / 100, epsilon, setting.runs, rng),
            "closed_form": np.sqrt(fused_variance(k, percent / 100, epsilon)),
        }

    p = setting.parameters
    points = [(d, e, k, s) for d in setting.data for e in p["epsilon"] for k in p["k"] for s in p["percent"]]
    return Table.of(point(*x) for x in setting.track(points))


def _compare(table: Table) -> Comparison:
    clear = table.numbers("share_of_top_k") > 0.999
    off = np.abs(table.numbers("rmse_of_item") / table.numbers("closed_form") - 1)[clear]
    # A squared Laplace variable varies by √5 times its mean, items of one run not independently.
    chance = 4 * 1.2 / np.sqrt(table.numbers("runs"))[clear]
    parts = []
    for name in table.distinct("data"):
        for epsilon in table.distinct("epsilon"):
            best = []
            for k in table.distinct("k"):
                rows = table.where(data=name, epsilon=epsilon, k=k).records()
                least = min(rows, key=lambda row: float(row["rmse_of_rank"]))
                half = next(row for row in rows if row["split"] == 0.5)
                saved = 100 * (1 - (least["rmse_of_rank"] / half["rmse_of_rank"]) ** 2)
                best.append(f"{100 * least['split']:.0f} % at k = {k} (−{saved:.0f} %)")
            parts.append(f"{name}, ε = {epsilon:g}: {', '.join(best)}")
    text = (
        "the best part for selecting, and how much less squared error than with one half: "
        + "; ".join(parts)
        + f". Where the right items are selected, the closed form is off by at most {100 * off.max():.0f} %"
    )
    return Comparison(holds=bool((off < 0.05 + chance).all()), text=text)


EXPERIMENTS = (
    Experiment.of(
        "split",
        Computation(
            name="split",
            compute=_compute,
            parameters={
                "k": [2, 10, 24],
                "percent": [4, 6, 8, *range(10, 91, 5)],
                "epsilon": [0.7, 0.1],
            },
            data=(BMS_POS_NAME, T40_NAME),
        ),
        draw_split,
        _compare,
    ),
)
