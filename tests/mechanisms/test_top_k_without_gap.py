"""Top-k without gaps: geometric noise and ties by coin select as exponential noise (Ding et al. 2023, lemma
4.1)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.fit import ALPHA, fit_p
from freegap_evidence.assurance.top_k_law import coin_top_k_law, top_k_cells

import freegap as fg
from freegap.bits import SeededBits
from freegap.laws import NoiseName
from freegap.mechanisms.reference import coin_top_k
from tests.distributions import same_distribution_p
from tests.mechanisms.test_top_k import NoBits

COUNTS = {"flu": 812, "cold": 790, "measles": 31, "mumps": 12}
CLOSE = [1, 0, 1, 0]  # closer than the noise, so that ties are frequent


def test_two_answers_by_hand() -> None:
    """P(the smaller of two wins) = p^d/2 for geometric noise with a coin, as for exponential noise."""
    p = Fraction(3, 5)  # stands for e^(−1/b)
    for d in range(4):
        equal = (1 - p) / (1 + p) * p**d
        above = p ** (d + 1) / (1 + p)
        assert above + equal / 2 == p**d / 2
        # The same by summing over both variables; what is cut off is less than p^80.
        total = sum(
            (1 - p) ** 2 * p ** (x + y) * (1 if y - x > d else Fraction(1, 2))
            for x in range(80)
            for y in range(x + d, 80)
        )
        assert 0 <= p**d / 2 - total < Fraction(1, 10**15)


@pytest.mark.parametrize(
    ("answers", "k"), [([2, 1], 1), ([0, 0], 1), ([1, 0, 2], 1), ([1, 0, 1], 2), ([3, 0, 0], 2)]
)
def test_the_lemmas_law_is_that_of_exponential_noise(answers: list[int], k: int) -> None:
    scale = 1.25
    coin = coin_top_k_law(answers, k, 1 / scale, 36)
    cells = top_k_cells([float(a) for a in answers], k, NoiseDensity("exponential", scale), 80 * scale, 1)
    if len(answers) == 2 or k == 1:
        assert coin == pytest.approx({order: p for (order, _), p in cells.items()}, abs=1e-9)
    else:
        assert {o: p for (o, _), p in cells.items()} == pytest.approx(coin, abs=1e-9)


def released(answers: Any, k: int, seeds: str, draws: int, **options: Any) -> Counter[Any]:
    source = SeededBits(seeds)
    seen: Counter[Any] = Counter()
    for _ in range(draws):
        found = fg.noisy_top_k(answers, k, epsilon=k, monotonic=True, gap=False, bits=source, **options)
        seen[found.labels] += 1
    return seen


def by_the_lemma(k: int, scale: Fraction, draws: int, *, by_place: bool = False) -> Counter[Any]:
    generator = np.random.default_rng(5)
    noisy = np.array(CLOSE) + np.floor(generator.exponential(float(scale), (draws, len(CLOSE))))
    ties = np.arange(len(CLOSE))[::-1] / 10 if by_place else generator.random((draws, len(CLOSE)))
    order = np.argsort(-(noisy + ties), axis=1)[:, :k]
    return Counter(map(tuple, order.tolist()))


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_fast_core_against_the_lemmas_program(k: int) -> None:
    """Different bits, one distribution; scale k/ε = 1 for all k here."""
    fast = released(CLOSE, k, f"fast {k}", 2_000, noise="geometric")
    source = SeededBits(f"lemma {k}")
    lemma = Counter(tuple(coin_top_k(CLOSE, k, rate=Fraction(1), source=source)) for _ in range(3_000))
    assert same_distribution_p(fast, lemma) > ALPHA


def test_that_comparison_notices_other_noise_and_other_coins() -> None:
    right = by_the_lemma(2, Fraction(1), 400_000)
    source = SeededBits("power")
    lemma = Counter(tuple(coin_top_k(CLOSE, 2, rate=Fraction(1), source=source)) for _ in range(3_000))
    assert same_distribution_p(right, lemma) > ALPHA
    assert same_distribution_p(by_the_lemma(2, Fraction(8, 5), 400_000), lemma) < ALPHA
    assert same_distribution_p(by_the_lemma(2, Fraction(1), 400_000, by_place=True), lemma) < ALPHA


def test_geometric_and_exponential_noise_are_the_same_function_of_the_bits() -> None:
    for seed in range(20):
        options: dict[str, Any] = {"epsilon": 1, "gap": False, "bits": SeededBits(seed)}
        geometric = fg.noisy_top_k(CLOSE, 3, noise="geometric", **options)
        exponential = fg.noisy_top_k(CLOSE, 3, **{**options, "bits": SeededBits(seed)})
        with_gaps = fg.noisy_top_k(CLOSE, 3, epsilon=1, bits=SeededBits(seed))
        assert geometric.indices == exponential.indices == with_gaps.indices
        assert geometric.parameters == exponential.parameters | {"noise": "geometric"}


def test_groups_and_large_inputs_take_the_fast_path() -> None:
    counts = fg.Counts.over(range(10**9), {i: 13 for i in range(2_000)})
    options: dict[str, Any] = {"noise": "geometric", "gap": False, "bits": SeededBits(1)}
    release = fg.noisy_max(counts, epsilon=1, monotonic=True, **options)
    assert len(release.labels) == 1
    assert release.indices == ()
    answers = np.arange(100_000)
    many = fg.noisy_top_k(answers, 3, epsilon=100, **options)
    assert set(many.labels) <= set(range(99_990, 100_000))


def test_groups_have_the_law_of_their_members() -> None:
    """A group of two and one of one against the lemma's program on three answers, k = 3 = n included."""
    counts = fg.Counts.over(range(3), {2: 1})
    for k in (1, 3):
        seen = released(counts, k, f"groups {k}", 1_500, noise="geometric")
        assert fit_p(seen, coin_top_k_law([0, 0, 1], k, 1.0, 40)) > ALPHA
        assert fit_p(seen, coin_top_k_law([0, 0, 1], k, 0.5, 60)) < ALPHA


@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
def test_all_answers_may_be_ranked_where_no_runner_up_is_needed(noise: NoiseName) -> None:
    release = fg.noisy_top_k(COUNTS, 4, epsilon=1000, noise=noise, gap=False, bits=SeededBits(1))
    assert release.labels == tuple(COUNTS)
    assert fg.noisy_max([7], epsilon=1, noise=noise, gap=False).labels == (0,)


def test_the_record_has_no_gaps() -> None:
    release = fg.noisy_top_k(COUNTS, 2, epsilon=100, gap=False, bits=SeededBits(1))
    assert release.gap_multiples is None
    assert release.gaps == ()
    assert release.to_dict()["gaps"] is None
    assert "gap" not in str(release)
    assert "gap" not in release._repr_html_()
    assert release.spent == 100


def test_geometric_noise_rounds_answers_down_to_whole_numbers() -> None:
    whole = fg.noisy_top_k([2, 1, 0], 2, epsilon=1, noise="geometric", gap=False, bits=SeededBits(3))
    above = fg.noisy_top_k([2.9, 1.5, 0.1], 2, epsilon=1, noise="geometric", gap=False, bits=SeededBits(3))
    assert whole == above
    assert whole.resolution == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": "geometric"}, "noise = 'geometric': has ties, and a gap would tell how they were broken."),
        ({"noise": "uniform", "gap": False}, "'exponential', 'laplace', 'geometric'"),
        ({"noise": "gumbel", "gap": False}, "has no theorem here for the measure epsilon"),
        ({"gap": 0}, "gap = 0: must be True or False"),
        ({"k": 5, "gap": False}, "k = 5: must be at most the number of answers, 4. Pass k=4."),
        (
            {"noise": "geometric", "gap": False, "sensitivity": "1/2"},
            "sensitivity = '1/2': must be a whole number with geometric noise",
        ),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"k": 2, "epsilon": 1, "bits": NoBits(), **options}
    with pytest.raises(fg.InvalidArgument) as caught:
        fg.noisy_top_k(COUNTS, arguments.pop("k"), **arguments)
    assert message in str(caught.value)
