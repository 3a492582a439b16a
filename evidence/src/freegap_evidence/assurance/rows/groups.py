"""Tables in groups: one release of all groups, of which a person is in some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import pyarrow as pa

import freegap as fg
from freegap.laws import ContinuousNoiseName
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.values.measures import Approximate
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.row import EPSILON, Cited, NoFastPath, Row, releasing
from freegap_evidence.assurance.rows.selection import WIDE, bounded_geometric, wide
from freegap_evidence.assurance.rows.tables import COUNTED, ITEMS, MOST, THRESHOLD, places_of, table_of
from freegap_evidence.assurance.threshold_laws import HybridSparseVector, ThresholdSetting
from freegap_evidence.assurance.top_k_law import top_k_cells

GROUPS = ["g", "h"]
IN_GROUPS = (3, 1, 1, 2)
# One person more may be in both groups, with either item or both in each.
PAIRS_IN_GROUPS = (((1, 1, 1, 1), (2, 1, 1, 2)), ((1, 1, 1, 1), (2, 2, 2, 2)), ((1, 1, 1, 1), (2, 1, 1, 1)))
_SLOWLY = "tests compare what is counted with sets, and what is drawn with a draw from each group by itself"
_row_in_groups = partial(
    Row,
    answers=IN_GROUPS,
    pairs=PAIRS_IN_GROUPS,
    variant="in groups",
    regimes=NoFastPath(_SLOWLY),
    costly=True,
)


def rows() -> Iterator[Row]:
    """With one noise each: in groups there is no other than without, and counting takes most of the time."""
    yield _top_k_in_groups("exponential")
    yield _above_in_groups("exponential")
    yield _totals_in_groups("exponential")
    yield _unknown_items_in_groups()
    yield _unknown_groups("exponential")


@cache
def _table_in_groups(counts: tuple[int, ...]) -> pa.Table:
    """The first two counts in one group and the last two in another; a person may be in both."""
    parts = zip(GROUPS, (table_of(counts[:2]), table_of(counts[2:])), strict=True)
    return pa.concat_tables(part.append_column("group", [[group] * len(part)]) for group, part in parts)


def _in_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on a table with these counts in two groups."""

    def count(answers: Sequence[float], **options: Any) -> Any:
        table = _table_in_groups(tuple(int(a) for a in answers))
        options |= {"item": "item", "person": "person", "domain": ITEMS, "resolution": 1}
        return function(table, group="group", groups=GROUPS, **options)

    return count


def _output_of_groups(found: fg.TableRelease) -> Any:
    parts = [found.by_group[group] for group in GROUPS]
    return tuple(
        (places_of([row.item for row in part]), wide([int(row.gap) for row in part])) for part in parts
    )


def _of_both(laws: Sequence[Mapping[Any, float]]) -> dict[Any, float]:
    """The groups are independent."""
    one, other = laws
    return {(a, b): p * q for a, p in one.items() for b, q in other.items()}


def _top_k_in_groups(noise: ContinuousNoiseName) -> Row:
    def law() -> Mapping[Any, float]:
        density = NoiseDensity(noise, 2 / float(EPSILON))  # half of ε for each group
        parts = (IN_GROUPS[:2], IN_GROUPS[2:])
        return _of_both([top_k_cells([*map(float, part)], 1, density, float(WIDE), 3) for part in parts])

    return _row_in_groups(
        function="top_k",
        noise=noise,
        theorem="as noisy_top_k, monotonic; docs/mathematics/groups.md",
        proof=Cited(COUNTED + "noisy_top_k in each group, of which a person is in at most m, at ε/m"),
        release=releasing(_in_groups(fg.top_k), _output_of_groups, k=1, noise=noise),
        law=law,
    )


def _above_in_groups(noise: ContinuousNoiseName) -> Row:
    def law() -> Mapping[Any, float]:
        setting = ThresholdSetting(noise, float(EPSILON) / 2, 1, 1 / 2, c=1.0)
        parts = ([float(count - THRESHOLD) for count in part] for part in (IN_GROUPS[:2], IN_GROUPS[2:]))
        return _of_both([HybridSparseVector(setting, part, float(WIDE)).law(3) for part in parts])

    return _row_in_groups(
        function="above",
        noise=noise,
        theorem="as hybrid_sparse_vector, monotonic; docs/mathematics/groups.md",
        proof=Cited(COUNTED + "hybrid_sparse_vector in each group, charged where most was spent"),
        release=releasing(_in_groups(fg.above), _output_of_groups, threshold=THRESHOLD, k=1, noise=noise),
        law=law,
    )


@cache
def _costs_in_groups(counts: tuple[int, ...]) -> pa.Table:
    """The same, each at a cost of 7, which is clipped."""
    table = _table_in_groups(counts)
    return table.append_column("cost", [[7.0] * len(table)])


def _totals_in_groups(noise: ContinuousNoiseName) -> Row:
    def add(answers: Sequence[float], **options: Any) -> Any:
        table = _costs_in_groups(tuple(int(a) for a in answers))
        options |= {"value": "cost", "low": 0, "high": MOST, "unit": 1, "resolution": 1, "domain": ITEMS}
        return fg.top_k(table, item="item", person="person", group="group", groups=GROUPS, **options)

    def law() -> Mapping[Any, float]:
        density = NoiseDensity(noise, 2 * MOST / float(EPSILON))
        parts = ([float(MOST * count) for count in part] for part in (IN_GROUPS[:2], IN_GROUPS[2:]))
        return _of_both([top_k_cells(part, 1, density, float(WIDE), 4) for part in parts])

    return replace(
        _top_k_in_groups(noise),
        variant="by total, in groups",
        theorem="as by total, and as in groups; docs/sums.md, docs/mathematics/groups.md",
        proof=Cited("what a person adds to an item of a group is clipped; then as in groups, at ε/m in each"),
        release=releasing(add, _output_of_groups, k=1, noise=noise),
        law=law,
    )


DELTA = Fraction(1, 20)


def _unknown_items_in_groups() -> Row:
    """Each group has half of ε and of δ; its two items, and a bar of which the plan says where it is."""
    asked: dict[str, Any] = {"delta": DELTA, "people": 20, "pool": 2, "noise": "exponential", "resolution": 1}
    answers = (5, 4, 3, 5)

    def count(given: Sequence[float], **options: Any) -> Any:
        table = _table_in_groups(tuple(int(a) for a in given))
        options |= {"item": "item", "person": "person", "domain": "unknown", **asked}
        return fg.top_k(table, group="group", groups=GROUPS, **options)

    def law() -> Mapping[Any, float]:
        plan = UnknownPlan.read(k=1, epsilon=EPSILON / 2, **asked | {"delta": DELTA / 2})
        density = NoiseDensity("exponential", 2 / float(EPSILON))
        parts = []
        for part in (answers[:2], answers[2:]):
            cells = top_k_cells([*map(float, part), float(plan.lift)], 1, density, float(WIDE), 6)
            found = {cell: p for cell, p in cells.items() if cell[0] != (2,)}
            parts.append(found | {((), ()): 1 - sum(found.values())})
        return _of_both(parts)

    return _row_in_groups(
        function="top_k",
        noise="exponential",
        variant="unknown items, in groups",
        answers=answers,
        pairs=(((1, 1, 1, 1), (0, 0, 0, 0)), ((7, 7, 7, 7), (7, 6, 6, 7)), ((5, 0, 0, 5), (4, 0, 0, 4))),
        theorem="as unknown_top_k; docs/mathematics/groups.md",
        proof=Cited("unknown_top_k in each group, of which a person is in at most m, at ε/m and δ/m"),
        release=releasing(count, _output_of_groups, k=1),
        law=law,
        measure=Approximate,
        delta=DELTA,
    )


def _unknown_groups(noise: ContinuousNoiseName) -> Row:
    """Half of ε, and δ, name groups by how many people are in them; the other half is for their items."""
    answers = (7, 6, 6, 8)

    def count(given: Sequence[float], **options: Any) -> Any:
        table = _table_in_groups(tuple(int(a) for a in given))
        options |= {"item": "item", "person": "person", "domain": ITEMS, "groups_per_person": 2}
        return fg.top_k(table, group="group", groups="unknown", delta=DELTA, people=20, **options)

    def output(found: fg.TableRelease) -> Any:
        parts = [found.by_group.get(group, ()) for group in GROUPS]
        return tuple((places_of([r.item for r in rows]), wide([int(r.gap) for r in rows])) for rows in parts)

    def law() -> Mapping[Any, float]:
        chances, reach = bounded_geometric(float(EPSILON) / 4, DELTA / 2)
        density = NoiseDensity(noise, 4 / float(EPSILON))
        parts = []
        for part in (answers[:2], answers[2:]):
            named = sum(p for x, p in chances.items() if max(part) + x > reach) / sum(chances.values())
            cells = top_k_cells([*map(float, part)], 1, density, float(WIDE), 4)
            parts.append({cell: named * p for cell, p in cells.items()} | {((), ()): 1 - named})
        return _of_both(parts)

    return _row_in_groups(
        function="top_k",
        noise=noise,
        variant="unknown groups",
        answers=answers,
        pairs=(((1, 1, 1, 1), (0, 0, 0, 0)), ((7, 7, 7, 7), (8, 7, 7, 8))),
        theorem="composition of unknown_counts and noisy_top_k; docs/mathematics/groups.md",
        proof=Cited("groups are named as unknown_counts names items; then as in groups, at half of ε"),
        release=releasing(count, output, k=1, noise=noise, resolution=1),
        law=law,
        measure=Approximate,
        delta=DELTA,
    )
