"""The extremes of arrays, each by the call of NumPy that begins soonest: `argmin` looks where it is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FEW = 32


def smallest(numbers: NDArray[Any]) -> Any:
    """The smallest of some numbers, none of them NaN.

    >>> smallest(np.array([5, 3, 7]))
    3
    """
    return numbers.item(numbers.argmin())


def largest(numbers: NDArray[Any]) -> Any:
    """The largest of some numbers, none of them NaN.

    >>> largest(np.array([5, 3, 7]))
    7
    """
    return numbers.item(numbers.argmax())


def certainly_finite(numbers: NDArray[np.float64]) -> bool:
    """Whether none is infinite or NaN; of very large ones it may say no although they are finite.

    >>> certainly_finite(np.array([5.0, 3.0])), certainly_finite(np.array([5.0, np.inf]))
    (True, False)
    """
    return math.isfinite(sum(numbers.tolist()) if len(numbers) <= _FEW else np.add.reduce(numbers))
