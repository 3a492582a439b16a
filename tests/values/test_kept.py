"""A release that was kept as JSON, part by part: what is read, and what cannot have been written by one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.values.kept import _ends, _number, _rational


def said() -> dict[str, Any]:
    release = fg.select_and_measure({"a": 90, "b": 70, "c": 1}, 2, epsilon=9, bits=fg.SeededBits(1))
    return dict(json.loads(release.to_json()))


def read(record: Any) -> fg.Release:
    return fg.Release.from_json(json.dumps(record))


def test_numbers_are_rationals_and_what_is_not_finite_a_float() -> None:
    assert [_number(text) for text in ("1/3", "-7", "0.5")] == [Fraction(1, 3), -7, Fraction(1, 2)]
    assert [_number(text) for text in ("inf", "-inf", 0.5, 3)] == [math.inf, -math.inf, 0.5, 3.0]
    assert math.isnan(_number("nan"))
    assert isinstance(_number(3), float)
    assert [_rational(number) for number in (3, 0.5)] == [3, Fraction(1, 2)]
    assert read(said() | {"spent": 9}).spent == 9
    assert _ends([None, "inf"]) == (None, math.inf)
    assert _ends(["1/4", None]) == (0.25, None)
    assert all(isinstance(end, float) for end in _ends(["1/4", 2]))


@pytest.mark.parametrize("score", [math.inf, 3, Fraction(1, 3)], ids=str)
def test_a_candidate_of_any_score_is_read_again(score: Any) -> None:
    release = fg.select_private_candidate(
        [lambda bits: 0], lambda _: score, threshold=0, epsilon=1, stop="1/9", bits=fg.SeededBits(5)
    )
    again = fg.Release.from_json(release.to_json())
    assert [row[-1] for row in again.rows()] == [float(score)]
    assert str(again) == str(release)


@pytest.mark.parametrize("text", ["1e99999", "1E-99999", "5"])
def test_a_number_with_as_many_digits_as_memory_holds(text: str) -> None:
    assert _rational(text) == Fraction(text)


@pytest.mark.parametrize("text", ["1e999999", "1E+1_00000", "1e-100000", "x", "1/0", ""])
def test_a_number_that_is_none_or_too_long(text: str) -> None:
    with pytest.raises((ValueError, ZeroDivisionError)):
        _rational(text)


def table(record: dict[str, Any]) -> Any:
    return record["table"]["columns"]


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no parameters": lambda record: record.pop("parameters"),
    "parameters that are none": lambda record: record.update(parameters=3),
    "nothing spent": lambda record: record.pop("spent"),
    "a word spent": lambda record: record.update(spent="much"),
    "far too much spent": lambda record: record.update(spent="1e9999999"),
    "no measure": lambda record: record.pop("epsilon"),
    "two measures": lambda record: record.update(rho="1"),
    "no title": lambda record: record["table"].update(title=""),
    "no table": lambda record: record.pop("table"),
    "no notes": lambda record: record["table"].pop("notes"),
    "private, and yet noted that it is not": lambda record: record.update(private=True),
    "not private, and no note": lambda record: record["table"].update(notes=[]),
    "a column less": lambda record: table(record)[0]["values"].pop(),
    "an unknown kind": lambda record: table(record)[0].update(kind="colour"),
    "a million digits": lambda record: table(record)[2].update(form=".1000000f"),
    "a form of three digits": lambda record: table(record)[2].update(form=".100f"),
    "a list for a name": lambda record: table(record)[1]["values"].__setitem__(0, ["a"]),
    "a dict for a name": lambda record: table(record)[1]["values"].__setitem__(0, {"a": 1}),
    "a word for a number": lambda record: table(record)[2]["values"].__setitem__(0, "many"),
    "half an interval": lambda record: table(record)[4]["values"].__setitem__(0, [1]),
    "a threshold that is none": lambda record: record.update(threshold="high"),
    "a column without a unit": lambda record: table(record)[0].pop("unit"),
}


def test_the_record_itself_is_read() -> None:
    assert read(said()).to_dict() == said()
    assert read(said() | {"threshold": "1/2"}).to_dict()["threshold"] == "1/2"
    assert read(said() | {"threshold": None}).title == "2 selected items with estimates"


@pytest.mark.parametrize("name", CHANGES)
def test_what_no_release_has_written_is_refused(name: str) -> None:
    record = said()
    CHANGES[name](record)
    with pytest.raises(InvalidArgument, match="must be a release as to_json writes it") as caught:
        read(record)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", "null", '"x"', "[" * 100_000, None, b"\xff"], ids=range(9)
)
def test_what_is_no_record_is_refused(text: Any) -> None:
    with pytest.raises(InvalidArgument, match="must be a release as to_json writes it"):
        fg.Release.from_json(text)
