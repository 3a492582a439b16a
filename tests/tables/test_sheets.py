"""Sheets of Excel: each cell is a text by itself, and none makes a release fail."""

from __future__ import annotations

import datetime
import sys
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app
from freegap.errors import InvalidArgument, MissingExtra
from freegap.tables.sheets import read_sheet
from tests.tables.engines import counts_of

openpyxl = pytest.importorskip("openpyxl")

NOON = datetime.datetime(2026, 1, 31, 12)
CELLS: list[tuple[Any, str | None]] = [
    (7, "7"),
    (7.0, "7"),
    (7.5, "7.5"),
    (-0.0, "0"),
    (0.1, "0.1"),
    (1e300, str(int(1e300))),
    ("7", "7"),
    ("007", "007"),
    ("", None),
    (None, None),
    (True, "true"),
    (False, "false"),
    (NOON.date(), "2026-01-31"),
    (NOON, "2026-01-31 12:00:00"),
    (NOON.time(), "12:00:00"),
    ("=1+1", None),  # nobody has computed it
    ("Männer\nFrauen", "Männer\nFrauen"),
]


def sheet(path: Path, rows: list[list[Any]], **more: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.active.title = "first"
    for title, some in {"first": rows, **more}.items():
        page = book.active if title == "first" else book.create_sheet(title)
        for row in some:
            page.append(row)
    book.save(path)
    return path


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Cells of every type; then an error, a date that is none, merged cells, and a hidden row."""
    rows = [["item", "person", None, "age"], *([value, i, "x", i] for i, (value, _) in enumerate(CELLS))]
    book = openpyxl.load_workbook(sheet(tmp_path / "odd.xlsx", rows))
    page, last = book.active, len(rows)
    page.row_dimensions[2].hidden = True
    for place, (value, person) in enumerate(
        (("#N/A", 100), (1e10, 101), ("merged", 102), (None, 103)), last + 1
    ):
        page.cell(place, 1).value, page.cell(place, 2).value = value, person
    page.cell(last + 1, 1).data_type = "e"
    page.cell(last + 2, 1).number_format = "yyyy-mm-dd"
    page.merge_cells(start_row=last + 3, end_row=last + 4, start_column=1, end_column=1)
    page.cell(2, 9).value = "beyond the header"
    book.save(tmp_path / "odd.xlsx")
    return tmp_path / "odd.xlsx"


def test_each_cell_is_a_text_by_itself(odd: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would tell of a cell
        texts = read_sheet(str(odd), None, "table", ["item"])["item"].to_pylist()
    assert texts == [*(text for _, text in CELLS), None, None, "merged", None]


def test_texts_are_read_as_the_domain_says(odd: Path) -> None:
    assert counts_of(odd, ["7", "007", "true", "merged"]) == {"7": 3, "007": 1, "true": 1, "merged": 1}
    assert counts_of(odd, [7, 0, 8]) == {7: 4, 0: 1, 8: 0}
    assert counts_of(odd, [7.5, 0.1]) == {7.5: 1, 0.1: 1}
    assert counts_of(odd, [NOON.date()]) == {NOON.date(): 2}
    assert counts_of(odd, [True, False])[True] >= 1
    assert counts_of(fg.source(odd, where="age BETWEEN 1 AND 6"), [7]) == {7: 2}


def test_as_a_table_of_texts(tmp_path: Path) -> None:
    rows = [[f"item {i % 5}", i % 17, ["x", "y"][i % 2]] for i in range(90)]
    one = sheet(tmp_path / "one.xlsx", [["item", "person", "shift"], *rows[:40]])
    sheet(tmp_path / "two.xlsx", [["shift", "item", "person"], *([s, i, p] for i, p, s in rows[40:])])
    here = pd.DataFrame(rows, columns=["item", "person", "shift"])
    asked: dict[str, Any] = {"person": "person", "k": 2, "epsilon": 1, "item": ["item", "shift"]}
    domain = {"item": [f"item {i}" for i in range(6)], "shift": ["x", "y"]}

    def released(table: Any) -> Any:
        return fg.top_k(table, domain=domain, bits=fg.SeededBits(1), **asked).to_dict()

    assert released(tmp_path / "*.xlsx") == released(tmp_path) == released(here)
    public = sheet(tmp_path / "public.xlsx", [["item"], *([text] for text in domain["item"])])
    assert counts_of(one, public) == counts_of(one, domain["item"])


def test_several_sheets(tmp_path: Path) -> None:
    two = sheet(tmp_path / "two.xlsx", [["item", "person"], ["a", 1]], other=[["item", "person"], ["b", 1]])
    with pytest.raises(InvalidArgument, match=r"must name a sheet.*There are: first, other"):
        counts_of(two, ["a", "b"])
    assert counts_of(fg.source(two, sheet="other"), ["a", "b"]) == {"a": 0, "b": 1}
    asked = [
        "--item",
        "item",
        "--person",
        "person",
        "--domain",
        "1..3",
        "-k",
        "1",
        "--epsilon",
        "1",
        "--seed",
        "1",
    ]
    assert CliRunner().invoke(app, ["top-k", str(two), "--sheet", "first", *asked]).exit_code == 0
    assert CliRunner().invoke(app, ["top-k", str(two), *asked]).exit_code != 0


def test_refusals(tmp_path: Path) -> None:
    for header in ([], [None, None], ["item", "item"]):
        with pytest.raises(InvalidArgument, match="names of the columns in its first row"):
            counts_of(sheet(tmp_path / "bad.xlsx", [header, ["a", 1]]), ["a"])
    good = sheet(tmp_path / "good.xlsx", [["person", None, "age"], [1, 2, 3]])
    for item in ("item", ""):
        with pytest.raises(InvalidArgument, match="one of the 2 names in the first line"):
            fg.top_k(good, item=item, person="person", k=1, epsilon=1, domain=["a", "b"])
    for said in ({"encoding": "latin-1"}, {"delimiter": ";"}, {"partitions": ["a"]}):
        with pytest.raises(InvalidArgument, match="cannot be given"):
            counts_of(fg.source(good, **said), ["a"])
    with pytest.raises(InvalidArgument, match="must be the name of a sheet"):
        fg.source(good, sheet=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="is for files"):
        fg.source(pd.DataFrame(), sheet="a")


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = sheet(tmp_path / "book.xlsx", [["item", "person"], ["a", 1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"openpyxl.*freegap\[excel\]"):
        counts_of(book, ["a"])
