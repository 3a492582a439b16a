"""Beyond the papers: hybrid, top-k or adaptive? Which mechanism finds what a user wants, for what budget.

A user has room for k items and a threshold. What they want is either *the k largest, as far as they are above
the threshold*, or *as many as possible of those above it*. How many are above, they do not know; the picture
shows each mechanism against that number.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from freegap_evidence.experiments.data.sets import BMS_POS_NAME, T40_NAME, DataSet
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.figures.beyond import draw_choosing
from freegap_evidence.experiments.hybrids import ADAPTIVE, HYBRID_SVT, HYBRID_TOP_K, SVT, TOP_K, returned
from freegap_evidence.experiments.simulate.noise import Floats
from freegap_evidence.experiments.table import Table

ALGORITHMS = (TOP_K, HYBRID_TOP_K, HYBRID_SVT, SVT, ADAPTIVE)


def _f_measure(found: Floats, line: float, there: int) -> float:
    """The mean over runs of the harmonic mean of precision and recall, for the items at or above a line."""
    returned_items = (~np.isnan(found)).sum(axis=1)
    right = np.minimum((found >= line).sum(axis=1), there)  # NaN compares as false
    return float((2 * right / np.maximum(returned_items + there, 1)).mean())


def _compute(setting: ExperimentSetting) -> Table:
    k = setting.parameters["k"]

    def point(data: DataSet, budget: str, rank: int, algorithm: str) -> dict[str, Any]:
        epsilon = Fraction(budget)
        rng = setting.rng(data.name, budget, rank, algorithm)
        # Midway to the next count: as many items as that are above, and none lies on the line itself.
        line = float(data.counts[rank - 1] + data.counts[rank]) / 2
        found, spent = returned(algorithm, data, line, k, epsilon, runs=setting.runs, rng=rng)
        wanted = min(rank, k)
        return {
            "data": data.name,
            "epsilon": float(epsilon),
            "k": k,
            "above": rank,
            "algorithm": algorithm,
            "f_largest": _f_measure(found, float(data.counts[wanted - 1]), wanted),
            "f_all": _f_measure(found, float(data.counts[rank - 1]), rank),
            "returned": (~np.isnan(found)).sum(axis=1).mean(),
            "spent": 100 * spent.mean() / float(epsilon),
        }

    p = setting.parameters
    points = [
        (d, e, r, a) for d in setting.data for e in p["epsilon"] for r in p["above"] for a in ALGORITHMS
    ]
    return Table.of(point(*p) for p in setting.track(points))


def _compare(table: Table) -> Comparison:
    k = table.distinct("k")[0]
    first = table.where(data=table.distinct("data")[0], epsilon=table.distinct("epsilon")[0])
    last = table.where(data=table.distinct("data")[-1], epsilon=table.distinct("epsilon")[-1])

    def value(rows: Table, column: str, above: int, algorithm: str) -> float:
        return float(rows.where(above=above, algorithm=algorithm).numbers(column)[0])

    few, some, many = min(table.distinct("above")), k // 2, max(table.distinct("above"))
    lacking = value(first, "f_largest", few, TOP_K)
    hybrid = min(value(first, "f_largest", above, HYBRID_TOP_K) for above in table.distinct("above"))
    gain = value(first, "f_all", many, ADAPTIVE) / value(first, "f_all", many, HYBRID_TOP_K)
    noisy = [value(last, "f_largest", some, a) for a in (HYBRID_TOP_K, HYBRID_SVT, ADAPTIVE, TOP_K)]
    spent = [value(first, "spent", some, a) for a in (HYBRID_TOP_K, ADAPTIVE, TOP_K)]
    text = (
        f"where counts lie far apart, Hybrid Top-K has an F-measure of at least {hybrid:.2f} for the {k} "
        f"largest above the threshold, however many there are; Top-K {lacking:.2f} with {few} above; for all "
        f"above, Adaptive SVT reaches {gain:.1f} times Hybrid Top-K's with {many} above; with {some} above "
        f"Hybrid Top-K spends {spent[0]:.0f} %, Adaptive SVT {spent[1]:.0f} % and Top-K {spent[2]:.0f} % of "
        f"ε. Where counts lie closer than the noise, with {some} above: Hybrid Top-K {noisy[0]:.2f}, Hybrid "
        f"SVT {noisy[1]:.2f}, Adaptive SVT {noisy[2]:.2f}, Top-K {noisy[3]:.2f}"
    )
    best = noisy[0] >= max(noisy) - 0.05
    return Comparison(holds=hybrid > 0.95 and lacking < 0.5 and gain > 1.3 and best, text=text)


EXPERIMENTS = (
    Experiment.of(
        "choosing",
        Computation(
            name="choosing",
            compute=_compute,
            parameters={
                "k": 12,
                "epsilon": ["0.7", "0.02"],
                "above": [2, 4, 6, 8, 10, 12, 14, 18, 24, 36, 48, 72, 96],
            },
            data=(BMS_POS_NAME, T40_NAME),
        ),
        draw_choosing,
        _compare,
    ),
)
