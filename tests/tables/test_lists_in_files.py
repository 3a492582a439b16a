"""Public lists in files of every format, of every kind of value, for tables with types and without."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import freegap as fg
from freegap.errors import EngineFailed, InvalidArgument

DAY = datetime.date(2026, 1, 31)
KINDS: dict[str, list[Any]] = {
    "code": [7, -3, 0],
    "ward": ["north", "7", "ä~b"],
    "flag": [True, False],
    "day": [DAY, DAY + datetime.timedelta(days=1), datetime.date(1999, 12, 31)],
}
FORMATS = ("csv", "jsonl", "parquet", "xlsx")


def _write(frame: pl.DataFrame, path: Path) -> Path:
    ending = path.suffix
    if ending == ".csv":
        frame.write_csv(path)
    elif ending == ".jsonl":
        frame.write_ndjson(path)
    elif ending == ".parquet":
        frame.write_parquet(path)
    else:
        import openpyxl

        book = openpyxl.Workbook()
        book.active.append(frame.columns)
        for row in frame.iter_rows():
            book.active.append(row)
        book.save(path)
    return path


def _rows(kind: str) -> pl.DataFrame:
    """Forty people have the first, twenty the second of the values; nobody a third."""
    first, second, *_ = KINDS[kind]
    return pl.DataFrame(
        {kind: [first] * 40 + [second] * 20, "place": ["x", "y"] * 30, "person": list(range(60))}
    )


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_list_of_items_in_a_file(kind: str, format_: str, tmp_path: Path) -> None:
    """As items, as one part of items, and as groups."""
    rows, values = _rows(kind), KINDS[kind]
    listed = _write(pl.DataFrame({kind: values}), tmp_path / f"list.{format_}")
    asked: dict[str, Any] = {"person": "person", "k": 1, "epsilon": 1000}
    tables: dict[str, Any] = {"polars": rows, "csv": _write(rows, tmp_path / "rows.csv")}
    for table, held in tables.items():
        # Of texts in a file each is read as the table's column says; where both are texts they are texts.
        as_text = table == "csv" and format_ != "parquet"
        spelt: Any = {"True": "true", "False": "false"}.get(str(values[0]), str(values[0]))
        first = spelt if as_text else values[0]
        found = fg.top_k(held, item=kind, domain=listed, bits=fg.SeededBits(1), **asked)
        assert found.labels == (first,), table
        parts = {kind: listed, "place": ["x", "y"]}
        pairs = fg.top_k(held, item=[kind, "place"], domain=parts, bits=fg.SeededBits(1), **asked)
        assert pairs.labels[0][0] == first, table
        grouped = fg.top_k(
            held,
            item="place",
            domain=["x", "y", "z"],
            group=kind,
            groups=listed,
            bits=fg.SeededBits(1),
            **asked,
        )
        assert grouped.groups is not None
        assert set(map(str, grouped.groups.labels)) == {str(one) for one in values} or as_text, table
        assert len(grouped) == len(values)


@pytest.mark.parametrize(
    ("kind", "wrong"), [("code", "1.5"), ("code", "x"), ("flag", "maybe"), ("day", "31.1.")]
)
def test_a_text_that_is_no_value_of_the_column(kind: str, wrong: str, tmp_path: Path) -> None:
    first = str(KINDS[kind][0])
    listed = _write(pl.DataFrame({kind: [first, wrong]}), tmp_path / "list.csv")
    asked: dict[str, Any] = {"person": "person", "k": 1, "epsilon": 1}
    for way in (
        {"item": kind, "domain": listed},
        {"item": [kind, "place"], "domain": {kind: listed, "place": ["x", "y"]}},
        {"item": "place", "domain": ["x", "y"], "group": kind, "groups": listed},
    ):
        with pytest.raises(InvalidArgument, match="cannot be read as") as caught:
            fg.top_k(_rows(kind), **asked, **way)
        assert caught.value.value == wrong
        assert caught.value.argument == ("groups" if "groups" in way else "domain")


def test_a_file_of_pairs_for_groups_of_every_kind(tmp_path: Path) -> None:
    for kind, values in KINDS.items():
        rows = _rows(kind)
        pairs = pl.DataFrame(
            {"place": ["x", "y", "x", "z"], kind: [values[0], values[0], values[1], values[1]]}
        )
        for format_ in ("csv", "parquet"):
            listed = _write(pairs, tmp_path / f"pairs.{format_}")
            found = fg.top_k(
                rows, item="place", person="person", k=1, epsilon=1000, domain=listed, domain_group=kind,
                group=kind, groups_per_person=1, bits=fg.SeededBits(1),
            )  # fmt: skip
            assert found.groups is not None
            assert sorted(map(str, found.groups.labels)) == sorted(map(str, values[:2]))


def test_a_file_that_vanishes_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from freegap.tables import files

    monkeypatch.setattr(files, "_find", lambda path, argument: [str(tmp_path / "none.parquet")])
    with pytest.raises(EngineFailed):
        fg.top_k(tmp_path / "none.parquet", item="item", person="person", k=1, epsilon=1, domain=["a", "b"])
