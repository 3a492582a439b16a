"""Cases of the front end on tables: people counted in an engine, over domains of up to 2^62 items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import pyarrow as pa

import freegap as fg
from freegap.bits import BitSource
from freegap.laws import law_named
from freegap.mechanisms.threshold_plan import ThresholdPlan, optimal_share
from freegap_evidence.assurance.regimes.case import PRECISIONS, Matrix, RegimeCase
from freegap_evidence.assurance.regimes.cells import Cells, Levels, apart
from freegap_evidence.assurance.regimes.choices import Choices
from freegap_evidence.assurance.regimes.numbers import GRIDS, SCALES, scale_at
from freegap_evidence.assurance.regimes.populations import RegimePopulation
from freegap_evidence.assurance.regimes.ranking import Choosing

COUNTS = ("few", "equal", "a thousand different")
DOMAINS = {"those that occur": 0, "one more": 1, "10^12": 10**12, "2^62": 2**62}
KS = ("1", "2", "some")


def top_items(noise: str, *, measure: bool) -> Matrix:
    """Against Ding 2020, algorithm 18, on the counts of the table."""
    return Matrix(_cells(), partial(_top_case, noise=noise, measure=measure))


def above(noise: str) -> Matrix:
    """Against Ding 2020, algorithm 20, on the counts of the table."""
    return Matrix(_cells(), partial(_above_case, noise=noise))


def _cells() -> Cells:
    dimensions = {
        "counts": COUNTS,
        "domain": tuple(DOMAINS),
        "grid": tuple(GRIDS),
        "scale": SCALES,
        "k": KS,
        "precision": tuple(PRECISIONS),
    }
    return Cells(
        dimensions,
        frozenset(apart("counts", COUNTS[2:], "precision", ["one bit"])),
        costly=frozenset({("counts", COUNTS[2])}),
    )


@cache
def _table(people: tuple[int, ...]) -> pa.Table:
    """So many people have each item; one row comes twice."""
    items = [item for item, count in enumerate(people) for _ in range(count)]
    persons = [person for count in people for person in range(count)]
    return pa.table({"item": [*items, items[0]], "person": [*persons, persons[0]]})


def _counted(levels: Levels, seed: str, noise: str) -> tuple[Choosing, dict[str, Any], Fraction]:
    """Groups of equal counts, from the largest down; what both functions are given; and a threshold."""
    choices = Choices(f"{seed} {sorted(levels.items())}")
    people = {
        "few": tuple(choices.between(1, 9) for _ in range(choices.between(3, 7))),
        "equal": (choices.between(1, 4),) * choices.between(3, 6),
        "a thousand different": tuple(range(1, 1101)),
    }[levels["counts"]]
    domain = range(max(len(people) + (levels["domain"] == "one more"), DOMAINS[levels["domain"]]))
    groups = Counter(people)
    groups[0] = len(domain) - len(people)
    values = [Fraction(value) for value in sorted(groups, reverse=True) if groups[value]]
    k = {"1": 1, "2": 2, "some": min(choices.between(1, 9), len(domain) - 1)}[levels["k"]]
    grid, scale = GRIDS[levels["grid"]], scale_at(levels["scale"], choices)

    def group(label: int) -> int:
        if label not in domain:
            raise AssertionError(f"{label} is outside the domain")
        return values.index(Fraction(people[label] if label < len(people) else 0))

    population = RegimePopulation(people, values, [groups[int(value)] for value in values], group)
    it = Choosing(population, k, scale, Fraction(1), True, noise, grid, levels["precision"])
    given = {"table": _table(people), "item": "item", "person": "person", "domain": domain}
    given |= {"k": k, "noise": noise, "resolution": grid}
    return it, given, choices.of(values) + Fraction(choices.between(-3, 1), 3)


def _top_case(levels: Levels, seed: str, *, noise: str, measure: bool) -> RegimeCase:
    it, given, _ = _counted(levels, seed, noise)
    epsilon = it.k / it.scale * (2 if measure else 1)

    def released(bits: BitSource) -> Hashable:
        found = fg.top_k(**given, epsilon=epsilon, measure=measure, bits=bits)
        return it.population.places(found.labels), found.gap_multiples, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        return *it.ranked(record, law_named(noise).continuous, twin), epsilon

    return it.case(released, expected)


def _above_case(levels: Levels, seed: str, *, noise: str) -> RegimeCase:
    it, given, threshold = _counted(levels, seed, noise)
    share = optimal_share(it.k, monotonic=True)
    plan = ThresholdPlan.read(
        "above",
        k=it.k,
        epsilon=it.k / ((1 - share) * it.scale),
        monotonic=True,
        noise=noise,
        resolution=it.grid,
        share=share,
    )

    def released(bits: BitSource) -> Hashable:
        found = fg.above(**given, threshold=threshold, epsilon=plan.epsilon, bits=bits)
        return it.population.places(found.labels), found.gap_multiples, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        return it.above(record, plan, threshold, twin)

    return it.case(released, expected)
