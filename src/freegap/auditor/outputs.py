"""Many outputs as columns: whatever a mechanism returns becomes numbers and labels that can be counted.

An output is a tree: a number, a label (True, "yes", None, NaN, …) or a list, tuple or record of those. A
column is one place in the tree, named by its path; `()` is the output itself, `(3,)` its fourth item,
`("gap",)` a field. Each cell is a number, a label, or absent, and says which it is:

    codes    INTEGER, REAL, ABSENT, or the place of the cell's label in `labels`
    numbers  the value, where the cell is a number

NaN and the infinities are labels, so that they are values of their own and never poison a mean. True is a
label and not the number 1. The length of a list shows as the number of cells that are present. A tree
that is not a list has a cell with its type at `TYPE`, a mapping whose keys are not in order one with their
order at `ORDER`, and a set one for each member. What a cell holds depends on its own run alone, never
on the other outputs of the batch: an event must not change with the company it is counted in.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

ABSENT, REAL, INTEGER = -1, -2, -3

Path = tuple[int | str, ...]
TYPE: Path = ("type()",)
ORDER = "order()"
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Label:
    """A value that is not a finite number, known by its type and how it is written."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text


A_NUMBER = Label("number", "a number")


def are_numbers(codes: Codes) -> NDArray[np.bool_]:
    """Which codes stand for a finite number: the two below all others."""
    found: NDArray[np.bool_] = codes < ABSENT
    return found


@dataclass(frozen=True)
class Outputs:
    """Outputs of several runs, one row per run, one column per place in the output."""

    codes: Codes
    numbers: Floats
    paths: tuple[Path, ...]
    labels: tuple[Label, ...]
    remarks: frozenset[str] = frozenset()
    """What of the outputs was not looked at."""

    def __len__(self) -> int:
        return len(self.codes)

    @cached_property
    def is_number(self) -> NDArray[np.bool_]:
        """Which cells hold a finite number."""
        return are_numbers(self.codes)

    def column(self, path: Path) -> tuple[Codes, Floats]:
        """Codes and numbers of one place; absent everywhere if no output has it."""
        try:
            at = self.paths.index(path)
        except ValueError:
            return np.full(len(self), ABSENT, dtype=np.int32), np.zeros(len(self))
        return self.codes[:, at], self.numbers[:, at]

    def part(self, start: int, end: int) -> Outputs:
        """The outputs of some of the runs."""
        return dataclasses.replace(self, codes=self.codes[start:end], numbers=self.numbers[start:end])

    def rows_at(self, places: NDArray[np.intp]) -> Outputs:
        """The outputs of these runs, in this order."""
        codes, values = self.codes.T.take(places, axis=1).T, self.numbers.T.take(places, axis=1).T
        return dataclasses.replace(self, codes=codes, numbers=values)

    def code_of(self, label: Label) -> int | None:
        """The code of a label, or None if it does not occur."""
        return self.labels.index(label) if label in self.labels else None

    def rows(self, first: int) -> list[tuple[tuple[Path, object], ...]]:
        """The first few outputs, as (path, value) pairs of what is present; a real number is `A_NUMBER`."""
        return [
            tuple(
                (path, self.labels[code] if code >= 0 else A_NUMBER if code == REAL else float(number))
                for path, code, number in zip(self.paths, self.codes[i], self.numbers[i], strict=True)
                if code != ABSENT
            )
            for i in range(min(first, len(self)))
        ]


def beside(parts: Iterable[tuple[Path, Outputs]]) -> Outputs:
    """Outputs put side by side, each part's paths below a prefix."""
    labels: dict[Label, int] = {}
    codes: list[Codes] = []
    values: list[Floats] = []
    paths: list[Path] = []
    remarks: frozenset[str] = frozenset()
    for prefix, part in parts:
        remarks |= part.remarks
        codes.append(recode(part, labels))
        values.append(part.numbers)
        paths.extend((*prefix, *path) for path in part.paths)
    # the transposes of columns beside each other are rows below each other: no reordering in memory
    below = np.concatenate([part.T for part in codes]).T
    numbers = np.concatenate([part.T for part in values]).T
    return Outputs(below, numbers, tuple(paths), tuple(labels), remarks)


def empty() -> Outputs:
    """The outputs of no runs."""
    return Outputs(np.empty((0, 0), dtype=np.int32), np.empty((0, 0)), (), ())


def join(parts: Sequence[Outputs], places: Sequence[NDArray[np.intp]] | None = None) -> Outputs:
    """Outputs put one below the other, or each at its place.

    places: of the outputs of every part; all of them together are all places.
    """
    if len(parts) == 1:
        return parts[0] if places is None else parts[0].rows_at(np.argsort(places[0]))
    paths: dict[Path, int] = {}
    labels: dict[Label, int] = {}
    for part in parts:
        for path in part.paths:
            paths.setdefault(path, len(paths))
    size = sum(map(len, parts))
    codes = np.full((size, len(paths)), ABSENT, dtype=np.int32, order="F")
    values = np.zeros((size, len(paths)), order="F")
    start = 0
    for number, part in enumerate(parts):
        at = slice(start, start + len(part)) if places is None else places[number]
        recoded = recode(part, labels)
        for column, path in enumerate(part.paths):  # column after column in memory, as they lie there
            codes[at, paths[path]] = recoded[:, column]
            values[at, paths[path]] = part.numbers[:, column]
        start += len(part)
    remarks = frozenset[str]().union(*(part.remarks for part in parts))
    return Outputs(codes, values, tuple(paths), tuple(labels), remarks)


def recode(part: Outputs, labels: dict[Label, int]) -> Codes:
    """The codes of a part, in terms of a growing shared list of labels."""
    lookup = np.array([labels.setdefault(label, len(labels)) for label in part.labels], dtype=np.int32)
    if not len(lookup) or (lookup == np.arange(len(lookup))).all():
        return part.codes
    return np.where(part.codes >= 0, lookup[np.maximum(part.codes, 0)], part.codes)
