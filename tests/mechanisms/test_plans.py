"""How budgets are divided, number by number: shares, scales, shifts and margins."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import pytest
from flint import arb, fmpq

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.laws import GEOMETRIC, LAWS
from freegap.mechanisms.threshold_plan import ThresholdPlan, mean_difference, optimal_share
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.balls import at_precision

NOISES = ["laplace", "exponential", "geometric"]
FINE = Fraction(1, 2**20)


def plan(**changed: Any) -> Any:
    usual: dict[str, Any] = {
        "k": 3, "epsilon": Fraction(7, 5), "sensitivity": 2, "monotonic": False, "noise": "laplace",
        "resolution": 1, "share": Fraction(1, 3), "branches": 2, "margin": Fraction(3, 2),
    }  # fmt: skip
    return ThresholdPlan.read("sparse_vector", **(usual | changed))


def exact_geometric(scale: Fraction) -> tuple[Any, Any]:
    """Mean and standard deviation."""
    q = (-arb(fmpq(scale.denominator, scale.numerator))).exp()
    return q / (1 - q), q.sqrt() / (1 - q)


def means_apart(scale: Fraction, other: Fraction) -> float:
    return float(exact_geometric(scale)[0] - exact_geometric(other)[0])


def p_value_of(gap: Fraction) -> float:
    return float(2 / (1 + arb(fmpq(gap.numerator, gap.denominator)).exp()))


@pytest.mark.parametrize(("noise", "monotonic"), list(product(NOISES, [True, False])))
def test_the_budget_of_a_threshold_is_divided_exactly(noise: str, monotonic: bool) -> None:
    made = plan(noise=noise, monotonic=monotonic)
    assert made.threshold_budget == Fraction(7, 15)
    assert made.threshold_scale == 2 / Fraction(7, 15)
    each = (Fraction(7, 5) - Fraction(7, 15)) / 3
    assert made.answer_budget == each
    assert made.threshold_budget + 3 * made.answer_budget == made.epsilon == Fraction(7, 5)
    factor = 1 if monotonic else 2
    assert [branch.budget for branch in made.branches] == [each / 4, each / 2, each]
    for branch in made.branches:
        assert branch.scale == factor * 2 / branch.budget  # what each branch spends pays for its noise
    assert made.law is LAWS[noise]


@pytest.mark.parametrize("noise", NOISES)
def test_shifts_are_the_difference_of_the_means(noise: str) -> None:
    for branch in plan(noise=noise).branches:
        bar = plan(noise=noise).threshold_scale
        if noise == "laplace":
            assert branch.shift == 0
        elif noise == "exponential":
            assert branch.shift == branch.scale - bar
        else:
            mean = at_precision(200, partial(means_apart, branch.scale, bar))
            assert branch.shift.denominator == 1
            assert abs(float(branch.shift) - mean) <= 0.5 + 1e-9
    assert mean_difference(GEOMETRIC, Fraction(10), Fraction(1, 3)) == 9  # 9.508… − 0.052…


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("margin", [0, Fraction(1, 3), 2, 5])
def test_margins_are_standard_deviations_rounded_up(noise: str, margin: Fraction) -> None:
    *cheap, base = plan(noise=noise, margin=margin).branches
    assert base.margin == 0
    for branch in cheap:
        if noise == "exponential":
            assert branch.margin == margin * branch.scale
            continue
        step = FINE if noise == "laplace" else Fraction(1)
        assert (branch.margin / step).denominator == 1
        if noise == "laplace":
            exact = 2 * (margin * branch.scale) ** 2
            assert branch.margin**2 >= exact
            assert branch.margin == 0 or (branch.margin - step) ** 2 < exact
        else:
            deviation = at_precision(300, partial(exact_geometric, branch.scale))
            wanted = float(deviation[1]) * float(margin)
            assert float(branch.margin) - 1 < wanted <= float(branch.margin)


def test_how_many_branches_and_which_margins() -> None:
    assert len(plan(branches=0).branches) == 1
    assert len(plan(branches=64).branches) == 65
    with pytest.raises(InvalidArgument, match="branches = 65: must be at most 64"):
        plan(branches=65)
    with pytest.raises(InvalidArgument, match="margin = -1: must be at least 0"):
        plan(margin=-1)
    with pytest.raises(InvalidArgument, match="must be a whole number with geometric noise"):
        plan(noise="geometric", sensitivity=Fraction(3, 2), resolution=Fraction(1, 2))
    assert plan(noise="geometric", resolution=Fraction(1, 2)).resolution == 1
    assert plan(noise="laplace", resolution=Fraction(1, 2)).resolution == Fraction(1, 2)


@pytest.mark.parametrize("k", [1, 2, 7, 1000, 10**9])
@pytest.mark.parametrize("halvings", [0, 1, 3])
@pytest.mark.parametrize("monotonic", [True, False])
def test_the_optimal_share(k: int, halvings: int, monotonic: bool) -> None:
    found = optimal_share(k, monotonic=monotonic, halvings=halvings)
    assert (found / FINE).denominator == 1
    c = 1 if monotonic else 2
    best = 1 / (1 + (c * k * 2**halvings) ** (2 / 3))
    assert abs(float(found) - best) <= 2.0**-21 * (1 + 1e-9) or found == FINE
    assert found > 0
    # The variance of a gap, (Δ/θε)² + (cΔk2^j/((1−θ)ε))² but for a factor, is least there.

    def spread(theta: float) -> float:
        return 1 / theta**2 + float(c * k * 2**halvings / (1 - theta)) ** 2

    if best > 1e-3:
        assert spread(best) < min(spread(best * 0.99), spread(best * 1.01))


def test_which_share_is_taken() -> None:
    middle, top = optimal_share(3), optimal_share(3, halvings=2)
    assert middle != top
    assert plan(share=None).share == plan(share="middle").share == middle
    assert plan(share="top").share == top
    assert plan(share="top", monotonic=True).share == optimal_share(3, monotonic=True, halvings=2)
    assert plan(share=None, monotonic=True).share == optimal_share(3, monotonic=True)
    for share in (0, 1, -1, "other"):
        with pytest.raises(InvalidArgument, match="share"):
            plan(share=share)


@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_the_scale_of_top_k(noise: str, monotonic: bool) -> None:
    made = TopKPlan.read(
        "noisy_top_k",
        k=4,
        epsilon=Fraction(1, 3),
        sensitivity=5,
        monotonic=monotonic,
        noise=noise,
        resolution=1,
    )
    assert made.scale == (1 if monotonic else 2) * 5 * 4 * 3
    assert made.law is LAWS[noise]


@pytest.mark.parametrize("monotonic", [True, False])
def test_the_rate_of_the_exponential_mechanism(monotonic: bool) -> None:
    """exp(ε·u/(cΔ)): the exponents that a sampler is given, and what a gap of the utility is worth."""
    given: list[Any] = []

    def sampler(exponents: Any) -> int:
        given.extend(exponents)
        return 1

    choice = fg.exponential_mechanism(
        [3, -2, 8], epsilon=Fraction(3, 5), sensitivity=4, monotonic=monotonic, sampler=sampler,
        bits=fg.SeededBits(1),
    )  # fmt: skip
    rate = Fraction(3, 5) / (4 if monotonic else 8)
    assert given == [3 * rate, -2 * rate, 8 * rate]
    assert choice.label == 1
    assert choice.gap is not None
    assert choice.utility_gap is not None
    assert choice.gap == choice.utility_gap * rate > 0
    assert choice.p_value == pytest.approx(2 / (1 + math.exp(choice.gap)), rel=1e-12)


def test_p_values_of_every_gap() -> None:
    choice = fg.exponential_mechanism([3, 8], epsilon=1, bits=fg.SeededBits(1))
    for gap in (Fraction(0), Fraction(1, 2), Fraction(699), Fraction(700), Fraction(701), Fraction(10**6)):
        changed = type(choice)(**{**vars(choice), "gap": gap})
        exact = at_precision(200, partial(p_value_of, gap))
        assert changed.p_value == pytest.approx(exact, rel=1e-12, abs=0)
    assert type(choice)(**{**vars(choice), "gap": None}).p_value is None


@pytest.mark.parametrize(
    "release",
    [
        fg.noisy_top_k([9, 5, 1], 2, epsilon=1, bits=fg.SeededBits(1)),
        fg.noisy_max([9, 5, 1], epsilon=1, noise="geometric", gap=False, bits=fg.SeededBits(1)),
        fg.adaptive_sparse_vector([9, 5, 1], 4, k=2, epsilon=1, noise="laplace", bits=fg.SeededBits(1)),
        fg.hybrid_top_k([9, 5, 1], 4, k=2, epsilon=1, bits=fg.SeededBits(1)),
        fg.measure([9], epsilon=1, bits=fg.SeededBits(1)),
    ],
    ids=lambda release: release.plan.mechanism,
)
def test_a_release_carries_its_plan_wherever_it_goes(release: fg.Release) -> None:
    assert (release.asked, release.parameters) == (release.plan.asked, dict(release.plan.parameters))
    assert pickle.loads(pickle.dumps(release)) == copy.deepcopy(release) == release  # noqa: S301


def test_what_is_remembered_of_one_type_is_not_taken_for_another() -> None:
    """1 and True are equal, and mean different things: what is refused stays so, whatever was read before."""
    given: dict[str, Any] = {"k": 1, "epsilon": 1, "monotonic": True}
    for plan in (TopKPlan, ThresholdPlan):
        plan.read("a mechanism", **given)
        for other in ({"monotonic": 1}, {"k": True}, {"epsilon": True}, {"gap": 1}):
            with pytest.raises(fg.InvalidArgument):
                plan.read("a mechanism", **given | other)
        plan.read("a mechanism", **given | {"monotonic": False})
        with pytest.raises(fg.InvalidArgument):
            plan.read("a mechanism", **given | {"monotonic": 0})
