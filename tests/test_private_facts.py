"""No error carries a private fact: not in its words, its value, its context, its notes or its pickle.

Each case puts canaries into the data and ends in an error. The chain of exceptions is searched for them.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import freegap as fg
from freegap import base2
from freegap.values.answers import read_answers
from freegap.values.floats import meant_by_float

TEXT = "canary-7f3a"
NUMBER = 73_939_133  # a prime that nothing here has by chance
MANY = 7919  # how many there are of something private
CANARIES = re.compile(rf"{TEXT}|{NUMBER}|{float(NUMBER)!r}|\b{MANY}\b|\b{MANY - 1}\b|\b{MANY + 1}\b")
ONE: dict[str, Any] = {"epsilon": 1}
BASE2: dict[str, Any] = {"k": 1, "eta": base2.share_epsilon(1, k=1), "low": 0, "high": 9, "width": 9}


class Canary:
    """Something that tells what it holds to whoever prints it."""

    def __repr__(self) -> str:
        return TEXT

    def __call__(self, *_: Any) -> Any:
        return TEXT

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (TEXT,)


BAD_ANSWERS: dict[str, Any] = {
    "not a number": [NUMBER, float("nan")],
    "infinite": np.array([NUMBER, np.inf]),
    "missing": [NUMBER, None],
    "a text": [NUMBER, TEXT],
    "an object": [NUMBER, Canary()],
    "two dimensions": np.full((2, MANY), NUMBER),
    "masked": np.ma.masked_array([NUMBER, 1], mask=[True, False]),
    "missing in pandas": pd.Series([NUMBER, None], dtype="Int64"),
    "missing in PyArrow": pa.array([None] * MANY + [NUMBER]),
    "missing in chunks": pa.chunked_array([pa.array([None] * MANY, pa.int64()), pa.array([NUMBER])]),
    "huge": [NUMBER * 10**1000, 1],
    "a set": {NUMBER, 2},
    "labels twice": pd.Series([NUMBER, NUMBER], index=["a", "a"]),
    "labels without order": {Canary(): NUMBER, object(): 1},
    "labels that no set holds": pd.Series([NUMBER, 1], index=pd.Index([[TEXT], [1]], dtype=object)),
    "empty with a name": pd.Series([], name=TEXT, dtype=float),
    "no sequence": Canary(),
}

MECHANISMS: dict[str, Callable[[Any], Any]] = {
    "noisy_top_k": lambda a: fg.noisy_top_k(a, 1, **ONE),
    "sparse_vector": lambda a: fg.sparse_vector(a, 5, k=1, **ONE),
    "hybrid_top_k": lambda a: fg.hybrid_top_k(a, 5, k=1, **ONE),
    "hybrid_sparse_vector": lambda a: fg.hybrid_sparse_vector(a, 5, k=1, **ONE),
    "exponential_mechanism": lambda a: fg.exponential_mechanism(a, **ONE),
    "measure": lambda a: fg.measure(a, **ONE),
    "select_and_measure": lambda a: fg.select_and_measure(a, 1, **ONE),
    "Counts": lambda a: fg.noisy_max(fg.Counts(a, [1] * len(a), name=lambda g, m: m), **ONE),
    "base2": lambda a: base2.sparse_vector(a, 5, **BASE2),
    "unclamped": lambda a: base2.unclamped_sparse_vector(a, 5, k=1, eta=base2.share_epsilon(1, k=1)),
}


def _counts(groups: int) -> fg.Counts:
    return fg.Counts(list(range(groups)), [1] * groups, name=lambda group, member: (group, member))


OTHERS: dict[str, Callable[[], Any]] = {
    "more values than sizes": lambda: fg.Counts([NUMBER] * MANY, [1], name=max),
    "sizes of nothing": lambda: fg.Counts([NUMBER], [0], name=max),
    "sizes beyond": lambda: fg.Counts([NUMBER, 1], [2**62, NUMBER], name=max),
    "no name": lambda: fg.Counts([NUMBER], [1], name=Canary.__repr__(Canary())),  # type: ignore[arg-type]
    "outside the domain": lambda: fg.Counts.over(["a"], {TEXT: NUMBER}),
    "outside a range": lambda: fg.Counts.over(range(5), {NUMBER: 1}),
    "outside a range, as an array": lambda: fg.Counts.over(range(5), items=np.array([NUMBER]), values=[1]),
    "not hashable": lambda: fg.Counts.over(["a"], items=[[TEXT]], values=[1]),
    "twice": lambda: fg.Counts.over([TEXT, "b"], items=[TEXT, TEXT], values=[1, 2]),
    "no mapping": lambda: fg.Counts.over(range(5), [NUMBER]),  # type: ignore[arg-type]
    "counts with a threshold": lambda: fg.select_and_measure(_counts(MANY), 1, threshold=5, **ONE),
    "fewer items than k": lambda: fg.noisy_top_k([NUMBER, NUMBER], 5, **ONE),
    "counts of nothing": lambda: fg.unknown_top_k([NUMBER, 1], 1, delta="1e-6", **ONE),
    "counts of no size": lambda: fg.unknown_top_k({TEXT: NUMBER * 10**1000}, 1, delta="1e-6", **ONE),
    "noisy counts of nothing": lambda: fg.unknown_counts(
        [NUMBER, 1], delta="1e-6", items_per_person=1, **ONE
    ),
    "no counts": lambda: fg.noisy_max(fg.Counts([], [], name=max), **ONE),
    "clamp of ρ": lambda: base2.symmetric_clamp(TEXT, 1, 2),  # type: ignore[arg-type]
    "clamp of x": lambda: base2.symmetric_clamp(1, NUMBER + 0.5, 2),  # type: ignore[arg-type]
    "weights": lambda: base2.normalized_sample([NUMBER, TEXT]),
    "weights below 0": lambda: base2.normalized_sample([-NUMBER, 1]),
    "no weights": lambda: base2.normalized_sample(Canary()),  # type: ignore[arg-type]
    "a sum": lambda: base2.get_sum("1/2", TEXT, None),  # type: ignore[arg-type]
    "a lazy threshold": lambda: base2.lazy_threshold(base2.Eta(1, 1, 1), TEXT, reach=5),
    "where a gap is expected": lambda: fg.expected_gap(TEXT),
    "ask": lambda: fg.SparseVector(5, k=1, **ONE).ask(TEXT),
    "ask beyond": lambda: fg.SparseVector(5, k=1, **ONE).ask(NUMBER * 10**1000),
    "ask in base 2": lambda: base2.DiscreteSparseVector(5, **BASE2).ask(TEXT),
    "a score": lambda: fg.best_private_candidate([lambda _: 1], Canary(), stop="0.5", **ONE),
    "no score": lambda: fg.best_private_candidate([Canary()], TEXT, stop="0.5", **ONE),  # type: ignore[arg-type]
    "no candidates": lambda: fg.best_private_candidate([TEXT], float, stop="0.5", **ONE),  # type: ignore[list-item]
    "a noisy score of nothing": lambda: fg.NoisyScore(TEXT, epsilon=1, low=0, high=9),  # type: ignore[arg-type]
    "a sampler": lambda: fg.exponential_mechanism([NUMBER, 1], sampler=Canary(), **ONE),
    "no sampler": lambda: fg.exponential_mechanism([NUMBER, 1], sampler=TEXT, **ONE),  # type: ignore[arg-type]
}


def _told(error: BaseException | None, seen: set[int]) -> Iterator[str]:
    """Everything that an exception tells, and those that it came from."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield str(error)
    yield repr(error)
    for held in (error.args, vars(error), getattr(error, "__notes__", [])):
        yield repr(held)
        yield repr(pickle.dumps(held))
    yield repr(pickle.dumps(error))
    yield from _told(error.__cause__, seen)
    yield from _told(error.__context__, seen)


def require_silent(error: BaseException) -> None:
    """Nothing that the error carries has a canary in it."""
    assert isinstance(error, fg.FreegapError), repr(error)
    for told in _told(error, set()):
        assert not CANARIES.search(told), told


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("answers", BAD_ANSWERS)
def test_no_error_about_answers_tells_them(mechanism: str, answers: str) -> None:
    given = BAD_ANSWERS[answers]
    if mechanism == "Counts" and not (hasattr(given, "__len__") and hasattr(given, "__getitem__")):
        given = [given, NUMBER]
    try:
        MECHANISMS[mechanism](given)
    except Exception as error:
        require_silent(error)
    else:
        # Base 2 clamps what it can, and asks no question of nobody.
        assert mechanism in ("base2", "Counts") or (mechanism, answers) == ("unclamped", "empty with a name")


@pytest.mark.parametrize("case", OTHERS)
def test_no_other_error_tells_private_facts(case: str) -> None:
    with pytest.raises(fg.FreegapError) as caught:
        OTHERS[case]()
    require_silent(caught.value)


def test_the_text_of_counts_does_not_tell_how_many_groups_there_are() -> None:
    counts = fg.Counts.over(range(10**6), {i: 1 for i in range(MANY)})
    assert repr(counts) == "<Counts: 1000000 items>"


def _file(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


TABLES: dict[str, Callable[[Path], Any]] = {
    "a CSV without header": lambda at: _file(at / "t.csv", f"{TEXT},{NUMBER}\nb,2\n"),
    "a TSV without header": lambda at: _file(at / "t.tsv", f"{TEXT}\t{NUMBER}\nb\t2\n"),
    "a CSV with rows of other lengths": lambda at: _file(
        at / "t.csv", f"item,person\n{TEXT},{NUMBER},3\n{TEXT}\n" + '"' + TEXT
    ),
    "a column of another name": lambda _: pd.DataFrame({"item": [TEXT], "who": [NUMBER]}),
    "no table": lambda _: [TEXT, NUMBER],
    "a broken Parquet file": lambda at: _file(at / "t.parquet", TEXT * 100),
}


@pytest.mark.parametrize("release", ["top_k", "above"])
@pytest.mark.parametrize("table", TABLES)
def test_no_error_about_a_table_tells_its_rows(table: str, release: str, tmp_path: Path) -> None:
    more: dict[str, Any] = {"threshold": 1} if release == "above" else {}
    with pytest.raises(fg.FreegapError) as caught:
        getattr(fg, release)(
            TABLES[table](tmp_path), item="item", person="person", k=1, domain=["a", "b"], **ONE, **more
        )
    require_silent(caught.value)


def test_the_search_finds_what_it_looks_for() -> None:
    """In an argument, in a value, in a note and in the context of an error that hides it."""
    for bad in (
        fg.InvalidArgument("answers", NUMBER, "is bad", "Fix it."),
        fg.InvalidArgument("answers", _Hiding(), "is bad", "Fix it."),
    ):
        with pytest.raises(AssertionError):
            require_silent(bad)
    try:
        try:
            raise KeyError(TEXT)
        except KeyError:
            raise fg.InvalidArgument("answers", None, "is bad", "Fix it.") from None
    except fg.InvalidArgument as error:
        with pytest.raises(AssertionError):
            require_silent(error)


class _Hiding:
    def __repr__(self) -> str:
        return "nothing"

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (TEXT,)


def test_a_column_that_only_a_copy_can_read_is_read() -> None:
    from fractions import Fraction

    assert read_answers(pa.array([True, False]), Fraction(1)).values.tolist() == [1, 0]  # type: ignore[union-attr]
    assert meant_by_float(0.5, 1) == Fraction(1, 2)
