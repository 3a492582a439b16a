"""Ilvento 2020: what the width of the clamp and the resolution of the grid do to accuracy and cost.

The paper has no experiment; it has a caveat (section 3) and a remark on cost (section 8). The mechanism that
is run here is the one that releases, `base2.sparse_vector`, beside algorithm 1, where nothing is clamped, and
the sparse vector on continuous noise, all with the same ε, half of it for the threshold.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from freegap import base2
from freegap.bits import BitSource, SeededBits
from freegap.mechanisms.sparse_vector import sparse_vector
from freegap.values.above import AboveThreshold
from freegap_evidence.experiments.data.sets import T40_NAME
from freegap_evidence.experiments.experiment import Comparison, Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.figures.clamp import draw_clamping
from freegap_evidence.experiments.table import Table

EPSILON = Fraction(7, 10)
CLAMPED, UNCLAMPED, CONTINUOUS = "clamped (algorithm 2)", "not clamped (algorithm 1)", "continuous noise"
_WIDE = "12"  # noise scales: what the resolutions are compared at

Ask = Callable[[Any, int, BitSource], AboveThreshold]


def _runs(runs: int) -> int:
    """Releases a point: each is a real one, of milliseconds."""
    return max(10, runs // 20)


def _clamped(k: int, width: Fraction, grid: Fraction, around: int) -> Ask:
    """`base2.sparse_vector` for answers within a public distance of the threshold."""
    eta = base2.share_epsilon(EPSILON, k=k, resolution=grid)
    w = max(1, round(width / grid)) * grid

    def ask(answers: Any, line: int, bits: BitSource) -> AboveThreshold:
        low, high = line - around, line + around
        return base2.sparse_vector(
            answers, line, k=k, eta=eta, low=low, high=high, width=w, resolution=grid, bits=bits
        )

    return ask


def _unclamped(k: int) -> Ask:
    eta = base2.share_epsilon(EPSILON, k=k)
    return lambda answers, line, bits: base2.unclamped_sparse_vector(answers, line, k=k, eta=eta, bits=bits)


def _continuous(k: int) -> Ask:
    half = Fraction(1, 2)
    return lambda answers, line, bits: sparse_vector(
        answers, line, k=k, epsilon=EPSILON, share=half, noise="laplace", gap=False, bits=bits
    )


def _compute(setting: ExperimentSetting) -> Table:
    given = setting.parameters
    k, around = given["k"], given["around"]
    counts = setting.data[0].counts
    line = int(counts[k - 1] + counts[k]) // 2 + 1  # k of the counts are above it
    scale = 4 * k / EPSILON  # of the noise of the answers: 2k/(ε/2)
    contestants: list[tuple[str, str, str, Ask]] = [
        (CLAMPED, width, "1", _clamped(k, Fraction(width) * scale, Fraction(1), around))
        for width in given["widths"]
    ]
    contestants += [
        (CLAMPED, _WIDE, grid, _clamped(k, Fraction(_WIDE) * scale, Fraction(grid), around))
        for grid in given["resolutions"]
    ]
    contestants += [(UNCLAMPED, "inf", "1", _unclamped(k)), (CONTINUOUS, "inf", "0", _continuous(k))]

    def point(mechanism: str, width: str, grid: str, ask: Ask) -> dict[str, Any]:
        rng = setting.rng(mechanism, width, grid)
        bits = SeededBits(f"{setting.seed} {mechanism} {width} {grid}")
        hits, reports, spent, seconds = [], [], [], 0.0
        release = None
        for _ in range(_runs(setting.runs)):
            order = rng.permutation(counts)
            begin = time.process_time()
            release = ask(order, line, bits)
            seconds += time.process_time() - begin
            hits.append(int((order[list(release.indices)] >= line).sum()))
            reports.append(len(release.indices))
            spent.append(float(release.spent))
        f_measure = 2 * np.array(hits) / (np.array(reports) + k)
        return {
            "mechanism": mechanism,
            "width_scales": float(width),
            "resolution": float(Fraction(grid)),
            "f_measure": f_measure.mean(),
            "standard_error": f_measure.std() / np.sqrt(len(hits)),
            "most_spent": max(spent),
            "precision_bits": release.parameters.get("precision_bits") if release else None,
            "milliseconds": 1000 * seconds / len(hits),
        }

    return Table.of(point(*contestant) for contestant in setting.track(contestants))


def _compare(table: Table) -> Comparison:
    widths = sorted(
        table.where(mechanism=CLAMPED, resolution=1.0).records(), key=lambda row: row["width_scales"]
    )
    narrow, wide = widths[0], widths[-1]
    free = table.where(mechanism=UNCLAMPED).records()[0]
    smooth = table.where(mechanism=CONTINUOUS).records()[0]
    grids = sorted(
        table.where(mechanism=CLAMPED, width_scales=float(_WIDE)).records(),
        key=lambda row: row["resolution"],
    )
    finest, coarsest = grids[0], grids[-1]
    noise = 4 * float(np.hypot(free["standard_error"], wide["standard_error"]))
    enough = next(row for row in widths if row["f_measure"] >= wide["f_measure"] - noise)
    text = (
        f"F-measure {narrow['f_measure']:.2f} with a width of {narrow['width_scales']:g} noise scales, "
        f"{wide['f_measure']:.2f} with {wide['width_scales']:g} ({free['f_measure']:.2f} if nothing is "
        f"clamped, {smooth['f_measure']:.2f} on continuous noise); {enough['width_scales']:g} noise scales "
        f"are enough; at most ε = {table.numbers('most_spent').max():.4f} of {float(EPSILON):g} is charged "
        f"at every width. From resolution {coarsest['resolution']:g} to {finest['resolution']:g}: "
        f"F-measure {coarsest['f_measure']:.2f} and {finest['f_measure']:.2f}, "
        f"{coarsest['precision_bits']:,} and {finest['precision_bits']:,} bits of precision, "
        f"{coarsest['milliseconds']:.1f} and {finest['milliseconds']:.1f} ms per release "
        f"({smooth['milliseconds']:.1f} ms on continuous noise)"
    )
    holds = (
        narrow["f_measure"] < wide["f_measure"] - 0.1
        and abs(wide["f_measure"] - free["f_measure"]) < 0.05 + noise
        and abs(coarsest["f_measure"] - finest["f_measure"]) < 0.05 + noise
        and table.numbers("most_spent").max() <= float(EPSILON)
    )
    return Comparison(holds=bool(holds), text=text)


EXPERIMENTS = (
    Experiment.of(
        "base2-clamping",
        Computation(
            name="clamping",
            compute=_compute,
            parameters={
                "k": 10,
                "widths": ["0.02", "0.25", "1", "2", "4", "6", "8", "12", "16"],
                "resolutions": ["1/2", "1/4", "1/8"],
                "around": 1000,
                "epsilon": str(EPSILON),
            },
            data=(T40_NAME,),
            timed=True,
            counted=lambda runs: f"{_runs(runs):,} releases per point",
        ),
        draw_clamping,
        _compare,
    ),
)
