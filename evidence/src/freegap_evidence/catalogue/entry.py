"""What the catalogue says of a mechanism."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

__all__ = ["GRID", "CatalogueEntry", "released"]

GRID = 1024
MARK = "# WRONG:"

Loss = Callable[[float, int, Mapping[str, Any]], float]


def released(number: Any) -> Any:
    """A number as it is released: rounded down to a multiple of 1/1024, as freegap's mechanisms do.

    Without the rounding every mechanism here that releases a number would be broken by its floating-point
    digits, whatever else is right or wrong with it; `laplace_floating_point` is. A symbol of the symbolic
    execution stays as it is: no branch depends on the rounding.
    """
    return math.floor(float(number) * GRID) / GRID if isinstance(number, Real) else number


@dataclass(frozen=True)
class CatalogueEntry:
    """A mechanism, correct or broken, named by its mistake.

    mechanism, batch: the same mechanism, one run at a time and many at once.
    source: where it comes from.
    neighbours: the relation under which it claims to be private.
    loss: the largest privacy loss, given the claimed ε, the length of the input and the parameters;
        infinity where there is none. A correct mechanism loses at most the claimed ε.
    tight: the loss is attained or approached, not only an upper bound.
    mistake: what is wrong, or None.
    """

    name: str
    mechanism: Callable[..., Any]
    batch: Callable[..., Any]
    source: str
    neighbours: str
    loss: Loss
    tight: bool = True
    mistake: str | None = None

    @property
    def correct(self) -> bool:
        """Whether it keeps its promise for every claimed ε."""
        return self.mistake is None

    def broken_at(self, epsilon: float) -> bool:
        """Whether the promise is broken at this claimed ε, on inputs of up to ten answers."""
        return self.mistake is not None and self.loss(epsilon, 10, {}) > epsilon * (1 + 1e-9)

    def true_epsilon(self, epsilon: float) -> float | None:
        """The true ε over inputs of any length, or None where there is none."""
        limit = self.loss(epsilon, 10**9, {})
        return None if limit > 1e6 else limit

    @property
    def wrong_line(self) -> str | None:
        """The line that is wrong, as it stands in the source."""
        lines = inspect.getsource(self.mechanism).splitlines()
        wrong = [line.partition(MARK)[0].strip() for line in lines if MARK in line]
        return wrong[0] if wrong else None
