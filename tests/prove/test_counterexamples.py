"""Exact counterexamples: each is computed once more, by another way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest
from flint import fmpq
from scipy.integrate import quad

import freegap as fg
from freegap.prover.atoms import Atom, exclude_each_other
from freegap.prover.check import problem_of
from freegap.prover.classes import classes_of
from freegap.prover.counterexample import find_counterexample
from freegap.prover.events import ExactViolation
from freegap.prover.exponentials import exponential, integral, laplace, uniform
from freegap.prover.probability import linear_paths, probability_of
from freegap.prover.report import Proof
from freegap.prover.routes import _searched
from freegap.symbolic import NotDecided, OutOfTime

from . import broken


def found(program: Any, queries: int, **options: Any) -> ExactViolation | None:
    problem = problem_of(program, epsilon=1, queries=queries, seconds=60, **options)
    return find_counterexample(problem, classes_of(problem))


def found_surely(program: Any, queries: int, **options: Any) -> ExactViolation:
    counterexample = found(program, queries, **options)
    assert counterexample is not None
    return counterexample


# The integral -----------------------------------------------------------------------------------------


def test_an_integral_in_closed_form() -> None:
    """P(x ≥ y + d) for Laplace noise of one scale s is (2 + d/s)·e^(−d/s)/4."""
    scale = Fraction(3)
    above = integral([laplace(scale), laplace(scale)], [(Fraction(1), Fraction(-1), Fraction(-2))])
    assert float(above.mid()) == pytest.approx((2 + 2 / 3) * math.exp(-2 / 3) / 4, rel=1e-14)


def test_an_integral_with_powers() -> None:
    """Three uniform variables whose sum is at most 1: a simplex of volume 1/6."""
    one = Fraction(1)
    volume = integral([uniform(one)] * 3, [(-one, -one, -one, one)])
    assert volume.contains(fmpq(1, 6))
    assert volume.rad() < 1e-12


def test_an_order_of_exponential_variables() -> None:
    """P(x ≤ y ≤ z) is 1/6 by symmetry, for any scale."""
    order = [
        (Fraction(-1), Fraction(1), Fraction(0), Fraction(0)),
        (Fraction(0), Fraction(-1), Fraction(1), Fraction(0)),
    ]
    assert integral([exponential(Fraction(5, 2))] * 3, order).contains(fmpq(1, 6))


# Continuous noise, once more by quadrature ------------------------------------------------------------


def below(x: float, scale: float) -> float:
    """P(Laplace noise is at most x)."""
    return math.exp(x / scale) / 2 if x < 0 else 1 - math.exp(-x / scale) / 2


def chance_of_sparse_vector(answers: Any, output: Any, bar: float, scale: float) -> float:
    """∫ f(t)·Π P(answer i is above or below t) dt, which has nothing of the prover in it."""

    def integrand(t: float) -> float:
        total = math.exp(-abs(t) / bar) / (2 * bar)
        for answer, entry in zip(answers, output, strict=True):
            total *= below(t - float(answer), scale) if entry is None else below(float(answer) - t, scale)
        return total

    kinks = sorted({0.0, *map(float, answers)})
    ends = [-400.0, *kinks, 400.0]
    return math.fsum(quad(integrand, a, b, epsabs=0, epsrel=1e-11, limit=200)[0] for a, b in pairwise(ends))


def outputs_of(counterexample: ExactViolation, queries: int) -> list[Any]:
    return [
        output
        for length in range(1, queries + 1)
        for output in map(list, product([None, True], repeat=length))
        if counterexample.event.contains(output)
    ]


@pytest.mark.parametrize(
    ("program", "bar", "scale", "k"),
    [
        (broken.no_limit_on_answers_above, 2.0, 4.0, 1),
        (broken.noise_not_scaled_by_k, 2.0, 4.0, 2),
        (broken.one_answer_too_many, 2.0, 4.0, 1),
    ],
)
def test_a_sparse_vector_is_refuted(program: Callable[..., Any], bar: float, scale: float, k: int) -> None:
    bad = found_surely(program, 5, parameters={"k": k, "share": Fraction(1, 2)})
    (output,) = outputs_of(bad, 5)
    before, after = (
        chance_of_sparse_vector(side[: len(output)], output, bar, scale)
        for side in (bad.answers, bad.neighbour)
    )
    assert float(bad.probability.lower) == pytest.approx(before, rel=1e-8)
    assert float(bad.probability_of_neighbour.upper) == pytest.approx(after, rel=1e-8)
    assert bad.ratio is not None
    assert float(bad.ratio) == pytest.approx(before / after, rel=1e-8)
    assert before / after > math.e * 1.01
    assert all(abs(a - b) <= 1 for a, b in zip(bad.answers, bad.neighbour, strict=True))


def test_a_number_that_tells_the_maximum() -> None:
    """P(the largest of three is at most a) is a product of distribution functions."""
    bad = found_surely(broken.value_instead_of_place, 3, parameters={"k": 1, "scale": 2})
    ((low, high),) = bad.event.box
    sides = []
    for side in (bad.answers, bad.neighbour):
        within = 1.0 if high is None else math.prod(below(float(high - q), 2) for q in side)
        under = 0.0 if low is None else math.prod(below(float(low - q), 2) for q in side)
        sides.append(within - under)
    assert float(bad.probability.lower) == pytest.approx(sides[0], rel=1e-9)
    assert float(bad.probability_of_neighbour.upper) == pytest.approx(sides[1], rel=1e-9)


def test_no_noise_at_all() -> None:
    bad = found_surely(broken.no_noise_on_answers, 2, parameters={"k": 1, "share": Fraction(1, 2)})
    assert bad.ratio is None
    assert bad.probability_of_neighbour.upper == 0
    assert "infinite" in str(bad)


def test_gaussian_noise_is_not_private_without_delta() -> None:
    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.normal(3, label="sum")

    proof = fg.prove(program, epsilon=1, queries=1)
    bad = proof.counterexample
    assert proof.holds is False
    assert bad is not None
    ((low, high),) = bad.event.box
    assert (low is None) != (high is None)
    tails = []
    for (answer,) in (bad.answers, bad.neighbour):
        distance = float(answer - high) if high is not None else float(low - answer)  # type: ignore[operator]
        tails.append(math.erfc(distance / 3 / math.sqrt(2)) / 2)
    assert float(bad.probability.lower) == pytest.approx(tails[0], rel=1e-12)
    assert tails[0] / tails[1] > math.e


# Discrete noise, once more by enumeration -------------------------------------------------------------


def test_discrete_noise_is_enumerated() -> None:
    def program(answers: Any, noise: Any) -> Any:
        bar = noise.discrete_laplace(2, label="bar")
        return [answer + noise.geometric(1, label=i) >= bar for i, answer in enumerate(answers)]

    problem = problem_of(program, epsilon=1, queries=2, resolution=1)
    answers = [Fraction(1), Fraction(-1)]
    far, half, one = 90, math.exp(-1 / 2), math.exp(-1)
    expected: dict[str, float] = {}
    for bar in range(-far, far + 1):
        chance = (1 - half) / (1 + half) * half ** abs(bar)
        above = [min(1.0, one ** max(0, bar - int(answer))) for answer in answers]
        for output in product([True, False], repeat=2):
            weight = math.prod(p if up else 1 - p for p, up in zip(above, output, strict=True))
            expected[str(list(output))] = expected.get(str(list(output)), 0) + chance * weight
    for output_class in classes_of(problem):
        ball = probability_of(linear_paths(output_class), answers, ())
        assert float(ball.mid()) == pytest.approx(expected[output_class.name], rel=1e-12)


def test_an_improbable_event_on_a_lattice_is_as_sharp_as_any() -> None:
    """e^-50 is less than what was once left over of the values of the bar, and the ball held nothing else."""

    def program(answers: Any, noise: Any) -> Any:
        bar = noise.discrete_laplace(2, label="bar")
        return [answer + noise.geometric(2, label=i) >= bar for i, answer in enumerate(answers)]

    problem = problem_of(program, epsilon=1, queries=2, resolution=1)
    (both,) = (c for c in classes_of(problem) if c.name == "[True, True]")
    ball = probability_of(linear_paths(both), [Fraction(-100), Fraction(-90)], ())
    p = math.exp(-1 / 2)
    expected = sum(
        (1 - p) / (1 + p) * p ** abs(bar) * p ** max(0, bar + 100) * p ** max(0, bar + 90)
        for bar in range(-400, 200)
    )
    assert float(ball.mid()) == pytest.approx(expected, rel=1e-12)
    assert float(ball.rad()) < 1e-11 * float(ball.mid())
    assert expected < 2.0**-62


def test_conditions_that_exclude_each_other_are_seen() -> None:
    x, y = (0, Fraction(1)), (1, Fraction(-2))
    back = tuple((place, -c / 3) for place, c in (y, x))
    below, above = Atom("<=", (x, y), Fraction(6)), Atom("<", back, Fraction(-1))  # ≤ −6 and > −3
    assert exclude_each_other([below, above])
    assert not exclude_each_other([below, Atom("<", back, Fraction(-3))])  # > −9
    assert not exclude_each_other([below, Atom("!=", back, Fraction(-1))])


def test_a_tie_counts_on_a_lattice() -> None:
    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.discrete_laplace(1, label="x") == 0

    for answer in (0, 3):
        problem = problem_of(program, epsilon=1, queries=1, resolution=1)
        chances = {
            c.name: probability_of(linear_paths(c), [Fraction(answer)], ()) for c in classes_of(problem)
        }
        p = math.exp(-1)
        assert float(chances["True"].mid()) == pytest.approx((1 - p) / (1 + p) * p**answer, rel=1e-14)
        assert (chances["True"] + chances["False"]).contains(1)


# What a search may not say ----------------------------------------------------------------------------


def test_neighbours_are_those_of_the_claim() -> None:
    """Answers that move the same way hide behind half the noise, so no violation may be found for them."""

    def program(answers: Any, noise: Any) -> Any:
        noisy = [answer + noise.laplace(1, label=i) for i, answer in enumerate(answers)]
        return noisy.index(max(noisy))

    assert found(program, 2, neighbours="monotonic") is None
    bad = found_surely(program, 2)
    assert sorted(b - a for a, b in zip(bad.answers, bad.neighbour, strict=True)) == [-1, 1]


def test_answers_are_multiples_of_the_resolution() -> None:
    """On whole answers each step of 1 moves the sum by 1: from 37½ to 38½ it would be by 2."""

    def program(answers: Any, noise: Any) -> Any:
        folded = answers[0] if answers[0] <= 38 else 78 - answers[0]
        return folded + noise.laplace(1, label="x") <= -20

    assert found(program, 1, resolution=1, sensitivity=Fraction(3, 2)) is None


def test_a_search_ends_with_the_time_of_the_claim() -> None:
    """In the middle of a probability, too; and the proof says that not everything was looked at."""

    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.laplace(2, label=0) >= noise.laplace(2, label=1)

    problem = problem_of(program, epsilon=1, queries=1)
    classes = classes_of(problem)
    over = replace(problem.limits, until=0.0)
    with pytest.raises(OutOfTime):
        find_counterexample(replace(problem, limits=over), classes)
    with pytest.raises(OutOfTime):
        integral([laplace(Fraction(1))] * 2, [(1, -1, 0)], over)
    proof = _searched(replace(problem, limits=over), Proof(None, "", ()))
    assert "when the time limit was reached" in str(proof.searched)


def test_a_private_mechanism_is_not_refuted() -> None:
    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.laplace(1, label="sum")

    assert found(program, 1) is None


def test_a_charge_below_epsilon_is_what_counts() -> None:
    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.laplace(1, label="x") >= 0

    def charge(output: Any) -> Any:
        return Fraction(1, 2) if output else 1

    bad = found_surely(program, 1, charge=charge)
    assert bad.event.contains(True)
    assert bad.charge == Fraction(1, 2)


def test_a_product_of_noise_is_not_integrated() -> None:
    def program(answers: Any, noise: Any) -> Any:
        return noise.laplace(1, label="x") * noise.laplace(1, label="y") > answers[0]

    with pytest.raises(NotDecided, match="not linear"):
        found(program, 1)


def test_the_report_says_it() -> None:
    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.laplace(Fraction(1, 2), label="x")

    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        return {"x": noise["x"] + answers[0] - neighbour[0]}

    proof = fg.prove(program, alignment, epsilon=1, queries=1)
    assert proof.holds is False
    assert proof.refutation is not None
    assert proof.refutation.condition == "cost"
    assert proof.refutation.counterexample is proof.counterexample
    assert str(proof).startswith("not true: ")
    assert "\n  not private:\n    answers " in str(proof)
    record = proof.to_dict()
    assert record["refutation"]["counterexample"]["event"].startswith("the output is a")
    left_out = fg.prove(program, alignment, epsilon=1, queries=1, counterexample=False)
    assert left_out.counterexample is None
    assert str(left_out).startswith("this alignment does not prove it")


def test_a_probability_that_is_not_certain_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the probabilities of all outputs did not add up to 1, something that computed them is wrong."""
    monkeypatch.setattr("freegap.prover.kinds.probability_of", lambda *what: probability_of(*what) / 2)
    with pytest.raises(NotDecided, match="add up"):
        found(broken.no_noise_on_answers, 2, parameters={"k": 1, "share": Fraction(1, 2)})
