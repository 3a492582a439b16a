from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from freegap_evidence.assurance.fit import ALPHA, fit_p
from scipy.stats import chisquare, norm

import freegap as fg
from freegap.bits import BitSource, RecordedBits, SeededBits
from freegap.errors import InvalidArgument
from freegap.exact.integers import (
    bernoulli,
    bernoulli_exp,
    bounded_geometric,
    discrete_gaussian,
    geometric,
    sample_without_replacement,
    shuffle,
    two_sided_geometric,
    uniform_below,
)
from tests.enumeration import outcomes


def assert_law(decided: dict, undecided: Fraction, law: dict, *, loose: float) -> None:  # type: ignore[type-arg]
    """Each closed-form probability lies between what is decided and that plus what is undecided."""
    assert undecided < loose
    assert set(decided) <= set(law)
    for outcome, probability in law.items():
        low = float(decided.get(outcome, Fraction(0)))
        assert low - 1e-12 <= probability <= low + float(undecided) + 1e-12, outcome


@pytest.mark.parametrize("n", range(1, 12))
def test_uniform_below_is_uniform(n: int) -> None:
    decided, undecided = outcomes(lambda s: uniform_below(n, s), depth=14)
    assert_law(decided, undecided, {i: 1 / n for i in range(n)}, loose=0.002)
    # By symmetry of the algorithm the decided parts are equal to the last bit.
    assert len(set(decided.values())) == 1


def test_uniform_below_wastes_few_bits() -> None:
    # Knuth and Yao: at least log2(n) bits are needed; the dice roller takes at most two more.
    source = SeededBits(1)

    class Counting:
        private = False
        read = 0

        def bits(self, n: int) -> int:
            self.read += n
            return source.bits(n)

    counting = Counting()
    for _ in range(4000):
        uniform_below(1000, counting)
    assert counting.read / 4000 < math.log2(1000) + 2


@pytest.mark.parametrize("n", [1, 2, 3])
def test_shuffle_gives_every_permutation_the_same_chance(n: int) -> None:
    decided, undecided = outcomes(lambda s: tuple(shuffle(list(range(n)), s)), depth=14)
    law = {p: 1 / math.factorial(n) for p in permutations(range(n))}
    assert_law(decided, undecided, law, loose=0.01)


def test_sample_without_replacement_gives_every_ordered_choice_the_same_chance() -> None:
    decided, undecided = outcomes(lambda s: tuple(sample_without_replacement(2, 4, s)), depth=14)
    assert_law(decided, undecided, {p: 1 / 12 for p in permutations(range(4), 2)}, loose=0.01)


@pytest.mark.parametrize("n", [*range(2, 20), 33])
def test_sample_without_replacement_reaches_every_member(n: int) -> None:
    """Next to the powers of two as well, by draws with repetitions dropped (one of n) and by a shuffle."""
    for size in (1, n // 2, n - 1):
        source = SeededBits(n)
        seen = {member for _ in range(30 * n) for member in sample_without_replacement(size, n, source)}
        assert seen == set(range(n)) if size else not seen


def test_sample_without_replacement_from_a_huge_set() -> None:
    chosen = sample_without_replacement(1000, 10**12, SeededBits(3))
    assert len(set(chosen)) == 1000
    assert all(0 <= member < 10**12 for member in chosen)
    everything = sample_without_replacement(50, 50, SeededBits(3))
    assert sorted(everything) == list(range(50))


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(2, 7), Fraction(5, 6)])
def test_bernoulli(p: Fraction) -> None:
    decided, undecided = outcomes(lambda s: bernoulli(p, s), depth=14)
    law = {True: float(p), False: float(1 - p)}
    assert_law(decided, undecided, {o: q for o, q in law.items() if q}, loose=0.001)


@pytest.mark.parametrize("theta", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 4)])
def test_bernoulli_exp(theta: Fraction) -> None:
    decided, undecided = outcomes(lambda s: bernoulli_exp(theta, s), depth=17)
    p = math.exp(-theta)
    assert_law(decided, undecided, {True: p, False: 1 - p} if theta else {True: 1.0}, loose=0.02)


@pytest.mark.parametrize("theta", [Fraction(1), Fraction(1, 2), Fraction(3, 2)])
def test_geometric(theta: Fraction) -> None:
    decided, undecided = outcomes(lambda s: geometric(theta, s), depth=17)
    p = 1 - math.exp(-theta)
    assert_law(decided, undecided, {m: p * (1 - p) ** m for m in range(60)}, loose=0.15)


@pytest.mark.parametrize("flat", [Fraction(0), Fraction(2)])
def test_bounded_geometric_by_either_way(flat: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freegap.exact.integers.FLAT", flat)
    source, draws = SeededBits(5), 3_000
    seen = Counter(bounded_geometric(Fraction(1, 3), 3, source) for _ in range(draws))
    weights = {z: math.exp(-abs(z) / 3) for z in range(-3, 4)}
    law = {z: weight / sum(weights.values()) for z, weight in weights.items()}
    assert fit_p(seen, law) > 1e-9
    assert fit_p(seen, dict.fromkeys(law, 1 / 7)) < 1e-9  # where all are kept


def test_bounds_that_the_law_hardly_ever_keeps() -> None:
    assert abs(bounded_geometric(Fraction(1, 10**30), 500, SeededBits(1))) <= 500
    found = fg.unknown_counts(dict.fromkeys("ab", 10**7), epsilon="1e-30", delta="1e-6", items_per_person=1)
    assert set(found.labels) == {"a", "b"}


def test_two_sided_geometric() -> None:
    theta = Fraction(1)
    decided, undecided = outcomes(lambda s: two_sided_geometric(theta, s), depth=16)
    q = math.exp(-1)
    law = {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-60, 61)}
    assert_law(decided, undecided, law, loose=0.35)


def test_discrete_gaussian_by_enumeration() -> None:
    decided, undecided = outcomes(lambda s: discrete_gaussian(Fraction(1, 3), s), depth=12)
    weights = {z: math.exp(-z * z * 1.5) for z in range(-40, 41)}
    law = {z: weight / sum(weights.values()) for z, weight in weights.items()}
    assert_law(decided, undecided, law, loose=0.7)
    assert decided[1] == decided[-1]


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(7, 3), Fraction(400), Fraction(10**9)])
def test_discrete_gaussian_fits_its_law_and_no_other(variance: Fraction) -> None:
    """8,000 draws, in cells of half a standard deviation; a variance that is 25 % off does not fit."""
    draws, sigma = 8_000, math.sqrt(variance)
    source = SeededBits(23)
    drawn = [discrete_gaussian(variance, source) for _ in range(draws)]
    width = max(1, round(sigma / 2))
    seen = Counter((z + width // 2) // width for z in drawn)

    def p_value(factor: float) -> float:
        within = factor * float(variance)
        if width > 1000:  # as good as continuous
            edge = (np.arange(-30, 31) * width - width // 2 - 0.5) / math.sqrt(within)
            law = dict(zip(range(-30, 30), np.diff(norm.cdf(edge)), strict=True))
        else:
            span = range(-30 * width, 30 * width + 1)
            weights: dict[int, float] = {}
            for z in span:
                cell = (z + width // 2) // width
                weights[cell] = weights.get(cell, 0.0) + math.exp(-z * z / (2 * within))
            total = sum(weights.values())
            law = {cell: weight / total for cell, weight in weights.items()}
        return fit_p(seen, law)

    assert p_value(1) > ALPHA
    assert p_value(1.25) < ALPHA
    assert p_value(0.8) < ALPHA


def test_many_draws_fit_their_law_and_no_other() -> None:
    """60,000 geometric draws fit their law and not one whose rate is 4 % off."""
    theta, draws = Fraction(1, 3), 60_000
    source = SeededBits(11)
    seen = Counter(geometric(theta, source) for _ in range(draws))

    def p_value(rate: float) -> float:
        cells = [math.exp(-rate * m) * (1 - math.exp(-rate)) * draws for m in range(15)]
        observed = [seen[m] for m in range(15)]
        return float(chisquare([*observed, draws - sum(observed)], [*cells, draws - sum(cells)]).pvalue)

    assert p_value(float(theta)) > 1e-9
    assert p_value(float(theta) * 1.04) < 1e-9
    assert p_value(float(theta) * 0.96) < 1e-9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: uniform_below(0, s), "n = 0: must be at least 1"),
        (lambda s: bernoulli(Fraction(3, 2), s), "p = Fraction(3, 2): must be between 0 and 1"),
        (lambda s: bernoulli_exp(Fraction(-1), s), "theta = Fraction(-1, 1): must be at least 0"),
        (lambda s: geometric(Fraction(0), s), "theta = Fraction(0, 1): must be greater than 0"),
        (lambda s: sample_without_replacement(3, 2, s), "size = 3: must be between 0 and 2"),
    ],
)
def test_bad_parameters(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidArgument) as caught:
        call(SeededBits(1))
    assert message in str(caught.value)


def one_by_one(size: int, n: int, source: BitSource) -> list[int]:
    """What `sample_without_replacement` is for: draws in batches of at most 64, repetitions dropped."""
    width = (n - 1).bit_length()
    chosen: dict[int, None] = {}
    while len(chosen) < size:
        batch = min(size - len(chosen), 64)
        drawn = source.bits(width * batch)
        for place in range(batch):
            member = (drawn >> (width * place)) % 2**width
            if member < n:
                chosen.setdefault(member)
    return list(chosen)


@pytest.mark.parametrize("n", [130, 257, 1000, 2**20 - 1, 2**20, 10**12, 2**62, 2**63, 2**63 + 1, 10**30])
@pytest.mark.parametrize("size", [1, 63, 64, 65])
def test_members_that_are_drawn_together_are_those_drawn_one_by_one(size: int, n: int) -> None:
    """Of few members many repeat; of 257 nearly half of the draws are beyond them."""
    for size_ in (size, *(size + 64 * more for more in (1, 5) if 2 * (size + 64 * more) <= n)):
        for seed in range(3):
            together, apart = RecordedBits(SeededBits(seed)), RecordedBits(SeededBits(seed))
            assert sample_without_replacement(size_, n, together) == one_by_one(size_, n, apart)
            assert together.record == apart.record
            assert sample_without_replacement(size_, n, SeededBits(seed)) == one_by_one(
                size_, n, SeededBits(seed)
            )
