"""Ding 2020, figure 5-9: how often the exponential mechanism's p-value errs (theorem 5.14, section 5.8.4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from freegap_evidence.experiments.data.sets import BMS_POS_NAME
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.figures.estimates import draw_type_one
from freegap_evidence.experiments.simulate.noise import chunks
from freegap_evidence.experiments.simulate.ranked import choose
from freegap_evidence.experiments.table import Table


def _compute(setting: ExperimentSetting) -> Table:
    data = setting.data[0]
    parameters = setting.parameters
    utilities = setting.rng("utilities").choice(data.counts, parameters["candidates"]).astype(np.float64)
    runs = 10 * setting.runs  # the paper has 100,000 here and 10,000 elsewhere

    def point(millionths: int) -> list[dict[str, Any]]:
        epsilon = millionths * 1e-6
        rng = setting.rng(millionths)
        wrong, p_values = 0, []
        for size in chunks(runs, len(utilities)):
            noise = rng.gumbel(size=(size, len(utilities)))
            chosen, gaps = choose(epsilon * utilities / 2, noise)
            missed = utilities[chosen] < utilities.max()
            wrong += int(missed.sum())
            p_values.append(2 / (1 + np.exp(gaps[missed])))
        erred = np.concatenate(p_values)
        return [
            {
                "epsilon": epsilon,
                "alpha": alpha,
                "runs": runs,
                "not_optimal": wrong,
                "rejected": int((erred <= alpha).sum()),
                "type_one_error": float((erred <= alpha).mean()) if wrong else 0.0,
            }
            for alpha in parameters["alpha"]
        ]

    return Table.of(row for value in setting.track(parameters["epsilon_millionths"]) for row in point(value))


def _compare(table: Table) -> Comparison:
    errors, levels = table.numbers("type_one_error"), table.numbers("alpha")
    # Four standard deviations of a share that is exactly α: less than one in ten thousand to fail by chance.
    slack = 4 * np.sqrt(levels * (1 - levels) / np.maximum(table.numbers("not_optimal"), 1))
    worst = ", ".join(
        f"α = {a:g}: at most {errors[levels == a].max():.4f}" for a in sorted(set(levels.tolist()))
    )
    return Comparison(holds=bool((errors <= levels + slack).all()), text=f"type I error {worst}")


EXPERIMENTS = (
    Experiment.of(
        "fig-5-9",
        Computation(
            name="p-values",
            compute=_compute,
            parameters={"candidates": 100, "epsilon_millionths": list(range(1, 12)), "alpha": [0.05, 0.01]},
            data=(BMS_POS_NAME,),
            counted=lambda runs: f"{10 * runs:,} runs per point",
        ),
        draw_type_one,
        _compare,
    ),
)
