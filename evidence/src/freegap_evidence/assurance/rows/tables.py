"""The front end on real tables: people are counted in an engine, and the counts released from."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa

import freegap as fg
from freegap.bits import BitSource
from freegap.laws import CONTINUOUS_NOISES, ContinuousNoiseName
from freegap.tables.watch import watch
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.regimes import tables as regimes
from freegap_evidence.assurance.row import EPSILON, Cited, NoFastPath, Released, Row, releasing
from freegap_evidence.assurance.rows.selection import WIDE, wide, with_measurement
from freegap_evidence.assurance.threshold_laws import HybridSparseVector, ThresholdSetting, sparse_vector_law
from freegap_evidence.assurance.top_k_law import top_k_cells

ITEMS = ["a", "b"]
COUNTS = (3, 1)
THRESHOLD = 2
# One person more has either item or both; a count never falls when someone joins.
PAIRS = (((1, 1), (2, 1)), ((1, 1), (2, 2)), ((2, 2), (3, 2)))
_row = partial(Row, answers=COUNTS, pairs=PAIRS, costly=True)
COUNTED = "counts of distinct people are monotonic with sensitivity 1 (property tests on every engine); then "


def rows() -> Iterator[Row]:
    """Each with every noise that it can be asked for."""
    for noise in CONTINUOUS_NOISES:
        yield _top_k(noise)
        yield _top_k_measured(noise)
        yield _above(noise)
    yield _top_k_by_total("exponential")
    yield _means()
    yield _watch()


@cache
def table_of(counts: tuple[int, ...]) -> pa.Table:
    """A table in which so many people have each item, some of them twice."""
    pairs = [(item, person) for item, count in zip(ITEMS, counts, strict=True) for person in range(count)]
    pairs += pairs[:1]
    return pa.table({"item": [item for item, _ in pairs], "person": [person for _, person in pairs]})


def _counting(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on a table with these counts."""

    def count(answers: Sequence[float], **options: Any) -> Any:
        table = table_of(tuple(int(a) for a in answers))
        return function(table, item="item", person="person", domain=ITEMS, resolution=1, **options)

    return count


def places_of(labels: Sequence[Any]) -> tuple[int, ...]:
    """Which items these are."""
    return tuple(ITEMS.index(label) for label in labels)


def _top_k(noise: ContinuousNoiseName) -> Row:
    def output(found: fg.TopItems) -> Any:
        return places_of(found.labels), found.gap_multiples

    return _row(
        function="top_k",
        noise=noise,
        theorem="as noisy_top_k, monotonic",
        proof=Cited(COUNTED + "noisy_top_k, proved in this table"),
        release=releasing(_counting(fg.top_k), output, k=1, noise=noise),
        law=partial(top_k_cells, [*map(float, COUNTS)], 1, NoiseDensity(noise, 1 / float(EPSILON)), 1.0, 20),
        regimes=regimes.top_items(noise, measure=False),
    )


def _top_k_measured(noise: ContinuousNoiseName) -> Row:
    def output(found: fg.TopItems) -> Any:
        (estimate,) = found.estimates or (Fraction(0),)
        return places_of(found.labels), wide(found.gap_multiples), (int(estimate // WIDE),)

    def law() -> Mapping[Any, float]:
        half = float(EPSILON) / 2
        counts = [*map(float, COUNTS)]
        chosen = top_k_cells(counts, 1, NoiseDensity(noise, 1 / half), float(WIDE), 10)
        return with_measurement(chosen, counts, 1 / half)

    return _row(
        function="top_k",
        noise=noise,
        variant="measured",
        theorem="as select_and_measure, monotonic",
        proof=Cited(COUNTED + "select_and_measure"),
        release=releasing(_counting(fg.top_k), output, k=1, measure=True, noise=noise),
        law=law,
        regimes=regimes.top_items(noise, measure=True),
    )


def _above(noise: ContinuousNoiseName) -> Row:
    def output(found: fg.ItemsAbove) -> Any:
        return places_of(found.labels), wide(found.gap_multiples)

    def law() -> Mapping[Any, float]:
        # Of the budget, 1/(1 + ∛k²) is for the threshold if counts are monotonic (Ding 2020, section 5.4.1).
        setting = ThresholdSetting(noise, float(EPSILON), 2, 1 / (1 + 4 ** (1 / 3)), c=1.0)
        return HybridSparseVector(setting, [float(count - THRESHOLD) for count in COUNTS], float(WIDE)).law(6)

    return _row(
        function="above",
        noise=noise,
        theorem="as hybrid_sparse_vector, monotonic",
        proof=Cited(COUNTED + "hybrid_sparse_vector, proved in this table"),
        release=releasing(_counting(fg.above), output, threshold=THRESHOLD, k=2, noise=noise),
        law=law,
        regimes=regimes.above(noise),
    )


MOST = 2
"""What one person may add to the total of an item."""


@cache
def _table_of_costs(counts: tuple[int, ...]) -> pa.Table:
    """So many people have each item, at a cost of 7, which is clipped."""
    table = table_of(counts)
    return table.append_column("cost", [[7.0] * len(table)])


def _top_k_by_total(noise: ContinuousNoiseName) -> Row:
    def output(found: fg.TopItems) -> Any:
        return places_of(found.labels), wide(found.gap_multiples)

    def add(answers: Sequence[float], **options: Any) -> Any:
        table = _table_of_costs(tuple(int(a) for a in answers))
        options |= {"value": "cost", "low": 0, "high": MOST, "unit": 1, "resolution": 1}
        return fg.top_k(table, item="item", person="person", domain=ITEMS, **options)

    totals = [float(MOST * count) for count in COUNTS]
    return _row(
        function="top_k",
        noise=noise,
        variant="by total",
        theorem="as noisy_top_k, monotonic, with the sensitivity that the bounds give; docs/sums.md",
        proof=Cited("what a person adds to an item is clipped to [low, high]; then noisy_top_k, proved here"),
        release=releasing(add, output, k=1, noise=noise),
        law=partial(top_k_cells, totals, 1, NoiseDensity(noise, MOST / float(EPSILON)), float(WIDE), 20),
        regimes=NoFastPath("as top_k: tests compare what is added up with Python's sums on every engine"),
    )


def _means() -> Row:
    """One bin, of people who add 2 and of people who add 0: so many of each are the answers."""

    def add(answers: Sequence[float], **options: Any) -> Any:
        above, below = (int(a) for a in answers)
        people = {"person": range(above + below), "cost": [9.0] * above + [-9.0] * below}
        table = pa.table({"item": ["a"] * (above + below), **people})
        options |= {"value": "cost", "low": 0, "high": MOST, "unit": 1, "mean": True, "items_per_person": 1}
        return fg.histogram(table, item="item", person="person", domain=["a"], **options)

    def law() -> Mapping[Any, float]:
        q = math.exp(-float(EPSILON) / 2)  # half of ε for the people, and half for what they have above 1
        noise = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-30, 31)}
        number, sum_ = COUNTS[0] + COUNTS[1], COUNTS[0] - COUNTS[1]
        return {(number + x, sum_ + y): p * r for (x, p), (y, r) in product(noise.items(), noise.items())}

    return _row(
        function="histogram",
        noise="discrete laplace",
        variant="means",
        theorem="composition of two histograms; docs/sums.md",
        proof=Cited(
            "two histograms of disjoint bins, which are proved here: of people, and of sums about the middle"
        ),
        release=releasing(add, lambda it: (*it.counts, *it.multiples)),
        pairs=(((1, 1), (2, 1)), ((1, 1), (1, 2))),
        law=law,
        regimes=NoFastPath("each bin has noise of its own, as those of the histogram that is compared"),
    )


def _watch() -> Row:
    """Two days, of which the counts are those of the first item; the state is read anew for each."""
    asked: dict[str, Any] = {
        "item": "item",
        "of": ITEMS[0],
        "person": "person",
        "threshold": THRESHOLD,
        "k": 1,
    }

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        entries: list[Any] = []
        with tempfile.TemporaryDirectory() as folder:
            for day, count in enumerate(answers):
                table, state = table_of((int(count), 1)), Path(folder, "of.watch")
                said = watch(table, **asked, epsilon=epsilon, state=state, question=f"day {day}", bits=bits)
                (*_, multiple) = said.gap_multiples
                entries.append(None if multiple is None else (0, int(multiple * said.resolution // WIDE)))
                if said.alert:
                    break
        return Released(tuple(entries), said.spent)

    def law() -> Mapping[Any, float]:
        setting = ThresholdSetting("exponential", float(EPSILON), 1, 1 / 2, c=1.0)
        return sparse_vector_law(setting, [float(count - THRESHOLD) for count in COUNTS], float(WIDE), 8)

    return _row(
        function="watch",
        noise="exponential",
        theorem="Ding 2020, theorem 5.3, monotonic",
        proof=Cited(COUNTED + "SparseVector, proved in this table; all days are the answers of one of them"),
        release=release,
        law=law,
        regimes=NoFastPath("each question is compared by itself, as SparseVector.ask compares it"),
    )
