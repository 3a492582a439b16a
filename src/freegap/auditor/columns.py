"""Many runs of a program of labelled noise at once, by the real function, on columns of draws.

The columns are arrays of NumPy, or of any library that follows the Python array API standard; then they stay
where that library keeps them (`freegap.auditor.device`).

A column has a number for each run (`freegap.auditor.column_values`). Where a comparison comes out differently
for different runs, those on the smaller side wait, and the program is called again for them: each call
follows one path, and a run takes part in at most as many calls as its group can be halved. A program that
does with its noise what a column cannot (`math.exp`, an index, a text) is run one by one; and of every batch
some runs are repeated one by one, on the same draws, and must come out the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.column_values import (
    Group,
    KeptDraw,
    Left,
    NotBatched,
    RunNumbers,
    RunValues,
    Waiting,
    first_runs,
    on_columns,
)
from freegap.auditor.outputs import ABSENT, Outputs, Path, join, recode
from freegap.auditor.programs import DrawnNoise, Program, Sampler, released, rounded, running
from freegap.auditor.reading import from_batch, from_objects, leaves_of, repeated
from freegap.auditor.whole_inputs import handed_over

FEW = 8  # runs that are as fast one by one
REPEATED = 2  # runs of the first path of a batch that are made again, and half as many of the second

VECTORISED_FROM = 300  # numbers of a column, below which NumPy's own way is as fast

# For draws that a run did not make before: that there are any is what matters, not what they are.
_ONE_TOO_MANY = np.random.default_rng(0)


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
    done: list[OnePath] = []
    with running(done):
        try:
            for part in by_paths(program, answers, keywords, size, _Columnwise(rng.bit_generator)):
                done.append(part)
        except Exception:  # run one by one, it says itself what is wrong
            return None
    return _at_their_places(done, size)


def _at_their_places(done: Sequence[OnePath], size: int) -> Outputs:
    """The outputs of all paths, in the order of the runs: a row for each path, as often as it was taken, and
    then what differs within it."""
    row_of, start = np.empty(size, dtype=np.intp), 0
    for part in done:
        row_of[part.runs] = np.arange(start, start + len(part.one))
        start += len(part.one)
    found = join([part.one for part in done]).rows_at(row_of)
    labels = {label: code for code, label in enumerate(found.labels)}
    for part in done:
        for path, column in part.columns.items():
            if path in part.one.paths:  # not beyond the most columns
                at, read = found.paths.index(path), from_batch(column, part.size)
                found.codes[part.runs, at] = recode(read, labels)[:, 0]
                found.numbers[part.runs, at] = read.numbers[:, 0]
    return replace(found, labels=tuple(labels))


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

    @property
    def runs_by_output(self) -> NDArray[np.int64]:
        """How many runs had each of the outputs `one`."""
        many = len(self.one)
        return np.array([self.size]) if many == 1 else np.ones(many, dtype=np.int64)

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
    many, arrays = on_columns(program), np if xp is None else xp
    waiting = [Waiting(size, np.arange(size) if xp is None else None, Left())]
    paths = 0
    while waiting:
        of = waiting.pop()
        if of.size > FEW:
            group = Group(of, rng, waiting, arrays)
            with np.errstate(all="ignore"):  # as Python's floats do
                one, columns = _gathered(many(handed_over(answers), group.noise, **keywords), group)
            found = OnePath(group.size, group.runs, one, columns)
            _repeat(program, answers, keywords, group, found, REPEATED // (paths + 1))
            group.close()
        else:
            fresh = rng if xp is None else rng.on_host()
            outputs = [
                _replayed(program, answers, keywords, draws, fresh)[0]
                for draws in _one_by_one(of.draws, of.left, of.size, arrays)
            ]
            found = OnePath(of.size, of.runs, from_objects(outputs), {})
        paths += 1
        yield found


class _Columnwise(np.random.Generator):
    """NumPy's generator, but that it makes columns of Laplace noise by one vectorised logarithm, in half of
    the time or less.

    >>> one, other = _Columnwise(np.random.PCG64(1)), np.random.default_rng(1)
    >>> bool(np.allclose(one.laplace(0.0, 2.0, 1000), other.laplace(0.0, 2.0, 1000), rtol=0, atol=1e-9))
    True
    """

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """From the uniforms that NumPy takes, by the same inversion: they are multiples of 2^-53, and are
        moved by half of one, so that both tails reach as far and no logarithm is that of zero. Nothing is
        rounded before the logarithm."""
        if type(size) is not int or size < VECTORISED_FROM or not scale >= 0:  # the last it refuses
            return super().laplace(loc, scale, size)
        around = 2 * self.random(size) - (1 - 2.0**-53)
        found = np.abs(around)
        np.log(np.subtract(1.0, found, out=found), out=found)
        found *= scale
        np.copysign(found, around, out=found)
        return found if loc == 0 else loc + found


# Outputs ------------------------------------------------------------------------------------------------


def _gathered(output: Any, group: Group) -> tuple[Outputs, dict[Path, Any]]:
    """The output of a group, the same for all of its runs, but for the columns."""
    if type(output) is list and all(type(part) in (bool, RunNumbers) for part in output):
        known = _of_truths(tuple(part if type(part) is bool else None for part in output))
        return known, {
            (i,): rounded(part.now(), group.xp) for i, part in enumerate(output) if type(part) is not bool
        }
    columns = {
        path: rounded(leaf.now(), group.xp) if isinstance(leaf, RunNumbers) else leaf.now()
        for path, leaf in leaves_of(output, (), RunValues)
        if isinstance(leaf, RunValues)
    }
    return from_objects([released(output, _standing_in)]), columns


@lru_cache(maxsize=4096)
def _of_truths(output: tuple[bool | None, ...]) -> Outputs:
    """A list of truth values, and of any number where it says None, as a sparse vector puts it out on each
    of its many paths, batch after batch."""
    return from_objects([[0.0 if part is None else part for part in output]])


def _standing_in(leaf: Any) -> Any:
    """Any number, or any truth value, in the place of a column of them."""
    return (0.0 if isinstance(leaf, RunNumbers) else False) if isinstance(leaf, RunValues) else leaf


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
    group: Group,
    found: OnePath,
    many: int,
) -> None:
    """Some runs of a group again, one by one: what comes out must be the same, by the same draws."""
    if not many:
        return
    rows = found.rows(many)
    outputs = []
    for draws in _one_by_one(group.used, group.left, len(rows), group.xp):
        output, count = _replayed(program, answers, keywords, draws, _ONE_TOO_MANY)
        if count != len(draws):
            raise NotBatched("another number of draws when it is run again")
        outputs.append(output)
    again = from_objects(outputs)  # what a cell holds depends on its own run alone
    if any(_cells(again, i) != _cells(rows, i) for i in range(len(rows))):
        raise NotBatched("another output when it is run again")


def _one_by_one(draws: Sequence[KeptDraw], left: Left, many: int, xp: Any) -> list[list[float]]:
    """What each of the first runs has drawn."""
    columns = [on_host(column).tolist() for column in first_runs(draws, left, many, xp)]
    return [[float(column[i]) for column in columns] for i in range(many)]


def _cells(outputs: Outputs, row: int) -> dict[Any, Any]:
    cells = zip(outputs.paths, outputs.codes[row], outputs.numbers[row], strict=True)
    return {
        path: outputs.labels[code] if code >= 0 else (code, number)
        for path, code, number in cells
        if code != ABSENT
    }
