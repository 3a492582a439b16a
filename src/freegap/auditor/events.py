"""An event: a set of outputs, as short conditions on features that must all hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.features import Feature, Reading, value_text
from freegap.auditor.outputs import Label, Outputs

__all__ = ["Between", "Clause", "Condition", "Event", "OneOf"]

Flags = NDArray[np.bool_]

SHOWN_VALUES = 4

_BURDEN = {"Whole": 1.0, "Distance": 1.0, "KindOf": 1.0, "LowestBit": 4.0, "LearnedScore": 10.0}
"""What it takes to understand a feature."""


@dataclass(frozen=True)
class Between:
    """A number at or above `low` and below `high`; an infinite end is no condition."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def complexity(self) -> float:
        """Two ends are harder to read than one, and many digits harder than few."""
        ends = [end for end in (self.low, self.high) if math.isfinite(end)]
        return 1.0 + len(ends) + 0.1 * sum(len(value_text(end).lstrip("-")) for end in ends)

    def holds(self, reading: Reading) -> Flags:
        """Where the condition holds."""
        found: Flags = reading.is_number & (reading.numbers >= self.low) & (reading.numbers < self.high)
        return found

    def text(self, feature: Feature) -> str:
        """The condition in words."""
        if self.low == -math.inf and self.high == math.inf:
            return f"{feature.text} is a number"
        if self.low == -math.inf:
            return f"{feature.text} < {value_text(self.high)}"
        if self.high == math.inf:
            return f"{feature.text} ≥ {value_text(self.low)}"
        return f"{value_text(self.low)} ≤ {feature.text} < {value_text(self.high)}"


@dataclass(frozen=True)
class OneOf:
    """A value that is one of a few: numbers or labels.

    names: how to write the values, where they are keys of whole outputs.
    """

    values: tuple[float | Label, ...]
    names: tuple[str, ...] = ()

    @property
    def complexity(self) -> float:
        """One value reads best."""
        return 1.0 + len(self.values)

    def holds(self, reading: Reading) -> Flags:
        """Where the condition holds."""
        numbers = [value for value in self.values if not isinstance(value, Label)]
        labels = [value for value in self.values if isinstance(value, Label)]
        codes = [reading.labels.index(label) for label in labels if label in reading.labels]
        found: Flags = np.zeros(len(reading.codes), dtype=np.bool_)
        if numbers:
            found |= reading.is_number & _among(reading.numbers, numbers)
        if codes:
            found |= _among(reading.codes, codes)
        return found

    def text(self, feature: Feature) -> str:
        """The condition in words."""
        names = self.names or tuple(value_text(value) for value in self.values)
        if len(names) == 1:
            return f"{feature.text} = {names[0]}"
        shown = ", ".join(names[:SHOWN_VALUES])
        more = f", … ({len(names)} in all)" if len(names) > SHOWN_VALUES else ""
        return f"{feature.text} is one of {shown}{more}"


def _among(cells: NDArray[Any], values: Sequence[float]) -> Flags:
    found: Flags = cells == values[0] if len(values) == 1 else np.isin(cells, values)
    return found


Condition = Between | OneOf


@dataclass(frozen=True)
class Clause:
    """A feature and what must hold of it."""

    feature: Feature
    condition: Condition

    @property
    def text(self) -> str:
        """The clause in words."""
        return self.condition.text(self.feature)

    def holds(self, outputs: Outputs) -> Flags:
        """For each output, whether the clause holds."""
        return self.condition.holds(self.feature.read(outputs))


@dataclass(frozen=True)
class Event:
    """The outputs for which every clause holds."""

    clauses: tuple[Clause, ...]

    @classmethod
    def of(cls, feature: Feature, condition: Condition) -> Event:
        """The event with one clause."""
        return cls((Clause(feature, condition),))

    @property
    def text(self) -> str:
        """The event in words."""
        return " and ".join(clause.text for clause in self.clauses)

    @cached_property
    def complexity(self) -> float:
        """How hard the event is to read; ties between events go to the simplest."""
        total = sum(clause.condition.complexity for clause in self.clauses) + len(self.clauses)
        return total + sum(_BURDEN.get(type(clause.feature).__name__, 0.0) for clause in self.clauses)

    def holds(self, outputs: Outputs) -> Flags:
        """For each output, whether it is in the event."""
        found: Flags = np.ones(len(outputs), dtype=np.bool_)
        for clause in self.clauses:
            found &= clause.holds(outputs)
        return found

    def hits(self, outputs: Outputs) -> int:
        """How many of the outputs are in the event."""
        return int(np.count_nonzero(self.holds(outputs)))
