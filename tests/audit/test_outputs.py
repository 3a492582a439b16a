"""Whatever a mechanism returns becomes columns."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import freegap as fg
from freegap.auditor.event_search import find_events
from freegap.auditor.events import Between, Event, OneOf
from freegap.auditor.features import Component, CountOf, Distance, KindOf, Length, Mean, Whole, whole_keys
from freegap.auditor.outputs import (
    ABSENT,
    INTEGER,
    REAL,
    TYPE,
    Label,
    join,
)
from freegap.auditor.plan import BoundForecast, Effort
from freegap.auditor.reading import WrongSize, from_batch, from_objects


@dataclass
class Release:
    place: int
    gaps: list[float]


def cell(value: Any) -> object:
    outputs = from_objects([value])
    codes, numbers = outputs.column(())
    return float(numbers[0]) if codes[0] < 0 else outputs.labels[codes[0]]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3.0),
        (2.5, 2.5),
        (np.float32(0.5), 0.5),
        (np.int64(7), 7.0),
        (Fraction(1, 4), 0.25),
        (Decimal("0.125"), 0.125),
        (True, Label("bool", "True")),
        (np.bool_(False), Label("bool", "False")),
        (None, Label("NoneType", "None")),
        ("yes", Label("str", "'yes'")),
        (math.nan, Label("float", "NaN")),
        (-math.inf, Label("float", "-inf")),
        (10**30, Label("int", str(10**30))),
    ],
)
def test_every_kind_of_value_is_itself(value: Any, expected: object) -> None:
    assert cell(value) == expected


def test_lists_of_any_length_records_and_types() -> None:
    outputs = from_objects([[False, 2.5], [False, False, True], []])
    assert outputs.paths == ((0,), (1,), (2,))
    assert Length().read(outputs).numbers.tolist() == [2, 3, 0]
    assert CountOf(Label("bool", "False")).read(outputs).numbers.tolist() == [1, 2, 0]
    assert Mean().read(outputs).codes.tolist() == [REAL, ABSENT, ABSENT]
    nested = from_objects([Release(1, [0.5]), {"a": (1, 2)}, 4, None])
    assert set(nested.paths) == {("place",), ("gaps", 0), ("a", 0), ("a", 1), (), TYPE}
    assert from_objects([(1, 2)]).paths == ((0,), (1,), TYPE)


def test_a_cell_does_not_depend_on_its_company() -> None:
    odd: list[Any] = [[True], (True,), {"x": 1}, 3, 3.0, None, math.nan, [[1], 2], "3", [], (), 2**70]
    together = whole_keys(from_objects(odd))
    alone = [int(whole_keys(from_objects([value]))[0]) for value in odd]
    assert together.tolist() == alone
    assert len(set(alone)) >= len(odd) - 1  # 3 and 3.0 are one number; their types differ
    assert join([from_objects([value]) for value in odd]).codes.shape[0] == len(odd)
    assert whole_keys(join([from_objects([value]) for value in odd])).tolist() == alone


def test_batches_are_arrays_masked_arrays_tuples_and_records() -> None:
    assert from_batch(np.array([1, 2]), 2).codes.tolist() == [[INTEGER], [INTEGER]]
    masked = np.ma.array([[True, False], [True, True]], mask=[[False, True], [False, False]])
    assert from_batch(masked, 2).codes[0, 1] == ABSENT
    pair = from_batch((np.array([1, 2]), np.array([[0.5], [math.nan]])), 2)
    assert pair.paths == ((0,), (1, 0))
    assert from_batch(np.array([(1, 0.5)], dtype=[("a", int), ("b", float)]), 1).paths == (("a",), ("b",))
    assert from_batch(np.array(["x", "y", "x"]), 3).labels == (Label("str", "'x'"), Label("str", "'y'"))
    with pytest.raises(WrongSize, match="asked for"):
        from_batch(np.zeros(3), 4)


def test_hamming_distance_and_types_as_features() -> None:
    outputs = from_objects([[True, False], [True, True], [False, True, True]])
    to_first = Distance(outputs.rows(1)[0])
    assert to_first.read(outputs).numbers.tolist() == [0, 1, 3]
    kinds = KindOf().read(from_objects([1, 1.0, "x"]))
    assert [kinds.labels[code].text for code in kinds.codes] == ["int", "float", "str"]


def effort(**changes: Any) -> Effort:
    settings: dict[str, Any] = {"cuts": 40, "groups": 8, "atoms": True}
    return Effort(BoundForecast(5, 1.0, 4.9), **{**settings, **changes})


def best(first: list[Any], second: list[Any]) -> Event:
    return find_events(from_objects(first), from_objects(second), effort())[0].event


def test_events_are_found_by_type() -> None:
    rng = np.random.default_rng(5)
    n = 4000
    noise = rng.laplace(size=n)
    assert best(list(noise), [*noise[:-200], *[7.25] * 200]).text == "output = 7.25"
    assert best([None] * 100 + [1] * 900, [1] * 1000).text == "output = None"
    assert best([math.nan] * 100 + [1.5] * 900, [1.5] * 1000).text == "output = NaN"
    assert best([1] * 1000, [1.0] * 1000).text == "type(output) = int"
    assert best([[1]] * 1000, [(1,)] * 1000).text in ("type(output) = 'tuple'", "output = [1]")
    lengths = [[True] * int(k) for k in rng.integers(0, 3, n)]
    longer = [[True] * int(k) for k in rng.integers(0, 4, n)]
    assert best(lengths, longer).text == "output[2] = True"
    left, right = best(list(noise), list(noise + 3)).clauses[0], best(list(noise + 3), list(noise)).clauses[0]
    assert isinstance(left.condition, Between)
    assert isinstance(right.condition, Between)
    mixed1 = [[False] * 2 + [float(x)] for x in rng.normal(0, 1, n)]
    mixed2 = [[False] * 2 + [float(x)] for x in rng.normal(4, 1, n)]
    assert "output[2]" in best(mixed1, mixed2).text or "number" in best(mixed1, mixed2).text


def test_a_rare_value_outranks_a_common_interval() -> None:
    rng = np.random.default_rng(6)
    common = rng.laplace(0, 1 / 0.7, 100_000)
    other = rng.laplace(1, 1 / 0.7, 100_000)
    common[:60] = 5.0
    found = find_events(from_objects(list(common)), from_objects(list(other)), effort())[0]
    assert found.event.text == "output = 5"
    assert (found.hits1, found.hits2) == (60, 0)


def test_conditions_read_well() -> None:
    assert Event.of(Component((0,)), Between(high=1.0)).text == "output[0] < 1"
    assert Event.of(Component(("gap",)), Between(0.5, 2)).text == "0.5 ≤ output.gap < 2"
    five = OneOf((1.0, 2.0, 3.0, 4.0, 5.0))
    assert Event.of(Component(), five).text == "output is one of 1, 2, 3, 4, … (5 in all)"
    assert Event.of(Whole(), OneOf((0.5,), ("[True]",))).text == "output = [True]"


class Plain:
    def __init__(self, value: float) -> None:
        self.value = value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value


class Silent:
    __slots__ = ()


Named = namedtuple("Named", ["place", "value"])

FORMS: dict[str, Callable[[float], Any]] = {
    "object": Plain,
    "slots": Slotted,
    "namespace": lambda x: SimpleNamespace(value=x),
    "namedtuple": lambda x: Named(1, x),
    "table": lambda x: pd.DataFrame({"a": [x, 2.0]}),
    "column": lambda x: pd.Series([x], index=["a"]),
    "index": lambda x: pd.Series([1], index=[x]),
    "generator": lambda x: (part for part in (1, x)),
    "order": lambda x: {"a": 1, "b": 2} if x else {"b": 2, "a": 1},
    "set": lambda x: {"a", str(x)},
    "exception": lambda x: ValueError(x),
    "zero": lambda x: 0.0 if x else -0.0,
    "nested": lambda x: {"parts": [Plain(x)]},
}


@pytest.mark.parametrize("form", FORMS)
def test_whatever_is_returned_is_read(form: str) -> None:
    settings: dict[str, Any] = {"samples": 200, "search_samples": 50, "seed": 1, "jobs": 1, "shrink": False}
    report = fg.audit(
        lambda answers: FORMS[form](answers[0]), epsilon=0.5, inputs=[([0.0], [1.0])], **settings
    )
    assert report.violated, report


def test_what_was_not_looked_at_is_said() -> None:
    settings: dict[str, Any] = {"epsilon": 1, "samples": 200, "search_samples": 50, "seed": 1, "jobs": 1}
    settings["inputs"] = [([0.0], [1.0])]
    silent = fg.audit(lambda answers: Silent(), **settings)
    assert any("of type Silent only the type was looked at" in note for note in silent.notes)
    assert not any("which is private" in note for note in silent.notes)
    for many in (
        lambda answers: [0] * 256 + answers,
        lambda answers: {"a": [0] * 256 + answers},
        lambda answers, size: np.zeros((size, 300)),
    ):
        assert any("only the first 256" in note for note in fg.audit(many, **settings).notes)
    texts = fg.audit(lambda answers, rng: f"{rng.random()}", **settings)
    assert any("compared as wholes alone" in note for note in texts.notes)


def test_a_vectorised_mechanism_may_return_a_table() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    assert from_batch(table, 2).paths == (("a",), ("b",), ("index",))


def test_a_tree_without_end_is_read_to_some_depth() -> None:
    endless = Plain(1)
    endless.value = endless  # type: ignore[assignment]
    assert max(map(len, from_objects([endless]).paths)) < 12


def test_a_whole_output_is_written_as_it_is_in_python() -> None:
    several = [(True, False)] * 500 + [(False, True)] * 500
    found = find_events(from_objects(several), from_objects([(False, True)] * 1000), effort())
    wholes = [f.event.text for f in found if isinstance(f.event.clauses[0].feature, Whole)]
    assert "output = (True, False)" in wholes
