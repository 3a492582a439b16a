"""Exact counterexamples where outputs are rounded: the event is about what is seen."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from freegap.laws.labelled import LabelledNoise
from freegap.prover.check import problem_of
from freegap.prover.classes import classes_of
from freegap.prover.kinds import kinds_of

HALF = Fraction(1, 2)


def rounded(x: Any) -> Any:
    return round(x)


def to_tenths(x: Any) -> Any:
    return round(x, 1)


def floored(x: Any) -> Any:
    return 3 - math.floor(x)


def up(x: Any) -> Any:
    return (math.ceil(x) + 1) / 2


def cut(x: Any) -> Any:
    return 2 * int(x) + 1


def by_threes(x: Any) -> Any:
    return x // 3


def by_minus_two(x: Any) -> Any:
    return x // -2


FUNCTIONS: list[Any] = [rounded, to_tenths, floored, up, cut, by_threes, by_minus_two]


def program_of(function: Any) -> Any:
    def program(answers: Any, noise: Any) -> Any:
        return [function(answers[0] + noise.laplace(1, label="x"))]

    return program


class _At(LabelledNoise[Fraction]):
    def __init__(self, value: Fraction) -> None:
        self.value = value

    def draw(self, law: Any, scale: Any, label: Any = None, **more: Any) -> Fraction:
        return self.value


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_chance_is_that_of_what_is_seen(function: Any) -> None:
    """Against the law itself: the noise in narrow cells, and the real program in the middle of each."""
    program = program_of(function)
    (kind,) = kinds_of(
        problem_of(program, epsilon=1, queries=1), classes_of(problem_of(program, epsilon=1, queries=1))
    )
    cells = [Fraction(2 * i + 1, 40) for i in range(-240, 240)]
    mass = {h: math.exp(-abs(float(h))) * math.sinh(1 / 40) for h in cells}
    for low, high in (
        (Fraction(-1, 4), Fraction(1, 4)),
        (Fraction(1), Fraction(2)),
        (Fraction(-3), Fraction(-3)),
    ):
        for answer in (Fraction(0), HALF):
            box = ((low, high),)
            event = kind.event(box)
            seen = sum(m for h, m in mass.items() if event.contains(program([answer], _At(h))))
            chance = kind.chance([answer], box, problem_of(program, epsilon=1, queries=1).limits)
            assert float(chance.mid()) == pytest.approx(seen, abs=2 * math.exp(-6)), (event, answer)
            assert 0 < seen < 1


@pytest.mark.parametrize("function", FUNCTIONS)
def test_too_little_noise_is_refuted(function: Any) -> None:
    program = program_of(function)
    proof = fg.prove(program, epsilon=HALF, queries=1, growth=False)
    bad = proof.counterexample
    assert bad is not None, proof
    assert bad.ratio is not None
    assert math.exp(0.5) < bad.ratio <= math.e + 1e-9  # no more than the noise itself tells
    assert fg.prove(program, epsilon=1, queries=1, growth=False).holds


def test_an_answer_that_is_only_rounded() -> None:
    def program(answers: Any, noise: Any) -> Any:
        return round(answers[0])

    bad = fg.prove(program, epsilon=5, queries=1).counterexample
    assert bad is not None
    assert bad.ratio is None
    assert bad.event.contains(program([bad.answers[0]], None))
    assert not bad.event.contains(program([bad.neighbour[0]], None))


def clamped(answers: Any, noise: Any) -> Any:
    x = answers[0] + noise.laplace(1, label="x")
    return 10 if x > 10 else round(x)


def on_a_lattice(answers: Any, noise: Any) -> Any:
    return (answers[0] + noise.discrete_laplace(1, label="x")) // 2


def quotient(answers: Any, noise: Any) -> Any:
    return 1 / (answers[0] + noise.laplace(1, label="x"))


def of_two(answers: Any, noise: Any) -> Any:
    return round(answers[0] + noise.laplace(1, label="x")) + round(noise.laplace(1, label="y"))


def remainder(answers: Any, noise: Any) -> Any:
    return (answers[0] + noise.laplace(1, label="x")) % 2


def twice_rounded(answers: Any, noise: Any) -> Any:
    return round(round(answers[0] + noise.laplace(1, label="x"), 1) * 3)


@pytest.mark.parametrize("program", [clamped, on_a_lattice, quotient, of_two, remainder, twice_rounded])
def test_what_is_not_looked_at(program: Any) -> None:
    resolution = 1 if program is on_a_lattice else None
    proof = fg.prove(program, epsilon=HALF, queries=1, growth=False, resolution=resolution)
    assert proof.holds is None
    assert "a violation of privacy was not looked for: an output" in str(proof.searched)
