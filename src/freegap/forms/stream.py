"""The form of what takes its answers one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from freegap.errors import InvalidArgument
from freegap.forms.interfaces import Known, Labelled, falling_or_rising, require_function
from freegap.laws.labelled import LabelledNoise


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
            require_function(name, getattr(self, name))
        if self.finish is not None or self.finish_shifts is not None:
            for name in ("finish", "finish_shifts"):
                require_function(name, getattr(self, name))
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
        direction = falling_or_rising(self.direction, answers, neighbour)
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

    def chosen(self, output: Sequence[Any]) -> list[int]:
        """The places of the answers with an entry that is not None."""
        entries = output if self.finish is None else output[:-1]
        return [i for i, entry in enumerate(entries) if entry is not None]

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
