"""A finer grid multiplies what is rounded and the bound of it alike: by a power of two, to the last bit.

At the resolution 1 nobody would see a factor that is missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.exact import batched_ranking, batched_threshold, few_items, noisy_threshold, ranking
from freegap.exact.doubles import certain_floor, sure_floor
from freegap.exact.few_items import Factors, _decided_one_by_one
from freegap.mechanisms import batched_hybrid
from freegap.mechanisms.batched_hybrid import draw_largest_above
from freegap.mechanisms.threshold_plan import ThresholdPlan

ANSWERS = [(37 * i) % 101 for i in range(60)]
LAPLACE: dict[str, Any] = {"epsilon": 3, "noise": "laplace"}
ROUNDED: dict[str, tuple[ModuleType, Callable[..., Any]]] = {
    "few items": (ranking, lambda **more: fg.noisy_top_k(ANSWERS, 5, **LAPLACE, **more)),
    "more items": (ranking, lambda **more: fg.noisy_top_k(ANSWERS, 20, **LAPLACE, **more)),
    "items of many releases": (
        batched_ranking,
        lambda **more: fg.noisy_top_k(ANSWERS, 5, size=7, **LAPLACE, **more),
    ),
    "questions": (noisy_threshold, lambda **more: fg.sparse_vector(ANSWERS, 50, k=9, **LAPLACE, **more)),
    "branches": (
        noisy_threshold,
        lambda **more: fg.adaptive_sparse_vector(ANSWERS, 50, k=9, branches=2, **LAPLACE, **more),
    ),
    "questions of many runs": (
        batched_threshold,
        lambda **more: fg.sparse_vector(ANSWERS, 50, k=9, size=7, **LAPLACE, **more),
    ),
    "hybrids of many populations": (
        batched_hybrid,
        lambda *, resolution, bits: draw_largest_above(
            ThresholdPlan.read("hybrid_sparse_vector", k=4, resolution=resolution, **LAPLACE),
            np.array(ANSWERS),
            np.arange(0, 61, 12),
            Fraction(50),
            bits,
        ),
    ),
}


def handed_to_be_rounded(
    module: ModuleType, release: Callable[..., Any], resolution: Fraction
) -> list[tuple[Any, Any]]:
    seen: list[tuple[Any, Any]] = []

    def spied(round_down: Callable[..., Any]) -> Callable[..., Any]:
        def told(values: Any, bounds: Any) -> Any:
            seen.append((np.array(values), np.array(bounds)))
            return round_down(values, bounds)

        return told

    with pytest.MonkeyPatch.context() as patch:
        for name in {"certain_floor", "sure_floor"} & set(vars(module)):
            patch.setattr(module, name, spied(getattr(module, name)))
        release(resolution=resolution, bits=SeededBits(4))
    return seen


@pytest.mark.parametrize("name", ROUNDED)
@pytest.mark.parametrize("finer", [8, 1024])
def test_what_is_rounded_and_its_bound_grow_alike(name: str, finer: int) -> None:
    whole = handed_to_be_rounded(*ROUNDED[name], Fraction(1))
    fine = handed_to_be_rounded(*ROUNDED[name], Fraction(1, finer))
    assert len(whole) == len(fine) > 0
    for (values, bounds), (more, wider) in zip(whole, fine, strict=True):
        assert np.array_equal(values * finer, more)
        assert np.array_equal(bounds * finer, wider)
        assert (bounds > 0).all()


@pytest.mark.parametrize("finer", [1, 8, 1024])
def test_of_few_exponential_items_as_well(finer: int) -> None:
    """A gap is certain just where it is further than the margin from a multiple of γ, which is in scales of
    the noise: 2E, E = slack·(extent + 60)."""
    slack, top = 2.0**-44, 1
    values, logs = np.array([100, 0]), np.zeros(2)
    factors = Factors(rate=1.0, per_noise=float(finer), per_value=finer)
    bound = slack * (100.0 + 60.0)

    def found(away: float) -> Any:
        noisy = np.array([100.0, 90.0 - away])
        return _decided_one_by_one(values, noisy, logs, np.array([0, 1]), factors, slack, top + 1, -1000.0)

    calls: list[float] = []

    def told(values: Any, logs: Any, factors: Factors, margin: float) -> tuple[list[int], list[int]]:
        calls.append(margin)
        return [0], []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few_items, "_gaps", told)
        assert list(found(2.5 * bound)[1]) == [10 * finer]
        assert not calls
        found(1.5 * bound)
        found(-1.5 * bound)
        assert len(calls) == 2
        assert found(-2.5 * bound)[1] == [10 * finer - 1]
        assert calls == [finer * (2.0 * slack + 2.0**-50) * 20.0] * 2  # of noise up to 19 scales, and one


@pytest.mark.parametrize(
    ("value", "near"), [(0.75, 1.0), (0.25, 0.0), (-0.25, 0.0), (-0.75, -1.0), (6.5, 6.0)]
)
def test_a_floor_is_not_certain_where_a_whole_number_is_just_as_near_as_the_margin(
    value: float, near: float
) -> None:
    """x may be as far from v as the margin: at that distance it may be the whole number itself."""
    apart = abs(value - near)
    bound = apart - abs(value) * 2.0**-50
    assert bound + abs(value) * 2.0**-50 == apart
    assert sure_floor(value, bound) is None
    assert not certain_floor(value, bound)[1]
    if apart < 0.5:
        closer = bound - 2.0**-50
        assert sure_floor(value, closer) == math.floor(value)
        assert certain_floor(np.array([value]), closer)[0].tolist() == [math.floor(value)]
    for none in (1.0, 2.0, math.inf, math.nan):
        assert sure_floor(value, none) is None
        assert not certain_floor(value, none)[1]
