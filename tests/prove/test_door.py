"""What comes from outside of a program's text is read by its exact type, and copied, or is refused."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.forms import Composition, Ranking, Selection, Stream
from freegap.symbolic.subset.door import NotReadable, read
from freegap.symbolic.subset.source import definition_of
from freegap.symbolic.subset.values import Partial, Structure
from freegap.symbolic.undecided import NotDecided

pytestmark = pytest.mark.usefixtures("without_search")


class _Whole(int):
    """A number that is another one where it is multiplied."""

    def __mul__(self, other: Any) -> Any:
        return 0

    __rmul__ = __mul__


class _Word(str):
    """A text that is equal to what it is compared with."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("decreasing")


def _changed(name: str, value: Any) -> Fraction:
    number = Fraction(1, 2)
    setattr(number, name, value)
    return number


@pytest.mark.parametrize(
    "value",
    [
        _Whole(1), _Word("a"), (1, [2]), [1], {1: 2}, {1}, frozenset({(1, _Word("a"))}),
        frozenset({_Whole(1)}), _changed("_numerator", _Whole(1)), _changed("_denominator", _Whole(2)),
        _changed("_denominator", -4), _changed("_numerator", 2), partial(read, [1]), partial(_Whole, 1),
        [].append, bytearray(b"a"), object(), float("nan"), -0.0, Structure("s", {}, {}, {}),
        Partial(read, (), {}),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_refused(value: Any) -> None:
    with pytest.raises(NotReadable):
        read(value)
    with pytest.raises(NotReadable):
        read((1, (value,)))


@pytest.mark.parametrize(
    "value", [None, True, 3, "a", Fraction(1, 3), (1, ("a", None)), frozenset({1, "a"}), len]
)
def test_let_in(value: Any) -> None:
    assert read(value) == value
    assert type(read(value)) is type(value)


def test_a_fraction_is_made_anew() -> None:
    number = Fraction(1, 3)
    assert read(number) == number
    assert read(number) is not number


def test_floats_are_decimals() -> None:
    assert read(0.1) == Fraction(1, 10)
    assert type(read(0.5)) is Fraction


@dataclass(frozen=True)
class _Plan:
    scale: Any

    @property
    def double(self) -> Any:
        return 2 * self.scale

    def times(self, factor: Any) -> Any:
        return factor * self.scale


def test_a_dataclass_is_as_it_was() -> None:
    plan = _Plan(Fraction(1))
    found = read(plan)
    object.__setattr__(plan, "scale", Fraction(2))
    assert found.fields == {"scale": Fraction(1)}
    assert found.functions.keys() >= {"times"}
    assert found.properties.keys() == {"double"}
    object.__setattr__(plan, "times", lambda factor: 0)  # which Python finds, before the class
    assert "times" not in read(plan).functions
    vars(plan)["double"] = 0  # which Python does not find
    assert read(plan).properties.keys() == {"double"}
    assert "double" not in read(plan).fields


def test_a_dataclass_in_a_program() -> None:
    plan = _Plan(Fraction(1, 2))

    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.laplace(plan.double * plan.times(2), label="x")

    assert fg.prove(program, epsilon=1, queries=1).holds
    object.__setattr__(plan, "times", lambda factor: 1)
    assert fg.prove(program, epsilon=1, queries=1).holds is None


def gap(value: Any, following: Any) -> Any:
    return value - following


def shift(item: Any, least: Any, runner_up: Any, best: Any) -> Any:
    return item.answer - item.neighbour + best - (runner_up.answer + runner_up.noise)


def move(direction: Any, answer: Any, neighbour: Any) -> Any:
    return answer - neighbour + 1


def test_a_form_is_made_anew() -> None:
    """So what its class refuses is refused, also where somebody got past the class."""
    form = Selection(1, "laplace", 2, gap, shift)
    assert fg.prove(form, epsilon=1).holds
    object.__setattr__(form, "last", 2)  # it would tell the next gap, of what was not selected
    with pytest.raises(InvalidArgument, match="last"):
        fg.prove(form, epsilon=1)


@pytest.mark.parametrize("scale", [_Whole(4), [4], _changed("_numerator", _Whole(8)), float("inf")])
def test_the_parts_of_a_form(scale: Any) -> None:
    ranking = Ranking(1, "laplace", scale, move, item_charge=1)
    measure = Stream(
        lambda noise: None,
        lambda state, answer, noise: (None, answer + noise.laplace(1, label="x"), False),
        lambda direction: {},
        lambda direction, state, entry, answer, neighbour: {"x": answer - neighbour},
    )
    for form in (ranking, Composition(ranking, measure, budgets=(1, 1))):
        with pytest.raises(InvalidArgument, match="scale"):
            fg.prove(form, epsilon=2)


def test_words_are_plain_texts() -> None:
    def coin(answers: Any, noise: Any) -> Any:
        return noise.exponential_coin(answers[0], label="c")

    with pytest.raises(InvalidArgument, match="neighbours"):
        fg.prove(coin, epsilon=1, queries=1, neighbours=_Word("each"))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="parameters"):
        fg.prove(coin, epsilon=1, queries=1, parameters={_Word("a"): 1})


def test_code_is_compared_part_by_part() -> None:
    def zero(answers: Any, noise: Any) -> Any:
        return 0.0

    program: Any = zero
    assert definition_of(program).name == "zero"
    for parts in (
        {"co_consts": tuple(-c if type(c) is float else c for c in program.__code__.co_consts)},
        {"co_consts": tuple(0 if type(c) is float else c for c in program.__code__.co_consts)},
        {"co_consts": (*program.__code__.co_consts, object())},
        {"co_flags": program.__code__.co_flags | 0x20},
        {"co_names": ("a",)},
        {"co_qualname": "other"},
    ):
        program.__code__ = program.__code__.replace(**parts)
        with pytest.raises(NotDecided, match="is not what runs"):
            definition_of(program)
