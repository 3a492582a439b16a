"""Ding 2020, figures 5-2 and 5-3; Ding et al. 2019, section 7.2; Ding et al. 2019 (arXiv), figures 1 and 2:
how much of the squared error free gaps take away (Ding 2020, sections 5.4.3, 5.5.3, 5.8.1).

Half of the budget selects, half measures; the gaps of the selection are fused into the measurements. The
baseline is the measurements alone. Ding 2020 and Ding et al. 2019 take the noise that counts need; Ding et
al. 2019 (arXiv), and a statement of Ding et al. 2019, the noise that any queries need, twice as wide for the
answers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from freegap.estimate.fusion import blue_variance_ratio
from freegap.estimate.noise_laws import GapNoise
from freegap.laws import LAPLACE, law_named
from freegap_evidence.experiments.data.sets import BMS_POS_NAME, KOSARAK_NAME, PAPERS, DataSet
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.figures.estimates import draw_grid, draw_reductions
from freegap_evidence.experiments.simulate.above import plan
from freegap_evidence.experiments.simulate.estimates import blue, inverse_variance
from freegap_evidence.experiments.simulate.noise import chunks, reach
from freegap_evidence.experiments.simulate.questions import asked, lines_of
from freegap_evidence.experiments.simulate.ranked import top_k
from freegap_evidence.experiments.table import Table

SVT, TOP_K = "SVT with Gap with Measures", "Noisy Top-K with Gap with Measures"
NOISES = {SVT: ("laplace", "exponential", "geometric"), TOP_K: ("laplace", "exponential")}

Errors = tuple[float, float, float]
"""Mean squared errors with gaps and without, and the standard error of the reduction in percent."""


def top_k_errors(
    data: DataSet,
    k: int,
    epsilon: Fraction,
    noise: str,
    *,
    runs: int,
    rng: np.random.Generator,
    monotonic: bool = True,
) -> Errors:
    """Noisy top-k with gap at ε/2, measured at ε/2, gaps fused by theorem 5.9."""
    measured_scale = float(2 * k / epsilon)
    scale = measured_scale if monotonic else 2 * measured_scale
    floor = float(data.counts[k]) - reach(scale, scale, chances=runs * len(data.counts))
    near = data.counts[data.counts >= floor].astype(np.float64)
    law = law_named(noise)
    ratio = law.variance(scale) / LAPLACE.variance(measured_scale)
    pairs = []
    for size in chunks(runs, len(near)):
        ranked = top_k(near, k, law.sample(rng, scale, (size, len(near))))
        truth = near[ranked.items]
        measured = truth + LAPLACE.sample(rng, measured_scale, (size, k))
        fused = blue(measured, ranked.gaps[:, :-1], ratio)
        pairs.append(np.stack([((fused - truth) ** 2).sum(axis=1), ((measured - truth) ** 2).sum(axis=1)]))
    return errors_of(np.concatenate(pairs, axis=1), runs * k)


def sparse_vector_errors(
    data: DataSet,
    k: int,
    epsilon: Fraction,
    noise: str,
    *,
    runs: int,
    rng: np.random.Generator,
    monotonic: bool = True,
    line: str = "random",
) -> Errors:
    """Sparse vector with gap at ε/2, measured at ε/2, weighted by inverse variances (section 5.4.3).

    line: the threshold, "random" or the "quantile", as `lines_of` has them.
    """
    budget = plan(k, epsilon / 2, noise=noise, monotonic=monotonic)
    gap = GapNoise(budget.law, budget.branches[-1].scale, budget.threshold_scale)
    scale = float(2 * k / epsilon)
    pairs, selected = [], 0
    lines, most = lines_of(line, data.counts, k)
    for some in asked(data.counts, budget, lines, runs=runs, rng=rng, most=most):
        runs_of, places = np.nonzero(some.answered.above)
        truth = some.counts[runs_of, places]
        by_gap = some.thresholds[runs_of] + some.answered.gap[runs_of, places] - gap.mean
        measured = truth + LAPLACE.sample(rng, scale, truth.shape)
        fused = inverse_variance(measured, LAPLACE.variance(scale), by_gap, gap.variance)
        size = len(some.thresholds)
        pairs.append(
            np.stack([np.bincount(runs_of, (e - truth) ** 2, minlength=size) for e in (fused, measured)])
        )
        selected += len(truth)
    return errors_of(np.concatenate(pairs, axis=1), selected)


def errors_of(sums: Any, selected: int) -> Errors:
    """From sums of squares, with gaps and without: runs are independent, items of one run are not."""
    with_gaps, without = sums
    ratio = with_gaps.sum() / without.sum()
    spread = np.std(with_gaps - ratio * without) / without.mean() / np.sqrt(len(without))
    return with_gaps.sum() / selected, without.sum() / selected, 100 * float(spread)


def _theory(mechanism: str, noise: str, k: int, epsilon: Fraction, monotonic: bool) -> float:
    """The reduction in percent by the closed forms, which take the noise as if nothing had been selected."""
    if mechanism == TOP_K:
        one = Fraction(1)
        ratio = law_named(noise).variance(one) / LAPLACE.variance(one) * (1 if monotonic else 4)
        return 100 * (1 - float(blue_variance_ratio(k, ratio)))
    budget = plan(k, epsilon / 2, noise=noise, monotonic=monotonic)
    by_gap = GapNoise(budget.law, budget.branches[-1].scale, budget.threshold_scale).variance
    measured = LAPLACE.variance(float(2 * k / epsilon))
    return float(100 * measured / (measured + by_gap))


def _point(
    setting: ExperimentSetting, data: DataSet, mechanism: str, noise: str, k: int, epsilon: Fraction
) -> dict[str, Any]:
    given = setting.parameters
    errors = top_k_errors if mechanism == TOP_K else partial(sparse_vector_errors, line=given["line"])
    rng = setting.rng(data.name, mechanism, noise, k, str(epsilon))
    runs, monotonic = given["times"] * setting.runs, given["monotonic"]
    with_gaps, without, spread = errors(data, k, epsilon, noise, runs=runs, rng=rng, monotonic=monotonic)
    return {
        "data": data.name,
        "mechanism": mechanism,
        "noise": noise,
        "k": k,
        "epsilon": float(epsilon),
        "mse_with_gaps": with_gaps,
        "mse_without": without,
        "reduction_percent": 100 * (1 - with_gaps / without),
        "standard_error": spread,
        "theory_percent": _theory(mechanism, noise, k, epsilon, monotonic),
    }


def _compute(setting: ExperimentSetting) -> Table:
    points = [
        (data, mechanism, noise, k, Fraction(epsilon))
        for data in setting.data
        for mechanism, noises in NOISES.items()
        for noise in noises
        if noise in setting.parameters["noises"]
        for k in setting.parameters["k"]
        for epsilon in setting.parameters["epsilon"]
    ]
    return Table.of(_point(setting, *point) for point in setting.track(points))


def _compare_by_k(table: Table) -> Comparison:
    last = max(table.distinct("k"))
    shown = table.where(data=table.distinct("data")[0])
    parts = []
    for mechanism in shown.distinct("mechanism"):
        rows = shown.where(mechanism=mechanism, k=last).records()
        numbers = ", ".join(
            f"{row['noise']} {row['reduction_percent']:.1f} % (theory {row['theory_percent']:.1f} %)"
            for row in rows
        )
        parts.append(f"{mechanism} at k = {last}: {numbers}")
    return _against_theory(table, "; ".join(parts))


def _compare_by_epsilon(table: Table) -> Comparison:
    shown = table.where(data=table.distinct("data")[0])
    parts = []
    for mechanism in shown.distinct("mechanism"):
        noise = shown.where(mechanism=mechanism).distinct("noise")[-1]
        rows = shown.where(mechanism=mechanism, noise=noise).numbers("reduction_percent")
        parts.append(f"{mechanism}, {noise}: {rows.min():.1f} to {rows.max():.1f} % over all ε")
    return _against_theory(table, "; ".join(parts))


_TOLERANCE = 3.0


def _against_theory(table: Table, found: str) -> Comparison:
    off = table.numbers("reduction_percent") - table.numbers("theory_percent")
    noise = 4 * table.numbers("standard_error")
    worst = int(np.argmax(np.abs(off) - noise))
    row = table.records()[worst]
    at = f"{row['mechanism']}, {row['noise']}, {row['data']}, k = {row['k']}, ε = {row['epsilon']:g}"
    off_by = f"largest distance to the closed form {off[worst]:+.1f} points ({at})"
    if abs(off[worst]) <= _TOLERANCE + noise[worst]:
        return Comparison(holds=True, text=f"{found}; {off_by}")
    reason = (
        "the closed form takes the noise of a selected item as it was drawn; where counts lie closer "
        "together than the noise, items are selected for their noise, which biases their gaps"
    )
    return Comparison(holds=False, text=f"{found}; {off_by}: {reason}")


def _compare_general(table: Table) -> Comparison:
    """That the reduction nears 20 % from below, and is what the closed form says."""
    last = max(table.distinct("k"))
    parts = []
    for mechanism in table.distinct("mechanism"):
        found = table.where(mechanism=mechanism, k=last)
        numbers = ", ".join(f"{r['data']} {r['reduction_percent']:.1f}" for r in found.records())
        parts.append(
            f"{mechanism} at k = {last}: {numbers} % (theory {found.column('theory_percent')[0]:.1f} %)"
        )
    against = _against_theory(table, "; ".join(parts))
    reached = table.where(k=last).numbers("reduction_percent")
    near = bool((reached > 14).all() and (reached < 20 + 4 * table.numbers("standard_error").max()).all())
    if against.holds and not near:
        return Comparison(holds=False, text=f"{against.text}; not near 20 % at k = {last}")
    return against


_COUNTS = {"noises": ["laplace", "exponential", "geometric"], "monotonic": True, "line": "random", "times": 1}
_ANY = {"noises": ["laplace"], "monotonic": False, "line": "random", "times": 1}
_FIRST = _ANY | {"line": "quantile", "times": 2}
_EPSILONS = ["0.1", "0.3", "0.5", "0.7", "0.9", "1.1", "1.3", "1.5"]


def _computation(
    name: str,
    ks: list[int],
    epsilons: list[str],
    queries: dict[str, Any],
    data: tuple[str, ...] = PAPERS,
) -> Computation:
    return Computation(
        name=name,
        compute=_compute,
        parameters={"k": ks, "epsilon": epsilons, **queries},
        data=data,
        counted=lambda runs: f"{queries['times'] * runs:,} runs per point",
    )


EXPERIMENTS = (
    Experiment.of(
        "fig-5-2",
        _computation("error-reduction-by-k", list(range(2, 25, 2)), ["0.7"], _COUNTS),
        partial(draw_reductions, column="k"),
        _compare_by_k,
    ),
    Experiment.of(
        "fig-5-3",
        _computation("error-reduction-by-epsilon", [10], _EPSILONS, _COUNTS, (KOSARAK_NAME, BMS_POS_NAME)),
        partial(draw_reductions, column="epsilon"),
        _compare_by_epsilon,
    ),
    Experiment.of(
        "pvldb-any-queries",
        _computation("any-queries-by-k", [2, 4, 6, 10, 14, 18, 24], ["0.7"], _ANY),
        partial(draw_grid, column="k"),
        _compare_general,
    ),
    Experiment.of(
        "arxiv-fig-1",
        _computation("first-version-by-k", [2, 5, 10, 15, 20, 25], ["0.7"], _FIRST),
        partial(draw_grid, column="k"),
        _compare_general,
    ),
    Experiment.of(
        "arxiv-fig-2",
        _computation("first-version-by-epsilon", [10], _EPSILONS, _FIRST),
        partial(draw_grid, column="epsilon"),
        _compare_by_epsilon,
    ),
)
