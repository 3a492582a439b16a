"""Beyond the papers: the sparse vector with its threshold raised, so that noise alone seldom passes it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

import freegap as fg
from freegap.report.pictures import BLUE, ORANGE, panels
from freegap_evidence.experiments.data.sets import BMS_POS_NAME, KOSARAK_NAME, T40_NAME, DataSet
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.simulate.above import plan
from freegap_evidence.experiments.simulate.questions import asked
from freegap_evidence.experiments.table import Table

AS_IT_IS = "as it is"


def _compute(setting: ExperimentSetting) -> Table:
    k = setting.parameters["k"]

    def point(data: DataSet, budget: str, above: int, alarms: str) -> dict[str, Any]:
        epsilon = Fraction(budget)
        line = float(data.counts[above - 1] + data.counts[above]) / 2
        shift = 0.0
        if alarms != AS_IT_IS:
            public: dict[str, Any] = {"questions": len(data.counts), "k": k, "epsilon": epsilon}
            shift = float(fg.threshold_shift(false_alarms=alarms, monotonic=True, **public))
        lines = np.array([line + shift])
        rng = setting.rng(data.name, budget, above, alarms)
        right, found = [], []
        for part in asked(data.counts, plan(k, epsilon), lines, runs=setting.runs, rng=rng):
            found.append(part.answered.above.sum(axis=1))
            right.append((part.answered.above & (part.counts > line)).sum(axis=1))
        rights, founds, wanted = np.concatenate(right), np.concatenate(found), min(k, above)
        return {
            "data": data.name,
            "epsilon": float(epsilon),
            "k": k,
            "above": above,
            "threshold": alarms,
            "shift": shift,
            "false": float((founds - rights).mean()),
            "false_error": float((founds - rights).std() / np.sqrt(setting.runs)),
            "precision": float(rights.sum() / max(founds.sum(), 1)),
            "recall": float((rights / wanted).mean()),
            "f": float((2 * rights / np.maximum(founds + wanted, 1)).mean()),
        }

    p = setting.parameters
    points = [
        (d, e, n, a) for d in setting.data for e in p["epsilon"] for n in p["above"] for a in p["threshold"]
    ]
    return Table.of(point(*each) for each in setting.track(points))


def _draw(table: Table) -> Any:
    levels, rules, names = (table.distinct(name) for name in ("epsilon", "threshold", "data"))
    figure, axes = panels(1, len(levels), size=(4.8, 3.6))
    for own, epsilon in zip(axes, levels, strict=True):
        for name, line in zip(names, ("-", "--", ":"), strict=False):
            for rule, colour in ((rules[0], BLUE), (rules[-1], ORANGE)):
                rows = table.where(epsilon=epsilon, threshold=rule, data=name)
                label = f"{name}, {rule if rule == AS_IT_IS else 'raised'}"
                own.plot(
                    rows.numbers("above"), rows.numbers("f"), line, color=colour, marker="o", label=label
                )
        own.set(
            xscale="log", xlabel="number of items above the threshold", ylabel="F-measure", ylim=(0, 1.05)
        )
        own.set_title(f"ε = {epsilon:g}")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _compare(table: Table) -> Comparison:
    raised = [row for row in table.records() if row["threshold"] != AS_IT_IS]
    holds = all(row["false"] <= float(row["threshold"]) + 5 * row["false_error"] for row in raised)
    k, gains = table.distinct("k")[0], {True: [0.0], False: [0.0]}
    for row in raised:
        same = {name: row[name] for name in ("data", "epsilon", "above")}
        plain = table.where(threshold=AS_IT_IS, **same).numbers("f")[0]
        gains[row["above"] > k].append(row["f"] - float(plain))
    return Comparison(
        holds=holds,
        text=f"at most {max(row['false'] for row in raised):.2f} false alarms on average. Where more than "
        f"{k} are above the threshold, the F-measure changes by {min(gains[True]):+.2f} to "
        f"{max(gains[True]):+.2f}; where no more are, by {min(gains[False]):+.2f} to "
        f"{max(gains[False]):+.2f}",
    )


EXPERIMENTS = (
    Experiment.of(
        "threshold-shift",
        Computation(
            name="threshold shift",
            compute=_compute,
            parameters={
                "k": 12,
                "epsilon": ["0.1", "0.02", "0.005"],
                "above": [6, 12, 48],
                "threshold": [AS_IT_IS, "6", "1"],
            },
            data=(BMS_POS_NAME, KOSARAK_NAME, T40_NAME),
        ),
        _draw,
        _compare,
    ),
)
