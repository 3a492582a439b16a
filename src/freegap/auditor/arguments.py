"""Values for the parameters that nobody gave: a threshold, a bound on the number of answers, a flag.

Two heuristics of Ding 2020 §4.3.4 come from symbolic execution of the source (`freegap.auditor.branches`):
the value with the smallest noise, and the one for which the two inputs part at the most branches. Here is
the grid that goes with them and stands in for them: it reaches far from the answers on both sides, because
the largest loss of a sparse vector lies at thresholds that no branch of the noiseless program suggests.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from freegap.auditor.inputs import Pair
from freegap.auditor.mechanism import Arguments, freeze

__all__ = ["argument_grid", "is_count", "mutations"]

MOST_COMBINATIONS = 24

_COUNT_NAMES = {"n", "k", "count", "bound", "limit", "cutoff", "top", "number"}


def is_count(name: str, annotation: Any) -> bool:
    """Whether a parameter is a whole number of things, by its annotation or its name."""
    if annotation in (int, "int"):
        return True
    return annotation is inspect.Parameter.empty and name.lower() in _COUNT_NAMES


def argument_grid(
    found: Mapping[str, Any], pair: Pair, *, epsilon: float, sensitivity: float
) -> list[Arguments]:
    """Combinations of values for the parameters to be found, the most promising first.

    >>> pair = Pair((1, 1), (2, 2), "all above")
    >>> argument_grid({"threshold": float}, pair, epsilon=1.0, sensitivity=1)[0]
    (('threshold', 1.5),)
    """
    if not found:
        return [()]
    values = [_values(name, kind, pair, sensitivity / epsilon) for name, kind in found.items()]
    combined = sorted(product(*[list(enumerate(options)) for options in values]), key=_farthest)
    return [
        freeze({name: value for name, (_, value) in zip(found, combination, strict=True)})
        for combination in combined[:MOST_COMBINATIONS]
    ]


def _farthest(combination: Sequence[tuple[int, Any]]) -> tuple[int, int]:
    """Order combinations by how far down the lists of values they reach, one list after the other."""
    places = [place for place, _ in combination]
    return sum(place > 0 for place in places), sum(places)


def _values(name: str, kind: Any, pair: Pair, scale: float) -> list[Any]:
    if kind in (bool, "bool"):
        return [True, False]
    if is_count(name, kind):
        return [1, 2, 3]
    if kind in (str, "str"):
        return [""]
    answers = (*pair.first, *pair.second)
    middle = (min(answers) + max(answers)) / 2
    near = [middle, min(answers), max(answers)]
    far = [middle + sign * round(scale * steps, 2) for steps in (2, 4, 8, 16) for sign in (1, -1)]
    return list(dict.fromkeys(near + far))


def mutations(arguments: Arguments, found: Mapping[str, Any], scale: float) -> list[Arguments]:
    """Neighbours of good arguments: numbers moved by a few noise scales, counts by one."""
    moved: list[Arguments] = []
    for name, value in arguments:
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        if is_count(name, found.get(name)):
            options: list[float] = [value + 1, value - 1] if value > 1 else [value + 1]
        else:
            options = [round(value + sign * scale * step, 2) for step in (1, 3) for sign in (1, -1)]
        moved += [freeze({**dict(arguments), name: option}) for option in options]
    return moved
