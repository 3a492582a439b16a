"""Mechanisms of OpenDP, made as its user guide has it; the scale is the smallest whose map is at most ε."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Mechanism = Callable[[list[Any]], Any]


def _library() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def laplace(kind: type) -> Callable[[float], Mechanism]:
    """`make_laplace` on a number of this kind."""

    def make(epsilon: float) -> Mechanism:
        dp = _library()
        domain = dp.atom_domain(T=int) if kind is int else dp.atom_domain(T=float, nan=False)
        noisy = dp.m.make_laplace(domain, dp.absolute_distance(T=kind), scale=1 / epsilon)
        assert noisy.map(kind(1)) <= epsilon * (1 + 1e-9)  # noqa: S101
        return lambda answers: noisy(kind(sum(answers)))

    return make


def gaussian(epsilon: float) -> Mechanism:
    """`make_gaussian` with the smallest scale whose curve has δ = 1e-5 at ε."""
    dp = _library()
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)

    def measured(scale: float) -> Any:
        return dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale))

    low, high = 0.1, 100.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if measured(middle).map(1).epsilon(1e-5) <= epsilon else (middle, high)
    noisy = dp.m.make_gaussian(*space, scale=high)
    return lambda answers: noisy(int(sum(answers)))


def noisy_max(epsilon: float) -> Mechanism:
    """`make_noisy_max` where every answer may move in its own direction."""
    dp = _library()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    select = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2 / epsilon)
    assert select.map(1) <= epsilon * (1 + 1e-9)  # noqa: S101
    return lambda answers: int(select([int(answer) for answer in answers]))


def randomized_response(epsilon: float) -> Mechanism:
    """`make_randomized_response_bool`."""
    dp = _library()
    answered = dp.m.make_randomized_response_bool(prob=math.exp(epsilon) / (1 + math.exp(epsilon)))
    assert answered.map(1) <= epsilon * (1 + 1e-9)  # noqa: S101
    return lambda answers: bool(answered(sum(answers) > 0))


MECHANISMS: dict[str, Callable[[float], Mechanism]] = {
    "laplace_int": laplace(int),
    "laplace_float": laplace(float),
    "gaussian_int": gaussian,
    "noisy_max": noisy_max,
    "randomized_response": randomized_response,
}
