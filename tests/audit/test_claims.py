"""Claims of (ε, δ) and of ρ: what is wrong is refuted, and what is right at the boundary is not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special

import freegap as fg
from freegap.auditor.claims import ConcentratedClaim, CurveClaim, GaussianClaim, RenyiClaim
from tests.audit.test_validity import LEVELS, most

ONE_PAIR: dict[str, Any] = {"inputs": [([0], [1])], "seed": 1, "jobs": 1}


def delta_of(epsilon: float, sigma: float) -> float:
    """The δ of Gaussian noise (Balle and Wang 2018, theorem 8)."""
    mu = 1 / sigma
    inside, outside = special.ndtr(mu / 2 - epsilon / mu), special.ndtr(-mu / 2 - epsilon / mu)
    return float(inside - math.exp(epsilon) * outside)


def sigma_for(epsilon: float, delta: float) -> float:
    return float(optimize.brentq(lambda sigma: delta_of(epsilon, sigma) - delta, 0.05, 200))


def gaussian(sigma: float) -> Any:
    def noisy(answers: list[float], rng: np.random.Generator, size: int) -> Any:
        return np.floor(1024 * (answers[0] + rng.normal(0, sigma, size))) / 1024

    return noisy


def threshold_histogram(cut: int) -> Any:
    """A count of people of whom nobody knew, with geometric noise (ε = 1), released from a line on."""

    def noisy(answers: list[float], rng: np.random.Generator, size: int) -> Any:
        p = 1 - math.exp(-1)
        found = answers[0] + rng.geometric(p, size) - rng.geometric(p, size)
        return np.ma.array(found, mask=(found < cut) | (answers[0] == 0))

    return noisy


def tail(cut: int) -> float:
    """P(1 + two-sided geometric noise ≥ cut)."""
    return math.exp(-(cut - 1)) / (1 + math.exp(-1))


WRONG = [(e, d) for e in (0.3, 1.0, 3.0) for d in (0.1, 0.01, 0.001, 1e-4, 1e-5)]


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (3.0, 0.1)])
def test_too_little_gaussian_noise_is_refuted_and_enough_is_not(epsilon: float, delta: float) -> None:
    settings = {**ONE_PAIR, "samples": 100_000, "search_samples": 20_000}
    sigma = sigma_for(epsilon, delta)
    wrong = fg.audit(gaussian(0.6 * sigma), epsilon=epsilon, delta=delta, **settings)
    assert wrong.violated
    assert wrong.delta_lower_bound is not None
    assert delta < wrong.delta_lower_bound <= delta_of(epsilon, 0.6 * sigma)
    assert "δ ≥" in str(wrong)
    right = fg.audit(gaussian(sigma), epsilon=epsilon, delta=delta, **settings)
    assert not right.violated
    assert 0.7 * epsilon < right.lower_bound <= epsilon  # 0.25 before the search knew of δ


@pytest.mark.long
@pytest.mark.parametrize(("epsilon", "delta"), WRONG)
def test_fifteen_wrong_claims_of_gaussian_noise_are_refuted(epsilon: float, delta: float) -> None:
    sigma = sigma_for(epsilon, delta)
    wrong = fg.audit(gaussian(0.6 * sigma), epsilon=epsilon, delta=delta, **ONE_PAIR)
    right = fg.audit(gaussian(sigma), epsilon=epsilon, delta=delta, **ONE_PAIR)
    print(epsilon, delta, wrong.title, right.title)
    assert wrong.violated
    assert not right.violated


def test_a_threshold_histogram_with_twice_its_delta_is_refuted() -> None:
    cut = 8
    for claimed, violated in ((tail(cut) / 2, True), (1.01 * tail(cut), False)):
        report = fg.audit(threshold_histogram(cut), epsilon=1, delta=claimed, **ONE_PAIR)
        assert report.violated == violated, report


def noisy_max(answers: list[float], rng: np.random.Generator, size: int) -> Any:
    """With exponential noise, ε = 1: the law of permute-and-flip."""
    return (np.array(answers) + rng.exponential(2, (size, len(answers)))).argmax(axis=1)


def gumbel_top_two(answers: list[float], rng: np.random.Generator, size: int) -> Any:
    """With gaps, ε = 1 a place: ρ = 2/8."""
    noisy = np.array(answers) + rng.gumbel(0, 2, (size, len(answers)))
    order = np.argsort(-noisy, axis=1)[:, :3]
    ranked = np.take_along_axis(noisy, order, axis=1)
    return order[:, :2], np.floor(1024 * -np.diff(ranked, axis=1)) / 1024


def discrete_gaussian(answers: list[float], rng: np.random.Generator, size: int) -> Any:
    """σ = 2: ρ = 1/8."""
    grid = np.arange(-40, 41)
    weights = np.exp(-(grid**2) / 8)
    return answers[0] + rng.choice(grid, size, p=weights / weights.sum())


def test_permute_and_flip_is_not_concentrated_like_the_exponential_mechanism() -> None:
    settings: dict[str, Any] = {"lengths": (2,), "seed": 1, "jobs": 1, "samples": 25_000}
    report = fg.audit(noisy_max, rho="1/8", search_samples=1000, patience=1, **settings)
    assert report.violated
    assert report.runs <= 100_000
    assert report.counterexample is not None
    again = report.counterexample.check(runs=20_000, seed=3)
    assert again.lower_bound > 1 / 8
    assert not fg.audit(noisy_max, rho="1/2", search_samples=1000, **settings).violated


@pytest.mark.parametrize(
    ("mechanism", "rho", "settings"),
    [
        (gaussian(2.0), 1 / 8, ONE_PAIR),
        (discrete_gaussian, 1 / 8, ONE_PAIR),
        (gumbel_top_two, 1 / 4, {**ONE_PAIR, "inputs": [([1, 1, 0], [0, 0, 1])]}),
    ],
)
def test_what_is_concentrated_is_not_refuted(mechanism: Any, rho: float, settings: dict[str, Any]) -> None:
    size: dict[str, Any] = {"samples": 100_000, "search_samples": 10_000}
    right = fg.audit(mechanism, rho=rho, **settings, **size)
    assert not right.violated, right
    assert 0.4 * rho < right.lower_bound <= rho
    assert fg.audit(mechanism, rho=0.3 * rho, **settings, **size).violated


def test_no_cut_of_a_gaussian_takes_more_than_it_has() -> None:
    cuts = np.linspace(-6, 6, 300)
    for sigma in (0.5, 2.0, 10.0):
        above = special.ndtr(-cuts), special.ndtr(-cuts - 1 / sigma)
        for order in (1.5, 8.0, 64.0):
            truth = order / (2 * sigma**2)
            shown = RenyiClaim(1.0, order).value(*above).max()
            assert (0.2 if truth < 2 else 0.0) * truth < shown <= truth
        shown = GaussianClaim(1.0).value(*above)
        assert (shown <= 1 / sigma).all()
        assert shown[abs(cuts) < 5] == pytest.approx(1 / sigma, abs=1e-6)  # every cut shows all of it
        curve = CurveClaim.of(lambda x, mu=1 / sigma: float(special.ndtr(special.ndtri(1 - x) - mu)))
        assert (curve.value(*above) <= 0).all()
        assert (curve.value(special.ndtr(-cuts), special.ndtr(-cuts - 1.1 / sigma)).max()) > 0


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ({"mu": 1 / 2}, {"mu": 0.4}),
        ({"alpha": 8, "renyi": 1}, {"alpha": 8, "renyi": 0.4}),
        (
            {"tradeoff": lambda x: float(special.ndtr(special.ndtri(1 - x) - 0.5))},
            {"tradeoff": lambda x: 1 - x},
        ),
    ],
    ids=["mu", "renyi", "tradeoff"],
)
def test_a_gaussian_is_refuted_beyond_what_it_has_in_every_measure(right: Any, wrong: Any) -> None:
    size: dict[str, Any] = {"samples": 20_000, "search_samples": 2000, "patience": 1, "shrink": False}
    found = fg.audit(gaussian(2.0), **wrong, **size, **ONE_PAIR)
    assert found.violated, found
    assert found.lower_bound > found.claim.amount
    kept = fg.audit(gaussian(2.0), **right, **size, **ONE_PAIR)
    assert not kept.violated, kept
    assert kept.lower_bound <= kept.claim.amount
    assert kept.claim.amount == 0 or kept.lower_bound > 0.35 * kept.claim.amount
    assert kept.to_dict()["measure"] == next(iter(set(right) - {"alpha"}))


def test_a_claim_is_in_one_measure() -> None:
    for wrong in (
        {},
        {"mu": 1, "rho": 1},
        {"alpha": 2},
        {"renyi": 1},
        {"alpha": 1, "renyi": 1},
        {"mu": 1, "delta": 0.1},
        {"mu": 1000},
        {"tradeoff": lambda x: 1.0},
        {"tradeoff": lambda x: (1 - x) * (0.5 + x / 2)},
        {"tradeoff": 3},
        {"epsilon": 1, "rho": 1},
        {"rho": 1, "delta": 0.1},
        {"rho": 0},
        {"epsilon": 1, "delta": 1},
    ):
        with pytest.raises(fg.InvalidArgument):
            fg.audit(noisy_max, **wrong)

    def takes(answers: list[float], rho: float, rng: np.random.Generator) -> float:
        return round(answers[0] + float(rng.normal(0, math.sqrt(1 / (2 * rho)))))

    report = fg.audit(takes, rho="1/8", samples=1000, search_samples=200, **ONE_PAIR)
    assert not report.violated
    assert report.delta_lower_bound is None
    assert "claims ρ = 0.125" in report.title


# At the boundary -----------------------------------------------------------------------------------------


def uneven_coin(answers: list[float], rng: np.random.Generator, size: int) -> Any:
    """Exactly (0.7, 0.1): e^0.7·0.2 + 0.1 against 0.2."""
    return rng.random(size) < (0.2 * math.exp(0.7) + 0.1 if answers[0] else 0.2)


def fair_coin(answers: list[float], rng: np.random.Generator, size: int) -> Any:
    """0.6 against 0.4, which takes a certain ρ."""
    return rng.random(size) < (0.6 if answers[0] else 0.4)


def coins_rho() -> float:
    return float(ConcentratedClaim(1.0).value(0.6, 0.4)) + 1e-10


def p_values(mechanism: Any, count: int, **claim: Any) -> Any:
    settings: dict[str, Any] = {"samples": 600, "search_samples": 200, "confidence": 0.95, "shrink": False}
    return np.array(
        [
            fg.audit(
                mechanism, **claim, **settings, inputs=[([0], [1])], jobs=1, run_limit=None, seed=seed
            ).p_value
            for seed in range(count)
        ]
    )


@pytest.mark.parametrize("claim", ["delta", "rho"])
def test_false_alarms_in_a_few_audits(claim: str) -> None:
    mechanism, claims = boundary(claim)
    found = p_values(mechanism, 30, **claims)
    for level in LEVELS:
        assert (found <= level).sum() <= most(len(found), level)
    assert len(set(found)) > 5  # the p-values are not stuck at 1
    less = {name: value / 4 for name, value in claims.items()}
    assert (p_values(mechanism, 10, **less) <= 0.05).mean() > 0.6  # power


@pytest.mark.long
@pytest.mark.parametrize("claim", ["delta", "rho", "mu", "renyi"])
def test_false_alarms_in_thousands_of_audits(claim: str) -> None:
    mechanism, claims = boundary(claim)
    found = p_values(mechanism, 3400, **claims)
    rates = {level: float((found <= level).mean()) for level in LEVELS}
    print(claim, rates)
    assert all(rate <= level for level, rate in rates.items())


def boundary(claim: str) -> tuple[Any, dict[str, float]]:
    if claim == "mu":  # coins of 0.6 and 0.4 are told apart as Gaussians are at this distance
        return fair_coin, {"mu": float(special.ndtri(0.6) - special.ndtri(0.4)) + 1e-9}
    if claim == "renyi":
        return fair_coin, {"alpha": 8, "renyi": float(RenyiClaim(1.0, 8.0).value(0.6, 0.4)) + 1e-9}
    if claim == "rho":
        return fair_coin, {"rho": coins_rho()}
    return uneven_coin, {"epsilon": 0.7, "delta": 0.1}
