"""Tables in groups: one release of all groups, of which a person is in some."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pyarrow as pa

import freegap as fg
from freegap.laws import ContinuousNoiseName
from freegap_evidence.assurance.copies import copied
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.row import EPSILON, Cited, NoFastPath, Pair, Row, releasing
from freegap_evidence.assurance.rows.selection import WIDE, wide, with_measurement
from freegap_evidence.assurance.rows.tables import (
    CLIPPED,
    COUNTED,
    ITEMS,
    MOST,
    THRESHOLD,
    behind,
    overtaken,
    places_of,
    table_of,
)
from freegap_evidence.assurance.threshold_laws import HybridSparseVector, ThresholdSetting
from freegap_evidence.assurance.top_k_law import top_k_cells

GROUPS = ["g", "h"]
IN_GROUPS = (3, 1, 1, 2)
# One person more may be in both groups, with either item or both in each.


def twice(pair: Pair) -> Pair:
    """The same in both groups: each costs half of ε."""
    return pair[0] * 2, pair[1] * 2


_SLOWLY = "tests compare what is counted with sets, and what is drawn with a draw from each group by itself"
_row_in_groups = partial(
    Row,
    answers=IN_GROUPS,
    pairs=(twice(behind(1)),),
    variant="in groups",
    regimes=NoFastPath(_SLOWLY),
    costly=True,
)


def rows() -> Iterator[Row]:
    """With one noise each: in groups there is no other than without, and counting takes most of the time."""
    yield _top_k_in_groups("exponential")
    yield _above_in_groups("exponential")
    yield _totals_in_groups("exponential")
    yield _above_totals_in_groups("exponential")
    yield _measured_in_groups("exponential")


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


def of_both(laws: Sequence[Mapping[Any, float]]) -> dict[Any, float]:
    """The groups are independent."""
    one, other = laws
    return {(a, b): p * q for a, p in one.items() for b, q in other.items()}


def _top_k_in_groups(noise: ContinuousNoiseName) -> Row:
    def law() -> Mapping[Any, float]:
        density = NoiseDensity(noise, 2 / float(EPSILON))  # half of ε for each group
        parts = (IN_GROUPS[:2], IN_GROUPS[2:])
        return of_both([top_k_cells([*map(float, part)], 1, density, float(WIDE), 3) for part in parts])

    return _row_in_groups(
        function="top_k",
        noise=noise,
        theorem="as noisy_top_k, monotonic; docs/mathematics/groups.md",
        proof=Cited(COUNTED + "noisy_top_k in each group, of which a person is in at most m, at ε/m"),
        release=releasing(_in_groups(fg.top_k), _output_of_groups, k=1, noise=noise),
        at_once=copied(fg.top_k, groups=2, noise=noise, resolution=1),
        law=law,
    )


def _above_in_groups(noise: ContinuousNoiseName) -> Row:
    def law() -> Mapping[Any, float]:
        setting = ThresholdSetting(noise, float(EPSILON) / 2, 1, 1 / 2, c=1.0)
        parts = ([float(count - THRESHOLD) for count in part] for part in (IN_GROUPS[:2], IN_GROUPS[2:]))
        return of_both([HybridSparseVector(setting, part, float(WIDE)).law(3) for part in parts])

    return _row_in_groups(
        function="above",
        noise=noise,
        theorem="as hybrid_sparse_vector, monotonic; docs/mathematics/groups.md",
        proof=Cited(COUNTED + "hybrid_sparse_vector in each group, charged where most was spent"),
        release=releasing(_in_groups(fg.above), _output_of_groups, threshold=THRESHOLD, k=1, noise=noise),
        at_once=copied(fg.above, groups=2, threshold=THRESHOLD, noise=noise, resolution=1),
        pairs=(twice(overtaken(5, 1)),),
        law=law,
    )


@cache
def _costs_in_groups(counts: tuple[int, ...]) -> pa.Table:
    """The same, each at a cost of 7, which is clipped."""
    table = _table_in_groups(counts)
    return table.append_column("cost", [[7.0] * len(table)])


def _adding(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on such a table, by totals."""

    def add(answers: Sequence[float], **options: Any) -> Any:
        table = _costs_in_groups(tuple(int(a) for a in answers))
        options |= CLIPPED | {"resolution": 1, "domain": ITEMS}
        return function(table, item="item", person="person", group="group", groups=GROUPS, **options)

    return add


_ADDED = Cited("what a person adds to an item of a group is clipped; then as in groups, at ε/m in each")
_AS_BOTH = "as by total, and as in groups; docs/sums.md, docs/mathematics/groups.md"


def _totals_in_groups(noise: ContinuousNoiseName) -> Row:
    def law() -> Mapping[Any, float]:
        density = NoiseDensity(noise, 2 * MOST / float(EPSILON))
        parts = ([float(MOST * count) for count in part] for part in (IN_GROUPS[:2], IN_GROUPS[2:]))
        return of_both([top_k_cells(part, 1, density, float(WIDE), 4) for part in parts])

    return replace(
        _top_k_in_groups(noise),
        variant="by total, in groups",
        theorem=_AS_BOTH,
        proof=_ADDED,
        release=releasing(_adding(fg.top_k), _output_of_groups, k=1, noise=noise),
        at_once=copied(fg.top_k, groups=2, noise=noise, resolution=1, **CLIPPED),
        law=law,
    )


def _above_totals_in_groups(noise: ContinuousNoiseName) -> Row:
    asked: dict[str, Any] = {"threshold": MOST * THRESHOLD, "noise": noise}

    def law() -> Mapping[Any, float]:
        setting = ThresholdSetting(noise, float(EPSILON) / 2, 1, 1 / 2, sensitivity=float(MOST), c=1.0)
        both = (IN_GROUPS[:2], IN_GROUPS[2:])
        parts = ([float(MOST * (count - THRESHOLD)) for count in part] for part in both)
        return of_both([HybridSparseVector(setting, part, float(WIDE)).law(3) for part in parts])

    return replace(
        _above_in_groups(noise),
        variant="by total, in groups",
        theorem=_AS_BOTH,
        proof=_ADDED,
        release=releasing(_adding(fg.above), _output_of_groups, k=1, **asked),
        at_once=copied(fg.above, groups=2, resolution=1, **asked, **CLIPPED),
        law=law,
    )


def _measured_in_groups(noise: ContinuousNoiseName) -> Row:
    """A quarter of ε selects in each group, and a quarter measures what came out."""

    def output(found: fg.TableRelease) -> Any:
        # Cells twice as wide as elsewhere: there are many.
        return tuple(
            (places_of([row.item for row in part]), tuple(int(row.estimate // (2 * WIDE)) for row in part))
            for part in (found.by_group[group] for group in GROUPS)
        )

    def law() -> Mapping[Any, float]:
        quarter = float(EPSILON) / 4
        parts = []
        for part in (IN_GROUPS[:2], IN_GROUPS[2:]):
            counts = [*map(float, part)]
            chosen = top_k_cells(counts, 1, NoiseDensity(noise, 1 / quarter), 1e3, 1)
            cells: dict[Any, float] = {}
            for (place, _, (j,)), p in with_measurement(chosen, counts, 1 / quarter).items():
                cells[place, (j // 2,)] = cells.get((place, (j // 2,)), 0.0) + p
            parts.append(cells)
        return of_both(parts)

    return replace(
        _top_k_in_groups(noise),
        variant="measured, in groups",
        theorem="as select_and_measure, monotonic; docs/mathematics/groups.md",
        proof=Cited(COUNTED + "select_and_measure in each group, of which a person is in at most m, at ε/m"),
        release=releasing(_in_groups(fg.top_k), output, k=1, measure=True, noise=noise),
        at_once=copied(fg.top_k, groups=2, measure=True, noise=noise, resolution=1),
        law=law,
    )
