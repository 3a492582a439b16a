"""Items and groups to choose among, as a user passes them and as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from freegap.values.counts import Counts
from freegap_evidence.assurance.regimes.cells import Levels
from freegap_evidence.assurance.regimes.choices import Choices
from freegap_evidence.assurance.regimes.numbers import answers_in, given_at, held
from freegap_evidence.assurance.regimes.sizes import absent_at, lifts, sizes_at

SHAPES = ("few items", "many items", "few groups", "many groups", "few over a domain", "many over a domain")
LIMIT = 1024
"""From this many items or groups on, the fast core screens."""


@dataclass(frozen=True)
class RegimePopulation:
    """answers: what a function is given. exact: the answer of each item or group, on the grid.

    sizes: of the groups; None for items. place: the number of the item or group that has a label.
    """

    answers: Any
    exact: list[Fraction]
    sizes: list[int] | None
    place: Callable[[Any], int]

    @property
    def items(self) -> int:
        """How many items there are in all."""
        return len(self.exact) if self.sizes is None else sum(self.sizes)

    def places(self, labels: Sequence[Any]) -> tuple[int, ...]:
        """The items or groups that were released, no item twice."""
        if len(set(labels)) != len(labels):
            raise AssertionError(f"an item was released twice: {labels}")
        return tuple(self.place(label) for label in labels)


def population_at(levels: Levels, scale: Fraction, grid: Fraction, choices: Choices) -> RegimePopulation:
    """By the levels of "shape", "sizes", "values" and "input"."""
    many, _, kind = levels["shape"].partition(" ")
    n = choices.between(2, 7)
    if many == "many":
        n = choices.of((LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + choices.below(50)))
    make = {"items": _items, "groups": _groups, "over a domain": _over_a_domain}[kind]
    return make(n, levels, scale, grid, choices)


def _items(n: int, levels: Levels, scale: Fraction, grid: Fraction, choices: Choices) -> RegimePopulation:
    given = given_at(levels, [0.0] * n, scale=scale, grid=grid, choices=choices)
    places = {given.label(i): i for i in range(n)}
    return RegimePopulation(given.answers, given.on(grid), None, places.__getitem__)


def _groups(n: int, levels: Levels, scale: Fraction, grid: Fraction, choices: Choices) -> RegimePopulation:
    sizes = sizes_at(levels["sizes"], n, choices)
    given = given_at(levels, lifts(sizes), scale=scale, grid=grid, choices=choices)
    counts = Counts(given.answers, sizes, name=lambda group, member: (group, member))
    return RegimePopulation(counts, given.on(grid), sizes, lambda label: _listed(label, sizes))


def _listed(label: tuple[int, int], sizes: Sequence[int]) -> int:
    group, member = label
    if not 0 <= member < sizes[group]:
        raise AssertionError(f"group {group} has no member {member}")
    return group


def _over_a_domain(
    n: int, levels: Levels, scale: Fraction, grid: Fraction, choices: Choices
) -> RegimePopulation:
    """Items of a range that occur; all others together are the last group, with the answer zero."""
    present = max(n - 1, 2)
    absent = absent_at(levels["sizes"], present, choices)
    sizes = [1] * present + [absent] * (absent > 0)
    lifted = lifts(sizes)
    lifted = [lift - lifted[-1] for lift in lifted]
    values = answers_in(levels["values"], lifted, scale=scale, grid=grid, choices=choices)[:present]
    given = held(levels["input"], values, grid)
    domain = range(-3, present + absent - 3)
    items = [domain[place] for place in choices.distinct(present, len(domain))]
    counts = (
        Counts.over(domain, dict(zip(items, given.elements, strict=True)))
        if levels["input"] == "dict"
        else Counts.over(domain, items=items, values=given.answers)
    )
    exact = given.on(grid) + [Fraction(0)] * (absent > 0)
    places = {item: place for place, item in enumerate(items)}
    return RegimePopulation(counts, exact, sizes, partial(_in_domain, domain, places))


def _in_domain(domain: range, places: Mapping[int, int], label: Any) -> int:
    if label not in domain:
        raise AssertionError(f"{label} is outside the domain")
    return places.get(label, len(places))
