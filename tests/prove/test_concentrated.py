"""Proofs in ρ: Gaussian sums at exactly what they cost, and nothing that is no function of noisy sums."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.errors import InvalidArgument

from .generated import distribution, generated

HALF = Fraction(1, 2)


def counts(answers: Any, noise: Any, *, deviation: Any) -> Any:
    return [answer + noise.normal(deviation, label=i) for i, answer in enumerate(answers)]


def total(answers: Any, noise: Any, *, deviation: Any) -> Any:
    return sum(answers) + noise.normal(deviation, label="sum")


def weighted(answers: Any, noise: Any, *, deviation: Any) -> Any:
    """Two sums that share an answer, and one number that is made of both."""
    one = answers[0] - 2 * answers[1] + noise.normal(deviation, label="one")
    other = answers[1] + 3 * noise.normal(deviation, label="other")
    return one, one + other


@pytest.mark.parametrize(
    ("program", "neighbours", "rho"),
    [
        (counts, "each", Fraction(3, 8)),  # 3·1/(2·4)
        (counts, "monotonic", Fraction(3, 8)),
        (counts, "one", Fraction(1, 8)),
        (total, "each", Fraction(9, 8)),
        (total, "one", Fraction(1, 8)),
        (weighted, "each", Fraction(82, 72)),  # (3² + (1/3)²)/8
        (weighted, "monotonic", Fraction(37, 72)),  # (2² + (1/3)²)/8
        (weighted, "one", Fraction(37, 72)),
    ],
)
def test_gaussian_sums(program: Any, neighbours: Any, rho: Fraction) -> None:
    given: dict[str, Any] = {"neighbours": neighbours, "parameters": {"deviation": 2}, "growth": False}
    queries = 2 if program is weighted else 3
    proof = fg.prove(program, rho=rho, queries=queries, **given)
    assert proof.holds
    assert proof.rho == rho
    less = fg.prove(program, rho=rho * Fraction(99, 100), queries=queries, **given)
    assert not less
    assert less.rho == rho
    if program is not weighted:  # both sums are told, but not each by itself: not known to be exact
        assert less.holds is False
        assert less.refutation is not None
        assert less.refutation.divergence == rho
        assert str(less).startswith("not true")
    else:
        assert less.holds is None


def test_the_divergence_of_a_refutation_is_the_gaussian_one() -> None:
    """ln E[(p/q)^α] by a sum over a fine grid, for the neighbours that are shown."""
    proof = fg.prove(counts, rho=Fraction(1, 100), queries=1, parameters={"deviation": 2})
    assert proof.refutation is not None
    (a,), (b,) = proof.refutation.answers, proof.refutation.neighbour
    step, alpha = 0.01, 3

    def density(x: float, mean: Fraction) -> float:
        return math.exp(-((x - mean) ** 2) / 8) / math.sqrt(8 * math.pi)

    points = [i * step for i in range(-4000, 4000)]
    found = math.log(step * sum(density(x, a) ** alpha / density(x, b) ** (alpha - 1) for x in points))
    assert found / (alpha - 1) == pytest.approx(alpha * float(proof.refutation.divergence or 0), rel=1e-9)


def test_what_is_made_of_noisy_sums() -> None:
    def above(answers: Any, noise: Any) -> Any:
        noisy = [answer + noise.normal(1, label=i) for i, answer in enumerate(answers)]
        return [value if value > 3 else None for value in noisy], noisy.index(max(noisy)), round(noisy[0])

    def best(answers: Any, noise: Any) -> int:
        noisy = [answer + noise.normal(1, label=i) for i, answer in enumerate(answers)]
        return noisy.index(max(noisy))

    def sparse(answers: Any, noise: Any) -> Any:
        bar = noise.normal(1, label="threshold")
        for i, answer in enumerate(answers):
            if answer + noise.normal(1, label=i) >= bar:
                return i
        return None

    # What all answers do alike is not seen by a comparison of them: Σ (d − mean)² for the best of three.
    for program, more in ((above, "3/2"), (best, "4/3"), (sparse, "11/8")):
        proof = fg.prove(program, rho=1, queries=2)
        assert proof.rho == 1, program
        assert proof.holds
        assert proof.growth == f"warning: the smallest ρ grows with n, from 1 to {more} for 3 answers"
        assert fg.prove(program, rho=HALF, queries=2).holds is None
    assert fg.prove(above, rho=HALF, queries=2, neighbours="one").growth == (
        "for 3 answers as well, at the same smallest ρ"
    )


def test_laplace_noise_and_lattices() -> None:
    def mixed(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.laplace(2, label="a"), answers[1] + noise.normal(2, label="b")

    def whole(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.discrete_laplace(2, label="a")

    assert fg.prove(mixed, rho=Fraction(1, 4), queries=2, growth=False).rho == Fraction(1, 4)
    assert fg.prove(mixed, rho=Fraction(1, 5), queries=2, growth=False).holds is None  # Laplace costs less
    given: dict[str, Any] = {"rho": 1, "queries": 1, "growth": False}
    assert fg.prove(whole, resolution=1, **given).rho == Fraction(1, 8)
    assert fg.prove(whole, resolution=1, sensitivity="3/2", **given).rho == Fraction(1, 8)
    assert fg.prove(whole, resolution=HALF, **given).holds is None


def test_the_exponential_mechanism() -> None:
    def place(answers: Any, noise: Any, *, rho: Any) -> int:
        return int(noise.exponential_choice([2 * answer for answer in answers], label="place"))

    proof = fg.prove(place, rho=2, queries=3)  # a range of 4: 16/8
    assert proof.holds
    assert proof.rho == 2
    assert fg.prove(place, rho=2, queries=3, neighbours="monotonic", growth=False).rho == HALF
    assert fg.prove(place, rho=1, queries=3).holds is None


def _product(answers: Any, noise: Any) -> Any:
    return answers[0] * noise.normal(1, label=0) + noise.normal(1, label=1)


def _without_noise(answers: Any, noise: Any) -> Any:
    return answers[0] + noise.normal(1, label=0) if answers[0] > 0 else 0


def _shared(answers: Any, noise: Any) -> Any:
    drawn = noise.normal(1, label=0)
    return answers[0] + drawn, answers[1] + drawn


def _uniform(answers: Any, noise: Any) -> Any:
    return answers[0] + noise.uniform(9, label=0)


def _exponential(answers: Any, noise: Any) -> Any:
    return answers[0] + noise.exponential(9, label=0)


def _two_scales(answers: Any, noise: Any) -> Any:
    if noise.normal(1, label="coin") > 0:
        return answers[0] + noise.normal(9, label=0)
    return answers[0] + noise.normal(Fraction(1, 100), label=0)


def _square(answers: Any, noise: Any) -> Any:
    return (answers[0] ** 2) + noise.normal(1, label=0)


def _outside(answers: Any, noise: Any) -> Any:
    return str(answers[0])


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (_product, "no function of answers with noise"),
        (_without_noise, "without noise"),
        (_shared, "the same noise as another"),
        (_uniform, "no price in ρ"),
        (_exponential, "no price in ρ"),
        (_two_scales, "another law or scale"),
        (_square, "no function of answers with noise"),
        (_outside, "the text of a number"),
    ],
)
def test_what_is_not_decided(program: Any, reason: str) -> None:
    proof = fg.prove(program, rho=100, queries=2)
    assert proof.holds is None
    assert reason in str(proof.reason)


def test_a_product_of_noisy_sums_is_post_processing() -> None:
    def program(answers: Any, noise: Any) -> Any:
        one, other = (answer + noise.normal(1, label=i) for i, answer in enumerate(answers))
        return one + 0, other + 0, one * other

    assert fg.prove(program, rho=1, queries=2, growth=False).holds


def test_bad_arguments() -> None:
    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        return {}

    given: dict[str, Any] = {"queries": 1, "parameters": {"deviation": 1}}
    with pytest.raises(InvalidArgument, match="are both missing"):
        fg.prove(counts, **given)
    with pytest.raises(InvalidArgument, match="are both given"):
        fg.prove(counts, rho=1, epsilon=1, **given)
    with pytest.raises(InvalidArgument, match="without alignment"):
        fg.prove(counts, alignment, rho=1, **given)
    with pytest.raises(InvalidArgument, match="rho"):
        fg.prove(counts, rho=0, **given)


def test_no_false_proof_in_rho() -> None:
    """Random programs, in and outside of the subset: the divergence of order 2, as far as it is known."""
    seen = {True: 0, False: 0, None: 0}
    for case in generated(60, seed=3):
        rho = case.epsilon**2 / 2
        holds = fg.prove(case.program, rho=rho, queries=1, resolution=1, growth=False, seconds=1).holds
        seen[holds] += 1
        if not holds:
            continue
        tables = {q: distribution(case.program, case.text, q, Fraction) for q in (-1, 0, 1, 2)}
        for q in (-1, 0, 1):
            for one, other in ((tables[q], tables[q + 1]), (tables[q + 1], tables[q])):
                likely = {output: mass for output, mass in one.items() if mass > 0.02}
                assert all(other.get(output, 0) > 0 for output in likely), case.text
                moment = sum(mass**2 / other[output] for output, mass in likely.items())
                assert moment <= math.exp(2 * rho) * 1.1, case.text
    assert seen[True] >= 5
