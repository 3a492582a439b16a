"""Beyond the papers: do the exact mechanisms and their insecure twins agree, and what do they cost?"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.bits import SeededBits
from freegap.estimate.bounds import gap_noise
from freegap.estimate.selection import Estimates, select_and_measure
from freegap.mechanisms.sparse_vector import adaptive_sparse_vector, sparse_vector
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k import noisy_top_k
from freegap_evidence.bench.timing import interleaved_ms
from freegap_evidence.bench.top_k import insecure_top_k
from freegap_evidence.experiments.adaptivity import ask_runs
from freegap_evidence.experiments.data.sets import BMS_POS_NAME, PAPERS, DataSet
from freegap_evidence.experiments.error_reduction import errors_of, sparse_vector_errors, top_k_errors
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.figures.beyond import draw_agreement, draw_cost
from freegap_evidence.experiments.simulate.above import answer, draw_threshold_noise, plan
from freegap_evidence.experiments.simulate.estimates import blue, inverse_variance
from freegap_evidence.experiments.simulate.noise import Floats
from freegap_evidence.experiments.simulate.questions import random_lines
from freegap_evidence.experiments.table import Table

EPSILON = Fraction("0.7")
MEASURES = ("top-k", "sparse-vector", "adaptive")
"""The reduction of the squared error in percent, twice, and the number of answers above the threshold."""
_FEWER = 10  # an exact release costs about a millisecond; its twin, microseconds


def _exact_reduction(
    data: DataSet, k: int, runs: int, rng: np.random.Generator, bits: SeededBits, *, by_threshold: bool
) -> tuple[float, float]:
    """The reduction of the squared error in percent by the papers' weights, and its standard error."""
    with_gaps, without = np.zeros(runs), np.zeros(runs)
    lines = random_lines(data.counts, k)
    for run in range(runs):
        asked = rng.permutation(data.counts)
        threshold = int(rng.choice(lines)) if by_threshold else None
        made = select_and_measure(asked, k, epsilon=EPSILON, threshold=threshold, monotonic=True, bits=bits)
        truth = asked[list(made.indices)]
        with_gaps[run] = ((_fused(made) - truth) ** 2).sum()
        without[run] = ((np.array([float(e) for e in made.measured]) - truth) ** 2).sum()
    fused, measured, spread = errors_of([with_gaps, without], 1)
    return 100 * (1 - fused / measured), spread


def _fused(made: Estimates) -> Floats:
    """What the papers estimate from an exact release: all the way to the best weights without selection."""
    measured = np.array([float(value) for value in made.measured])
    plan = made.selection.plan
    if made.measurement is None:
        return measured
    variance = float(made.measurement.variance)
    if isinstance(plan, ThresholdPlan):
        noise = gap_noise(plan, 0)
        by_gap = np.array([float(estimate) for estimate in made.selection.estimates])  # type: ignore[union-attr]
        return inverse_variance(measured, variance, by_gap, noise.variance)
    gaps = np.array([float(gap) for gap in made.selection.gaps[:-1] if gap is not None])
    ratio = float(plan.parameters["scale"]) ** 2 / variance  # exponential noise
    return np.asarray(blue(measured[np.newaxis], gaps[np.newaxis], ratio)[0])


def _exact_answers(
    data: DataSet, k: int, runs: int, rng: np.random.Generator, bits: SeededBits
) -> tuple[float, float]:
    lines = random_lines(data.counts, k)
    counts = np.zeros(runs)
    for run in range(runs):
        threshold = int(rng.choice(lines))
        made = adaptive_sparse_vector(
            rng.permutation(data.counts), threshold, k=k, epsilon=EPSILON, monotonic=True, bits=bits
        )
        counts[run] = len(made.indices)
    return counts.mean(), counts.std() / np.sqrt(runs)


def _twin(measure: str, data: DataSet, k: int, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    if measure == "adaptive":
        found = ask_runs(data, k, 1, EPSILON, runs=runs, rng=rng)
        return found["answers"], found["standard_error"]
    errors = top_k_errors if measure == "top-k" else sparse_vector_errors
    with_gaps, without, spread = errors(data, k, EPSILON, "exponential", runs=runs, rng=rng)
    return 100 * (1 - with_gaps / without), spread


def _exact(measure: str, data: DataSet, k: int, runs: int, setting: ExperimentSetting) -> tuple[float, float]:
    rng = setting.rng(measure, k, "exact")
    bits = SeededBits(f"{setting.seed} {measure} {k}")
    if measure == "adaptive":
        return _exact_answers(data, k, runs, rng, bits)
    return _exact_reduction(data, k, runs, rng, bits, by_threshold=measure == "sparse-vector")


def _compute_agreement(setting: ExperimentSetting) -> Table:
    data = setting.data[0]
    exact_runs = max(200, setting.runs // _FEWER)

    def point(measure: str, k: int) -> dict[str, Any]:
        exact, exact_error = _exact(measure, data, k, exact_runs, setting)
        twin, twin_error = _twin(measure, data, k, setting.runs, setting.rng(measure, k, "twin"))
        return {
            "data": data.name,
            "measure": measure,
            "k": k,
            "exact": exact,
            "exact_standard_error": exact_error,
            "insecure": twin,
            "insecure_standard_error": twin_error,
        }

    points = [(measure, k) for measure in MEASURES for k in setting.parameters["k"]]
    return Table.of(point(*p) for p in setting.track(points))


def _compare_agreement(table: Table) -> Comparison:
    off = table.numbers("exact") - table.numbers("insecure")
    error = np.hypot(table.numbers("exact_standard_error"), table.numbers("insecure_standard_error"))
    # One answer in a million runs apart is no difference; a spread of zero would make it one.
    deviations = np.abs(off) / np.maximum(error, 1e-3)
    worst = int(deviations.argmax())
    row = table.records()[worst]
    return Comparison(
        holds=bool(deviations.max() < 4.5),
        text=f"of {len(off)} points the two are at most {deviations.max():.1f} standard errors apart "
        f"({row['measure']}, k = {row['k']}: exact {row['exact']:.2f}, insecure {row['insecure']:.2f})",
    )


def _compute_cost(setting: ExperimentSetting) -> Table:
    k = setting.parameters["k"]
    rounds = min(40, max(5, setting.runs // 100))

    def point(data: DataSet) -> list[dict[str, Any]]:
        answers = np.random.default_rng(1).permutation(data.counts)
        threshold = int(data.counts[4 * k])
        generator = np.random.default_rng(1)
        offsets = (answers - threshold)[None, :].astype(np.float64)

        def insecure(branches: int) -> Callable[[], object]:
            budget = plan(k, EPSILON, branches=branches)
            return lambda: answer(offsets, budget, draw_threshold_noise(budget, 1, len(answers), generator))

        shared: dict[str, Any] = {"k": k, "epsilon": EPSILON, "monotonic": True}
        pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "Noisy Top-K": (
                lambda: noisy_top_k(answers, **shared),
                lambda: insecure_top_k(answers, k, float(k / EPSILON), generator),
            ),
            "SVT": (lambda: sparse_vector(answers, threshold, **shared), insecure(0)),
            "Adaptive SVT": (lambda: adaptive_sparse_vector(answers, threshold, **shared), insecure(1)),
        }
        rows = []
        for name, (exact, twin) in pairs.items():
            times = interleaved_ms({"exact": exact, "insecure": twin}, rounds=rounds, clock=time.process_time)
            rows.append(
                {
                    "data": data.name,
                    "n": len(answers),
                    "mechanism": name,
                    "exact_ms": times["exact"],
                    "insecure_ms": times["insecure"],
                    "ratio": times["exact"] / times["insecure"],
                }
            )
        return rows

    return Table.of(row for data in setting.track(setting.data) for row in point(data))


def _compare_cost(table: Table) -> Comparison:
    largest = table.where(n=max(table.distinct("n")))
    at = ", ".join(f"{r['mechanism']} {r['ratio']:.1f}" for r in largest.records())
    exact = table.numbers("exact_ms")
    return Comparison(
        holds=bool(exact.max() < 20),
        text=f"an exact release takes {exact.min():.2f} to {exact.max():.2f} ms; at n = "
        f"{max(table.distinct('n')):,} it takes so many times the insecure one: {at}",
    )


EXPERIMENTS = (
    Experiment.of(
        "exact-accuracy",
        Computation(
            name="exact-accuracy",
            compute=_compute_agreement,
            parameters={"k": [2, 6, 10, 14, 18, 24], "epsilon": str(EPSILON), "fewer": _FEWER},
            data=(BMS_POS_NAME,),
            counted=lambda runs: f"{max(200, runs // _FEWER):,} exact and {runs:,} insecure runs per point",
        ),
        draw_agreement,
        _compare_agreement,
    ),
    Experiment.of(
        "exact-time",
        Computation(
            name="exact-time",
            compute=_compute_cost,
            parameters={"k": 24, "epsilon": str(EPSILON)},
            data=PAPERS,
            timed=True,
            counted=lambda runs: f"medians of {min(40, max(5, runs // 100))} releases",
        ),
        draw_cost,
        _compare_cost,
    ),
)
