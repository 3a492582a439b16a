"""What no audit of a black box can do with fewer runs: docs/mathematics/black-boxes.md."""

from __future__ import annotations

import math

import numpy as np
import pytest
from freegap_evidence.bench.audit_limits import LossLaw, laplace_releases, least_runs, rows
from freegap_evidence.catalogue import CATALOGUE
from scipy import stats


@pytest.mark.parametrize(("count", "loss"), [(1, 0.7), (20, 0.01), (20, 0.2)])
def test_the_sides_are_mirror_images(count: int, loss: float) -> None:
    law = laplace_releases(count, loss)
    mirrored = law.chances * np.exp(-law.values)
    assert law.chances.sum() == pytest.approx(1, abs=1e-12)
    # what was rounded to the grid by law.off is off by a factor of e^law.off in its ratio, and no more
    assert law.chances[::-1] == pytest.approx(mirrored, rel=2.1 * law.off, abs=1e-13)


def test_the_largest_loss_of_all_releases_is_that_of_all_on_one_side() -> None:
    law = laplace_releases(20, 0.01)
    # but for cells next to the end, into which a little of each release is rounded
    assert law.chances[-1] == pytest.approx(2.0**-20, rel=0.01)


def _divergences(law: LossLaw, bound: float, a: float) -> tuple[float, float, float]:
    """The pair of the proof, made outright: its largest loss, and how far its sides are from the others'."""
    first = law.chances
    second = first[::-1]
    here = (first > 0) & (second > 0)
    p, q = first[here], second[here]
    loss = np.log(p / q)
    over, under = np.maximum(loss - bound, 0), np.maximum(-loss - bound, 0)
    p2, q2 = p * np.exp(-a * over + (1 - a) * under), q * np.exp((1 - a) * over - a * under)
    p2, q2 = p2 / p2.sum(), q2 / q2.sum()
    return (
        float(np.abs(np.log(p2 / q2)).max()),
        float((p * np.log(p / p2)).sum()),
        float((q * np.log(q / q2)).sum()),
    )


@pytest.mark.parametrize("a", [0.0, 0.3, 0.5, 1.0])
def test_the_pair_of_the_proof_loses_less_and_is_as_near_as_it_says(a: float) -> None:
    law = laplace_releases(3, 0.4, 400)
    bound = 0.8 * 1.2
    largest, one, two = _divergences(law, bound, a)
    assert largest == pytest.approx(bound, rel=1e-6)
    assert one == pytest.approx(two, rel=1e-6)
    if a == 0.3:  # about the best: the cost may be no less than what the best pair comes to
        best = min(_divergences(law, bound, split)[1] for split in np.linspace(0, 1, 21))
        assert best <= law.cost(bound) <= 1.05 * best


def test_less_of_the_excess_would_be_no_bound() -> None:
    """The check above would notice a cost without its second term."""
    law = laplace_releases(3, 0.4, 400)
    beyond = law.values > 0.96
    excess = law.values[beyond] - 0.96
    halves = law.chances[beyond] * (np.expm1(-0.3 * excess) + 0.3 * excess)
    best = min(_divergences(law, 0.96, split)[1] for split in np.linspace(0, 1, 21))
    assert halves.sum() < 0.9 * best


def test_two_coins_by_hand() -> None:
    """Randomised response with loss 1: E[e^W - 1 - W] of two values."""
    p = 1 / (1 + math.exp(-1))
    law = LossLaw(np.array([-1.0, 1.0]), np.array([1 - p, p]), 0.0)
    by_hand = min(
        p * (math.exp(-a / 10) - 1 + a / 10) + (1 - p) * (math.exp((1 - a) / 10) - 1 - (1 - a) / 10)
        for a in np.linspace(0, 1, 101)
    )
    assert law.cost(0.9) == pytest.approx(by_hand)
    apart = 0.5 * math.log(0.5 / 0.05) + 0.5 * math.log(0.5 / 0.95)
    assert least_runs(law, 0.9, confidence=0.95) == pytest.approx(apart / (2 * by_hand))


def test_no_event_does_better_than_any_audit_can() -> None:
    """The best test of a fixed event, by exact probabilities, takes more runs than the bound."""
    law = laplace_releases(20, 0.01)
    wanted = 0.97 * 0.2
    z = -stats.norm.ppf(1e-6)
    fewest = math.inf
    for cut in np.linspace(wanted, 0.2, 50)[:-1]:
        one = law.chances[law.values > cut].sum()
        two = law.chances[law.values < -cut].sum()
        margin = math.log(one / two) - wanted
        if margin > 0:
            fewest = min(fewest, z**2 * (1 / one + 1 / two) / margin**2)
    assert least_runs(law, wanted) < fewest < 20 * least_runs(law, wanted)


def test_what_is_likely_takes_few_runs_and_the_two_of_the_catalogue_more_than_a_minute_has() -> None:
    assert least_runs(laplace_releases(1, 0.7), 0.97 * 0.7) < 10**6
    found = {(row["name"], row["epsilon"]): row for row in rows()}
    assert {row["true_loss"] for row in found.values()} == {0.2, 0.7, 1.5, 4.0, 14.0, 30.0}
    assert all(CATALOGUE[name].true_epsilon(claimed) for name, claimed in found)
    assert min(row["least_runs"] for row in found.values()) > 10**10
    assert found["laplace_parallel", 0.2]["least_runs"] == pytest.approx(3.9e11, rel=0.02)
    assert found["laplace_parallel_each_alone", 0.7]["least_runs"] == pytest.approx(1.1e13, rel=0.02)
