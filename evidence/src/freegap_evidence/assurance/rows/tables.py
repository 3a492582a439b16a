"""The front end on real tables: people are counted in an engine, and the counts released from."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import freegap as fg
from freegap.bits import BitSource
from freegap.laws import CONTINUOUS_NOISES, ContinuousNoiseName, law_named
from freegap.tables.watch import WatchReport, reply_to, watch, watched_table
from freegap.values.measures import ZeroConcentrated
from freegap_evidence.assurance.at_once import BELOW, NOT_ASKED
from freegap_evidence.assurance.copies import copied
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.gumbel_law import gumbel_cells
from freegap_evidence.assurance.regimes import tables as regimes
from freegap_evidence.assurance.row import ENOUGH, EPSILON, Cited, NoFastPath, Pair, Released, Row, releasing
from freegap_evidence.assurance.rows.concentrated import CELLS, gaussian_cells
from freegap_evidence.assurance.rows.selection import WIDE, wide, with_measurement
from freegap_evidence.assurance.threshold_laws import HybridSparseVector, ThresholdSetting, sparse_vector_law
from freegap_evidence.assurance.top_k_law import top_k_cells

ITEMS = ["a", "b"]
COUNTS = (3, 1)
THRESHOLD = 2

# One person more has either item or both; a count never falls when someone joins.


def behind(others: int) -> Pair:
    """An item one person behind all others, and level with them: it comes first, which costs all of ε.

    With one-sided noise one other will do; with two-sided noise it takes several, the best of which is nearly
    always above the middle of its noise.
    """
    return (0, *[1] * others), (1, *[1] * others)


def overtaken(people: int, others: int) -> Pair:
    """All other items gain a person: that the first is found all the same, with a small gap, costs all of ε.

    There are so many people, well above the threshold, that a small gap is noise of the threshold.
    """
    return (people, *[people] * others), (people, *[people + 1] * others)


row_of_counts = partial(Row, answers=COUNTS, costly=True)
OTHERS = {"exponential": 1, "laplace": 9}
COUNTED = "counts of distinct people are monotonic with sensitivity 1 (property tests on every engine); then "


def rows() -> Iterator[Row]:
    """Each with every noise that it can be asked for."""
    for noise in CONTINUOUS_NOISES:
        yield _top_k(noise)
        yield _top_k_measured(noise)
        yield _above(noise)
    yield _top_k_by_total("exponential")
    yield _above_by_total("exponential")
    yield _top_k_in_rho(measured=False)
    yield _top_k_in_rho(measured=True)
    yield _above_in_rho()
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

    return row_of_counts(
        function="top_k",
        noise=noise,
        theorem="as noisy_top_k, monotonic",
        proof=Cited(COUNTED + "noisy_top_k, proved in this table"),
        release=releasing(_counting(fg.top_k), output, k=1, noise=noise),
        at_once=copied(fg.top_k, noise=noise, resolution=1),
        law=partial(top_k_cells, [*map(float, COUNTS)], 1, NoiseDensity(noise, 1 / float(EPSILON)), 1.0, 20),
        pairs=(behind(OTHERS[noise]),),
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

    return row_of_counts(
        function="top_k",
        noise=noise,
        variant="measured",
        theorem="as select_and_measure, monotonic",
        proof=Cited(COUNTED + "select_and_measure"),
        release=releasing(_counting(fg.top_k), output, k=1, measure=True, noise=noise),
        at_once=copied(fg.top_k, measure=True, noise=noise, resolution=1),
        law=law,
        pairs=(behind(OTHERS[noise]),),
        regimes=regimes.top_items(noise, measure=True),
    )


def _above(noise: ContinuousNoiseName) -> Row:
    def law() -> Mapping[Any, float]:
        # Of the budget, 1/(1 + ∛k²) is for the threshold if counts are monotonic (Ding 2020, section 5.4.1).
        setting = ThresholdSetting(noise, float(EPSILON), 1, 1 / 2, c=1.0)
        return HybridSparseVector(setting, [float(count - THRESHOLD) for count in COUNTS], float(WIDE)).law(6)

    return row_of_counts(
        function="above",
        noise=noise,
        theorem="as hybrid_sparse_vector, monotonic",
        proof=Cited(COUNTED + "hybrid_sparse_vector, proved in this table"),
        release=releasing(_counting(fg.above), _celled, threshold=THRESHOLD, k=1, noise=noise),
        at_once=copied(fg.above, threshold=THRESHOLD, noise=noise, resolution=1),
        law=law,
        pairs=(overtaken(5, 1 if law_named(noise).one_sided else 4),),
        regimes=regimes.above(noise),
    )


MOST = 2
"""What one person may add to the total of an item."""


@cache
def _table_of_costs(counts: tuple[int, ...]) -> pa.Table:
    """So many people have each item, at a cost of 7, which is clipped."""
    table = table_of(counts)
    return table.append_column("cost", [[7.0] * len(table)])


CLIPPED: dict[str, Any] = {"value": "cost", "low": 0, "high": MOST, "unit": 1}
_ADDED = NoFastPath("as without a value: tests compare what is added up with Python's sums on every engine")


def _adding(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function on a table in which so many people have each item, at a cost."""

    def add(answers: Sequence[float], **options: Any) -> Any:
        table = _table_of_costs(tuple(int(a) for a in answers))
        options |= CLIPPED | {"resolution": 1}
        return function(table, item="item", person="person", domain=ITEMS, **options)

    return add


def _celled(found: fg.TopItems | fg.ItemsAbove) -> Any:
    return places_of(found.labels), wide(found.gap_multiples)


def _top_k_by_total(noise: ContinuousNoiseName) -> Row:
    totals = [float(MOST * count) for count in COUNTS]
    return row_of_counts(
        function="top_k",
        noise=noise,
        variant="by total",
        theorem="as noisy_top_k, monotonic, with the sensitivity that the bounds give; docs/sums.md",
        proof=Cited("what a person adds to an item is clipped to [low, high]; then noisy_top_k, proved here"),
        release=releasing(_adding(fg.top_k), _celled, k=1, noise=noise),
        at_once=copied(fg.top_k, noise=noise, resolution=1, **CLIPPED),
        pairs=(behind(OTHERS[noise]),),
        law=partial(top_k_cells, totals, 1, NoiseDensity(noise, MOST / float(EPSILON)), float(WIDE), 20),
        regimes=_ADDED,
    )


def _above_by_total(noise: ContinuousNoiseName) -> Row:
    def law() -> Mapping[Any, float]:
        setting = ThresholdSetting(noise, float(EPSILON), 1, 1 / 2, sensitivity=float(MOST), c=1.0)
        offsets = [float(MOST * (count - THRESHOLD)) for count in COUNTS]
        return HybridSparseVector(setting, offsets, float(WIDE)).law(6)

    asked: dict[str, Any] = {"threshold": MOST * THRESHOLD, "noise": noise}
    return row_of_counts(
        function="above",
        noise=noise,
        variant="by total",
        theorem="as hybrid_sparse_vector, monotonic, with the sensitivity that the bounds give; docs/sums.md",
        proof=Cited("what a person adds to an item is clipped to [low, high]; then hybrid_sparse_vector"),
        release=releasing(_adding(fg.above), _celled, k=1, **asked),
        at_once=copied(fg.above, resolution=1, **asked, **CLIPPED),
        pairs=(overtaken(5, 1),),
        law=law,
        regimes=_ADDED,
    )


def _top_k_in_rho(*, measured: bool) -> Row:
    """One of two. With its gap that is two places, and ρ = ε²/16; measured one, for half of ρ = ε²/4."""
    divisor = 4 if measured else 16

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        asked = {"k": 1, "rho": epsilon**2 / divisor, "measure": measured}
        found = _counting(fg.top_k)(answers, bits=bits, **asked)
        numbers = found.gap_multiples if found.estimates is None else [int(e // 1) for e in found.estimates]
        return Released((places_of(found.labels), _open(numbers)), found.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        if not measured:
            return gumbel_cells(answers, 1, 2 / float(epsilon), CELLS, width=float(WIDE))
        law: dict[Any, float] = {}
        for ((s,), _), p in gumbel_cells(answers, 1, 1 / float(epsilon), 1).items():
            for j, q in gaussian_cells(answers[s], 4 / float(epsilon) ** 2, 40).items():
                cell = (s,), _open([j])
                law[cell] = law.get(cell, 0.0) + p * q
        return law

    return row_of_counts(
        function="top_k",
        noise="gumbel",
        variant="measured, in ρ" if measured else "in ρ",
        theorem="as select_and_measure, monotonic, in ρ" if measured else "as noisy_top_k, monotonic, in ρ",
        proof=Cited(COUNTED + ("select_and_measure in ρ" if measured else "noisy_top_k in ρ")),
        release=release,
        at_once=copied(fg.top_k, measure=measured, resolution=1, divisor=divisor),
        law=partial(law_at, COUNTS, EPSILON),
        law_at=law_at,
        pairs=(((0, 1), (1, 1)), ((0, 0), (1, 0))),
        regimes=NoFastPath("the mechanism in ρ has a row of its own, and counts are those of the row in ε"),
        measure=ZeroConcentrated,
        charge=lambda epsilon: epsilon**2 / divisor,
    )


def _open(multiples: Sequence[int]) -> tuple[int, ...]:
    """In cells, of which the first and the last are open."""
    return tuple(max(min(multiple // WIDE, CELLS - 1), 1 - CELLS) for multiple in multiples)


def _above_in_rho() -> Row:
    """ρ = ε²/2 allows ε: a release that is ε-private has it (Bun and Steinke 2016)."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = _counting(fg.above)(answers, k=1, threshold=THRESHOLD, rho=epsilon**2 / 2, bits=bits)
        return Released(_celled(found), found.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> dict[Any, float]:
        setting = ThresholdSetting("exponential", float(epsilon), 1, 1 / 2, c=1.0)
        offsets = [float(count - THRESHOLD) for count in answers]
        law = HybridSparseVector(setting, offsets, float(WIDE)).law(CELLS)
        return law | {"rest": max(1 - sum(law.values()), 0.0)}

    return row_of_counts(
        function="above",
        noise="exponential",
        variant="in ρ",
        theorem="as hybrid_sparse_vector, monotonic; Bun and Steinke 2016: ε²/2 in ρ",
        proof=Cited(COUNTED + "hybrid_sparse_vector, proved in this table, and its price in ρ"),
        release=release,
        at_once=copied(fg.above, threshold=THRESHOLD, resolution=1, divisor=2),
        law=partial(law_at, COUNTS, EPSILON),
        law_at=law_at,
        pairs=(overtaken(5, 1),),
        regimes=NoFastPath("as under ε, which is compared"),
        measure=ZeroConcentrated,
        charge=lambda epsilon: epsilon**2 / 2,
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
        with tempfile.TemporaryDirectory() as folder:
            same: dict[str, Any] = {
                **asked,
                "epsilon": epsilon,
                "state": Path(folder, "of.watch"),
                "bits": bits,
            }

            def ask(day: int) -> WatchReport:
                return watch(table_of((int(answers[day]), 1)), question=f"day {day}", **same)

            reports = _until_alert(ask, len(answers))
        gaps = map(_above_by, reports)
        return Released(tuple(None if gap is None else (0, gap // WIDE) for gap in gaps), reports[-1].spent)

    def at_once(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        """One watch after the other, each with a file of its own; the table of a day is counted once."""
        days = [watched_table(table_of((int(count), 1)), **asked, epsilon=epsilon) for count in answers]
        entries = np.full((size, len(days)), NOT_ASKED)
        gaps: Any = np.ma.array(np.zeros(entries.shape, dtype=np.int64), mask=True)
        with tempfile.TemporaryDirectory(dir=_folder_in_memory()) as folder:
            state = Path(folder, "of.watch")

            def ask(day: int) -> WatchReport:
                return reply_to(f"day {day}", days[day], state=state, bits=bits)

            for run in range(size):
                for day, gap in enumerate(map(_above_by, _until_alert(ask, len(days)))):
                    entries[run, day] = BELOW if gap is None else 0
                    if gap is not None:
                        gaps[run, day] = gap
                state.unlink()
        return entries, gaps

    def law() -> Mapping[Any, float]:
        setting = ThresholdSetting("exponential", float(EPSILON), 1, 1 / 2, c=1.0)
        return sparse_vector_law(setting, [float(count - THRESHOLD) for count in COUNTS], float(WIDE), 8)

    return row_of_counts(
        function="watch",
        noise="exponential",
        theorem="Ding 2020, theorem 5.3, monotonic",
        proof=Cited(COUNTED + "SparseVector, proved in this table; all days are the answers of one of them"),
        release=release,
        at_once=at_once,
        law=law,
        pairs=(((2, 2), (3, 2)), ((1, 2), (2, 2))),
        most_at_once=ENOUGH,
        regimes=NoFastPath("each question is compared by itself, as SparseVector.ask compares it"),
    )


def _until_alert(ask: Callable[[int], WatchReport], days: int) -> list[WatchReport]:
    """What a watch says, day after day, until there is an alert."""
    reports: list[WatchReport] = []
    while len(reports) < days and not (reports and reports[-1].alert):
        reports.append(ask(len(reports)))
    return reports


def _above_by(report: WatchReport) -> int | None:
    """By how many people the newest question was above; None below."""
    (*_, multiple) = report.gap_multiples
    return None if multiple is None else int(multiple * report.resolution // 1)


def _folder_in_memory() -> Path | None:
    """Where a file that is asked to be on the disk need not wait for one, if this system has such a place."""
    shared = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    return shared if shared.is_dir() and os.access(shared, os.W_OK | os.X_OK) else None
