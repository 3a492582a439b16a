"""Post-processing of numbers, and lists as parameters: what may be done with them, and what may not."""

from __future__ import annotations

import math
from typing import Any

import pytest

import freegap as fg


def make_up(answers: Any, neighbour: Any, output: Any, noise: Any) -> dict[Any, Any]:
    return {i: noise[i] + answers[i] - neighbour[i] for i in noise}


def two(answers: Any, noise: Any) -> list[Any]:
    return [answer + noise.laplace(2, label=i) for i, answer in enumerate(answers)]


def rounded(answers: Any, noise: Any) -> Any:
    x, y = two(answers, noise)
    return round(x), round(y, 2), round(x * 1024) / 1024, [x // 2, y % 3], math.floor(x) + 1


def whole(answers: Any, noise: Any) -> Any:
    x, y = two(answers, noise)
    return int(x) - math.ceil(y) if x > y else math.trunc(x)


def ratio(answers: Any, noise: Any) -> Any:
    x, y = two(answers, noise)
    return x / y, 1 / x, x // y


@pytest.mark.parametrize("program", [rounded, whole, ratio])
def test_functions_of_what_is_private(program: Any) -> None:
    proof = fg.prove(program, make_up, epsilon=1, queries=2, growth=False)
    assert proof.holds, str(proof)
    assert fg.prove(program, make_up, epsilon="1/2", queries=2).holds is not True


@pytest.mark.parametrize("program", [rounded, ratio])
def test_an_alignment_is_found_for_them(program: Any) -> None:
    assert fg.prove(program, epsilon=1, queries=2, growth=False).holds


def answer_itself(answers: Any, noise: Any) -> Any:
    return round(answers[0])


def answer_and_noise(answers: Any, noise: Any) -> Any:
    return round(answers[0]) + noise.laplace(1, label=0)


def hidden_in_a_divisor(answers: Any, noise: Any) -> Any:
    return noise.laplace(1, label=0) / answers[0]


def one_of_two_kinds(answers: Any, noise: Any) -> Any:
    x = noise.laplace(1, label=0)
    return round(x) if answers[0] > 0 else math.floor(x)


@pytest.mark.parametrize(
    "program",
    [answer_itself, answer_and_noise, hidden_in_a_divisor, one_of_two_kinds],
    ids=lambda p: p.__name__,
)
def test_functions_of_what_is_not(program: Any) -> None:
    """`answer_and_noise` puts out a sum that hides the answer, but the proof is of the program with both."""
    assert fg.prove(program, epsilon=10, queries=1).holds is not True
    assert fg.prove(program, make_up, epsilon=10, queries=1).holds is not True


def free_if_whole(output: Any) -> int:
    return 0 if isinstance(output, int) else 1


def free_if_zero(output: Any) -> int:
    return 0 if output == 0 else 1


@pytest.mark.parametrize("charge", [free_if_whole, free_if_zero])
def test_a_charge_that_looks_at_a_rounded_number(charge: Any) -> None:
    def program(answers: Any, noise: Any) -> Any:
        return round(answers[0] + noise.laplace(1, label=0))

    proof = fg.prove(program, make_up, epsilon=1, queries=1, charge=charge)
    assert proof.holds is None
    assert "rounded or divided" in str(proof.reason)


# Lists as parameters -----------------------------------------------------------------------------------


def weighted(answers: Any, noise: Any, *, weights: list[Any]) -> Any:
    total = sum(weight * answer for weight, answer in zip(weights, answers, strict=True))
    return total + noise.laplace(sum(weights), label="sum")


def weighted_shift(answers: Any, neighbour: Any, output: Any, noise: Any, *, weights: list[Any]) -> Any:
    changes = [w * (a - b) for w, a, b in zip(weights, answers, neighbour, strict=True)]
    return {"sum": noise["sum"] + sum(changes)}


def test_a_list_is_read() -> None:
    for weights in ([1, 2], (1, 2), [1, 0.5]):
        given: dict[str, Any] = {"queries": 2, "parameters": {"weights": weights}, "growth": False}
        assert fg.prove(weighted, weighted_shift, epsilon=1, **given).holds
        assert not fg.prove(weighted, weighted_shift, epsilon="1/2", **given).holds


def keeps(answers: Any, noise: Any, *, a: list[Any], b: list[Any]) -> int:
    a.append(answers[0])
    return 0


def keeps_in_an_item(answers: Any, noise: Any, *, a: list[Any], b: list[Any]) -> int:
    b[0] = answers[0]
    return 0


def through_another_name(answers: Any, noise: Any, *, a: list[Any], b: list[Any]) -> Any:
    a.append(answers[0])
    seen = b[-1]
    a.pop()
    return seen


@pytest.mark.parametrize("program", [keeps, keeps_in_an_item, through_another_name], ids=lambda p: p.__name__)
def test_a_list_that_is_written(program: Any) -> None:
    shared = [1]
    for parameters in ({"a": shared, "b": shared}, {"a": (shared,)[0], "b": [shared][0]}):
        assert fg.prove(program, epsilon=1, queries=1, parameters=parameters).holds is not True
    assert shared == [1]


def divides_by_an_answer(answers: Any, noise: Any) -> Any:
    1 / answers[0]
    return answers[0] + noise.laplace(1)


def divides_whole_numbers(answers: Any, noise: Any) -> Any:
    1 // answers[0]
    return answers[0] + noise.laplace(1)


def divides_by_a_rounded_answer(answers: Any, noise: Any) -> Any:
    noisy = answers[0] + noise.laplace(1)
    round(noisy) % round(answers[0])
    return noisy


def divides_on_one_path(answers: Any, noise: Any) -> Any:
    noisy = answers[0] + noise.laplace(1)
    quotient = noisy / answers[0]
    return quotient if noisy > 3 else 0


def divides_in_a_loop(answers: Any, noise: Any) -> Any:
    out = []
    for answer in answers:
        1 / answer
        out.append(answer + noise.laplace(1))
    return out


@pytest.mark.parametrize(
    "leaking",
    [
        divides_by_an_answer,
        divides_whole_numbers,
        divides_by_a_rounded_answer,
        divides_on_one_path,
        divides_in_a_loop,
    ],
    ids=lambda function: str(function.__name__),
)
def test_an_error_tells_whether_a_divisor_is_zero(leaking: Any) -> None:
    proof = fg.prove(leaking, epsilon=1, neighbours="one", queries=1)
    assert proof.holds is None
    assert "a division by a number that is not put out" in str(proof.reason)


def test_a_divisor_that_is_put_out_is_post_processing() -> None:
    def ratio(answers: Any, noise: Any) -> Any:
        one, other = (answer + noise.laplace(1, label=i) for i, answer in enumerate(answers))
        return {"ratio": one / other, "whole": one // other}

    assert fg.prove(ratio, epsilon=1, neighbours="one", queries=2).holds


def test_a_stream_does_not_hide_a_quotient_in_its_state() -> None:
    def step(state: Any, answer: Any, noise: Any) -> Any:
        return 1 / answer, answer + noise.laplace(1), False

    form = fg.Stream(
        start=lambda noise: 0,
        step=step,
        start_shifts=lambda direction: {},
        step_shifts=lambda direction, state, entry, answer, neighbour: {0: answer - neighbour},
    )
    proof = fg.prove(form, epsilon=1, neighbours="one")
    assert proof.holds is None
    assert "a state holds a number that was rounded or divided" in str(proof.reason)
