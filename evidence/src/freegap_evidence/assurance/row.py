"""One line of the assurance table: a mechanism with one noise, and what is needed to check it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from freegap.bits import BitSource
from freegap.values.measures import Measure, Pure
from freegap_evidence.assurance.at_once import ReleaseMany
from freegap_evidence.assurance.regimes.case import Matrix

EPSILON = Fraction(3, 2)
"""What the mechanisms are asked for in all checks; the laws are worked out at it."""
MILLION = 1_000_000
"""So many releases, at least, an audit looks at."""
ENOUGH = 410_000
"""So many that confirm on each input, with those of the search, are a million."""


class Released(NamedTuple):
    """What one release made public, and what it said that it spent."""

    output: Hashable
    spent: Fraction


Pair = tuple[tuple[int, ...], tuple[int, ...]]
Release = Callable[[Sequence[float], Fraction, BitSource], Released]


def releasing(
    function: Callable[..., Any], output: Callable[[Any], Hashable], *more: Any, **options: Any
) -> Release:
    """A public function on a list of answers, with these further arguments, its output made hashable."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = function(list(answers), *more, **options, epsilon=epsilon, bits=bits)
        return Released(output(found), found.spent)

    return release


@dataclass(frozen=True)
class Proved:
    """An alignment proof by machine: the claims of this entry of the library, for the row's noise."""

    entry: str
    selected: Mapping[str, Any] | None = None
    """Only claims with these parameters, such as gap=False."""


@dataclass(frozen=True)
class Cited:
    """Why there is no alignment proof, and where the proof is."""

    reason: str


@dataclass(frozen=True)
class NoFastPath:
    """Why there is nothing to compare: the release runs the program itself."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """How to check one mechanism with one noise.

    function: the public name, as `freegap` exports it.
    variant: what else distinguishes it, such as "without gap".
    theorem: what the charge rests on.
    release: `release(answers, epsilon, bits)`: the public function itself, with its output made hashable.
    answers, law: a tiny case, and the exact probability of each output of it at `EPSILON`, worked out
        without the library's formulas. What the law leaves out is one cell of the test.
    pairs: neighbouring answers at which the audit looks.
    regimes: where the fast path is compared with the program.
    charge: the most that a release at ε spends, in its measure.
    measure: what the charge is in: ε, ρ, or ε with a δ.
    law_at: of answers and ε, the exact law there: the loss of the pairs follows from it, and in ρ the
        divergences, which must not exceed the charge.
    delta: the δ that goes with it.
    blatant: how many times too narrow the noise is of the audit's twin.
    costly: a release takes milliseconds, so there are fewer of them.
    at_once: many releases by the same function, for the audit; without it they are made one by one.
    most_at_once: how many of them confirm, on each input, where they take longer than others.
    """

    function: str
    noise: str
    variant: str = ""
    theorem: str
    proof: Proved | Cited
    release: Release
    answers: tuple[int, ...] = (1, -1)
    law: Callable[[], Mapping[Any, float]]
    pairs: tuple[Pair, ...]
    regimes: Matrix | NoFastPath
    charge: Callable[[Fraction], Fraction] = lambda epsilon: epsilon
    delta: Fraction = Fraction(0)
    measure: type[Measure] = Pure
    law_at: Callable[[Sequence[float], Fraction], Mapping[Any, float]] | None = None
    blatant: int = 4
    costly: bool = False
    at_once: ReleaseMany | None = None
    most_at_once: int | None = None

    @property
    def title(self) -> str:
        """The row in a few words."""
        return ", ".join(part for part in (self.function, self.variant, self.noise) if part)
