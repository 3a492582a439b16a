"""The test is valid: proved here for small cases by adding up all outcomes."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import special

from freegap.auditor.betting import Bets
from freegap.auditor.claims import (
    ApproximateClaim,
    ConcentratedClaim,
    CurveClaim,
    GaussianClaim,
    RenyiClaim,
)
from freegap.auditor.plan import BoundForecast
from freegap.auditor.statistics import (
    EventCounts,
    Look,
    PureClaim,
    Spending,
    TestedClaim,
)

ALPHAS = (0.05, 0.01, 0.001)
PURE = PureClaim(1.0)


def outcomes(trials: int, p1: float, p2: float) -> list[tuple[EventCounts, float]]:
    """All counts of a number of trials, each of which tosses a fair coin for its side."""
    cells = (p1 / 2, (1 - p1) / 2, p2 / 2, (1 - p2) / 2)
    found = []
    for a, b, c in product(range(trials + 1), repeat=3):
        d = trials - a - b - c
        if d >= 0:
            ways = math.factorial(trials) / math.prod(math.factorial(x) for x in (a, b, c, d))
            chance = ways * math.prod(cell**x for cell, x in zip(cells, (a, b, c, d), strict=True))
            found.append((EventCounts(a, c, a + b, c + d), chance))
    return found


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7, 1.5])
@pytest.mark.parametrize("p2", [0.01, 0.1, 0.22])
def test_p_value_is_valid_at_the_boundary_for_every_level(epsilon: float, p2: float) -> None:
    law = outcomes(18, math.exp(epsilon) * p2, p2)
    assert sum(chance for _, chance in law) == pytest.approx(1)
    found = sorted((PURE.p_value(counts, epsilon), chance) for counts, chance in law)
    total = 0.0
    for p, chance in found:
        total += chance
        if p < 1:
            assert total <= p + 1e-12


def test_p_value_is_not_uselessly_large() -> None:
    law = outcomes(24, 0.45, 0.45 / math.exp(0.3))
    rate = sum(chance for counts, chance in law if PURE.p_value(counts, 0.3) <= 0.05)
    assert 0.015 < rate <= 0.05


@pytest.mark.parametrize("alpha", ALPHAS)
def test_bound_covers_and_agrees_with_the_p_value(alpha: float) -> None:
    epsilon = 0.5
    law = outcomes(18, math.exp(epsilon) * 0.3, 0.3)
    assert sum(chance for counts, chance in law if PURE.lower_bound(counts, alpha) > epsilon) <= alpha
    for counts in (
        EventCounts(300, 100, 500, 500),
        EventCounts(40, 0, 50, 50),
        EventCounts(90_000, 60_000, 10**5, 10**5),
    ):
        bound = PURE.lower_bound(counts, alpha)
        assert PURE.p_value(counts, bound) == pytest.approx(alpha, rel=1e-6)


def test_an_average_of_reductions_would_not_be_valid_but_this_is_monotone_in_epsilon() -> None:
    curve = PURE.p_value(EventCounts(3000, 1500, 10_000, 10_000), np.linspace(0, 3, 50))
    assert (np.diff(curve) >= 0).all()
    assert curve[0] < 1e-12 < 0.9 < curve[-1]


def test_the_bound_has_no_ceiling() -> None:
    bounds = [PURE.lower_bound(EventCounts(n, 0, n, n), 1e-6) for n in (10**3, 10**5, 10**7, 10**9)]
    assert bounds[-1] > math.log(10**7) > math.log(100)
    assert all(later > earlier + 4 for earlier, later in pairwise(bounds))


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_p_value_with_delta_is_valid(delta: float) -> None:
    epsilon, p2 = 0.4, 0.2
    claim = ApproximateClaim(epsilon, delta)
    law = outcomes(12, math.exp(epsilon) * p2 + delta, p2)
    p_values = [(claim.p_value(counts, epsilon), c) for counts, c in law]
    for alpha in (0.3, 0.1, *ALPHAS):
        assert sum(c for p_value, c in p_values if p_value <= alpha) <= alpha
        assert sum(c for counts, c in law if claim.lower_bound(counts, alpha) > epsilon) <= alpha
        found = [(Spending.delta_lower_bound([Look(counts, 1.0)], epsilon, alpha), c) for counts, c in law]
        assert sum(c for bound, c in found if bound > delta) <= alpha
    strong = EventCounts(9000, 1000, 10_000, 10_000)
    assert claim.p_value(strong, epsilon) < 1e-9
    assert claim.lower_bound(strong, 1e-6) == pytest.approx(math.log((0.9 - delta) / 0.1), abs=0.3)


@pytest.mark.parametrize(("p1", "p2"), [(0.3, 0.1), (0.5, 0.2), (0.9, 0.6), (0.05, 0.01), (0.95, 0.8)])
def test_the_bound_for_rho_is_valid(p1: float, p2: float) -> None:
    """A mechanism with two outputs, whose ρ is known: that of the two coins."""
    claim = ConcentratedClaim(float(ConcentratedClaim(1.0).value(p1, p2)) + 1e-10)
    law = outcomes(12, p1, p2)
    for alpha in (0.3, *ALPHAS):
        assert sum(c for counts, c in law if claim.lower_bound(counts, alpha) > claim.amount) <= alpha
    for counts, _ in law[::60]:
        p_value = claim.p_value(counts, claim.amount)
        assert claim.lower_bound(counts, 0.99 * p_value) <= claim.amount + 1e-12
        assert p_value == 1 or claim.lower_bound(counts, 1.01 * p_value) > claim.amount
    many = EventCounts(int(p1 * 10**6), int(p2 * 10**6), 10**6, 10**6)
    assert claim.lower_bound(many, 1e-6) > 0.7 * claim.amount
    assert claim.p_value(many, 0.7 * claim.amount) <= 1e-6 < claim.p_value(many, claim.amount)


def test_no_threshold_of_a_gaussian_takes_more_than_its_rho() -> None:
    """By data processing; at the best threshold and order it comes near."""
    for sigma in (0.5, 2.0, 10.0, 50.0):
        cuts = np.linspace(-8, 8, 800)  # where one of the probabilities is next to 1 as well
        above = [special.ndtr(-cuts), special.ndtr(-cuts - 1 / sigma)]
        values = ConcentratedClaim(1.0).value(*above)
        assert 0.9 / (2 * sigma**2) < values.max() <= 1 / (2 * sigma**2)


MORE_CLAIMS = [RenyiClaim(0.1, 8.0), GaussianClaim(0.5)]


@pytest.mark.parametrize("claim", MORE_CLAIMS, ids=str)
@pytest.mark.parametrize("bets", [None, Bets()], ids=["fixed", "any time"])
def test_bounds_in_other_measures_are_valid(claim: TestedClaim, bets: Bets | None) -> None:
    """A mechanism with two outputs takes what its two coins take."""
    p1, p2 = 0.5, 0.2
    truth = float(claim.value(p1, p2)) + 1e-9
    law = outcomes(6, p1, p2)
    bounds = {counts: claim.lower_bound(counts, 0.2, bets) for counts, _ in law}
    assert sum(chance for counts, chance in law if bounds[counts] > truth) <= 0.2
    many = EventCounts(int(p1 * 10**6), int(p2 * 10**6), 10**6, 10**6)
    assert 0.9 * truth < claim.lower_bound(many, 1e-6, bets) < truth
    assert claim.p_value(many, 0.9 * truth, bets) <= 1e-6 < claim.p_value(many, truth, bets)


@pytest.mark.parametrize(
    "claim",
    [PURE, ApproximateClaim(1.0, 0.01), ConcentratedClaim(0.1), *MORE_CLAIMS],
    ids=str,
)
def test_the_corner_has_the_least_value(claim: TestedClaim) -> None:
    """What a claim takes grows with the share of the first side, and with the rate of hits."""
    share, rate = np.meshgrid(np.linspace(0.55, 0.999, 60), np.linspace(0.02, 0.5, 60), indexing="ij")
    for fine in (True, False):
        values = claim.value(2 * rate * share, 2 * rate * (1 - share), fine=fine)
        assert (np.diff(values, axis=0) >= -1e-12).all()
        known = values[:, :-1] > -np.inf
        assert (np.diff(values, axis=1)[known] >= -1e-9).all()


def test_power_beyond_a_curve_grows_with_share_and_rate_where_it_is_above_it() -> None:
    claim = CurveClaim.of(lambda x: max(0.0, 1 - 2 * x, (1 - x) / 2))
    share, rate = np.meshgrid(np.linspace(0.55, 0.999, 40), np.linspace(0.02, 0.5, 40), indexing="ij")
    values = np.maximum(0, claim.value(2 * rate * share, 2 * rate * (1 - share)))
    assert (np.diff(values, axis=0) >= -1e-12).all()
    assert (np.diff(values, axis=1) >= -1e-12).all()
    assert (values[share < 0.66] == 0).all()
    assert (values[share > 0.67] > 0).any()


def test_looking_twice_is_paid_for() -> None:
    """All outcomes of two looks, the second of which sees the samples of the first as well."""
    epsilon, p2 = 0.7, 0.2
    early, late = outcomes(6, math.exp(epsilon) * p2, p2), outcomes(8, math.exp(epsilon) * p2, p2)
    spending = Spending((6, 14), (0.3, 0.7), usual=14)
    for alpha in (0.2, *ALPHAS):
        alarm = careless = 0.0
        for (first, chance1), (more, chance2) in product(early, late):
            looks = [Look(first, spending.shares[0]), Look(first + more, spending.shares[1])]
            alarm += chance1 * chance2 * (spending.p_value(looks, PURE, epsilon) <= alpha)
            careless += (
                chance1 * chance2 * (min(PURE.p_value(look.counts, epsilon) for look in looks) <= alpha)
            )
            assert (spending.p_value(looks, PURE, epsilon) <= alpha) == (
                spending.lower_bound(looks, PURE, alpha) >= epsilon
            )
        assert alarm <= alpha
        assert alarm <= careless


def test_spending_never_exceeds_its_share() -> None:
    for trials in (100, 6400, 10**6):
        plan = Spending.of(trials, 0.7)
        assert plan.trials[-1] == trials
        assert sum(plan.shares) + plan.always <= 0.7 + 1e-12
        assert list(plan.trials) == sorted(plan.trials)


def test_a_forecast_prefers_what_a_confirmation_would_bear_out() -> None:
    forecast = BoundForecast(grow=5, caution=1.0, z=4.9)
    common, rare, lucky = forecast.bound([20_000, 60, 3], [10_000, 0, 0])
    assert rare > common > lucky
    assert forecast.bound(60, 30, choices=1000) < forecast.bound(60, 30)
