"""Programs whose text means something else than it seems to. None may be proved.

Each was proved once: the interpreter took one of Python's rules for another, and where the real function was
run to confirm a path, all answers were 0, where it leaks nothing. There is no `from __future__ import
annotations` here: annotations are evaluated.
"""

# ruff: noqa: B032
import builtins
import functools
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.symbolic.subset import Trusted
from freegap.symbolic.subset.values import Record

STRANGER_ATTACKS: list[Callable[..., Any]] = []
Z = Fraction(0)


def attack(function: Callable[..., Any]) -> Callable[..., Any]:
    STRANGER_ATTACKS.append(function)
    return function


# Names ------------------------------------------------------------------------------------------------

LAST = Fraction(0)
y = Fraction(0)


def the_last() -> Any:
    return LAST


@attack
def global_that_is_never_reached(answers: Any, noise: Any) -> Any:
    if False:
        global LAST
    before = the_last()
    LAST = answers[0]
    return before


def _never_nonlocal() -> Callable[..., Any]:
    last = Fraction(0)

    def before() -> Any:
        return last

    def nonlocal_that_is_never_reached(answers: Any, noise: Any) -> Any:
        if False:
            nonlocal last
        found = before()
        last = answers[0]
        return found

    return nonlocal_that_is_never_reached


attack(_never_nonlocal())


@attack
def named_in_a_default(answers: Any, noise: Any) -> Any:
    (lambda x=(y := answers[0]): x)()
    return y


_flag = False
globals()["__flag"] = False
globals()["_Namespace__flag"] = True


class Namespace:
    @staticmethod
    @attack
    def private_name(answers: Any, noise: Any) -> Any:
        return answers[0] if __flag else Z  # type: ignore[name-defined]  # noqa: F821


@attack
def bound_where_a_pattern_fails(answers: Any, noise: Any) -> Any:
    x = answers[0]
    match [Z, 5]:
        case [x, 6]:
            pass
    return x


# What runs besides ---------------------------------------------------------------------------------------


@attack
def argument_annotation(answers: Any, noise: Any) -> Any:
    box = [Z]

    def inner(a: box.__setitem__(0, answers[0])) -> Any:  # type: ignore
        return a

    return box


@attack
def return_annotation(answers: Any, noise: Any) -> Any:
    box = [Z]

    def inner() -> (box.pop(), box.append(answers[0])):  # type: ignore
        return 0

    return box


@attack
def annotated_item(answers: Any, noise: Any) -> Any:
    box = [Z]
    box[(box.pop(), box.append(answers[0]), 0)[2]]: int  # type: ignore
    return box


class Looks:
    def __class_getitem__(cls, key: Any) -> Any:
        around = sys._getframe(1).f_locals
        around["box"][0] = around["answers"][0] > 10**5


@attack
def annotation_that_looks_around(answers: Any, noise: Any) -> Any:
    box = [False]

    def inner(a: Looks[0]) -> Any:  # type: ignore
        return a

    return box


@dataclass(frozen=True, eq=False)
class EqualToAll:
    def __hash__(self) -> int:
        return hash(0)

    def __eq__(self, other: object) -> bool:
        return bool(sys._getframe(1).f_locals.get("answers", [0])[0] > 10**5)


ODD = frozenset({EqualToAll()})


@attack
def member_that_looks_around(answers: Any, noise: Any) -> Any:
    return 0 in ODD


@dataclass(frozen=True)
class Settings:
    def told(self, value: Any) -> Any:
        return Z


SETTINGS = Settings()
object.__setattr__(SETTINGS, "told", lambda value: value)


@attack
def attribute_before_a_method(answers: Any, noise: Any) -> Any:
    return SETTINGS.told(answers[0])


class Meta(type):
    @property
    def __mro__(cls) -> Any:
        return (Settings, object)


@dataclass(frozen=True)
class Disguised(metaclass=Meta):
    def told(self, value: Any) -> Any:
        return value


DISGUISED = Disguised()


@attack
def class_with_another_order(answers: Any, noise: Any) -> Any:
    return DISGUISED.told(answers[0])


PIECE = Trusted(lambda machine, value: Z, lambda value: value)


@attack
def piece_of_the_prover(answers: Any, noise: Any) -> Any:
    return PIECE(answers[0])


class Names(dict[str, Any]):
    asked = 0

    def __getitem__(self, name: str) -> Any:
        if name == "LEAKS":
            Names.asked += 1
            return Names.asked > 10
        return dict.__getitem__(self, name)


def _other_names() -> Callable[..., Any]:
    def names_of_another_kind(answers: Any, noise: Any) -> Any:
        return answers[0] if LEAKS else Z  # type: ignore[name-defined]  # noqa: F821

    around = Names(globals(), LEAKS=False)
    return types.FunctionType(names_of_another_kind.__code__, around, "names_of_another_kind")


attack(_other_names())


def _other_builtins() -> Callable[..., Any]:
    around = {**globals(), "__builtins__": {**vars(builtins), "LEAKS": True}}

    def builtins_of_another_kind(answers: Any, noise: Any) -> Any:
        return answers[0] if LEAKS else Z  # type: ignore[name-defined]  # noqa: F821

    return types.FunctionType(builtins_of_another_kind.__code__, around, "builtins_of_another_kind")


attack(_other_builtins())


# Objects ----------------------------------------------------------------------------------------------------


@attack
def values_of_a_dict_that_changes(answers: Any, noise: Any) -> Any:
    held = {"a": Z}
    values = held.values()
    held["a"] = answers[0]
    return list(values)


@attack
def key_of_a_sort_sees_no_items(answers: Any, noise: Any) -> Any:
    items = [1, 0]
    items.sort(key=lambda i: 0 if len(items) else answers[0] * (2 * i - 1))
    return items


@attack
def extended_by_itself(answers: Any, noise: Any) -> Any:
    items = [Z]
    items.extend((answers[0] if len(items) > 1 else Z) for _ in range(2))
    return items


@attack
def added_to_itself(answers: Any, noise: Any) -> Any:
    items = [Z]
    items += ((answers[0] if len(items) > 1 else Z) for _ in range(2))
    return items


@attack
def key_between_two_items(answers: Any, noise: Any) -> Any:
    box, seen = [answers[0]], []

    def made(i: Any) -> Any:
        if i:
            box[0] = Z
        return i

    def key(i: Any) -> Any:
        seen.append(box[0])
        return i

    max((made(i) for i in range(2)), key=key)
    return seen


@attack
def one_list_or_two(answers: Any, noise: Any) -> Any:
    inner = [1]
    return [inner, inner] if answers[0] > 0 else [inner, [1]]


# Floats -----------------------------------------------------------------------------------------------------


@attack
def float_as_a_key(answers: Any, noise: Any) -> Any:
    return Z if (0.1 + 0.2) in {0.3: 1} else answers[0]


@attack
def floats_of_another_size(answers: Any, noise: Any) -> Any:
    return answers[0] if 1e17 + 1 == 1e17 else Z


@attack
def whole_number_that_meets_a_float(answers: Any, noise: Any) -> Any:
    return Z if (2**53 + 1) * 2.0 == 2.0**54 + 2 else answers[0]


@attack
def product_that_vanishes(answers: Any, noise: Any) -> Any:
    return Z if 1e-200 * 1e-200 else answers[0]


@attack
def rounding_that_grows(answers: Any, noise: Any) -> Any:
    x = 0.1
    for _ in range(45):
        x = 3 * x - 0.2
    return answers[0] * (x - 0.05) - answers[0] * 0.05


@attack
def equal_to_its_float(answers: Any, noise: Any) -> Any:
    return Z if float(answers[0]) == answers[0] else answers[0]


@attack
def rounded_by_a_large_one(answers: Any, noise: Any) -> Any:
    return ((answers[0] + 1e16) - 1e16) - answers[0]


@attack
def cancels_but_for_rounding(answers: Any, noise: Any) -> Any:
    return 0.3 * answers[0] - 3 * (0.1 * answers[0])


@attack
def compared_with_its_rounding(answers: Any, noise: Any) -> Any:
    """Far from where a path is confirmed."""
    return 3 * (0.1 * answers[0]) > 0.3 * answers[0] + 1e-9


@attack
def square_of_a_large_float(answers: Any, noise: Any) -> Any:
    a = answers[0] * 1.0
    return (a + 1) ** 2 - a**2 - 2 * a > 2


@attack
def as_a_float_and_as_it_is(answers: Any, noise: Any) -> Any:
    return answers[0] * 1.0 - answers[0] > 1


SMALLER = tuple(float(f"{digit}e-{place}") for place in range(2, 19) for digit in (7, 2))


@attack
def nothing_but_rounding_in_small_steps(answers: Any, noise: Any) -> Any:
    """10^-18, and thirty times that in Python; with noise that is as small, nobody sees it in an output."""
    c = 0.1 * 3 - 0.2
    for digit in SMALLER:
        c = c - digit
    return answers[0] * c + noise.laplace(1e-11, label="x")


@attack
def multiples_in_small_steps(answers: Any, noise: Any) -> Any:
    x = 3 * (0.1 * answers[0]) - 0.2 * answers[0]
    for digit in SMALLER:
        x = x - digit * answers[0]
    return x + noise.laplace(1e-11, label="x")


@attack
def rounding_that_grows_unseen(answers: Any, noise: Any) -> Any:
    x = 0.1
    for _ in range(33):
        x = 3 * x - 0.2
    return answers[0] * x * 1e-19 + noise.laplace(1e-14, label="x")


@attack
def too_large_for_a_float(answers: Any, noise: Any) -> Any:
    """An error, where an answer is."""
    float(answers[0])
    return 0


# Loops that are read for all n ----------------------------------------------------------------------------


def start(value: Any) -> Any:
    return value


def step(state: Any, answer: Any, noise: Any) -> Any:
    return (None, answer, None)


@attack
def function_named_start(answers: Any, noise: Any) -> Any:
    told = []
    for answer in answers:
        told.append(start(answer))
    return told


@attack
def list_named_answer(answers: Any, noise: Any) -> Any:
    answer = []
    for i in range(len(answers)):
        if answers[i]:
            answer.append(1)
        else:
            answer.append(0)
    return answer


@attack
def text_that_looks_like_a_place(answers: Any, noise: Any) -> Any:
    told: list[Any] = []
    for i, answer in enumerate(answers):
        if answer > 0:
            told.append(i)
        else:
            told.append("place")
    return told


@attack
def text_that_looks_like_a_list(answers: Any, noise: Any) -> Any:
    told: list[Any] = []
    for answer in answers:
        if answer > 0:
            return told
        return "list"
    return None


@attack
def one_list_or_another(answers: Any, noise: Any) -> Any:
    one = []
    other: list[Any] = []
    for answer in answers:
        one.append(1)
        if answer > 0:
            return one
        return other
    return None


def _with_a_default(scale: Any) -> Callable[..., Any]:
    def measured(answers: Any, noise: Any, *, scale: Any = scale) -> Any:
        return [answer + noise.laplace(scale, label=i) for i, answer in enumerate(answers)]

    return measured


wrapped_with_another_default = functools.wraps(_with_a_default(10**9))(_with_a_default(Fraction(1, 1000)))
attack(wrapped_with_another_default)


# Objects that show one thing to who asks, and another to Python -----------------------------------------


def _large(value: Any) -> Any:
    """What is seen far from where a path is confirmed."""
    return value > 10**6


def _none(value: Any) -> Any:
    return False


def _own_large(self: Any, value: Any) -> Any:
    return value > 10**6


BOUND_PIECE = types.MethodType(Trusted(lambda machine, self, value: False, _own_large), Settings())


@attack
def piece_of_the_prover_as_a_method(answers: Any, noise: Any) -> Any:
    return BOUND_PIECE(answers[0])


@dataclass(frozen=True)
class WithAPiece:
    told = property(Trusted(lambda machine, self: _none, lambda self: _large))


WITH_A_PIECE = WithAPiece()


@attack
def piece_of_the_prover_as_a_property(answers: Any, noise: Any) -> Any:
    return WITH_A_PIECE.told(answers[0])


class Values(tuple[Any, ...]):
    def __call__(self, value: Any) -> Any:
        return _large(value)


class Fields:
    _fields = ("values",)


def _through(self: Any, value: Any) -> Any:
    return self.values(value)


METHOD_OF_A_PIECE = types.MethodType(_through, Record(Fields, Values((_none,))))


@attack
def method_of_a_piece_of_the_prover(answers: Any, noise: Any) -> Any:
    return METHOD_OF_A_PIECE(answers[0])


class Shown(tuple[Any, ...]):
    def __iter__(self) -> Any:
        return iter((_none,))


class ShownWords(dict[str, Any]):
    def items(self) -> Any:
        return {"told": _none}.items()


class ShownCells(tuple[Any, ...]):
    def __getitem__(self, place: Any) -> Any:
        return types.CellType(_none)


@attack
def defaults_that_show_others(answers: Any, noise: Any, told: Any = _none) -> Any:
    return told(answers[0])


defaults_that_show_others.__defaults__ = Shown((_large,))


@attack
def words_that_show_others(answers: Any, noise: Any, *, told: Any = _none) -> Any:
    return told(answers[0])


words_that_show_others.__kwdefaults__ = ShownWords(told=_large)


def _closed() -> Callable[..., Any]:
    told = _none

    def cells_that_show_others(answers: Any, noise: Any) -> Any:
        return told(answers[0])

    cells = ShownCells((types.CellType(_large),))
    return types.FunctionType(cells_that_show_others.__code__, globals(), "cells", None, cells)


attack(_closed())


class ShownFields(dict[str, Any]):
    def __getitem__(self, name: str) -> Any:
        return _none


@dataclass(frozen=True)
class Held:
    told: Any


HELD = Held(_none)
object.__setattr__(HELD, "__dict__", ShownFields(told=_large))


@attack
def fields_that_show_others(answers: Any, noise: Any) -> Any:
    return HELD.told(answers[0])


@dataclass(frozen=True)
class Hidden:
    told: Any
    __dict__ = property(lambda self: {"told": _none})


HIDDEN = Hidden(_large)


@attack
def fields_that_are_hidden(answers: Any, noise: Any) -> Any:
    return HIDDEN.told(answers[0])


# Names that belong to one part of a loop --------------------------------------------------------------

later = 0


@attack
def read_before_it_is_assigned_after_the_loop(answers: Any, noise: Any) -> Any:
    """An error, where an answer is large: the name is the function's own in all of its text."""
    total = 0
    for answer in answers:
        if answer > 10**9:
            total = total + later  # type: ignore[used-before-def]  # noqa: F823
        total = total + answer
    later = total
    return later + noise.laplace(10**6, label="sum")
