"""Ding 2020, figures 5-7 and 5-8: what the hybrids of top-k and sparse vector save, and what they return."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.laws import EXPONENTIAL
from freegap_evidence.experiments.data.sets import BMS_POS_NAME, PAPERS, DataSet
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.figures.hybrids import draw_average, draw_remaining
from freegap_evidence.experiments.simulate.above import draw_threshold_noise, plan
from freegap_evidence.experiments.simulate.noise import Floats, chunks, reach
from freegap_evidence.experiments.simulate.questions import asked
from freegap_evidence.experiments.simulate.ranked import RankedRuns, hybrid_sparse_vector, hybrid_top_k, top_k
from freegap_evidence.experiments.table import Table

EPSILON = Fraction("0.7")
HYBRID_TOP_K, HYBRID_SVT, TOP_K, SVT = ALGORITHMS = (
    "Hybrid Noisy Top-K",
    "Hybrid Sparse Vector",
    "Noisy Top-K",
    "Sparse Vector",
)
ADAPTIVE = "Adaptive SVT"

Returned = tuple[Floats, Floats]
"""For each run: the true counts of what was returned (NaN where fewer), and the budget charged."""


def returned(
    algorithm: str,
    data: DataSet,
    line: float,
    k: int,
    epsilon: Fraction,
    *,
    runs: int,
    rng: np.random.Generator,
) -> Returned:
    """Runs of one algorithm with this threshold; exponential noise. The adaptive one returns up to 2k − 1."""
    if algorithm in (SVT, ADAPTIVE):
        branches = int(algorithm == ADAPTIVE)
        pieces = []
        for some in asked(
            data.counts, plan(k, epsilon, branches=branches), np.array([line]), runs=runs, rng=rng
        ):
            rows, places = np.nonzero(some.answered.above)
            kept = np.full((len(some.counts), k << branches), np.nan)
            kept[rows, some.answered.order[rows, places] - 1] = some.counts[rows, places]
            pieces.append((kept, some.answered.spent()))
    else:
        pieces = list(_ranked(algorithm, data, line, k, epsilon, runs, rng))
    return np.concatenate([kept for kept, _ in pieces]), np.concatenate([spent for _, spent in pieces])


def _ranked(
    algorithm: str, data: DataSet, line: float, k: int, epsilon: Fraction, runs: int, rng: np.random.Generator
) -> Iterator[Returned]:
    budget = plan(k, epsilon)
    scale = float(k / epsilon)
    widest = max(scale, float(budget.branches[-1].scale))
    far = reach(widest, max(scale, float(budget.threshold_scale)), chances=runs * len(data.counts))
    near = data.counts[data.counts >= float(data.counts[k]) - far].astype(np.float64)
    for size in chunks(runs, len(near) + 1):
        ranked: RankedRuns
        if algorithm == TOP_K:
            ranked = top_k(near, k, EXPONENTIAL.sample(rng, scale, (size, len(near))))
            spent = np.full(size, float(epsilon))
        elif algorithm == HYBRID_TOP_K:
            noise = EXPONENTIAL.sample(rng, scale, (size, len(near) + 1))
            ranked = hybrid_top_k(near, line, k, noise)
            reached = 0 if ranked.reached is None else ranked.reached
            spent = float(epsilon) * (ranked.released.sum(axis=1) + reached) / k
        else:
            ranked = hybrid_sparse_vector(
                near, line, budget, draw_threshold_noise(budget, size, len(near), rng)
            )
            charged = float(budget.answer_budget) * ranked.released.sum(axis=1)
            spent = float(budget.threshold_budget) + charged
        yield np.where(ranked.released, near[ranked.items], np.nan), np.asarray(spent, dtype=np.float64)


def _compute(setting: ExperimentSetting) -> Table:
    rank = setting.parameters["threshold_rank"]

    def point(data: DataSet, algorithm: str, k: int) -> dict[str, Any]:
        rng = setting.rng(data.name, algorithm, k)
        line = float(data.counts[rank - 1])
        counts, spent = returned(algorithm, data, line, k, EPSILON, runs=setting.runs, rng=rng)
        some = ~np.isnan(counts).all(axis=1)
        return {
            "data": data.name,
            "algorithm": algorithm,
            "k": k,
            "threshold_rank": rank,
            "threshold": int(data.counts[rank - 1]),
            "returned": (~np.isnan(counts)).sum(axis=1).mean(),
            "average_answer": np.nanmean(counts[some], axis=1).mean() if some.any() else None,
            "remaining": 100 * max(0.0, 1 - spent.mean() / float(EPSILON)),
        }

    points = [(d, a, k) for d in setting.data for a in ALGORITHMS for k in setting.parameters["k"]]
    return Table.of(point(*p) for p in setting.track(points))


def _compare_remaining(table: Table) -> Comparison:
    last = max(table.distinct("k"))

    def left(name: str, algorithm: str, k: int) -> float:
        return float(table.where(data=name, algorithm=algorithm, k=k).numbers("remaining")[0])

    names = table.distinct("data")
    large = [k for k in table.distinct("k") if k > _rank_of(table)]
    text = f"left at k = {last} on {names[0]}: " + ", ".join(
        f"{a} {left(names[0], a, last):.0f} %" for a in ALGORITHMS
    )
    saves = all(
        left(name, a, k) > 1 and left(name, TOP_K, k) < 1e-6
        for name in names
        for k in large[1:]
        for a in ALGORITHMS
        if a != TOP_K
    )
    more = [k for k in large if all(left(n, HYBRID_TOP_K, k) > left(n, HYBRID_SVT, k) for n in names)]
    if more == large:
        return Comparison(
            holds=saves, text=f"{text}; Hybrid Top-K leaves more than Hybrid SVT for all k > 12"
        )
    since = f"only for k = {', '.join(map(str, more))}" if more else "for none of these k"
    return Comparison(
        holds=False,
        text=f"{text}; all but Top-K {'save' if saves else 'do not save'} budget for k > 12, but Hybrid "
        f"Top-K leaves more than Hybrid SVT {since}: with t items above it leaves 1 − (t+1)/k, and Hybrid "
        "SVT (1 − θ)(1 − t/k), which is less only where k − t > 1/θ = 1 + k^⅔",
    )


def _rank_of(table: Table) -> int:
    """The rank of the threshold, the same for all rows."""
    return int(table.numbers("threshold_rank")[0])


def _compare_average(table: Table) -> Comparison:
    rank = _rank_of(table)

    def answers(name: str, algorithm: str, small: bool) -> Any:
        rows = table.where(data=name, algorithm=algorithm)
        return rows.numbers("average_answer")[(rows.numbers("k") <= rank) == small]

    names = table.distinct("data")
    better = all(
        (answers(name, a, True)[:4] > answers(name, SVT, True)[:4]).all()
        for name in names
        for a in (HYBRID_TOP_K, HYBRID_SVT, TOP_K)
    )
    filtered = all(
        (answers(name, a, False) > answers(name, TOP_K, False)).all()
        for name in names
        for a in (HYBRID_TOP_K, HYBRID_SVT)
    )
    first = names[0]
    at = [answers(first, a, True)[0] for a in (HYBRID_TOP_K, SVT)]
    end = [answers(first, a, False)[-1] for a in (HYBRID_TOP_K, TOP_K)]
    return Comparison(
        holds=better and filtered,
        text=f"on {first} at the smallest k Hybrid Top-K averages {at[0]:,.0f} and SVT {at[1]:,.0f}; at the "
        f"largest k Hybrid Top-K {end[0]:,.0f} and Top-K {end[1]:,.0f}",
    )


_HYBRIDS = Computation(
    name="hybrids",
    compute=_compute,
    parameters={"k": list(range(2, 25, 2)), "threshold_rank": 12, "epsilon": str(EPSILON)},
    data=(BMS_POS_NAME, *(name for name in PAPERS if name != BMS_POS_NAME)),
)

EXPERIMENTS = (
    Experiment.of("fig-5-7", _HYBRIDS, draw_remaining, _compare_remaining),
    Experiment.of("fig-5-8", _HYBRIDS, draw_average, _compare_average),
)
