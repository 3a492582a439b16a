"""Coins, choices, hidden draws and the exponential mechanism: what has no alignment, or a simple one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.prover.check import problem_of
from freegap.prover.classes import classes_of
from freegap.prover.probability import linear_paths, probability_of

HALF = Fraction(1, 2)


def response(answers: Any, noise: Any, *, honesty: Any) -> list[bool]:
    return [(answer >= HALF) == noise.coin(honesty, label=i) for i, answer in enumerate(answers)]


def thirds(answers: Any, noise: Any) -> int:
    truth = 0 if answers[0] < 1 else 1 if answers[0] < 2 else 2
    weights = [1, 1, 1]
    weights[truth] = 3
    return int(noise.choice(weights, label="said"))


def flip(answers: Any, noise: Any) -> bool:
    if noise.coin(HALF, label="honest"):
        return bool(answers[0] >= 0)
    return bool(noise.coin(HALF, label="said"))


@pytest.mark.parametrize(
    ("program", "options"),
    [(response, {"parameters": {"honesty": Fraction(3, 4)}}), (thirds, {}), (flip, {})],
)
def test_the_smallest_epsilon_is_ln_3(program: Any, options: Any) -> None:
    """By closed form: each of them tells one side with three times the chance of the other."""
    assert fg.prove(program, epsilon="1.0987", queries=1, growth=False, **options).holds
    proof = fg.prove(program, epsilon="1.0986", queries=1, **options)
    assert proof.holds is False
    assert proof.counterexample is not None
    assert proof.counterexample.ratio is not None
    assert math.isclose(proof.counterexample.ratio, 3)


def test_only_neighbours_count() -> None:
    """Two answers can change together, or only one of them."""
    honesty = {"honesty": Fraction(3, 4)}
    options: dict[str, Any] = {"epsilon": "1.1", "queries": 2, "parameters": honesty, "growth": False}
    assert fg.prove(response, neighbours="one", **options).holds
    proof = fg.prove(response, **options)
    assert proof.counterexample is not None
    assert proof.counterexample.ratio is not None
    assert math.isclose(proof.counterexample.ratio, 9)


def test_a_charge_is_followed_and_not_only_called() -> None:
    """It could say one thing to whoever proves, and another to whoever releases."""

    def program(answers: Any, noise: Any) -> bool:
        return bool(noise.coin(Fraction(1, 4) if answers[0] > 0 else Fraction(3, 4), label="coin"))

    calls = [2]

    def changing(output: bool) -> int:
        return calls[0]

    assert fg.prove(program, epsilon=2, queries=1, charge=lambda output: 2).holds
    proof = fg.prove(program, epsilon=2, queries=1, charge=changing)
    assert proof.holds is None
    assert "calls" in str(proof.reason)
    with pytest.raises(InvalidArgument, match="is not a number for the output True"):
        fg.prove(program, epsilon=2, queries=1, charge=lambda output: "two")


def test_a_coin_that_decides_the_scale() -> None:
    """The output does not tell which draws were made; who saw them as well would learn no more."""

    def program(answers: Any, noise: Any, *, epsilon: Any) -> Any:
        scale = 1 / epsilon if noise.coin(Fraction(1, 3), label="narrow") else 2 / epsilon
        return answers[0] + noise.laplace(scale, label="sum")

    assert fg.prove(program, epsilon=1, queries=1, growth=False).holds

    def narrow(answers: Any, noise: Any) -> Any:
        scale = HALF if noise.coin(Fraction(1, 3), label="narrow") else 2
        return answers[0] + noise.laplace(scale, label="sum")

    assert not fg.prove(narrow, epsilon=1, queries=1)


def test_a_rare_leak() -> None:
    def program(answers: Any, noise: Any) -> Any:
        noisy = answers[0] + noise.laplace(1, label="sum")
        return answers[0] if noise.coin(Fraction(1, 2000), label="leak") else noisy

    assert fg.prove(program, epsilon=1, queries=1).holds is False


def test_an_exponential_coin() -> None:
    """P(True) = e^−x: one direction costs what the exponent moves by; the other has no bound near x = 0."""

    def program(answers: Any, noise: Any) -> bool:
        return bool(noise.exponential_coin(answers[0] if answers[0] > 0 else 0, label="toss"))

    assert fg.prove(program, epsilon=1, queries=1, neighbours="increasing", growth=False).holds
    proof = fg.prove(program, epsilon=1, queries=1)
    assert proof.counterexample is not None
    problem = problem_of(program, epsilon=1, queries=1)
    chances = {c.name: probability_of(linear_paths(c), [Fraction(3)], ()) for c in classes_of(problem)}
    assert float(chances["True"].mid()) == pytest.approx(math.exp(-3), rel=1e-14)


def test_chances_of_a_choice() -> None:
    def program(answers: Any, noise: Any) -> int:
        return int(noise.choice([2, 0, 1, 3], label="place"))

    problem = problem_of(program, epsilon=1, queries=1)
    chances = {c.name: probability_of(linear_paths(c), [Fraction(0)], ()) for c in classes_of(problem)}
    found = {name: float(chance.mid()) for name, chance in chances.items()}
    assert found == pytest.approx({"0": 1 / 3, "2": 1 / 6, "3": 1 / 2}, rel=1e-14)


@pytest.mark.parametrize(
    ("toss", "reason"),
    [
        ("noise.coin(answers[0])", "depends on answers or noise"),
        ("noise.coin(2)", "from 0 to 1"),
        ("noise.coin(True)", "from 0 to 1"),
        ("noise.choice([])", "weights"),
        ("noise.choice([1, -1])", "weights"),
        ("noise.choice([1, answers[0]])", "weights"),
        ("noise.exponential_choice([])", "exponents"),
        ("noise.exponential_choice(['a'])", "exponents"),
        ("noise.dice(6)", "has no dice"),
        ("noise.coin(0.5, label='x') and noise.coin(0.5, label='x')", "two draws have the label"),
    ],
)
def test_what_is_refused(toss: str, reason: str) -> None:
    from freegap.symbolic.subset import remember_source

    text = f"def program(answers, noise):\n    return {toss}\n"
    file = f"<tossed {toss}>"
    remember_source(file, text)
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - our own text
    proof = fg.prove(space["program"], epsilon=1, queries=1)
    assert proof.holds is None
    assert reason in str(proof.reason)


# The exponential mechanism ----------------------------------------------------------------------


def exponential(answers: Any, noise: Any, *, epsilon: Any, factor: int = 2) -> int:
    return int(noise.exponential_choice([epsilon * answer / factor for answer in answers], label="place"))


def test_the_exponential_mechanism() -> None:
    assert fg.prove(exponential, epsilon=HALF, queries=3, growth=False).holds
    half: dict[str, Any] = {"epsilon": 1, "queries": 3, "parameters": {"factor": 1}, "growth": False}
    assert not fg.prove(exponential, **half)
    assert fg.prove(exponential, neighbours="monotonic", **half).holds


def test_any_two_exponents_count() -> None:
    """The first one is public; the two others move against each other, by more than either moves alone."""

    def program(answers: Any, noise: Any) -> int:
        return int(noise.exponential_choice([0, answers[0] / 2, answers[1] / 2], label="place"))

    assert fg.prove(program, epsilon=1, queries=2, growth=False).holds
    assert not fg.prove(program, epsilon=Fraction(3, 4), queries=2)


def test_noisy_max_with_gumbel_noise_is_the_exponential_mechanism() -> None:
    def place(answers: Any, noise: Any) -> int:
        noisy = [answer + noise.gumbel(2, label=i) for i, answer in enumerate(answers)]
        return noisy.index(max(noisy))

    def last(answers: Any, noise: Any) -> int:
        noisy = [answer + noise.gumbel(2, label=i) for i, answer in enumerate(answers)]
        return noisy.index(min(noisy))

    def two_scales(answers: Any, noise: Any) -> int:
        noisy = [answer + noise.gumbel(2 + i, label=i) for i, answer in enumerate(answers)]
        return noisy.index(max(noisy))

    def doubled(answers: Any, noise: Any) -> int:
        noisy = [2 * answer + noise.gumbel(2, label=i) for i, answer in enumerate(answers)]
        return noisy.index(max(noisy))

    assert fg.prove(place, epsilon=1, queries=3, growth=False).holds
    for program in (last, two_scales, doubled):  # the least is no softmax, and 2·answer moves by 2
        assert not fg.prove(program, epsilon=1, queries=3)
    assert fg.prove(doubled, epsilon=2, queries=3, growth=False).holds


def test_the_bound_of_the_exponential_mechanism_by_its_law() -> None:
    """e^(q/2)/Σ at the answers where the ratio is largest comes near e^ε and not above it."""
    low, high = [-30.0, 0.0, 0.0], [-29.0, -1.0, -1.0]
    chances = [math.exp(q[0] / 2) / sum(math.exp(v / 2) for v in q) for q in (low, high)]
    assert 0.999 * math.e < chances[1] / chances[0] < math.e


# The same programs under an audit ---------------------------------------------------------------


def test_the_same_program_can_be_audited() -> None:
    options: dict[str, Any] = {
        "parameters": {"honesty": 0.75},
        "inputs": [([0.0], [1.0])],
        "samples": 20_000,
        "search_samples": 5_000,
        "seed": 1,
        "jobs": 1,
    }
    assert fg.audit(response, epsilon=0.5, **options).violated
    assert not fg.audit(response, epsilon=1.11, **options).violated


def test_draws_that_nobody_sees() -> None:
    """An output is as private as its law, whatever is drawn besides: a constant tells nothing."""

    def program(answers: Any, noise: Any) -> int:
        if answers[0] > 0:
            noise.laplace(1, label="x")
        return 0

    def tells(answers: Any, noise: Any) -> int:
        return 1 if answers[0] > 0 and noise.laplace(1, label="x") > 0 else 0

    assert fg.prove(program, epsilon=Fraction(1, 10**6), queries=1, growth=False).holds
    assert not fg.prove(program, lambda *_: {}, epsilon=1, queries=1, counterexample=False)
    assert fg.prove(tells, epsilon=5, queries=1).holds is False


def test_uniform_noise_must_stay() -> None:
    """Its density ends, so that a shift has no price: the sum below is not private at any ε."""

    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.uniform(10, label="sum")

    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        return {"sum": noise["sum"] + answers[0] - neighbour[0]}

    def constant(answers: Any, noise: Any) -> Any:
        return answers[0] - answers[0] + noise.uniform(10, label="sum") - noise.uniform(10, label="other")

    proof = fg.prove(program, alignment, epsilon=5, queries=1)
    assert proof.counterexample is not None
    assert proof.counterexample.ratio is None
    moved = fg.prove(
        constant,
        lambda answers, neighbour, output, noise: {"sum": noise["sum"] + 1, "other": noise["other"] + 1},
        epsilon=5,
        queries=1,
    )
    assert moved.holds is None
    assert "uniform noise is not log-Lipschitz" in str(moved.reason)
