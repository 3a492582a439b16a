"""Proofs for every number of answers, and that they fail where they should."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

import freegap as fg
from freegap.base2 import ideal
from freegap.errors import InvalidArgument
from freegap.forms import Change, Selection, Stream
from freegap.laws import LAPLACE, law_named
from freegap.mechanisms import top_k
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.prover.check import problem_of
from freegap.prover.selection import prove_selection
from freegap.symbolic import GivenNoise
from freegap.values.neighbours import Neighbours

from . import plain_top_k, programs


def gap(value: Any, following: Any) -> Any:
    return value - following


def selection(k: int, law: str, factor: int = 2, release: Any = gap) -> Selection:
    return Selection(k, law, Fraction(factor * k), release, *top_k.shifts(law_named(law)))


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("law", ["laplace", "exponential"])
@pytest.mark.parametrize(("neighbours", "factor"), [("each", 2), ("monotonic", 1), ("one", 2)])
def test_top_k_for_all_n(k: int, law: str, neighbours: Neighbours, factor: int) -> None:
    proof = fg.prove(selection(k, law, factor), epsilon=1, neighbours=neighbours)
    assert proof.holds, str(proof)
    assert f"scale {factor}·k·Δ/ε" in proof.claim
    assert "for all n > k ≥ 1, all ε > 0 and all Δ > 0" in proof.claim
    assert all(condition.holds for condition in proof.conditions)


@pytest.mark.parametrize("law", ["laplace", "exponential"])
def test_a_quarter_less_is_refuted_at_a_bounded_size(law: str) -> None:
    proof = fg.prove(selection(2, law), epsilon="3/4")
    assert proof.holds is False
    assert proof.refutation is not None
    assert proof.refutation.condition == "cost"


def test_half_the_noise_is_enough_for_monotonic_answers_only() -> None:
    assert fg.prove(selection(2, "exponential"), epsilon="1/2", neighbours="monotonic").holds
    assert fg.prove(selection(2, "exponential", factor=1), epsilon=1).holds is False


def test_the_laplace_alignment_of_exponential_noise() -> None:
    form = replace(selection(1, "exponential"), shift=top_k.shifts(LAPLACE)[0], last_shift=no_shift)
    proof = fg.prove(form, epsilon=1)
    assert proof.refutation is not None
    assert proof.refutation.condition == "support"


def test_a_release_of_values() -> None:
    form = selection(1, "laplace", release=lambda value, following: value)
    proof = fg.prove(form, epsilon=1)
    assert proof.refutation is not None
    assert proof.refutation.condition == "output"


def no_shift(*_: Any) -> int:
    return 0


def paper(least: Any, runner_up: Change, best: Any) -> Any:
    """Equation 5.4 in the terms of a form: what it adds to t is not a shift of s at all, so here s gets
    −δ*, which keeps neither the output nor the cost."""
    move = best - runner_up.answer - runner_up.noise
    return -(least + move) if least + move < 0 else 0


def test_a_runner_up_that_moves_by_its_own_noise() -> None:
    form = replace(selection(1, "exponential"), last_shift=paper)
    assert fg.prove(form, epsilon=1).holds is not True


def test_a_shift_that_is_not_one_to_one() -> None:
    """The runner-up is moved onto the best of the neighbour wherever it is close: a collision."""

    def last_shift(least: Any, runner_up: Change, best: Any) -> int:
        return 1 if runner_up.noise < 1 else 0

    def shift(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
        move = best - (runner_up.answer + runner_up.noise)
        return item.answer - item.neighbour + move + last_shift(least, runner_up, best)

    form = Selection(1, "laplace", Fraction(1, 100), None, shift, last_shift)
    proof = prove_form(form, epsilon=1000)
    assert proof.holds is None
    assert "one-to-one" in proof.reason


def lifted(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
    return item.answer - item.neighbour + 1


def test_shifts_that_name_the_sensitivity() -> None:
    """A number is right for one Δ only, and the claim says so; it is not carried over to others."""
    form = Selection(2, "exponential", Fraction(4), None, lifted)
    proof = fg.prove(form, epsilon=1)
    assert proof.holds, str(proof)
    assert proof.claim.endswith("all ε > 0 and Δ = 1 (each)")
    assert fg.prove(form, epsilon=1, sensitivity=2).holds is not True


def test_the_runner_up_is_paid_for() -> None:
    """Each item costs at most 2.1, and the runner-up a tenth: 2.2 for each is enough, and 2.15 is not."""

    def shift(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
        return item.answer - item.neighbour + Fraction(11, 10)

    def last_shift(least: Any, runner_up: Change, best: Any) -> Any:
        return Fraction(1, 10)

    enough = Selection(1, "laplace", Fraction("2.2"), None, shift, last_shift)
    assert prove_form(enough).holds
    assert "the cost" in prove_form(replace(enough, scale=Fraction("2.15"))).reason


def test_selected_items_that_change_places() -> None:
    """What rises is moved by twice as much: it stays above the rest, and not above the next."""

    def shift(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
        change = item.answer - item.neighbour
        return change + 1 if change >= 0 else change + 2

    form = Selection(2, "laplace", Fraction(4), None, shift)
    proof = prove_form(form)
    assert proof.holds is None
    assert "the order" in proof.reason


def each_its_own(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
    return item.answer - item.neighbour


def depends_on_itself(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
    return item.answer - item.neighbour + best - runner_up.answer - runner_up.noise + (item.noise > 0)


@pytest.mark.parametrize(
    ("shift", "reason"), [(each_its_own, "the output"), (depends_on_itself, "noise of a selected")]
)
def test_shifts_that_do_not_do(shift: Any, reason: str) -> None:
    proof = prove_form(replace(selection(3, "laplace"), shift=shift))
    assert proof.holds is None
    assert reason in proof.reason


@pytest.mark.parametrize("law", ["laplace", "exponential"])
@pytest.mark.parametrize(("neighbours", "factor"), [("each", 2), ("monotonic", 1)])
def test_a_public_threshold_among_the_items(law: str, neighbours: Neighbours, factor: int) -> None:
    form = replace(selection(3, law, factor), threshold=Fraction(7), item_charge=Fraction(1, 3))
    proof = fg.prove(form, epsilon=1, neighbours=neighbours)
    assert proof.holds, str(proof)
    assert "at ε/k for each item that is released down to a public threshold" in proof.claim
    for less in ({"item_charge": Fraction(1, 4)}, {"scale": form.scale * Fraction(9, 10)}):
        assert prove_form(replace(form, **less), neighbours=neighbours).holds is None
    dear = prove_form(replace(form, item_charge=Fraction(1, 2)), neighbours=neighbours)
    assert "more than ε" in dear.reason


def test_the_noise_of_the_library_is_what_is_proved() -> None:
    """c·k·Δ/ε for all plans: the claim is for all of them, whatever k, Δ and ε it was made with."""
    random = Random(1)
    for _ in range(100):
        k, delta, epsilon = (random.randrange(1, 50) for _ in range(3))
        for monotonic, noise in product((False, True), ("laplace", "exponential")):
            plan = TopKPlan.read(
                "noisy_top_k", k=k, epsilon=epsilon, sensitivity=delta, monotonic=monotonic, noise=noise
            )
            assert top_k.form(plan).scale == Fraction((1 if monotonic else 2) * k * delta, epsilon)


@pytest.mark.parametrize("law", ["geometric", "gumbel", "staircase"])
def test_other_laws_are_not_decided(law: str) -> None:
    form = Selection(1, law, Fraction(2), gap, *top_k.shifts(LAPLACE))
    assert "not a continuous law" in str(prove_form(form).reason)


def prove_form(form: Selection, epsilon: int = 1, neighbours: str = "each") -> Any:
    """Without a look at bounded sizes."""
    return prove_selection(problem_of(form.program, epsilon=epsilon, queries=1, neighbours=neighbours), form)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("law", ["laplace", "exponential"])
def test_the_form_is_the_program_of_the_paper(k: int, law: str) -> None:
    plan = TopKPlan.read("noisy_top_k", k=k, epsilon=1, noise=law)
    random = Random(k)
    for n in range(k + 1, k + 9):
        answers, moved, drawn = ([Fraction(random.randrange(1000), 7) for _ in range(n)] for _ in range(3))
        noise = dict(enumerate(drawn))
        output = top_k.form(plan).program(answers, GivenNoise(noise))
        assert output == plain_top_k.program(answers, GivenNoise(noise), k=k, scale=plan.scale, law=law)
        shifted = top_k.form(plan).alignment(answers, moved, output, noise)
        assert shifted == plain_top_k.alignment(answers, moved, output, noise, law=law)


# Streams ------------------------------------------------------------


def stream(k: int, *, law: str = "laplace", scale: Fraction = Fraction(2), limited: bool = True) -> Stream:
    """Sparse vector with gap: 1/4 for the threshold, 3/4 for the k answers above it."""

    def start(noise: Any) -> Any:
        return k, getattr(noise, law)(Fraction(4), label="threshold")

    def step(state: Any, answer: Any, noise: Any) -> Any:
        left, bar = state
        gap = answer + getattr(noise, law)(scale * k * Fraction(4, 3), label="answer") - bar
        if gap >= 0:
            return (left - 1 if limited else left, bar), gap, limited and left == 1
        return (left, bar), None, False

    def step_shifts(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> Mapping[str, Any]:
        lift = start_shifts(direction)["threshold"]
        return {} if entry is None else {"answer": lift + answer - neighbour}

    return Stream(start, step, start_shifts, step_shifts)


def start_shifts(direction: str) -> Mapping[str, Any]:
    return {"threshold": 0 if direction == "decreasing" else 1}


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("law", ["laplace", "exponential"])
@pytest.mark.parametrize(("neighbours", "scale"), [("each", 2), ("monotonic", 1)])
def test_sparse_vector_for_all_n(k: int, law: str, neighbours: Neighbours, scale: int) -> None:
    proof = fg.prove(stream(k, law=law, scale=Fraction(scale)), epsilon=1, neighbours=neighbours)
    assert proof.holds, str(proof)
    assert "for all n" in proof.claim
    assert proof.tightness is not None
    assert proof.tightness.epsilon == 1
    assert proof.outputs == k  # one kind of state for each number of answers still to come


def test_stream_refutations() -> None:
    cheap = fg.prove(stream(2), epsilon="3/4")
    assert cheap.refutation is not None
    assert cheap.refutation.condition == "cost"
    endless = fg.prove(stream(1, limited=False), epsilon=1)
    assert endless.refutation is not None
    assert endless.refutation.condition == "cost"


def test_a_cost_that_grows_is_not_a_proof() -> None:
    """With a budget that the bounded sizes do not exceed, the loop itself is the reason."""
    proof = fg.prove(stream(1, limited=False), epsilon=100)
    assert proof.holds is None
    assert "grows with the number of answers" in str(proof.reason)


def test_a_state_that_the_entries_do_not_determine() -> None:
    def step(state: Any, answer: Any, noise: Any) -> Any:
        return state + 1 if noise.laplace(1, label="coin") > 0 else state, "same", False

    form = Stream(lambda noise: 0, step, lambda direction: {}, lambda *_: {})
    assert "does not determine" in str(fg.prove(form, epsilon=1).reason)


def test_the_stream_is_the_program_of_the_papers() -> None:
    parameters: dict[str, Any] = {"k": 2, "share": Fraction(1, 4)}
    bounded = fg.prove(stream(2).program, stream(2).alignment, epsilon=1, queries=3)
    assert bounded.holds
    noise = {"threshold": Fraction(1), 0: Fraction(3), 1: Fraction(-5), 2: Fraction(2)}
    labelled = {(i, "answer") if isinstance(i, int) else i: value for i, value in noise.items()}
    parameters |= {"epsilon": Fraction(1), "sensitivity": Fraction(1)}
    expected = programs.sparse_vector([0, 0, 0], GivenNoise(noise), **parameters)
    assert stream(2).program([0, 0, 0], GivenNoise(labelled)) == expected


def test_discrete_sparse_vector_with_gap_for_all_n() -> None:
    form = ideal.form(k=2, eta=(Fraction(1, 4), Fraction(3, 4)), width=3, gaps=(1, 2))
    proof = fg.prove(form, epsilon=1, resolution=1)
    assert proof.holds, str(proof)
    assert fg.prove(form, epsilon="3/4", resolution=1).holds is False


def test_forms_carry_their_alignment() -> None:
    with pytest.raises(InvalidArgument, match="queries"):
        fg.prove(selection(1, "laplace"), epsilon=1, queries=3)
    with pytest.raises(InvalidArgument, match="carries its alignment"):
        fg.prove(selection(1, "laplace"), lambda *_: {}, epsilon=1)
