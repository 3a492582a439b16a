"""Which measure to choose: errors under ε and under the ρ that is as much with a δ, computed and measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import freegap as fg
from freegap.estimate.expected import top_k_errors
from freegap.report.pictures import BLUE, INK, ORANGE, panels
from freegap.values.measures import Pure, ZeroConcentrated, rho_within
from freegap.values.rationals import rational
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.table import Table

_APART = 20_000  # so that every item keeps its place, and errors are those of the noise


def errors(asked: Pure | ZeroConcentrated, k: int) -> tuple[float, float]:
    """The standard errors of a gap and, with half of the budget for measuring, of an estimate; for counts."""
    estimate = top_k_errors(asked, k, None, measured=True).estimate
    return top_k_errors(asked, k, None, measured=False).gap, estimate or math.nan


def _measured(asked: Pure | ZeroConcentrated, k: int, releases: int, seed: int) -> float:
    """The root mean squared error of so many releases."""
    counts = np.arange(k + 2, 0, -1, dtype=np.int64) * _APART
    bits = fg.SeededBits(f"{seed} {asked} {k}")
    amounts: dict[str, Any] = asked.arguments()
    squares: list[float] = []
    for _ in range(releases):
        found = fg.select_and_measure(counts, k, monotonic=True, bits=bits, **amounts)
        pairs = zip(found.estimates, found.indices, strict=True)
        squares += [float(estimate - int(counts[i])) ** 2 for estimate, i in pairs]
    return math.sqrt(sum(squares) / len(squares))


def _compute(setting: ExperimentSetting) -> Table:
    p = setting.parameters
    pure = Pure(rational("epsilon", p["epsilon"]))
    same = ZeroConcentrated(rho_within(p["epsilon"], p["delta"]))

    def point(k: int) -> dict[str, Any]:
        row: dict[str, Any] = {"k": k, "epsilon": p["epsilon"], "delta": p["delta"], "rho": float(same.rho)}
        for name, asked in (("epsilon", pure), ("rho", same)):
            row[f"gap_error_{name}"], row[f"estimate_error_{name}"] = errors(asked, k)
            row[f"measured_{name}"] = _measured(asked, k, p["releases"], setting.seed)
        return row

    return Table.of(point(k) for k in setting.track(p["k"]))


def _draw(table: Table) -> Any:
    figure, axes = panels(1, 2, size=(5.2, 3.8))
    k = table.numbers("k")
    for own, kind, title in (
        (axes[0], "gap_error", "of a gap"),
        (axes[1], "estimate_error", "of an estimate"),
    ):
        for name, colour, label in (
            ("epsilon", BLUE, "ε = 1"),
            ("rho", ORANGE, "ρ with the same ε at δ = 10⁻⁶"),
        ):
            own.plot(k, table.numbers(f"{kind}_{name}"), color=colour, label=label)
            if kind == "estimate_error":
                own.plot(k, table.numbers(f"measured_{name}"), "o", color=colour, markersize=4)
        own.set(xscale="log", yscale="log", xlabel="k", ylabel=f"standard error {title}, people")
    axes[1].plot([], [], "o", color=INK, markersize=4, label="measured")
    axes[1].legend(frameon=False)
    return figure


def _compare(table: Table) -> Comparison:
    k = table.numbers("k")
    ratio = table.numbers("measured_epsilon") / table.numbers("measured_rho")
    found, stated = (
        np.array([table.numbers(f"{kind}_{name}")[k >= 10] for name in ("epsilon", "rho")])
        for kind in ("measured", "estimate_error")
    )
    off = float(np.abs(found / stated - 1).max())
    many = ratio[k >= 100]
    first = int(k[table.numbers("gap_error_rho") < table.numbers("gap_error_epsilon")].min())
    text = (
        f"gaps are more exact under ρ from k = {first} on; estimates of 100 items and more are "
        f"{many.min():.1f} to {many.max():.1f} times as exact; what was measured is within {100 * off:.0f} % "
        "of the formulas"
    )
    return Comparison(holds=bool(many.min() >= 3 and off < 0.25), text=text)


EXPERIMENTS = (
    Experiment.of(
        "measures",
        Computation(
            name="measures",
            compute=_compute,
            parameters={
                "epsilon": 1,
                "delta": "1e-6",
                "releases": 40,
                "k": [1, 2, 3, 5, 7, 10, 20, 50, 100, 200, 400, 800],
            },
            counted=lambda runs: "40 releases per point",
        ),
        _draw,
        _compare,
    ),
)
