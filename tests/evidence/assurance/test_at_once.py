"""The releases that an audit looks at, many at once, are those of the row, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.at_once import NOT_ASKED
from freegap_evidence.assurance.row import EPSILON, Row
from freegap_evidence.assurance.rows import concentrated, selection, thresholds

from freegap.bits import SeededBits

ROWS = {
    row.title: row
    for row in [*selection.rows(), *concentrated.rows(), *thresholds.rows()]
    if row.at_once is not None
}


MEASURED = ("measure", "histogram")


def test_what_can_be_drawn_at_once_is_audited_at_once() -> None:
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
        "select_and_measure": 5,
        "measure": 2,
        "histogram": 3,
    }


def selected(made: Any) -> Any:
    """Of one release: which item, its gap and its measurement, in cells."""
    places, gaps, measured = (column[0] for column in made)
    (found,) = np.nonzero(places >= 0)
    items = places[found] if len(places) == 1 else found
    return tuple(
        map(tuple, (items.tolist(), *((x[found] // selection.WIDE).tolist() for x in (gaps, measured))))
    )


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
            assert selected(made) == single
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
