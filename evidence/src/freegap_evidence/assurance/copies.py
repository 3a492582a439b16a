"""Many releases from tables by one call of the public function: of a table of as many copies.

Each copy of the answers is a group of its own (or two, where the release is one in two groups), with people
who are in no other. Groups have independent noise, and each copy the budget of one release: the whole ε where
a person is in one group, half of it in each of two. So one call for n copies is n releases, with all that
happens in the engine, and a test compares a single copy with the row's own release on the same bits.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from freegap.bits import BitSource
from freegap.tables.releases import top_k
from freegap.tables.results import TopItems
from freegap_evidence.assurance.at_once import NOT_ASKED, ReleaseMany
from freegap_evidence.assurance.row import Released

WIDE = 3  # of the cells of gaps and estimates
COST = 7.0  # of every row: more than a person may add


@lru_cache(maxsize=4)
def table_of_copies(answers: tuple[int, ...], size: int, groups: int = 1, *, apart: bool = False) -> pa.Table:
    """So many people have each item of each group, in each of so many copies.

    apart: whether each item has people of its own; else the first people of a copy have all items. In the
        groups of a copy they are the same people.
    """
    items = len(answers) // groups
    most = max(*answers, 1)
    people = most * (items if apart else 1)
    own = [
        (g, item, p + (item * most if apart else 0))
        for (g, item), count in zip(np.ndindex(groups, items), answers, strict=True)
        for p in range(count)
    ]
    group, item, person = np.array(own, dtype=np.int64).reshape(-1, 3).T  # there may be nobody
    copies = np.arange(size, dtype=np.int64)[:, None]
    return pa.table(
        {
            "item": np.tile(item, size),
            "person": (copies * people + person).ravel(),
            "group": (copies * groups + group).ravel(),
            "cost": np.full(size * len(own), COST),
        }
    )


@dataclass(frozen=True)
class TableQuestion:
    """A question to a table of which the answers are the counts: asked once, or in many copies.

    groups: of one release, each person being in all of them; 0 where it has none.
    apart: as in `table_of_copies`. divisor: where it is asked for ρ = ε²/divisor.
    options: further arguments of the function.
    """

    function: Callable[..., Any]
    options: Mapping[str, Any]
    k: int = 1
    groups: int = 0
    apart: bool = False
    divisor: int | None = None

    def at_once(self, answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        """The items' places by rank, their gaps, and estimates where there are some: a row for each copy."""
        number = max(self.groups, 1)
        return columns_of(self._ask(answers, epsilon, bits, size, number), size, number, self.k)

    def release(self, answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        """The same of one table, in cells."""
        found = self._ask(answers, epsilon, bits, 1, self.groups)
        if not self.groups:
            return Released(self._cells(list(found)), found.spent)
        parts = (found.by_group.get(g, []) for g in range(self.groups))
        return Released(tuple(self._cells(part) for part in parts), found.spent)

    def _ask(
        self, answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int, groups: int
    ) -> Any:
        counts, number = tuple(int(answer) for answer in answers), max(groups, 1)
        asked: dict[str, Any] = {"item": "item", "person": "person", "k": self.k, "bits": bits}
        asked |= {"domain": range(len(counts) // number)}
        asked |= {"epsilon": epsilon} if self.divisor is None else {"rho": epsilon**2 / self.divisor}
        if groups:
            asked |= {"group": "group", "groups": range(size * groups)}
            asked |= {"groups_per_person": groups} if groups > 1 else {"one_group_per_person": True}
        table = table_of_copies(counts, size, number, apart=self.apart)
        with _no_search_for_cycles():
            return self.function(table, **{**asked, **self.options})

    def _cells(self, rows: Sequence[Any]) -> Any:
        """Items, gaps and estimates of one group."""
        estimates = self.function is top_k and bool(self.options.get("measure"))
        numbers = ["gap", *(["estimate"] if estimates else [])]
        wide = (tuple(int(getattr(row, name) // WIDE) for row in rows) for name in numbers)
        return (tuple(row.item for row in rows), *wide)


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Meanwhile Python does not collect garbage that is in cycles.

    Each of many people is some small objects, all of which stay: to look through them time and again would
    take as long as to count them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def copied(
    function: Callable[..., Any], *, k: int = 1, groups: int = 1, divisor: int | None = None, **options: Any
) -> ReleaseMany:
    """Many copies of a release from a table; see `TableQuestion`."""
    return TableQuestion(function, options, k=k, groups=groups, divisor=divisor).at_once


def columns_of(found: Any, size: int, groups: int, k: int) -> tuple[Any, ...]:
    """A row for each copy, with k places for each of its groups; what did not come out is masked."""
    sizes = np.array(found.groups.sizes, dtype=np.int64)
    cohorts = np.repeat(np.array(found.groups.labels, dtype=np.int64), sizes)
    ranks = np.arange(len(cohorts)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    where = cohorts // groups, cohorts % groups * k + ranks
    places = np.full((size, groups * k), NOT_ASKED)
    places[where] = np.array(found.labels, dtype=np.int64)
    columns: list[Any] = [places]
    estimates = None if found.estimates is None else [int(estimate // 1) for estimate in found.estimates]
    for numbers in (found.gap_multiples, estimates if isinstance(found, TopItems) else None):
        if numbers is not None and len(numbers) == len(cohorts):  # the last gap is not always released
            column: Any = np.ma.array(np.zeros(places.shape, dtype=np.int64), mask=True)
            column[where] = np.array(numbers, dtype=np.int64)
            columns.append(column)
    return tuple(columns)
