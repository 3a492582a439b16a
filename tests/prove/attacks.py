"""Programs that leak their answers and try to look as if they did not. None of them may be proved.

Each releases something about an answer without noise (or with too little), behind a construct that could hide
it from an executor: a truth value that is none, the text or the identity of a number, a type, hidden state,
outputs that are equal and look different. They are all tried with the alignment that moves nothing, at a cost
of nothing, so that "proved" would be a proof that they tell nothing.
"""

from __future__ import annotations

import functools
import json
import math
import operator
import random
import types
from collections import Counter, defaultdict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any

import numpy as np

ATTACKS: list[Callable[..., Any]] = []


def attack(function: Callable[..., Any]) -> Callable[..., Any]:
    ATTACKS.append(function)
    return function


# Comparisons that are not truth values ------------------------------------------------------------


@attack
def equal_to_true(answers: Any, noise: Any) -> Any:
    return 1 if (answers[0] > 0) == True else 0  # noqa: E712


@attack
def is_true(answers: Any, noise: Any) -> Any:
    return 1 if (answers[0] > 0) is True else 0


@attack
def counted_flags(answers: Any, noise: Any) -> Any:
    return [answers[0] > 0].count(True)


@attack
def true_in_flags(answers: Any, noise: Any) -> Any:
    return True in [a > 0 for a in answers]


@attack
def matched_flag(answers: Any, noise: Any) -> Any:
    match answers[0] > 0:
        case True:
            return 1
        case _:
            return 0


@attack
def looked_up_flag(answers: Any, noise: Any) -> Any:
    return {True: 1, False: 0}.get(answers[0] > 0, 0)


@attack
def counter_of_flags(answers: Any, noise: Any) -> Any:
    return Counter([answers[0] > 0])[True]


@attack
def set_of_flags(answers: Any, noise: Any) -> Any:
    return len({answers[0] > 0, True})


@attack
def flags_multiplied(answers: Any, noise: Any) -> Any:
    return 5 * (answers[0] > 0)


@attack
def flag_as_index(answers: Any, noise: Any) -> Any:
    return ["low", "high"][answers[0] > 0]


@attack
def flag_as_slice(answers: Any, noise: Any) -> Any:
    return [1, 2, 3][: answers[0] > 0]


@attack
def flag_as_range(answers: Any, noise: Any) -> Any:
    return sum(1 for _ in range(answers[0] > 0))


@attack
def comparison_of_operator_module(answers: Any, noise: Any) -> Any:
    return operator.gt(answers[0], 0) is True


@attack
def index_of_the_largest(answers: Any, noise: Any) -> Any:
    return int(np.argmax([answers[0], 0]))


@attack
def where_of_numpy(answers: Any, noise: Any) -> Any:
    return np.where(np.array(answers) > 0, 1, 0).tolist()


# Text, identity, hash, type ------------------------------------------------------------------------


@attack
def its_text(answers: Any, noise: Any) -> Any:
    return str(answers[0])


@attack
def its_formatted_text(answers: Any, noise: Any) -> Any:
    return f"{answers[0]}"


@attack
def its_format_spec(answers: Any, noise: Any) -> Any:
    return f"{1:{answers[0]}}"


@attack
def its_representation(answers: Any, noise: Any) -> Any:
    return repr(answers[0])


@attack
def percent_format(answers: Any, noise: Any) -> Any:
    return "%s" % answers[0]  # noqa: UP031


@attack
def format_method(answers: Any, noise: Any) -> Any:
    return "{}".format(answers[0])  # noqa: UP032


@attack
def its_json(answers: Any, noise: Any) -> Any:
    return json.dumps(answers, default=str)


@attack
def its_hash(answers: Any, noise: Any) -> Any:
    return hash(answers[0])


@attack
def its_identity(answers: Any, noise: Any) -> Any:
    return id(answers[0]) % 2


@attack
def identity_of_numbers(answers: Any, noise: Any) -> Any:
    return answers[0] is answers[0] + 0


@attack
def its_type(answers: Any, noise: Any) -> Any:
    return type(answers[0]).__name__


@attack
def its_class_name(answers: Any, noise: Any) -> Any:
    return answers[0].__class__.__name__


@attack
def an_instance(answers: Any, noise: Any) -> Any:
    return answers[0] if isinstance(answers[0], Fraction) else 0


@attack
def an_attribute(answers: Any, noise: Any) -> Any:
    return answers[0] if hasattr(answers[0], "numerator") else 0


@attack
def its_denominator(answers: Any, noise: Any) -> Any:
    return answers[0].denominator


@attack
def a_key(answers: Any, noise: Any) -> Any:
    return len({answers[0]: 1, 0: 2})


@attack
def in_a_set(answers: Any, noise: Any) -> Any:
    return answers[0] in {0, 1}


@attack
def in_a_dict(answers: Any, noise: Any) -> Any:
    return answers[0] in {0: 1}


# Outputs that hide something ------------------------------------------------------------------------


class Box:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box)

    def __hash__(self) -> int:
        return 0


class LabelledText(str):
    note: Any = None


@dataclass(frozen=True)
class Quiet:
    value: Any = field(compare=False)


class Colour(Enum):
    RED = 1
    ALSO_RED = 1


Pair = namedtuple("Pair", "first second")


@attack
def own_class(answers: Any, noise: Any) -> Any:
    return Box(answers[0])


@attack
def own_text(answers: Any, noise: Any) -> Any:
    text = LabelledText("same")
    text.note = answers[0]
    return text


@attack
def dataclass_without_comparison(answers: Any, noise: Any) -> Any:
    return Quiet(answers[0])


@attack
def a_named_tuple(answers: Any, noise: Any) -> Any:
    return Pair(answers[0], 1)


@attack
def true_or_one(answers: Any, noise: Any) -> Any:
    return True if answers[0] > 0 else 1


@attack
def true_or_one_in_a_list(answers: Any, noise: Any) -> Any:
    return [1 if answers[0] > 0 else True]


@attack
def whole_or_real_one(answers: Any, noise: Any) -> Any:
    return 1 if answers[0] > 0 else 1.0


@attack
def whole_or_fraction(answers: Any, noise: Any) -> Any:
    return 1 if answers[0] > 0 else Fraction(1)


@attack
def real_by_arithmetic(answers: Any, noise: Any) -> Any:
    return 1 if answers[0] > 0 else 1 + (answers[0] - answers[0])


@attack
def signed_zero(answers: Any, noise: Any) -> Any:
    return 0.0 if answers[0] > 0 else -0.0


@attack
def signed_zero_by_a_product(answers: Any, noise: Any) -> Any:
    return 0.0 * (1 if answers[0] > 0 else -1)


@attack
def sign_of_an_answer_in_a_zero(answers: Any, noise: Any) -> Any:
    return answers[0] * 0


@attack
def tuple_or_list(answers: Any, noise: Any) -> Any:
    return [1] if answers[0] > 0 else (1,)


@attack
def order_of_a_dict(answers: Any, noise: Any) -> Any:
    return {"a": 1, "b": 2} if answers[0] > 0 else {"b": 2, "a": 1}


@attack
def true_or_one_as_a_key(answers: Any, noise: Any) -> Any:
    return {True: 0} if answers[0] > 0 else {1: 0}


@attack
def a_set(answers: Any, noise: Any) -> Any:
    return {1, 2} if answers[0] > 0 else {2, 1}


@attack
def an_enum(answers: Any, noise: Any) -> Any:
    return Colour.RED if answers[0] > 0 else Colour.ALSO_RED


@attack
def a_function(answers: Any, noise: Any) -> Any:
    secret = answers[0]
    return lambda: secret


@attack
def a_generator(answers: Any, noise: Any) -> Any:
    return (a for a in answers)


@attack
def a_range(answers: Any, noise: Any) -> Any:
    return range(3) if answers[0] > 0 else range(0, 3, 1)


@attack
def the_noise_itself(answers: Any, noise: Any) -> Any:
    return noise


@attack
def bytes_of_it(answers: Any, noise: Any) -> Any:
    return b"a" if answers[0] > 0 else bytes(1)


@attack
def not_a_number(answers: Any, noise: Any) -> Any:
    return math.nan if answers[0] > 0 else float("nan")


@attack
def infinity_or_none(answers: Any, noise: Any) -> Any:
    return math.inf if answers[0] > 0 else -math.inf


@attack
def a_complex_number(answers: Any, noise: Any) -> Any:
    return answers[0] == 1 + 0j


@attack
def a_decimal(answers: Any, noise: Any) -> Any:
    return Decimal(1) if answers[0] > 0 else Decimal("1.0")


@attack
def compared_with_a_decimal(answers: Any, noise: Any) -> Any:
    return answers[0] == Decimal(1)


# Errors, state, randomness --------------------------------------------------------------------------


@attack
def a_caught_error(answers: Any, noise: Any) -> Any:
    try:
        hash(answers[0])
        return answers[0]
    except Exception:
        return 0


@attack
def a_caught_division(answers: Any, noise: Any) -> Any:
    try:
        return 1 / answers[0]
    except ZeroDivisionError:
        return 0


@attack
def suppressed_errors(answers: Any, noise: Any) -> Any:
    import contextlib

    with contextlib.suppress(Exception):
        return math.floor(answers[0])
    return 0


@attack
def an_error_as_an_output(answers: Any, noise: Any) -> Any:
    if answers[0] > 0:
        raise ValueError("high")
    return 0


@attack
def a_failed_assertion(answers: Any, noise: Any) -> Any:
    assert answers[0] <= 0
    return 0


SEEN: list[Any] = []
CALLS = {"count": 0}


@attack
def the_last_answer(answers: Any, noise: Any) -> Any:
    SEEN.append(answers[0])
    return SEEN[-1]


@attack
def a_counted_call(answers: Any, noise: Any) -> Any:
    CALLS["count"] += 1
    return answers[0] if CALLS["count"] > 50 else 0


@attack
def a_mutable_default(answers: Any, noise: Any, memory: list[Any] = []) -> Any:  # noqa: B006
    memory.append(answers[0])
    return memory[0]


def _closure() -> Callable[..., Any]:
    last = [Fraction(0)]

    def released_later(answers: Any, noise: Any) -> Any:
        before = last[0]
        last[0] = answers[0]
        return before

    return released_later


attack(_closure())


def _nonlocal() -> Callable[..., Any]:
    last = Fraction(0)

    def released_by_nonlocal(answers: Any, noise: Any) -> Any:
        nonlocal last
        before, last = last, answers[0]
        return before

    return released_by_nonlocal


attack(_nonlocal())


@attack
def a_global_statement(answers: Any, noise: Any) -> Any:
    global CALLS
    CALLS = {"count": answers[0]}
    return 0


@attack
def an_attribute_of_itself(answers: Any, noise: Any) -> Any:
    previous = getattr(an_attribute_of_itself, "last", 0)
    an_attribute_of_itself.last = answers[0]  # type: ignore[attr-defined]
    return previous


@attack
def random_choice(answers: Any, noise: Any) -> Any:
    return answers[0] if random.random() > 0.5 else 0


@attack
def a_printed_answer(answers: Any, noise: Any) -> Any:
    print(answers[0])
    return 0


@attack
def a_queue(answers: Any, noise: Any) -> Any:
    return deque(answers)[0]


@attack
def a_default_dict(answers: Any, noise: Any) -> Any:
    found: Any = defaultdict(int)
    found[answers[0] > 0] += 1
    return found[True]


@attack
def evaluated_text(answers: Any, noise: Any) -> Any:
    return eval("answers[0]")  # noqa: S307


@attack
def local_names(answers: Any, noise: Any) -> Any:
    return locals()["answers"][0]


@attack
def a_yield(answers: Any, noise: Any) -> Any:
    yield answers[0]


@attack
def a_class_inside(answers: Any, noise: Any) -> Any:
    class Inner:
        value = answers[0]

    return Inner.value


def _cached() -> Callable[..., Any]:
    @functools.lru_cache
    def remembered(value: Any) -> Any:
        return value

    def with_a_cache(answers: Any, noise: Any) -> Any:
        return remembered(answers[0] > 0)

    return with_a_cache


attack(_cached())


# Text that is not what runs ---------------------------------------------------------------------------


def _wrapped() -> Callable[..., Any]:
    def harmless(answers: Any, noise: Any) -> Any:
        return 0

    @functools.wraps(harmless)
    def harmful(answers: Any, noise: Any) -> Any:
        return answers[0]

    return harmful


attack(_wrapped())


def _exchanged() -> Callable[..., Any]:
    def looks_harmless(answers: Any, noise: Any) -> Any:
        return 0

    def leaks(answers: Any, noise: Any) -> Any:
        return answers[0]

    looks_harmless.__code__ = leaks.__code__.replace(
        co_firstlineno=looks_harmless.__code__.co_firstlineno, co_name="looks_harmless"
    )
    return looks_harmless


attack(_exchanged())


def _other_globals() -> Callable[..., Any]:
    def takes_the_length(answers: Any, noise: Any) -> Any:
        return len(answers)

    return types.FunctionType(
        takes_the_length.__code__, {"len": lambda items: items[0], "__builtins__": {}}, "takes_the_length"
    )


attack(_other_globals())


class AnObject:
    def __call__(self, answers: Any, noise: Any) -> Any:
        return answers[0]


attack(AnObject())
attack(functools.partial(lambda answers, noise, function: function(answers), function=lambda a: a[0]))


# Numbers ------------------------------------------------------------------------------------------------


@attack
def rounding_decides(answers: Any, noise: Any) -> Any:
    return answers[0] if 0.1 + 0.2 != 0.3 else Fraction(0)


@attack
def rounding_grows(answers: Any, noise: Any) -> Any:
    return answers[0] * ((0.1 + 0.2 - 0.3) * 1e17) if 1e17 > 1 else 0


@attack
def the_floor(answers: Any, noise: Any) -> Any:
    return answers[0] // 1


@attack
def rounded(answers: Any, noise: Any) -> Any:
    return round(answers[0])


@attack
def truncated(answers: Any, noise: Any) -> Any:
    return int(answers[0])


@attack
def exponentiated(answers: Any, noise: Any) -> Any:
    return math.exp(answers[0]) > 1


@attack
def divided_by(answers: Any, noise: Any) -> Any:
    return 1 / (1 + answers[0] * answers[0])


@attack
def one_of_three(answers: Any, noise: Any) -> Any:
    return max(answers[0], 0) == 0


@attack
def sorted_answers(answers: Any, noise: Any) -> Any:
    return sorted([0, 1], key=lambda i: [answers[0], Fraction(1, 2)][i])


@attack
def a_chained_comparison(answers: Any, noise: Any) -> Any:
    return 0 < answers[0] < 1


@attack
def a_named_expression(answers: Any, noise: Any) -> Any:
    return [high for a in answers if (high := a > 0)] == [True]


@attack
def lazily(answers: Any, noise: Any) -> Any:
    return next((i for i, a in enumerate(answers) if a > 0), None)


@attack
def a_loop_that_stops(answers: Any, noise: Any) -> Any:
    count = 0
    while count < 3 and answers[0] > count:
        count += 1
    return count


# Noise ----------------------------------------------------------------------------------------------------


@attack
def a_grid_that_depends_on_the_answer(answers: Any, noise: Any) -> Any:
    return noise.geometric(1, label="x", resolution=1 if answers[0] > 0 else Fraction(1, 2))


@attack
def a_negative_grid(answers: Any, noise: Any) -> Any:
    return noise.geometric(1, label="x", resolution=-1) + answers[0]


@attack
def no_grid(answers: Any, noise: Any) -> Any:
    return noise.geometric(1, label="x", resolution=0) + answers[0]


@attack
def a_grid_that_is_no_number(answers: Any, noise: Any) -> Any:
    return noise.geometric(1, label="x", resolution=math.nan) + answers[0]


@attack
def a_symbolic_grid(answers: Any, noise: Any) -> Any:
    return noise.geometric(1, label="x", resolution=answers[0])


@attack
def an_infinite_grid(answers: Any, noise: Any) -> Any:
    return noise.discrete_laplace(1, label="x", resolution=math.inf)


@attack
def a_negative_step(answers: Any, noise: Any) -> Any:
    return answers[0] + noise.staircase(1, label="x", step=-1)


@attack
def a_step_that_depends_on_the_answer(answers: Any, noise: Any) -> Any:
    return noise.staircase(1, label="x", step=1 if answers[0] > 0 else 2)


@attack
def a_symbolic_scale(answers: Any, noise: Any) -> Any:
    return noise.laplace(abs(answers[0]) + 1, label="x")


@attack
def a_scale_that_depends_on_the_answer(answers: Any, noise: Any) -> Any:
    return noise.laplace(1 if answers[0] > 0 else 2, label="x")


@attack
def a_negative_scale(answers: Any, noise: Any) -> Any:
    return answers[0] + noise.laplace(-1, label="x")


@attack
def a_label_that_is_an_answer(answers: Any, noise: Any) -> Any:
    noise.laplace(1, label=answers[0])
    return 0


@attack
def a_label_that_cannot_be_hashed(answers: Any, noise: Any) -> Any:
    noise.laplace(1, label=[1])
    return answers[0]


@attack
def one_label_for_two_draws(answers: Any, noise: Any) -> Any:
    return answers[0] + noise.laplace(1, label="x") - noise.laplace(1, label="x")


@attack
def what_the_recorder_knows(answers: Any, noise: Any) -> Any:
    noise.laplace(1, label="x")
    return len(noise.draws) if answers[0] > 0 else 0


@attack
def a_law_of_its_own(answers: Any, noise: Any) -> Any:
    return noise._record("laplace", 1, "x") + answers[0]


@attack
def a_rigged_number_of_draws(answers: Any, noise: Any) -> Any:
    return sum(1 for a in answers if a + noise.laplace(Fraction(1, 1000)) > 0 or a > 5)
