"""Tables that were misread: deleted rows, mixed types, names that are none; and no password shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.tables.domains import _listed
from freegap.tables.sources import open_source
from freegap.tables.tallies import tally_pairs

ITEMS = ["a", "b", "c"]
ASK: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "epsilon": 9}
FRAME = pl.DataFrame({"item": ["a"] * 200 + ["b"], "person": range(201)})


def top(table: Any, **more: Any) -> Any:
    return fg.top_k(table, bits=fg.SeededBits(1), **{**ASK, "domain": ITEMS, **more})


@pytest.mark.parametrize(
    ("mark", "data", "name"),
    [
        ("_delta_log/0.json", "part=1/a.parquet", "Delta"),
        (".hoodie/x.json", "a.parquet", "Hudi"),
        ("metadata/v1.metadata.json", "data/a.parquet", "Iceberg"),
    ],
)
def test_a_table_with_deleted_rows_is_refused(mark: str, data: str, name: str, tmp_path: Path) -> None:
    (tmp_path / data).parent.mkdir(parents=True, exist_ok=True)
    FRAME.write_parquet(tmp_path / data)
    assert top(tmp_path / data).labels == ("a",)
    (tmp_path / mark).parent.mkdir()
    (tmp_path / mark).write_text("{}")
    for place in (tmp_path / data, tmp_path / data.rpartition("/")[0], f"{tmp_path}/**/*.parquet"):
        with pytest.raises(InvalidArgument, match=f"belongs to a table of {name}, whose files hold"):
            top(place)


def test_a_folder_with_two_journals_is_refused_by_one_name(tmp_path: Path) -> None:
    """The same whatever order the folders are found in."""
    FRAME.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / ".hoodie").mkdir()
    with pytest.raises(InvalidArgument, match="belongs to a table of Delta, whose files hold"):
        top(tmp_path / "a.parquet")


def test_files_of_several_types_are_not_rounded(tmp_path: Path) -> None:
    pl.DataFrame({"item": [2], "person": [1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"item": [2.5] * 200, "person": range(200)}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InvalidArgument, match=r"type of column 'item': BIGINT, DOUBLE"):
        top(tmp_path, domain=[1, 2, 3])
    wide = pl.DataFrame({"item": [2**40] * 200, "person": range(200)})
    wide.with_columns(pl.col("person").cast(pl.UInt8)).write_parquet(tmp_path / "b.parquet")
    assert top(tmp_path, domain=[1, 2, 2**40]).labels == (2**40,)
    pl.DataFrame({"item": [2], "person": [1]}, schema={"item": pl.Int8, "person": pl.Int8}).write_parquet(
        tmp_path / "a.parquet"
    )
    assert top(tmp_path, domain=[1, 2, 2**40]).labels == (2**40,)
    pl.DataFrame({"item": [2]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InvalidArgument, match="has no column 'person'"):
        top(tmp_path, domain=[1, 2])


def test_a_key_of_a_domain_that_comes_late(tmp_path: Path) -> None:
    late = [{"x": number} for number in range(21_000)] + [{"item": item} for item in ITEMS]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, late)))
    assert top(FRAME, domain=tmp_path / "d.jsonl").labels == ("a",)


def test_no_password_is_shown() -> None:
    for arguments in (
        {"table": "postgresql://u:SECRET@h/d"},
        {"table": "mysql://u:SECRET@h/d"},
        {"table": FRAME, "domain": "s3://k:SECRET@b/x"},
    ):
        with pytest.raises(
            InvalidArgument, match=r"must be a path on this machine|must name a table"
        ) as caught:
            top(**arguments)
        assert "SECRET" not in f"{caught.value}{caught.value.value!r}"


def test_names_that_are_none(tmp_path: Path) -> None:
    frame = FRAME.to_pandas()
    levels = frame.copy()
    levels.columns = pd.MultiIndex.from_tuples([("x", "item"), ("x", "person")])
    for table, remedy in (
        (frame.set_index(["item", "person"]), r"Its index has item, person: pass table\.reset_index\(\)"),
        (frame.set_index("item"), r"Its index has item: pass table\.reset_index\(\)"),
        (levels, r"They have several levels: pass table\.droplevel\(0, axis=1\)"),
        (frame[["person"]], r"Its columns are: person\.$"),
    ):
        with pytest.raises(InvalidArgument, match=remedy):
            top(table)
    assert top(levels.droplevel(0, axis=1)).labels == top(frame).labels == ("a",)
    # Polars takes these for patterns: the second would have counted the column "ix".
    for name in ("*", "^i.*$"):
        table = FRAME.with_columns(pl.lit("c").alias("ix")).rename({"item": name})
        for held in (table, table.lazy()):
            with pytest.raises(InvalidArgument, match="is a pattern of many columns to Polars"):
                top(held, item=name)
    table_csv = tmp_path / "t.csv"
    frame.to_csv(table_csv)  # with the index, which has no name
    assert top(table_csv).labels == ("a",)
    table_csv.write_text(",item,,person,unnamed 0\n" + "9,a,8,1,7\n" * 3)
    assert top(table_csv).labels == ("a",)
    for rows in ("a,1,\n", "a,1\n"):
        table_csv.write_text("item,person,\n" + rows)
        with pytest.raises(InvalidArgument, match="the first line ends with a delimiter"):
            top(table_csv)


def test_an_eager_polars_table_is_counted_lazily() -> None:
    with open_source(FRAME, "item", "person") as source:
        assert source.lazy
    assert top(FRAME).labels == top(FRAME.lazy()).labels == top(FRAME.to_pandas()).labels


def test_places_in_a_list_of_any_kind() -> None:
    """What a dict finds at once, and what only a comparison tells, at the same places."""
    domain = _listed(["x", 7, 2.5, ("y", 1)])
    for items in (["x", 7, "z", 8], ["x", 2.5, ("y", 1), ["y"], 7.0, True]):
        places = [domain.items.index(item) for item in items if item in domain.items]
        tally = tally_pairs(domain, items, [len(items) - place for place in range(len(items))])
        found = tally.find([(int(value), 0) for value in tally.values if value])
        assert found == [domain.items[place] for place in places]
