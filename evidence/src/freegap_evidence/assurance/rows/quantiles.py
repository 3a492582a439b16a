"""Quantiles: people in two or three cells, of whom the answers say how many are in each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import freegap as fg
from freegap.bits import BitSource
from freegap.values.measures import ZeroConcentrated
from freegap_evidence.assurance.at_once import ReleaseMany
from freegap_evidence.assurance.row import ENOUGH, EPSILON, Cited, NoFastPath, Pair, Released, Row
from freegap_evidence.assurance.threshold_laws import ThresholdSetting, sparse_vector_law

_PLACES = 1024
_THEOREM = "Kaplan, Schnapp and Stemmer 2022, for people who stand on both sides"
_SHARES = (
    "Gumbel noise is not aligned: the exponential mechanism (McSherry and Talwar 2007) loses at most the "
    "share of a person that stands in its part, and the shares of a level add up to 1"
)
_AS_ALL = NoFastPath(
    "cells are chosen by the core of exponential_mechanism; tests compare them with all places"
)
# By the exact laws these lose most, of all with up to eight people in each of three cells.
PAIRS_OF_ONE: tuple[Pair, ...] = (((8, 2, 5), (8, 2, 6)),)
PAIRS_OF_TWO: tuple[Pair, ...] = (((3, 2, 0), (3, 2, 1)), ((5, 3, 1), (5, 3, 2)))
_NEAR: tuple[Pair, ...] = (((0, 5, 5), (0, 5, 6)), ((1, 4, 1), (1, 4, 2)))


def rows() -> Iterator[Row]:
    """Alone, in ρ, in groups, with a range that is found, and with intervals."""
    yield _two()
    yield _in_rho()
    yield _in_groups()
    yield _searched()
    yield _with_intervals()


def _two() -> Row:
    """Two quantiles, so that there are two levels."""
    return Row(
        function="quantiles",
        noise="Gumbel",
        theorem=_THEOREM,
        proof=Cited(_SHARES),
        release=_releasing(lambda people, **more: fg.quantiles(people, q=[0.5, 0.75], low=0, high=2, **more)),
        answers=(4, 1, 1),
        law=lambda: _law_of_two((4, 1, 1), float(EPSILON) / 2),
        law_at=lambda answers, epsilon: _law_of_two(tuple(map(int, answers)), float(epsilon) / 2),
        at_once=_copied(1, q=[0.5, 0.75]),
        most_at_once=ENOUGH,
        pairs=PAIRS_OF_TWO,
        regimes=_AS_ALL,
        costly=True,
    )


def _in_rho() -> Row:
    """Both levels with ε cost 2ε²/8."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.quantiles(
            _people(answers), q=[0.5, 0.75], low=0, high=2, rho=epsilon**2 / 4, resolution=1, bits=bits
        )
        return Released(tuple(map(int, found.values)), found.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> Mapping[Any, float]:
        return _law_of_two(tuple(map(int, answers)), float(epsilon))

    return Row(
        function="quantiles",
        noise="Gumbel",
        variant="in ρ",
        theorem="as under ε; Cesar and Rogers 2021, with the squares of the shares",
        proof=Cited(
            "a draw has the range ε times the share of a person in its part, and the squares of the shares "
            "of a level add up to at most 1: docs/mathematics/quantiles.md"
        ),
        release=release,
        answers=(4, 1, 1),
        law=partial(law_at, (4, 1, 1), EPSILON),
        at_once=_copied(1, 4, q=[0.5, 0.75]),
        most_at_once=ENOUGH,
        pairs=(*_NEAR, ((4, 1, 0), (4, 1, 1))),
        regimes=_AS_ALL,
        measure=ZeroConcentrated,
        charge=lambda epsilon: epsilon**2 / 4,
        law_at=law_at,
        costly=True,
    )


def _in_groups() -> Row:
    """The median in each of two groups, of which a person may be in both."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        parts = {"a": _people(answers[:3]), "b": _people(answers[3:])}
        columns = {
            "cell": [cell for cells in parts.values() for cell in cells],
            "person": [person for cells in parts.values() for person, _ in enumerate(cells)],
            "group": [group for group, cells in parts.items() for _ in cells],
        }
        types = {"cell": pa.int64(), "person": pa.int64(), "group": pa.string()}
        table = pa.table({name: pa.array(columns[name], kind) for name, kind in types.items()})
        asked: dict[str, Any] = {"value": "cell", "person": "person", "group": "group", "groups": list(parts)}
        found = fg.quantiles(table, q=0.5, low=0, high=2, epsilon=epsilon, bits=bits, **asked)
        return Released(tuple(map(int, found.values)), found.spent)

    def law_at(answers: Sequence[float], epsilon: Fraction) -> Mapping[Any, float]:
        parts = (tuple(map(int, part)) for part in (answers[:3], answers[3:]))
        one, other = (_median(part, float(epsilon) / 2) for part in parts)
        return {(a, b): p * q for a, p in one.items() for b, q in other.items()}

    return Row(
        function="quantiles",
        noise="Gumbel",
        variant="in groups",
        theorem="as without; docs/mathematics/groups.md",
        proof=Cited(
            "of the groups a person is in at most m, and each is drawn at ε/m; within a group as without"
        ),
        release=release,
        answers=(1, 4, 1, 1, 4, 1),
        law=partial(law_at, (1, 4, 1, 1, 4, 1), EPSILON),
        law_at=law_at,
        at_once=_copied(2, q=0.5),
        most_at_once=ENOUGH,
        pairs=tuple((one + one, other + other) for one, other in PAIRS_OF_ONE),
        regimes=_AS_ALL,
        costly=True,
    )


def _searched() -> Row:
    """An eighth of ε finds the range: of four people at 0 and one at 1."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.quantiles(_people(answers), q=0.5, epsilon=epsilon, bits=bits)
        return Released((int(found.low), int(found.high), int(found.values[0])), found.spent)

    def at_once(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> NDArray[np.int64]:
        # Of groups there would be one range for all.
        return np.array([release(answers, epsilon, bits).output for _ in range(size)], np.int64)

    def law() -> Mapping[Any, float]:
        # 4/ε₀ = 64/3 people may be outside; 0 are above 1, 4, 16, …, and none is below 0.
        setting = ThresholdSetting("exponential", float(EPSILON) / 8, 1, 0.5, c=1.0)
        first = sparse_vector_law(setting, [22.0] * 3, 1e6, 1)
        ways = {len(entries) - 1: p for entries, p in first.items() if entries[-1] is not None}
        found: dict[Any, float] = {}
        for (j, p), (i, q) in ((one, two) for one in ways.items() for two in ways.items()):
            low, high = -(4 ** (i - 1)) if i else 0, 4**j
            counts = [0] * (high - low + 1)
            counts[-low], counts[1 - low] = 4, 1
            for cell, chance in _median(counts, float(EPSILON) * 7 / 8).items():
                found[low, high, low + cell] = p * q * chance
        return found

    return Row(
        function="quantiles",
        noise="Gumbel",
        variant="with a range that is found",
        theorem="Ding 2020, theorem 5.3, for the range; then as with one that is given",
        proof=Cited(
            "sequential composition; of the two sparse vectors that find the range, each in this table, a "
            "person is in the counts of one"
        ),
        release=release,
        answers=(4, 1),
        law=law,
        at_once=at_once,
        most_at_once=ENOUGH,
        pairs=(((5, 5), (5, 6)), ((20, 20), (20, 21))),
        regimes=_AS_ALL,
        costly=True,
    )


def _with_intervals() -> Row:
    """The median of few people, whose interval is the whole range: nothing more is known of them.

    Counting them has ε/16, and of the rest one of two levels draws the median: 15ε/32, of which one person
    moves the odds by half. A twin with noise a quarter as wide is therefore within the charge; one with a
    sixteenth loses 15ε/4.
    """

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = fg.quantiles(
            _people(answers), q=0.5, low=0, high=2, epsilon=epsilon, intervals=True, bits=bits
        )
        ends = tuple(int(end) for pair in found.intervals or () for end in pair)
        return Released((*map(int, found.values), *ends), found.spent)

    def law() -> Mapping[Any, float]:
        alone = _median((9, 4, 0), float(EPSILON) * 15 / 32)
        return {(cell, 0, 2): p for cell, p in alone.items()}

    return Row(
        function="quantiles",
        noise="Gumbel",
        variant="with intervals",
        theorem="as without, and a two-sided geometric count",
        proof=Cited("sequential composition of a noisy count and of three quantiles for one"),
        release=release,
        answers=(9, 4, 0),
        law=law,
        at_once=_copied(1, q=0.5, intervals=True),
        most_at_once=ENOUGH,
        pairs=(((6, 5, 0), (6, 6, 0)), ((0, 4, 4), (0, 4, 5))),
        regimes=_AS_ALL,
        blatant=16,
        costly=True,
    )


@lru_cache(maxsize=4)
def _table(answers: tuple[int, ...], size: int, groups: int) -> pa.Table:
    """So many copies of the people in so many groups each, who are in no other copy."""
    each = len(answers) // groups
    own = [
        (group, cell, person)
        for group in range(groups)
        for person, cell in enumerate(_people(answers[group * each : (group + 1) * each]))
    ]
    group, cell, person = np.array(own, dtype=np.int64).reshape(-1, 3).T
    copies = np.arange(size)[:, None]
    columns = {"group": copies * groups + group, "person": copies * len(own) + person}
    return pa.table({"cell": np.tile(cell, size)} | {name: c.ravel() for name, c in columns.items()})


def _copied(groups: int, divisor: int | None = None, **options: Any) -> ReleaseMany:
    """Many releases in one call: each is a group of its own, or several, with people of its own."""

    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource, size: int) -> Any:
        asked: dict[str, Any] = {"value": "cell", "person": "person", "group": "group", "low": 0, "high": 2}
        asked |= {"epsilon": epsilon} if divisor is None else {"rho": epsilon**2 / divisor, "resolution": 1}
        asked |= {"one_group_per_person": True} if groups == 1 else {"groups_per_person": groups}
        table = _table(tuple(int(answer) for answer in answers), size, groups)
        found = fg.quantiles(table, groups=range(size * groups), bits=bits, **asked, **options)
        drawn = np.array([int(value) for value in found.values]).reshape(size, -1)
        ends = np.array([int(end) for pair in found.intervals or () for end in pair], drawn.dtype)
        return np.concatenate([drawn, ends.reshape(size, -1)], axis=1)

    return release


def _people(answers: Sequence[float]) -> list[int]:
    return [cell for cell, count in enumerate(answers) for _ in range(int(count))]


def _releasing(
    function: Callable[..., fg.Quantiles],
) -> Callable[[Sequence[float], Fraction, BitSource], Released]:
    def release(answers: Sequence[float], epsilon: Fraction, bits: BitSource) -> Released:
        found = function(_people(answers), epsilon=epsilon, bits=bits)
        return Released(tuple(map(int, found.values)), found.spent)

    return release


def _before(counts: Sequence[int]) -> NDArray[Any]:
    """How many people stand before each place."""
    return np.concatenate([[0.0], np.cumsum(np.repeat(counts, _PLACES))]) / _PLACES


def _median(counts: Sequence[int], epsilon: float) -> dict[int, float]:
    """The law of the cell of a median."""
    weights = _before(counts)
    cells = np.minimum(np.arange(len(weights)) // _PLACES, len(counts) - 1)
    return dict(enumerate(np.bincount(cells, _chosen(weights, epsilon), len(counts)).tolist()))


def _law_of_two(counts: Sequence[int], each: float) -> Mapping[Any, float]:
    """Every place of the one half, and for each every place of what is above it."""
    weights = _before(counts)
    law: dict[Any, float] = {}
    for place, p in enumerate(_chosen(weights, each)):
        above = _chosen(weights[place:] - weights[place], each)
        cells = np.minimum(np.arange(place, len(weights)) // _PLACES, len(counts) - 1)
        for second, q in enumerate(np.bincount(cells, above, len(counts)).tolist()):
            law[int(cells[0]), second] = law.get((int(cells[0]), second), 0.0) + float(p) * q
    return law


def _chosen(weights: NDArray[Any], epsilon: float) -> NDArray[Any]:
    """The law of a median of people with these weights before each place: its sensitivity is a half."""
    chances = np.exp(-np.abs(weights - weights[-1] / 2) * epsilon)
    return np.asarray(chances / chances.sum())
