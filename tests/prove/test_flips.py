"""Coins of probability e^(−x): permute-and-flip is proved by its probabilities, its broken twins are not."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.prover.check import problem_of
from freegap.prover.classes import classes_of
from freegap.prover.flips import prove_flips

from .test_loops import written

HALF = Fraction(1, 2)


def permute_and_flip(answers: Any, noise: Any, *, epsilon: Any, factor: int = 2) -> Any:
    best = max(answers)
    left = list(range(len(answers)))
    for turn in range(len(answers)):
        item = left.pop(noise.choice([1] * len(left), label=("item", turn)))
        if noise.exponential_coin(epsilon * (best - answers[item]) / factor, label=("flip", turn)):
            return item
    return None


def in_order(answers: Any, noise: Any, *, epsilon: Any) -> Any:
    """Not permuted: the last one is put out only where all others were not."""
    best = max(answers)
    for turn in range(len(answers)):
        if noise.exponential_coin(epsilon * (best - answers[turn]) / 2, label=turn):
            return turn
    return None


def against_the_first(answers: Any, noise: Any, *, epsilon: Any) -> Any:
    """The first one always flips True, and twice as much is said of the others."""
    left = list(range(len(answers)))
    for turn in range(len(answers)):
        item = left.pop(noise.choice([1] * len(left), label=("item", turn)))
        if noise.exponential_coin(epsilon * (answers[0] - answers[item]), label=("flip", turn)):
            return item
    return None


def jumps(answers: Any, noise: Any) -> bool:
    """Flat on both sides of a tie, and another coin on each."""
    if answers[0] > answers[1]:
        return bool(noise.coin(1, label="half"))
    return bool(
        noise.exponential_coin(answers[1] - answers[0], label="toss") and noise.coin(HALF, label="half")
    )


def found(program: Any, queries: int, **given: Any) -> Any:
    problem = problem_of(program, queries=queries, **{"epsilon": 1, **given})
    return prove_flips(problem, classes_of(problem))


@pytest.mark.parametrize("queries", [2, 3])
def test_permute_and_flip(queries: int) -> None:
    proof = fg.prove(permute_and_flip, epsilon=HALF, queries=queries, growth=False)
    assert proof.holds
    assert "continuous" in proof.conditions[-1].how


def test_monotonic_answers_need_half_of_it() -> None:
    half: dict[str, Any] = {"parameters": {"factor": 1}}
    assert found(permute_and_flip, 2, neighbours="monotonic", **half)
    assert found(permute_and_flip, 2, neighbours="one", **half)
    assert found(permute_and_flip, 2, **half) is None
    assert found(permute_and_flip, 2, sensitivity=2) is None


@pytest.mark.parametrize(("program", "epsilon"), [(in_order, 1), (against_the_first, 1), (jumps, 3)])
def test_broken_twins(program: Any, epsilon: int) -> None:
    assert found(program, 2, epsilon=epsilon) is None


def test_broken_twins_have_counterexamples() -> None:
    for program, parameters in ((in_order, {}), (permute_and_flip, {"factor": 1})):
        proof = fg.prove(program, epsilon=1, queries=2, parameters=parameters)
        assert proof.holds is False
        assert proof.counterexample is not None


def test_what_is_another_program() -> None:
    def noisy(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.laplace(1, label="sum")

    def compared(answers: Any, noise: Any) -> bool:
        return bool(noise.exponential(1, label="a") > noise.exponential(1, label="b") + answers[0])

    def twice(answers: Any, noise: Any) -> int:
        drawn = noise.exponential(1, label="a")
        return 2 if drawn > answers[0] + answers[1] else 1 if drawn > answers[0] else 0

    def constant(answers: Any, noise: Any) -> bool:
        return bool(noise.exponential_coin(answers[0] + 1, label="toss"))

    def square(answers: Any, noise: Any) -> bool:
        return bool(noise.exponential_coin(answers[0] * answers[0], label="toss"))

    for program in (noisy, compared, twice, constant, square):
        assert found(program, 2, epsilon=9) is None, program
    assert found(permute_and_flip, 2, resolution=1) is None


# Random programs ----------------------------------------------------------------------------------


class _Branching:
    """Coins that are told how they fall, with the probability of it; what is told ends, they fall on True."""

    def __init__(self, falls: list[bool]) -> None:
        self.falls, self.used, self.chance = falls, 0, 1.0

    def _toss(self, chance: float) -> bool:
        if self.used == len(self.falls):
            self.falls.append(True)
        fall = self.falls[self.used]
        self.used += 1
        self.chance *= chance if fall else 1 - chance
        return fall

    def coin(self, probability: Any, label: Any = None) -> bool:
        return self._toss(float(probability))

    def exponential_coin(self, exponent: Any, label: Any = None) -> bool:
        return self._toss(min(1.0, math.exp(-exponent)))


def distribution(program: Any, answers: tuple[float, ...]) -> dict[Any, float]:
    """The probability of each output, by all ways in which the coins can fall."""
    total: dict[Any, float] = {}
    falls: list[bool] = []
    while True:
        noise = _Branching(falls)
        output = program(list(answers), noise)
        total[output] = total.get(output, 0.0) + noise.chance
        falls = falls[: noise.used]
        while falls and not falls[-1]:
            falls.pop()
        if not falls:
            return total
        falls[-1] = False


def tosses(seed: int) -> str:
    """A program of a few coins, of which some jump where answers are equal."""
    chosen = random.Random(seed)
    sums = [
        "x - y",
        "y - x",
        "(x - y) / 2",
        "max(x, y) - x",
        "max(x, y) - y",
        "(max(x, y) - y) / 2",
        "x + y",
    ]

    def coin(place: int) -> str:
        fair = f"noise.coin(Fraction(1, {chosen.choice([2, 3])}), label={place})"
        return chosen.choice([fair, *[f"noise.exponential_coin({chosen.choice(sums)}, label={place})"] * 3])

    guard = [
        "    if noise.coin(Fraction(1, 2), label=9):",
        "        return noise.coin(Fraction(1, 3), label=8)",
    ]
    lines = guard * (chosen.random() < 0.7)  # no output is too rare
    lines += [f"    if {chosen.choice(['x > y', 'x >= y', 'x == y', coin(0), coin(0), coin(0)])}:"]
    lines += [f"        return {chosen.choice(['0', '1', coin(1), coin(1)])}"]
    lines += [f"    return {chosen.choice(['1', '2', coin(2), coin(2), f'{coin(3)} and {coin(4)}'])}"]
    head = "from fractions import Fraction\ndef program(answers, noise):\n    x, y = answers\n"
    return head + "\n".join(lines) + "\n"


def wrong_claims(count: int, first: int = 0) -> tuple[list[str], int]:
    """What was proved and is not so, on a grid of answers; and how much was proved."""
    wrong, proved = [], 0
    near = [-1.0, -0.5, 0.0, 0.5, 1.0]
    places = [(x, y) for x in (-2.0, -0.25, 0.0, 0.001, 0.25, 2.0) for y in (-1.0, 0.0, 0.001, 1.0)]
    for seed in range(first, first + count):
        text = tosses(seed)
        program = written(text)
        epsilon = [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(3)][seed % 4]
        if found(program, 2, epsilon=epsilon) is None:
            continue
        proved += 1
        for x, y in places:
            here = distribution(program, (x, y))
            for d in near:
                for e in near:
                    there = distribution(program, (x + d, y + e))
                    for output, chance in here.items():
                        if chance > math.exp(epsilon) * there.get(output, 0.0) * (1 + 1e-9) + 1e-12:
                            wrong.append(f"{output} at {(x, y)} and {(x + d, y + e)}\n{text}")
    return wrong, proved


def test_no_false_proof() -> None:
    wrong, proved = wrong_claims(40)
    assert not wrong, wrong[0]
    assert proved >= 4


@pytest.mark.long
def test_no_false_proof_among_many() -> None:
    wrong, _ = wrong_claims(3000, 40)
    assert not wrong, wrong[0]


@pytest.mark.parametrize("fault", ["continuous", "rises"])
def test_a_question_that_is_not_asked_would_be_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from freegap.prover import flips

    asked = flips._FlipTable._never
    monkeypatch.setattr(
        flips._FlipTable,
        "_never",
        lambda self, meaning, given: fault in meaning or asked(self, meaning, given),
    )
    wrong, _ = wrong_claims(40)
    assert wrong


def below_zero(answers: Any, noise: Any) -> bool:
    return bool(noise.exponential_coin(-answers[0], label="toss"))


def test_one_direction_of_the_inequality() -> None:
    """P(False) = 1 − e^q falls to 0 as the answer rises to 0: P(q) ≤ e·P(q') is true for smaller q' alone."""
    assert found(below_zero, 1, epsilon=1, neighbours="decreasing") is not None
    assert found(below_zero, 1, epsilon=1, neighbours="increasing") is None
    proof = fg.prove(below_zero, epsilon=1, queries=1, neighbours="increasing", growth=False)
    assert proof.holds is not True
