"""What happens to a row depends on that row alone: no person's rows fail or change another's."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap import base2
from freegap.tables.people import counted
from tests.tables.engines import AS_USUAL

DOMAIN = ["milk", "rice", "tea"]
PEOPLE = [("tea", i) for i in range(30)] + [("milk", i) for i in range(20)]


def _counts(table: Any, domain: Any = DOMAIN, **options: Any) -> dict[Any, int]:
    with counted(table, item="item", person="person", domain=domain, **(AS_USUAL | options)) as people:
        tally = people.tally
        places = [(g, m) for g, size in enumerate(tally.sizes) for m in range(int(size))]
        return dict(zip(tally.names(places), (int(tally.values[g]) for g, _ in places), strict=True))


def _lines(path: Path, rows: list[str]) -> Path:
    path.write_text("\n".join(rows) + "\n", encoding="utf-8", errors="surrogateescape")
    return path


PLAIN = [json.dumps({"item": item, "person": person}) for item, person in PEOPLE]
ODD_ROWS = {
    "another key": '{"item": "tea", "person": 99, "else": 1}',
    "the same key in capitals": '{"item": "tea", "ITEM": "milk", "person": 99}',
    "no keys": "{}",
    "no item": '{"person": 99}',
    "a list for an item": '{"item": ["tea"], "person": 99}',
    "a nested person": '{"item": "tea", "person": {"a": 1}}',
    "many keys": json.dumps({f"k{i}": {"deep": i} for i in range(300)}),
    "no JSON": "this is not JSON",
    "half a line": '{"item": "tea", "person":',
    "a list": '[{"item": "tea", "person": 99}]',
    "a number": "7",
    "nothing": "",
    "a broken surrogate": '{"item": "\\ud800", "person": 99}',
    "no UTF-8": '{"item": "\udcff", "person": 99}',
}


@pytest.mark.parametrize("odd", ODD_ROWS)
@pytest.mark.parametrize("at_the_end", [True, False])
def test_one_row_of_json_lines_changes_nothing_for_others(odd: str, at_the_end: bool, tmp_path: Path) -> None:
    row = [ODD_ROWS[odd]]
    rows = PLAIN + row if at_the_end else row + PLAIN
    plain = _counts(_lines(tmp_path / "plain.jsonl", PLAIN))
    assert plain == {"tea": 30, "milk": 20, "rice": 0}
    changed = _counts(_lines(tmp_path / "odd.jsonl", rows))
    assert changed.keys() == plain.keys()
    assert {changed[item] - plain[item] for item in plain} <= {0, 1}


def test_json_lines_where_no_row_has_the_key(tmp_path: Path) -> None:
    """An error would tell that nobody has it: one more person's row takes it away."""
    assert _counts(_lines(tmp_path / "t.jsonl", ['{"other": 1}'])) == {"tea": 0, "milk": 0, "rice": 0}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(
    "build", [pd.DataFrame, pl.DataFrame, lambda d: pl.DataFrame(d).lazy(), lambda d: pa.table(d)]
)
def test_zero_and_minus_zero_are_one_person(build: Any, kind: Any) -> None:
    table = build({"item": ["tea", "tea", "milk"], "person": np.array([0.0, -0.0, 1.0], dtype=kind)})
    assert _counts(table) == {"tea": 1, "milk": 1, "rice": 0}


def test_the_values_of_a_column_of_objects_do_not_decide_its_kind() -> None:
    """Were it text while every value is one, a range would be refused until somebody brought a number."""
    columns: list[list[Any]] = [[], [None], ["tea"], ["tea", "milk"], ["tea", 1], [1]]
    for items in columns:
        table = pd.DataFrame({"item": pd.Series(items, dtype=object), "person": range(len(items))})
        assert _counts(table, range(3)) == {0: 0, 1: items.count(1), 2: 0}
        assert _counts(table, ["tea", "milk"]) == {"tea": items.count("tea"), "milk": items.count("milk")}


def test_a_csv_domain_without_header_does_not_lose_an_item(tmp_path: Path) -> None:
    table = pd.DataFrame({"item": ["tea"] * 3, "person": range(3)})
    for name, text in (("d.csv", "tea\nmilk\nrice\n"), ("d.tsv", "tea\nmilk\nrice\n"), ("e.csv", "tea\n")):
        bare = tmp_path / name
        bare.write_text(text)
        with pytest.raises(fg.InvalidArgument, match=r"no column called 'item'.*domain_column"):
            _counts(table, bare)
    named = tmp_path / "named.csv"
    named.write_text("product\ntea\nmilk\n")
    assert _counts(table, named, domain_column="product") == {"tea": 3, "milk": 0}
    same = tmp_path / "same.csv"
    same.write_text("item\ntea\nmilk\n")
    assert _counts(table, same) == {"tea": 3, "milk": 0}
    # Formats that name their columns themselves, and tables, may have one column of any name.
    typed = tmp_path / "d.parquet"
    pl.DataFrame({"product": ["tea", "milk"]}).write_parquet(typed)
    assert _counts(table, typed) == _counts(table, pl.DataFrame({"product": ["tea", "milk"]}))
    assert _counts(table, _lines(tmp_path / "d.jsonl", ['{"product": "tea"}'])) == {"tea": 3}


def test_an_unsigned_item_beyond_int64_is_outside_a_range() -> None:
    for items in ([2**64 - 1], [2**63], [2**64 - 10, 3]):
        with pytest.raises(fg.InvalidArgument, match="must all be in the domain"):
            fg.Counts.over(range(-10, 10), items=np.array(items, dtype=np.uint64), values=[1] * len(items))
    high = fg.Counts.over(range(2**63 - 2, 2**63 + 5), items=np.array([2**63 + 1], np.uint64), values=[7])
    assert [high.label(1, member) for member in range(3)] == [2**63 - 2, 2**63 - 1, 2**63]
    low = fg.Counts.over(range(-(2**63), -(2**63) + 5), items=np.array([-(2**63)]), values=[7])
    assert low.label(1, 0) == -(2**63) + 1
    with pytest.raises(fg.InvalidArgument, match="must all be in the domain"):
        fg.Counts.over(range(2**70, 2**70 + 5), items=np.array([3]), values=[7])


def test_bounds_of_a_base_2_release_are_refused_with_a_reason() -> None:
    release = base2.sparse_vector_with_gap(
        [900],
        500,
        gaps=[50, 100],
        k=1,
        eta=base2.share_epsilon(1, k=1),
        low=0,
        high=1000,
        width=500,
        bits=fg.SeededBits(1),
    )
    for derive in (fg.lower_bounds, fg.gap_variances):
        with pytest.raises(fg.InvalidArgument, match="must have exponential, Laplace or geometric noise"):
            derive(release)
    assert release.gaps == (Fraction(100),)
