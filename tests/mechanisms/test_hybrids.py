from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import InvalidArgument
from freegap.exact.digits import KeyedDigits
from freegap.exact.reals import LazyNoise
from freegap.laws import ContinuousNoiseName
from freegap.mechanisms.hybrids import sparse_vector_form, top_k_charge, top_k_form
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan

GRID = Fraction(1, 1024)
ANSWERS = st.lists(st.integers(-20, 20), min_size=1, max_size=20)


@settings(max_examples=80, deadline=None)
@given(
    answers=ANSWERS,
    threshold=st.fractions(-10, 10, max_denominator=4),
    data=st.data(),
    noise=st.sampled_from(["exponential", "laplace"]),
    epsilon=st.fractions(Fraction(1, 20), 20, max_denominator=20),
    seed=st.integers(0, 2**32),
)
def test_hybrid_top_k_is_its_program(
    answers: list[int],
    threshold: Fraction,
    data: st.DataObject,
    noise: ContinuousNoiseName,
    epsilon: Fraction,
    seed: int,
) -> None:
    k = data.draw(st.integers(1, len(answers)))
    release = fg.hybrid_top_k(answers, threshold, k=k, epsilon=epsilon, noise=noise, bits=SeededBits(seed))
    digits = KeyedDigits(SeededBits(seed), len(answers) + 1)
    # The program has the threshold as item 0, the release as its last item.
    reader = LazyNoise(reader=lambda i: digits.stream(len(answers) if i == 0 else i - 1))
    bar = threshold // GRID * GRID
    plan = TopKPlan.read("hybrid_top_k", k=k, epsilon=epsilon, noise=noise)
    items, gaps = top_k_form(plan, bar).program([Fraction(a) for a in answers], reader)
    assert release.indices == tuple(i - 1 for i in items if i != 0)
    assert release.reached == (0 in items)
    assert list(release.gap_multiples or ()) == [gap.floor(GRID) for gap in gaps]
    assert release.spent == top_k_charge(plan.charge, plan.k, (items, gaps))


@settings(max_examples=80, deadline=None)
@given(
    answers=ANSWERS,
    threshold=st.fractions(-10, 10, max_denominator=4),
    data=st.data(),
    noise=st.sampled_from(["exponential", "laplace"]),
    monotonic=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_hybrid_sparse_vector_is_its_program(
    answers: list[int],
    threshold: Fraction,
    data: st.DataObject,
    noise: ContinuousNoiseName,
    monotonic: bool,
    seed: int,
) -> None:
    k = data.draw(st.integers(1, len(answers)))
    options: Any = {"k": k, "epsilon": 1, "noise": noise, "monotonic": monotonic}
    release = fg.hybrid_sparse_vector(answers, threshold, **options, bits=SeededBits(seed))
    plan = ThresholdPlan.read("hybrid_sparse_vector", **options)
    digits = KeyedDigits(SeededBits(seed), len(answers))
    n = len(answers)
    reader = LazyNoise(reader=lambda i: digits.stream(n, 1) if i == "threshold" else digits.stream(i))
    items, gaps = sparse_vector_form(plan, threshold).program([Fraction(a) for a in answers], reader)
    assert list(release.indices) == items
    assert list(release.gap_multiples or ()) == [gap.floor(GRID) for gap in gaps]
    assert release.spent == plan.threshold_budget + len(items) * plan.answer_budget


def test_estimates_follow_from_the_gaps_where_the_threshold_is_reached() -> None:
    answers = {"a": 900, "b": 20, "c": 700, "d": 30, "e": 25}
    release = fg.hybrid_top_k(answers, 400, k=4, epsilon=4, monotonic=True, bits=SeededBits(1))
    assert release.labels == ("a", "c")
    assert release.reached
    assert release.spent == 3
    assert release.estimates is not None
    assert len(release.gaps) == 3  # two items and the threshold itself
    assert release.estimates == (400 + release.gaps[1] + release.gaps[0], 400 + release.gaps[1])
    assert all(abs(e - t) < 40 for e, t in zip(release.estimates, (900, 700), strict=True))
    assert "estimate" in str(release)
    assert '"reached": true' in release.to_json()


def test_no_estimates_where_it_is_not_reached() -> None:
    release = fg.hybrid_top_k([900, 800, 700], 100, k=2, epsilon=1, monotonic=True, bits=SeededBits(1))
    assert (release.reached, release.estimates) == (False, None)
    assert release.spent == 1
    assert "the first" in release.title


def test_nothing_above() -> None:
    top = fg.hybrid_top_k([1, 2, 3], 10**6, k=3, epsilon=3, bits=SeededBits(1))
    assert (top.indices, top.reached) == ((), True)
    assert top.spent == 1  # the threshold alone
    assert top.estimates == ()
    vector = fg.hybrid_sparse_vector([1, 2, 3], 10**6, k=3, epsilon=3, share="1/3", bits=SeededBits(1))
    assert (vector.indices, vector.above) == ((), (False,) * 3)
    assert vector.spent == 1


def test_huge_domains() -> None:
    counts = fg.Counts.over(range(10**12), {5: 10**6, 9: 10**5})
    top = fg.hybrid_top_k(counts, 10**4, k=5, epsilon=1, monotonic=True, bits=SeededBits(1))
    assert (top.labels, top.reached) == ((5, 9), True)
    vector = fg.hybrid_sparse_vector(counts, 10**4, k=5, epsilon=1, monotonic=True, bits=SeededBits(1))
    assert vector.labels == (5, 9)


@pytest.mark.parametrize("hybrid", [fg.hybrid_top_k, fg.hybrid_sparse_vector])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 4}, "k = 4: must be at most the number of answers, which is 3"),
        ({"k": 0}, "k = 0: must be at least 1"),
        ({"noise": "geometric"}, "noise = 'geometric': is not a known noise"),
        ({"threshold": [1, 2, 3]}, "threshold = [1, 2, 3]: must be a number"),
        ({"threshold": float("nan")}, "threshold = nan: must be finite"),
        ({"epsilon": -1}, "epsilon = -1: must be greater than 0"),
    ],
)
def test_bad_input(hybrid: Any, options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"threshold": 1, "k": 2, "epsilon": 1, **options}
    with pytest.raises(InvalidArgument) as caught:
        hybrid([1, 2, 3], arguments.pop("threshold"), **arguments)
    assert message in str(caught.value)
