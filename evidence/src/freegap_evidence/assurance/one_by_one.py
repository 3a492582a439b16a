"""Releases of a function that has no batch: it is called as often, and all that is known before is made once.

A row gives its function as `prepare(answers, epsilon)`, which reads what does not change between releases and
returns the release of a source of bits. So one release and many are the same calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.bits import BitSource
from freegap_evidence.assurance.at_once import BELOW, NOT_ASKED, ReleaseMany
from freegap_evidence.assurance.row import Release, Released

Prepare = Callable[[Sequence[float], Fraction], Callable[[BitSource], Released]]


def single(prepare: Prepare) -> Release:
    """One release."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        return prepare(answers, epsilon)(bits)

    return release


def repeated(prepare: Prepare, numbers: Callable[[Any, int], Sequence[int]]) -> ReleaseMany:
    """Many releases, a row of numbers each.

    numbers: of the output of one, and of how many answers there are: so many numbers whatever the output.
    """

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        draw = prepare(answers, epsilon)
        return np.array([numbers(draw(bits).output, len(answers)) for _ in range(size)], dtype=np.int64)

    return release


def gap_of_each(entries: Sequence[Any], questions: int) -> list[int]:
    """Of a sparse vector, for each question: not asked, below, or the gap."""
    asked = [BELOW if entry is None else entry[1] for entry in entries]
    return asked + [NOT_ASKED] * (questions - len(asked))
