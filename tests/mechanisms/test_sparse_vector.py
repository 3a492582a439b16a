"""Sparse vector, adaptive and online: one function of the digits, exact charges, clear refusals."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import BudgetSpent, FreegapError, InvalidArgument
from freegap.exact.digits import KeyedDigits
from freegap.exact.noisy_threshold import NoisyThreshold
from freegap.exact.reals import LazyNoise
from freegap.mechanisms.sparse_vector import form
from freegap.mechanisms.threshold_plan import ThresholdPlan, optimal_share

NOISES = ["laplace", "exponential", "geometric"]


def plan_of(**options: Any) -> ThresholdPlan:
    return ThresholdPlan.read("sparse_vector", **{"k": 2, "epsilon": 1, **options})


def by_the_program(answers: Any, threshold: Any, plan: ThresholdPlan, seed: int) -> list[Any]:
    """The paper's program on the streams that the release reads; gaps rounded down."""
    digits = KeyedDigits(SeededBits(seed), 0)

    def reader(label: Any) -> Any:
        return digits.stream(0, 1) if label == "threshold" else digits.stream(label[0] + 1, label[1] + 1)

    output = form(plan).program([Fraction(a - threshold) for a in answers], LazyNoise(reader=reader))
    return [None if entry is None else (entry[0].floor(plan.resolution), entry[1]) for entry in output]


@settings(max_examples=120, deadline=None)
@given(
    answers=st.lists(st.integers(-30, 30), min_size=1, max_size=25),
    threshold=st.integers(-10, 10),
    k=st.integers(1, 4),
    branches=st.integers(0, 3),
    stop_after=st.none() | st.integers(1, 3),
    monotonic=st.booleans(),
    noise=st.sampled_from(NOISES),
    epsilon=st.fractions(Fraction(1, 20), 20, max_denominator=20),
    seed=st.integers(0, 2**32),
)
def test_batch_online_and_program_agree_on_the_same_bits(
    answers: list[int],
    threshold: int,
    k: int,
    branches: int,
    stop_after: int | None,
    monotonic: bool,
    noise: str,
    epsilon: Fraction,
    seed: int,
) -> None:
    options: Any = {"k": k, "epsilon": epsilon, "monotonic": monotonic, "noise": noise}
    options |= {"branches": branches, "stop_after": stop_after}
    plan = plan_of(**options)
    expected = by_the_program(answers, threshold, plan, seed)

    batch = fg.adaptive_sparse_vector(answers, threshold, **options, bits=SeededBits(seed))
    budgets = [plan.branches[len(plan.branches) - 1 - b].budget for b in batch.branches]
    found: list[Any] = [None] * batch.answered
    for i, multiple, budget in zip(batch.indices, batch.gap_multiples or (), budgets, strict=True):
        found[i] = (multiple, budget)
    assert found == expected
    charge = form(plan).charge
    assert charge is not None
    assert batch.spent == charge(expected) <= epsilon

    online = fg.AdaptiveSparseVector(threshold, **options, bits=SeededBits(seed))
    replies = []
    for answer in answers:
        if online.exhausted:
            break
        replies.append(online.ask(answer))
    assert tuple(map(bool, replies)) == batch.above
    assert tuple(reply.gap for reply in replies) == batch.gaps
    assert online.spent == batch.spent


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("branches", [0, 1])
def test_nearly_everything_refined_gives_the_same(noise: str, branches: int) -> None:
    """A filter of one bit and digits one at a time: every decision is exact, and none changes."""
    plan = plan_of(noise=noise, branches=branches, k=5)
    offsets = np.arange(-20, 20, dtype=float)

    def found(seed: int, **precision: int) -> Any:
        bar = NoisyThreshold(
            law=plan.law,
            threshold_scale=plan.threshold_scale,
            branches=plan.branches,
            resolution=plan.resolution,
            digits=KeyedDigits(SeededBits(seed), 0),
            **precision,
        )
        one_by_one = [bar.one(i, int(offset)) for i, offset in enumerate(offsets)]
        places, numbers, gap = bar.many(0, offsets, lambda j: Fraction(int(offsets[j])))
        at_once = [(-1, 0)] * len(offsets)
        for j, (place, number) in enumerate(zip(places.tolist(), numbers.tolist(), strict=True)):
            at_once[place] = (number, gap(j))
        assert at_once == one_by_one
        return one_by_one

    for seed in range(6):
        assert found(seed, filter_bits=1, start_digits=1) == found(seed)


@pytest.mark.parametrize("noise", NOISES)
def test_long_batches_and_online_agree(noise: str) -> None:
    """Several chunks of the batch, several drawings ahead of the online class."""
    generator = np.random.default_rng(1)
    answers = generator.integers(0, 80, 5000)
    options: Any = {"k": 40, "epsilon": 2, "noise": noise, "monotonic": True}
    batch = fg.sparse_vector(answers, 180, **options, bits=SeededBits(5))
    online = fg.SparseVector(180, **options, bits=SeededBits(5))
    replies = [online.ask(int(answer)) for answer in answers[: batch.answered]]
    assert tuple(map(bool, replies)) == batch.above
    assert tuple(reply.gap for reply in replies) == batch.gaps
    assert len(batch.indices) > 2
    assert batch.answered > 1500


@pytest.mark.parametrize("noise", NOISES)
def test_the_charge_is_for_what_came_out(noise: str) -> None:
    options: Any = {"k": 4, "epsilon": 3, "noise": noise, "share": "1/3"}
    nothing = fg.sparse_vector([-(10**6)] * 5, 0, **options, bits=SeededBits(1))
    assert (nothing.spent, nothing.indices, nothing.answered) == (Fraction(1), (), 5)
    two = fg.sparse_vector([10**6, 0, 10**6], 5 * 10**5, **options, bits=SeededBits(1))
    assert two.spent == 1 + 2 * Fraction(1, 2)
    every = fg.sparse_vector([10**6] * 9, 0, **options, bits=SeededBits(1))
    assert every.spent == 3
    assert every.answered == 4


def test_an_adaptive_release_stops_when_less_than_a_full_answer_is_left() -> None:
    # ε₁ = 1/4 and every answer costs half of it: 7 answers leave 1/8, less than ε₁.
    release = fg.adaptive_sparse_vector([10**6] * 20, 0, k=4, epsilon=2, share="1/2", bits=SeededBits(1))
    assert len(release.indices) == 7
    assert release.spent == 1 + 7 * Fraction(1, 8)
    assert set(release.branches) == {1}
    four_branches = fg.adaptive_sparse_vector(
        [10**9] * 200, 0, k=4, epsilon=2, share="1/2", branches=4, bits=SeededBits(1)
    )
    assert len(four_branches.indices) == 16 * 4 - 15
    assert set(four_branches.branches) == {4}
    assert four_branches.spent <= 2


def test_stop_after_keeps_the_rest() -> None:
    release = fg.adaptive_sparse_vector(
        [10**6] * 20, 0, k=4, epsilon=2, share="1/2", stop_after=4, bits=SeededBits(1)
    )
    assert len(release.indices) == 4
    assert release.asked.spent - release.spent == Fraction(1, 2)
    online = fg.AdaptiveSparseVector(0, k=4, epsilon=2, share="1/2", stop_after=1, bits=SeededBits(1))
    online.ask(10**6)
    assert online.exhausted
    with pytest.raises(BudgetSpent, match="1 answers above the threshold were given, as asked for"):
        online.ask(10**6)


def test_per_query_thresholds_are_subtracted() -> None:
    answers, thresholds = [100, 7, 60, 3], [90, 10, 55, -20]
    differences = [a - t for a, t in zip(answers, thresholds, strict=True)]
    for noise in NOISES:
        options: Any = {"k": 2, "epsilon": 1, "noise": noise}
        each = fg.sparse_vector(answers, thresholds, **options, bits=SeededBits(3))
        zero = fg.sparse_vector(differences, 0, **options, bits=SeededBits(3))
        assert (each.above, each.gaps) == (zero.above, zero.gaps)
        assert each.estimates == tuple(
            thresholds[i] + gap for i, gap in zip(each.indices, each.selected_gaps, strict=True)
        )
        online = fg.SparseVector(**options, bits=SeededBits(3))
        replies = [online.ask(a, t) for a, t in zip(answers, thresholds, strict=True) if not online.exhausted]
        assert tuple(map(bool, replies)) == each.above


def test_fractional_answers_and_thresholds() -> None:
    options: Any = {"k": 3, "epsilon": 1, "resolution": "1/4"}
    floats = fg.sparse_vector([0.3, 2.6, 1.0], [0.5, 0.25, 2], **options, bits=SeededBits(3))
    exact = fg.sparse_vector(
        [Fraction(1, 4), Fraction(5, 2), 1],
        [Fraction(1, 2), Fraction(1, 4), 2],
        **options,
        bits=SeededBits(3),
    )
    assert floats == exact
    half = fg.sparse_vector([3, 4], "3.5", k=1, epsilon=1, bits=SeededBits(3))
    online = fg.SparseVector(3.5, k=1, epsilon=1, bits=SeededBits(3))
    assert bool(online.ask(np.int64(3))) == half.above[0]


def test_gaps_are_whole_numbers_with_geometric_noise() -> None:
    release = fg.sparse_vector([9] * 50, 5, k=10, epsilon=1, noise="geometric", bits=SeededBits(1))
    assert release.resolution == 1
    assert all(gap.denominator == 1 and gap >= 0 for gap in release.selected_gaps)


def test_without_gaps_only_the_comparison_is_released() -> None:
    release = fg.sparse_vector([900, 1], 100, k=1, epsilon=1, gap=False, bits=SeededBits(1))
    assert release.gap_multiples is None
    assert release.gaps == (None,)
    assert release.above == (True,)
    assert "gap" not in str(release)
    online = fg.SparseVector(100, k=1, epsilon=1, gap=False, bits=SeededBits(1))
    assert online.ask(900).gap is None


def test_answers_of_any_size() -> None:
    for offset in (10**15, 10**30, 10**400):
        shifted = fg.sparse_vector(
            [offset + v for v in (3, 9, 1)], offset + 5, k=2, epsilon=1, bits=SeededBits(2)
        )
        plain = fg.sparse_vector([3, 9, 1], 5, k=2, epsilon=1, bits=SeededBits(2))
        assert (shifted.above, shifted.gaps) == (plain.above, plain.gaps)
    online = fg.SparseVector(0, k=1, epsilon=1, bits=SeededBits(2))
    assert not online.ask(-(10**400))
    assert online.ask(10**400)


def test_the_optimal_share() -> None:
    for k in (1, 5, 24):
        for monotonic, c in ((True, 1), (False, 2)):
            assert float(optimal_share(k, monotonic=monotonic)) == pytest.approx(
                1 / (1 + (c * c * k * k) ** (1 / 3)), abs=1e-6
            )
            assert float(optimal_share(k, monotonic=monotonic, halvings=1)) == pytest.approx(
                1 / (1 + (4 * c * c * k * k) ** (1 / 3)), abs=1e-6
            )
    assert plan_of(share="top", branches=1).share == optimal_share(2, halvings=1)
    assert plan_of(share="middle", branches=1).share == optimal_share(2)


@pytest.mark.parametrize("noise", NOISES)
def test_margins_are_standard_deviations_rounded_up(noise: str) -> None:
    plan = plan_of(noise=noise, branches=2, margin=2)
    for branch in plan.branches[:-1]:
        s = float(branch.scale)
        deviation = {
            "laplace": 2**0.5 * s,
            "exponential": s,
            "geometric": np.exp(0.5 / s) / np.expm1(1 / s),
        }[noise]
        step = 1 if noise == "geometric" else 1e-5
        assert 2 * deviation <= float(branch.margin) * (1 + 1e-12) <= 2 * deviation + step
    assert plan.branches[-1].margin == 0


def test_online_refuses_after_the_last_and_charges_nothing() -> None:
    online = fg.SparseVector(0, k=1, epsilon=1, share="1/4", bits=SeededBits(1))
    assert online.spent == 0
    assert online.remaining == 1
    assert not online.exhausted
    assert online.ask(-(10**6)).spent == 0
    assert online.spent == Fraction(1, 4)
    assert online.ask(10**6).spent == Fraction(3, 4)
    for _ in range(2):
        with pytest.raises(BudgetSpent) as caught:
            online.ask(10**6)
        assert str(caught.value) == (
            "no further questions: of ε = 1 only 0 is left, less than the 3/4 that another answer above the "
            "threshold may cost. Nothing was drawn or charged for this one. Make a new SparseVector with a "
            "budget of its own."
        )
    assert online.spent == 1
    assert online.asked == 2
    assert repr(online) == "<SparseVector: 2 asked, 1 above, ε = 1, exhausted>"


def test_an_endless_generator_of_questions() -> None:
    online = fg.SparseVector(1000, k=3, epsilon=1, monotonic=True, bits=SeededBits(2))
    found = []
    for i in itertools.count():
        if online.exhausted:
            break
        if online.ask(i % 500 + (2000 if i % 5000 == 4999 else 0)):
            found.append(i)
    assert found == [4999, 9999, 14999]
    assert online.spent == 1


def test_an_interrupted_question_is_charged_as_if_it_were_above(monkeypatch: pytest.MonkeyPatch) -> None:
    online = fg.SparseVector(0, k=3, epsilon=1, share="1/4", bits=SeededBits(1))
    online.ask(10**6)
    spent, asked = online.spent, online.asked

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(NoisyThreshold, "one", interrupted)
        with pytest.raises(KeyboardInterrupt):
            online.ask(10**6)
    assert online.spent == spent + Fraction(1, 4)
    assert online.asked == asked + 1  # its noise is never used for another question
    assert not online.ask(-(10**6))
    assert online.ask(10**6)
    assert online.exhausted
    assert online.spent == 1


def test_a_bad_question_is_not_counted() -> None:
    online = fg.SparseVector(0, k=3, epsilon=1, bits=SeededBits(1))
    for bad in (float("nan"), None, "7", 2j):
        with pytest.raises(InvalidArgument) as caught:
            online.ask(bad)
        assert caught.value.argument == "answer"
    with pytest.raises(InvalidArgument, match="threshold = None: must be a number"):
        fg.SparseVector(k=1, epsilon=1).ask(3)
    assert online.asked == 0
    assert online.spent == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_another_process_may_not_use_the_same_noise() -> None:
    online = fg.SparseVector(0, k=3, epsilon=1)
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(FreegapError, match="cannot be copied or pickled"):
            attempt(online)
    child = os.fork()
    if child == 0:
        try:
            online.ask(1)
        except FreegapError as error:
            os._exit(0 if "made in another process" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    online.ask(1)


class NoBits:
    private = True

    def bits(self, n: int) -> int:
        raise AssertionError("drawn before validation ended")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k = 0: must be at least 1"),
        ({"epsilon": 0}, "epsilon = 0: must be greater than 0"),
        ({"share": 1}, "share = 1: must lie strictly between 0 and 1"),
        ({"share": "most"}, "share = 'most': is not a number"),
        (
            {"noise": "gaussian"},
            "noise = 'gaussian': is not a known noise. Pass one of 'exponential', 'laplace', ",
        ),
        ({"sensitivity": "0.3"}, "sensitivity = '0.3': must be a multiple of the resolution 1/1024"),
        ({"sensitivity": "0.5", "noise": "geometric"}, "must be a whole number with geometric noise"),
        (
            {"threshold": 0.5, "noise": "geometric"},
            "threshold = 0.5: must be a whole number with geometric noise",
        ),
        ({"threshold": None}, "threshold = None: must be a number"),
        ({"threshold": "high"}, "threshold = 'high': is not a number"),
        ({"threshold": True}, "threshold = True: must be a number"),
        ({"threshold": [1, 2]}, "must be one for all or one for each of the 3 answers"),
        ({"threshold": [1, 2, float("nan")]}, "threshold: must not contain NaN, infinity or missing values"),
        ({"answers": []}, "answers: must not be empty"),
        ({"answers": [1, None]}, "answers: must not contain NaN, infinity or missing values"),
        ({"monotonic": 1}, "monotonic = 1: must be True or False"),
        ({"bits": 1}, "bits = 1: must be a source of bits"),
        ({"branches": -1}, "branches = -1: must be at least 0"),
        ({"margin": -1}, "margin = -1: must be at least 0"),
        ({"stop_after": 0}, "stop_after = 0: must be at least 1"),
    ],
)
def test_bad_input_is_refused_before_anything_is_drawn(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"answers": [1, 2, 3], "threshold": 2, "k": 2, "epsilon": 1, "bits": NoBits()}
    arguments |= options
    answers, threshold = arguments.pop("answers"), arguments.pop("threshold")
    with pytest.raises(InvalidArgument) as caught:
        fg.adaptive_sparse_vector(answers, threshold, **arguments)
    assert message in str(caught.value)
    if not {"branches", "margin", "stop_after"} & options.keys():
        with pytest.raises(InvalidArgument):
            fg.sparse_vector(answers, threshold, **arguments)


def test_renderings() -> None:
    release = fg.adaptive_sparse_vector(
        {"a": 900, "b": 3, "c": 800}, 100, k=2, epsilon=1, monotonic=True, bits=SeededBits(1)
    )
    for text in (str(release), release._repr_html_(), release.to_json()):
        assert "a" in text
        assert "branch" in text
    assert "2 above the threshold, of 3 answered" in str(release)
