"""The releases that an audit looks at, many at once, are those of the row, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.at_once import BELOW, NOT_ASKED
from freegap_evidence.assurance.row import ENOUGH, EPSILON, Row
from freegap_evidence.assurance.rows import candidates, concentrated, selection, thresholds

from freegap.bits import SeededBits

FOUND = {
    row.title: row
    for row in [*selection.rows(), *concentrated.rows(), *thresholds.rows(), *candidates.rows()]
}
ONE_BY_ONE = {
    title: row
    for title, row in FOUND.items()
    if "own sampler" in title or "candidate" in title or title.startswith("base2.")
}
ROWS = {t: row for t, row in FOUND.items() if t not in ONE_BY_ONE and row.at_once is not None}


MEASURED = ("measure", "histogram")


def test_what_can_be_drawn_at_once_is_audited_at_once() -> None:
    assert [title for title, row in FOUND.items() if row.most_at_once is not None] == list(ONE_BY_ONE)
    assert {row.most_at_once for row in ONE_BY_ONE.values()} == {ENOUGH}
    functions = [row.function for row in ROWS.values()]
    assert {name: functions.count(name) for name in functions} == {
        "noisy_max": 5,
        "noisy_top_k": 7,
        "hybrid_top_k": 3,
        "exponential_mechanism": 2,
        "hybrid_sparse_vector": 2,
        "sparse_vector": 6,
        "SparseVector": 3,
        "adaptive_sparse_vector": 3,
        "AdaptiveSparseVector": 3,
        "select_and_measure": 6,
        "measure": 2,
        "histogram": 3,
    }


def selected(made: Any, cell: int = selection.WIDE) -> Any:
    """Of one release: which item, its gap if there is one and its measurement, in cells."""
    places, *columns = (column[0] for column in made if column.shape[1])
    (found,) = np.nonzero(places >= 0)
    items = places[found] if len(places) == 1 else found
    return tuple(map(tuple, (items.tolist(), *((x[found] // cell).tolist() for x in columns))))


@pytest.mark.parametrize("title", ROWS)
def test_one_at_once_is_the_release_on_the_same_bits(title: str) -> None:
    row: Row = ROWS[title]
    assert row.at_once is not None
    for seed in range(8):
        single: Any = row.release(row.answers, EPSILON, SeededBits(seed)).output
        made = row.at_once(row.answers, EPSILON, SeededBits(seed), 1)
        if row.function in MEASURED:
            assert tuple(made[0].tolist()) == single
            continue
        if row.function == "select_and_measure":
            assert selected(made, 1 if "in ρ" in title else selection.WIDE) == single
            continue
        gaps = made[1][0] if isinstance(made, tuple) else None
        first = (made[0] if isinstance(made, tuple) else made)[0].tolist()
        if row.function in ("noisy_max", "noisy_top_k"):
            assert tuple(first) == (single if gaps is None else single[0])
            if row.function == "noisy_max" and gaps is not None:
                assert tuple(gaps.tolist()) == single[1]
        elif row.function in ("hybrid_top_k", "hybrid_sparse_vector", "exponential_mechanism"):
            assert tuple(entry for entry in first if entry != NOT_ASKED) == single[0]
            found: Any = np.ma.compressed(made[1][0])
            cells = found if title == "exponential_mechanism, Gumbel" else found // selection.WIDE
            last = concentrated.CELLS - 1 if "in ρ" in title else 10**9  # in ρ the last cell is open
            assert tuple(np.minimum(cells, last).tolist()) == single[1]
        else:
            answered = [entry for entry in first if entry != NOT_ASKED]
            assert [entry >= 0 for entry in answered] == [entry is not None for entry in single]
            if gaps is not None:
                listed = [entry[1] for entry in single if entry is not None]
                assert np.ma.compressed(gaps).tolist() == listed


@pytest.mark.parametrize("title", [title for title, row in ROWS.items() if row.function in MEASURED])
def test_measurements_side_by_side_have_the_noise_of_one(title: str) -> None:
    """Their mean square, against that of as many singles: within a fifth, and half the noise is not."""
    row: Row = ROWS[title]
    assert row.at_once is not None
    many = row.at_once((0, 0), EPSILON, SeededBits(1), 4000).astype(float)
    bits = SeededBits(2)
    singles: Any = [row.release((0, 0), EPSILON, bits).output for _ in range(1000)]
    assert many.shape == (4000, 2)
    assert np.mean(many**2) == pytest.approx(np.mean(np.array(singles, dtype=float) ** 2), rel=0.25)
    assert len(np.unique(many[:, 0])) > 5


def test_in_rho_what_is_measured_has_half_of_it() -> None:
    """The mean square of the noise is that of singles, within a fifth; with all of ρ it would be half."""
    row = ROWS["select_and_measure, in ρ, gumbel"]
    assert row.at_once is not None
    many = row.at_once((0, 0), EPSILON, SeededBits(1), 8000)[2].astype(float)
    bits = SeededBits(2)
    outputs: Any = [row.release((0, 0), EPSILON, bits).output for _ in range(2000)]
    singles = np.array([measured for _, (measured,) in outputs], dtype=float)
    assert many.shape == (8000, 1)
    assert np.mean(many**2) == pytest.approx(np.mean(singles**2), rel=0.2)
    assert np.mean(singles**2) == pytest.approx(4 / float(EPSILON) ** 2, rel=0.2)


def output_of(row: Row, numbers: list[int]) -> Any:
    """What a row of numbers stands for."""
    if "candidate" in row.function:
        return None if numbers == [-1, -1, -1] else (tuple(numbers[:2]), numbers[2])
    if row.function == "exponential_mechanism":
        return (numbers[0],), (numbers[1],)
    answered = [number for number in numbers if number != NOT_ASKED]
    assert numbers[: len(answered)] == answered
    if row.function == "base2.unclamped_sparse_vector":
        return tuple(number != BELOW for number in answered)
    return tuple(None if number == BELOW else (0, number) for number in answered)


@pytest.mark.parametrize("title", ONE_BY_ONE)
def test_what_has_no_batch_is_called_as_often_on_the_same_bits(title: str) -> None:
    row = ONE_BY_ONE[title]
    assert row.at_once is not None
    bits = SeededBits(1)
    singles = [row.release(row.answers, EPSILON, bits).output for _ in range(40)]
    made = row.at_once(row.answers, EPSILON, SeededBits(1), 40)
    assert [output_of(row, numbers) for numbers in made.tolist()] == singles
    assert len(set(singles)) > 1
    for answers in {answers for pair in row.pairs for answers in pair}:
        assert row.at_once(answers, EPSILON, SeededBits(2), 3).shape[0] == 3
