"""The floating-point event: which of the representable numbers can come out at all.

A double near 0 can have a last digit far below that of a double near 1. Noise added to the answer 1 comes
out as a multiple of the last digit of 1, even where the sum is close to 0; noise added to the answer 0
comes out as it is. So the worth of the lowest set bit tells the two answers apart, whatever the
distribution (Mironov 2012): the textbook Laplace mechanism is not private for any ε.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from freegap.auditor.features import Reading, path_text, spread
from freegap.auditor.outputs import ABSENT, INTEGER, REAL, Outputs, Path

__all__ = ["LowestBit", "lowest_bits"]


@dataclass(frozen=True)
class LowestBit:
    """The power of two that the lowest set bit of a number is worth."""

    path: Path = ()

    @property
    def text(self) -> str:
        """The feature in words."""
        return f"power of two of the lowest set bit of {path_text(self.path)}"

    def read(self, outputs: Outputs) -> Reading:
        """Nothing for zero, which has no set bit, and for what is not a number.

        >>> from freegap.auditor.outputs import from_objects
        >>> LowestBit().read(from_objects([1.0, 1.5, 0.375, 12.0])).numbers.tolist()
        [0.0, -1.0, -3.0, 2.0]
        """
        codes, numbers = outputs.column(self.path)
        mantissa, exponent = np.frexp(numbers)
        whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
        lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        present = (codes == REAL) & (numbers != 0)
        found = np.where(present, exponent - 53.0 + lowest, 0.0)
        return Reading(np.where(present, np.int32(INTEGER), np.int32(ABSENT)), found, ())


def lowest_bits(first: Outputs, second: Outputs, most: int = 2) -> tuple[LowestBit, ...]:
    """The feature for a few of the places that hold reals, from the first to the last."""
    real = dict.fromkeys(
        path
        for part in (first, second)
        for path, some in zip(part.paths, (part.codes == REAL).any(axis=0), strict=True)
        if some
    )
    return tuple(map(LowestBit, spread(list(real), most)))
