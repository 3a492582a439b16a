"""Mechanisms of SmartNoise SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Mechanism = Callable[[list[Any]], Any]


def _noise(name: str, kind: type) -> Callable[[float], Mechanism]:
    """A mechanism that adds noise to a number of sensitivity 1, of which a person changes one."""

    def make(epsilon: float) -> Mechanism:
        import snsql.sql._mechanisms as mechanisms

        made = getattr(mechanisms, name)(epsilon=epsilon, sensitivity=1, max_contrib=1)
        return lambda answers: made.release([kind(sum(answers))])[0]

    return make


MECHANISMS: dict[str, Callable[[float], Mechanism]] = {
    "laplace": _noise("Laplace", float),
    "geometric": _noise("Geometric", int),
}
