"""Batch and online: the same bits give the same answers; and what the public functions promise."""

from __future__ import annotations

import copy
import math
import pickle
import re
import threading
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from freegap import BudgetSpent, FreegapError, InvalidArgument, RecordedBits, SeededBits, base2
from freegap.base2.arguments import answer_units, array_units
from freegap.base2.batch import FastRun, threshold_words
from freegap.base2.draws import BitDraws
from freegap.base2.plan import Base2Plan
from freegap.base2.questions import Run
from freegap.base2.weights import Weights
from freegap.values.floats import meant_by_float

ETA = base2.share_epsilon(2, k=4)
PLAIN: dict[str, Any] = {"k": 4, "eta": ETA, "low": 0, "high": 100, "width": 40}


def one_at_a_time(run: Run | FastRun, answers: list[int]) -> list[tuple[int, int]]:
    found = []
    for position, answer in enumerate(answers):
        if (run.run if isinstance(run, FastRun) else run).exhausted:
            break
        reached = run.ask(answer)
        if reached is not None:
            found.append((position, reached))
    return found


@pytest.mark.parametrize("digits", [8, 16, 64])
@pytest.mark.parametrize("gaps", [(), (1, 2, 5, 9, 30)])
def test_batch_and_online_agree_on_the_same_bits(digits: int, gaps: tuple[int, ...]) -> None:
    """With words of 8 bits one question in 256 needs further words: the exact path runs all the time."""
    generator = np.random.default_rng(digits)
    further = 0
    for seed in range(40):
        k = int(generator.integers(1, 30))
        plan = Base2Plan.read(
            50, k=k, eta=base2.share_epsilon(3, k=k), low=0, high=100, width=35, gaps=gaps, sensitivity=1,
            resolution=1,
        )  # fmt: skip
        answers = generator.integers(0, 70, 700) - 50
        recorder = RecordedBits(SeededBits(seed))
        online = one_at_a_time(Run(plan, BitDraws(recorder, digits)), answers.tolist())
        assert list(FastRun(plan, SeededBits(seed), digits=digits).ask_all(answers)) == online
        fast = FastRun(plan, SeededBits(seed), digits=digits)
        assert one_at_a_time(fast, answers.tolist()) == online
        asked = online[-1][0] + 1 if len(online) == k else len(answers)
        further += not gaps and len(recorder.record) > digits * (asked + 1)
    assert bool(further) == (digits == 8 and not gaps)


def test_blocks_join_seamlessly() -> None:
    answers = np.full(150_000, -60)
    answers[[10, 65_535, 65_536, 140_000]] = 50
    plan = Base2Plan.read(
        0, k=4, eta=base2.share_epsilon(8, k=4), low=-60, high=60, width=120, sensitivity=1, resolution=1
    )
    found = list(FastRun(plan, SeededBits(1)).ask_all(answers))
    assert found == one_at_a_time(Run(plan, BitDraws(SeededBits(1))), answers.tolist())
    assert {10, 65_535, 65_536} <= {position for position, _ in found}


@pytest.mark.parametrize("base", [Fraction(1, 2), Fraction(4095, 4096), Fraction(3, 1024), Fraction(5, 8)])
@pytest.mark.parametrize("digits", [8, 64])
def test_the_table_is_the_floor_of_the_exact_probability(base: Fraction, digits: int) -> None:
    weights = Weights(base, 300)
    words = threshold_words(weights, 300, digits)
    assert len(words) == 601
    for tau, word in zip(range(-300, 301), words.tolist(), strict=True):
        assert word == (weights.tail(tau) << digits) // weights.total


@pytest.mark.parametrize("guard", [0, 2])
def test_the_table_falls_back_to_exact_sums_where_its_bound_does_not_decide(
    guard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = Weights(Fraction(1023, 1024), 200)
    exact = threshold_words(weights, 200, 64).tolist()
    monkeypatch.setattr("freegap.base2.batch._GUARD", guard)
    calls: list[int] = []
    tail = Weights.tail

    def counted(self: Weights, k: int) -> int:
        calls.append(k)
        return tail(self, k)

    monkeypatch.setattr(Weights, "tail", counted)
    assert threshold_words(weights, 200, 64).tolist() == exact
    assert calls


def test_online_and_batch_are_the_same_release() -> None:
    answers = [3, 90, 10, 95, 50, 99, 2, 97, 99]
    batch = base2.sparse_vector(answers, 50, bits=SeededBits(4), **PLAIN)
    run = base2.DiscreteSparseVector(50, bits=SeededBits(4), **PLAIN)
    told: list[bool] = []
    while not run.exhausted and len(told) < len(answers):
        told.append(run.ask(answers[len(told)]))
    assert tuple(told) == batch.above
    assert run.release() == batch
    assert run.spent == batch.spent
    gaps = range(10, 60, 10)
    with_gap = base2.sparse_vector_with_gap(answers, 50, gaps=gaps, bits=SeededBits(4), **PLAIN)
    gap_run = base2.DiscreteSparseVectorWithGap(50, gaps=gaps, bits=SeededBits(4), **PLAIN)
    assert with_gap.gaps == tuple(gap_run.ask(answer) for answer in answers[: with_gap.answered])
    assert gap_run.release() == with_gap


def test_the_charge_follows_the_answers_above() -> None:
    assert base2.sparse_vector([], 100, **PLAIN).spent == base2.DiscreteSparseVector(100, **PLAIN).spent == 0
    none = base2.sparse_vector([0] * 50, 100, bits=SeededBits(1), **{**PLAIN, "width": 100})
    assert none.indices == ()
    assert none.spent == ETA[0].epsilon
    assert none.epsilon == ETA[0].epsilon + ETA[1].epsilon <= 2
    full = base2.sparse_vector([100] * 50, 0, bits=SeededBits(1), **PLAIN)
    assert full.above == (True,) * 4
    assert full.spent == full.epsilon
    half = base2.sparse_vector([100, 0, 100, 0], 50, bits=SeededBits(1), **PLAIN)
    assert half.spent == ETA[0].epsilon + ETA[1].epsilon * len(half.indices) / 4


def test_a_run_that_is_over_says_so() -> None:
    run = base2.DiscreteSparseVector(
        0, bits=SeededBits(1), **{**PLAIN, "k": 1, "eta": base2.share_epsilon(2, k=1)}
    )
    assert run.ask(100)
    assert run.exhausted
    assert run.remaining == 0
    with pytest.raises(BudgetSpent, match=r"has released its 1 answers.*Start another run"):
        run.ask(0)


def test_threads_cannot_overdraw_a_run() -> None:
    run = base2.DiscreteSparseVector(
        0, **{**PLAIN, "high": 1000, "k": 20, "eta": base2.share_epsilon(2, k=20)}
    )
    errors = []

    def ask() -> None:
        for _ in range(30):
            try:
                run.ask(1000)
            except FreegapError as error:
                errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(run.release().above) == 20
    assert len(errors) == 120 - run.release().answered


GRIDS = [Fraction(1), Fraction(1, 4), Fraction(3, 2), Fraction(1, 10), Fraction(7)]


@pytest.mark.parametrize("grid", GRIDS)
def test_every_kind_of_answer_is_read_alike(grid: Fraction) -> None:
    low, high = -20, 33
    values = [0, 1, -1, 5, 100, -100, 7, 2**40, -(2**40)]
    floats = [
        0.0,
        0.1,
        -0.1,
        0.30000000000000004,
        0.3,
        2.5,
        1e300,
        -1e300,
        math.inf,
        -math.inf,
        math.nan,
        3.4999999,
    ]
    exact = [meant_by_float(x, grid.denominator) if math.isfinite(x) else x for x in floats]
    for given in (
        values,
        np.array(values),
        dict(enumerate(values)),
        pd.Series(values),
        np.array(values, dtype=object),
    ):
        expected = [max(low, min(high, math.floor(Fraction(v) / grid))) for v in values]
        assert array_units(given, grid, low, high)[0].tolist() == expected
    expected = [answer_units(x, grid, low, high) for x in exact]
    for given in (floats, np.array(floats), pd.Series(floats), [*floats[:-1], Decimal(floats[-1])]):
        assert array_units(given, grid, low, high)[0].tolist() == expected
    assert [answer_units(x, grid, low, high) for x in (math.inf, -math.inf, math.nan, None, pd.NA)] == [
        high, low, low, low, low,
    ]  # fmt: skip
    assert array_units(np.ma.masked_array([5, 6], mask=[False, True]), grid, low, high)[0].tolist() == [
        answer_units(5, grid, low, high),
        low,
    ]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_narrow_floats_mean_the_same_all_at_once_and_one_at_a_time(kind: str) -> None:
    """0.7 of each precision is seven tenths, though as a double the narrow ones are a little less or more."""
    tenths = np.array([n / 10 for n in range(-30, 31)], dtype=kind)
    for grid in (Fraction(1, 10), Fraction(3, 10), Fraction(1, 4)):
        units = array_units(tenths, grid, -40, 40)[0].tolist()
        assert units == [answer_units(tenth, grid, -40, 40) for tenth in tenths]
    assert array_units(tenths, Fraction(1, 10), -40, 40)[0].tolist() == list(range(-30, 31))


def test_integers_of_all_widths_and_of_any_size_are_clamped() -> None:
    for kind in (np.uint8, np.int8, np.uint64, np.int64, np.bool_):
        assert array_units(np.array([1, 0], dtype=kind), Fraction(1), 0, 5)[0].tolist() == [1, 0]
    assert array_units(np.array([2**64 - 1, 3], dtype=np.uint64), Fraction(1), 0, 5)[0].tolist() == [5, 3]
    assert array_units([2**100, -(2**100), 4], Fraction(1), 0, 5)[0].tolist() == [5, 0, 4]
    for name in ("float16", "float32", "float64", "longdouble"):
        given = np.array([-math.inf, -3.5, 2.25, math.inf, math.nan], dtype=name)
        wide = 2**25 + 1  # not a float32, far beyond float16
        assert array_units(given, Fraction(1), -wide, wide)[0].tolist() == [-wide, -4, 2, wide, -wide]
    assert answer_units(np.True_, Fraction(1), 0, 5) == 1
    assert answer_units(Decimal("1e999999"), Fraction(1), 0, 5) == 5
    assert answer_units(Decimal("-1e-999999"), Fraction(1), -5, 5) == -1
    assert answer_units(Decimal("1e-999999"), Fraction(1), -5, 5) == 0


def test_rounding_down_keeps_the_sensitivity_and_rounding_half_to_even_does_not() -> None:
    """Erratum 8: answers that differ by at most Δ = 3γ stay within 3 units, wherever they lie."""
    grid = Fraction(1, 4)
    for here in range(-40, 40):
        for step in range(31):  # up to Δ, in fortieths
            there = answer_units(Fraction(here + step, 40), grid, -99, 99)
            assert 0 <= there - answer_units(Fraction(here, 40), grid, -99, 99) <= 3
    assert round(Fraction(7, 8) / grid) - round(Fraction(1, 8) / grid) == 4  # 3.5 to 4, 0.5 to 0


def test_no_answer_is_refused() -> None:
    answers = [math.nan, math.inf, -math.inf, 0.1, None, Fraction(1, 3), Decimal("NaN"), 10**400]
    release = base2.sparse_vector(answers, 50, bits=SeededBits(3), **PLAIN)
    assert release.answered <= len(answers)
    run = base2.DiscreteSparseVector(50, bits=SeededBits(3), **PLAIN)
    for answer in answers[: release.answered]:
        run.ask(answer)


def test_a_release_can_be_looked_at() -> None:
    counts = {"a": 3, "b": 95, "c": 10}
    release = base2.sparse_vector_with_gap(counts, 50, gaps=[20, 40], bits=SeededBits(2), **PLAIN)
    assert release.above == (False, True, False)
    assert release.labels == ("b",)
    assert "1 above the threshold, of 3 answered" in str(release)
    assert "NOT PRIVATE" in str(release)
    assert re.search(r"\nε asked 1\.99\d{7}, spent \d\.\d{9}\n", str(release))  # 2^64 in full would not do
    record = release.to_dict()
    assert record["indices"] == []  # a dict has labels and no positions
    assert record["gaps"] == [40.0]
    assert record["mechanism"] == "base2.sparse_vector_with_gap"
    assert record["parameters"]["precision_bits"] > 0
    assert release.to_json()
    plain = base2.sparse_vector(counts, 50, bits=SeededBits(2), **PLAIN)
    assert plain.gaps == (None, None, None)
    assert plain.to_dict()["mechanism"] == "base2.sparse_vector"
    assert not plain.private
    assert base2.sparse_vector([3], 50, **PLAIN).private


def test_a_run_belongs_to_one_process_and_has_no_copy() -> None:
    run = base2.DiscreteSparseVector(50, **PLAIN)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(FreegapError, match=r"SparseVector cannot be copied or pickled.*Make a new one"):
            copied(run)
    run._process += 1
    with pytest.raises(FreegapError, match=r"made in another process.*Make one in each"):
        run.ask(1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, r"k = 0: must be at least 1"),
        ({"low": 101}, r"low = 101: must not be above high = 100. Swap them."),
        ({"low": "1/2"}, r"low = '1/2': must be a multiple of the resolution 1"),
        ({"width": 0}, r"width = 0: must be greater than 0. Several times the noise scale"),
        ({"width": 10**7}, r"precision = \d+: needs more than 1048576 bits .*Take a larger resolution"),
        ({"threshold": "0.5"}, r"threshold = '0.5': must be a multiple of the resolution 1"),
        ({"sensitivity": "1/2"}, r"sensitivity = .*: must be a multiple of the resolution 1"),
        ({"resolution": 0}, r"resolution = 0: must be greater than 0"),
        ({"eta": ETA[0]}, r"eta = Eta.*: must be a pair .* Pass for example share_epsilon"),
        ({"eta": (1, 2)}, r"eta\[0\] = 1: must be an Eta"),
        ({"eta": (ETA[0], base2.Eta(3, 2, 1))}, r"eta\[1\] = Eta\(x=3, y=2, z=1\): does not keep the noise "
         r"exact .* divided by 8. Build the pair with share_epsilon"),
        ({"resolution": "1/2"}, r"eta\[0\] = .*: does not keep the noise exact on the grid 1/2"),
        ({"gaps": [3, 3]}, r"gaps = \[3, 3\]: must be greater than 0 and rise. Sort them"),
        ({"gaps": [0, 3]}, r"gaps = \[0, 3\]: must be greater than 0 and rise"),
        ({"gaps": 3}, r"gaps = 3: must be a sequence of numbers"),
        ({"bits": 7}, r"bits = 7: must be a source of bits"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named_before_anything_is_drawn(change: dict[str, Any], message: str) -> None:
    source = RecordedBits(SeededBits(1))
    arguments: dict[str, Any] = {"threshold": 50, "gaps": [10], "bits": source, **PLAIN, **change}
    with pytest.raises(InvalidArgument, match=message):
        base2.sparse_vector_with_gap([1, 2], **arguments)
    with pytest.raises(InvalidArgument, match=message):
        base2.DiscreteSparseVectorWithGap(**arguments)
    assert source.record == ""


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("123", r"^answers: must be a sequence of numbers"),
        (7, r"^answers: must be a sequence of numbers"),
        (np.zeros((2, 2)), r"^answers: must have one dimension, not 2. Pass answers.ravel"),
        ([1, "secret-12"], r"^answers: must be made of numbers. Pass ints, floats"),
    ],
)
def test_answers_of_a_wrong_kind_are_refused_without_showing_them(answers: Any, message: str) -> None:
    source = RecordedBits(SeededBits(1))
    with pytest.raises(InvalidArgument, match=message) as error:
        base2.sparse_vector(answers, 50, bits=source, **PLAIN)
    assert "secret" not in str(error.value)
    assert source.record == ""
