"""Ilvento 2020, algorithm 1 in base 2: exact probabilities of the noise and of the mechanism, and its
privacy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance import base2_law

from freegap import InvalidArgument, SeededBits, base2
from freegap.base2.draws import BitDraws
from freegap.base2.samplers import laplace_at
from freegap.base2.unclamped import outcomes, piecewise
from freegap.base2.weights import Weights
from tests.base2.paths import Path
from tests.mechanisms.test_top_k import NoBits

ETA = base2.share_epsilon(2, k=2)


class TooLong(Exception):
    """More draws than are looked at."""


class ShortPath(Path):
    """A path that gives up after so many pieces of noise beyond the first of each."""

    most = 2

    def __init__(self, script: tuple[int, ...]) -> None:
        super().__init__(script)
        self.pieces = 0

    def index(self, cumulative: Callable[[int], int], count: int) -> int:
        if count < 2 * REACH + 1:  # a further piece
            self.pieces += 1
            if self.pieces > self.most:
                raise TooLong
        return super().index(cumulative, count)


REACH = 4


def decided(program: Callable[[Path], Hashable]) -> tuple[dict[Hashable, Fraction], Fraction]:
    """The exact probability of each output that needs few pieces, and that of all others together."""
    law: dict[Hashable, Fraction] = defaultdict(Fraction)
    rest = Fraction(0)
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        path = ShortPath(scripts.pop())
        try:
            law[program(path)] += path.probability
        except TooLong:
            rest += path.probability
        scripts += path.others
    assert sum(law.values()) + rest == 1
    return dict(law), rest


@pytest.mark.parametrize("base", [Fraction(1, 2), Fraction(3, 4), Fraction(5, 16)])
def test_the_noise_is_discrete_laplace_without_an_end(base: Fraction) -> None:
    weights = Weights(base, REACH)
    law, rest = decided(lambda path: laplace_at(weights, path))
    far = REACH * (1 + ShortPath.most)
    assert law == {k: base ** abs(k) * (1 - base) / (1 + base) for k in range(1 - far, far)}
    assert rest == 2 * base**far / (1 + base)


@pytest.mark.parametrize(("answers", "k"), [((0,), 1), ((1,), 1), ((-2,), 1), ((1, -1), 1), ((0, 1), 2)])
def test_the_replies_have_the_law_of_algorithm_1(answers: tuple[int, ...], k: int) -> None:
    bases = (Fraction(1, 4), Fraction(1, 8))
    weights = (Weights(bases[0], REACH), Weights(bases[1], REACH))

    def program(path: Path) -> tuple[bool, ...]:
        told = outcomes(answers, k=k, weights=weights, draws=path)
        return tuple(reply is not None for reply in told)

    exact = base2_law.unclamped_sparse_vector(answers, k=k, bases=bases, n=40)
    law, rest = decided(program)
    assert rest < Fraction(1, 10**4)
    assert law.keys() == exact.keys()
    for replies, p in exact.items():
        assert law[replies] <= p + Fraction(1, 10**20)
        assert p <= law[replies] + rest


def test_one_question_by_hand() -> None:
    """B = 1/2 for both, q = T: ⊤ where ν ≥ ρ, that is half of the time and where they are equal."""
    half = Fraction(1, 2)
    equal = sum((half ** (2 * abs(r)) for r in range(-60, 61)), Fraction(0)) / 9  # P(k) = 2^−|k|/3
    law = base2_law.unclamped_sparse_vector((0,), k=1, bases=(half, half), n=60)
    assert abs(law[True,] - (half + equal / 2)) < Fraction(1, 10**15)


def test_no_more_is_lost_than_is_charged() -> None:
    """Exactly, on all neighbours of three answers: η₁ + η₂·(number of ⊤)/k, and hardly less."""
    one, two = base2.Eta(3, 2, 1), base2.Eta(3, 2, 4)  # (3/4) for both noises, with k = 2
    bases = (one.base, two.divided(4).base)
    laws = {
        answers: base2_law.unclamped_sparse_vector(answers, k=2, bases=bases, n=120)
        for answers in product(range(-1, 2), repeat=3)
    }
    worst = Fraction(0)
    for answers, law in laws.items():
        for other, near in laws.items():
            if max(abs(a - b) for a, b in zip(answers, other, strict=True)) <= 1:
                for replies, p in law.items():
                    cost = one.ratio * Fraction(two.divided(2).ratio) ** sum(replies)
                    worst = max(worst, p / (cost * near[replies]))
    assert Fraction(9, 16) < worst <= 1


def test_algorithm_2_tends_to_it_as_its_width_grows() -> None:
    base = Fraction(1, 2)
    exact = base2_law.unclamped_sparse_vector((1, -1), k=1, bases=(base, base), n=60)
    apart = []
    for width in (1, 3, 6, 12):
        clamped = base2_law.sparse_vector((1, -1), k=1, w=width, gaps=(), bases=(base, base))
        flat = {tuple(reply is not None for reply in replies): p for replies, p in clamped.items()}
        apart.append(max(abs(flat[replies] - p) for replies, p in exact.items()))
    assert all(b < a / 2 for a, b in pairwise(apart))
    assert 0 < apart[-1] < Fraction(1, 1000)


@pytest.mark.parametrize("scale_digits", [2, 12, 60])
def test_pieces_are_short(scale_digits: int) -> None:
    base = 1 - Fraction(1, 1 << scale_digits)
    weights = piecewise(base)
    assert weights.bits <= 4096
    assert weights.reach >= 1


def test_noise_of_many_pieces_is_as_wide_as_it_should_be() -> None:
    """P(|k| ≥ t) = 2·B^t/(1 + B): the median of |k| is near scale·ln 2."""
    weights, draws = piecewise(1 - Fraction(1, 1 << 12)), BitDraws(SeededBits(1))
    assert weights.reach < 400
    beyond = sum(abs(laplace_at(weights, draws)) >= 2839 for _ in range(400))
    assert 120 < beyond < 280  # 200 are expected, 8 standard deviations


def test_thresholds_of_each_question_and_huge_answers() -> None:
    release = base2.unclamped_sparse_vector(
        {"a": 3, "b": 900, "c": 5, "d": 10**30},
        {"d": 10**29, "a": 500, "b": 500, "c": 500},
        k=2,
        eta=ETA,
        bits=SeededBits(5),
    )
    assert release.labels == ("b", "d")
    assert [int(t) for t in release.thresholds] == [500, 10**29]
    assert release.spent == release.asked.spent <= 2
    assert not release.private
    assert release.to_dict()["mechanism"] == "base2.unclamped_sparse_vector"
    partial = base2.unclamped_sparse_vector([0, 900, 0], 500, k=2, eta=ETA, bits=SeededBits(5))
    assert partial.answered == 3
    assert partial.spent == ETA[0].epsilon + ETA[1].epsilon / 2
    assert base2.unclamped_sparse_vector([], 0, k=1, eta=ETA).spent == 0


def test_answers_are_rounded_down_to_the_resolution() -> None:
    eta = base2.share_epsilon(2, k=1, resolution="1/4")
    options: dict[str, Any] = {"k": 1, "eta": eta, "resolution": "1/4"}
    for seed in range(20):
        exact = base2.unclamped_sparse_vector([0.25, 1.5], 1, bits=SeededBits(seed), **options)
        above = base2.unclamped_sparse_vector([0.49, 1.74], 1, bits=SeededBits(seed), **options)
        assert exact == above


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k = 0: must be at least 1"),
        ({"eta": ETA[0]}, "must be a pair"),
        ({"threshold": "1/2"}, "threshold = '1/2': must be a multiple of the resolution 1"),
        ({"threshold": [1, 2, 3]}, "must be one for all or one for each of the 2 answers"),
        ({"sensitivity": "1/2"}, "sensitivity = '1/2': must be a multiple of the resolution 1"),
        ({"answers": [1.0, float("nan")]}, "answers: must not contain NaN"),
        ({"answers": [[1], [2]]}, "answers: must all be numbers"),
        ({"answers": np.ones((2, 2))}, "answers: must have one dimension"),
    ],
)
def test_bad_input_is_refused_before_anything_is_drawn(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "answers": [1, 2],
        "threshold": 0,
        "k": 2,
        "eta": ETA,
        "bits": NoBits(),
        **options,
    }
    with pytest.raises(InvalidArgument) as caught:
        base2.unclamped_sparse_vector(given.pop("answers"), given.pop("threshold"), **given)
    assert message in str(caught.value)


def test_thresholds_are_in_the_units_of_the_answers() -> None:
    eta = base2.share_epsilon(40, k=2, resolution="1/4")
    release = base2.unclamped_sparse_vector(
        [90, -90, 90], ["1/2", 3, "5/4"], k=2, eta=eta, resolution="1/4", bits=SeededBits(5)
    )
    assert (release.indices, release.thresholds) == ((0, 2), (Fraction(1, 2), Fraction(5, 4)))
