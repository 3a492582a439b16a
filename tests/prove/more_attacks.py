"""More programs that leak, by the ways in which ordinary Python hands things on. None may be proved.

Each tells whether an answer is above 0, or more, and none of it with enough noise. They are tried like those
of `attacks`, and with ε = 1, with and without a search for an alignment.
"""

# ruff: noqa: B006, B007, B023, F841, SIM, RUF
from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

MORE_ATTACKS: list[Callable[..., Any]] = []
SEEN: list[Any] = []
COUNT = 0


def attack(function: Callable[..., Any]) -> Callable[..., Any]:
    MORE_ATTACKS.append(function)
    return function


# Closures and calls -------------------------------------------------------------------------------------


@attack
def closure_that_reads_late(answers: Any, noise: Any) -> Any:
    value = 0

    def tell() -> Any:
        return value

    value = answers[0]
    return tell() > 0


@attack
def lambdas_of_one_name(answers: Any, noise: Any) -> Any:
    tells = [lambda: i for i in range(2 if answers[0] > 0 else 1)]
    return tells[0]()


@attack
def default_that_is_evaluated_once(answers: Any, noise: Any) -> Any:
    def tell(value: Any = answers[0]) -> Any:
        return value

    return tell() > 0


@attack
def default_list_that_grows(answers: Any, noise: Any) -> Any:
    def keep(value: Any, seen: list[Any] = []) -> Any:
        seen.append(value)
        return seen

    keep(answers[0])
    return keep(0)[0] > 0


def _outer_default(value: Any, seen: list[Any] = []) -> Any:
    seen.append(value)
    return len(seen)


@attack
def default_list_from_outside(answers: Any, noise: Any) -> Any:
    return _outer_default(0) if answers[0] > 0 else 0


@attack
def nonlocal_of_a_nested_function(answers: Any, noise: Any) -> Any:
    state = 0

    def set_it() -> None:
        nonlocal state
        state = answers[0]

    set_it()
    return state > 0


@attack
def starred(answers: Any, noise: Any) -> Any:
    def second(*parts: Any, **words: Any) -> Any:
        return parts[1] if words["late"] else words["other"]

    return second(*[0, answers[0]], **{"late": True, "other": 0}) > 0


@attack
def words_in_another_order(answers: Any, noise: Any) -> Any:
    def tell(first: Any, /, second: Any = 0, *, third: Any) -> Any:
        return third if second == 1 else first

    return tell(0, third=answers[0], second=1) > 0


@attack
def recursion_over_the_answers(answers: Any, noise: Any) -> Any:
    def depth(left: Any) -> Any:
        return 0 if left <= 0 or left > 3 else 1 + depth(left - 1)

    return depth(answers[0])


@attack
def partial_with_a_word(answers: Any, noise: Any) -> Any:
    return functools.partial(lambda a, b: a - b, b=answers[0])(0) > 0


@attack
def reduced(answers: Any, noise: Any) -> Any:
    return functools.reduce(lambda a, b: a + b, answers, 0) > 0


@attack
def operators(answers: Any, noise: Any) -> Any:
    return operator.gt(answers[0], 0)


# Generators and laziness ---------------------------------------------------------------------------------


@attack
def generator_that_reads_late(answers: Any, noise: Any) -> Any:
    bar = 1000
    above = (a > bar for a in answers)
    bar = 0
    return next(above)


@attack
def generator_that_is_used_up(answers: Any, noise: Any) -> Any:
    items = (a for a in [1, 2] if answers[0] > 0 or a == 1)
    first = list(items)
    return len(first) - len(list(items))


@attack
def yielded(answers: Any, noise: Any) -> Any:
    def tell() -> Any:
        yield answers[0] > 0

    return list(tell())


@attack
def zipped_to_the_shorter(answers: Any, noise: Any) -> Any:
    kept = [a for a in answers if a > 0]
    return len(list(zip(kept, [1, 2, 3], strict=False)))


@attack
def iterator_that_is_shared(answers: Any, noise: Any) -> Any:
    it = iter([answers[0], 0, answers[0], 0])
    return [a > b for a, b in zip(it, it, strict=True)]


@attack
def any_that_stops(answers: Any, noise: Any) -> Any:
    seen: list[int] = []
    any(seen.append(1) or a > 0 for a in [answers[0], 0])  # type: ignore[func-returns-value]
    return len(seen)


@attack
def took_while(answers: Any, noise: Any) -> Any:
    return len(list(itertools.takewhile(lambda a: a > 0, answers)))


@attack
def accumulated(answers: Any, noise: Any) -> Any:
    return list(itertools.accumulate(answers))[-1] > 0


# Names, aliases, assignments -----------------------------------------------------------------------------


@attack
def walrus_in_a_comprehension(answers: Any, noise: Any) -> Any:
    [last := a for a in answers]
    return last > 0


@attack
def walrus_that_is_not_reached(answers: Any, noise: Any) -> Any:
    told = 0
    _ = answers[0] > 0 and (told := 1)
    return told


@attack
def chained_comparison(answers: Any, noise: Any) -> Any:
    return 1 if -1 < 0 < answers[0] else 2


@attack
def chained_and_in(answers: Any, noise: Any) -> Any:
    return 0 < answers[0] in [answers[0]]


@attack
def aliased_list(answers: Any, noise: Any) -> Any:
    one = two = [0]
    one += [answers[0]]
    return two[-1] > 0


@attack
def aliased_rows(answers: Any, noise: Any) -> Any:
    rows = [[0]] * 2
    rows[0][0] = answers[0]
    return rows[1][0] > 0


@attack
def tuple_that_holds_a_list(answers: Any, noise: Any) -> Any:
    held = ([0], 1)
    held[0].append(answers[0])
    return held[0][1] > 0


@attack
def slice_backwards(answers: Any, noise: Any) -> Any:
    return [0, 1, answers[0], 3][::-1][1:2][0] > 0


@attack
def slice_with_a_step(answers: Any, noise: Any) -> Any:
    items = [answers[0], 0, answers[0], 0]
    return items[-2::-2] > [0, 0]


@attack
def slice_that_is_assigned(answers: Any, noise: Any) -> Any:
    items = [0, 0, 0]
    items[1:2] = [answers[0], answers[0]]
    return items[2] > 0


@attack
def swapped(answers: Any, noise: Any) -> Any:
    a, b = 0, answers[0]
    a, b = b, a
    return a > 0


@attack
def assigned_in_order(answers: Any, noise: Any) -> Any:
    items = [0, 0]
    i, items[i] = 1, answers[0]
    return items[1] > 0


@attack
def starred_target(answers: Any, noise: Any) -> Any:
    first, *rest = [0, answers[0], 0]
    return rest[0] > 0


@attack
def name_of_the_loop_afterwards(answers: Any, noise: Any) -> Any:
    for a in answers:
        pass
    return a > 0


@attack
def early_return_in_loops(answers: Any, noise: Any) -> Any:
    for i in range(2):
        for a in answers:
            if i == 1 and a > 0:
                return True
        else:
            continue
    return False


@attack
def else_of_a_loop(answers: Any, noise: Any) -> Any:
    for a in answers:
        if a > 0:
            break
    else:
        return 0
    return 1


@attack
def changed_while_it_is_read(answers: Any, noise: Any) -> Any:
    items = [answers[0]]
    for a in items:
        if a > 0 and len(items) < 3:
            items.append(1)
    return len(items)


# Order, ties, keys ---------------------------------------------------------------------------------------


@attack
def sorted_with_a_key(answers: Any, noise: Any) -> Any:
    return sorted([1, 2], key=lambda i: i * answers[0])[0]


@attack
def stable_sort(answers: Any, noise: Any) -> Any:
    return [i for _, i in sorted([(answers[0] > 0, 0), (False, 1)], key=lambda pair: pair[0])]


@attack
def reversed_sort_of_ties(answers: Any, noise: Any) -> Any:
    return sorted([("b", 0), ("a", answers[0])], key=lambda pair: pair[1] > 0, reverse=True)[0][0]


@attack
def max_with_ties(answers: Any, noise: Any) -> Any:
    return max([(False, 2), (answers[0] > 0, 1)], key=lambda pair: pair[0])[1]


@attack
def max_of_none(answers: Any, noise: Any) -> Any:
    return max([a for a in answers if a > 0], default=-1) == -1


@attack
def tuples_with_symbols(answers: Any, noise: Any) -> Any:
    return (1, answers[0], 5) > (1, 0, 9)


@attack
def lists_that_are_equal(answers: Any, noise: Any) -> Any:
    return [answers[0], 1] == [0, 1]


@attack
def index_of_a_symbol(answers: Any, noise: Any) -> Any:
    return [0, 1, 2].index(answers[0])


@attack
def order_of_a_dict(answers: Any, noise: Any) -> Any:
    found = {"a": 1, "b": 2}
    if answers[0] > 0:
        found["a"] = found.pop("a")
    return list(found)


@attack
def dict_that_is_merged(answers: Any, noise: Any) -> Any:
    return {**{"a": 0}, **({"a": 1} if answers[0] > 0 else {})}["a"]


@attack
def updated_while_public(answers: Any, noise: Any) -> Any:
    table = dict.fromkeys([1, 2], 0)
    table.update({1: answers[0]})
    return table[1] > 0


# Numbers and texts ---------------------------------------------------------------------------------------


@attack
def divided_by_an_answer(answers: Any, noise: Any) -> Any:
    return 1 // answers[0]


@attack
def remainder_of_an_answer(answers: Any, noise: Any) -> Any:
    return answers[0] % 1


@attack
def power_of_an_answer(answers: Any, noise: Any) -> Any:
    return answers[0] ** 2 > 0


@attack
def power_by_an_answer(answers: Any, noise: Any) -> Any:
    return 2 ** answers[0] > 1


@attack
def repeated_by_an_answer(answers: Any, noise: Any) -> Any:
    return "x" * int(answers[0] > 0)


@attack
def percent_format(answers: Any, noise: Any) -> Any:
    return "%d" % (answers[0] > 0)  # noqa: UP031


@attack
def formatted_with_a_width(answers: Any, noise: Any) -> Any:
    return f"{1:>{int(answers[0] > 0) + 1}}"


@attack
def joined(answers: Any, noise: Any) -> Any:
    return "".join("x" for a in answers if a > 0)


@attack
def copied_sign(answers: Any, noise: Any) -> Any:
    return math.copysign(1, answers[0])


@attack
def distance(answers: Any, noise: Any) -> Any:
    return math.isclose(answers[0], 0)


@attack
def numpy_sign(answers: Any, noise: Any) -> Any:
    return int(np.sign(answers[0]))


@attack
def numpy_where(answers: Any, noise: Any) -> Any:
    return int(np.where(np.array(answers) > 0, 1, 0)[0])


@attack
def minus_nought(answers: Any, noise: Any) -> Any:
    return 0.0 * (1 if answers[0] > 0 else -1)


@attack
def bool_and_one(answers: Any, noise: Any) -> Any:
    return True if answers[0] > 0 else 1


# Errors, state, noise ------------------------------------------------------------------------------------


@attack
def error_that_is_caught(answers: Any, noise: Any) -> Any:
    try:
        [0][0 if answers[0] > 0 else 1]
    except IndexError:
        return 1
    return 0


@attack
def error_that_is_seen(answers: Any, noise: Any) -> Any:
    return [0][0 if answers[0] > 0 else 1]


@attack
def key_that_is_missing(answers: Any, noise: Any) -> Any:
    return {True: 0}[answers[0] > 0]


@attack
def asserted(answers: Any, noise: Any) -> Any:
    assert answers[0] > 0
    return 0


@attack
def unpacked_too_few(answers: Any, noise: Any) -> Any:
    (_,) = [a for a in answers if a > 0]
    return 0


@attack
def list_outside(answers: Any, noise: Any) -> Any:
    SEEN.append(answers[0])
    return 0


@attack
def count_outside(answers: Any, noise: Any) -> Any:
    global COUNT
    COUNT += 1
    return COUNT


@attack
def attribute_of_itself(answers: Any, noise: Any) -> Any:
    attribute_of_itself.seen = answers[0]  # type: ignore[attr-defined]
    return 0


@attack
def number_of_draws_by_label(answers: Any, noise: Any) -> Any:
    if answers[0] > 0:
        noise.laplace(1, label="a")
    return len(noise.draws)


@attack
def noise_that_cancels(answers: Any, noise: Any) -> Any:
    drawn = noise.laplace(1, label="a")
    return answers[0] + drawn - drawn


@attack
def noise_that_is_scaled_away(answers: Any, noise: Any) -> Any:
    return answers[0] + 0 * noise.laplace(1, label="a")


@attack
def one_draw_for_two(answers: Any, noise: Any) -> Any:
    drawn = noise.laplace(1, label="a")
    return [answers[0] + drawn, drawn]


@attack
def scale_of_the_answers(answers: Any, noise: Any) -> Any:
    return noise.laplace(1 if answers[0] > 0 else 1000, label="a")


@attack
def label_of_the_answers(answers: Any, noise: Any) -> Any:
    return noise.laplace(1, label="a" if answers[0] > 0 else "b") * 0 + (1 if answers[0] > 0 else 0)


@attack
def product_of_noise_and_answer(answers: Any, noise: Any) -> Any:
    return noise.laplace(1, label="a") * answers[0]


@attack
def squared_noise(answers: Any, noise: Any) -> Any:
    return (answers[0] + noise.laplace(1, label="a")) ** 2 - answers[0] ** 2


@attack
def noise_by_another_method(answers: Any, noise: Any) -> Any:
    return answers[0] + getattr(noise, "lap" + "lace")(1000 if answers[0] > 0 else 1, label="a")


# What python -O leaves out ---------------------------------------------------------------------------------


@attack
def assigned_by_an_assertion(answers: Any, noise: Any) -> Any:
    told = answers[0]
    assert (told := 0) == 0  # noqa: RUF018 - on purpose
    return told


@attack
def changed_by_an_assertion(answers: Any, noise: Any) -> Any:
    told = [answers[0]]
    assert told.pop() is not None
    return len(told) and told[0]


@attack
def with_assertions_only(answers: Any, noise: Any) -> Any:
    return 0 if __debug__ else answers[0]
