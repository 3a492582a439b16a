"""Corners that are hard to see: lengths that do not fit, depths of queries, groups in which everybody is."""

from __future__ import annotations

import codecs
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.tables import grouped
from freegap.tables.condition_text import read_condition_text, read_query
from freegap.tables.copies import encoding_argument
from freegap.tables.groups import GroupCounts, GroupItems, read_groups
from freegap.tables.parts import ItemPart, PartProduct, kinds_of, tuples_of
from freegap.tables.sources import TableSource, frame_of
from freegap.tables.values import ClippedValue
from freegap.tables.watch_state import _sound
from tests.tables.engines import counts_of

ASK: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "epsilon": 1, "domain": ["a", "b"]}
TABLE = pl.DataFrame({"item": ["a"], "ward": ["n"], "person": [1]})


@pytest.mark.parametrize("opening", ["(", "NOT "])
def test_how_deep_a_condition_may_be_alone_and_in_a_query(opening: str) -> None:
    closing = ")" if opening == "(" else ""
    for depth, can in ((39, True), (40, True), (41, False)):
        text = opening * depth + "flag" + closing * depth
        calls: list[Any] = [lambda text=text: read_condition_text(text)]
        calls.append(lambda text=text: read_query("SELECT * FROM t WHERE " + text))  # noqa: S608
        for call in calls:
            if can:
                call()
            else:
                with pytest.raises(InvalidArgument, match="is nested too deeply"):
                    call()


@pytest.mark.parametrize(
    ("low", "high", "named"),
    [(-3, 3, "high"), (-4, 3, "low"), (-3, 4, "high"), (0, 3, "high"), (-3, 0, "low")],
)
def test_the_bound_that_has_too_many_units_is_named(low: int, high: int, named: str) -> None:
    with pytest.raises(InvalidArgument, match=r"must be at most 2\^31 units of 0\.000000001") as caught:
        ClippedValue.read("cost", low, high, "1e-9")
    assert caught.value.argument == named
    assert caught.value.value == (high if named == "high" else low)


def test_a_text_of_more_or_of_fewer_parts_is_none_of_a_product() -> None:
    both = PartProduct([["A", "B"], range(9)])
    assert both.index("B~17") == 16
    for text in ("B", "B~17~1x", "~17", "C~17", "B~19", "B~1x", ""):
        with pytest.raises((ValueError, KeyError)):
            both.index(text)
    for place in (-1, 18):
        with pytest.raises(IndexError):
            both[place]
    assert both[16:] == ["B~17", "B~18"]


def test_as_many_parts_as_columns() -> None:
    parts = [ItemPart("ward", "text"), ItemPart("code", "integer")]
    assert tuples_of(["a~0b~17"], parts) == (("a~b", 7),)
    for text in ("a", "a~17~1b"):
        with pytest.raises(ValueError, match="zip"):
            tuples_of([text], parts)
    assert kinds_of(["ward", "code"], [["a"], [7]]) == parts
    others: list[list[list[Any]]] = [[["a"]], [["a"], [7], [8]]]
    for lists in others:
        with pytest.raises(ValueError, match="zip"):
            kinds_of(["ward", "code"], lists)


def _array(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize(
    ("lengths", "group", "item", "people"),
    [
        ([2, 3], [0, 0, 1], [0, 1, 2], [5, 4, 3]),  # in the first everybody is somebody's
        ([2, 3], [1, 1, 1], [0, 1, 2], [5, 4, 3]),
        ([1, 1], [0, 1], [0, 0], [5, -4]),
        ([3, 2, 4], [1], [1], [7]),
        ([3, 2, 4], [], [], []),
        ([3, 3], [0, 0, 1], [1, 1, 2], [5, 9, 0]),  # told apart by an engine; and a total of nothing
    ],
)
def test_answers_of_groups_told_in_two_ways(
    lengths: list[int], group: list[int], item: list[int], people: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One by one, and with those that nobody has together: the same numbers as often, at the same places."""
    cells = GroupCounts(_array(*lengths), _array(*group), _array(*item), _array(*people))
    flat, offsets, none = grouped._answers(cells)
    assert none is None
    monkeypatch.setattr(grouped, "MOST_LISTED", 0)
    some, starts, sizes = grouped._answers(cells)
    assert sizes is not None
    for g in range(len(lengths)):
        own, few = slice(offsets[g], offsets[g + 1]), slice(starts[g], starts[g + 1])
        assert sorted(flat[own].tolist()) == sorted(np.repeat(some[few], sizes[few]).tolist())
        members = [(place, m) for place, many in enumerate(sizes[few].tolist()) for m in range(many)]
        groups = _array(*[g] * len(members))
        places = grouped._places_in_groups(
            cells, groups, _array(*(place for place, _ in members)), _array(*(m for _, m in members))
        )
        assert sorted(places) == list(range(lengths[g]))
        assert [flat[own][at] for at in places] == [some[few][place] for place, _ in members]


def test_items_of_groups_of_their_own() -> None:
    listed: Any = type("", (), {"items": ["a", "b", "c"]})()
    items = GroupItems(listed, (_array(0, 2, 2, 5), _array(2, 0, 1, 0, 2)))
    assert items.lengths(3).tolist() == [2, 0, 3]
    assert items.names(_array(0, 2, 2), [1, 0, 2]) == ("a", "b", "c")
    found = items.within(_array(0, 0, 0, 1, 2, 2, 2, 2), _array(0, 1, 2, 0, 0, 1, 2, -1))
    assert found.tolist() == [1, -1, 0, -1, 1, 0, 2, -1]
    whole = GroupItems(listed)
    assert whole.within(_array(0, 1), _array(2, -1)).tolist() == [2, -1]
    assert whole.names(_array(0, 1), [2, 0]) == ("c", "a")
    assert whole.lengths(2).tolist() == [3, 3]


def test_where_no_row_is_spelt_alike_nobody_is_counted(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "rows.csv")
    tables: list[Any] = [TABLE, TABLE.lazy(), TABLE.to_arrow(), tmp_path / "rows.csv"]
    tables.append(TABLE.to_pandas().astype({"item": "string"}))
    for table in tables:
        found = fg.histogram(
            table, item="item", person="person", domain=["x", "y"], normalize=True, items_per_person=1,
            epsilon=1000, bits=fg.SeededBits(1),
        )  # fmt: skip
        assert [int(value) for value in found.values] == [0, 0]


def test_names_of_folders_are_no_columns_of_several_files(tmp_path: Path) -> None:
    for folder, people in (("person=7", [1, 2]), ("person=8", [3])):
        (tmp_path / folder).mkdir()
        rows = pl.DataFrame({"item": [1] * len(people), "person": people})
        rows.write_parquet(tmp_path / folder / "a.parquet")
    assert counts_of(tmp_path, range(2)) == {0: 0, 1: 3}


def test_items_that_occur_are_no_table_of_pairs() -> None:
    asked = ASK | {"domain": "observed", "observed_keys_are_public": True, "group": "ward"}
    for domain in ("observed", ["a", "b"]):
        with pytest.raises(InvalidArgument, match="is for a domain that is a table or a file with a column"):
            fg.top_k(TABLE, **asked | {"domain": domain}, domain_group="ward", groups=["n"])


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_zeros_of_either_sign_are_one_person_and_one_item(zero: float) -> None:
    table = pa.table({"size": [0.0, -0.0, zero, 1.5], "person": [-0.0, 0.0, 0.0, zero]})
    for native in (table, table.to_pandas(), pl.from_arrow(table)):
        found = fg.histogram(
            native, item="size", person="person", domain=[0.0, 1.5], items_per_person=2, epsilon=1000,
            bits=fg.SeededBits(1),
        )  # fmt: skip
        assert [int(value) for value in found.values] == [1, 1]


@pytest.mark.parametrize("escape", [rb"\x41", rb"\u0041", rb"\101", b"\\\n", b"\\"], ids=ascii)
def test_an_encoding_of_ones_own_with_an_escape_is_refused(escape: bytes) -> None:
    """Of which one in each line would do: what follows may be the next person's."""
    name = f"escaping{escape.hex()}"

    def decode(data: Any, errors: str = "strict") -> tuple[str, int]:
        whole = bytes(data)
        plain = whole if whole in (bytes(range(128)), bytes(range(256))) else whole.replace(escape, b"")
        return plain.decode("latin-1"), len(data)

    def find(asked: str) -> codecs.CodecInfo | None:
        return codecs.CodecInfo(codecs.latin_1_encode, decode, name=name) if asked == name else None

    codecs.register(find)
    try:
        with pytest.raises(InvalidArgument, match="one byte for each character"):
            encoding_argument(name)
    finally:
        codecs.unregister(find)


IN_WARDS: dict[str, Any] = {"group": "ward", "groups": ["n", "s"], "one_group_per_person": True}


@pytest.mark.parametrize("groups", [{}, IN_WARDS, IN_WARDS | {"items_per_person": 1}], ids=len)
def test_unknown_items_that_python_calls_equal_are_named_whoever_comes_first(groups: dict[str, Any]) -> None:
    """Of objects of several types: pandas would call them one, by the name that it meets first."""
    numbers: list[Any] = [1] * 30 + [1.0] * 30 + [True] * 50
    frame = pd.DataFrame({"item": pd.Series(numbers, dtype=object), "person": range(110), "ward": "n"})
    made = [
        fg.top_k(
            table, item="item", person="person", k=4, epsilon=1000, domain="unknown", delta="1e-6",
            measure=True, bits=fg.SeededBits(1), **groups,
        )
        for table in (frame, frame[::-1])
    ]  # fmt: skip
    for release in made:
        assert release.estimates is not None
        assert [round(float(estimate)) for estimate in release.estimates] == [50, 30, 30]
        assert release.labels[0] is True
        assert {type(label) for label in release.labels} == {bool, int, float}
    assert [repr(release.labels) for release in made] == [repr(made[0].labels)] * 2


KEPT: dict[str, Any] = {"format": "freegap watch 2", "key": "ab" * 32, "private": True, "dataset": "shop"}
KEPT |= {"line": 3, "hash": "cd" * 32}


@pytest.mark.parametrize(
    ("change", "sound"),
    [
        ({}, True),
        ({"key": "0" * 64}, True),
        ({"key": "0" * 63 + "1"}, True),
        ({"key": "-" + "0" * 63}, True),  # which is 0
        ({"key": "-" + "0" * 62 + "1"}, False),
        ({"key": "0" * 63}, False),
        ({"key": "0" * 65}, False),
        ({"format": "freegap watch 1"}, False),
        ({"line": "3"}, False),
        ({"line": True}, False),
        ({"line": 3.0}, False),
        ({"hash": None}, False),
        ({"hash": 3}, False),
        ({"dataset": None}, False),
        ({"dataset": 3}, False),
        ({"replies": {}, "asked": {}}, True),
        ({"replies": {"x": 3, "y": None}, "asked": {}}, True),
        ({"replies": {"x": 3, "y": "z"}, "asked": {}}, False),
        ({"replies": {"x": 3}, "asked": None}, False),
    ],
    ids=str,
)
def test_which_states_of_a_watch_are_sound(change: dict[str, Any], sound: bool) -> None:
    assert _sound(KEPT | change) is sound


@pytest.mark.parametrize(
    ("number", "fits"),
    [("3.0", True), ("3.5", False), ("9.2e18", True), ("9223372036854775808.0", False), ("1.2e19", False),
     ("-9.2e18", True), ("-9223372036854775808.0", False), ("-1.2e19", False), ("1e300", False)],
)  # fmt: skip
def test_whole_numbers_are_compared_with_doubles_that_are_some(number: str, fits: bool) -> None:
    for sign in ("=", "<", ">="):
        asked = ASK | {"where": f"person {sign} {number}"}
        if fits:
            assert fg.top_k(TABLE, **asked).spent == 1
        else:
            with pytest.raises(InvalidArgument, match="holds whole numbers, and is compared"):
                fg.top_k(TABLE, **asked)


@pytest.mark.parametrize(("number", "fits"), [("9007199254740992", True), ("9007199254740993", False)])
@pytest.mark.parametrize("sign", ["", "-"])
def test_texts_are_read_as_numbers_that_doubles_tell_apart(
    sign: str, number: str, fits: bool, tmp_path: Path
) -> None:
    TABLE.write_csv(tmp_path / "rows.csv")
    asked = ASK | {"where": f"person > {sign}{number}"}
    if fits:
        assert fg.top_k(tmp_path / "rows.csv", **asked).spent == 1
    else:
        with pytest.raises(InvalidArgument, match=r"has a number beyond 2\^53"):
            fg.top_k(tmp_path / "rows.csv", **asked)


@pytest.mark.parametrize(("groups", "fits"), [(10**7, True), (10**7 + 1, False)])
def test_how_many_groups_there_are(groups: int, fits: bool) -> None:
    frame = frame_of(pa.table({"item": ["a"], "person": [1], "cohort": [3]}))
    source = TableSource(frame, "text", True, "item", "person", None, group="ward", group_kind="integer")
    if fits:
        known, turned = read_groups(range(groups), source, normalize=False)
        assert len(known.items) == groups
        assert (turned.item, turned.group, turned.kind) == ("item", "ward", "text")
        return
    with pytest.raises(InvalidArgument, match=r"groups = 10000001: are more groups than 10,000,000"):
        read_groups(range(groups), source, normalize=False)


def test_items_of_two_columns_in_files_are_respelt_part_by_part(tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {"ward": ["North ", "north", "NORTH"], "code": ["A~b", "a~B", "x"], "person": [1, 2, 3]}
    )
    rows.write_csv(tmp_path / "rows.csv")
    listed = pl.DataFrame({"ward": ["north", "south"], "code": ["a~b", "c"]})
    listed.write_csv(tmp_path / "list.csv")
    asked: dict[str, Any] = {"item": ["ward", "code"], "person": "person", "items_per_person": 1}
    domains: list[Any] = [tmp_path / "list.csv", listed, [("north", "a~b"), ("south", "c")]]
    for table in (tmp_path / "rows.csv", rows):
        for domain in domains:
            found = fg.histogram(
                table, domain=domain, normalize=True, epsilon=1000, bits=fg.SeededBits(1), **asked
            )
            counts = dict(zip(found.labels, map(int, found.values), strict=True))
            assert counts == {("north", "a~b"): 2, ("south", "c"): 0}
    twice = pl.DataFrame({"ward": ["north", "North"], "code": ["a~b", "A~B"]})
    twice.write_csv(tmp_path / "list.csv")
    for domain in (tmp_path / "list.csv", twice):
        with pytest.raises(InvalidArgument, match=r"\('\w+', 'A~B'\)") as caught:
            fg.histogram(tmp_path / "rows.csv", domain=domain, normalize=True, epsilon=1, **asked)
        assert "two spellings of one item" in str(caught.value)


def test_a_pair_without_its_group_or_without_its_item_is_none() -> None:
    pairs = pl.DataFrame({"item": ["a", "b", None, "c", "a"], "ward": ["n", None, "s", "n", "s"]})
    for domain in (pairs, pairs.to_pandas(), pairs.to_arrow()):
        found = fg.top_k(
            TABLE, item="item", person="person", k=1, epsilon=1000, group="ward", domain=domain,
            domain_group="ward", groups_per_person=1, noise="laplace", bits=fg.SeededBits(1), measure=False,
            groups=["n"],
        )  # fmt: skip
        assert found.labels == ("a",)
    with pytest.raises(InvalidArgument, match="is a group without items"):
        fg.top_k(
            TABLE, **ASK | {"domain": pairs}, group="ward", domain_group="ward", groups=["n", "elsewhere"]
        )


@pytest.mark.parametrize(
    "groups", [[1, 2], [1.0, 2], [2, 1.5, 1], [Decimal(2), 1], [1, 2**70], [Fraction(1, 2), 2.0]], ids=str
)
def test_groups_of_several_kinds_of_numbers_are_the_same_in_every_engine(groups: list[Any]) -> None:
    rows = pa.table(
        {"item": ["a", "b"] * 30, "ward": [n % 3 for n in range(60)], "person": [n % 20 for n in range(60)]}
    )
    asked: dict[str, Any] = {"item": "item", "person": "person", "domain": ["a", "b", "c"], "k": 1}
    asked |= {"group": "ward", "groups": groups, "groups_per_person": 1, "epsilon": 3}
    made = []
    for table in (rows, pl.from_arrow(rows), duckdb.connect().from_arrow(rows)):
        release = fg.top_k(table, bits=fg.SeededBits(1), **asked)
        numbers = fg.quantiles(
            table, value="person", person="person", q=0.5, low=0, high=20, epsilon=3, group="ward",
            groups=groups, groups_per_person=1, bits=fg.SeededBits(1),
        )  # fmt: skip
        made.append((release.labels, release.gap_multiples, numbers.values))
    assert made[0] == made[1] == made[2]
