"""A matrix, and one case of it: what is released, and what the program says on the same bits."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest.mock import patch

from freegap.bits import BitSource
from freegap.exact.grid_noise import floored_noise
from freegap.exact.noisy_threshold import NoisyThreshold
from freegap.exact.ranking import NoisyRanking
from freegap_evidence.assurance.regimes.cells import Cells, Levels


@dataclass(frozen=True)
class RegimeCase:
    """One visit to a matrix.

    released: the output of the public function on a source of bits.
    expected: the output of the program, from the bits that the release took; `twin` asks for the same program
        in double precision instead, or whatever else is wrong on purpose.
    told: the arguments, for whoever looks at a disagreement.
    """

    released: Callable[[BitSource], Hashable]
    expected: Callable[[str, bool], Hashable]
    told: str


@dataclass(frozen=True)
class Matrix:
    """The cells of a mechanism with one noise, and how a case is made from its levels and a seed."""

    cells: Cells
    case: Callable[[Levels, str], RegimeCase]


def entries_of(found: Any, place: Callable[[Any], int], entry: Callable[[int, int], Any]) -> tuple[Any, ...]:
    """For each question that a batch answered: None, or the entry of its gap in steps and its branch."""
    entries: list[Any] = [None] * found.answered
    gaps = found.gap_multiples or (0,) * len(found.labels)
    for label, gap, branch in zip(found.labels, gaps, found.branches, strict=True):
        entries[place(label)] = entry(gap, branch)
    return tuple(entries)


def asked(
    mechanism: Any, questions: Iterable[tuple[Any, ...]], entry: Callable[[Any], Any]
) -> tuple[tuple[Any, ...], Fraction]:
    """The entries of the replies to one question after the other, and the charge."""
    entries: list[Any] = []
    for question in questions:
        if mechanism.exhausted:
            break
        entries.append(entry(mechanism.ask(*question)))
    return tuple(entries), mechanism.spent


PRECISIONS: dict[str, dict[str, int]] = {
    "as released": {},
    "coarse": {"filter_bits": 20, "start_digits": 8},
    "one bit": {"filter_bits": 1, "start_digits": 1},
}
"""How far the fast core trusts doubles, and with how many digits exact reals begin: nothing may change."""

EARLY = "as released, screened from 512 items on"
WAYS = PRECISIONS | {EARLY: {"screened_above": 512}}
"""And the screen of the usual case at sizes that the exact program can do: its own limit is 8,192 items."""


@contextmanager
def at_precision(level: str) -> Iterator[None]:
    """The fast core with other defaults, for as long as a case takes."""
    with ExitStack() as stack:
        for core in (NoisyRanking.__init__, NoisyThreshold.__init__, floored_noise):
            defaults = core.__kwdefaults__ or {}
            known = {name: value for name, value in WAYS[level].items() if name in defaults}
            stack.enter_context(patch.dict(defaults, known))
        yield
