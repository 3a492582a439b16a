"""Each limit on both sides: the last that is taken and the first that is not; how much of a list is shown."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.errors import InvalidArgument, SpellingWarning
from freegap.tables import grouped, spelling
from freegap.tables.categories import MOST_BINS, _inside, _listed, _spread
from freegap.tables.condition_text import read_condition_text
from freegap.tables.domains import ListedDomain, listed_in_order
from freegap.tables.files import FileTable
from freegap.tables.groups import GroupCounts
from freegap.tables.parts import PartProduct
from freegap.tables.readers import _first_line
from freegap.tables.sources import TableSource, frame_of
from freegap.tables.spelling import normalized, warn_of_spellings
from freegap.tables.windows import TimeWindows


def _domain(items: Any, kind: str = "integer", **more: Any) -> ListedDomain:
    return ListedDomain(items, items.index, frozenset({kind}), **more)


@pytest.mark.parametrize(("bins", "fits"), [(0, False), (1, True), (10**7, True), (10**7 + 1, False)])
def test_how_many_bins_come_out(bins: int, fits: bool) -> None:
    domain = _domain(range(bins))
    source = TableSource(frame_of(pa.table({"item": [1]})), "integer", True, "item", "person", None)
    if fits:
        assert _listed(domain, source) is domain
    else:
        with pytest.raises(InvalidArgument, match="from 1 to 10,000,000 items"):
            _listed(domain, source)
    assert f"{MOST_BINS:,}" == "10,000,000"


@pytest.mark.parametrize(
    ("items", "there"),
    [
        (range(3, 10**6), True),
        (range(3, 9, 2), True),
        (range(0, 20_002, 2), False),  # 10,001 of them
        (list(range(10_000)), True),
        (list(range(10_001)), False),
        ([3, 4.5], False),
        (["3", 4], False),
    ],
    ids=lambda one: str(one)[:20],
)
def test_which_lists_duckdb_looks_items_up_in(items: Any, there: bool) -> None:
    with duckdb.connect() as connection:
        pairs = frame_of(connection.sql("SELECT unnest([2, 3, 4, 5, 999999]) AS item, 1 AS person"))
        found = _inside(pairs, _domain(items), _domain(items))
        assert (found is not None) == there
        if found is not None:
            kept = sorted(row[0] for row in nw.to_native(found).fetchall())
            assert kept == [item for item in (2, 3, 4, 5, 999999) if item in items]


def test_so_many_items_are_looked_at_for_slips(recwarn: pytest.WarningsRecorder) -> None:
    """Of a long list the first hundred thousand."""
    texts = [f"t{n}" for n in range(100_001)]
    warn_of_spellings(_domain([*texts[:100_000], "T1"], "text"))
    product = PartProduct([["x"], [*texts[:99_999], "T1"]])  # its examples begin with the list of x
    warn_of_spellings(_domain(product, "text", parted=True))
    assert not list(recwarn)
    with pytest.warns(SpellingWarning, match="'t1' and 'T1'"):
        warn_of_spellings(_domain([*texts[:99_999], "T1"], "text"))
    product = PartProduct([["x"], [*texts[:99_998], "T1"]])
    with pytest.warns(SpellingWarning, match=r"\('x', 't1'\) and \('x', 'T1'\)"):
        warn_of_spellings(_domain(product, "text", parted=True))


class _Counted(Sequence[str]):
    """As many items as it says, of which it names two."""

    def __init__(self, items: int) -> None:
        self._items = items

    def __len__(self) -> int:
        return self._items

    def __getitem__(self, place: Any) -> Any:
        return f"a~1{place}"

    def __iter__(self) -> Iterator[str]:
        return iter(["a~1b", "a~1c"])


@pytest.mark.parametrize(("items", "fits"), [(10**7, True), (10**7 + 1, False)])
def test_how_many_combinations_are_respelt(items: int, fits: bool) -> None:
    source = TableSource(
        frame_of(pa.table({"item": ["A~1B"], "person": [1]})), "text", True, "x, y", "person", None
    )
    domain = _domain(_Counted(items), "text", parted=True)
    if not fits:
        with pytest.raises(InvalidArgument, match="needs a public list of texts"):
            normalized(domain, source)
        return
    listed, respelt = normalized(domain, source)
    assert (listed.items, listed.parted) == (["a~1b", "a~1c"], True)
    assert respelt.frame.lazy().collect()["item"].to_list() == ["a~1b"]
    assert spelling._alike("A~0 ~1 B", parted=True) == "a~0~1b"


@pytest.mark.parametrize(("days", "fits"), [(1, True), (1000, True), (1001, False)])
def test_how_many_windows_there_are(days: int, fits: bool) -> None:
    since = datetime.date(2020, 1, 31)
    until = since + datetime.timedelta(days=days)
    if fits:
        windows = TimeWindows.read("day", "at", since, until)
        assert windows is not None
        assert len(windows.labels) == days
        return
    with pytest.raises(InvalidArgument, match="makes more than 1,000 windows"):
        TimeWindows.read("day", "at", since, until)


def test_how_long_a_first_line_is(tmp_path: Path) -> None:
    """Two mebibytes of it are read."""
    path = tmp_path / "a.csv"
    names = [f"{n:032767}" for n in range(63)]  # 2^15 letters each, with its comma
    for last, read in ((2**15 - 1, 2**15 - 1), (2**15, 2**15), (2**15 + 1, 2**15)):
        path.write_text(",".join([*names, "b" * last]))
        assert _first_line(None, str(path), ",") == [*names, "b" * read]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("letters", "fits"), [(131_072, True), (131_073, False)])
def test_how_long_a_name_of_a_column_is(letters: int, fits: bool, packed: bool, tmp_path: Path) -> None:
    """Beyond, the first line is no header, and no error of Python's own tells of it."""
    path = tmp_path / ("a.csv.zst" if packed else "a.csv")
    with duckdb.connect() as connection:
        query = f"SELECT 'a' AS item, 1 AS person, 2 AS {'x' * letters}"
        codec = "zstd" if packed else "none"
        connection.execute(f"COPY ({query}) TO '{path}' (HEADER, COMPRESSION {codec})")
    asked: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "epsilon": 1, "domain": ["a", "b"]}
    if fits:
        assert fg.top_k(path, **asked).spent == 1
        return
    with pytest.raises(InvalidArgument, match="must begin with a line of column names") as caught:
        fg.top_k(path, **asked)
    assert "xxx" not in str(caught.value)


@pytest.mark.parametrize(("items", "apart"), [(4, False), (5, False), (6, True)])
def test_beyond_so_many_cells_what_nobody_has_is_one_answer(
    items: int, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouped, "MOST_LISTED", 5)
    cells = GroupCounts(*(np.array(one, dtype=np.int64) for one in ([items - 2, 2], [1], [0], [3])))
    answers, offsets, sizes = grouped._answers(cells)
    if apart:
        assert sizes is not None
        assert (answers.tolist(), offsets.tolist(), sizes.tolist()) == (
            [0, 3, 0],
            [0, 1, 3],
            [items - 2, 1, 1],
        )
    else:
        assert sizes is None
        assert (answers.tolist(), offsets.tolist()) == ([0] * (items - 2) + [3, 0], [0, items - 2, items])


@pytest.mark.parametrize("letters", [1, 29, 30, 31])
def test_thirty_letters_of_what_is_not_understood_are_shown(letters: int) -> None:
    rest = ")" + "y" * (letters - 1)
    with pytest.raises(InvalidArgument) as caught:
        read_condition_text("item = " + rest)
    shown = rest[:30] + ("…" if letters > 30 else "")
    assert f"what begins at {shown!r} should be a value" in str(caught.value)


@pytest.mark.parametrize("number", [19, 20, 21])
def test_twenty_columns_are_shown(number: int, tmp_path: Path) -> None:
    """Wherever a column is not found; and that there are more, where a caller could not count them."""
    names = [f"c{n:02}" for n in range(number)]
    wide = pl.DataFrame({name: [1] for name in names})
    cut, more = ", ".join(names[:20]), ", …" if number > 20 else ""
    table = pl.DataFrame({"item": ["a"], "person": [1], "ward": ["n"], "flag": [True]})
    asked: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "epsilon": 1}
    groups = {"group": "ward", "groups": ["n"]}
    calls: list[tuple[Any, dict[str, Any], str]] = [
        (wide, {"domain": ["a"]}, f"{cut}{more}"),
        (table, {"domain": wide, "domain_column": "x"}, cut),
        (table, {"domain": wide, "item": ["item", "flag"]}, cut),
        (table, {"domain": wide, "domain_group": "x", **groups}, cut),
    ]
    wide.write_parquet(tmp_path / "wide.parquet")
    calls.append((tmp_path / "wide.parquet", {"domain": ["a"]}, f"{cut}{more}"))
    for held, arguments, listed in calls:
        with pytest.raises(InvalidArgument) as caught:
            fg.top_k(held, bits=fg.SeededBits(1), **asked | arguments)
        assert f"Its columns are: {listed}." in str(caught.value)


def test_a_table_without_columns_says_so() -> None:
    with pytest.raises(InvalidArgument, match="It has no columns"):
        fg.top_k(pd.DataFrame(), item="item", person="person", k=1, epsilon=1, domain=["a", "b"])


def test_how_many_names_a_header_has(tmp_path: Path) -> None:
    """Of the first line, which may hold a person's row, nothing but the number is shown."""
    path = tmp_path / "a.csv"
    path.write_text("x,y,z\n1,2,3\n")
    refusal = FileTable(path, "table").refuse("item", ["x", "y", "z"])
    assert "one of the 3 names in the first line" in str(refusal)
    assert "x, y" not in str(refusal)


def test_totals_beyond_what_doubles_count_are_spread_to_the_digit() -> None:
    listed = listed_in_order(["a", "b", "c"])
    assert _spread(listed, ["c", "a"], [2**53 + 1, 2**62 + 1]) == [2**62 + 1, 0, 2**53 + 1]


@pytest.mark.parametrize("sign", ["<", "=", "<>", ">="])
def test_a_sign_in_quotes_is_no_sign(sign: str) -> None:
    with pytest.raises(InvalidArgument):
        read_condition_text(f"age '{sign}' 3")
    assert read_condition_text(f"age {sign} 3") is not None
