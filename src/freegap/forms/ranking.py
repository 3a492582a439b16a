"""The form of what ranks noisy answers, and tells them by their distances to a noisy threshold, or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freegap.errors import InvalidArgument
from freegap.forms.interfaces import falling_or_rising, require_function
from freegap.laws.labelled import LabelledNoise


def _no_lift(direction: str) -> int:
    return 0


@dataclass(frozen=True)
class Ranking:
    """The k best of the noisy answers, as far as they are not below a noisy threshold if there is one.

    Where a `Selection` tells each selected item's distance to the next, this tells the order alone, and the
    distances to the threshold; so each item moves by its own change, whatever the others do. Ties are broken
    by place: noise may be discrete.

    shift: shift(direction, answer, neighbour) -> the shift of a selected item's noise. All other noise of
        answers stays. The direction is that of a `Stream`.
    threshold: a public number; the bar is the threshold with noise of `threshold_scale`.
    lift: lift(direction) -> the shift of the threshold's noise.
    start_charge, item_charge: an output is charged the one, and the other for each of its items.

    >>> def shift(direction, answer, neighbour):
    ...     return answer - neighbour + 1
    >>> form = Ranking(2, "laplace", 4, shift, item_charge=1)
    >>> class Zero:
    ...     def laplace(self, scale, label):
    ...         return 0
    >>> form.program([3, 8, 5], Zero())
    ([1, 2], [])
    """

    k: Any
    law: str
    scale: Any
    shift: Callable[[str, Any, Any], Any]
    item_charge: Any
    threshold: Any = None
    threshold_scale: Any = None
    lift: Callable[[str], Any] = _no_lift
    start_charge: Any = 0
    direction: str = "each"
    """As that of a `Stream`."""

    def __post_init__(self) -> None:
        if not isinstance(self.law, str):
            raise InvalidArgument("law", self.law, "must be the name of a law", 'Pass for example "laplace".')
        for name in ("shift", "lift"):
            require_function(name, getattr(self, name))
        if (self.threshold is None) != (self.threshold_scale is None):
            raise InvalidArgument(
                "threshold_scale", self.threshold_scale, "goes with threshold", "Pass both, or neither."
            )

    def program(self, answers: Sequence[Any], noise: LabelledNoise[Any]) -> tuple[list[int], list[Any]]:
        """The ordinary program: the items by rank, and their distances to the bar if there is one."""
        draw = getattr(noise, self.law)
        bar = (
            None if self.threshold is None else self.threshold + draw(self.threshold_scale, label="threshold")
        )
        noisy = [answer + draw(self.scale, label=i) for i, answer in enumerate(answers)]
        items = sorted(range(len(noisy)), key=lambda i: noisy[i], reverse=True)[: self.k]
        if bar is None:
            return items, []
        above = [i for i in items if noisy[i] >= bar]
        return above, [noisy[i] - bar for i in above]

    def alignment(
        self, answers: Sequence[Any], neighbour: Sequence[Any], output: Any, noise: Mapping[Any, Any]
    ) -> dict[Any, Any]:
        """The ordinary alignment."""
        direction = falling_or_rising(self.direction, answers, neighbour)
        moved: dict[Any, Any] = {
            i: noise[i] + self.shift(direction, answers[i], neighbour[i]) for i in output[0]
        }
        if self.threshold is None:
            return moved
        return moved | {"threshold": noise["threshold"] + self.lift(direction)}

    def chosen(self, output: tuple[Sequence[int], Any]) -> list[int]:
        """The places of the answers that an output names, each once."""
        return list(output[0])

    def charge(self, output: tuple[Sequence[int], Any]) -> Any:
        """What an output is charged."""
        return self.start_charge + self.item_charge * len(output[0])
