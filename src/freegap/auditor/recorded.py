"""Noise that is recorded as it is drawn: which method, from where, how wide, and what it was added to.

A mechanism runs as it is, on a generator of NumPy or on labelled noise whose draws are floats and arrays that
remember what they are. The first sum that a draw takes part in tells its centre; a product with a number
changes its width; anything else makes an ordinary number of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.laws import UNIFORM, Law
from freegap.laws.labelled import LabelledNoise

Floats = NDArray[np.float64]

ARGUMENTS: dict[str, tuple[str, ...]] = {
    # of the methods of a NumPy generator whose draws are followed, in their order
    "laplace": ("loc", "scale", "size"),
    "normal": ("loc", "scale", "size"),
    "gumbel": ("loc", "scale", "size"),
    "logistic": ("loc", "scale", "size"),
    "exponential": ("scale", "size"),
    "standard_normal": ("size",),
    "standard_exponential": ("size",),
}
OTHERS = ("random", "uniform", "integers", "choice", "binomial", "geometric", "poisson", "permutation")
"""Methods that are recorded; what comes of their draws is not followed."""


@dataclass
class RecordedDraw:
    """One draw.

    method: of the generator, or the law. site: where it was drawn. shape: of an array, or ().
    scale: how wide, or None where the draw is not followed. centres: what it was added to, in turn.
    raw: the first number, as it was drawn.
    """

    method: str
    site: str
    shape: tuple[int, ...]
    scale: Floats | None
    raw: float
    centres: list[Floats] = field(default_factory=list)
    factor: float = 1.0

    @property
    def kind(self) -> tuple[object, ...]:
        """What two runs are compared by."""
        return self.method, self.site, self.shape

    @property
    def width(self) -> Floats | None:
        """The scale, with what the draw was multiplied by."""
        return None if self.scale is None else abs(self.factor) * self.scale

    def added_to(self, other: Any, factor: float, place: int | None = None) -> None:
        """Note a centre; for one item of an array, at its place."""
        try:
            centre = np.asarray(other, dtype=np.float64)
        except (TypeError, ValueError):
            return
        self.factor = factor
        if place is None:
            self.centres.append(centre)
            return
        flat = self.centres[0] if self.centres else np.full(int(np.prod(self.shape)), np.nan)
        if centre.ndim == 0 and np.isnan(flat[place]):
            flat[place] = centre
            self.centres[:1] = [flat]
        elif centre.ndim or flat[place] != centre:
            self.centres.append(centre)


class RecordedNumber(float):
    """A number that was drawn."""

    draw: RecordedDraw
    factor: float
    place: int | None

    @staticmethod
    def of(value: float, draw: RecordedDraw, factor: float = 1.0, place: int | None = None) -> RecordedNumber:
        """This number, as a part of that draw."""
        made = RecordedNumber(value)
        made.draw, made.factor, made.place = draw, factor, place
        return made

    def _plus(self, other: Any, result: Any) -> Any:
        if result is not NotImplemented and not isinstance(other, RecordedNumber):
            self.draw.added_to(other, self.factor, self.place)
        return result

    def _times(self, factor: Any, result: Any) -> Any:
        if result is NotImplemented or isinstance(factor, RecordedNumber) or not isinstance(result, float):
            return result
        return RecordedNumber.of(result, self.draw, self.factor * float(factor), self.place)

    def __add__(self, other: Any) -> Any:
        return self._plus(other, float.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return self._plus(other, float.__radd__(self, other))

    def __rsub__(self, other: Any) -> Any:
        return self._plus(other, float.__rsub__(self, other))

    def __mul__(self, other: Any) -> Any:
        return self._times(other, float.__mul__(self, other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        result = float.__truediv__(self, other)
        return result if result is NotImplemented or not other else self._times(1 / float(other), result)

    def __neg__(self) -> Any:
        return self._times(-1.0, float.__neg__(self))

    def __reduce__(self) -> tuple[object, ...]:
        return float, (float(self),)


class _Array(np.ndarray):
    """Numbers that were drawn at once, which remember their draw."""

    draw: RecordedDraw | None = None
    factor: float = 1.0

    @staticmethod
    def of(values: Any, draw: RecordedDraw, factor: float = 1.0) -> _Array:
        made = np.asarray(values, dtype=np.float64).view(_Array)
        made.draw, made.factor = draw, factor
        return made

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, _Array) else x for x in inputs]
        if "out" in named:
            named["out"] = tuple(np.asarray(x) if isinstance(x, _Array) else x for x in named["out"])
        result = getattr(ufunc, method)(*plain, **named)
        drawn = [x for x in inputs if isinstance(x, _Array) and x.draw is not None]
        if method != "__call__" or len(inputs) != 2 or len(drawn) != 1 or drawn[0].draw is None:
            return result
        one, other = drawn[0], inputs[1] if inputs[0] is drawn[0] else inputs[0]
        draw = drawn[0].draw
        if ufunc is np.add or (ufunc is np.subtract and inputs[1] is one):
            draw.added_to(np.broadcast_to(np.asarray(other, dtype=np.float64), result.shape), one.factor)
        elif ufunc is np.multiply and np.ndim(other) == 0:
            return _Array.of(result, draw, one.factor * float(other))
        elif ufunc is np.true_divide and inputs[0] is one and np.ndim(other) == 0 and other:
            return _Array.of(result, draw, one.factor / float(other))
        return result

    def __getitem__(self, key: Any) -> Any:
        found = np.asarray(self)[key]
        if (
            self.draw is not None
            and self.ndim == 1
            and np.ndim(found) == 0
            and isinstance(key, int | np.integer)
        ):
            return RecordedNumber.of(float(found), self.draw, self.factor, int(key) % len(self))
        return found

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


@dataclass
class RunRecord:
    """What one run drew.

    seeds: of the generators that the mechanism made for itself from a fixed one.
    altered: the place of a draw to be changed, and by how many widths.
    inside: a primitive of another library is under way, whose own draws are no concern of ours.
    """

    draws: list[RecordedDraw] = field(default_factory=list)
    seeds: list[str] = field(default_factory=list)
    altered: tuple[int, float] | None = None
    inside: bool = False

    def note(self, method: str, scale: Any, values: Any, loc: Any = None) -> Any:
        """Record a draw; what the mechanism gets instead."""
        if self.inside:
            return values
        array = np.asarray(values)
        width = None if scale is None else np.asarray(scale, dtype=np.float64)
        raw = float(array.flat[0]) if array.size and array.dtype.kind in "fiub" else np.nan
        draw = RecordedDraw(method, call_site(), array.shape, width, raw)
        self.draws.append(draw)
        if width is None:
            return values
        if self.altered is not None and self.altered[0] == len(self.draws) - 1:
            steps = np.arange(1, array.size + 1).reshape(
                array.shape
            )  # not all alike: some look at differences
            values = values + self.altered[1] * width * steps
        if loc is not None and np.any(np.asarray(loc) != 0):
            draw.added_to(np.broadcast_to(np.asarray(loc, dtype=np.float64), array.shape), 1.0)
            return values  # what it is added to later is no centre of the noise
        return _Array.of(values, draw) if array.shape else RecordedNumber.of(float(values), draw)


def call_site() -> str:
    """The nearest line of the mechanism itself."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        path = PurePath(frame.f_code.co_filename)
        ours = path.name in ("recorded.py", "primitives.py", "labelled.py")
        if not ours and not {"numpy", "diffprivlib", "opendp"} & {*path.parts}:
            return f"{path.name}:{frame.f_lineno}"
        frame = frame.f_back
    return "?"


class RecordingGenerator(np.random.Generator):
    """A generator of NumPy whose draws are recorded."""

    def __init__(self, bits: np.random.BitGenerator, record: RunRecord) -> None:
        super().__init__(bits)
        self._record = record


def _recording(name: str) -> Callable[..., Any]:
    plain = getattr(np.random.Generator, name)

    def method(self: RecordingGenerator, *given: Any, **named: Any) -> Any:
        values = plain(self, *given, **named)
        if name not in ARGUMENTS:
            return self._record.note(name, None, values)
        arguments = {**dict(zip(ARGUMENTS[name], given, strict=False)), **named}
        return self._record.note(name, arguments.get("scale", 1.0), values, arguments.get("loc"))

    return method


for _name in (*ARGUMENTS, *OTHERS):
    setattr(RecordingGenerator, _name, _recording(_name))


class RecordingNoise(LabelledNoise[Any]):
    """Labelled noise whose draws are recorded."""

    def __init__(self, rng: np.random.Generator, record: RunRecord) -> None:
        self._rng = rng
        self._record = record

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> Any:
        """A draw of this law, followed but for uniform noise, which has no centre."""
        unit = 1.0 if resolution is None else float(resolution)
        value = float(unit * law.sample(self._rng, float(scale) / unit, None))
        return self._record.note(law.name, None if law is UNIFORM else float(scale), value)


@contextmanager
def generators_of(record: RunRecord, rng: np.random.Generator) -> Iterator[None]:
    """Generators that the mechanism makes for itself are recorded as well, and the functions of
    `numpy.random`; a fixed seed is noted."""

    def made(seed: Any = None) -> np.random.Generator:
        if isinstance(seed, np.random.Generator):
            return seed
        if isinstance(seed, int | np.integer | list | tuple):
            record.seeds.append(f"{call_site()}, seed {seed}")
        bits: Any = seed if isinstance(seed, np.random.BitGenerator) else np.random.SFC64(seed)
        return RecordingGenerator(bits, record)

    def seeded(seed: Any = None) -> None:
        if seed is not None:
            record.seeds.append(f"{call_site()}, seed {seed}")

    shared = RecordingGenerator(rng.bit_generator, record)
    old = {name: getattr(shared, name) for name in (*ARGUMENTS, "random", "uniform", "choice", "binomial")}
    new = {"default_rng": made, "seed": seeded, **old}
    before = {name: getattr(np.random, name) for name in new}
    try:
        for name, function in new.items():
            setattr(np.random, name, function)
        yield
    finally:
        for name, function in before.items():
            setattr(np.random, name, function)
