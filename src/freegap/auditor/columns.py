"""Many runs of a program of labelled noise at once, by the real function, on columns of draws.

The columns are arrays of NumPy, or of any library that follows the Python array API standard; then they stay
where that library keeps them (`freegap.auditor.device`).

A column has a number for each run. Where a comparison comes out differently for different runs, those on the
smaller side wait, with what they have drawn, and the program is called again for them: each call follows one
path, and a run takes part in at most as many calls as its group can be halved. A program that does with its
noise what a column cannot (`math.exp`, an index, a text) is run one by one; and of every batch some runs are
repeated one by one, on the same draws, and must come out the same.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.outputs import ABSENT, Outputs, Path, join
from freegap.auditor.programs import DrawnNoise, Program, Sampler, released, rounded, running
from freegap.auditor.reading import from_objects, leaves_of, repeated
from freegap.auditor.whole_inputs import handed_over

FEW = 8  # runs that are as fast one by one
REPEATED = 8  # runs of a batch that are made again

Places = NDArray[np.intp]


class NotBatched(Exception):
    """The program does with its noise what a column of numbers cannot do."""


def run_batch(
    program: Program,
    answers: Sequence[float],
    keywords: Mapping[str, Any],
    size: int,
    rng: np.random.Generator,
) -> Outputs | None:
    """The outputs of so many runs, in their order, by as few calls of the program as they have paths; None
    where the program cannot be run like that.

    >>> def above(answers, noise):
    ...     return [answer + noise.laplace(2) >= 1 for answer in answers]
    >>> run_batch(above, [0.0, 5.0], {}, 1000, np.random.default_rng(1)).codes.mean(axis=0).round(1)
    array([0.3, 0.9])
    """
    done: list[tuple[Places, Outputs]] = []
    with running(done):
        try:
            for part in by_paths(program, answers, keywords, size, rng):
                done.append((part.runs, part.rows(part.size)))
        except Exception:  # run one by one, it says itself what is wrong
            return None
    places = np.empty(size, dtype=np.intp)
    places[np.concatenate([runs for runs, _ in done])] = np.arange(size)
    return join([found for _, found in done]).rows_at(places)


@dataclass(frozen=True)
class OnePath:
    """The outputs of runs that took one path.

    size: how many.
    runs: which of them they are; None on a device, where nobody asks.
    one: a single output, that of all of these runs but for the columns; or, without columns, as many outputs.
    columns: the reals and the booleans that differ, by their place in the output.
    """

    size: int
    runs: Any
    one: Outputs
    columns: Mapping[Path, Any]

    def rows(self, most: int) -> Outputs:
        """The outputs of the first runs, as arrays of NumPy."""
        if len(self.one) != 1:
            return self.one.part(0, most)
        size = min(most, self.size)
        return repeated(self.one, size, {path: on_host(c[:size]) for path, c in self.columns.items()})


def on_host(array: Any) -> NDArray[Any]:
    """An array of any library as one of NumPy."""
    if hasattr(array, "cpu"):  # PyTorch
        return np.asarray(array.cpu())
    return np.asarray(array.get() if hasattr(array, "get") else array)  # CuPy, and all others


def by_paths(
    program: Program,
    answers: Sequence[float],
    keywords: Mapping[str, Any],
    size: int,
    rng: Any,
    xp: Any = None,
) -> Iterator[OnePath]:
    """The outputs of so many runs, path by path. It raises whatever the program does where it cannot be run
    on columns.

    rng: a NumPy generator, or what draws arrays of another library, `xp`, by the same methods.
    """
    many = _on_columns(program)
    waiting = [(size, np.arange(size) if xp is None else None, list[Any]())]
    paths = 0
    while waiting:
        left, runs, drawn = waiting.pop()
        if left > FEW:
            group = _Group(left, runs, drawn, rng, waiting, np if xp is None else xp)
            with np.errstate(all="ignore"):  # as Python's floats do
                one, columns = _gathered(many(handed_over(answers), group.noise, **keywords), group)
            found = OnePath(group.size, group.runs, one, columns)
            _repeat(program, answers, keywords, group, found, REPEATED // (paths + 1))
        else:
            alone = [[float(column[i]) for column in drawn] for i in range(left)]
            fresh = rng if xp is None else rng.on_host()
            outputs = [_replayed(program, answers, keywords, draws, fresh)[0] for draws in alone]
            found = OnePath(left, runs, from_objects(outputs), {})
        paths += 1
        yield found


class _Group:
    """Runs that have taken the same path so far, and their draws, in order."""

    def __init__(
        self,
        size: int,
        runs: Any,
        drawn: list[Any],
        rng: Any,
        waiting: list[tuple[int, Any, list[Any]]],
        xp: Any,
    ) -> None:
        self.size = size
        self.runs = runs
        self.xp = xp
        self.narrowed: list[Any] = []  # which runs stayed, at each parting
        self.draws = [_Column(self, values) for values in drawn]
        self.noise = DrawnNoise(rng, self._next)
        self._waiting = waiting
        self._place = 0

    def _next(self, sample: Sampler) -> _Column:
        if self._place == len(self.draws):
            self.draws.append(_Column(self, sample(self.size)))
        self._place += 1
        return self.draws[self._place - 1]

    @property
    def used(self) -> list[_Column]:
        """The draws that were made so far."""
        return self.draws[: self._place]

    def part(self, truth: Any) -> bool:
        """The side that most runs are on; the others wait for a call of their own."""
        count, size = int(self.xp.count_nonzero(truth)), self.size
        side = 2 * count >= size
        if 0 < count < size:
            self.keep(self._where(truth == side), [self._where(truth != side)])
        return side

    def part_by(self, values: Any, choices: int) -> int:
        """The value, of so many, that most runs have; those with another wait, each value by itself."""
        counts = [int(self.xp.count_nonzero(values == value)) for value in range(choices)]
        most = counts.index(max(counts))
        others = [
            self._where(values == value) for value, count in enumerate(counts) if count and value != most
        ]
        if others:
            self.keep(self._where(values == most), others)
        return most

    def _where(self, truth: Any) -> Any:
        return self.xp.nonzero(truth)[0]

    def keep(self, stay: Any, others: Iterable[Any]) -> None:
        """Go on with these runs; the others wait, group by group."""
        for leave in others:
            drawn = [self.xp.take(column.now(), leave) for column in self.used]
            self._waiting.append((leave.shape[0], self._which(leave), drawn))
        self.size, self.runs = stay.shape[0], self._which(stay)
        self.narrowed.append(stay)

    def _which(self, places: Any) -> Any:
        return None if self.runs is None else self.runs.take(places)


class _Known:
    """A value for each run of a group; those of runs that have left are dropped when it is next used."""

    __slots__ = ("_age", "_values", "group")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __init__(self, group: _Group, values: Any) -> None:
        self.group = group
        self._values = values
        self._age = len(group.narrowed)

    def now(self) -> Any:
        """The values for the runs that are left."""
        for stay in self.group.narrowed[self._age :]:
            self._values = self.group.xp.take(self._values, stay)
        self._age = len(self.group.narrowed)
        return self._values

    def __repr__(self) -> str:
        raise NotBatched("the text of a column")


class _Truth(_Known):
    """What a comparison gave, for each run."""

    def __bool__(self) -> bool:
        return self.group.part(self.now())

    def __eq__(self, other: object) -> bool:
        raise NotBatched("a comparison of truth values")

    __hash__ = None


_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def _infix(operation: Callable[[Any, Any], Any], *, swap: bool = False) -> Callable[[Any, Any], Any]:
    """The operator of a column and another one, or a number."""
    compares = operation in _COMPARISONS

    def apply(column: _Column, other: Any) -> Any:
        if isinstance(other, _Column):
            right: Any = other.now()
        elif isinstance(other, numbers.Real):
            right = float(other)
        else:
            return NotImplemented
        here = column.now()
        values = operation(right, here) if swap else operation(here, right)
        return (_Truth if compares else _Column)(column.group, values)

    return apply


class _Column(_Known):
    """A real number for each run: adds, subtracts, multiplies, divides by what is known, and compares, all as
    Python does with floats."""

    __add__, __radd__ = _infix(operator.add), _infix(operator.add, swap=True)
    __sub__, __rsub__ = _infix(operator.sub), _infix(operator.sub, swap=True)
    __mul__, __rmul__ = _infix(operator.mul), _infix(operator.mul, swap=True)
    __lt__, __le__ = _infix(operator.lt), _infix(operator.le)
    __gt__, __ge__ = _infix(operator.gt), _infix(operator.ge)
    __eq__, __ne__ = _infix(operator.eq), _infix(operator.ne)

    def __truediv__(self, other: Any) -> Any:
        if not isinstance(other, numbers.Real):
            raise NotBatched("a division by a column")
        if other == 0:
            raise ZeroDivisionError("float division by zero")
        return _infix(operator.truediv)(self, other)

    def __neg__(self) -> _Column:
        return _Column(self.group, -self.now())

    def __pos__(self) -> _Column:
        return self

    def __abs__(self) -> _Column:
        return _Column(self.group, abs(self.now()))

    def __bool__(self) -> bool:
        return bool(self != 0)

    __hash__ = None


# What Python would do by comparing two at a time ---------------------------------------------------------


def _on_columns(program: Program) -> Program:
    """The program with a `max` and a `min` that compare all runs at once: a path for every place where the
    largest can be, not for every way to find it, and none of their own where only its value is asked for."""
    if not isinstance(program, FunctionType) or {"max", "min"} & program.__globals__.keys():
        return program
    known = {**program.__globals__, "max": partial(_extreme, max), "min": partial(_extreme, min)}
    made = FunctionType(program.__code__, known, program.__name__, program.__defaults__, program.__closure__)
    made.__kwdefaults__ = program.__kwdefaults__
    return made


def _extreme(
    plain: Callable[..., Any], *given: Any, key: Callable[[Any], Any] | None = None, **more: Any
) -> Any:
    items = list(given[0]) if len(given) == 1 else list(given)
    keys = items if key is None else [key(item) for item in items]
    column = next((value for value in keys if isinstance(value, _Column)), None)
    if column is None or not all(isinstance(value, _Column | numbers.Real) for value in keys):
        return plain(items, **({} if key is None else {"key": key}), **more)
    group, xp = column.group, column.group.xp
    table = xp.stack([_values(value, column) for value in keys])
    best = xp.argmax(table, axis=0) if plain is max else xp.argmin(table, axis=0)  # the first, as in Python
    if all(isinstance(item, _Column) for item in items):
        chosen = items[0].now()
        for place, item in enumerate(items[1:], start=1):
            chosen = xp.where(best == place, item.now(), chosen)
        return _Column(group, chosen)
    return items[group.part_by(best, len(items))]


def _values(value: Any, column: _Column) -> Any:
    """The values of a column, or as many of a number."""
    return (
        value.now() if isinstance(value, _Column) else column.group.xp.full_like(column.now(), float(value))
    )


# Outputs ------------------------------------------------------------------------------------------------


def _gathered(output: Any, group: _Group) -> tuple[Outputs, dict[Path, Any]]:
    """The output of a group, the same for all of its runs, but for the columns."""
    columns = {
        path: rounded(leaf.now(), group.xp) if isinstance(leaf, _Column) else leaf.now()
        for path, leaf in leaves_of(output, (), _Known)
        if isinstance(leaf, _Known)
    }
    return from_objects([released(output, _standing_in)]), columns


def _standing_in(leaf: Any) -> Any:
    """Any number, or any truth value, in the place of a column of them."""
    return (0.0 if isinstance(leaf, _Column) else False) if isinstance(leaf, _Known) else leaf


def _replayed(
    program: Program,
    answers: Sequence[float],
    keywords: Mapping[str, Any],
    draws: Sequence[float],
    rng: np.random.Generator,
) -> tuple[Any, int]:
    """The output of one run, on these draws and then on fresh ones, and how many draws it made."""
    made: list[float] = []

    def draw(sample: Sampler) -> float:
        made.append(float(draws[len(made)] if len(made) < len(draws) else sample(None)))
        return made[-1]

    return released(program(handed_over(answers), DrawnNoise(rng, draw), **keywords)), len(made)


def _repeat(
    program: Program,
    answers: Sequence[float],
    keywords: Mapping[str, Any],
    group: _Group,
    found: OnePath,
    many: int,
) -> None:
    """Some runs of a group again, one by one: what comes out must be the same, by the same draws."""
    if not many:
        return
    rows = found.rows(many)
    drawn = [on_host(column.now()[:many]) for column in group.used]
    rng, outputs = np.random.default_rng(0), []
    for i in range(len(rows)):
        draws = [float(column[i]) for column in drawn]
        output, count = _replayed(program, answers, keywords, draws, rng)
        if count != len(draws):
            raise NotBatched("another number of draws when it is run again")
        outputs.append(output)
    again = from_objects(outputs)  # what a cell holds depends on its own run alone
    if any(_cells(again, i) != _cells(rows, i) for i in range(len(rows))):
        raise NotBatched("another output when it is run again")


def _cells(outputs: Outputs, row: int) -> dict[Any, Any]:
    cells = zip(outputs.paths, outputs.codes[row], outputs.numbers[row], strict=True)
    return {
        path: outputs.labels[code] if code >= 0 else (code, number)
        for path, code, number in cells
        if code != ABSENT
    }
