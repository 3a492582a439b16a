"""Quantiles: people in three cells, of whom the answers say how many are in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import freegap as fg
from freegap.bits import BitSource
from freegap_evidence.assurance.row import EPSILON, Cited, NoFastPath, Released, Row

COUNTS = (4, 1, 1)
_PLACES = 1024


def rows() -> Iterator[Row]:
    """Two quantiles, so that there are two levels."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        people = [cell for cell, count in enumerate(answers) for _ in range(int(count))]
        found = fg.quantiles(people, q=[0.5, 0.75], low=0, high=2, epsilon=epsilon, bits=bits)
        return Released(tuple(map(int, found.values)), found.spent)

    yield Row(
        function="quantiles",
        noise="Gumbel",
        theorem="Kaplan, Schnapp and Stemmer 2022, for people who stand on both sides",
        proof=Cited(
            "Gumbel noise is not aligned: the exponential mechanism (McSherry and Talwar 2007) loses at most "
            "the share of a person that stands in its part, and the shares of a level add up to 1"
        ),
        release=release,
        answers=COUNTS,
        law=_law,
        pairs=(((4, 1, 0), (4, 1, 1)), ((9, 4, 4), (9, 4, 5))),
        regimes=NoFastPath(
            "cells are chosen by the core of exponential_mechanism; tests compare them with all places"
        ),
        costly=True,
    )


def _law() -> Mapping[Any, float]:
    """Every place of the one half, and for each every place of what is above it."""
    weights = np.concatenate([[0.0], np.cumsum(np.repeat(COUNTS, _PLACES))]) / _PLACES
    each = float(EPSILON) / 2
    law: dict[Any, float] = {}
    for place, p in enumerate(_chosen(weights, each)):
        above = _chosen(weights[place:] - weights[place], each)
        cells = np.minimum(np.arange(place, len(weights)) // _PLACES, len(COUNTS) - 1)
        for second, q in enumerate(np.bincount(cells, above, len(COUNTS)).tolist()):
            law[int(cells[0]), second] = law.get((int(cells[0]), second), 0.0) + float(p) * q
    return law


def _chosen(weights: NDArray[Any], epsilon: float) -> NDArray[Any]:
    """The law of a median of people with these weights before each place: its sensitivity is a half."""
    chances = np.exp(-np.abs(weights - weights[-1] / 2) * epsilon)
    return np.asarray(chances / chances.sum())
