"""A table of many copies is as many releases: one copy is the row's own, on the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.at_once import BELOW, NOT_ASKED
from freegap_evidence.assurance.copies import table_of_copies
from freegap_evidence.assurance.row import ENOUGH, EPSILON, Row
from freegap_evidence.assurance.rows import bins, groups, quantiles, tables, unknown
from freegap_evidence.assurance.rows.selection import WIDE

from freegap.bits import SeededBits
from freegap.tables import watch as watching
from freegap.tables import watch_state

ROWS = {
    row.title: row
    for row in [*tables.rows(), *bins.rows(), *groups.rows(), *unknown.rows()]
    if row.function in ("top_k", "above", "unknown_top_k")
}
BINS = {row.title: row for row in bins.rows()}


def test_all_releases_from_tables_are_audited_at_once_and_often_enough() -> None:
    for row in [*tables.rows(), *bins.rows(), *groups.rows(), *unknown.rows()]:
        assert row.at_once is not None
        assert row.most_at_once is None or row.most_at_once >= ENOUGH


def flat(output: Any) -> list[tuple[int, ...]]:
    """Of all groups together: the items, and each other column."""
    parts = output if any(isinstance(x, tuple) for part in output for x in part) else (output,)
    return [tuple(x for part in parts for x in part[i]) for i in range(len(parts[0]))]


@pytest.mark.parametrize("title", ROWS)
def test_one_copy_is_the_release_on_the_same_bits(title: str) -> None:
    row: Row = ROWS[title]
    assert row.at_once is not None
    outputs = set()
    for seed in range(6):
        items, *single = flat(row.release(row.answers, EPSILON, SeededBits(seed)).output)
        places, *columns = row.at_once(row.answers, EPSILON, SeededBits(seed), 1)
        assert tuple(place for place in places[0].tolist() if place != NOT_ASKED) == items
        # What is in cells in one is as released in the other; of measured ones gaps may be left out.
        found = [np.ma.compressed(column[0]) for column in columns]
        wide = {tuple((column // width).tolist()) for column in found for width in (1, WIDE, 2 * WIDE)}
        assert all(numbers in wide or "in ρ" in title for numbers in single)
        outputs.add((items, *single))
    assert len(outputs) > 1


@pytest.mark.parametrize("title", BINS)
def test_one_bin_is_the_histogram_on_the_same_bits(title: str) -> None:
    row: Row = BINS[title]
    assert row.at_once is not None
    for seed in range(6):
        single = row.release(row.answers, EPSILON, SeededBits(seed)).output
        assert tuple(row.at_once(row.answers, EPSILON, SeededBits(seed), 1)[0].tolist()) == single


def test_one_of_many_unknown_counts_is_the_release_on_the_same_bits() -> None:
    row = next(row for row in unknown.rows() if row.function == "unknown_counts")
    assert row.at_once is not None
    outputs = set()
    for seed in range(6):
        single = row.release(row.answers, EPSILON, SeededBits(seed)).output
        made = row.at_once(row.answers, EPSILON, SeededBits(seed), 1)[0].tolist()
        assert tuple((i, n) for i, n in enumerate(made) if n != NOT_ASKED) == single
        outputs.add(single)
    assert len(outputs) > 1


QUANTILES = {row.title: row for row in quantiles.rows() if row.at_once is not None}


@pytest.mark.parametrize("title", QUANTILES)
def test_one_of_many_quantiles_is_the_release_on_the_same_bits(title: str) -> None:
    row: Row = QUANTILES[title]
    assert row.at_once is not None
    outputs = set()
    for seed in range(6):
        single: Any = row.release(row.answers, EPSILON, SeededBits(seed)).output
        assert tuple(row.at_once(row.answers, EPSILON, SeededBits(seed), 1)[0].tolist()) == single
        outputs.add(single)
    assert len(outputs) > 1
    many = row.at_once(row.answers, EPSILON, SeededBits(1), 30)
    assert many.shape == (30, len(single))
    assert len({tuple(one) for one in many.tolist()}) > 1


def test_many_watches_are_the_releases_one_after_the_other_on_the_same_bits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each has a key and a state of its own, which is read for each day; the tables are counted once each."""
    row = next(row for row in tables.rows() if row.function == "watch")
    assert row.at_once is not None
    counted, people = [], watching._people
    states: list[watch_state._InFile] = []

    def counting(*arguments: Any) -> int:
        counted.append(arguments)
        return people(*arguments)

    class Opened(watch_state._InFile):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            states.append(self)

    monkeypatch.setattr(watching, "_people", counting)
    monkeypatch.setattr(watch_state, "_InFile", Opened)
    one_by_one, at_once = SeededBits(1), SeededBits(1)
    singles: list[Any] = [row.release((2, 2), EPSILON, one_by_one).output for _ in range(40)]
    asked, counted[:] = [len(states), len(counted)], []
    entries, gaps = row.at_once((2, 2), EPSILON, at_once, 40)
    assert [len(states) - asked[0], len(counted)] == [asked[1], 2]
    assert len({state.key for state in states}) == 40
    assert {tuple(state.replies) for state in states} == {("day 0",), ("day 0", "day 1")}
    for run, single in enumerate(singles):
        found = [entry for entry in entries[run].tolist() if entry != NOT_ASKED]
        assert [entry == BELOW for entry in found] == [entry is None for entry in single]
        above = [(0, gap) for gap in (np.ma.compressed(gaps[run]) // WIDE).tolist()]
        assert above == [entry for entry in single if entry is not None]
    assert len(set(singles)) > 3
    assert one_by_one.bits(64) == at_once.bits(64)


def test_the_states_of_watches_lie_in_memory_where_there_is_such_a_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = tables._folder_in_memory()
    assert place is None or place.is_dir()
    monkeypatch.setattr(Path, "is_dir", lambda _: False)
    assert tables._folder_in_memory() is None


def test_the_people_of_a_copy_are_in_no_other() -> None:
    table = table_of_copies((2, 1, 0, 3), 5, 2).to_pandas()
    copies = table.assign(copy=table["group"] // 2)
    assert (copies.groupby("person")["copy"].nunique() == 1).all()
    counts = table.groupby(["group", "item"])["person"].nunique()
    assert counts.loc[(6, 0)] == 2
    assert (7, 0) not in counts.index
    assert counts.loc[(7, 1)] == 3
    assert (table.groupby("person")["group"].nunique() <= 2).all()
    apart = table_of_copies((2, 1, 0, 3), 5, 2, apart=True).to_pandas()
    assert (apart.groupby("person")["item"].nunique() == 1).all()
    assert len(table_of_copies((0, 0), 3)) == 0


def test_copies_have_noise_of_their_own() -> None:
    row = ROWS["top_k, in groups, exponential"]
    assert row.at_once is not None
    places, gaps = row.at_once((2, 2, 2, 2), EPSILON, SeededBits(1), 400)
    assert places.shape == gaps.shape == (400, 2)
    assert len({tuple(pair) for pair in gaps.tolist()}) > 20
    assert 120 < int((places[:, 0] == 0).sum()) < 280
    assert 120 < int((places[:, 0] == places[:, 1]).sum()) < 280
