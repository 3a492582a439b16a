"""What is to be proved: a mechanism, its inputs, the neighbours, and the charge.

The protocol, for mechanisms and alignments alike, is ordinary Python on any kind of number:

    mechanism(answers, noise, **parameters) -> output
    alignment(answers, neighbour, output, noise, **parameters) -> {label: aligned noise}
    charge(output, **parameters) -> number

`answers` and `neighbour` are lists of numbers. A mechanism draws `noise.laplace(scale, label=…)` and so
on; a draw without a label is labelled by its place (0, 1, …). An alignment gets the draws as a dict from
label to value, in the order of drawing, and returns the aligned values H' of the draws that it moves; what
it leaves out stays. It may depend on the output, which is how it knows the branches that were taken.
Alignments and charges get those of the parameters that they name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import z3

import freegap.prover.models  # noqa: F401 - forms, to the interpreter
from freegap.errors import InvalidArgument
from freegap.laws.labelled import LabelledNoise
from freegap.symbolic import Limits, Symbol, SymbolicVariable, integer, real
from freegap.symbolic.subset import fresh, is_ours
from freegap.symbolic.subset.source import signature_of
from freegap.values.neighbours import DIRECTIONS, NEIGHBOURS, directions_of

Mechanism = Callable[..., Any]
Alignment = Callable[..., Mapping[Any, Any]]
Charge = Callable[..., Any]

WORDS = NEIGHBOURS | DIRECTIONS
"""What `neighbours` may be in a proof."""


@dataclass(frozen=True)
class NeighbourCase:
    """One case of what neighbours may be, as a z3 formula; the cases together are all of it."""

    name: str
    formula: Any


@dataclass(frozen=True, eq=False)
class Problem:
    """A mechanism at a bounded size, with everything that a proof depends on."""

    mechanism: Mechanism
    epsilon: Fraction
    queries: int
    sensitivity: Fraction = Fraction(1)
    neighbours: str = "each"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    rho: Fraction | None = None
    """In place of ε, for a claim in ρ."""
    charge: Charge | None = None
    resolution: Fraction | None = None
    limits: Limits = field(default_factory=Limits)
    custom_cases: tuple[NeighbourCase, ...] | None = None
    """In place of those of `neighbours`, where a proof by induction needs its own."""
    resolutions: tuple[Fraction | None, ...] | None = None
    """Of each answer, where they differ: some numbers of a state are whole, and others are not."""

    @cached_property
    def answers(self) -> list[Symbol]:
        """q₁ … qₙ."""
        return self._unknowns("answers")

    @cached_property
    def neighbour(self) -> list[Symbol]:
        """q'₁ … q'ₙ."""
        return self._unknowns("neighbour")

    def _unknowns(self, name: str) -> list[Symbol]:
        widths = self.resolutions or (self.resolution,) * self.queries
        return [
            real(f"{name}[{i}]") if width is None else integer(f"{name}[{i}]", width)
            for i, width in enumerate(widths)
        ]

    @cached_property
    def to_neighbour(self) -> dict[SymbolicVariable, Symbol]:
        """The substitution of q' for q."""
        return {_variable(q): p for q, p in zip(self.answers, self.neighbour, strict=True)}

    @property
    def concrete(self) -> bool:
        """Whether programs can be run: they have no symbols for parameters."""
        return isinstance(self.sensitivity, Fraction)

    @property
    def directions(self) -> tuple[str, ...]:
        """What a proof for all n goes through: "one" is a special case of "each", and is proved with it."""
        return directions_of("each" if self.neighbours == "one" else self.neighbours)

    @cached_property
    def cases(self) -> list[NeighbourCase]:
        """What neighbours may be, in cases."""
        if self.custom_cases is not None:
            return list(self.custom_cases)
        pairs = [(q.z3, p.z3) for q, p in zip(self.answers, self.neighbour, strict=True)]
        delta = Symbol.of(self.sensitivity).z3
        up = NeighbourCase("increasing", z3.And([z3.And(q <= p, p - q <= delta) for q, p in pairs]))
        down = NeighbourCase("decreasing", z3.And([z3.And(p <= q, q - p <= delta) for q, p in pairs]))
        near = z3.And([z3.And(q - p <= delta, p - q <= delta) for q, p in pairs])
        still = z3.Or([z3.And([q == p for q, p in pairs[:i] + pairs[i + 1 :]]) for i in range(len(pairs))])
        return {
            "each": [NeighbourCase("each", near)],
            "one": [NeighbourCase("one", z3.And(near, still))],
            "increasing": [up],
            "decreasing": [down],
            "monotonic": [up, down],
        }[self.neighbours]

    def keywords(self, function: Callable[..., Any], *, all_given: bool = False) -> dict[str, Any]:
        """The parameters to call a function with: those that it names (or all, for the mechanism)."""
        accepted = _signature(function).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        claimed = {"epsilon": self.epsilon} if self.rho is None else {"rho": self.rho}
        context = {**claimed, "sensitivity": self.sensitivity}
        chosen = {name: value for name, value in context.items() if name in accepted}
        for name, value in self.parameters.items():
            if all_given or takes_any or name in accepted:
                chosen[name] = value
        known: dict[int, Any] = {}
        return {name: fresh(value, lambda leaf: leaf, known) for name, value in chosen.items()}

    def require_callable(self, argument: str, function: Callable[..., Any], *names: str) -> None:
        """A function that cannot be called as it will be is the caller's mistake, found before any work."""
        if is_ours(function):
            raise InvalidArgument(argument, function, "is a piece of the prover", "Pass a function.")
        if not callable(function):
            raise InvalidArgument(argument, function, "must be a function", "Pass the function itself.")
        try:
            given = self.keywords(function, all_given=argument == "mechanism")
            _signature(function).bind(*names, **given)
        except TypeError as error:
            called = f"{argument}({', '.join(names)}, **parameters)"
            remedy = "Name the parameters that it takes, and pass them all in parameters."
            constraint = f"cannot be called as {called}: {error}"
            raise InvalidArgument(argument, function, constraint, remedy) from None

    def run(self, answers: list[Any], noise: LabelledNoise[Any]) -> Any:
        """The mechanism on these answers and this noise."""
        return self.mechanism(answers, noise, **self.keywords(self.mechanism, all_given=True))

    def align(self, alignment: Alignment, *context: Any) -> Mapping[Any, Any]:
        """The alignment on (answers, neighbour, output, noise)."""
        return alignment(*context, **self.keywords(alignment))

    def charged(self, output: Any) -> Any:
        """What this output may cost: what the mechanism charges for it, and in no case more than ε."""
        if self.charge is None:
            return self.epsilon
        charge = self.charge(output, **self.keywords(self.charge))
        return charge if charge <= self.epsilon else self.epsilon


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return signature_of(function)
    except ValueError as error:  # some built-in functions
        raise TypeError(str(error)) from None


def _variable(symbol: Symbol) -> SymbolicVariable:
    (variable,) = symbol.variables
    return variable
