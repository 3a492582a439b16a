"""Ding 2020, figure 5-1: the best share θ of the threshold for geometric noise, against the closed form."""

from __future__ import annotations

import math

from freegap.laws import GEOMETRIC
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.figures.estimates import draw_shares
from freegap_evidence.experiments.table import Table


def best_share(k: int, epsilon: float) -> float:
    """The θ with the least variance of a gap, geometric noise on counts, by L-BFGS as in the paper."""
    from scipy.optimize import minimize

    def log_variance(theta: list[float]) -> float:
        # The logarithm has the same minimum, and a slope that does not depend on the size of k and ε.
        threshold, answer = 1 / (theta[0] * epsilon), k / ((1 - theta[0]) * epsilon)
        return math.log(GEOMETRIC.variance(threshold) + GEOMETRIC.variance(answer))

    found = minimize(
        log_variance, x0=[0.3], method="L-BFGS-B", bounds=[(1e-3, 1 - 1e-3)], options={"ftol": 1e-15}
    )
    return float(found.x[0])


def _compute(setting: ExperimentSetting) -> Table:
    epsilon = setting.parameters["epsilon"]
    return Table.of(
        {
            "k": k,
            "epsilon": epsilon,
            "best_share": best_share(k, epsilon),
            "closed_form": 1 / (1 + k ** (2 / 3)),
        }
        for k in setting.track(setting.parameters["k"])
    )


def _compare(table: Table) -> Comparison:
    off = abs(table.numbers("best_share") - table.numbers("closed_form"))
    at = int(table.numbers("k")[off.argmax()])
    return Comparison(
        holds=bool(off.max() < 0.01), text=f"the largest difference in θ is {off.max():.0e}, at k = {at}"
    )


EXPERIMENTS = (
    Experiment.of(
        "fig-5-1",
        Computation(
            name="shares",
            compute=_compute,
            parameters={"k": list(range(1, 51)), "epsilon": 0.7},
            counted=lambda runs: "computed, without runs",
        ),
        draw_shares,
        _compare,
    ),
)
