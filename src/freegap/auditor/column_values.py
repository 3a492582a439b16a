"""Numbers of many runs that go one way through a program, computed when they are asked for.

A group of runs calls the program once. Its draws are columns: a number for each run. What the program makes
of them is computed for all runs of the group together, and only where a comparison or an output needs it.
Where a comparison comes out differently for different runs, those on the smaller side wait, with what they
have drawn and decided so far. Called again for them, the program is told these decisions, not made to repeat
them: what led to them is not computed again.

The columns are arrays of NumPy, or of any library that follows the Python array API standard.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from freegap.auditor.programs import DrawnNoise, Program, Sampler


class NotBatched(Exception):
    """The program does with its noise what a column of numbers cannot do."""


class Left:
    """Which runs are left after a parting: those at `places`, of those that were left before."""

    __slots__ = ("_since", "before", "places")

    def __init__(self, before: Left | None = None, places: Any = None) -> None:
        self.before = before
        self.places = places
        self._since: dict[int, Any] = {}

    def since(self, earlier: Left, take: Take) -> Any:
        """The places of the runs that are left among those that were left earlier; None for all.

        What is found is kept: those who wait have most of their way in common.
        """
        behind: list[Left] = []
        node = self
        while node is not earlier and id(earlier) not in node._since:
            behind.append(node)
            assert node.before is not None  # noqa: S101 (what is earlier is on the way)
            node = node.before
        found = None if node is earlier else node._since[id(earlier)]
        for node in reversed(behind):
            found = node.places if found is None else take(found, node.places)
            node._since[id(earlier)] = found
        return found


Take = Callable[[Any, Any], Any]


class KeptDraw(NamedTuple):
    """The values of a draw, for the runs that were left at some time. (Millions are made in an audit: a
    tuple takes a third of the time of a frozen dataclass.)"""

    values: Any
    at: Left


def first_runs(draws: Sequence[KeptDraw], left: Left, many: int, xp: Any) -> list[Any]:
    """The values of these draws in the first runs that are left."""
    take, places = taking(xp), None
    found: dict[int, Any] = {id(left): None}
    while left.before is not None:
        places = left.places[:many] if places is None else take(left.places, places)
        left = left.before
        found[id(left)] = places
    return [
        draw.values[:many] if found[id(draw.at)] is None else take(draw.values, found[id(draw.at)])
        for draw in draws
    ]


def taking(xp: Any) -> Take:
    """What takes the values at some places; PyTorch's `take` first looks for negative ones, in four steps."""
    if hasattr(xp, "index_select"):
        return lambda array, places: xp.index_select(array, 0, places)
    if xp is np:  # the method is a third of the time of the function, for short columns
        return lambda array, places: array.take(places)
    return lambda array, places: xp.take(array, places)


class Decision(NamedTuple):
    """Which way a program went, and where: by what it compared, after so many draws."""

    where: tuple[str, int]
    side: int


class Waiting(NamedTuple):
    """Runs for which the program is to be called, and what they have drawn and decided before.

    runs: which of all they are; None where nobody asks.
    """

    size: int
    runs: Any
    left: Left
    draws: tuple[KeptDraw, ...] = ()
    decided: tuple[Decision, ...] = ()


class Group:
    """Runs that have taken the same path so far, and their draws, in order."""

    def __init__(self, of: Waiting, rng: Any, waiting: list[Waiting], xp: Any) -> None:
        self.size = of.size
        self.runs = of.runs
        self.left = of.left
        self.xp = xp
        self.take = taking(xp)
        self.noise = DrawnNoise(rng, self._next)
        self._draws = [RunNumbers(self, draw.values, at=draw.at) for draw in of.draws]
        self._waiting = waiting
        self._place = 0
        self._decided = list(of.decided)
        self._told, self._turn = len(of.decided), 0

    def _next(self, sample: Sampler) -> RunNumbers:
        if self._place == len(self._draws):
            self._draws.append(RunNumbers(self, sample(self.size)))
        self._place += 1
        return self._draws[self._place - 1]

    @property
    def used(self) -> tuple[KeptDraw, ...]:
        """The draws that were made so far."""
        return tuple(column.drawn for column in self._draws[: self._place])

    def decide(self, compared: str, ways: Callable[[], Sequence[Any]]) -> int:
        """The way that most runs go, of several; those that go another wait, each way by itself.

        ways: where the runs are that go each way; not asked of runs that are told what they decided.
        """
        where = (compared, self._place)
        if self._turn < self._told:
            decision = self._decided[self._turn]
            if decision.where != where:
                raise NotBatched("another course when it is called again")
            self._turn += 1
            return decision.side
        there = ways()
        sizes = [places.shape[0] for places in there]
        side = sizes.index(max(sizes))
        if sizes[side] < self.size:
            for other, places in enumerate(there):
                if sizes[other] and other != side:
                    decided = (*self._decided, Decision(where, other))
                    runs, left = self._which(places), Left(self.left, places)
                    self._waiting.append(Waiting(sizes[other], runs, left, self.used, decided))
            self.size, self.runs = sizes[side], self._which(there[side])
            self.left = Left(self.left, there[side])
        self._decided.append(Decision(where, side))
        self._told = self._turn = len(self._decided)
        return side

    def where(self, truth: Any) -> Any:
        """The places of those for which something is true."""
        return self.xp.nonzero(truth)[0]

    def apart(self, truth: Any) -> tuple[Any, Any]:
        """The places of those for which something is true, and of the others.

        Where all go one way, nobody asks for their places, and nothing more is looked for.
        """
        true = self.where(truth)
        if true.shape[0] in (0, truth.shape[0]):
            return (true, true[:0]) if true.shape[0] else (true, truth)
        return true, self.where(~truth)

    def close(self) -> None:
        """Let go of the draws, which refer back to the group.

        Python would find that circle at some time; until then the columns of all batches since are kept,
        gigabytes of each on a GPU, and every new one is a matter for the operating system.
        """
        self._draws.clear()
        del self.noise

    def _which(self, places: Any) -> Any:
        return None if self.runs is None else self.runs.take(places)


class RunValues:
    """A value for each run of a group; those of runs that have left are dropped when it is next used.

    made: computes the values of the runs that are left; asked once at most.
    at: when `values` were those of the runs that were left.
    """

    __slots__ = ("_at", "_made", "_values", "group")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None

    def __init__(
        self,
        group: Group,
        values: Any = None,
        *,
        made: Callable[[], Any] | None = None,
        at: Left | None = None,
    ) -> None:
        self.group = group
        self._values = values
        self._made = made
        self._at = group.left if at is None else at

    def now(self) -> Any:
        """The values for the runs that are left."""
        if self._made is not None:
            self._values, self._made = self._made(), None
        elif (places := self.group.left.since(self._at, self.group.take)) is not None:
            self._values = self.group.take(self._values, places)
        self._at = self.group.left
        return self._values

    @property
    def drawn(self) -> KeptDraw:
        """The values as they are kept."""
        return KeptDraw(self._values, self._at)

    def __repr__(self) -> str:
        raise NotBatched("the text of a column")


class RunTruths(RunValues):
    """What a comparison gave, for each run."""

    def __bool__(self) -> bool:
        return self.group.decide("truth", self._ways) == 0

    def _ways(self) -> tuple[Any, Any]:
        return self.group.apart(self.now())

    def __eq__(self, other: object) -> bool:
        raise NotBatched("a comparison of truth values")

    __hash__ = None


_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


def _infix(operation: Callable[[Any, Any], Any], *, swap: bool = False) -> Callable[[Any, Any], Any]:
    """The operator of a column and another one, or a number."""
    compares = operation in _COMPARISONS

    def apply(column: RunNumbers, other: Any) -> Any:
        if isinstance(other, RunNumbers):
            right: Callable[[], Any] = other.now
        elif type(other) in (float, int) or isinstance(other, numbers.Real):
            right = partial(float, other)
        else:
            return NotImplemented

        def made() -> Any:
            return operation(right(), column.now()) if swap else operation(column.now(), right())

        return (RunTruths if compares else RunNumbers)(column.group, made=made)

    return apply


class RunNumbers(RunValues):
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

    def __neg__(self) -> RunNumbers:
        return RunNumbers(self.group, made=lambda: -self.now())

    def __pos__(self) -> RunNumbers:
        return self

    def __abs__(self) -> RunNumbers:
        return RunNumbers(self.group, made=lambda: abs(self.now()))

    def __bool__(self) -> bool:
        return bool(self != 0)

    __hash__ = None


# What Python would do by comparing two at a time ---------------------------------------------------------


def on_columns(program: Program) -> Program:
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
    column = next((value for value in keys if isinstance(value, RunNumbers)), None)
    if column is None or not all(isinstance(value, RunNumbers | numbers.Real) for value in keys):
        return plain(items, **({} if key is None else {"key": key}), **more)
    group, xp = column.group, column.group.xp

    def best() -> Any:  # the first, as in Python
        table = xp.stack([_values(value, column) for value in keys])
        return xp.argmax(table, axis=0) if plain is max else xp.argmin(table, axis=0)

    def chosen() -> Any:
        places, found = best(), items[0].now()
        for place, item in enumerate(items[1:], start=1):
            found = xp.where(places == place, item.now(), found)
        return found

    def ways() -> list[Any]:
        places = best()
        return [group.where(places == place) for place in range(len(items))]

    if all(isinstance(item, RunNumbers) for item in items):
        return RunNumbers(group, made=chosen)
    return items[group.decide(f"{plain.__name__} of {len(items)}", ways)]


def _values(value: Any, column: RunNumbers) -> Any:
    """The values of a column, or as many of a number."""
    if isinstance(value, RunNumbers):
        return value.now()
    return column.group.xp.full_like(column.now(), float(value))
