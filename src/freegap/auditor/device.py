"""Run a mechanism on a device: arrays of any library that follows the Python array API standard.

The runs are made in batches, each with a seed of its own, and stay where they were made: an event is looked
for among them there, and only counts come back. A batch is a few paths (`freegap.auditor.columns`): runs
whose outputs are the same but for columns of real numbers.

Noise is drawn by inverting distribution functions, in double precision, from uniforms of 53 bits. In single
precision uniforms lie on a grid of 2^-24, their logarithms end at 16.6, and zero comes up once in 2^24 draws:
a search that sees events of 10^-8 would find that, and not what is wrong with the mechanism. So a device
without doubles is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from freegap.auditor.columns import OnePath, by_paths
from freegap.auditor.events import Between, Clause, Event, OneOf
from freegap.auditor.features import (
    Component,
    CountOf,
    Difference,
    Distance,
    Feature,
    Greatest,
    KindOf,
    Least,
    Length,
    Mean,
    Whole,
)
from freegap.auditor.mechanism import Answers, Mechanism, Parameters
from freegap.auditor.outputs import INTEGER, REAL, Label, Outputs, Path
from freegap.auditor.reading import MOST_COLUMNS, WrongSize, from_objects
from freegap.errors import InvalidArgument, MechanismFailed, MissingExtra

GIBIBYTE = 2**30
LEAST_BATCH, MOST_BATCH = 2**12, 2**26
MOST_KINDS = 4096  # different whole numbers and booleans in one batch that are told apart

_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_LIBRARIES = ("torch", "cupy", "jax")


@dataclass(frozen=True)
class Device:
    """An array library, and where it keeps its arrays.

    xp: the namespace of the library, as the standard has it.
    place: the device as the library knows it; None for its own choice.
    memory: bytes that the arrays of a batch may take.
    """

    xp: Any
    place: Any
    name: str
    memory: int

    @classmethod
    def of(cls, device: Any, memory: int | None = None) -> Device:
        """The device that a caller named: "cpu" for NumPy, "cuda" for PyTorch, CuPy or JAX, or a library.

        >>> Device.of("cpu").name
        'numpy'
        """
        xp, place, name = _library(device)
        far = not isinstance(device, str) or device != "cpu"
        found = cls(xp, place, name, memory or (8 * GIBIBYTE if far and place is not None else GIBIBYTE // 2))
        found.has_doubles(device)
        return found

    @property
    def where(self) -> dict[str, Any]:
        """The argument of the functions that make arrays."""
        return {} if self.place is None else {"device": self.place}

    def has_doubles(self, given: Any) -> None:
        """Refuse a device that computes in single precision."""
        try:
            one = self.xp.asarray(1.0, dtype=self.xp.float64, **self.where)
            exact = float(one + 2.0**-50) != 1.0
        except Exception as error:  # each library has its own
            raise InvalidArgument(
                "device", str(given), f"cannot be used: {error}", "Pass another."
            ) from error
        if not exact:
            raise InvalidArgument(
                "device",
                str(given),
                "has no double precision here, and the grid of single precision would be found, not leaks",
                'Pass device="cpu"; JAX has doubles after jax.config.update("jax_enable_x64", True).',
            )

    def batch(self, mechanism: Mechanism, answers: Answers) -> int:
        """How many runs fit into the memory of a batch: each draw is a double, with copies."""
        runs = self.memory // (8 * (6 * len(answers) + 24))
        return max(LEAST_BATCH, min(MOST_BATCH, 2 ** int(math.log2(max(2, runs)))))


def _library(device: Any) -> tuple[Any, Any, str]:
    if isinstance(device, ModuleType) or hasattr(device, "__array_namespace_info__"):
        return _standard(device.__name__.partition(".")[0], device), None, device.__name__
    if not isinstance(device, str):
        raise InvalidArgument(
            "device", device, "is no device", 'Pass "cpu", "cuda", or an array library such as torch.'
        )
    if device == "cpu":
        return np, None, "numpy"
    for name in _LIBRARIES:
        try:
            module = __import__(name)
        except ImportError:
            continue
        return _standard(name, module), _place(name, module, device), f"{name} on {device}"
    raise InvalidArgument(
        "device", device, "needs PyTorch, CuPy or JAX", 'Install one of them, or pass device="cpu".'
    )


def _place(name: str, module: Any, device: str) -> Any:
    try:
        if name == "torch":
            return module.device(device)
        kind, _, number = device.partition(":")
        if name == "cupy":
            return module.cuda.Device(int(number or 0))
        return module.devices(kind)[int(number or 0)]
    except (RuntimeError, ValueError) as error:
        raise InvalidArgument("device", device, f"is unknown to {name}: {error}", 'Pass "cuda".') from error


def _standard(name: str, module: Any) -> Any:
    """The library with the names and the behaviour of the standard."""
    if name == "jax":
        import jax.numpy

        return jax.numpy
    if name not in ("torch", "cupy"):
        return module
    try:
        from importlib import import_module

        return import_module(f"array_api_compat.{name}")
    except ImportError as missing:
        raise MissingExtra("array-api-compat", "device") from missing


# Noise ---------------------------------------------------------------------------------------------------


class DeviceRng:
    """Draws arrays on a device by the methods of a NumPy generator.

    The uniforms are those of SplitMix64 (Steele, Lea and Flood 2014), the n-th of which is a function of n
    alone: state s + n·γ, mixed. Each batch has a start s and an odd γ of its own.

    >>> rng = DeviceRng(Device.of("cpu"), 1, (0,))
    >>> 0 < float(rng.exponential(2.0, 1)[0])
    True
    """

    def __init__(self, device: Device, seed: int, key: tuple[int, ...]) -> None:
        self._sequence = np.random.SeedSequence(seed, spawn_key=key)
        start, step = self._sequence.generate_state(2, np.uint64)
        self._start, self._step = int(start), int(step) | 1
        self._drawn = 0
        self._where = device.where
        self._native = _native(device, int(start))
        self.xp = device.xp

    def on_host(self) -> np.random.Generator:
        """A generator of NumPy's, for single runs."""
        return np.random.default_rng(self._sequence.spawn(1)[0])

    def random(self, size: Any = None) -> Any:
        """Uniform in (0, 1]: odd multiples of 2^-54, as far as doubles have them."""
        shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        if self._native is not None:
            return self._native(shape) + 2.0**-54
        xp, count = self.xp, math.prod(shape)
        state = xp.arange(count, dtype=xp.int64, **self._where) * _signed(self._step)
        state = state + _signed(self._start + self._drawn * self._step)
        self._drawn += count
        for shift, factor in ((30, _FIRST), (27, _SECOND)):
            state = (state ^ _shifted(state, shift)) * _signed(factor)
        state = state ^ _shifted(state, 31)
        return xp.reshape(xp.astype(_shifted(state, 11), xp.float64) * 2.0**-53 + 2.0**-54, shape)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        """Uniform between two numbers."""
        return low + (high - low) * self.random(size)

    def standard_exponential(self, size: Any = None) -> Any:
        """Exponential of scale 1."""
        return -self.xp.log(self.random(size))

    def exponential(self, scale: float = 1.0, size: Any = None) -> Any:
        """Exponential."""
        return scale * self.standard_exponential(size)

    def laplace(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """Laplace: each half of the uniforms is one tail, so that both reach as far."""
        uniform = self.random(size)
        lower = uniform < 0.5
        tail = scale * self.xp.log(2 * self.xp.where(lower, uniform, (1 - uniform) + 2.0**-54))
        return loc + self.xp.where(lower, tail, -tail)

    def gumbel(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """Gumbel."""
        return loc - scale * self.xp.log(self.standard_exponential(size) + 2.0**-60)

    def logistic(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """Logistic."""
        uniform = self.random(size)
        return loc + scale * (self.xp.log(uniform) - self.xp.log((1 - uniform) + 2.0**-54))

    def geometric(self, p: float, size: Any = None) -> Any:
        """How many tosses until the first success, in doubles."""
        return self.xp.floor(self.standard_exponential(size) / -math.log1p(-p)) + 1

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None) -> Any:
        """Normal, by Box and Muller 1958."""
        radius = self.xp.sqrt(2 * self.standard_exponential(size))
        return loc + scale * radius * self.xp.cos(2 * math.pi * self.random(size))

    def standard_normal(self, size: Any = None) -> Any:
        """Normal of mean 0 and variance 1."""
        return self.normal(size=size)

    def integers(self, low: int, high: int | None = None, size: Any = None) -> Any:
        """Whole numbers from `low` to below `high`; with one argument, from 0 to below it."""
        first, end = (0, low) if high is None else (low, high)
        found = self.xp.floor(self.random(size) * (end - first))
        return first + self.xp.astype(self.xp.clip(found, 0, end - first - 1), self.xp.int64)


def _signed(number: int) -> int:
    """A number modulo 2^64, as a signed one."""
    return (number + 2**63) % 2**64 - 2**63


def _shifted(state: Any, by: int) -> Any:
    """The bits of 64-bit integers shifted to the right, zeros coming in."""
    return (state >> by) & (2 ** (64 - by) - 1)


def _native(device: Device, seed: int) -> Callable[[tuple[int, ...]], Any] | None:
    """PyTorch's own uniforms, multiples of 2^-53 in [0, 1) by Philox on a GPU, which are faster."""
    if not device.name.startswith("torch"):
        return None
    import torch

    place = device.place or torch.get_default_device()
    generator = torch.Generator(device=place)
    generator.manual_seed(_signed(seed))
    return lambda shape: torch.rand(shape, generator=generator, dtype=torch.float64, device=place)


# Runs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DeviceSource:
    """Where outputs come from, on a device: a mechanism and the seed of the audit."""

    mechanism: Mechanism
    device: Device
    seed: int

    def batch(self, answers: Answers) -> int:
        """How many runs make a batch."""
        return self.device.batch(self.mechanism, answers)

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
                    **self.device.where,
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
        hits: list[Any] = [0] * len(events)
        for path in self.run(answers, parameters, size, key):
            for i, event in enumerate(events):
                hits[i] = hits[i] + happened(event, path, self.device.xp)
        return [int(n) for n in hits]


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
    return OnePath(device.xp.arange(size, **device.where), empty, columns)


def _apart(path: OnePath, xp: Any) -> Iterator[OnePath]:
    """The same runs in parts in which all booleans and whole numbers, NaN and the infinities are the same:
    what differs within a part are finite reals alone."""
    discrete = [at for at, column in path.columns.items() if not xp.isdtype(column.dtype, "real floating")]
    if len(path.one) != 1 or not path.columns:
        yield path
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


def _with_column(path: OnePath, at: Path, column: Any) -> OnePath:
    return OnePath(path.runs, path.one, {**path.columns, at: column})


def narrowed(path: OnePath, places: Any, xp: Any) -> OnePath:
    """The runs at these places."""
    columns = {at: xp.take(column, places) for at, column in path.columns.items()}
    return OnePath(xp.take(path.runs, places), path.one, columns)


def _settled(path: OnePath, at: Path, value: Any, places: Any, xp: Any) -> OnePath:
    """The runs at some places, in which a column has this value."""
    others = OnePath(path.runs, path.one, {p: column for p, column in path.columns.items() if p != at})
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
    return OnePath(here.runs, one, here.columns)


# Events --------------------------------------------------------------------------------------------------

_OF_KINDS = (Length, CountOf, KindOf, Distance)
"""Features that depend on what there is at each place, and not on the value of a real number."""

_OF_NUMBERS = (Component, Difference, Mean, Least, Greatest)


def countable(event: Event) -> bool:
    """Whether an event can be looked for on a device."""
    return all(isinstance(c.feature, (*_OF_KINDS, *_OF_NUMBERS, Whole)) for c in event.clauses)


def happened(event: Event, path: OnePath, xp: Any) -> Any:
    """How often an event happened among the runs of a path: a number, or an array of the device with one."""
    if not path.columns:
        hits = event.hits(path.one)
        return hits if len(path.one) != 1 else hits * path.runs.shape[0]
    found: Any = None
    for clause in event.clauses:
        if _is_fixed(clause.feature, path):
            if not clause.holds(path.one)[0]:
                return 0
            continue
        holds = _holds(clause, path, xp)
        if holds is None:
            return 0
        found = holds if found is None else found & holds
    return path.runs.shape[0] if found is None else xp.sum(xp.astype(found, xp.int64))


def _is_fixed(feature: Feature, path: OnePath) -> bool:
    """Whether the columns make no difference to a feature."""
    if isinstance(feature, _OF_KINDS):
        return True
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
    if isinstance(feature, Whole):  # with reals in it, no two outputs are the same
        return None
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
