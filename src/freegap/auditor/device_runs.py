"""Runs on a device, path by path, and how often events happen among them, counted there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from freegap.auditor.columns import OnePath, by_paths, on_host
from freegap.auditor.device import Device, DeviceRng
from freegap.auditor.events import Between, Clause, Event, OneOf
from freegap.auditor.features import (
    Component,
    CountOf,
    Difference,
    Distance,
    Feature,
    Greatest,
    Least,
    Length,
    Mean,
    WholeOfLabels,
)
from freegap.auditor.mechanism import Answers, Mechanism, Parameters
from freegap.auditor.outputs import INTEGER, REAL, Label, Outputs, Path, join
from freegap.auditor.reading import MOST_COLUMNS, WrongSize, from_objects
from freegap.errors import MechanismFailed

MOST_KINDS = 4096  # different whole numbers and booleans in one batch that are told apart
MOST_TRUTHS = 12  # booleans of one output, which are told apart all at once


@dataclass(frozen=True)
class DeviceSource:
    """Where outputs come from, on a device: a mechanism and the seed of the audit."""

    mechanism: Mechanism
    device: Device
    seed: int

    def batch(self, answers: Answers) -> int:
        """How many runs make a batch."""
        return self.device.batch(len(answers))

    def run(
        self, answers: Answers, parameters: Parameters, size: int, key: tuple[int, ...]
    ) -> Iterator[OnePath]:
        """The outputs of `size` runs, path by path; the same key draws the same outputs."""
        keywords = {**self.mechanism.fixed, **dict(parameters)}
        rng = DeviceRng(self.device, self.seed, key)
        try:
            if self.mechanism.noise == "noise":
                found: Iterator[OnePath] = by_paths(
                    self.mechanism.function,
                    answers,
                    keywords,
                    size,
                    rng,
                    self.device.xp,
                )
            else:
                if keywords.get("xp") is np:
                    keywords["xp"] = self.device.xp
                output = self.mechanism.function(list(answers), size=size, rng=rng, **keywords)
                found = iter([_one_path(output, size, self.device)])
            for path in found:
                yield from _apart(path, self.device.xp)
        except MechanismFailed:
            raise
        except Exception as error:
            what = f"cannot be run on {self.device.name}: it raised {type(error).__name__}: {error}"
            raise MechanismFailed(what, list(answers), dict(parameters)) from error

    def count(
        self,
        answers: Answers,
        parameters: Parameters,
        events: Sequence[Event],
        size: int,
        key: tuple[int, ...],
    ) -> list[int]:
        """How often each event happened in `size` runs."""
        hits = EventHits(events, self.device.xp)
        for path in self.run(answers, parameters, size, key):
            hits.add(path)
        return hits.totals()


def _one_path(output: Any, size: int, device: Device) -> OnePath:
    """The outputs of a vectorised mechanism: an array with a row for each run, or a tuple or mapping of such.

    Floating-point numbers are columns; so are integers and booleans, until they are told apart.
    """
    columns: dict[Path, Any] = {}
    if isinstance(output, Mapping):
        parts: list[tuple[Path, Any]] = [((str(name),), part) for name, part in output.items()]
    elif isinstance(output, tuple | list):
        parts = [((i,), part) for i, part in enumerate(output)]
    else:
        parts = [((), output)]
    for prefix, part in parts:
        if part.shape[0] != size:
            raise WrongSize(f"a batch of {size} outputs was asked for, {part.shape[0]} came back")
        if len(part.shape) == 1:
            columns[prefix] = part
        else:
            table = device.xp.reshape(part, (size, -1))
            for i in range(min(MOST_COLUMNS, table.shape[1])):
                columns[(*prefix, i)] = table[:, i]
    paths = tuple(columns)
    empty = Outputs(np.full((1, len(paths)), REAL, dtype=np.int32), np.zeros((1, len(paths))), paths, ())
    return OnePath(size, None, empty, columns)


def _apart(path: OnePath, xp: Any) -> Iterator[OnePath]:
    """The same runs in parts in which all booleans and whole numbers, NaN and the infinities are the same:
    what differs within a part are finite reals alone."""
    discrete = [at for at, column in path.columns.items() if not xp.isdtype(column.dtype, "real floating")]
    if len(path.one) != 1 or not path.columns:
        yield path
        return
    if len(path.columns) <= MOST_TRUTHS and all(xp.isdtype(c.dtype, "bool") for c in path.columns.values()):
        yield from _by_truths(path, xp)
        return
    at = next((at for at in path.columns if at in discrete), None)
    if at is not None:
        column = path.columns[at]
        values = xp.unique_values(column)
        if values.shape[0] > MOST_KINDS:
            yield from _apart(_with_column(path, at, xp.astype(column, xp.float64)), xp)
            return
        for i in range(values.shape[0]):
            here = None if values.shape[0] == 1 else xp.nonzero(column == values[i])[0]
            boolean = xp.isdtype(column.dtype, "bool")
            yield from _apart(
                _settled(path, at, bool(values[i]) if boolean else int(values[i]), here, xp), xp
            )
        return
    for at, column in path.columns.items():
        odd = ~xp.isfinite(column)
        if bool(xp.any(odd)):
            for wanted, value in (
                (xp.isnan(column), math.nan),
                (column == math.inf, math.inf),
                (column == -math.inf, -math.inf),
            ):
                places = xp.nonzero(wanted)[0]
                if places.shape[0]:
                    yield from _apart(_settled(path, at, value, places, xp), xp)
            rest = xp.nonzero(xp.isfinite(column))[0]
            if rest.shape[0]:
                yield from _apart(narrowed(path, rest, xp), xp)
            return
    yield path


def _by_truths(path: OnePath, xp: Any) -> Iterator[OnePath]:
    """The parts of runs that differ in truth values alone: all of these at once, as the digits of a number,
    and nothing is parted."""
    digits = sum(xp.astype(column, xp.int64) * 2**i for i, column in enumerate(path.columns.values()))
    found = xp.unique_counts(digits)
    truths = from_objects([False, True])
    labels = [*path.one.labels, *(label for label in truths.labels if label not in path.one.labels)]
    of_truth = np.array([labels.index(truths.labels[code]) for code in truths.codes[:, 0]], dtype=np.int32)
    places = [(i, path.one.paths.index(at)) for i, at in enumerate(path.columns) if at in path.one.paths]
    for number, runs in zip(on_host(found.values).tolist(), on_host(found.counts).tolist(), strict=True):
        codes = path.one.codes.copy()
        for i, place in places:
            codes[0, place] = of_truth[number >> i & 1]
        one = Outputs(codes, path.one.numbers, path.one.paths, tuple(labels), path.one.remarks)
        yield OnePath(runs, None, one, {})


def _with_column(path: OnePath, at: Path, column: Any) -> OnePath:
    return OnePath(path.size, None, path.one, {**path.columns, at: column})


def narrowed(path: OnePath, places: Any, xp: Any) -> OnePath:
    """The runs at these places."""
    columns = {at: xp.take(column, places) for at, column in path.columns.items()}
    return OnePath(places.shape[0], None, path.one, columns)


def _settled(path: OnePath, at: Path, value: Any, places: Any, xp: Any) -> OnePath:
    """The runs at some places, in which a column has this value."""
    columns = {p: column for p, column in path.columns.items() if p != at}
    others = OnePath(path.size, None, path.one, columns)
    here = others if places is None else narrowed(others, places, xp)
    if at not in path.one.paths:  # beyond the most columns
        return here
    cell = from_objects([value])
    labels = list(path.one.labels)
    code = int(cell.codes[0, 0])
    if code >= 0:
        label = cell.labels[code]
        labels += [] if label in labels else [label]
        code = labels.index(label)
    codes, numbers = path.one.codes.copy(), path.one.numbers.copy()
    place = path.one.paths.index(at)
    codes[0, place], numbers[0, place] = code, cell.numbers[0, 0]
    one = Outputs(codes, numbers, path.one.paths, tuple(labels), path.one.remarks)
    return OnePath(here.size, None, one, here.columns)


# Events --------------------------------------------------------------------------------------------------

_OF_LABELS = (Length, CountOf, WholeOfLabels)
"""Features that depend on what there is at each place, and not on the value of a number."""

_OF_NUMBERS = (Component, Difference, Distance, Mean, Least, Greatest)


def countable(event: Event) -> bool:
    """Whether an event can be looked for on a device.

    Which path a run took is not part of its output: where a path has the number 5 and a column of another has
    a 5 in it, these are the same. So a whole output with numbers in it, which is known by a key of all of
    them, is not looked for here.
    """
    return all(isinstance(clause.feature, (*_OF_LABELS, *_OF_NUMBERS)) for clause in event.clauses)


class EventHits:
    """How often events happen among runs that come path by path.

    Paths whose outputs are known in full, however many they are, are looked at together, once for each event:
    there are a few of them to a batch or hundreds, and to look at one takes as long.
    """

    def __init__(self, events: Sequence[Event], xp: Any) -> None:
        self.events = events
        self.known: list[OnePath] = []
        """The paths without columns."""
        self._xp = xp
        self._in_columns: list[Any] = [0] * len(events)

    def add(self, path: OnePath) -> None:
        """Take in the runs of a path."""
        if not path.columns:
            self.known.append(path)
            return
        known: dict[int, bool] = {}
        for i, event in enumerate(self.events):
            self._in_columns[i] = self._in_columns[i] + happened(event, path, self._xp, known)

    def totals(self) -> list[int]:
        """How often each event has happened."""
        totals = [int(hits) for hits in self._in_columns]
        if not self.known:
            return totals
        outputs = join([path.one for path in self.known])
        runs = np.concatenate([path.runs_by_output for path in self.known])
        return [
            total + int(runs[event.holds(outputs)].sum())
            for event, total in zip(self.events, totals, strict=True)
        ]


def happened(event: Event, path: OnePath, xp: Any, known: dict[int, bool]) -> Any:
    """How often an event happened among the runs of a path with columns: a number, or an array of the device
    with one.

    known: which clauses, by their identity, hold on all runs of the path, or on none; filled. Events have
        most of their clauses in common, and to look at one takes as long as to start some kernels.
    """
    found: Any = None
    for clause in event.clauses:
        if _is_fixed(clause.feature, path):
            if id(clause) not in known:
                known[id(clause)] = bool(clause.holds(path.one)[0])
            if not known[id(clause)]:
                return 0
            continue
        holds = _holds(clause, path, xp)
        if holds is None:
            return 0
        found = holds if found is None else found & holds
    return path.size if found is None else xp.sum(xp.astype(found, xp.int64))


def _is_fixed(feature: Feature, path: OnePath) -> bool:
    """Whether the columns make no difference to a feature."""
    if isinstance(feature, _OF_LABELS):
        return True
    if isinstance(feature, Distance):
        return all(isinstance(value, Label) for at, value in feature.reference if at in path.columns)
    if isinstance(feature, Component):
        return feature.path not in path.columns
    if isinstance(feature, Difference):
        return feature.path not in path.columns and feature.other not in path.columns
    return False


def _holds(clause: Clause, path: OnePath, xp: Any) -> Any:
    """Where a clause holds; None for nowhere."""
    values = _read(clause.feature, path, xp)
    if values is None:
        return None
    condition = clause.condition
    if isinstance(condition, OneOf):
        found: Any = None
        for value in condition.values:
            if not isinstance(value, Label):
                here = values == value
                found = here if found is None else found | here
        return found
    assert isinstance(condition, Between)  # noqa: S101
    return (values >= condition.low) & (values < condition.high)


def _read(feature: Feature, path: OnePath, xp: Any) -> Any:
    """The numbers that a feature reads of each run; None where there are none."""
    if isinstance(feature, Component):
        return path.columns[feature.path]
    if isinstance(feature, Difference):
        one, two = (_column(path, at) for at in (feature.path, feature.other))
        return None if one is None or two is None else xp.round((one - two) * 1e6) / 1e6
    if isinstance(feature, Distance):
        wanted = dict(feature.reference)
        found: Any = float(_differing(wanted, path))
        for at, column in path.columns.items():
            value = wanted.get(at)
            if isinstance(
                value, float
            ):  # where it is a label, a number differs; where any will do, none does
                found = found + xp.astype(column != value, xp.float64)
        return found
    columns = [_column(path, at) for at in path.one.paths]
    numbers = [column for column in columns if column is not None]
    total = numbers[0]
    for column in numbers[1:]:
        if isinstance(feature, Mean):
            total = total + column
        elif isinstance(feature, Least):
            total = _smaller(total, column, xp)
        else:
            total = -_smaller(-total, -column, xp)
    return total / len(numbers) if isinstance(feature, Mean) else total


def _differing(wanted: Mapping[Path, object], path: OnePath) -> int:
    """At how many places an output differs from another, but for columns that must have a certain value."""
    left = {at: value for at, value in wanted.items() if at not in path.columns or isinstance(value, Label)}
    kept = [
        i for i, at in enumerate(path.one.paths) if at not in path.columns or at in left or at not in wanted
    ]
    one = path.one
    part = Outputs(one.codes[:, kept], one.numbers[:, kept], tuple(one.paths[i] for i in kept), one.labels)
    return int(Distance(tuple(left.items())).read(part).numbers[0])


def _smaller(one: Any, two: Any, xp: Any) -> Any:
    if isinstance(one, float) and isinstance(two, float):
        return min(one, two)
    return xp.where(one < two, one, two)


def _column(path: OnePath, at: Path) -> Any:
    """The numbers of a place: an array, a float where all are the same, None where there are none."""
    if at in path.columns:
        return path.columns[at]
    if at not in path.one.paths:
        return None
    place = path.one.paths.index(at)
    return float(path.one.numbers[0, place]) if path.one.codes[0, place] in (REAL, INTEGER) else None
