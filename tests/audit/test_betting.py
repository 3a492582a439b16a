"""Wealth against a claim that holds hardly ever grows: proved for short games by adding up all of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from freegap.auditor.betting import Bets, log_wealth_of_difference
from freegap.auditor.claims import ApproximateClaim
from freegap.auditor.statistics import EventCounts, Look, PureClaim, Spending

LEVELS = (0.05, 0.01, 0.001)


def ever_refuted(bets: Bets, epsilon: float, truth: float, level: float, length: int) -> float:
    """The chance that the wealth against ε is ever 1/level in so many hits, if the odds are e^truth."""
    share = 1 / (1 + math.exp(-truth))
    alive = np.array([1.0])  # by the number of successes
    for number in range(1, length + 1):
        alive = np.append(alive * (1 - share), 0.0) + np.append(0.0, alive * share)
        hits = np.arange(number + 1.0)
        wealth = bets.log_wealth(hits, number - hits, np.full(hits.shape, epsilon))
        alive[wealth >= -math.log(level)] = 0.0
    return 1 - float(alive.sum())


@pytest.mark.parametrize("bets", [Bets(), Bets(aim=0.5)], ids=str)
def test_wealth_against_a_true_share_hardly_ever_grows(bets: Bets) -> None:
    for level in LEVELS:
        assert 0 < ever_refuted(bets, 0.7, 0.7, level, 50) <= level
    assert ever_refuted(bets, 0.7, 0.2, 0.05, 50) <= ever_refuted(bets, 0.7, 0.7, 0.05, 50)  # well within
    assert ever_refuted(bets, 0.7, 2.5, 0.05, 50) > 0.9  # a violation is seen


def ever_beyond(epsilon: float, delta: float, p1: float, p2: float, levels: tuple[float, ...]) -> list[float]:
    """For each level, the chance that the wealth against (ε, δ) is ever 1/level in sixty trials."""
    hits1, hits2 = np.indices((61, 61)).astype(np.float64)
    alive = np.zeros((len(levels), *hits1.shape))  # by the hits on the two sides
    alive[:, 0, 0] = 1.0
    for number in range(1, 61):
        misses = np.maximum(number - hits1 - hits2, 0)
        wealth = log_wealth_of_difference(
            hits1, hits2, misses, np.full(hits1.shape, math.exp(epsilon)), delta
        )
        after = alive * (1 - (p1 + p2) / 2)
        after[:, 1:] += alive[:, :-1] * p1 / 2
        after[:, :, 1:] += alive[:, :, :-1] * p2 / 2
        for kept, level in zip(after, levels, strict=True):
            kept[wealth >= -math.log(level)] = 0.0
        alive = after
    return [1 - float(kept.sum()) for kept in alive]


@pytest.mark.parametrize(("epsilon", "delta", "p2"), [(0.7, 0.1, 0.15), (0.0, 0.9, 0.0)])
def test_wealth_against_a_true_difference_hardly_ever_grows(epsilon: float, delta: float, p2: float) -> None:
    levels = (0.3, *LEVELS)
    found = ever_beyond(epsilon, delta, math.exp(epsilon) * p2 + delta, p2, levels)
    assert all(chance <= level for chance, level in zip(found, levels, strict=True))


def test_a_violation_of_a_difference_is_seen() -> None:
    assert ever_beyond(0.7, 0.1, 1.0, 0.0, (0.3,))[0] > 0.5


def test_wealth_falls_in_what_is_claimed() -> None:
    epsilons = np.linspace(0, 6, 200)
    assert (np.diff(Bets().log_wealth(900, 100, epsilons)) < 0).all()
    assert (np.diff(log_wealth_of_difference(900, 100, 5000, np.exp(epsilons), 0.01)) <= 0).all()
    assert (np.diff(log_wealth_of_difference(900, 100, 5000, 2.0, np.linspace(0, 1, 200))) < 0).all()


@pytest.mark.parametrize("claim", [PureClaim(1.0), ApproximateClaim(1.0, 0.01)], ids=str)
def test_bound_and_p_value_of_bets_agree(claim: PureClaim | ApproximateClaim) -> None:
    for counts in (EventCounts(900, 100, 5000, 5000), EventCounts(10**6, 10**5, 10**7, 10**7)):
        bound = claim.lower_bound(counts, 1e-6, Bets())
        assert claim.p_value(counts, bound, Bets()) == pytest.approx(1e-6, rel=1e-3)
        assert bound > 0.6 * math.log(10)


def test_bets_on_the_difference_are_sharp_where_delta_decides() -> None:
    """A threshold histogram: it happens on one side alone, twice as often as δ allows."""
    delta = 1e-4
    seen = EventCounts(200, 0, 1_000_000, 1_000_000)
    claim = ApproximateClaim(1.0, delta)
    assert claim.p_value(seen, 1.0, Bets()) < 0.01 * claim.p_value(seen, 1.0)  # than by the corner
    bound = Spending.delta_lower_bound([Look(seen, 1.0, Bets())], 1.0, 1e-3)
    assert delta < bound < 2 * delta


def stopped(spending: Spending, p1: float, p2: float, epsilon: float, rng: np.random.Generator) -> int:
    """After how many trials a claim is refuted, by bets where there are any and at the fixed looks."""
    counts, claim, bets = EventCounts(0, 0, 0, 0), PureClaim(epsilon), Bets()
    for until, share in spending.checkpoints.items():
        first = int(rng.binomial(until - counts.trials, 0.5))
        second = until - counts.trials - first
        hits = int(rng.binomial(first, p1)), int(rng.binomial(second, p2))
        counts = counts + EventCounts(*hits, first, second)
        by_bets = spending.always and claim.against(counts, 1e-6 * spending.always, bets) > 0
        if by_bets or (share and claim.against(counts, 1e-6 * share) > 0):
            break
    return counts.trials


def test_what_is_blatant_takes_far_fewer_runs_than_by_looks_that_are_fixed() -> None:
    """Those of before: after 1/64, 1/16, 1/4 and all of a million, and four and sixteen times as many."""
    rng = np.random.default_rng(1)
    trials = (15_625, 62_500, 250_000, 1_000_000, 4_000_000, 16_000_000)
    before = Spending(trials, (0.05, 0.05, 0.1, 0.6, 0.1, 0.1), 1_000_000)
    now = Spending.of(1_000_000, 1.0, 16)
    ratios = {}
    for p1, over in ((0.5, 2.0), (0.5, 1.1), (0.05, 4.0), (0.05, 1.3), (0.005, 2.0)):
        p2 = p1 * math.exp(-0.7 * over)
        means = [np.mean([stopped(plan, p1, p2, 0.7, rng) for _ in range(10)]) for plan in (now, before)]
        ratios[p1, over] = means[0] / means[1]
    assert ratios[0.5, 2.0] < 1 / 5
    assert ratios[0.05, 4.0] < 1 / 3
    assert max(ratios.values()) < 1.1


def test_bets_cost_little_against_a_number_of_trials_that_was_fixed() -> None:
    for hits in (300, 30_000, 3_000_000):
        fixed = PureClaim(1.0).lower_bound(EventCounts(3 * hits, hits, 10**7, 10**7), 1e-6)
        at_any_time = PureClaim(1.0).lower_bound(EventCounts(3 * hits, hits, 10**7, 10**7), 1e-6, Bets())
        assert 1 < (math.log(3) - at_any_time) / (math.log(3) - fixed) < 1.35
