"""Concrete runs: the real mechanism on rational answers and given noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.prover.problem import Alignment, Problem
from freegap.symbolic import NotDecided
from freegap.symbolic.given import GivenNoise


@dataclass(frozen=True)
class Replay:
    """Both runs of the real mechanism, and what the alignment did between them."""

    answers: tuple[Fraction, ...]
    neighbour: tuple[Fraction, ...]
    noise: Mapping[Any, Fraction]
    output: Any
    aligned: Mapping[Any, Fraction]
    output_of_neighbour: Any
    cost: Fraction
    charge: Fraction
    off_support: tuple[Any, ...]

    @property
    def same_output(self) -> bool:
        """Whether the neighbour gave the same output."""
        return bool(self.output == self.output_of_neighbour)

    @property
    def violated(self) -> bool:
        """Whether this point breaks a condition: support, output or cost."""
        return bool(self.off_support) or not self.same_output or self.cost > self.charge


def replay(
    problem: Problem,
    alignment: Alignment,
    answers: list[Fraction],
    neighbour: list[Fraction],
    noise: Mapping[Any, Fraction],
) -> Replay:
    """Run the mechanism on both inputs, the second time on the aligned noise."""
    first = GivenNoise(noise)
    output = problem.run(list(answers), first)
    drawn = {label: noise[label] for label in first.drawn}
    moved = problem.align(alignment, list(answers), list(neighbour), output, dict(drawn))
    aligned = {label: Fraction(moved.get(label, value)) for label, value in drawn.items()}
    cost = Fraction(0)
    off = []
    for label, (law, scale, grid, step) in first.drawn.items():
        cost += law.price.of(aligned[label] - drawn[label], scale, step)
        on_lattice = grid is None or (aligned[label] / grid).denominator == 1
        if not on_lattice or (law.one_sided and aligned[label] < 0):
            off.append(label)
    # Off its support the noise has probability zero: there is no second run to show.
    again = None if off else problem.run(list(neighbour), GivenNoise(aligned))
    return Replay(
        answers=tuple(answers),
        neighbour=tuple(neighbour),
        noise=drawn,
        output=output,
        aligned=aligned,
        output_of_neighbour=again,
        cost=cost,
        charge=Fraction(problem.charged(output)),
        off_support=tuple(off),
    )


def replay_or_refuse(
    problem: Problem,
    alignment: Alignment,
    answers: Sequence[Fraction],
    neighbour: Sequence[Fraction],
    noise: Mapping[Any, Fraction],
) -> Replay:
    """The same; `NotDecided` where the user's programs raise something on these numbers."""
    try:
        return replay(problem, alignment, list(answers), list(neighbour), noise)
    except Exception as error:
        reason = f"the replay of a counterexample raised {type(error).__name__}: {error}"
        raise NotDecided(reason) from error
