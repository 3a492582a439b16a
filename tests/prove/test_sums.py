"""Streams where one answer moves: its difference is paid for once, and what pays less is not proved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from freegap_evidence.catalogue.sums import histogram, partial_sum, prefix_sum, smart_sum

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.forms import Stream
from freegap.prover.check import problem_of
from freegap.prover.report import Proof
from freegap.prover.stream import prove_stream

FORMS = {
    "histogram": (histogram(scale=1), 1),
    "prefix": (prefix_sum(scale=1), 1),
    "partial": (partial_sum(scale=1), 1),
    "smart": (smart_sum(scale=1, block=2), 2),
}


def prove_form(form: Stream, neighbours: str = "one", epsilon: Any = 100, **options: Any) -> Proof:
    """Without a look at bounded sizes."""
    problem = problem_of(form.program, epsilon=epsilon, queries=1, neighbours=neighbours, **options)
    return prove_stream(problem, form)


@pytest.mark.parametrize(("form", "epsilon"), FORMS.values(), ids=FORMS)
def test_one_answer_moves(form: Stream, epsilon: int) -> None:
    proof = fg.prove(form, epsilon=epsilon, neighbours="one")
    assert proof.holds, str(proof)
    assert proof.tightness is not None
    assert proof.tightness.epsilon == epsilon
    assert "cost" in str(prove_form(form, epsilon=epsilon, sensitivity=2).reason)


@pytest.mark.parametrize(("form", "epsilon"), FORMS.values(), ids=FORMS)
def test_the_form_at_a_bounded_size(form: Stream, epsilon: int) -> None:
    """The same smallest ε by another way: all answers at once, beyond a block and into the next."""
    proof = fg.prove(form.program, form.alignment, epsilon=epsilon, queries=3, neighbours="one", growth=False)
    assert proof.holds, str(proof)
    assert proof.tightness is not None
    assert proof.tightness.epsilon == epsilon


@pytest.mark.parametrize(("form", "epsilon"), FORMS.values(), ids=FORMS)
def test_each_answer_moves(form: Stream, epsilon: int) -> None:
    """What is proved for one answer that moves is not carried over to all of them."""
    assert prove_form(form, "each").holds is None
    assert prove_form(form, "monotonic").holds is None
    assert fg.prove(form, epsilon=epsilon, counterexample=False).holds is False


def test_sparse_vector_where_one_answer_moves() -> None:
    """Only one of the answers above can be moved by 2Δ; the others pay for the threshold alone."""
    costs = {}
    for neighbours in ("each", "one"):
        proof = prove_form(above(2), neighbours, epsilon=7)
        assert proof.holds, str(proof)
        assert proof.tightness is not None
        costs[neighbours] = proof.tightness.epsilon
    assert costs == {"each": 1 + 2 * 2, "one": 1 + 1 + 2}


def above(k: int) -> Stream:
    def start(noise: Any) -> Any:
        return k, noise.laplace(1, label="threshold")

    def step(state: Any, answer: Any, noise: Any) -> Any:
        left, bar = state
        gap = answer + noise.laplace(1, label="answer") - bar
        return ((left, bar), None, False) if gap < 0 else ((left - 1, bar), gap, left == 1)

    def step_shifts(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> Any:
        return {} if entry is None else {"answer": 1 + answer - neighbour}

    return Stream(start, step, lambda direction: {"threshold": 1}, step_shifts)


# What must be refused ------------------------------------------------------------------


def tells_the_last_answer(state: Any, answer: Any, noise: Any) -> Any:
    noisy = answer + noise.laplace(1, label="answer")
    return answer, noisy if state is None else noisy - state, False


def tells_the_sum(total: Any, answer: Any, noise: Any) -> Any:
    return total + answer + noise.laplace(1, label="answer"), total + answer, False


def pays_again_and_again(total: Any, answer: Any, noise: Any) -> Any:
    """The exact sum, noised afresh in each step."""
    return total + answer, total + answer + noise.laplace(1, label="answer"), False


def counts_what_is_above(count: Any, answer: Any, noise: Any) -> Any:
    noise.laplace(1, label="answer")
    return count + 1 if answer > 0 else count, None, False


def remembers_a_branch(state: Any, answer: Any, noise: Any) -> Any:
    """Which of two constants is kept depends on an answer, and is told by the noise of the next one."""
    return 5 if answer > 0 else Fraction(1, 2), state + noise.laplace(1, label="answer"), False


def tells_the_fifth(place: Any, answer: Any, noise: Any) -> Any:
    noisy = answer + noise.laplace(1, label="answer")
    return min(place + 1, 5), answer if place == 4 else noisy, False


def whole_sum(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any, other: Any) -> Any:
    return {"answer": answer - neighbour + state - other}


STEPS = {
    tells_the_last_answer: "",
    tells_the_sum: "the output",
    pays_again_and_again: "grows",
    counts_what_is_above: "does not determine",
    remembers_a_branch: "",
    tells_the_fifth: "the output",
}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_steps_that_leak(step: Any) -> None:
    form = replace(prefix_sum(scale=1), step=step)
    if step is tells_the_last_answer:
        form = replace(form, start=lambda noise: None)
    if step is pays_again_and_again:
        form = replace(form, step_shifts=whole_sum, both_states=True)
    proof = prove_form(form)
    assert proof.holds is None
    assert STEPS[step] in str(proof.reason)


def test_a_block_that_is_not_made_up_for() -> None:
    own = prefix_sum(scale=1).step_shifts
    proof = prove_form(replace(smart_sum(scale=1, block=2), step_shifts=own, both_states=False))
    assert "the output is not established" in str(proof.reason)


def test_an_end_that_is_not_made_up_for() -> None:
    proof = prove_form(replace(partial_sum(scale=1), finish_shifts=lambda *context: {}))
    assert "the output is not established" in str(proof.reason)


def test_an_end_without_noise() -> None:
    form = replace(partial_sum(scale=1), finish=lambda total, noise: total)
    form = replace(form, finish_shifts=lambda *context: {})
    assert "the output is not established" in str(prove_form(form).reason)


def test_charges_of_what_is_spent_once() -> None:
    """Nobody knows which entry is that of the answer that moved: the start is charged, or all of them are."""
    free = replace(prefix_sum(scale=1), start_charge=0, entry_charge=lambda entry: 0)
    assert "more than it is charged" in str(prove_form(free).reason)
    for start, entry in ((1, 0), (0, 1)):
        paid = replace(free, start_charge=start, entry_charge=[lambda e: 0, lambda e: 1][entry])
        assert prove_form(paid).holds
    half = replace(smart_sum(scale=1, block=2), start_charge=1, entry_charge=lambda entry: 0)
    assert "1 more than it is charged" in str(prove_form(half).reason)


def test_a_stop_before_the_end() -> None:
    """A stream that stops comes to its end as well, with the state that it stopped in."""

    def step(total: Any, answer: Any, noise: Any) -> Any:
        noisy = answer + noise.laplace(1, label="answer")
        return total + answer, "above" if noisy > 0 else noisy, noisy > 0

    form = replace(partial_sum(scale=1), step=step, step_shifts=prefix_sum(scale=1).step_shifts)
    proof = prove_form(form, epsilon=2)
    assert proof.holds, str(proof)
    assert proof.tightness is not None
    assert proof.tightness.epsilon == 2
    assert prove_form(replace(form, finish_shifts=lambda *context: {})).holds is None


def test_discrete_sums() -> None:
    def step(total: Any, answer: Any, noise: Any) -> Any:
        total = total + answer + noise.discrete_laplace(1, label="answer")
        return total, total, False

    form = replace(prefix_sum(scale=1), step=step)
    assert prove_form(form, resolution=1, epsilon=1).holds
    assert prove_form(form, epsilon=1).holds is None  # answers between the multiples


def test_an_end_needs_its_shifts() -> None:
    with pytest.raises(InvalidArgument, match="finish_shifts"):
        replace(prefix_sum(scale=1), finish=lambda total, noise: total)
