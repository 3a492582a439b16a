"""Noise of other libraries, recorded where they add it: what was noised, and how wide their noise is.

A primitive of diffprivlib knows its ε and its sensitivity, a measurement of OpenDP what it loses where its
input moves by one; either is noise of a width, and is compared on neighbours like any other draw. What they
draw is their own: the two runs do not share random numbers then, which no comparison needs.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from typing import Any
from unittest.mock import patch

import numpy as np

from freegap.auditor.recorded import Draw, Record, call_site

DIFFPRIVLIB = {
    # by the law whose loss is the move over the width
    "Laplace": "laplace",
    "LaplaceTruncated": "laplace",
    "LaplaceFolded": "laplace",
    "LaplaceBoundedDomain": "laplace",
    "Staircase": "laplace",
    "Geometric": "discrete_laplace",
    "GeometricTruncated": "discrete_laplace",
    "GeometricFolded": "discrete_laplace",
}
"""Its mechanisms that add noise to a number."""


@contextmanager
def primitives_of(record: Record) -> Iterator[None]:
    """Record the primitives of the libraries that are loaded."""
    with ExitStack() as stack:
        mechanisms = sys.modules.get("diffprivlib.mechanisms")
        for name, law in DIFFPRIVLIB.items() if mechanisms is not None else ():
            kind = getattr(mechanisms, name, None)
            if kind is not None and "randomise" in vars(kind):
                made = _randomise(name, kind.randomise, law, record)
                stack.enter_context(patch.object(kind, "randomise", made))
        opendp = sys.modules.get("opendp.mod")
        if opendp is not None:
            kind = opendp.Measurement
            stack.enter_context(patch.object(kind, "__call__", _measure(kind, record)))
        yield


def _randomise(name: str, plain: Callable[..., Any], law: str, record: Record) -> Callable[..., Any]:
    """Of diffprivlib: noise of width sensitivity/ε. Where one mechanism asks another, the first counts."""

    @wraps(plain)
    def randomise(self: Any, value: Any) -> Any:
        if record.inside:
            return plain(self, value)
        width = float(self.sensitivity) / float(self.epsilon)
        _noted(record, law, f"diffprivlib.{name}", width, value)
        record.inside = True
        try:
            return plain(self, value)
        finally:
            record.inside = False

    return randomise


def _measure(kind: Any, record: Record) -> Callable[..., Any]:
    """Of OpenDP: a measurement, as wide as what it loses where its input moves by one says."""
    plain = kind.__call__

    @wraps(plain)
    def measure(self: Any, value: Any) -> Any:
        lost = _unit_loss(self)
        if lost is not None:
            gaussian = "ZeroConcentrated" in str(self.output_measure)
            width = 1 / math.sqrt(2 * lost) if gaussian else 1 / lost
            _noted(record, "normal" if gaussian else "laplace", "opendp.Measurement", width, value)
        return plain(self, value)

    return measure


def _unit_loss(measurement: Any) -> float | None:
    """What is lost where the input moves by one, whole or not; None where that is no positive number."""
    lost = math.nan
    for unit in (1.0, 1):
        with suppress(Exception):  # another type of distance, or a measure that is no number
            lost = float(measurement.map(unit))
    return lost if 0 < lost < math.inf else None


def _noted(record: Record, law: str, name: str, width: float, value: Any) -> None:
    try:
        centre = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):  # a table, a text: nothing that is moved
        return
    draw = Draw(law, f"{call_site()}, {name}", centre.shape, np.asarray(width), math.nan)
    draw.centres.append(centre)
    record.draws.append(draw)
