"""The true loss of the programs of DP-Sniper, DP-Auditorium, LightDP, ShadowDP and CheckDP, by other ways
than the formulas of the catalogue: certified by the prover from the program's own text, or summed over all
of its outputs, and tiny cases by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from freegap_evidence.catalogue import CATALOGUE
from freegap_evidence.catalogue.correct import bloom_filter

import freegap as fg

CLAIM = Fraction(7, 10)


@pytest.mark.parametrize(
    ("title", "queries", "least"),
    [
        pytest.param("laplace_parallel", 1, 1, marks=pytest.mark.long),
        ("truncated_geometric", 1, 1),
        ("laplace_parallel_each_alone", 1, 20),
        ("prefix_sum", 1, 1),
        ("prefix_sum_noise_per_total", 1, 1),
        pytest.param("prefix_sum_noise_per_total", 2, 2, marks=pytest.mark.long),
        pytest.param("sum_and_count", 1, 1, marks=pytest.mark.long),
        pytest.param("numerical_sparse_vector", 4, 1, marks=pytest.mark.long),
        pytest.param("numerical_sparse_vector_numbers_free", 4, 2, marks=pytest.mark.long),
    ],
)
def test_a_loss_that_ball_arithmetic_certifies(title: str, queries: int, least: int) -> None:
    """least: of the loss, in claimed ε. What is certain comes within 2 % of the catalogue, and not above;
    that of a sparse vector is approached as there are more answers."""
    entry = CATALOGUE[title]
    found = fg.lower_bound(
        entry.mechanism,
        epsilon=CLAIM,
        neighbours=entry.neighbours,
        queries=queries,
        parameters={"threshold": 0, "bound": 1} if "sparse" in title else None,
    )
    stated = entry.loss(float(CLAIM), queries, {})
    assert stated == pytest.approx(least * float(CLAIM))
    assert 0.98 * stated <= found.loss <= stated * (1 + 1e-9)


class _Chances:
    """Noise for programs that draw coins, places, or the signs of uniform noise: the outcomes are scripted,
    and their chance is multiplied up."""

    def __init__(self, script: tuple[int, ...]) -> None:
        self.script = iter(script)
        self.chance = 1.0

    def coin(self, probability: float) -> bool:
        outcome = next(self.script) == 0
        self.chance *= probability if outcome else 1 - probability
        return outcome

    def choice(self, weights: list[float]) -> int:
        place = next(self.script)
        self.chance *= weights[place] / sum(weights)
        return place

    def uniform(self) -> Any:
        return _Uniform(self)


class _Uniform:
    """Uniform noise of which the program asks only whether a number is above it."""

    def __init__(self, noise: _Chances) -> None:
        self.noise = noise

    def __rsub__(self, limit: float) -> int:
        return 1 if self.noise.coin(limit) else -1


def law(
    program: Callable[..., Any], answers: list[int], epsilon: float, scripts: Iterator[Any]
) -> dict[Any, float]:
    """The probability of every output."""
    found: dict[Any, float] = {}
    for script in scripts:
        noise = _Chances(script)
        output = program(answers, noise, epsilon=epsilon)
        key = tuple(output) if isinstance(output, list) else output
        found[key] = found.get(key, 0.0) + noise.chance
    assert math.fsum(found.values()) == pytest.approx(1)
    return found


def largest_ratio(one: dict[Any, float], two: dict[Any, float]) -> float:
    assert one.keys() == two.keys()
    return max(abs(math.log(one[output] / two[output])) for output in one)


@pytest.mark.parametrize("epsilon", [0.2, 0.7, 1.5])
@pytest.mark.parametrize("title", ["one_time_rappor", "one_time_rappor_bits_alone", "rappor_without_memory"])
def test_the_loss_of_bits_over_all_reports(title: str, epsilon: float) -> None:
    entry = CATALOGUE[title]
    laws = [law(entry.mechanism, [value], epsilon, product((0, 1), repeat=8)) for value in range(8)]
    losses = [largest_ratio(laws[value], laws[(value + 1) % 8]) for value in range(8)]
    assert max(losses) == pytest.approx(entry.loss(epsilon, 1, {}), rel=1e-12)


@pytest.mark.long
def test_the_loss_of_a_report_of_rappor_over_all_reports() -> None:
    entry = CATALOGUE["rappor"]
    for epsilon in (0.2, 1.5):
        laws = [law(entry.mechanism, [value], epsilon, product((0, 1), repeat=16)) for value in (0, 1)]
        assert largest_ratio(*laws) == pytest.approx(entry.loss(epsilon, 1, {}), rel=1e-12)


def test_a_report_of_rappor_by_hand() -> None:
    """At e^(ε/4) = 3 the bit that is kept for ever is right with 3/4, and so is a report of it: together with
    9/16 + 1/16 = 5/8, against 3/8. A report of (0, 0, …) scripts every coin as it is: the chance is 9/16 for
    each of eight bits."""
    entry = CATALOGUE["rappor"]
    epsilon = 4 * math.log(3)
    assert entry.loss(epsilon, 1, {}) == pytest.approx(4 * math.log(5 / 3), rel=1e-12)
    noise = _Chances(tuple(0 if bit else 1 for bit in bloom_filter([0]) for _ in range(2)))
    assert entry.mechanism([0], noise, epsilon=epsilon)[:4] == [True, True, True, True]
    noise = _Chances(tuple(coin for bit in bloom_filter([0]) for coin in (0 if bit else 1, 0)))
    assert entry.mechanism([0], noise, epsilon=epsilon) == bloom_filter([0])
    assert noise.chance == pytest.approx((9 / 16) ** 8)


def test_a_bloom_filter_by_hand() -> None:
    assert [place for place, bit in enumerate(bloom_filter([0])) if bit] == [0, 4]
    assert [place for place, bit in enumerate(bloom_filter([1])) if bit] == [1, 7]
    assert [place for place, bit in enumerate(bloom_filter([2])) if bit] == [2]  # 3·2 + 4 = 10


@pytest.mark.parametrize("epsilon", [0.2, 0.7, 1.5])
def test_the_loss_of_renormalised_noise_over_all_outputs(epsilon: float) -> None:
    entry = CATALOGUE["truncated_geometric_renormalised"]
    laws = [law(entry.mechanism, [count], epsilon, ((place,) for place in range(6))) for count in range(6)]
    losses = [largest_ratio(laws[count], laws[count + 1]) for count in range(5)]
    assert max(losses) == pytest.approx(entry.loss(epsilon, 1, {}), rel=1e-12)


def test_renormalised_noise_by_hand() -> None:
    """At e^ε = 2: the weights of a count of 0 are 1, 1/2, …, 1/32, of 1 they are 1/2, 1, 1/2, …, 1/16. So 0
    comes out with 32/63 and (1/2)·(16/39): the ratio is 2·39·32/(63·16) = 52/21."""
    loss = CATALOGUE["truncated_geometric_renormalised"].loss(math.log(2), 1, {})
    assert math.exp(loss) == pytest.approx(52 / 21, rel=1e-12)


def test_a_scale_that_tells_the_count_has_no_loss_that_is_largest() -> None:
    """One answer or two, of size 1: the mean is 1, and beyond it the densities fall at different rates."""

    def beyond(answers: list[int], line: float, epsilon: float = 0.7) -> float:
        drawn = []

        class Noise:
            def laplace(self, scale: float) -> float:
                drawn.append(scale)
                return 0.0

        centre = CATALOGUE["mean_exact_count"].mechanism(answers, Noise(), epsilon=epsilon)
        return 0.5 * math.exp(-(line - centre) / drawn[0])

    losses = [math.log(beyond([1, 0], line) / beyond([1, 1], line)) for line in (2, 11, 101)]
    assert losses == pytest.approx([0.7, 7, 70])
    assert CATALOGUE["mean_exact_count"].true_epsilon(0.7) is None
