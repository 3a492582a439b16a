"""Results of a few rows: the same by both ways, and without PyArrow where that can be."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import narwhals.stable.v2 as nw
import polars as pl
import pytest

from freegap.tables.fetched import few_rows

duckdb = pytest.importorskip("duckdb")

_SMALL = (
    "SELECT * FROM (VALUES (1, 'a'), (-9223372036854775808, NULL), (NULL, 'ä'), (4, '')) AS t(number, text)"
)


@pytest.mark.parametrize(
    "query",
    [
        _SMALL,
        "SELECT sum(n)::HUGEINT AS total FROM (VALUES (9223372036854775807), (9223372036854775807)) AS t(n)",
        "SELECT DATE '2024-02-29' AS day, 1 AS number",
        "SELECT 0.1::DOUBLE AS real, TRUE AS truth",
        f"{_SMALL} WHERE number > 100",  # no rows
    ],
)
def test_the_columns_are_those_that_narwhals_collects(query: str) -> None:
    frame = nw.from_native(duckdb.connect().sql(query)).lazy()
    collected = frame.collect()
    assert few_rows(frame) == {name: collected[name].to_list() for name in collected.columns}


def test_other_engines_collect() -> None:
    frame = nw.from_native(pl.LazyFrame({"number": [1, None], "text": ["a", "b"]}))
    assert few_rows(frame) == {"number": [1, None], "text": ["a", "b"]}


def test_a_release_from_a_small_file_does_not_wait_for_pyarrow(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("item,person\na,1\nb,2\na,2\n", encoding="utf-8")
    (tmp_path / "items.csv").write_text("item\na\nb\nc\n", encoding="utf-8")
    program = (
        "import sys, freegap\n"
        "freegap.top_k('rows.csv', item='item', person='person', domain='items.csv', k=1, epsilon=1)\n"
        "print('pyarrow' in sys.modules)"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False"]


def test_numbers_and_texts_of_duckdb_do_not_come_by_way_of_narwhals(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("collected")

    connection = duckdb.connect()
    plain = nw.from_native(connection.sql(_SMALL)).lazy()
    whole = nw.from_native(connection.sql("SELECT 1 AS number, 2::UTINYINT AS small")).lazy()
    dated = nw.from_native(connection.sql("SELECT 1 AS number, DATE '2024-02-29' AS day")).lazy()
    monkeypatch.setattr(nw.LazyFrame, "collect", never)
    assert few_rows(plain)["text"] == ["a", None, "ä", ""]
    assert few_rows(whole) == {"number": [1], "small": [2]}
    with pytest.raises(AssertionError, match="collected"):
        few_rows(dated)
