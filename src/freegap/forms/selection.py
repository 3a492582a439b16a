"""The form of what ranks noisy answers, and tells them by what is next to each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from freegap.errors import InvalidArgument
from freegap.forms.interfaces import require_function
from freegap.laws.labelled import LabelledNoise
from freegap.values.rationals import count_argument


class Change(NamedTuple):
    """An answer, the same answer on the neighbour, and its noise."""

    answer: Any
    neighbour: Any
    noise: Any


def _stays(least: Any, runner_up: Change, best: Any) -> int:
    return 0


@dataclass(frozen=True)
class Selection:
    """The k best of the noisy answers, and something about the value of each and the next.

    release: release(value, following) -> what is said about a selected noisy value and the next best; for the
        last one that is the best of the rest. None to release the order alone.
    shift: shift(item, least, runner_up, best) -> the shift of a selected item. `item` and `runner_up` are
        `Change`s; `least` is the smallest answer − neighbour of the selected; `best` is the largest
        unselected noisy answer of the neighbour on the same noise.
    last_shift: last_shift(least, runner_up, best) -> the shift of the runner-up. All other noise stays.
    threshold: a public competitor, as item 0, which no neighbour moves; what ranks below it is not released.
    item_charge: what each released item is charged, where fewer than k can be; else each output is charged ε.

    >>> def gap(value, following):
    ...     return value - following
    >>> form = Selection(1, "laplace", 2, gap, lambda item, least, runner_up, best: 0)
    >>> class Zero:
    ...     def laplace(self, scale, label):
    ...         return 0
    >>> form.program([3, 8, 5], Zero())
    ([1], [3])
    """

    k: int
    law: str
    scale: Any
    release: Callable[[Any, Any], Any] | None
    shift: Callable[[Change, Any, Change, Any], Any]
    last_shift: Callable[[Any, Change, Any], Any] = _stays
    threshold: Any = None
    item_charge: Any = None
    last: bool = True
    """Whether something is said of the last one and the best of the rest."""

    def __post_init__(self) -> None:
        count_argument("k", self.k)
        if not isinstance(self.law, str):
            raise InvalidArgument("law", self.law, "must be the name of a law", 'Pass for example "laplace".')
        if type(self.last) is not bool:  # it is counted with: 2 would tell of what was not selected
            raise InvalidArgument("last", self.last, "must be True or False", "Pass last=True.")
        for name in ("shift", "last_shift"):
            require_function(name, getattr(self, name))
        if self.release is not None:
            require_function("release", self.release)

    def program(self, answers: Sequence[Any], noise: LabelledNoise[Any]) -> tuple[list[int], list[Any]]:
        """The ordinary program; a proof is for more than k answers, the threshold included."""
        draw = getattr(noise, self.law)
        noisy = [answer + draw(self.scale, label=i) for i, answer in enumerate(self._all(answers))]
        order = sorted(range(len(noisy)), key=lambda i: noisy[i], reverse=True)
        items = order[: self.k]
        if self.threshold is not None and 0 in items:
            items = items[: items.index(0) + 1]
        if self.release is None:
            return items, []
        return items, [self.release(noisy[i], noisy[j]) for i, j in pairwise(order[: len(items) + self.last])]

    def alignment(
        self, answers: Sequence[Any], neighbour: Sequence[Any], output: Any, noise: Mapping[Any, Any]
    ) -> dict[Any, Any]:
        """The ordinary alignment."""
        answers, neighbour = self._all(answers), self._all(neighbour)
        items = output[0]
        rest = [i for i in range(len(answers)) if i not in items]
        second = max(rest, key=lambda i: answers[i] + noise[i])
        best = max(neighbour[i] + noise[i] for i in rest)
        runner_up = Change(answers[second], neighbour[second], noise[second])
        least = min(answers[i] - neighbour[i] for i in items)
        moved = {}
        for i in items:
            item = Change(answers[i], neighbour[i], noise[i])
            moved[i] = noise[i] + self.shift(item, least, runner_up, best)
        return moved | {second: noise[second] + self.last_shift(least, runner_up, best)}

    def chosen(self, output: tuple[Sequence[int], Any]) -> list[int]:
        """The places of the answers that an output names, each once."""
        return list(output[0]) if self.threshold is None else [i - 1 for i in output[0] if i > 0]

    def _all(self, answers: Sequence[Any]) -> Sequence[Any]:
        return answers if self.threshold is None else [self.threshold, *answers]

    @property
    def charge(self) -> Callable[[Any], Any] | None:
        """What an output is charged, where that depends on it."""
        return None if self.item_charge is None else self._total

    def _total(self, output: tuple[Sequence[int], Any]) -> Any:
        return self.item_charge * len(output[0])
