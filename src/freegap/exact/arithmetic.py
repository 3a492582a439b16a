"""Does this machine compute as the proofs of `laws`, `screening` and `doubles` assume?

IEEE 754 fixes the arithmetic operations and says nothing binding about exp and log: these are NumPy's, differ
between processors, and are what the bounds must assume something about.

    single precision  exp, expm1, log   relative error at most 8·2^-23, else the screen could pass over items
    double precision  log, log1p, expm1 relative error at most 8·2^-53, else the filter could decide wrongly

Every one is measured where it is used. `freegap assure` looks at a sample of arguments, a long test at every
single-precision number in range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from freegap.values.balls import at_precision

LIMIT = 8.0
"""The largest error that the proofs allow, in units of 2^-23 (single) and 2^-53 (double), relatively."""

_BALL_BITS = 128


@dataclass(frozen=True)
class Elementary:
    """A function of NumPy, where it is used, and what it should return.

    low, high: positive ends of the range of sizes; sign: of the arguments. exact: of an array, for single
    precision in doubles; of one ball, for double precision.
    """

    name: str
    computed: Callable[[Any], Any]
    exact: Callable[[Any], Any]
    unit: float
    low: float
    high: float
    sign: int

    def sample(self, count: int) -> NDArray[Any]:
        """Arguments spread evenly over the logarithm of their size, the ends included."""
        kind = np.float32 if self.unit == 2.0**-23 else np.float64
        sizes = np.geomspace(self.low, self.high, count)
        return (self.sign * np.clip(sizes, self.low, self.high)).astype(kind)


def worst_error(function: Elementary, arguments: NDArray[Any]) -> float:
    """The largest relative error over these arguments, in units of 2^-23 or 2^-53.

    >>> worst_error(DOUBLE_FUNCTIONS[0], DOUBLE_FUNCTIONS[0].sample(100)) < LIMIT
    True
    """
    computed = function.computed(arguments).astype(np.float64)
    if function.unit == 2.0**-23:
        exact = function.exact(arguments.astype(np.float64))
        with np.errstate(invalid="ignore"):
            errors = np.abs(computed - exact) / np.abs(exact)
        errors[computed == exact] = 0.0  # also where both are 0
    else:
        pairs = zip(arguments.tolist(), computed.tolist(), strict=True)
        errors = np.array(at_precision(_BALL_BITS, lambda: [_error(function, x, y) for x, y in pairs]))
    return float(errors.max()) / function.unit


def every_single(low: float, high: float, sign: int, block: int = 1 << 22) -> Iterator[NDArray[np.float32]]:
    """All single-precision numbers from sign·low to sign·high, in blocks; their patterns are consecutive."""
    first, last = (int(np.float32(end).view(np.uint32)) for end in (low, high))
    for begin in range(first, last + 1, block):
        patterns = np.arange(begin, min(begin + block, last + 1), dtype=np.uint32)
        yield patterns.view(np.float32) * np.float32(sign)


def _error(function: Elementary, argument: float, computed: float) -> float:
    exact = function.exact(arb(argument))
    if exact == 0:
        return abs(computed)
    return float(abs((arb(computed) - exact) / exact).upper())


def _single(name: str, function: Any, low: float, high: float, sign: int) -> Elementary:
    return Elementary(name, function, function, 2.0**-23, low, high, sign)


# Where they are used: the offsets of the screen are within ±80; e^−x is between 2^-80 and e^101 there. Of
# uniform variables the logarithm is taken as they are, and by `few_items` of 2^79 times as much.
SINGLE_FUNCTIONS = (
    _single("exp", np.exp, 2.0**-30, 80.0, 1),
    _single("exp", np.exp, 2.0**-30, 80.0, -1),
    _single("expm1", np.expm1, 2.0**-80, 128.0, -1),
    _single("log", np.log, 2.0**-4, 4.0, 1),
)
DOUBLE_FUNCTIONS = (
    Elementary("log", np.log, lambda x: x.log(), 2.0**-53, 2.0**-75, 2.0**79, 1),
    Elementary("log1p", np.log1p, lambda x: x.log1p(), 2.0**-53, 2.0**-75, 0.5, -1),
    Elementary("expm1", np.expm1, lambda x: x.expm1(), 2.0**-53, 2.0**-140, 64.0, -1),
)
