"""What forms are made of: noise interfaces that pass draws on, and the check of what is a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from freegap.errors import InvalidArgument
from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise


def require_function(name: str, function: Any) -> None:
    """An argument that must be a function."""
    if not callable(function):
        raise InvalidArgument(name, function, "must be a function", "Pass the function itself.")


class Labelled:
    """A noise interface that passes other labels on, those of the whole program."""

    def __init__(self, noise: Any, rename: Callable[[Any], Any]) -> None:
        self._noise = noise
        self._rename = rename

    def __getattr__(self, law: str) -> Callable[..., Any]:
        draw = getattr(self._noise, law)
        return lambda scale, label=None, **options: draw(scale, label=self._rename(label), **options)


class Known(LabelledNoise[Any]):
    """A noise interface whose draws are known already, by label."""

    def __init__(self, noise: Mapping[Any, Any]) -> None:
        self._values = noise

    def draw(self, law: Law, scale: Any, label: Any = None, **options: Any) -> Any:
        """What is known."""
        return self._values[label]


def falling_or_rising(direction: str, answers: Sequence[Any], neighbour: Sequence[Any]) -> str:
    """The direction that an alignment is for: "monotonic" is the one in which the answers move."""
    if direction != "monotonic":
        return direction
    falling = all(a >= b for a, b in zip(answers, neighbour, strict=True))
    return "decreasing" if falling else "increasing"
