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
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from freegap.errors import InvalidArgument, MissingExtra

GIBIBYTE = 2**30
LEAST_BATCH, MOST_BATCH = 2**12, 2**26

_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
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
        found = cls(xp, place, name, memory or 0)
        found.has_doubles(device)
        return found if memory else replace(found, memory=_spare(name, place))

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

    def batch(self, answers: int) -> int:
        """How many runs on so many answers fit into the memory of a batch: each draw is a double, with
        copies."""
        runs = self.memory // (8 * (6 * answers + 24))
        return max(LEAST_BATCH, min(MOST_BATCH, 1 << max(1, runs).bit_length() - 1))


def _library(device: Any) -> tuple[Any, Any, str]:
    if isinstance(device, ModuleType) or hasattr(device, "__array_namespace_info__"):
        return _standard(device.__name__.partition(".")[0], device), None, device.__name__
    if not isinstance(device, str):
        raise InvalidArgument(
            "device", device, "is no device", 'Pass "cpu", "cuda", or an array library such as torch.'
        )
    if device == "cpu":
        return _standard("numpy", np), None, "numpy"
    for name in _LIBRARIES:
        try:
            module = import_module(name)
        except ImportError:
            continue
        return _standard(name, module), _place(name, module, device), f"{name} on {device}"
    raise InvalidArgument(
        "device", device, "needs PyTorch, CuPy or JAX", 'Install one of them, or pass device="cpu".'
    )


def _spare(name: str, place: Any) -> int:
    """Bytes that may well be taken: a third of what is free on a GPU, or some."""
    if name.startswith("torch") and place is not None and place.type == "cuda":
        torch: Any = import_module("torch")
        return int(torch.cuda.mem_get_info(place)[0]) // 3
    return GIBIBYTE if place is not None else GIBIBYTE // 2


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
        return import_module("jax.numpy")
    if name not in ("numpy", "torch", "cupy"):
        return module
    try:
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
        return self._grid(size) + 2.0**-54

    def _grid(self, size: Any) -> Any:
        """Uniform multiples of 2^-53 in [0, 1)."""
        shape = () if size is None else (size,) if isinstance(size, int) else tuple(size)
        if self._native is not None:
            return self._native(shape)
        xp, count = self.xp, math.prod(shape)
        state = xp.arange(count, dtype=xp.int64, **self._where) * _signed(self._step)
        state = state + _signed(self._start + self._drawn * self._step)
        self._drawn += count
        for shift, factor in ((30, _FIRST), (27, _SECOND)):
            state = (state ^ _shifted(state, shift)) * _signed(factor)
        state = state ^ _shifted(state, 31)
        return xp.reshape(xp.astype(_shifted(state, 11), xp.float64) * 2.0**-53, shape)

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
        """Laplace. The uniforms less a half are odd multiples of 2^-54, without rounding, and less than a
        half in size, so that both tails reach as far and neither reaches infinity."""
        around = self._grid(size) - (0.5 - 2.0**-54)
        found = self.xp.copysign(self.xp.log1p(-2 * abs(around)) * -scale, around)
        return found if isinstance(loc, float) and loc == 0 else loc + found

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
    torch: Any = import_module("torch")
    place = device.place or torch.get_default_device()
    generator = torch.Generator(device=place)
    generator.manual_seed(_signed(seed))
    return lambda shape: torch.rand(shape, generator=generator, dtype=torch.float64, device=place)
