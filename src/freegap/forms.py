"""What a mechanism is: a program on labelled noise, its charge, and the alignment that proves it private.

One text is released, proved, audited and replayed: a form. Every form has

    program(answers, noise) -> output                                on any kind of number
    alignment(answers, neighbour, output, noise) -> aligned noise    by label
    charge(output) -> number                                         or None: every output is charged ε

`Aligned`    any program, with its alignment and charge. It is proved at a bounded number of answers.

For every n, the prover must know how answers enter. Two forms say it, and make program and alignment out of
their parts:

`Selection`  noises all answers alike, ranks them, and releases the k best, and something about the noisy
             value of each and the next. The rest enters only through its maximum.
`Stream`     draws at the start, then takes the answers one by one in a step that sees only its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from freegap.errors import InvalidArgument
from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise
from freegap.values.rationals import count_argument

__all__ = ["Aligned", "Change", "Form", "Known", "Labelled", "Selection", "Stream"]


@dataclass(frozen=True)
class Aligned:
    """A program with its alignment, and with its charge where that depends on the output."""

    program: Callable[[Sequence[Any], LabelledNoise[Any]], Any]
    alignment: Callable[[Sequence[Any], Sequence[Any], Any, Mapping[Any, Any]], dict[Any, Any]]
    charge: Callable[[Any], Any] | None = None


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
        for name in ("shift", "last_shift"):
            _require_function(name, getattr(self, name))
        if self.release is not None:
            _require_function("release", self.release)

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

    def _all(self, answers: Sequence[Any]) -> Sequence[Any]:
        return answers if self.threshold is None else [self.threshold, *answers]

    @property
    def charge(self) -> Callable[[Any], Any] | None:
        """What an output is charged, where that depends on it."""
        return None if self.item_charge is None else self._total

    def _total(self, output: tuple[Sequence[int], Any]) -> Any:
        return self.item_charge * len(output[0])


@dataclass(frozen=True)
class Stream:
    """Answers one after the other, with a state in between.

    start: start(noise) -> state, drawing the first noise.
    step: step(state, answer, noise) -> (state, entry, stop), drawing the noise for one answer. The output is
        the list of entries.
    start_shifts: start_shifts(direction) -> {label: shift}, numbers. The direction says how the neighbour
        moves: "each" (either way), "increasing" or "decreasing".
    step_shifts: step_shifts(direction, state, entry, answer, neighbour) -> {label: shift}; with `both_states`
        the state of the neighbour comes after these.
    finish: finish(state, noise) -> a last entry, after the last answer.
    finish_shifts: finish_shifts(direction, state, entry, other) -> {label: shift}; `other` is the state of
        the neighbour.

    >>> def start(noise):
    ...     return 5 + noise.laplace(2, label="threshold")
    >>> def step(threshold, answer, noise):
    ...     above = answer + noise.laplace(4, label="answer") >= threshold
    ...     return threshold, above, above
    >>> form = Stream(start, step, lambda direction: {}, lambda direction, *change: {})
    >>> class Zero:
    ...     def laplace(self, scale, label):
    ...         return 0
    >>> form.program([3, 8, 9], Zero())
    [False, True]
    """

    start: Callable[[Any], Any]
    step: Callable[[Any, Any, Any], tuple[Any, Any, bool]]
    start_shifts: Callable[[str], Mapping[Any, Any]]
    step_shifts: Callable[..., Mapping[Any, Any]]
    direction: str = "each"
    """For `alignment` at a bounded size, where "monotonic" looks at the answers which way they move; a proof
    for all n goes through the cases of its neighbours."""
    place_alone: bool = False
    """A step makes one draw, and it is labelled i and not (i, label)."""
    start_charge: Any = None
    """What the start is charged, if the charge depends on the output; None where each output is charged ε."""
    entry_charge: Callable[[Any], Any] | None = None
    """entry_charge(entry) -> what this entry of the output is charged besides."""
    both_states: bool = False
    """Whether step_shifts depends on the state of the neighbour."""
    finish: Callable[[Any, Any], Any] | None = None
    finish_shifts: Callable[[str, Any, Any, Any], Mapping[Any, Any]] | None = None

    def __post_init__(self) -> None:
        for name in ("start", "step", "start_shifts", "step_shifts"):
            _require_function(name, getattr(self, name))
        if self.finish is not None or self.finish_shifts is not None:
            for name in ("finish", "finish_shifts"):
                _require_function(name, getattr(self, name))
        if (self.start_charge is None) != (self.entry_charge is None):
            raise InvalidArgument(
                "entry_charge", self.entry_charge, "goes with start_charge", "Pass both, or neither."
            )

    def program(self, answers: Sequence[Any], noise: LabelledNoise[Any]) -> list[Any]:
        """The ordinary program. The draws of step i are labelled (i, label), or i alone."""
        state = self.start(noise)
        output = []
        for i, answer in enumerate(answers):
            state, entry, stop = self.step(state, answer, Labelled(noise, partial(self._label, i)))
            output.append(entry)
            if stop:
                break
        if self.finish is not None:
            output.append(self.finish(state, Labelled(noise, partial(self._label, "end"))))
        return output

    def alignment(
        self, answers: Sequence[Any], neighbour: Sequence[Any], output: Any, noise: Mapping[Any, Any]
    ) -> dict[Any, Any]:
        """The ordinary alignment: the states are those of the first run."""
        direction = self.direction
        if direction == "monotonic":
            falling = all(a >= b for a, b in zip(answers, neighbour, strict=True))
            direction = "decreasing" if falling else "increasing"
        moved = {label: noise[label] + s for label, s in self.start_shifts(direction).items()}
        paired = self.both_states or self.finish is not None
        state = self.start(Known(noise))
        other = self.start(Known({**noise, **moved})) if paired else None
        for i, entry in enumerate(output if self.finish is None else output[:-1]):
            given = [direction, state, entry, answers[i], neighbour[i]]
            shifts = self.step_shifts(*given, other) if self.both_states else self.step_shifts(*given)
            moved = moved | self._moved(i, shifts, noise)
            rename = partial(self._label, i)
            state, _, _ = self.step(state, answers[i], Labelled(Known(noise), rename))
            if paired:
                other, _, _ = self.step(other, neighbour[i], Labelled(Known({**noise, **moved}), rename))
        if self.finish_shifts is not None:
            shifts = self.finish_shifts(direction, state, output[-1], other)
            moved = moved | self._moved("end", shifts, noise)
        return moved

    def _moved(self, place: Any, shifts: Mapping[Any, Any], noise: Mapping[Any, Any]) -> dict[Any, Any]:
        labels = {label: self._label(place, label) for label in shifts}
        return {labels[label]: noise[labels[label]] + shift for label, shift in shifts.items()}

    @property
    def charge(self) -> Callable[[Sequence[Any]], Any] | None:
        """What an output is charged, where that depends on it."""
        return None if self.entry_charge is None else self._total

    def _total(self, output: Sequence[Any]) -> Any:
        total = self.start_charge
        for entry in output:
            total += self.entry_charge(entry)  # type: ignore[misc]
        return total

    def _label(self, place: Any, label: Any) -> Any:
        return place if self.place_alone else (place, label)


Form = Aligned | Selection | Stream


def _require_function(name: str, function: Any) -> None:
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
