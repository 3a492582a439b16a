"""What an event looks at: one number or label taken from each output (Ding 2020 §4.3.3).

A feature is a small frozen record that can be sent to a worker process, says in words what it is, and reads
a whole batch at once. What it reads of an output depends on that output alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.outputs import (
    A_NUMBER,
    ABSENT,
    INTEGER,
    REAL,
    TYPE,
    Codes,
    Floats,
    Label,
    Outputs,
    Path,
    are_numbers,
)

MOST_COMPONENTS = 32
MOST_LIGHT = 4
MOST_LABELS = 8
MOST_DIFFERENCES = 4
HUGE = 1e100

_KINDS = 3  # codes run from -3: a number (twice), nothing, and then the labels


@dataclass(frozen=True)
class Reading:
    """What a feature read of each output: a number (REAL or INTEGER), a label, or nothing (ABSENT)."""

    codes: Codes
    numbers: Floats
    labels: tuple[Label, ...]

    @cached_property
    def is_number(self) -> NDArray[np.bool_]:
        """Where a number was read."""
        return are_numbers(self.codes)


class Feature(Protocol):
    """One number or label of each output."""

    @property
    def text(self) -> str:
        """The feature in words, as the subject of a sentence."""
        ...

    def read(self, outputs: Outputs) -> Reading:
        """The feature of every output of a batch."""
        ...


def path_text(path: Path) -> str:
    """A place in the output, as one would write it in Python."""
    if path == TYPE:
        return "type(output)"
    return "output" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)


def value_text(value: object) -> str:
    """A number or label, short and exact enough to read."""
    if isinstance(value, float | int | np.number):
        number = float(value) + 0.0  # no "-0"
        return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else f"{number:.6g}"
    return str(value)


@dataclass(frozen=True)
class AtPlace:
    """What looks at one place of the output; `words` say at what, of the place."""

    path: Path = ()
    words: ClassVar[str] = "{}"

    @property
    def text(self) -> str:
        """The feature in words."""
        return self.words.format(path_text(self.path))


@dataclass(frozen=True)
class Component(AtPlace):
    """One place of the output."""

    def read(self, outputs: Outputs) -> Reading:
        """The cells of that place."""
        return Reading(*outputs.column(self.path), outputs.labels)


@dataclass(frozen=True)
class KindOf(AtPlace):
    """The type of one place of the output: a mechanism may say more by it than by the value."""

    words: ClassVar[str] = "type({})"

    def read(self, outputs: Outputs) -> Reading:
        """Labels named after the types."""
        codes, _ = outputs.column(self.path)
        kinds = ["int", "float", *(label.kind for label in outputs.labels)]
        names = tuple(dict.fromkeys(kinds))
        lookup = np.array([names.index(kind) for kind in kinds], dtype=np.int32)
        place = np.where(codes == INTEGER, 0, np.where(codes == REAL, 1, codes + 2))
        found = np.where(codes == ABSENT, np.int32(ABSENT), lookup[np.maximum(place, 0)])
        return Reading(found, np.zeros(len(outputs)), tuple(Label("type", name) for name in names))


def _reading_of(numbers: Floats, present: NDArray[np.bool_], kind: int) -> Reading:
    codes = np.where(present, np.int32(kind), np.int32(ABSENT))
    return Reading(codes, np.where(present, numbers, 0.0), ())


@dataclass(frozen=True)
class Mean:
    """The mean of the numbers in the output."""

    text: str = "mean of the numbers in output"

    def read(self, outputs: Outputs) -> Reading:
        """Nothing where the output has no numbers."""
        count = outputs.is_number.sum(axis=1)
        total = np.where(outputs.is_number, outputs.numbers, 0.0).sum(axis=1)
        return _reading_of(total / np.maximum(count, 1), count > 0, REAL)


@dataclass(frozen=True)
class Difference:
    """One number of the output less another: noise that both have in common is gone."""

    path: Path
    other: Path

    @property
    def text(self) -> str:
        """The feature in words."""
        return f"{path_text(self.path)} - {path_text(self.other)}"

    def read(self, outputs: Outputs) -> Reading:
        """Nothing where one of them is not a number. Rounded, since differences of doubles have digits of
        their own."""
        (codes1, one), (codes2, two) = outputs.column(self.path), outputs.column(self.other)
        with np.errstate(over="ignore"):
            apart = np.round(one - two, 6)
        return _reading_of(apart, are_numbers(codes1) & are_numbers(codes2) & np.isfinite(apart), REAL)


@dataclass(frozen=True)
class Least:
    """The smallest number in the output."""

    text: str = "smallest number in output"

    def read(self, outputs: Outputs) -> Reading:
        """Nothing where the output has no numbers."""
        least = np.where(outputs.is_number, outputs.numbers, np.inf).min(axis=1, initial=np.inf)
        return _reading_of(least, np.isfinite(least), REAL)


@dataclass(frozen=True)
class Greatest:
    """The largest number in the output."""

    text: str = "largest number in output"

    def read(self, outputs: Outputs) -> Reading:
        """Nothing where the output has no numbers."""
        greatest = np.where(outputs.is_number, outputs.numbers, -np.inf).max(axis=1, initial=-np.inf)
        return _reading_of(greatest, np.isfinite(greatest), REAL)


@dataclass(frozen=True)
class Length:
    """How many items the output has."""

    text: str = "length of output"

    def read(self, outputs: Outputs) -> Reading:
        """Items at all depths are counted; the type is not an item."""
        items = [i for i, path in enumerate(outputs.paths) if path != TYPE]
        count = (outputs.codes[:, items] != ABSENT).sum(axis=1)
        return _reading_of(count.astype(np.float64), np.ones(len(outputs), dtype=np.bool_), INTEGER)


@dataclass(frozen=True)
class CountOf:
    """How many items of the output are a given label."""

    label: Label

    @property
    def text(self) -> str:
        """The feature in words."""
        return f"number of {self.label} in output"

    def read(self, outputs: Outputs) -> Reading:
        """Zero where there is none."""
        code = outputs.code_of(self.label)
        count = np.zeros(len(outputs)) if code is None else (outputs.codes == code).sum(axis=1)
        return _reading_of(count.astype(np.float64), np.ones(len(outputs), dtype=np.bool_), INTEGER)


@dataclass(frozen=True)
class Distance:
    """Hamming distance to a given output, such as the one without noise (Ding 2020 §4.3.3, case 1). Real
    numbers hardly ever agree, so what counts is whether there is one."""

    reference: tuple[tuple[Path, object], ...]

    @property
    def text(self) -> str:
        """The feature in words."""
        items = ", ".join(value_text(value) for _, value in self.reference)
        return f"number of places where output differs from [{items}]"

    def read(self, outputs: Outputs) -> Reading:
        """A place that only one of the two has counts as different."""
        wanted = dict(self.reference)
        different = np.zeros(len(outputs))
        for path in dict.fromkeys((*wanted, *outputs.paths)):
            codes, numbers = outputs.column(path)
            if path not in wanted:
                same = codes == ABSENT
            elif wanted[path] == A_NUMBER:
                same = are_numbers(codes)
            elif isinstance(wanted[path], Label):
                code = outputs.code_of(wanted[path])  # type: ignore[arg-type]
                same = codes == code if code is not None else np.zeros(len(outputs), dtype=np.bool_)
            else:
                same = are_numbers(codes) & (numbers == wanted[path])
            different += ~same
        return _reading_of(different, np.ones(len(outputs), dtype=np.bool_), INTEGER)


@dataclass(frozen=True)
class Whole:
    """The whole output as one value, known by a 64-bit key."""

    text: str = "output"

    def read(self, outputs: Outputs) -> Reading:
        """Keys in place of numbers: only equality means anything, so they are compared bit by bit."""
        keys = whole_keys(outputs).view(np.float64)
        return Reading(np.full(len(outputs), REAL, dtype=np.int32), keys, ())


@dataclass(frozen=True)
class WholeOfLabels:
    """The whole output as one value, where there is no number in it; nothing where there is."""

    text: str = "output"

    def read(self, outputs: Outputs) -> Reading:
        """Keys in place of numbers, as for the whole output."""
        found = Whole().read(outputs)
        codes = np.where(outputs.is_number.any(axis=1), np.int32(ABSENT), found.codes)
        return Reading(codes, found.numbers, ())


def whole_keys(outputs: Outputs) -> NDArray[np.uint64]:
    """A 64-bit key of each whole output; equal outputs have equal keys in every batch.

    Two different outputs share a key with probability about 2^-64, and then they are counted as one
    value: that would blur an event, it could never make one.
    """
    keys = np.zeros(len(outputs), dtype=np.uint64)
    of_label = [_hash(f"{label.kind}:{label.text}") for label in outputs.labels]
    with np.errstate(over="ignore"):
        for at, path in enumerate(outputs.paths):
            codes, place = outputs.codes[:, at], np.uint64(_hash(repr(path)))
            table = _mixed(np.array([0] * _KINDS + of_label, dtype=np.uint64) ^ place)
            table[:_KINDS] = 0
            keys += table[codes + _KINDS]
            is_number = outputs.is_number[:, at]
            if is_number.any():
                # -0.0 + 0.0 is 0.0, so that equal numbers have equal bits
                cells = _mixed((outputs.numbers[is_number, at] + 0.0).view(np.uint64))
                keys[is_number] += _mixed(cells ^ place)
    # A key travels as a double: keep it away from the NaNs, which are not equal to themselves
    found: NDArray[np.uint64] = keys & np.uint64(0xBFFFFFFFFFFFFFFF)
    return found


def _mixed(cells: NDArray[np.uint64]) -> NDArray[np.uint64]:
    cells = cells * np.uint64(0xD6E8FEB86659FD93)
    return cells ^ (cells >> np.uint64(32))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def features_of(first: Outputs, second: Outputs, *, light: bool = False) -> list[Feature]:
    """The features worth looking at, by what occurs in many outputs of both sides (Ding 2020 §4.3.3, 1–5).

    light: for lists of labels, the whole output and the counts say as much as the single places.
    """
    paths = tuple(dict.fromkeys((*first.paths, *second.paths)))
    labels = tuple(dict.fromkeys((*first.labels, *second.labels)))
    numbered = {path for part in (first, second) for path in _places_with_numbers(part)}
    numeric = [path for path in paths if path in numbered]
    found: list[Feature] = []
    if not light:
        found += [Component(path) for path in _telling(first, second, paths)]
    elif numeric or len(paths) == 1:
        found += [Component(path) for path in spread(numeric or paths, MOST_LIGHT)]
    found += [
        KindOf(f.path) for f in found if isinstance(f, Component) and _kinds_differ(f.path, first, second)
    ]
    if len(numeric) > 1:
        # of a single number the mean says it all
        several = not light and _several_numbers(first, second)
        found += [Mean(), Least(), Greatest()] if several else [Mean()]
        ends = spread(numeric, 2 if light else MOST_DIFFERENCES + 1)
        found += [Difference(one, two) for one, two in pairwise(ends)]
    if len(paths) > 1:
        used = _used(labels, first, second)
        varied = any((part.codes == ABSENT).any() for part in (first, second))
        if varied and not (light and used):
            found.append(Length())
        found += [CountOf(label) for label in used[:MOST_LABELS]]
        if _repeats(first) or _repeats(second):
            found.append(Whole())
    return found


def _telling(first: Outputs, second: Outputs, paths: Sequence[Path]) -> Sequence[Path]:
    """The places where the means, or the shares of what is no number, differ the most between the sides."""
    if len(paths) <= MOST_COMPONENTS:
        return paths
    apart = np.zeros(len(paths))
    for at, path in enumerate(paths):
        columns = [part.column(path) for part in (first, second)]
        codes, numbers = ([np.clip(column[i], -HUGE, HUGE) for column in columns] for i in (0, 1))
        for values in (codes, numbers):
            error = np.sqrt(sum(v.var() / max(1, len(v)) for v in values))
            apart[at] = max(apart[at], abs(values[0].mean() - values[1].mean()) / max(error, 1e-12))
    chosen = np.sort(np.argsort(-apart, kind="stable")[:MOST_COMPONENTS])
    return [paths[i] for i in chosen]


def spread(paths: Sequence[Path], most: int) -> list[Path]:
    """At most so many, from the first to the last.

    >>> spread([(0,), (1,), (2,), (3,)], 2)
    [(0,), (3,)]
    """
    places = np.unique(np.linspace(0, max(0, len(paths) - 1), most).astype(np.int64))
    return [paths[i] for i in places] if paths else []


def _repeats(outputs: Outputs) -> bool:
    """Whether whole outputs come again, by a few of them."""
    some = outputs.part(0, 400)
    return len(np.unique(whole_keys(some))) <= max(1, 0.75 * len(some))


def _several_numbers(*parts: Outputs) -> bool:
    return any((part.is_number.sum(axis=1) > 1).any() for part in parts)


def _places_with_numbers(outputs: Outputs) -> list[Path]:
    return [path for at, path in enumerate(outputs.paths) if outputs.is_number[:, at].any()]


def _kinds_differ(path: Path, *parts: Outputs) -> bool:
    """Whether integers and reals both occur there (other types show as different labels)."""
    kinds: set[int] = set()
    for part in parts:
        codes, _ = part.column(path)
        kinds.update({REAL} if (codes == REAL).any() else ())
        kinds.update({INTEGER} if (codes == INTEGER).any() else ())
    return len(kinds) == 2


def _used(labels: Sequence[Label], *parts: Outputs) -> list[Label]:
    """Those of the labels that occur."""
    seen: set[Label] = set()
    for part in parts:
        often = np.bincount(part.codes.ravel(order="K") + _KINDS)[_KINDS:]
        seen.update(part.labels[code] for code in np.flatnonzero(often))
    return [label for label in labels if label in seen]
