"""Cases of the sparse vectors: in batch and online, adaptive or not, with every noise."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import freegap as fg
from freegap.bits import BitSource
from freegap.exact.digits import KeyedDigits
from freegap.exact.reals import Variable
from freegap.laws import law_named
from freegap.mechanisms import sparse_vector as mechanism
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap_evidence.assurance.regimes.case import (
    PRECISIONS,
    Matrix,
    RegimeCase,
    asked,
    at_precision,
    entries_of,
)
from freegap_evidence.assurance.regimes.cells import Cells, Levels, apart
from freegap_evidence.assurance.regimes.choices import Choices
from freegap_evidence.assurance.regimes.measurement import measured
from freegap_evidence.assurance.regimes.numbers import (
    DIMENSIONS,
    GRIDS,
    INPUTS,
    LABELLED,
    Input,
    answers_in,
    held,
    on_grid,
    scale_at,
    unholdable,
)
from freegap_evidence.assurance.regimes.reference import draws, floored, keyed

NUMBERS = ("few", "beyond what is drawn ahead", "beyond a chunk")
THRESHOLDS = ("near", "off the grid", "far", "one each")
KS = ("1", "2", "as many as there are")
_AHEAD, _CHUNK = 256, 1024  # of `exact.noisy_threshold` and `mechanisms.sparse_vector`
_LONG = ("list", "int64", "float64")  # what holds many questions is read no differently


def sparse_vector(noise: str, *, online: bool, gap: bool, adaptive: bool) -> Matrix:
    """Against Ding 2020, algorithm 17; adaptive: algorithm 16, with one, two and ten halvings."""
    case = partial(_case, noise=noise, adaptive=adaptive, online=online, gap=gap)
    return Matrix(_cells(noise, online=online, halvings=adaptive), case)


def selecting_above(noise: str) -> Matrix:
    """Selecting what is above a threshold, and measuring it: half of ε each."""
    return Matrix(_cells(noise), partial(_selecting_case, noise=noise))


def _cells(noise: str, *, online: bool = False, halvings: bool = False) -> Cells:
    short = [kind for kind in INPUTS if kind not in _LONG]
    numbers = NUMBERS[:2] if online else (NUMBERS[0], NUMBERS[2])
    impossible = (
        unholdable()
        | apart("questions", NUMBERS[1:], "input", short)
        # Digits one at a time: every comparison is exact, which takes long where there are many.
        | apart("questions", NUMBERS[1:], "precision", ["one bit"])
        | apart("questions", NUMBERS[1:], "halvings", ["10"])
    )
    # Online, noise is drawn ahead for 256 questions; rounding it down may be exact work for each.
    slow = online and law_named(noise).lattice
    if slow:
        impossible |= apart("scale", ["10^30", "10^90", "any"], "halvings", ["10"])
    dimensions = {
        "questions": numbers,
        **DIMENSIONS,
        "k": KS,
        "threshold": THRESHOLDS,
        "precision": tuple(PRECISIONS)[: 1 if slow else 3],
        **({"halvings": ("1", "2", "10")} if halvings else {}),
    }
    return Cells(
        dimensions,
        frozenset(impossible),
        costly=frozenset(("questions", number) for number in NUMBERS[1:]),
    )


@dataclass(frozen=True)
class _Asking:
    """Questions, their thresholds and the plan that answers them.

    offsets: answer minus threshold of each question, exactly and on the grid of the plan.
    """

    given: Input
    answers: list[Fraction]
    threshold: Any
    thresholds: list[Fraction]
    plan: ThresholdPlan
    gap: bool

    @property
    def common(self) -> dict[str, Any]:
        """The arguments that all functions take."""
        return {
            "k": self.plan.k,
            "epsilon": self.plan.epsilon,
            "sensitivity": self.plan.sensitivity,
            "monotonic": self.plan.monotonic,
            "noise": self.plan.law.name,
            "share": self.plan.share,
        }

    def entries(self, digits: KeyedDigits, twin: bool) -> tuple[tuple[Any, ...], Fraction]:
        """The program's output: for each question None, or the gap in steps and the branch's place."""
        plan = self.plan

        def find(label: Any) -> Any:
            place, branch = (-1, 0) if label == "threshold" else label
            return Variable(plan.law.continuous, digits.stream(place + 1, branch + 1))

        offsets = [answer - bar for answer, bar in zip(self.answers, self.thresholds, strict=True)]
        output = mechanism.form(plan).program(offsets, draws(find, twin=twin))
        budgets = [branch.budget for branch in plan.branches]
        entries = tuple(
            None
            if entry is None
            else (floored(entry[0], plan.resolution) if self.gap else 0, budgets.index(entry[1]))
            for entry in output
        )
        return entries, sum(map(mechanism.entry_charge, output), plan.threshold_budget)


def _asking(levels: Levels, seed: str, noise: str, halvings: int, *, gap: bool = True) -> _Asking:
    choices = Choices(f"{seed} {sorted(levels.items())}")
    asked, scale = GRIDS[levels["grid"]], scale_at(levels["scale"], choices)
    discrete = law_named(noise).lattice
    grid = Fraction(1) if discrete else asked  # gaps are whole numbers then
    n = {"few": choices.between(1, 7), NUMBERS[1]: _AHEAD + 3, NUMBERS[2]: _CHUNK + 3}[levels["questions"]]
    values = answers_in(levels["values"], [0.0] * n, scale=scale, grid=grid, choices=choices)
    if levels["questions"] != "few":  # all but the last ones far below, so that they are reached
        values = [value - 10**6 * scale if i < n - 4 else value for i, value in enumerate(values)]
    given = held(levels["input"], values, grid)
    answers = given.on(grid)
    threshold, thresholds = _thresholds(levels, answers, scale, grid, choices, discrete=discrete)
    sensitivity = Fraction(choices.of((1, 3))) if discrete else grid * choices.of((1, 3, grid.denominator))
    monotonic = bool(choices.below(2))
    k = {"1": 1, "2": 2, KS[2]: min(n, 20)}[levels["k"]]
    plan = ThresholdPlan.read(
        "sparse_vector",
        k=k,
        epsilon=2 * (1 if monotonic else 2) * sensitivity * k / scale,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        resolution=asked,
        share=Fraction(1, 2),
        branches=halvings,
    )
    return _Asking(given, answers, threshold, thresholds, plan, gap)


def _thresholds(
    levels: Levels,
    answers: list[Fraction],
    scale: Fraction,
    grid: Fraction,
    choices: Choices,
    *,
    discrete: bool,
) -> tuple[Any, list[Fraction]]:
    """What is passed, and the threshold of each question; labelled answers have labelled thresholds."""
    level = levels["threshold"]
    whole = on_grid(answers[-1] + scale * (2 * choices.fraction() - 1), Fraction(1) if discrete else grid)
    if level == "one each":
        step = math.floor(scale) + 1
        each = [on_grid(answer, grid) + choices.of((-1, 0, 1)) * step for answer in answers]
        return held("dict" if levels["input"] in LABELLED else "Fractions", each, grid).answers, each
    if level == "far":
        whole += choices.of((-1, 1)) * choices.of((2**62, 2**63, 10**30, 10**300))
    if level == "off the grid" and not discrete:
        whole += grid / 3
    return whole, [whole] * len(answers)


def _case(levels: Levels, seed: str, *, noise: str, adaptive: bool, online: bool, gap: bool) -> RegimeCase:
    branches = int(levels["halvings"]) if adaptive else 0
    it = _asking(levels, seed, noise, branches, gap=gap)
    arguments: dict[str, Any] = it.common | {"resolution": GRIDS[levels["grid"]]}
    arguments |= {"branches": branches} if adaptive else {"gap": gap}

    def released(bits: BitSource) -> Hashable:
        with at_precision(levels["precision"]):
            if online:
                return _asked(it, arguments, bits, adaptive=adaptive)
            function = fg.adaptive_sparse_vector if adaptive else fg.sparse_vector
            found = function(it.given.answers, it.threshold, **arguments, bits=bits)
            return _entries(it, found), found.spent

    def expected(record: str, twin: bool) -> Hashable:
        return it.entries(keyed(record, 0), twin)

    return RegimeCase(released, expected, _told(it))


def _told(it: _Asking) -> str:
    return (
        f"k={it.plan.k}, epsilon={it.plan.epsilon}, sensitivity={it.plan.sensitivity}, monotonic="
        f"{it.plan.monotonic}, grid={it.plan.resolution}, threshold={str(it.threshold)[:200]}, "
        f"exactly={[*map(str, it.answers)][:9]}"
    )


def _entries(it: _Asking, found: Any) -> tuple[Any, ...]:
    """A batch as the program has it."""
    places = {it.given.label(i): i for i in range(len(it.answers))}
    last = len(it.plan.branches) - 1
    return entries_of(found, places.__getitem__, lambda gap, branch: (gap, last - branch))


def _asked(it: _Asking, arguments: dict[str, Any], bits: BitSource, *, adaptive: bool) -> Hashable:
    """One question after the other."""
    each = isinstance(it.threshold, list | dict)
    kind: Any = fg.AdaptiveSparseVector if adaptive else fg.SparseVector
    asking = kind(None if each else it.threshold, **arguments, bits=bits)
    last = len(it.plan.branches) - 1
    questions = zip(it.given.elements, *([it.thresholds] if each else []), strict=True)
    step = it.plan.resolution

    def entry(reply: Any) -> Any:
        return (reply.gap / step if it.gap else 0, last - reply.branch) if reply else None

    return asked(asking, questions, entry)


def _selecting_case(levels: Levels, seed: str, noise: str) -> RegimeCase:
    """The share of the threshold is the library's own."""
    it = _asking(levels, seed, noise, 0)
    plan = ThresholdPlan.read(
        "sparse_vector", **it.common | {"share": None, "resolution": GRIDS[levels["grid"]]}
    )
    it = replace(it, plan=plan)
    arguments = {key: value for key, value in it.common.items() if key not in ("k", "share")}
    arguments |= {"epsilon": 2 * plan.epsilon, "resolution": GRIDS[levels["grid"]]}

    def released(bits: BitSource) -> Hashable:
        with at_precision(levels["precision"]):
            found = fg.select_and_measure(
                it.given.answers, plan.k, threshold=it.threshold, **arguments, bits=bits
            )
        measurement = found.measurement.multiples if found.measurement else ()
        return _entries(it, found.selection), measurement, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        entries, spent = it.entries(keyed(record, 0), twin)
        chosen = [answer for answer, entry in zip(it.answers, entries, strict=False) if entry]
        scale = plan.k * plan.sensitivity / plan.epsilon
        digits = keyed(record, len(chosen), last=True)
        spent += plan.epsilon * len(chosen) / plan.k
        return entries, measured(chosen, digits, scale, plan.resolution, twin), spent

    return RegimeCase(released, expected, _told(it))
