"""Whatever goes wrong on the way is told in freegap's own words: each kind of error at each place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.tables import objects
from freegap.tables.domains import ListedDomain
from freegap.tables.files import FileTable
from freegap.tables.lakes import lake_format
from freegap.tables.objects import hashable
from freegap.tables.tallies import positions
from freegap.tables.watch import watch

KEY = "ab" * 32
ASKED = {"item": "item", "of": "a", "person": "person", "threshold": "5", "k": 1, "epsilon": "1"}
SOUND: dict[str, Any] = {
    "format": "freegap watch 2",
    "key": KEY,
    "private": True,
    "asked": ASKED,
    "replies": {"x": None},
}
CHANGES: list[dict[str, Any]] = [
    {"format": None},
    {"key": None},
    {"key": 3},
    {"key": ["ab"] * 64},
    {"key": "x" * 64},
    {"replies": []},
    {"replies": 3},
    {"replies": {"x": 1.5}},
    {"replies": {"x": True}},
    {"asked": []},
]
TABLE = pd.DataFrame({"item": ["a"], "person": [1]})


def _ask(state: Any) -> Any:
    return watch(
        TABLE, item="item", of="a", person="person", threshold=5, k=1, epsilon=1, state=state, question="x"
    )


@pytest.mark.parametrize(
    "spoilt",
    [
        b"\xff\xfe",  # no text
        b"{",  # no JSON
        b"3",
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        *(json.dumps(SOUND | change).encode() for change in CHANGES),
        *(
            json.dumps({name: value for name, value in SOUND.items() if name != left}).encode()
            for left in ("format", "key", "asked", "replies")
        ),
    ],
    ids=lambda one: one[:60],
)
def test_a_file_that_is_no_state_of_a_watch(spoilt: bytes, tmp_path: Path) -> None:
    state = tmp_path / "one.watch"
    state.write_bytes(spoilt)
    state.chmod(0o600)
    with pytest.raises(InvalidArgument, match="is not the state of a watch") as caught:
        _ask(state)
    assert caught.value.argument == "state"
    assert state.read_bytes() == spoilt


def test_a_file_that_is_one(tmp_path: Path) -> None:
    state = tmp_path / "one.watch"
    state.write_text(json.dumps(SOUND))
    state.chmod(0o600)
    assert (_ask(state).alert, _ask(str(state)).private) == (False, True)
    state.write_text(json.dumps(SOUND | {"private": 1}))
    assert not _ask(state).private  # nothing but True says so


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("folder", "has another name"),
        ("loop", "is not the state of a watch"),
        ("none/one.watch", r"cannot be written \(No such file or directory\)"),
        ("file/one.watch", r"cannot be written \(Not a directory\)"),
        ("x" * 300, r"cannot be written \(File name too long\)"),
        ("half \ud800", "is no possible name"),
        ("nothing \0", "must be a path"),
    ],
    ids=lambda one: one[:14],
)
def test_places_where_no_state_can_be(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InvalidArgument, match=message) as caught:
        _ask(f"{tmp_path}/{name}")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("state", ["", 3, None, b"one.watch", ".", "/"])
def test_what_is_no_path_of_a_state(state: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be a path"):
        _ask(state)


def test_a_domain_with_lists_for_items_is_refused() -> None:
    asked: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "epsilon": 1}
    with pytest.raises(InvalidArgument, match="must contain hashable items") as caught:
        fg.top_k(TABLE, **asked, domain=[["a"], ["b"]])
    assert caught.value.__suppress_context__
    with pytest.raises(InvalidArgument, match="must have hashable items") as caught:
        fg.top_k(TABLE.assign(ward="n"), **asked, group="ward", domain={"n": [["a"], ["b"]]})
    assert caught.value.__suppress_context__
    assert caught.value.value == "n"


@pytest.mark.parametrize("path", ["x" * 300 + ".csv", "x" * 300 + "/*.csv"])
def test_a_name_that_is_too_long(path: str, tmp_path: Path) -> None:
    assert lake_format(f"{tmp_path}/{path}", "table") is None
    with pytest.raises(InvalidArgument, match=r"names no file|cannot be read"):
        FileTable(f"{tmp_path}/{path}", "table")
    assert lake_format("", "table") is None
    assert lake_format("a\0b", "table") is None


class _Hostile:
    """What fails however it is asked."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def __eq__(self, other: object) -> bool:
        raise self._error

    def __hash__(self) -> int:
        raise self._error


@pytest.mark.parametrize("error", [TypeError, ValueError, RecursionError, ZeroDivisionError])
def test_an_object_that_cannot_be_hashed_is_missing(error: type[Exception]) -> None:
    frame = pd.DataFrame({"item": ["a", _Hostile(error), 3, "\ud800", [1], None]}, dtype=object)
    kept: Any = nw.to_native(hashable(nw.from_native(frame)))
    assert kept["item"].tolist() == ["a", None, 3, None, None, None]


def test_texts_are_looked_at_a_part_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever among them the odd one is."""
    monkeypatch.setattr(objects, "_AT_ONCE", 3)
    for place in range(7):
        for odd in ("\ud800", "\udfff"):
            texts: list[Any] = [f"t{n}" for n in range(7)]
            texts[place] = odd
            kept: Any = nw.to_native(hashable(nw.from_native(pd.DataFrame({"item": texts}, dtype=object))))
            assert kept["item"].tolist() == [None if n == place else f"t{n}" for n in range(7)]
    for missing in ([], [None], [float("nan")]):
        texts = [*(f"t{n}" for n in range(7)), *missing]
        plain = nw.from_native(pd.DataFrame({"item": texts}, dtype=object))
        assert hashable(plain) is plain


@pytest.mark.parametrize("error", [KeyError, ValueError, TypeError, IndexError, OverflowError, None])
def test_an_item_that_a_domain_does_not_find_is_outside(error: type[Exception] | None) -> None:
    def find(item: Any) -> int:
        if item == "b" and error is not None:
            raise error
        return "ab".index(item) if item != "b" else 7

    domain = ListedDomain(["a", "b"], find, frozenset({"other"}))
    assert (positions(domain, ["a", "b"]) >= 0).tolist() == [True, False]


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", refuse)
    assert lake_format(str(tmp_path), "table") is None
    with pytest.raises(InvalidArgument, match=r"cannot be read \(Permission denied\)") as caught:
        FileTable(str(tmp_path / "a.csv"), "table")
    assert caught.value.__suppress_context__


def test_tables_that_narwhals_cannot_see() -> None:
    twice = pd.DataFrame([[1, 2]], columns=["item", "item"])
    with pytest.raises(InvalidArgument, match=r"table = '<DataFrame>': cannot be read as a table") as caught:
        fg.top_k(twice, item="item", person="item", k=1, epsilon=1, domain=["a", "b"])
    assert caught.value.__context__ is None
    with pytest.raises(InvalidArgument, match=r"domain = '<DataFrame>': cannot be read as a table"):
        fg.top_k(TABLE, item="item", person="person", k=1, epsilon=1, domain=twice)
    for table in (3, None, [1], {"item": ["a"]}, object(), np.array([1]), pl.Series([1])):
        with pytest.raises(InvalidArgument, match="must be a dataframe or the path of a file"):
            fg.top_k(table, item="item", person="person", k=1, epsilon=1, domain=["a", "b"])
