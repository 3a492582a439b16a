"""Cases of the front end on tables: people counted in an engine, over domains of up to 2^62 items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

import pyarrow as pa

import freegap as fg
from freegap.bits import BitSource
from freegap.exact.reals import Variable
from freegap.laws import law_named
from freegap.mechanisms import hybrids, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan, optimal_share
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap_evidence.assurance.regimes.case import PRECISIONS, Matrix, RegimeCase, at_precision
from freegap_evidence.assurance.regimes.cells import Cells, Levels, apart
from freegap_evidence.assurance.regimes.choices import Choices
from freegap_evidence.assurance.regimes.numbers import GRIDS, SCALES, scale_at
from freegap_evidence.assurance.regimes.reference import contenders, draws, floored, keyed

__all__ = ["above", "top_items"]

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


class _Counted:
    """A table, its groups of equal counts from the largest down, and what all releases are given."""

    def __init__(self, levels: Levels, seed: str) -> None:
        choices = Choices(f"{seed} {sorted(levels.items())}")
        self.people = {
            "few": tuple(choices.between(1, 9) for _ in range(choices.between(3, 7))),
            "equal": (choices.between(1, 4),) * choices.between(3, 6),
            "a thousand different": tuple(range(1, 1101)),
        }[levels["counts"]]
        size = max(len(self.people) + (levels["domain"] == "one more"), DOMAINS[levels["domain"]])
        self.domain = range(size)
        groups = Counter(self.people)
        groups[0] = size - len(self.people)
        self.values = [Fraction(value) for value in sorted(groups, reverse=True) if groups[value]]
        self.sizes = [groups[int(value)] for value in self.values]
        self.k = {"1": 1, "2": 2, "some": min(choices.between(1, 9), size - 1)}[levels["k"]]
        self.grid, self.scale = GRIDS[levels["grid"]], scale_at(levels["scale"], choices)
        self.threshold = choices.of(self.values) + Fraction(choices.between(-3, 1), 3)
        self.precision = levels["precision"]

    def arguments(self, noise: str, bits: BitSource) -> dict[str, Any]:
        """Of both functions."""
        return {
            "table": _table(self.people),
            "item": "item",
            "person": "person",
            "domain": self.domain,
            "k": self.k,
            "noise": noise,
            "resolution": self.grid,
            "bits": bits,
        }

    def places(self, labels: Sequence[Any]) -> tuple[int, ...]:
        """The groups of the released items, no item twice."""
        if len(set(labels)) != len(labels) or not all(label in self.domain for label in labels):
            raise AssertionError("an item was released twice, or none of the domain")
        counts = (self.people[label] if label < len(self.people) else 0 for label in labels)
        return tuple(self.values.index(Fraction(count)) for count in counts)

    def told(self) -> str:
        """In one line."""
        shown = f"people={self.people[:9]}, domain={self.domain}, k={self.k}, "
        return shown + f"scale={self.scale}, grid={self.grid}"


def _top_case(levels: Levels, seed: str, *, noise: str, measure: bool) -> RegimeCase:
    it = _Counted(levels, seed)
    selecting = it.k / it.scale
    law = law_named(noise).continuous
    form = top_k.form(TopKPlan.read("top_k", k=it.k, epsilon=selecting, monotonic=True, noise=noise))
    epsilon = 2 * selecting if measure else selecting

    def released(bits: BitSource) -> Hashable:
        with at_precision(it.precision):
            found = fg.top_k(**it.arguments(noise, bits), epsilon=epsilon, measure=measure)
        return it.places(found.labels), found.gap_multiples, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        digits = keyed(record, len(it.values))
        members = contenders(it.values, it.sizes, law=law, scale=it.scale, digits=digits, top=it.k + 1)
        order, gaps = form.program(
            [it.values[m.group] for m in members], draws(lambda i: members[i].noise, twin=twin)
        )
        places = tuple(members[i].group for i in order)
        return places, tuple(floored(gap, it.grid) for gap in gaps), epsilon

    return RegimeCase(released, expected, it.told())


def _above_case(levels: Levels, seed: str, *, noise: str) -> RegimeCase:
    it = _Counted(levels, seed)
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
        with at_precision(it.precision):
            found = fg.above(**it.arguments(noise, bits), threshold=it.threshold, epsilon=plan.epsilon)
        return it.places(found.labels), found.gap_multiples, found.spent

    def expected(record: str, twin: bool) -> Hashable:
        n = len(it.values)
        digits = keyed(record, n)
        scale = plan.branches[-1].scale
        members = contenders(
            it.values, it.sizes, law=plan.law.continuous, scale=scale, digits=digits, top=it.k
        )
        bar = Variable(plan.law.continuous, digits.stream(n, 1))
        items, gaps = hybrids.sparse_vector_form(plan, it.threshold).program(
            [it.values[m.group] for m in members],
            draws(lambda label: bar if label == "threshold" else members[label].noise, twin=twin),
        )
        spent = hybrids.sparse_vector_charge(plan, (items, gaps))
        return tuple(members[i].group for i in items), tuple(floored(g, it.grid) for g in gaps), spent

    return RegimeCase(released, expected, it.told())
