"""The form of what does one thing after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from freegap.errors import InvalidArgument
from freegap.forms.interfaces import Labelled
from freegap.forms.ranking import Ranking
from freegap.forms.selection import Selection
from freegap.forms.stream import Stream
from freegap.laws.labelled import LabelledNoise

Part = Selection | Ranking | Stream


@dataclass(frozen=True)
class Composition:
    """One form, and then another on the answers that the first one chose, or on all of them.

    first, second: the forms. The output is both outputs.
    budgets: what each part may cost; an output is charged so much for a part that has no charge of its own.
    chosen: whether the second sees only what the first one chose: the items of a `Selection` or `Ranking`, or
        the answers whose entries in a `Stream` are not None. Else it sees all answers.

    >>> def gap(value, following):
    ...     return value - following
    >>> best = Selection(1, "laplace", 2, gap, lambda item, least, runner_up, best: 0)
    >>> def step(state, answer, noise):
    ...     return None, answer + noise.laplace(1, label="answer"), False
    >>> measure = Stream(lambda noise: None, step, lambda direction: {}, lambda direction, *change: {})
    >>> class Zero:
    ...     def laplace(self, scale, label):
    ...         return 0
    >>> Composition(best, measure, budgets=(1, 1)).program([3, 8, 5], Zero())
    (([1], [3]), [8])
    """

    first: Part
    second: Part
    budgets: tuple[Any, Any]
    chosen: bool = True

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            part = getattr(self, name)
            if not isinstance(part, Part):
                raise InvalidArgument(name, part, "must be a form for every n", "Pass for example a Stream.")
        if self.chosen and not isinstance(self.second, Stream):
            raise InvalidArgument(
                "second", self.second, "must take any number of chosen answers", "Pass a Stream."
            )

    def program(self, answers: Sequence[Any], noise: LabelledNoise[Any]) -> tuple[Any, Any]:
        """The ordinary program. Draws of the parts are labelled ("first", label) and ("second", label)."""
        one = self.first.program(answers, Labelled(noise, partial(_named, "first")))
        return one, self.second.program(self._seen(answers, one), Labelled(noise, partial(_named, "second")))

    def alignment(
        self, answers: Sequence[Any], neighbour: Sequence[Any], output: Any, noise: Mapping[Any, Any]
    ) -> dict[Any, Any]:
        """The ordinary alignment: that of each part."""
        one, other = output
        first = self.first.alignment(answers, neighbour, one, _part("first", noise))
        seen = [self._seen(numbers, one) for numbers in (answers, neighbour)]
        second = self.second.alignment(seen[0], seen[1], other, _part("second", noise))
        moved = {_named("first", label): value for label, value in first.items()}
        return moved | {_named("second", label): value for label, value in second.items()}

    def charge(self, output: tuple[Any, Any]) -> Any:
        """What an output is charged: what it is for both parts."""
        parts = zip((self.first, self.second), output, self.budgets, strict=True)
        return sum(budget if part.charge is None else part.charge(value) for part, value, budget in parts)

    def _seen(self, answers: Sequence[Any], output: Any) -> Sequence[Any]:
        return [answers[i] for i in self.first.chosen(output)] if self.chosen else answers


def _named(part: str, label: Any) -> tuple[str, Any]:
    return (part, label)


def _part(part: str, noise: Mapping[Any, Any]) -> dict[Any, Any]:
    return {label[1]: value for label, value in noise.items() if label[0] == part}
