"""Domains at their edges: ranges with steps, far from zero, or near the end of the engines' integers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import freegap as fg
from freegap.tables import in_engine
from freegap.tables.people import counted
from tests.tables.engines import AS_USUAL, ENGINES, arrow, counts_of, expected

# Every number from −3 to 12 occurs, with as many people as its distance from −4; most are outside a domain.
ROWS = [(item, person) for item in range(-3, 13) for person in range(item + 4)]
RANGES = [
    range(0, 10, 2),
    range(1, 12, 3),
    range(10, -1, -2),
    range(5, 0, -1),
    range(2, 8),
    range(-2, 3),
    range(12, 15),
    range(-9, -3),
    range(11, 12),
]


@pytest.mark.parametrize("domain", RANGES, ids=str)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_range_has_its_own_numbers_and_no_others(engine: str, domain: range, tmp_path: Path) -> None:
    assert counts_of(ENGINES[engine](ROWS, tmp_path), domain) == expected(ROWS, domain)


def test_a_lazy_engine_never_releases_what_is_between_the_steps() -> None:
    table = pl.DataFrame(pl.from_arrow(arrow([(51, person) for person in range(5000)] + [(50, 1)]))).lazy()
    domain = range(0, 100, 2)
    for seed in range(5):
        release = fg.top_k(
            table, item="item", person="person", k=3, epsilon=1, domain=domain, bits=fg.SeededBits(seed)
        )
        assert set(release.labels) <= set(domain)


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The domains that an engine is asked to count in."""
    asked: list[Any] = []

    def tally(counts: Any, domain: Any) -> Any:
        asked.append(domain)
        return in_engine.tally_in_engine(counts, domain)

    monkeypatch.setattr("freegap.tables.people.tally_in_engine", tally)
    return asked


EDGE = 2**62  # the last number that the engines are asked to add


@pytest.mark.parametrize(
    ("domain", "stays"),
    [
        (range(EDGE - 3, EDGE), True),
        (range(EDGE - 3, EDGE + 1), False),
        (range(-EDGE, -EDGE + 3), True),
        (range(-EDGE - 1, -EDGE + 3), False),
        (range(2**63 - 4, 2**63), False),
        (range(-(2**63), -(2**63) + 4), False),
    ],
    ids=str,
)
def test_numbers_beyond_the_engines_are_counted_here(
    domain: range, stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = watched(monkeypatch)
    rows = [(domain[1], person) for person in range(3)] + [(domain[-1], 1), (0, 1)]
    table = pl.DataFrame(pl.from_arrow(arrow(rows))).lazy()
    assert counts_of(table, domain) == expected(rows, domain)
    assert bool(asked) == stays


@pytest.mark.parametrize("engine", ["polars lazy", "duckdb", "csv", "parquet"])
def test_which_domains_stay_in_the_engine(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of a range of whole numbers stay; those of a list, of a range with steps, of texts travel."""
    asked = watched(monkeypatch)
    texts = [(str(item), person) for item, person in ROWS]
    for rows, domain, stays in (
        (ROWS, range(10), True),
        (ROWS, list(range(10)), False),
        (ROWS, range(0, 10, 2), False),
        (texts, ["1", "2"], False),
    ):
        asked.clear()
        assert counts_of(ENGINES[engine](rows, tmp_path), domain) == expected(rows, domain)
        assert bool(asked) == stays


@pytest.mark.parametrize("engine", ["pandas", "polars lazy", "duckdb"])
def test_each_absent_number_is_found_once(engine: str, tmp_path: Path) -> None:
    """More absent ones than one query asks for, present ones in between and at both ends."""
    rows = [(item, 1) for item in (0, 1, 5, 6, 7, 100, 149, 150, 249)]
    with counted(
        ENGINES[engine](rows, tmp_path), item="item", person="person", domain=range(250), **AS_USUAL
    ) as people:
        tally = people.tally
        assert (tally.values.tolist(), tally.sizes.tolist()) == ([1, 0], [9, 241])
        absent = tally.names([(1, member) for member in range(241)])
    assert sorted(absent) == sorted(set(range(250)) - {item for item, _ in rows})
