"""One step of a `Stream` as a mechanism of its own, for proofs by induction over the steps.

Its answers are the answer of the step and, after it, the numbers of the state; its output is the entry, the
next state (None where nothing follows) and whether to stop. The end of a stream is a step without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from freegap.forms import Stream
from freegap.laws.labelled import LabelledNoise
from freegap.prover.classes import OutputClass
from freegap.prover.injective import check_injective
from freegap.prover.outputs import constants_of, flatten, rebuild
from freegap.prover.pieces import Piece, PieceChecks
from freegap.prover.problem import NeighbourCase, Problem
from freegap.prover.report import CONDITIONS, Established
from freegap.prover.tightness import Suprema
from freegap.symbolic import NotDecided, Symbol
from freegap.symbolic.given import Varying
from freegap.symbolic.paths import VARYING
from freegap.symbolic.subset import NoiseInterface, Trusted
from freegap.symbolic.subset.machine import Machine
from freegap.symbolic.symbols import constant


def _same(value: Any) -> Any:
    return value


def _called(function: Callable[..., Any], given: Sequence[Any]) -> Any:
    return function(*given)


def step_program(
    form: Stream, skeleton: Any, *, ending: bool = False, seal: Callable[[Any], Any] = _same
) -> Trusted:
    """A step from states of this skeleton, or the end from there; `seal` is applied to the entry."""

    def taken(
        call: Any, answers: Sequence[Any], noise: Any, typed: Callable[[Any], Any] = _same
    ) -> tuple[Any, Any, bool]:
        state = typed(rebuild(skeleton, answers[1:]))
        if ending:
            return seal(call(form.finish, [state, noise])), None, True
        found = call(form.step, [state, answers[0], noise])
        if type(found) is not tuple or len(found) != 3 or type(found[2]) is not bool:
            raise NotDecided("a step must return (state, entry, whether to stop: True or False)")
        after, entry, stop = found
        return seal(entry), None if stop and form.finish is None else after, stop

    def meaning(machine: Machine, answers: list[Any], noise: NoiseInterface) -> Any:
        return taken(machine.call, answers, noise)

    def on_numbers(answers: list[Any], noise: LabelledNoise[Any]) -> Any:
        return taken(_called, answers, noise, _of_unknown_type)

    return Trusted(meaning, on_numbers)


def _of_unknown_type(state: Any) -> Any:
    """A state, of whose constants the skeleton does not say whether they are floats or Fractions."""
    if type(state) in (list, tuple):
        return type(state)(map(_of_unknown_type, state))
    if type(state) is dict:
        return {key: _of_unknown_type(value) for key, value in state.items()}
    return Varying(state) if type(state) is Fraction else state


def require_typed_entry(output: OutputClass) -> None:
    """No constant of the state is put out: what type it has there is not known, and the type is seen."""
    for path, numbers in zip(output.paths, output.numbers, strict=True):
        told = zip(constants_of(output.skeleton.children[0], numbers), path.types or (), strict=False)
        if any(number is not None and name == VARYING for number, name in told):
            raise NotDecided("a constant number of the state is put out: its type is not known for all n")


def step_alignment(
    form: Stream,
    direction: str,
    skeleton: Any,
    *,
    ending: bool = False,
    unseal: Callable[[Any], Any] = _same,
) -> Trusted:
    """The alignment of such a step: its shifts, added to its draws."""

    def moved(call: Any, answers: Any, neighbour: Any, value: Any, noise: Mapping[Any, Any]) -> Any:
        state, other = (rebuild(skeleton, numbers[1:]) for numbers in (answers, neighbour))
        entry = unseal(value[0])
        if ending:
            shifts = call(form.finish_shifts, [direction, state, entry, other])
        else:
            given = [direction, state, entry, answers[0], neighbour[0]]
            shifts = call(form.step_shifts, [*given, other] if form.both_states else given)
        if type(shifts) is not dict or not shifts.keys() <= noise.keys():
            name = "finish_shifts" if ending else "step_shifts"
            raise NotDecided(f"{name} must return shifts of the draws there: {sorted(map(str, noise))}")
        if not all(type(shift) is Symbol or constant(shift) is not None for shift in shifts.values()):
            raise NotDecided("a shift of a step is not a number")
        return {label: noise[label] + shift for label, shift in shifts.items()}

    def meaning(machine: Machine, *context: Any) -> Any:
        return moved(machine.call, *context)

    def on_numbers(*context: Any) -> Any:
        return moved(_called, *context)

    return Trusted(meaning, on_numbers)


def offset_formulas(step: Problem, offsets: Sequence[Symbol]) -> list[Any]:
    """That the numbers of the neighbour's state are larger by the offsets."""
    states = zip(step.answers[1:], step.neighbour[1:], offsets, strict=True)
    return [p.z3 == (q + offset).z3 for q, p, offset in states]


def kept_numbers(output: OutputClass) -> int:
    """How many numbers of a step's output, at its end, are those of the next state."""
    _, state, _ = output.skeleton.children
    return len(flatten(rebuild(state, output.released))[1])


def with_offsets(output: OutputClass, offsets: Sequence[Symbol]) -> OutputClass:
    """The same kind of output, where the entry must be equal, and the next state larger by the offsets."""
    zero = (Symbol.of(0),) * (len(output.released) - len(offsets))
    return replace(output, offsets=zero + tuple(offsets))


def established(how: Mapping[str, str], reason: str | None) -> tuple[Established, ...]:
    """The conditions of a proof: all of them so established, or none, for a reason."""
    return tuple(
        Established(
            name, True if reason is None else None, how[name] if reason is None else "not established"
        )
        for name in CONDITIONS
    )


def proved(output: OutputClass, case: NeighbourCase, pieces: list[Piece], suprema: Suprema) -> Fraction:
    """The largest cost of this step with this entry, which is proved to be aligned."""
    checks = PieceChecks(output, case)
    for piece in pieces:
        with checks.at(piece):
            found = checks.violation(piece)
            if found is not None:
                raise NotDecided(
                    f"the {found[0]} is not established for the entry {output.name}; "
                    "prove a bounded size for a refutation"
                )
            suprema.add(checks, piece)
    # Acyclic, and not only one-to-one for the same next state, which is not released.
    if check_injective(output, case, pieces) != "acyclic":
        raise NotDecided(f"the alignment for the entry {output.name} is not acyclic")
    return suprema.of(output)
