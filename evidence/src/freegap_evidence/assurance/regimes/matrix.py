"""A walk through a matrix: every case compared, the cells that were visited counted."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from freegap.bits import RecordedBits, SeededBits
from freegap.errors import BitsExhausted
from freegap_evidence.assurance.regimes.case import Matrix
from freegap_evidence.assurance.regimes.cells import Cell, Levels

_SHOWN = 400  # characters of an output


@dataclass
class Walk:
    """What was seen: how many cases, which cells, and where release and program differ.

    twin_caught: whether the twin, which is wrong on purpose, differed from a release.
    """

    cases: int = 0
    visited: set[Cell] = field(default_factory=set)
    missing: int = 0
    disagreements: list[str] = field(default_factory=list)
    twin_caught: bool = False


def walk(matrix: Matrix, seed: str, *, first: int | None = None, more: int = 0) -> Walk:
    """The cases that visit every cell, or only the first of them, and further ones whose levels are drawn."""
    found = Walk()
    for number, levels in enumerate(_levels(matrix, seed, first, more)):
        found.cases += 1
        found.visited |= matrix.cells.of(levels)
        _compare(matrix, levels, f"{seed}, case {number}", found)
    found.missing = len(matrix.cells.all - found.visited)
    return found


def _levels(matrix: Matrix, seed: str, first: int | None, more: int) -> Iterator[Levels]:
    return chain(matrix.cells.covering(seed)[:first], islice(matrix.cells.sampled(seed), more))


def _compare(matrix: Matrix, levels: Levels, seed: str, found: Walk) -> None:
    case = matrix.case(levels, seed)
    bits = RecordedBits(SeededBits(seed))
    try:
        released: Hashable = case.released(bits)
    except Exception as error:  # an error is an output, and no program has it
        released = f"{type(error).__name__}: {error}"
    expected = case.expected(bits.record, False) if bits.record else None
    if released != expected:
        where = ", ".join(f"{name} {level}" for name, level in levels.items())
        found.disagreements.append(
            f"{seed} ({where}): released {str(released)[:_SHOWN]}, by the program {str(expected)[:_SHOWN]}; "
            f"{case.told}"
        )
    if not found.twin_caught and bits.record:
        try:
            found.twin_caught = case.expected(bits.record, True) != released
        except (ArithmeticError, BitsExhausted):  # beyond the range of doubles, or beyond what was drawn
            found.twin_caught = True
