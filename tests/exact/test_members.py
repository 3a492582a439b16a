"""Groups of equal answers: the members of a group in their ranks, against the exact order of all of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from freegap.bits import SeededBits
from freegap.exact.digits import KeyedDigits
from freegap.exact.ranking import NoisyRanking, Ranked
from tests.laws import EXACT_LAWS as LAWS

GRID = Fraction(1, 1024)


def ranking_of(values: list[int], sizes: list[int], law: str, seed: int) -> NoisyRanking:
    return NoisyRanking(
        np.array(values, dtype=np.int64),
        grain=Fraction(1),
        scale=Fraction(3),
        resolution=GRID,
        law=LAWS[law],
        digits=KeyedDigits(SeededBits(seed), len(values)),
        sizes=np.array(sizes, dtype=np.int64),
    )


def in_exact_order(ranking: NoisyRanking, sizes: list[int], top: int, near: range) -> Ranked:
    """The members of some groups, sorted as exact reals."""
    members = [(item, rank) for item in near for rank in range(1, min(sizes[item], top) + 1)]
    members.sort(key=lambda member: ranking.noisy_answer(*member), reverse=True)
    reals = [ranking.noisy_answer(*member) for member in members[:top]]
    gaps = [(reals[j] - reals[j + 1]).floor(GRID) for j in range(top - 1)]
    return Ranked([item for item, _ in members[:top]], [rank for _, rank in members[:top]], gaps)


@pytest.mark.parametrize("law", ["exponential", "laplace", "gumbel"])
@pytest.mark.parametrize("top", [1, 2, 3, 4, 7, 12])
def test_one_dominant_group_has_all_the_places(law: str, top: int) -> None:
    """Beyond the screening limit; no other answer comes near, so each place is one of its members'."""
    values = [0] * 1100 + [10_000] + [0] * 400
    sizes = [1] * 1100 + [12] + [2] * 400
    ranking = ranking_of(values, sizes, law, seed=top)
    found = ranking.largest(top)
    assert found.items == [1100] * top
    assert found.ranks == list(range(1, top + 1))
    assert found == in_exact_order(ranking, sizes, top, range(1100, 1101))


@pytest.mark.parametrize("law", ["exponential", "laplace", "gumbel", "logistic"])
@pytest.mark.parametrize("many", [20, 1500])  # below and above the screening limit
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_groups_near_each_other_share_the_places(law: str, many: int, size: int) -> None:
    values = [-1000] * many + [40, 41, 42, 43] + [-1000] * many
    sizes = [1, 2] * (many // 2) + [size, 3, 2, 1] + [3] * many
    near = range(many, many + 4)
    for top in (1, 2, size + 1, size + 4):
        for seed in range(4):
            ranking = ranking_of(values, sizes, law, seed)
            assert ranking.largest(top) == in_exact_order(ranking, sizes, top, near)


@pytest.mark.parametrize("top", [1, 3, 6])
def test_a_group_of_exactly_as_many_members_as_places(top: int) -> None:
    values = [0] * 1200 + [10_000]
    sizes = [1] * 1200 + [top]
    ranking = ranking_of(values, sizes, "exponential", seed=1)
    found = ranking.largest(top + 1)
    assert found.items[:top] == [1200] * top
    assert found.items[top] != 1200
    assert found.ranks == [*range(1, top + 1), 1]
