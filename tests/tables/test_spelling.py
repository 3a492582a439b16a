"""Spellings: a warning from the public domain alone, and one item for several, in every engine."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.errors import InvalidArgument, SpellingWarning

COMPOSED, APART = "caf\u00e9", "cafe\u0301"
SPELT = [COMPOSED, APART, "CAF\u00c9 ", "  Cafe\u0301"]
ROWS = {
    "item": [SPELT[i % 4] for i in range(400)] + [APART] * 50 + ["Tea  time", "tea time", "other", None] * 30,
    "person": [*map(str, range(400)), *map(str, range(50)), *(str(i) for i in range(120))],
}
DOMAIN = ["Tea time", COMPOSED, "milk"]
ASK: dict[str, Any] = {"item": "item", "person": "person", "k": 2, "epsilon": 20}


def top(table: Any, **more: Any) -> Any:
    asked: dict[str, Any] = {**ASK, "domain": DOMAIN, "measure": True, **more}
    return fg.top_k(table, bits=fg.SeededBits(1), **asked)


def test_one_item_in_place_of_its_spellings_in_every_engine(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    tables = (
        frame,
        frame.lazy(),
        pa.table(ROWS),
        pa.table(ROWS, schema=pa.schema([("item", pa.large_string()), ("person", pa.string())])),
        pd.DataFrame(ROWS).astype({"item": "string"}),
        tmp_path / "t.parquet",
        tmp_path / "t.csv",
    )
    first, *others = [top(table, normalize=True) for table in tables]
    assert first.labels == (COMPOSED, "Tea time")
    # Fifty people spelt it twice, and count once.
    assert [round(float(estimate)) for estimate in first.estimates] == [400, 60]
    for other in others:
        assert (other.labels, other.gaps, other.estimates) == (first.labels, first.gaps, first.estimates)
    held = top(tmp_path / "t.parquet", domain=_file(tmp_path), normalize=True)
    assert held.labels == first.labels
    assert round(float(top(frame).estimates[0])) == 100  # byte by byte


def _file(folder: Path) -> Path:
    pl.DataFrame({"item": DOMAIN}).write_csv(folder / "d.csv")
    return folder / "d.csv"


@pytest.mark.parametrize(
    ("domain", "remark"),
    [
        ([COMPOSED, "x", APART], "differ in case, blanks or encoding only"),
        (["Tea", "tea"], "'Tea' and 'tea', which differ"),
        (["a b", "a  b"], "which differ"),
        ([APART, "x"], r"not composed \(NFC\)"),
        (["x ", "y"], "blanks at its ends"),
    ],
)
def test_a_warning_from_the_domain_alone(domain: list[str], remark: str, tmp_path: Path) -> None:
    nobody = pl.DataFrame({"item": ["q"], "person": ["1"]})
    for table in (nobody, pl.DataFrame(ROWS)):  # whatever the table holds
        with pytest.warns(SpellingWarning, match=remark):
            top(table, domain=domain, k=1)
    nobody.write_parquet(tmp_path / "t.parquet")
    pl.DataFrame({"item": domain}).write_parquet(tmp_path / "d.parquet")
    with pytest.warns(SpellingWarning):
        top(tmp_path / "t.parquet", domain=tmp_path / "d.parquet", k=1)


def test_no_warning_for_a_plain_domain() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        top(pl.DataFrame(ROWS))
        top(pl.DataFrame({"item": [1, 2], "person": [1, 2]}), domain=range(5))
        top(pl.DataFrame(ROWS), domain="observed", observed_keys_are_public=True)


def test_where_it_cannot_be_done_it_is_refused() -> None:
    frame = pl.DataFrame(ROWS)
    with pytest.raises(InvalidArgument, match="two spellings of one item"):
        top(frame, domain=["Tea", "tea"], normalize=True)
    for table, domain in (
        (duckdb.from_arrow(frame.to_arrow()), DOMAIN),
        (frame, range(9)),
        (frame, "observed"),
    ):
        with pytest.raises(InvalidArgument, match=r"normalize|cannot contain"):
            top(table, domain=domain, observed_keys_are_public=True, normalize=True)
    with pytest.raises(InvalidArgument, match="columns of text"):
        # Objects: whether they are texts only the private values tell.
        top(pd.DataFrame(ROWS).astype({"item": object}), normalize=True)
    with pytest.raises(InvalidArgument, match="normalize"):
        fg.top_k(frame, domain="unknown", delta="1e-8", normalize=True, **ASK)


def test_an_empty_release_says_what_to_look_at() -> None:
    empty = fg.above(pl.DataFrame(ROWS), threshold=10**6, bits=fg.SeededBits(1), domain=DOMAIN, **ASK)
    assert len(empty) == 0
    assert "No item came out." in str(empty)
    assert "No item came out." not in str(top(pl.DataFrame(ROWS)))


def test_a_warning_points_to_where_the_list_was_passed() -> None:
    """Not into freegap, where nobody can mend it: for items and groups, in each function."""
    frame, alike = pl.DataFrame({"item": ["a"], "person": [1], "ward": ["n"]}), ["a", "A", "b"]
    asked: dict[str, Any] = {"person": "person", "epsilon": 1, "bits": fg.SeededBits(1)}
    groups: dict[str, Any] = {"group": "ward", "groups": ["n", "N"]}
    unknown: dict[str, Any] = {"domain": "unknown", "delta": "1e-6"}
    for call in (
        lambda: fg.top_k(frame, item="item", k=1, domain=alike, **asked),
        lambda: fg.above(frame, item="item", k=1, threshold=1, domain=alike, **asked),
        lambda: fg.histogram(frame, item="item", items_per_person=1, domain=alike, **asked),
        lambda: fg.top_k(frame, item="item", k=1, domain=["a", "b"], **asked, **groups),
        lambda: fg.top_k(frame, item="item", k=1, **asked, **groups, **unknown),
        lambda: fg.quantiles(frame, value="person", q=0.5, low=0, high=5, **asked, **groups),
    ):
        with pytest.warns(SpellingWarning) as seen:
            call()
        assert [one.filename for one in seen] == [__file__]
