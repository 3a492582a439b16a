"""Items and groups that nobody has listed: their names are private too, under (ε, δ)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import freegap as fg
from freegap.bits import BitSource
from freegap.laws import GUMBEL
from freegap.mechanisms.unknown_domain import UNKNOWN_NOISES, UnknownNoiseName, UnknownPlan
from freegap.values.measures import Approximate
from freegap_evidence.assurance.at_once import NOT_ASKED
from freegap_evidence.assurance.copies import TableQuestion, copied
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.gumbel_law import gumbel_cells
from freegap_evidence.assurance.row import ENOUGH, EPSILON, Cited, NoFastPath, Released, Row
from freegap_evidence.assurance.rows.groups import of_both, twice
from freegap_evidence.assurance.rows.selection import WIDE, with_measurement
from freegap_evidence.assurance.threshold_laws import HybridSparseVector, ThresholdSetting
from freegap_evidence.assurance.top_k_law import top_k_cells

Law = Mapping[Any, float]
PartLaw = Callable[[Sequence[float], Fraction], Law]
"""Of the counts of a group and the ε of the whole release."""

NOTHING: Any = ((), ())
LEVEL = ((8, 9), (9, 9))
"""Far enough above the bar: the first item comes out first, which costs ε, as of items that are listed."""

_row = partial(Row, measure=Approximate, costly=True)
_AS_LISTED = NoFastPath(
    "tests compare what is counted with sets, and what is drawn with a draw from each group by itself"
)


def rows() -> Iterator[Row]:
    """Of counts; then of tables: items, items in groups, groups, and both."""
    for noise in UNKNOWN_NOISES:
        yield _unknown_top_k(noise)
    yield _unknown_counts()
    for noise in UNKNOWN_NOISES:
        yield _top_items(noise)
    yield _top_items("exponential", measured=True)
    yield _items_above()
    yield _items_in_groups("top_k", "exponential")
    yield _items_in_groups("above", "bounded geometric")
    yield _groups("top_k")
    yield _groups("above")
    yield _both("top_k", "exponential")
    yield _both("above", "bounded geometric")


# Laws -----------------------------------------------------------------------------------------


def ranked(plan: UnknownPlan, counts: Sequence[float], width: float, cells: int) -> dict[Any, float]:
    """P(item, gap cell) of two items and the bar, of which the plan says where it is."""
    slots = [*map(float, counts), float(plan.lift)]
    if plan.law is GUMBEL:
        full = gumbel_cells(slots, 1, float(plan.scale), cells, width=width)
    else:
        full = top_k_cells(slots, 1, NoiseDensity("exponential", float(plan.scale)), width, cells)
    return {cell: p for cell, p in full.items() if cell[0] != (2,)}


def bounded_geometric(rate: float, chance: Fraction) -> tuple[dict[int, float], int]:
    """Weights of two-sided geometric noise, and its end: the first whose own share is at most the chance."""
    reach = 0
    while math.exp(-rate * reach) > chance * sum(math.exp(-rate * abs(x)) for x in range(-reach, reach + 1)):
        reach += 1
    return {x: math.exp(-rate * abs(x)) for x in range(-reach, reach + 1)}, reach


def noisy_counts(
    counts: Sequence[float], rate: float, chance: Fraction
) -> tuple[list[dict[int, float]], int]:
    """Of each item the law of its noisy count, and what it must be above to be named."""
    weights, reach = bounded_geometric(rate, chance)
    total = sum(weights.values())
    return [{int(count) + x: w / total for x, w in weights.items()} for count in counts], reach


def named_items(counts: Sequence[float], rate: float, chance: Fraction) -> dict[Any, float]:
    """P(items by rank, gap cells) of two items, each judged by itself; of equal ones the first is first."""
    (one, other), bar = noisy_counts(counts, rate, chance)
    law: dict[Any, float] = {}
    for (a, p), (b, q) in product(one.items(), other.items()):
        named = sorted((-count, item) for item, count in ((0, a), (1, b)) if count > bar)
        gaps = tuple((-count - bar) // WIDE for count, _ in named)
        cell = tuple(item for _, item in named), gaps
        law[cell] = law.get(cell, 0.0) + p * q
    return law


def with_rest(law: Mapping[Any, float], nothing: Any = NOTHING) -> dict[Any, float]:
    """What is left is that nothing came out: gaps beyond the cells are rarer than any test here can tell."""
    return {**law, nothing: max(1 - sum(law.values()), 0.0)}


# Of counts ------------------------------------------------------------------------------------

_SLOTS = (
    "the slots of neighbours are monotonic answers (docs/mathematics/unknown.md; a test enumerates them); "
    "then noisy_top_k of this table with the same noise, but for names of probability δ"
)
FEW: dict[str, Any] = {"delta": Fraction(1, 20), "people": 20}


def _unknown_top_k(noise: UnknownNoiseName) -> Row:
    asked: dict[str, Any] = {**FEW, "pool": 2, "noise": noise, "resolution": 1}

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        counts = {place: int(count) for place, count in enumerate(answers)}
        found = fg.unknown_top_k(counts, 1, epsilon=epsilon, bits=bits, **asked)
        return Released((found.labels, found.gap_multiples), found.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        return with_rest(ranked(UnknownPlan.read(k=1, epsilon=epsilon, **asked), answers, 1.0, 30))

    return _row(
        function="unknown_top_k",
        noise=noise,
        theorem="our own, after Durfee and Rogers 2019",
        proof=Cited(_SLOTS),
        release=release,
        at_once=copied(fg.top_k, domain="unknown", **asked),
        answers=(5, 4),
        law=partial(law_at, (5, 4), EPSILON),
        law_at=law_at,
        pairs=(LEVEL,),
        regimes=NoFastPath("the core is that of hybrid_top_k: a test compares the two on the same bits"),
        delta=FEW["delta"],
        most_at_once=ENOUGH,
    )


def _unknown_counts() -> Row:
    """Two items, of which a person may have both: each with half of ε and half of δ."""
    asked: dict[str, Any] = {**FEW, "items_per_person": 2}

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        counts = {place: int(count) for place, count in enumerate(answers)}
        found = fg.unknown_counts(counts, epsilon=epsilon, bits=bits, **asked)
        return Released(tuple(sorted(zip(found.labels, found.counts, strict=True))), found.spent)

    def at_once(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        """So many copies of the items are items of one release: nobody has more than two of them."""
        counts = dict(enumerate([int(answer) for answer in answers] * size))
        found = fg.unknown_counts(counts, epsilon=epsilon, bits=bits, **asked)
        noisy = np.full(len(counts), NOT_ASKED)
        noisy[np.array(found.labels, dtype=np.int64)] = found.counts
        return noisy.reshape(size, len(answers))

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        (one, other), bar = noisy_counts(answers, float(epsilon) / 2, FEW["delta"] / 2)
        joint: dict[Any, float] = {}
        for (a, p), (b, q) in product(one.items(), other.items()):
            named = tuple((item, n) for item, n in ((0, a), (1, b)) if n > bar)
            joint[named] = joint.get(named, 0.0) + p * q
        return joint

    return _row(
        function="unknown_counts",
        noise="bounded geometric",
        theorem="Desfontaines, Voss, Gipson and Mandayam 2022, composed over a person's items",
        proof=Cited("shifts of one item's bounded noise, all but its end: docs/mathematics/unknown.md"),
        release=release,
        at_once=at_once,
        answers=(5, 3),
        law=partial(law_at, (5, 3), EPSILON),
        law_at=law_at,
        pairs=(((7, 7), (6, 6)),),
        regimes=NoFastPath("noise is drawn for each item, as whole numbers"),
        delta=FEW["delta"],
    )


# Of tables ------------------------------------------------------------------------------------


def _asked(
    question: TableQuestion, variant: str, noise: str, theorem: str, proof: str, law: PartLaw, **more: Any
) -> Row:
    """A row of this question. law: of one group, or of the table where there are none."""

    def law_at(answers: Sequence[float], epsilon: Fraction) -> Law:
        if not question.groups:
            return law(answers, epsilon)
        each = len(answers) // question.groups
        return of_both([law(answers[:each], epsilon), law(answers[each:], epsilon)])

    return _row(
        function=question.function.__name__,
        noise=noise,
        variant=variant,
        theorem=theorem,
        proof=Cited(proof),
        release=question.release,
        at_once=question.at_once,
        law=lambda: law_at(more["answers"], EPSILON),
        law_at=law_at,
        regimes=_AS_LISTED,
        delta=question.options["delta"],
        **more,
    )


def _top_items(noise: UnknownNoiseName, *, measured: bool = False) -> Row:
    plan = {**FEW, "pool": 2, "noise": noise, "resolution": 1}
    options = {**plan, "domain": "unknown", "measure": measured}

    def law(counts: Sequence[float], epsilon: Fraction) -> Law:
        read = UnknownPlan.read(k=1, epsilon=epsilon, measured=measured, **plan)
        found = ranked(read, counts, float(WIDE), 10)
        if measured:
            return with_rest(with_measurement(found, counts, 2 / float(epsilon)), ((), (), ()))
        return with_rest(found)

    return _asked(
        TableQuestion(fg.top_k, options),
        "unknown items, measured" if measured else "unknown items",
        noise,
        "as unknown_top_k" + (", and measure" if measured else ""),
        "counts of distinct people (property tests on every engine); then unknown_top_k of this table"
        + (", with half of ε, and a measurement of what came out" if measured else ""),
        law,
        answers=(5, 4),
        pairs=(LEVEL,),
        most_at_once=ENOUGH,
    )


def _items_above() -> Row:
    """Each person counts for two items at most."""

    def law(counts: Sequence[float], epsilon: Fraction) -> Law:
        return named_items(counts, float(epsilon) / 2, FEW["delta"] / 2)

    options = {**FEW, "domain": "unknown", "items_per_person": 2, "threshold": 1}
    return _asked(
        TableQuestion(fg.above, options, k=2),
        "unknown items",
        "bounded geometric",
        "as unknown_counts",
        "each person counts for as many items as is asked, chosen by a digest; then unknown_counts",
        law,
        answers=(5, 3),
        pairs=(((7, 7), (6, 6)),),
        most_at_once=ENOUGH,
    )


SOME: dict[str, Any] = {"delta": Fraction(1, 100), "people": 100}


def _items_in_groups(function: str, noise: str) -> Row:
    """Each group has half of ε and of δ."""

    def ranked_law(counts: Sequence[float], epsilon: Fraction) -> Law:
        asked = {"people": SOME["people"], "pool": 2, "noise": "exponential", "resolution": 1}
        plan = UnknownPlan.read(k=1, epsilon=epsilon / 2, delta=SOME["delta"] / 2, **asked)
        return with_rest(ranked(plan, counts, float(WIDE), 10))

    def above_law(counts: Sequence[float], epsilon: Fraction) -> Law:
        return named_items(counts, float(epsilon) / 2, SOME["delta"] / 2)

    above = function == "above"
    options = {**SOME, "domain": "unknown"}
    options |= (
        {"items_per_person": 1, "threshold": 1} if above else {"pool": 2, "noise": noise, "resolution": 1}
    )
    return _asked(
        TableQuestion(getattr(fg, function), options, k=2 if above else 1, groups=2, apart=above),
        "unknown items, in groups",
        noise,
        f"as {'unknown_counts' if above else 'unknown_top_k'}; docs/mathematics/groups.md",
        "pairs of group and item are the items of one unknown_counts, of which nobody has more than m·r"
        if above
        else "unknown_top_k in each group, of which a person is in at most m, at ε/m and δ/m",
        above_law if above else ranked_law,
        answers=(8, 7, 7, 8) if above else (9, 8, 7, 9),
        pairs=(twice(((9, 0), (10, 0))) if above else twice(((11, 12), (12, 12))),),
        most_at_once=ENOUGH,
    )


RARE: dict[str, Any] = {"delta": Fraction(1, 1000), "people": 1000}
"""With a smaller δ, what can be told of rare groups is not lost in it."""


def _named(counts: Sequence[float], epsilon: Fraction, chance: Fraction) -> float:
    """P(a group is named): its people are those of its items, who are not the same, at a quarter of ε."""
    (people,), bar = noisy_counts([sum(counts)], float(epsilon) / 4, chance)
    return sum(p for count, p in people.items() if count > bar)


THRESHOLD = 7


def _groups(function: str) -> Row:
    """Half of ε, and δ, name groups by how many people are in them; the other half is for their items."""

    def law(counts: Sequence[float], epsilon: Fraction) -> Law:
        named = _named(counts, epsilon, RARE["delta"] / 2)
        each = float(epsilon) / 4
        if function == "top_k":
            density = NoiseDensity("exponential", 1 / each)
            cells = top_k_cells([*map(float, counts)], 1, density, float(WIDE), 14)
            return {cell: named * p for cell, p in cells.items()} | {NOTHING: 1 - named}
        setting = ThresholdSetting("exponential", each, 1, 1 / 2, c=1.0)
        offsets = [float(count - THRESHOLD) for count in counts]
        cells = HybridSparseVector(setting, offsets, float(WIDE)).law(8)
        found = {cell: named * p for cell, p in cells.items() if cell != NOTHING}
        return found | {NOTHING: 1 - named + named * cells[NOTHING]}

    above = function == "above"
    options = {**RARE, "groups": "unknown", "resolution": 1, **({"threshold": THRESHOLD} if above else {})}
    mechanism = "hybrid_sparse_vector" if above else "noisy_top_k"
    return _asked(
        TableQuestion(getattr(fg, function), options, groups=2, apart=True),
        "unknown groups",
        "exponential",
        f"composition of unknown_counts and {mechanism}; docs/mathematics/groups.md",
        "groups are named as unknown_counts names items; then as in groups, at half of ε",
        law,
        answers=(8, 7, 7, 9),
        pairs=(twice(((8, 8), (8, 9)) if above else ((7, 8), (8, 8))),),
        most_at_once=ENOUGH,
    )


def _both(function: str, noise: str) -> Row:
    """Half of ε and of δ name the groups; of the rest each group has half again for its items."""
    quarter = RARE["delta"] / 4

    def law(counts: Sequence[float], epsilon: Fraction) -> Law:
        named = _named(counts, epsilon, quarter)
        if function == "above":
            found = named_items(counts, float(epsilon) / 4, quarter)
            found.pop(NOTHING, None)
        else:
            asked = {"people": RARE["people"], "pool": 2, "noise": "exponential", "resolution": 1}
            plan = UnknownPlan.read(k=1, epsilon=epsilon / 4, delta=quarter, **asked)
            found = ranked(plan, counts, float(WIDE), 14)
        return with_rest({cell: named * p for cell, p in found.items()})

    above = function == "above"
    options = {**RARE, "groups": "unknown", "domain": "unknown"}
    options |= (
        {"items_per_person": 1, "threshold": 1} if above else {"pool": 2, "noise": noise, "resolution": 1}
    )
    return _asked(
        TableQuestion(getattr(fg, function), options, k=2 if above else 1, groups=2, apart=True),
        "unknown items and groups",
        noise,
        f"composition of unknown_counts and {'unknown_counts' if above else 'unknown_top_k'}; "
        "docs/mathematics/groups.md",
        "groups are named as unknown_counts names items; then unknown items in the groups that were named",
        law,
        answers=(20, 17, 16, 19),
        pairs=(twice(((18, 0), (19, 0)) if above else ((22, 0), (23, 0))),),
        most_at_once=ENOUGH,
    )
