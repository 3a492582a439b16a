"""Every release is a table: the same columns as data frames, as files, row by row, and read again."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

import freegap as fg
from freegap import base2
from freegap.errors import InvalidArgument, MissingExtra
from freegap.values.chart import _bars
from freegap.values.columns import Column
from freegap.values.export import Plain, to_arrow, to_pandas, to_polars
from freegap.values.formatted import _Formatted
from freegap.values.kept import KeptRelease
from freegap.values.results import Release

COUNTS = {"tea": 812, "milk": 790, "=rice()": 31, "salt": 2}
TABLE = pd.DataFrame({"i": ["tea", "milk", "tea", "salt"] * 200, "p": range(800)})
ASK: dict[str, Any] = {"item": "i", "person": "p", "domain": ["milk", "rice", "salt", "tea"], "epsilon": 4}


def bits() -> fg.SeededBits:
    return fg.SeededBits(5)


def _candidate() -> Release:
    draws = {"a": lambda source: 3, "b": lambda source: 9}
    made: Release = fg.select_private_candidate(
        draws, score=lambda output: output, threshold=1, epsilon=1, stop="1/9", bits=bits()
    )
    return made


RELEASES: dict[str, Callable[[], Release]] = {
    "noisy_top_k": lambda: fg.noisy_top_k(COUNTS, 2, epsilon=2, bits=bits()),
    "without gaps": lambda: fg.noisy_top_k([3, 90, 2], 1, epsilon=2, gap=False, bits=bits()),
    "hybrid_top_k": lambda: fg.hybrid_top_k(COUNTS, 500, k=3, epsilon=9, bits=bits()),
    "sparse_vector": lambda: fg.sparse_vector([9, 700, 3, 900], 500, k=2, epsilon=9, bits=bits()),
    "adaptive": lambda: fg.adaptive_sparse_vector(COUNTS, 500, k=2, epsilon=9, bits=bits()),
    "hybrid_sparse_vector": lambda: fg.hybrid_sparse_vector(COUNTS, 500, k=2, epsilon=9, bits=bits()),
    "many top_k": lambda: fg.noisy_top_k(COUNTS, 2, epsilon=2, size=3, bits=bits()),
    "many runs": lambda: fg.sparse_vector_each(
        {"a": COUNTS, "b": COUNTS}, 500, k=2, epsilon=9, populations_per_person=1, bits=bits()
    ),
    "measure": lambda: fg.measure(COUNTS, epsilon=2, bits=bits()),
    "select_and_measure": lambda: fg.select_and_measure(COUNTS, 2, epsilon=2, bits=bits()),
    "exponential": lambda: fg.exponential_mechanism(COUNTS, epsilon=2, bits=bits()),
    "candidate": _candidate,
    "unknown_top_k": lambda: fg.unknown_top_k(COUNTS, 2, epsilon=2, delta="1e-7", bits=bits()),
    "unknown_counts": lambda: fg.unknown_counts(
        COUNTS, epsilon=2, delta="1e-7", items_per_person=1, bits=bits()
    ),
    "base2": lambda: base2.sparse_vector(
        [2, 90], 50, k=1, eta=base2.share_epsilon(1, k=1), low=0, high=100, width=50, bits=bits()
    ),
    "top_k": lambda: fg.top_k(TABLE, k=2, measure=True, bits=bits(), **ASK),
    "above": lambda: fg.above(TABLE, k=2, threshold=300, bits=bits(), **ASK),
    "histogram": lambda: fg.histogram(COUNTS, items_per_person=1, epsilon=2, bits=bits()),
    "means": lambda: fg.histogram(
        TABLE, mean=True, value="p", low=0, high=800, unit=1, items_per_person=1, bits=bits(), **ASK
    ),
    "quantiles": lambda: fg.quantiles(range(100), q=[0.25, 0.5], epsilon=9, bits=bits()),
    "nothing above": lambda: fg.above(TABLE, k=2, threshold=30_000, bits=bits(), **ASK),
}


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> Release:
    return RELEASES[request.param]()


def test_every_class_of_release_is_here() -> None:
    public = {value for name in fg.__all__ if isinstance(value := getattr(fg, name), type)}
    own = {class_ for class_ in public if issubclass(class_, Release)}
    assert {type(make()) for make in RELEASES.values()} == own - {Release, fg.TableRelease, KeptRelease}


def test_the_same_rows_everywhere(release: Release, tmp_path: Path) -> None:
    rows = release.rows()
    assert list(release) == rows
    assert len(release) == len(rows)
    columns = release.columns()
    assert all(len(column.cells) == len(rows) for column in columns)
    frame = release.to_pandas()
    assert [tuple(row) for row in frame.itertuples(index=False)] == [tuple(row) for row in rows]
    names = list(frame.columns)
    assert (rows[0]._fields if rows else tuple(names)) == tuple(names)
    arrow, polars = release.to_arrow(), release.to_polars()
    assert arrow.column_names == polars.columns == names
    assert [tuple(row.values()) for row in arrow.to_pylist()] == polars.rows() == [tuple(row) for row in rows]
    release.to_parquet(tmp_path / "r.parquet")
    assert pl.read_parquet(tmp_path / "r.parquet").equals(polars)
    # Numbers are numbers, also of a release without rows.
    for column in columns:
        kinds = {int: "int64", float: "float64", str: "object"}
        if column.kind in (int, float):
            assert str(frame[column.name or column.title.replace(" ", "_")].dtype) == kinds[column.kind]
    assert not any(isinstance(value, str) for column in columns if column.numeric for value in column.values)


def test_a_csv_file_has_floats_or_exact_rationals(release: Release, tmp_path: Path) -> None:
    release.to_csv(tmp_path / "r.csv", formulas=True)
    text = (tmp_path / "r.csv").read_text(encoding="utf-8")
    assert release.to_csv(formulas=True) == text
    head, *body = csv.reader(io.StringIO(text))
    numeric = [
        i for i, name in enumerate(head) if name not in ("population", "item", "candidate", "quantile")
    ]
    assert [[float(row[i]) for i in numeric] for row in body] == [
        [float(row[i]) for i in numeric] for row in release.rows()
    ]
    exact = release.rows(exact=True)
    for row, floats in zip(exact, release.rows(), strict=True):
        for value, rounded in zip(row, floats, strict=True):
            if isinstance(value, Fraction):
                assert float(value) == rounded


def test_what_is_written_can_be_read_and_hashed(release: Release) -> None:
    again = fg.Release.from_json(release.to_json())
    assert again.to_dict() == release.to_dict()
    assert again.rows(exact=True) == release.rows(exact=True)
    assert str(again) == str(release)
    assert (again.asked, again.spent, again.private) == (release.asked, release.spent, release.private)
    assert hash(release) == hash(replace(release))
    assert len({release, replace(release), again}) == 2
    assert fg.Release.from_json(again.to_json()) == again


def test_every_release_with_numbers_can_be_drawn(release: Release, tmp_path: Path) -> None:
    if len(release.columns()) < 2 or not any(
        c.kind in (float, tuple) or c.title == "people" for c in release.columns()
    ):
        with pytest.raises(InvalidArgument, match="no numbers to draw"):
            release.plot()
        return
    release.plot(tmp_path / "chart.svg")
    assert "NOT PRIVATE" in (tmp_path / "chart.svg").read_text(encoding="utf-8")


def test_gaps_can_be_formatted_and_computed_with() -> None:
    release = fg.noisy_top_k(COUNTS, 2, epsilon=2, bits=bits())
    for number in (
        *release.gaps,
        sum(release.gaps),
        -release.gaps[0] / 3,
        release.spent,
        2 * release.gaps[0],
    ):
        assert f"{number:.1f}" == f"{float(number):.1f}"
    gap = _Formatted(7, 3)
    assert (f"{gap}", repr(gap), f"{gap + 1:.2f}") == ("7/3", "Fraction(7, 3)", "3.33")
    assert (gap == Fraction(7, 3), hash(gap)) == (True, hash(Fraction(7, 3)))
    assert type(pickle.loads(pickle.dumps(gap))) is Fraction  # noqa: S301


def test_no_name_becomes_a_formula_or_another_name() -> None:
    names = ("=1+1", "'=1+1", "+1", "-1", "@x", "\t=1", "plain", 'a "b", c\nd', "ü", "\uff1d1", "\ud800")
    release = replace(
        fg.noisy_top_k(COUNTS, 2, epsilon=2, bits=bits()), labels=names, gap_multiples=(-5,) * len(names)
    )
    with pytest.warns(UserWarning, match="quotation mark"):
        text = release.to_csv()
    assert text is not None
    _, *rows = csv.reader(io.StringIO(text))
    written = [row[1] for row in rows]
    assert len(set(written)) == len(names)
    assert not any(name.startswith(("=", "+", "-", "@", "\t", "\uff1d")) for name in written)
    assert written[:2] == ["'=1+1", "''=1+1"]
    assert float(rows[0][2]) < 0  # a number stays a number
    assert [row.item for row in release][:9] == list(names)[:9]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        replace(release, labels=("plain", "ü", *range(9))).to_csv()


def test_no_name_begins_a_row_of_its_own() -> None:
    """A spreadsheet ends a row at a carriage return that is not quoted, and runs what follows."""
    release = fg.noisy_top_k({"tea\r=1+1": 900, "b": 1}, 1, epsilon=9, bits=bits())
    text = release.to_csv()
    assert text is not None
    assert '"tea\r=1+1"' in text
    assert [row[1] for row in csv.reader(io.StringIO(text, newline=""))] == ["item", "tea\r=1+1"]


def test_a_sheet_holds_names_and_numbers_as_they_are(tmp_path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    release = fg.measure(COUNTS | {"_x0041_": 1, "\x01": 2}, epsilon=2, bits=bits())
    release.to_excel(tmp_path / "r.xlsx")
    with zipfile.ZipFile(tmp_path / "r.xlsx") as book:
        sheet, texts = book.read("xl/worksheets/sheet1.xml"), book.read("xl/sharedStrings.xml")
    space = {"x": "http://schemas.openxmlformats.org/spreadsheetml/2006/main"}
    words = [part.text for part in ElementTree.fromstring(texts).iterfind(".//x:t", space)]  # noqa: S314
    cells = list(ElementTree.fromstring(sheet).iterfind(".//x:c", space))  # noqa: S314
    assert not [cell for cell in cells if cell.find("x:f", space) is not None]  # no formula
    values = [(cell.get("t"), str(cell.findtext("x:v", None, space))) for cell in cells]
    shown = [words[int(value)] if kind == "s" else float(value) for kind, value in values]
    wanted = [value for row in (("item", "noisy_answer"), *release.rows()) for value in row]
    escaped = {"_x0041_": "_x005F_x0041_", "\x01": "_x0001_"}  # as the format says
    assert shown == [escaped.get(value, value) for value in wanted]
    with pytest.raises(InvalidArgument, match="32,767 characters"):
        replace(release, labels=("x" * 40_000, *"abcde")).to_excel(tmp_path / "r.xlsx")


def test_names_that_look_alike_are_told_apart() -> None:
    column = Column("item", (1, "1", "a\x01", "a\x02", "b"))
    assert column.cells == ("1", "'1'", r"'a\x01'", r"'a\x02'", "b")
    assert column.plain(exact=False, objects=False)[0].values == list(column.cells)
    assert column.plain(exact=False, objects=True)[0].values == list(column.values)


def test_an_interval_without_an_end_and_numbers_beyond_doubles() -> None:
    column = Column(
        "95 % interval", ((None, 2.01), (1.96, None), (None, None), (-2.01, 2.01)), tuple, form=",.1f"
    )
    assert column.cells == ("at most 2.1", "at least 1.9", "unknown", "-2.1 to 2.1")
    low, high = column.plain(exact=False, objects=False)
    assert (low.values, high.values) == ([None, 1.96, None, -2.01], [2.01, None, None, 2.01])
    huge = Column("gap", (Fraction(10**400), -Fraction(10**400)), float)
    assert huge.plain(exact=False, objects=False)[0].values == [math.inf, -math.inf]
    assert huge.plain(exact=True, objects=False)[0].values == [str(10**400), str(-(10**400))]


@pytest.mark.parametrize("text", ["", "[]", "{}", "1", '{"table": 3}', "[" * 100_000, "\x00"])
def test_what_is_no_release_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="must be a release"):
        fg.Release.from_json(text)


def test_a_tampered_record_is_refused() -> None:
    record = fg.noisy_top_k(COUNTS, 2, epsilon=2, bits=bits()).to_dict()
    for change in (
        {"private": True},  # its table says that it is not
        {"spent": "1/0"},
        {"epsilon": None},
        {"table": {**record["table"], "columns": [{**record["table"]["columns"][0], "kind": "code"}]}},
        {
            "table": {
                **record["table"],
                "columns": [record["table"]["columns"][0], {**record["table"]["columns"][1], "values": []}],
            }
        },
    ):
        with pytest.raises(InvalidArgument, match="must be a release"):
            fg.Release.from_json(json.dumps(record | change))


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    release = fg.noisy_top_k(COUNTS, 2, epsilon=2, bits=bits())
    for package, extra, call in (
        ("pandas", "pandas", release.to_pandas),
        ("polars", "polars", release.to_polars),
        ("pyarrow", "tables", release.to_arrow),
        ("xlsxwriter", "excel", lambda: release.to_excel(tmp_path / "r.xlsx")),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtra, match=rf"{package}.*freegap\[{extra}\]"):
            call()
    with pytest.raises(InvalidArgument, match=r"must end with \.parquet"):
        release.to_parquet(tmp_path / "r.csv")


def test_an_account_and_a_counterexample_in_a_notebook(tmp_path: Path) -> None:
    account = fg.Ledger(f"sqlite:///{tmp_path}/l.db").create("a <b>", epsilon=3, delta="1e-6")
    page = account._repr_html_()
    assert "a &lt;b&gt;" in page
    assert "<th>total (ρ)</th>" in page
    assert "ε = 3, δ = 1/1000000" in page
    settings: dict[str, Any] = {"epsilon": 1, "samples": 400, "search_samples": 100, "seed": 1, "jobs": 1}
    report = fg.audit(lambda answers, rng, note="<i>": sum(answers) + rng.integers(2), **settings)
    assert report.counterexample is not None
    assert "<th>event</th>" in report.counterexample._repr_html_()
    assert report.counterexample._repr_html_() in report._repr_html_()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spent",), "1e9999999"),
        (("spent",), "1E-9_999_999"),
        (("spent",), math.inf),
        (("threshold",), "1e9999999"),
        (("table", "columns", 0, "values"), [math.inf]),
        (("table", "columns", 2, "values"), ["1e9999999"]),
        (("table", "columns", 2, "form"), ".9999999f"),
        (("table", "columns", 0, "form"), "9999999d"),
        (("table", "columns", 2, "form"), 3),
    ],
)
def test_a_short_text_cannot_ask_for_more_digits_than_there_is_memory(
    path: tuple[Any, ...], value: Any
) -> None:
    record = fg.noisy_top_k({"a": 1, "b": 90}, 1, epsilon=9, bits=fg.SeededBits(1)).to_dict()
    inner: Any = record
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    with pytest.raises(fg.InvalidArgument, match="must be a release"):
        fg.Release.from_json(json.dumps(record))


def test_columns_without_rows_have_their_types() -> None:
    columns = [Plain("place", int, []), Plain("size", float, []), Plain("name", str, [])]
    assert [str(column.type) for column in to_arrow(columns).columns] == ["int64", "double", "string"]
    assert [str(kind) for kind in to_polars(columns).dtypes] == ["Int64", "Float64", "String"]
    assert [str(kind) for kind in to_pandas(columns).dtypes] == ["int64", "float64", "object"]


def test_an_arrow_points_to_the_side_that_has_no_end() -> None:
    axes = Figure().subplots()
    _bars(axes, np.arange(3), np.array([5.0, 6.0, 7.0]), [(None, 7), (4, None), (6, 8)])
    arrows = [text for text in axes.texts if isinstance(text, Annotation)]
    assert [(arrow.xy[0], arrow.xy[1]) for arrow in arrows] == [(0, 0), (1, 1)]
