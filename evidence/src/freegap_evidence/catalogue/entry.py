"""What the catalogue says of a mechanism."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from freegap.values.neighbours import Neighbours

GRID = 1024  # to multiples of 1/1024 the audit rounds what programs of labelled noise put out
MARK = "# WRONG:"

Loss = Callable[[float, int, Mapping[str, Any]], float]


@dataclass(frozen=True)
class CatalogueEntry:
    """A mechanism, correct or broken, named by its mistake.

    mechanism: a program of labelled noise, which `freegap.prove` takes as well; one computes in doubles.
    batch: what makes many runs at once: the same text, but for the few that have a twin.
    source: where it comes from.
    neighbours: the relation under which it claims to be private.
    loss: the largest privacy loss, given the claimed ε, the length of the input and the parameters;
        infinity where there is none. A correct mechanism loses at most the claimed ε.
    mistake: what is wrong, or None.
    """

    name: str
    mechanism: Callable[..., Any]
    batch: Callable[..., Any]
    source: str
    neighbours: Neighbours
    loss: Loss
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
