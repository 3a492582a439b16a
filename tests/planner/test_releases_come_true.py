"""What a plan says, and what the mechanisms then do: seeded releases of counts as assumed."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.planner.assumed import listed_counts
from freegap.planner.designs import hybrid
from freegap.planner.questions import PlannedQuestion
from freegap.values.measures import Pure

COUNTS = [int(700 / rank) for rank in range(1, 31)]
ABOVE = 6  # of them are above 100
LEVEL = 6.5  # standard errors: a false alarm in 10^10


def figures_of(made: list[list[int]], wanted: int, k: int) -> dict[str, list[float]]:
    """From the ranks that came out, release by release: what was exactly right, and so on."""
    right = [sum(rank < wanted for rank in out) for out in made]
    return {
        "exact": [float(r == wanted == len(out)) for r, out in zip(right, made, strict=True)],
        "share": [r / k for r in right],
        "first": [float(out[:1] == [0]) for out in made],
        "recall": [r / min(wanted, k) for r in right],
        "found": [float(len(out)) for out in made],
        "wrong": [float(len(out) - r) for r, out in zip(right, made, strict=True)],
    }


def agree(planned: fg.PlannedRelease, seen: dict[str, list[float]], names: str) -> list[bool]:
    """For each figure whether it is within the error of so many releases, and a half percentage point."""
    found = []
    for name in names.split():
        values, said = np.array(seen[name]), getattr(planned, name)
        error = LEVEL * max(float(values.std()), 0.1) / math.sqrt(len(values)) + 0.005
        found.append(abs(float(values.mean()) - said) <= error)
    return found


AMOUNTS: list[dict[str, Any]] = [
    {"epsilon": "0.2"},
    {"epsilon": "0.2", "noise": "laplace"},
    {"rho": "1/500"},
]
MORE = {"epsilon": "0.4", "rho": "1/125"}  # another budget, which must be noticed


def check_top_k(amount: dict[str, Any], runs: int) -> None:
    k = 5
    planned = fg.plan(COUNTS, k=k, **amount).at
    assert planned is not None
    bits = fg.SeededBits(3)
    made = [list(fg.noisy_top_k(COUNTS, k, monotonic=True, bits=bits, **amount).labels) for _ in range(runs)]
    seen = figures_of(made, k, k)
    assert agree(planned, seen, "exact share first") == [True] * 3
    other = fg.plan(COUNTS, k=k, **{name: MORE.get(name, value) for name, value in amount.items()}).at
    assert other is not None
    assert agree(other, seen, "exact share") == [False] * 2


def check_above(amount: dict[str, Any], runs: int) -> None:
    k, threshold = 9, 100
    planned = fg.plan(COUNTS, k=k, threshold=threshold, **amount).at
    assert planned is not None
    assert planned.precision is not None
    bits = fg.SeededBits(4)
    releases = [
        fg.hybrid_sparse_vector(COUNTS, threshold, k=k, monotonic=True, bits=bits, **amount)
        for _ in range(runs)
    ]
    seen = figures_of([list(release.labels) for release in releases], ABOVE, k)
    assert agree(planned, seen, "exact recall found") == [True] * 3
    assert planned.precision == pytest.approx(1 - sum(seen["wrong"]) / sum(seen["found"]), abs=0.05)
    assert planned.spent == pytest.approx(float(np.mean([float(r.spent) for r in releases])), rel=0.05)
    assert agree(replace(planned, recall=1.0), seen, "recall") == [False]


def check_hybrid(runs: int) -> None:
    question = PlannedQuestion(
        assumed=listed_counts(COUNTS, None, "counts"),
        k=9,
        threshold=Fraction(100),
        measured=False,
        noise=None,
        delta=None,
    )
    planned = question.release(hybrid(Pure(Fraction(1, 4)), 9, Fraction(100), "exponential"))
    bits = fg.SeededBits(5)
    releases = [
        fg.hybrid_top_k(COUNTS, 100, k=9, epsilon="1/4", monotonic=True, bits=bits) for _ in range(runs)
    ]
    seen = figures_of([list(release.labels) for release in releases], ABOVE, 9)
    assert agree(planned, seen, "exact recall found") == [True] * 3
    assert planned.spent == pytest.approx(float(np.mean([float(r.spent) for r in releases])), rel=0.05)


def check_unknown(noise: str, runs: int) -> None:
    k, labelled = 5, {f"{rank:02}": 2 * count for rank, count in enumerate(COUNTS)}
    amounts: dict[str, Any] = {"epsilon": "0.25", "delta": "1e-6", "noise": noise}
    planned = fg.plan([2 * count for count in COUNTS], k=k, domain="unknown", **amounts).at
    assert planned is not None
    assert planned.found is not None
    assert 0.5 < planned.found < k - 0.5  # the bar is among them
    bits = fg.SeededBits(6)
    made = [[int(x) for x in fg.unknown_top_k(labelled, k, bits=bits, **amounts).labels] for _ in range(runs)]
    assert agree(planned, figures_of(made, k, k), "exact share first found") == [True] * 4


@pytest.mark.parametrize("amount", AMOUNTS, ids=lambda amount: "-".join(amount.values()))
def test_the_top_k(amount: dict[str, Any]) -> None:
    check_top_k(amount, 250)


def test_above() -> None:
    check_above({"epsilon": "0.25"}, 150)


def test_hybrid_top_k() -> None:
    check_hybrid(250)


def test_an_unknown_domain() -> None:
    check_unknown("exponential", 150)


@pytest.mark.long
@pytest.mark.parametrize("amount", AMOUNTS, ids=lambda amount: "-".join(amount.values()))
def test_many_more_releases(amount: dict[str, Any]) -> None:
    """Within 2 percentage points, of which the simulation's error is the larger part."""
    check_top_k(amount, 40_000)
    check_above(amount, 10_000)


@pytest.mark.long
@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_many_more_releases_of_the_others(noise: str) -> None:
    check_hybrid(20_000)
    check_unknown(noise, 20_000)
