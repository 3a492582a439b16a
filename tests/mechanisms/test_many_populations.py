"""Batches for users: what they charge, what they refuse, and that each release is one by itself."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.mechanisms.populations import read_populations

COUNTS = {"tea": 40, "milk": 38, "rice": 35, "salt": 2}


def bits(seed: int = 3) -> fg.SeededBits:
    return fg.SeededBits(seed)


def test_a_batch_of_one_is_the_release() -> None:
    asked: list[dict[str, Any]] = [{"epsilon": 1}, {"rho": "1/8"}, {"epsilon": 2, "gap": False}]
    for further in asked:
        batch = fg.noisy_top_k(COUNTS, 2, size=1, bits=bits(), **further)
        assert batch.release(0) == fg.noisy_top_k(COUNTS, 2, bits=bits(), **further)
    runs = fg.adaptive_sparse_vector(COUNTS, 20, k=2, epsilon=1, size=1, bits=bits())
    assert runs.release(0) == fg.adaptive_sparse_vector(COUNTS, 20, k=2, epsilon=1, bits=bits())
    each = fg.sparse_vector([5, 30, 9], [1, 2, 30], k=2, epsilon=1, size=1, bits=bits())
    assert each.release(0) == fg.sparse_vector([5, 30, 9], [1, 2, 30], k=2, epsilon=1, bits=bits())
    one = fg.noisy_top_k_each([COUNTS], 2, epsilon=1, populations_per_person=1, bits=bits())
    assert one.release(0) == fg.noisy_top_k(COUNTS, 2, epsilon=1, bits=bits())


def test_all_forms_of_populations_are_the_same() -> None:
    matrix = np.random.default_rng(1).integers(0, 30, (6, 5))
    ask: dict[str, Any] = {"k": 2, "epsilon": 1, "populations_per_person": 1}
    forms = [
        (matrix, None),
        (matrix.ravel(), np.arange(7) * 5),
        (matrix.ravel().tolist(), list(range(0, 31, 5))),
        ([row.tolist() for row in matrix], None),
        ({number: row for number, row in enumerate(matrix)}, None),
        (matrix.astype(float), None),
        ([matrix[0].tolist(), *matrix[1:].astype(float)], None),
    ]
    made = [fg.noisy_top_k_each(given, offsets=where, bits=bits(), **ask) for given, where in forms]
    tables = [
        (one.labels.tolist(), one.gap_multiples.tolist()) for one in made if one.gap_multiples is not None
    ]
    assert tables == [tables[0]] * len(forms)
    runs = [
        fg.sparse_vector_each(given, 15, offsets=where, bits=bits(), **ask).rows() for given, where in forms
    ]
    assert runs == [runs[0]] * len(forms)


def test_populations_that_fit_alone_and_not_in_common_units() -> None:
    """Beyond 2^60, in quarters beyond 2^62: the difference of two such leaves 64 bits."""
    most = 2**60 + 10**9
    given = [[most, -most, 0], [0.25, 0.0, 0.5]]
    ask: dict[str, Any] = {"k": 2, "epsilon": 8, "resolution": "1/4", "populations_per_person": 1}
    found = fg.noisy_top_k_each(given, bits=bits(), **ask)
    assert found.release(0).labels == (0, 2)
    assert abs(found.release(0).gaps[0] - most) < 10
    assert abs(found.release(0).gaps[1] - most) < 10


def test_populations_are_taken_in_the_order_of_their_names() -> None:
    ask: dict[str, Any] = {"epsilon": 1, "populations_per_person": 1}
    one = fg.noisy_top_k_each({"b": [1, 90], "a": COUNTS}, 1, bits=bits(), **ask)
    other = fg.noisy_top_k_each({"a": dict(reversed(COUNTS.items())), "b": [1, 90]}, 1, bits=bits(), **ask)
    assert one.rows() == other.rows()
    assert one.populations == ["a", "b"]
    assert one.indices is None  # of labelled answers nobody is told the place


def test_members_of_a_group_are_named_and_their_place_is_not() -> None:
    shop = fg.Counts.over(range(10**9), {5: 10**4, 9: 9000})
    batch = fg.noisy_top_k_each([shop, shop], 3, epsilon=1, populations_per_person=2, bits=bits())
    assert batch.indices is None
    assert all({5, 9} < set(row) for row in batch.labels.tolist())
    assert len({row[2] for row in batch.labels.tolist()}) == 2


@pytest.mark.parametrize(("per_person", "charged"), [(1, 1), (2, 2), (7, 3)])
def test_what_one_person_can_change_is_charged(per_person: int, charged: int) -> None:
    ask: dict[str, Any] = {"populations_per_person": per_person, "bits": bits()}
    top = fg.noisy_top_k_each([COUNTS] * 3, 1, epsilon="1/3", **ask)
    assert (top.spent, top.asked.spent) == (Fraction(charged, 3), Fraction(charged, 3))
    in_rho = fg.noisy_top_k_each([COUNTS] * 3, 1, rho="1/8", **ask)
    assert in_rho.spent == charged * in_rho.release(0).spent
    runs = fg.sparse_vector_each([[0, 0], [900, 900], [900, 0]], 500, k=2, epsilon=1, **ask)
    each = sorted((runs.release(number).spent for number in range(3)), reverse=True)
    assert len(set(each)) == 3
    assert runs.spent == sum(each[:charged])
    assert runs.asked.spent == charged
    whole = fg.sparse_vector_each([[0, 0], [900, 900], [900, 0]], 500, k=2, rho=1, **ask)
    assert whole.spent == charged * whole.release(0).spent


def test_the_same_answers_are_charged_each_time(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=10)
    batch = fg.noisy_max(COUNTS, epsilon="1/2", size=8, ledger=(ledger, "shop"))
    assert batch.spent == 4
    runs = fg.sparse_vector([0, 0, 0], 10**6, k=1, epsilon=1, size=6, ledger=(ledger, "shop"))
    assert 0 < runs.spent == 6 * runs.release(0).spent < 6
    assert ledger.account("shop").spent == 4 + runs.spent
    with pytest.raises(fg.BudgetExceeded):
        fg.noisy_max(COUNTS, epsilon=1, size=10, ledger=(ledger, "shop"))
    assert ledger.account("shop").spent == 4 + runs.spent


GOOD: dict[str, Any] = {"epsilon": 1, "populations_per_person": 1}


def stated(populations_per_person: Any) -> Any:
    return fg.noisy_top_k_each([COUNTS], 1, epsilon=1, populations_per_person=populations_per_person)


REFUSED: dict[str, tuple[str, Any]] = {
    "no statement": ("populations_per_person", lambda: stated(None)),
    "nobody": ("populations_per_person", lambda: stated(0)),
    "true": ("populations_per_person", lambda: stated(True)),
    "no populations": ("populations", lambda: fg.noisy_top_k_each([], 1, **GOOD)),
    "a text": ("populations", lambda: fg.noisy_top_k_each("ab", 1, **GOOD)),
    "flat": ("populations", lambda: fg.noisy_top_k_each(np.arange(4), 1, **GOOD)),
    "too small": ("k", lambda: fg.noisy_top_k_each([[1, 2, 3], [1]], 1, **GOOD)),
    "offsets fall": ("offsets", lambda: fg.noisy_top_k_each([1, 2, 3, 4], 1, offsets=[0, 3, 2, 4], **GOOD)),
    "offsets end": ("offsets", lambda: fg.noisy_top_k_each([1, 2, 3, 4], 1, offsets=[0, 2, 5], **GOOD)),
    "offsets begin": ("offsets", lambda: fg.noisy_top_k_each([1, 2, 3, 4], 1, offsets=[1, 4], **GOOD)),
    "offsets of floats": ("offsets", lambda: fg.noisy_top_k_each([1, 2, 3], 1, offsets=[0.0, 3.0], **GOOD)),
    "offsets without end": ("offsets", lambda: fg.noisy_top_k_each([1, 2, 3], 1, offsets=3, **GOOD)),
    "an empty population": ("offsets", lambda: fg.noisy_top_k_each([1, 2, 3], 1, offsets=[0, 0, 3], **GOOD)),
    "groups": ("populations", lambda: fg.sparse_vector_each([fg.Counts([1], [9], name=max)], 3, k=1, **GOOD)),
    "thresholds": ("threshold", lambda: fg.sparse_vector_each([[1, 2]], [1, 2], k=1, **GOOD)),  # type: ignore[arg-type]
    "size 0": ("size", lambda: fg.noisy_max(COUNTS, epsilon=1, size=0)),
    "size of half": ("size", lambda: fg.noisy_max(COUNTS, epsilon=1, size=1.5)),  # type: ignore[call-overload]
    "size beyond memory": ("size", lambda: fg.sparse_vector([1], 1, k=1, epsilon=1, size=10**12)),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_unclear_is_refused(what: str) -> None:
    argument, call = REFUSED[what]
    with pytest.raises(InvalidArgument) as refused:
        call()
    assert refused.value.argument == argument


def test_only_some_releases_are_shown_and_all_are_written() -> None:
    batch = fg.noisy_max([3, 1, 2], epsilon=1, size=100, bits=bits())
    assert "… and 80 releases more" in str(batch)
    assert len(str(batch).splitlines()) < 30
    assert len(batch) == len(batch.rows()) == 100
    assert batch._repr_html_().count("<tr>") == 21
    runs = fg.sparse_vector([3, 9], 2, k=1, epsilon=9, size=50, bits=bits())
    assert "… and 30 releases more" in str(runs)
    assert len(runs.to_dict()["answered"]) == 50
    with pytest.raises(IndexError):
        batch.release(100)


def test_names_of_questions_that_were_not_answered_are_not_in_the_result() -> None:
    answers = {"a": 900, "b": 900, "unasked": 900}
    runs = fg.sparse_vector(answers, 5, k=1, epsilon=9, size=5, bits=bits())
    each = fg.sparse_vector_each([answers], 5, k=2, epsilon=9, populations_per_person=1, bits=bits())
    assert "unasked" not in repr(runs) + repr(each)


def test_the_law_of_many_releases_is_that_of_one() -> None:
    """n = 2, k = 1, exponential noise: the winner and the sign of the gap have closed forms.

    The difference of two exponentials is Laplace, so the larger answer wins with 1 − e^(−d/b)/2; and two
    neighbouring releases of a batch are independent.
    """
    size, d, b = 40_000, 2, 2
    batch = fg.noisy_max([d, 0], epsilon=1, size=size, bits=bits(11))
    p = 1 - math.exp(-d / b) / 2
    lost = batch.labels[:, 0]
    pairs = np.bincount(2 * lost[::2] + lost[1::2], minlength=4)
    laws = np.array([p * p, p * (1 - p), (1 - p) * p, (1 - p) ** 2])
    assert chisquare(pairs, pairs.sum() * laws).pvalue > 1e-9
    assert chisquare(pairs, pairs.sum() * (laws + np.array([0.02, 0, -0.02, 0]))).pvalue < 1e-9


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [2**51 - 1, 2**51, 2**60, 2**62])
def test_populations_in_common_units_fit_64_bits_or_are_whole_numbers_of_python(sign: int, size: int) -> None:
    """One has halves, so that the other's answers are counted in steps of 1/1024 as well, on either side."""
    read = read_populations([[sign * size, 0], [0.5, 1.0]], None, Fraction(1, 1024))
    assert [int(value) for value in read.batch.values] == [sign * size * 1024, 0, 512, 1024]
    assert isinstance(read.batch.values, np.ndarray) == (size * 1024 < 2**61)
    assert read.grain == Fraction(1, 1024)
