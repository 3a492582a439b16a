from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.tables.sources import open_source
from tests.tables.engines import ENGINES, arrow, counts_of

ROWS = [(1, 1), (1, 2), (2, 2), (7, 3)]
TEXT_ROWS = [(str(item), person) for item, person in ROWS]


def test_leaving_the_domain_out_explains_both_honest_ways() -> None:
    with pytest.raises(InvalidArgument) as caught:
        fg.top_k(arrow(ROWS), item="item", person="person", k=1, epsilon=1)
    text = str(caught.value)
    assert "an item that one person alone brought into the data" in text
    assert "a public list" in text
    assert "observed_keys_are_public=True" in text


def test_observed_needs_an_acknowledgement() -> None:
    with pytest.raises(InvalidArgument, match="observed_keys_are_public=True"):
        counts_of(arrow(ROWS), "observed")
    assert counts_of(arrow(ROWS), "observed", observed_keys_are_public=True) == {1: 2, 2: 1, 7: 1}
    release = fg.top_k(
        arrow(ROWS),
        item="item",
        person="person",
        k=1,
        epsilon=1,
        domain="observed",
        observed_keys_are_public=True,
    )
    assert release.privacy.domain == "the items that occur, declared to be public"
    assert "declared to be public" in str(release)


@pytest.mark.parametrize(
    "domain",
    [
        [0, 1, 2, 3],
        (0, 1, 2, 3),
        range(4),
        np.arange(4),
        pd.Series([0, 1, 2, 3]),
        pl.Series([0, 1, 2, 3]),
        pd.DataFrame({"item": [3, 2, 1, 0, 0]}),
        arrow([(i, 1) for i in range(4)]),
    ],
    ids=lambda domain: type(domain).__module__.split(".")[0] + "." + type(domain).__name__,
)
@pytest.mark.parametrize("engine", ["pandas", "polars lazy", "duckdb"])
def test_forms_of_a_domain(domain: Any, engine: str, tmp_path: Path) -> None:
    assert counts_of(ENGINES[engine](ROWS, tmp_path), domain) == {0: 0, 1: 2, 2: 1, 3: 0}


class Even(Sequence[int]):
    """The even numbers below 2·10^12, which nobody wants to list."""

    def __len__(self) -> int:
        return 10**12

    def __getitem__(self, place: Any) -> Any:
        return 2 * place

    def index(self, item: Any, *_: Any) -> int:
        if item % 2:
            raise ValueError
        return int(item) // 2


def test_a_domain_that_computes_its_positions() -> None:
    release = fg.top_k(
        arrow([(6, p) for p in range(900)] + [(3, p) for p in range(5000)]),
        item="item",
        person="person",
        k=1,
        epsilon=1,
        domain=Even(),
    )
    assert release.labels == (6,)
    assert release.privacy.domain == "1,000,000,000,000 public items"


class Squares:
    """Sized and indexable, and no more."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, place: int) -> int:
        if place >= 4:
            raise IndexError
        return place * place


def test_a_domain_that_is_sized_and_indexable() -> None:
    assert counts_of(arrow(ROWS), Squares()) == {0: 0, 1: 2, 4: 0, 9: 0}


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ({1, 2}, "pass sorted"),
        ({1: 2}, "pass sorted"),
        (5, "must be a list"),
        ([1, None], "missing values"),
        ([1, float("nan")], "missing values"),
        ([1, 2, 1], "must not name an item twice"),
        ([1, 1.0], "must not name an item twice"),
        ([1, True], "must not name an item twice"),
        ([[1], [2]], "hashable"),
        (["1", "2"], "cannot contain an item of column 'item', which holds integers"),
        ([True, False], "cannot contain an item of column 'item', which holds integers"),
        ("nowhere.csv", "names no file"),
        (pd.DataFrame({"a": [1], "b": [2]}), "Name the column with domain_column"),
        ([], "needs a domain of at least 2 items, and this one has 0"),
        ([1], "needs a domain of at least 2 items, and this one has 1"),
        (range(0), "needs a domain of at least 2 items, and this one has 0"),
    ],
    ids=str,
)
@pytest.mark.parametrize("engine", ["pyarrow", "duckdb"])
def test_bad_domains(domain: Any, message: str, engine: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument) as caught:
        fg.top_k(ENGINES[engine](ROWS, tmp_path), item="item", person="person", k=1, epsilon=1, domain=domain)
    assert message in str(caught.value)


def test_floats_in_a_range_that_nobody_can_search() -> None:
    items = [7.0] * 900 + [0.5] * 900 + [float("inf")] * 900 + [None]
    table = pd.DataFrame({"item": items, "person": range(2701)})
    release = fg.top_k(table, item="item", person="person", k=1, epsilon=1, domain=range(10**12))
    assert release.labels == (7,)
    by_three = fg.top_k(table, item="item", person="person", k=1, epsilon=1, domain=range(1, 10**12, 3))
    assert by_three.labels == (7,)


def test_an_item_that_python_cannot_hold_is_missing() -> None:
    table = duckdb.sql("SELECT DATE '290000-12-31' AS item, 1 AS person")
    assert counts_of(table, [date(2026, 1, 1), date.max]) == {date(2026, 1, 1): 0, date.max: 0}


def test_numbers_equal_numbers_and_never_texts(tmp_path: Path) -> None:
    floats = pd.DataFrame({"item": [1.0, 2.0, None], "person": [1, 2, 3]})
    assert counts_of(floats, range(3)) == {0: 0, 1: 1, 2: 1}
    assert counts_of(floats, [1, 2.0]) == {1: 1, 2: 1}
    texts = ENGINES["duckdb"](TEXT_ROWS, tmp_path)
    with pytest.raises(InvalidArgument, match="which holds texts"):
        counts_of(texts, range(3))
    assert counts_of(texts, ["1", "01"]) == {"1": 2, "01": 0}


def test_a_text_file_as_domain_of_a_typed_table(tmp_path: Path) -> None:
    (tmp_path / "domain.csv").write_text("item\n2\n1\n1\n\n3\n")
    for engine in ("pandas", "polars lazy", "parquet", "csv", "duckdb"):
        found = counts_of(ENGINES[engine](ROWS, tmp_path), tmp_path / "domain.csv")
        assert {int(item): count for item, count in found.items()} == {1: 2, 2: 1, 3: 0}
    (tmp_path / "wrong.csv").write_text("item\n2\n1.5\n")
    with pytest.raises(InvalidArgument, match=r"domain = '1.5': cannot be read as integer"):
        counts_of(ENGINES["parquet"](ROWS, tmp_path), tmp_path / "wrong.csv")
    with pytest.raises(InvalidArgument, match="is not a column of"):
        counts_of(ENGINES["parquet"](ROWS, tmp_path), tmp_path / "domain.csv", domain_column="x")


def test_a_typed_file_as_domain_of_a_text_table(tmp_path: Path) -> None:
    pl.DataFrame({"item": [1, 2, 3, 3, None]}).write_parquet(tmp_path / "domain.parquet")
    for engine in ("csv", "json lines", "parquet", "pandas"):
        table = ENGINES[engine](ROWS, tmp_path)
        assert counts_of(table, tmp_path / "domain.parquet") == {1: 2, 2: 1, 3: 0}


@pytest.mark.parametrize("kind", ["integer", "number", "date", "truth value"])
def test_what_was_read_as_a_kind_is_not_read_again(kind: str, tmp_path: Path) -> None:
    """Some versions of the engine refuse to take numbers for text."""
    with open_source(ENGINES["csv"](ROWS, tmp_path), "item", "person") as source:
        once = source.read_as(kind)
        assert once is not source
        assert once.read_as(kind) is once
