"""Two draws of one label may be one and the same to who provides the noise: nothing is proved of them, for a
size and for all n alike."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

import freegap as fg
from freegap import Composition, Ranking, Stream
from freegap.prover.schema import Schema, prove_schema
from freegap.symbolic import Limits, Symbol

pytestmark = pytest.mark.usefixtures("without_search")


def noisy_max(answers: Any, noise: Any) -> Any:
    noisy = [answer + noise.laplace(2, label="x") for answer in answers]
    return noisy.index(max(noisy))


def noisy_max_by_place(answers: Any, noise: Any) -> Any:
    noisy = [answer + noise.laplace(2, label=("x", 0)) for i, answer in enumerate(answers)]
    return noisy.index(max(noisy))


def above(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, label="bar")
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, label="x") >= bar:
            return i
    return None


def above_with_the_noise_of_the_bar(answers: Any, noise: Any) -> Any:
    """Where it is the same, the first answer above 0 is put out."""
    bar = noise.laplace(2, label="x")
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, label="x") >= bar:
            return i
    return None


def above_by_position(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, "bar")
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, "x") >= bar:
            return i
    return None


def above_now_and_then(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, label="bar")
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, label=i % 7) >= bar:
            return i
    return None


def _noisy(noise: Any, answer: Any) -> Any:
    return answer + noise.laplace(4, label="x")


def above_by_a_function(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, label="bar")
    for i, answer in enumerate(answers):
        if _noisy(noise, answer) >= bar:
            return i
    return None


def above_with_the_label_of_a_later_answer(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, label=7)
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, label=i) >= bar:
            return i
    return None


def above_without_a_label_of_the_bar(answers: Any, noise: Any) -> Any:
    """Its label is its place in the order, 0."""
    bar = noise.laplace(2)
    for i, answer in enumerate(answers):
        if answer + noise.laplace(4, label=i) >= bar:
            return i
    return None


def above_of_two_kinds(answers: Any, noise: Any) -> Any:
    bar = noise.laplace(2, label="bar")
    for i, answer in enumerate(answers):
        one, other = noise.laplace(8, label=(i, 8)), noise.laplace(8, label=(8, i))
        if answer + one + other >= bar:
            return i
    return None


def sum_of_the_bar(answers: Any, noise: Any) -> Any:
    """Before and after the loop."""
    total = noise.laplace(2, label="x")
    for answer in answers:
        total = total + answer
    return total + noise.laplace(2, label="x")


def until_by_a_function(answers: Any, noise: Any) -> Any:
    while True:
        value = _noisy(noise, answers[0])
        if value > 10:
            return value


def until_by_a_starred_label(answers: Any, noise: Any) -> Any:
    while True:
        value = answers[0] + noise.laplace(*(4, "x"))
        if value > 10:
            return value


def until_by_a_method(answers: Any, noise: Any) -> Any:
    while True:
        draw = noise.laplace
        value = answers[0] + draw(4, label="x")
        if value > 10:
            return value


def until_by_choice(answers: Any, noise: Any) -> Any:
    """Its draws are labelled (None, 0), (None, 1) and (None, 2), in every round."""
    while True:
        item = noise.exponential_choice([answer / 8 for answer in answers])
        if noise.coin(0.5):
            return item


def until_in_order(answers: Any, noise: Any) -> Any:
    """The first of one round is labelled 1, as the second of the round before is by its place."""
    for turn in count():
        value = answers[0] + noise.laplace(4, label=turn)
        if noise.coin(0.5):
            return value


def until_and_then(answers: Any, noise: Any) -> Any:
    for turn in count():
        if noise.coin(0.5, label=turn):
            break
    return answers[0] + noise.laplace(4, label=3)


def best_with_the_label_of_the_coin(answers: Any, noise: Any) -> Any:
    best = None
    for turn in count():
        score = answers[0] + noise.laplace(12, label=("x", turn))
        if best is None or score > best[0]:
            best = (score,)
        if noise.coin(0.5, label=("x", turn)):
            return best


def until(answers: Any, noise: Any) -> Any:
    while True:
        value = answers[0] + noise.laplace(4, label="x")
        if value > 10:
            return value


_SIZES = {above_now_and_then: 9, above_with_the_label_of_a_later_answer: 9, above_of_two_kinds: 9}


@pytest.mark.parametrize(
    "program",
    [
        noisy_max, noisy_max_by_place, above, above_with_the_noise_of_the_bar, above_by_position,
        above_now_and_then, above_by_a_function, above_with_the_label_of_a_later_answer,
        above_without_a_label_of_the_bar, above_of_two_kinds, sum_of_the_bar, until, until_by_a_function,
        until_by_a_starred_label, until_by_a_method, until_by_choice,
    ],
)  # fmt: skip
def test_one_label_twice(program: Any) -> None:
    proof = fg.prove(program, epsilon=1, queries=_SIZES.get(program, 3))
    assert proof.holds is None
    assert "two draws have the label" in str(proof.reason)


@pytest.mark.parametrize("program", [until_in_order, until_and_then, best_with_the_label_of_the_coin])
def test_one_label_in_two_rounds(program: Any) -> None:
    proof = fg.prove(program, epsilon=1, queries=3)
    assert proof.holds is None
    assert "no two draws have the label of one" in str(proof.reason)


def test_labels_of_their_own() -> None:
    def named(answers: Any, noise: Any) -> Any:
        bar = noise.laplace(2, "bar")
        for i, answer in enumerate(answers):
            if answer + noise.laplace(4, label=f"answer {i}") >= bar:
                return i
        return None

    def numbered(answers: Any, noise: Any) -> Any:
        bar = noise.laplace(2, "bar")
        for i, answer in enumerate(answers):
            if answer + noise.laplace(4, (None, i)) >= bar:
                return i
        return None

    for program in (named, numbered):
        assert str(fg.prove(program, epsilon=1, queries=2)).startswith("proved: ")


def _start(label: Any) -> Any:
    return lambda noise: noise.laplace(2, label=label)


def _step(bar: Any, answer: Any, noise: Any) -> Any:
    above = answer + noise.laplace(4, label="answer") >= bar
    return bar, above, above


def _two_without_a_label(bar: Any, answer: Any, noise: Any) -> Any:
    above = answer + noise.laplace(8) + noise.laplace(8) >= bar
    return bar, above, above


def _two(bar: Any, answer: Any, noise: Any) -> Any:
    above = answer + noise.laplace(4, label="answer") + noise.laplace(1, label="more") >= bar
    return bar, above, above


def _moves_it(direction: str, bar: Any, entry: Any, answer: Any, neighbour: Any) -> Any:
    return {"answer": 1 + answer - neighbour} if entry else {}


def _moves_nothing(*context: Any) -> Any:
    return {}


def _end(bar: Any, noise: Any) -> Any:
    return noise.laplace(1, label="x")


_STREAMS = [
    (Stream(_start(5), _step, lambda d: {5: 1}, _moves_it, place_alone=True), 7),
    (Stream(_start(None), _step, lambda d: {0: 1}, _moves_it, place_alone=True), 1),
    (Stream(_start((5, "answer")), _step, lambda d: {(5, "answer"): 1}, _moves_it), 7),
    (
        Stream(
            _start(("end", "x")), _step, lambda d: {("end", "x"): 1}, _moves_it, finish=_end,
            finish_shifts=_moves_nothing,
        ),
        1,
    ),
    (Stream(_start("bar"), _two_without_a_label, lambda d: {"bar": 1}, lambda d, s, e, a, n: {0: 2}), 1),
    (Stream(_start("bar"), _two, lambda d: {"bar": 1}, _moves_it, place_alone=True), 1),
]  # fmt: skip


@pytest.mark.parametrize(("form", "size"), _STREAMS)
def test_one_label_twice_in_a_stream(form: Stream, size: int) -> None:
    """Its program has the label twice, at this size; and its proof is one for all."""
    proof = fg.prove(form, epsilon=1)
    assert proof.holds is None
    assert "in the program of the form" in str(proof.reason)
    bounded = fg.prove(form.program, lambda *context: {}, epsilon=1, queries=size, counterexample=False)
    assert "two draws have the label" in str(bounded.reason)


def _measured(state: Any, answer: Any, noise: Any) -> Any:
    return state, answer + noise.laplace(1, label="answer"), False


def _measured_by_two(state: Any, answer: Any, noise: Any) -> Any:
    return state, answer + noise.laplace(1) - noise.laplace(1), False


def _second(step: Any, start: Any, label: Any, *, alone: bool = False) -> Stream:
    def moves(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> Any:
        return {label: answer - neighbour}

    charges: dict[str, Any] = {"start_charge": 0, "entry_charge": lambda entry: 1}
    return Stream(start, step, lambda direction: {}, moves, place_alone=alone, **charges)


_SECONDS = [
    _second(_measured_by_two, lambda noise: None, 0),
    _second(_measured, _start((0, "answer")), "answer"),
    _second(_measured, _start(None), "answer", alone=True),
]


@pytest.mark.parametrize("second", _SECONDS)
def test_one_label_twice_in_a_second_part(second: Stream) -> None:
    """What is measured of a chosen answer would be the answer itself, or the noise would be known."""
    best = Ranking(1, "laplace", 2, lambda direction, answer, neighbour: answer - neighbour + 1, 1)
    proof = fg.prove(Composition(best, second, budgets=(1, 1)), epsilon=2)
    assert proof.holds is None
    assert "in the program of the form" in str(proof.reason)


def _two_at_the_start(noise: Any) -> Any:
    return noise.laplace(4) - noise.laplace(4)


def _found(bar: Any, answer: Any, noise: Any) -> Any:
    above = answer + noise.laplace(4, label="answer") >= bar
    return bar, True if above else None, above


def test_two_draws_without_a_label_at_the_start_of_a_part() -> None:
    """Each is labelled by its place, but in a composition, where both are ("first", None): no bar is left."""
    first = Stream(_two_at_the_start, _found, lambda direction: {0: 1}, _moves_it)
    both = Composition(first, _second(_measured, lambda noise: None, "answer"), budgets=(1, 1))
    proof = fg.prove(both, epsilon=2)
    assert proof.holds is None
    assert "two draws without a label, in the program of the form" in str(proof.reason)
    bounded = fg.prove(both.program, lambda *context: {}, epsilon=2, queries=1, counterexample=False)
    assert "two draws have the label ('first', None)" in str(bounded.reason)
    one = replace(first, start=_start(None))
    assert fg.prove(replace(both, first=one), epsilon=2).holds


@pytest.mark.parametrize("second", _SECONDS)
def test_one_label_twice_in_a_schema(second: Stream) -> None:
    number = Symbol.of(1)
    proof = prove_schema(Schema(second, number, number, (), "", answers=number), "each", Limits())
    assert proof.holds is None
    assert "in the program of the form" in str(proof.reason)


def test_labels_are_looked_at_where_the_program_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """By another way, which sees what happens at five answers, whatever is read of labels."""
    for module in ("routes", "schema"):
        monkeypatch.setattr(f"freegap.prover.{module}.with_own_labels", lambda form: form)
    best = Ranking(1, "laplace", 2, lambda direction, answer, neighbour: answer - neighbour + 1, 1)
    first = Stream(_two_at_the_start, _found, lambda direction: {0: 1}, _moves_it)
    forms = [
        *(form for form, size in _STREAMS if size <= 5 and form.step in (_step, _two)),
        *(Composition(best, second, budgets=(1, 1)) for second in _SECONDS[:2]),
        Composition(first, _second(_measured, lambda noise: None, "answer"), budgets=(1, 1)),
    ]
    for form in forms:
        proof = fg.prove(form, epsilon=2)
        assert proof.holds is None
        assert "two draws of its program have one label" in str(proof.reason)


def test_a_second_part_with_labels_of_its_own() -> None:
    best = Ranking(1, "laplace", 2, lambda direction, answer, neighbour: answer - neighbour + 1, 1)
    for start, alone in ((lambda noise: None, True), (_start("bar"), False), (_start("bar"), True)):
        second = _second(_measured, start, "answer", alone=alone)
        assert fg.prove(Composition(best, second, budgets=(1, 1)), epsilon=2).holds


def test_a_stream_with_labels_of_its_own() -> None:
    for alone in (False, True):
        form = Stream(_start("bar"), _step, lambda d: {"bar": 1}, _moves_it, place_alone=alone)
        assert fg.prove(form, epsilon=1).holds


def test_labels_that_are_shared_by_branches() -> None:
    """One of the two is drawn, so that each label is used once."""

    def either(answers: Any, noise: Any, *, wide: int) -> Any:
        bar = noise.laplace(2, label="bar")
        for i, answer in enumerate(answers):
            drawn = noise.laplace(4, label=i) if wide < 3 else noise.laplace(8, label=i)
            if answer + drawn >= bar:
                return i
        return None

    assert str(fg.prove(either, epsilon=1, queries=2, parameters={"wide": 3})).startswith("proved: ")


def test_functions_that_draw_without_labels() -> None:
    def lift(noise: Any, answer: Any) -> Any:
        return answer + noise.laplace(4)

    def above(answers: Any, noise: Any) -> Any:
        bar = noise.laplace(2)
        for i, answer in enumerate(answers):
            if lift(noise, answer) >= bar:
                return i
        return None

    def until(answers: Any, noise: Any) -> Any:
        while True:
            value = lift(noise, answers[0])
            if noise.coin(0.5):
                return value

    assert str(fg.prove(above, epsilon=1, queries=2)).startswith("proved: ")
    assert fg.prove(until, epsilon=1, queries=2, growth=False).holds
