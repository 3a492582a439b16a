"""The integrals against closed forms, against each other, and against noise that NumPy draws."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest

from freegap.laws import EXPONENTIAL, GUMBEL, LAPLACE, LAWS, Law
from freegap.laws.law import ExactLaw, Floats
from freegap.planner.chances import NoisyLine, Rivalry
from freegap.planner.crowds import Crowd, Heads, _exactly, _nearly

RUNS = 40_000


def crowd(*values: float) -> Crowd:
    return Crowd(np.array(values, dtype=float), np.ones(len(values)))


def top(law: Law, k: int, counts: Crowd) -> Rivalry:
    return Rivalry(law, k, *counts.split(k))


@pytest.mark.parametrize("law", [EXPONENTIAL, LAPLACE, GUMBEL], ids=str)
def test_tails_are_those_of_the_quantiles(law: ExactLaw) -> None:
    u = np.array([1e-9, 1e-3, 0.2, 0.5, 0.7, 0.999])
    assert np.allclose(law.tail(law.estimate(u, -np.log1p(-u))), u, rtol=1e-9, atol=1e-12)
    assert law.tail(np.array([-1e9, 1e9])).tolist() == [1.0, 0.0]


def test_a_law_that_nobody_plans_with_has_no_tail() -> None:
    with pytest.raises(Exception, match="known"):
        LAWS["staircase"].tail(np.zeros(1))


@pytest.mark.parametrize("apart", [0.0, 0.3, 2.0, 9.0])
def test_one_against_one(apart: float) -> None:
    """P(X − Y > −d), a textbook formula for each law."""
    forms = {
        EXPONENTIAL: 1 - math.exp(-apart) / 2,
        LAPLACE: 1 - (2 + apart) / 4 * math.exp(-apart),
        GUMBEL: 1 / (1 + math.exp(-apart)),
    }
    for law, chance in forms.items():
        rivalry = top(law, 1, crowd(apart, 0))
        assert rivalry.exactly() == pytest.approx(chance, abs=1e-3)
        assert rivalry.expected() == pytest.approx(chance, abs=1e-3)


def test_gumbel_noise_selects_one_after_the_other() -> None:
    """With it, the ranking is drawn without replacement with weights e^q: all permutations of five."""
    values = [2.0, 1.5, 1.4, 0.2, 0.0]
    weights = np.exp(values)
    sets: dict[frozenset[int], float] = {}
    for order in permutations(range(5), 3):
        chance, left = 1.0, weights.sum()
        for i in order:
            chance, left = chance * weights[i] / left, left - weights[i]
        sets[frozenset(order)] = sets.get(frozenset(order), 0.0) + chance
    assert len(sets) == len(list(combinations(range(5), 3)))
    rivalry = top(GUMBEL, 3, crowd(*values))
    assert rivalry.exactly() == pytest.approx(sets[frozenset({0, 1, 2})], abs=1e-3)
    mean = sum(len(chosen & {0, 1, 2}) * chance for chosen, chance in sets.items())
    assert rivalry.expected() == pytest.approx(mean, abs=2e-3)


def simulated(law: Law, rivalry: Rivalry, seed: int) -> tuple[float, float]:
    """How often exactly U comes out, and how many of U do, with noise of NumPy's."""
    rng = np.random.default_rng(seed)
    own = np.repeat(rivalry.right.values, rivalry.right.sizes.astype(int))
    others = np.repeat(rivalry.wrong.values, rivalry.wrong.sizes.astype(int))
    counts = np.concatenate([own, others])
    noisy = counts + law.sample(rng, 1.0, (RUNS, len(counts)))
    cut = (
        np.partition(noisy, -rivalry.k - 1, axis=1)[:, -rivalry.k - 1]
        if rivalry.k < len(counts)
        else np.full(RUNS, -np.inf)
    )
    if rivalry.line is not None:
        cut = np.maximum(cut, rivalry.line.level + law.sample(rng, rivalry.line.scale, RUNS))
    out = noisy > cut[:, None]
    right = out[:, : len(own)].sum(axis=1)
    exactly = (right == len(own)) & (out.sum(axis=1) == len(own))
    return float(exactly.mean()), float(right.mean())


CELLS = {
    "close": (4, 6.0 / np.arange(1, 17), None),
    "far": (4, 40.0 / np.arange(1, 17), None),
    "equal": (3, np.full(12, 5.0), None),
    "line among them": (6, 30.0 / np.arange(1, 15), NoisyLine(8.0, 0.6)),
    "line above": (6, 30.0 / np.arange(1, 15), NoisyLine(40.0, 0.6)),
    "line below": (6, 30.0 / np.arange(1, 15), NoisyLine(-9.0, 0.6)),
}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("law", [EXPONENTIAL, LAPLACE, GUMBEL], ids=str)
def test_as_noise_does(law: Law, cell: str) -> None:
    """Within a percentage point, of which six standard errors of the simulation are the larger part."""
    k, values, line = CELLS[cell]
    first = k if cell != "line among them" else 3  # as of three items above a threshold
    rivalry = Rivalry(law, k, *crowd(*values).split(first), line)
    exactly, mean = simulated(law, rivalry, seed=7)
    assert rivalry.exactly() == pytest.approx(exactly, abs=0.005 + 6 * math.sqrt(0.25 / RUNS))
    assert rivalry.expected() / first == pytest.approx(mean / first, abs=0.015)


def test_a_wrong_scale_would_be_noticed() -> None:
    rivalry = top(EXPONENTIAL, 4, crowd(*(6.0 / np.arange(1, 17))))
    _, mean = simulated(EXPONENTIAL, rivalry, seed=7)
    wrong = top(EXPONENTIAL, 4, crowd(*(7.2 / np.arange(1, 17))))
    assert abs(wrong.expected() - mean) / 4 > 0.02 > abs(rivalry.expected() - mean) / 4


def coins(many: int) -> tuple[Floats, Floats, Floats]:
    chances = np.linspace(0.02, 0.9, many)[:, None] * np.array([1.0, 0.5, 0.1])
    return chances, np.ones(many), np.array([0.0, 2.0, 0.3])


def test_many_coins_are_nearly_normal() -> None:
    chances, sizes, rest = coins(300)
    exact, nearly = _exactly(chances, sizes, rest, 300), _nearly(chances, sizes, rest, np.arange(1, 301))
    assert np.abs(exact - nearly).max() < 0.005
    crude = _nearly(chances, sizes, rest + 1.0, np.arange(1, 301))  # a mean that is off by one is noticed
    assert np.abs(exact - crude).max() > 0.02


def test_coins_one_by_one() -> None:
    """Three fair coins, and a Poisson number beside them."""
    fair, one = np.full((3, 1), 0.5), np.ones(3)
    assert _exactly(fair, one, np.zeros(1), 3)[:, 0] == pytest.approx([7 / 8, 4 / 8, 1 / 8])
    with_rest = _exactly(fair, one, np.ones(1), 1)[0, 0]
    assert with_rest == pytest.approx(1 - math.exp(-1) / 8)
    assert _exactly(fair, one, np.zeros(1), 0).shape == (0, 1)


def test_the_normal_path_and_binning_agree_with_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = crowd(*(40.0 * np.arange(1, 501) ** -0.7))
    rivalries = [top(law, 60, counts) for law in (EXPONENTIAL, LAPLACE, GUMBEL)]
    exact = [(c.expected() / 60, c.exactly()) for c in rivalries]
    monkeypatch.setattr("freegap.planner.crowds._MOST_COINS", 20)
    monkeypatch.setattr("freegap.planner.crowds._MOST_GROUPS", 20)
    nearly = [(c.expected() / 60, c.exactly()) for c in rivalries]
    assert np.array(nearly) == pytest.approx(np.array(exact), abs=0.004)
    assert nearly != exact  # it was another path


def test_those_far_below_are_one_poisson_variable() -> None:
    """A million items that nobody has, as one group; together they are as high as one item."""
    far = Crowd(np.array([16.0, 15.0, 0.0]), np.array([1.0, 1.0, 1e6]))
    heads = Heads.of(far, EXPONENTIAL, np.array([12.0, 14.0]))
    assert heads.rest == pytest.approx(1e6 * np.exp([-12.0, -14.0]))
    listed = top(GUMBEL, 1, far).exactly()
    assert listed == pytest.approx(math.exp(16) / (math.exp(16) + math.exp(15) + 1e6), abs=1e-3)


def test_nothing_ought_to_come_out() -> None:
    """No item is above the threshold: exactly right is that nothing comes out."""
    rivalry = Rivalry(EXPONENTIAL, 2, crowd(), crowd(0.0), NoisyLine(1.0, 1.0))
    assert rivalry.expected() == 0.0
    assert rivalry.exactly() == pytest.approx(1 - math.exp(-1) / 2, abs=1e-3)
