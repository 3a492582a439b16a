"""Several questions at once are the same questions one after the other: replies, charge, and what refuses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap.bits import SeededBits, last_unpaid_draw
from freegap.errors import BudgetSpent, InvalidArgument
from freegap.exact.noisy_threshold import NoisyThreshold

Kinds = st.sampled_from(["exponential", "laplace", "geometric"])


def online(noise: str, *, adaptive: bool, k: int, seed: int, **more: Any) -> Any:
    kind: Any = fg.AdaptiveSparseVector if adaptive else fg.SparseVector
    return kind(Fraction(1, 3) if noise != "geometric" else 2, k=k, epsilon=2, noise=noise,
                bits=SeededBits(seed), **more)  # fmt: skip


def one_by_one(asking: Any, answers: Any, thresholds: Any = None) -> list[Any]:
    replies = []
    for place, answer in enumerate(answers):
        if asking.exhausted:
            break
        replies.append(asking.ask(answer, None if thresholds is None else thresholds[place]))
    return replies


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    answers=st.lists(st.integers(-60, 20) | st.floats(-60, 20) | st.fractions(-60, 20), max_size=40),
    more=st.lists(st.integers(-90, 0), max_size=400),
    sizes=st.lists(st.integers(0, 90), max_size=6),
    noise=Kinds,
    adaptive=st.booleans(),
    k=st.integers(1, 6),
    seed=st.integers(0, 999),
)
def test_the_same_replies_as_one_by_one(
    answers: list[Any], more: list[int], sizes: list[int], noise: str, adaptive: bool, k: int, seed: int
) -> None:
    """In portions of any sizes, of any kinds of number; past the noise drawn ahead, and to the end."""
    questions = [*more, *answers, *more]
    single = online(noise, adaptive=adaptive, k=k, seed=seed)
    expected = one_by_one(single, questions)
    portions = online(noise, adaptive=adaptive, k=k, seed=seed)
    replies: list[Any] = []
    for size in [*sizes, len(questions)]:
        begin = len(replies)
        if not portions.exhausted:
            replies += portions.ask_many(questions[begin : begin + size])
    assert replies == expected
    assert (portions.asked, portions.spent, portions.exhausted) == (
        single.asked,
        single.spent,
        single.exhausted,
    )


def test_a_threshold_between_two_answers_is_between_them() -> None:
    """Of a question that is answered by one comparison the whole part of the threshold is subtracted, or
    less: with noise so small 1 is above 1/3, and 0 below."""
    for seed in range(12):
        asking = fg.SparseVector("1/3", k=2, epsilon=900, bits=SeededBits(seed))
        assert [bool(asking.ask(answer)) for answer in (0, 0, 1, 0, 1)] == [False, False, True, False, True]


def test_the_same_as_the_batch_and_beyond_one_portion_of_noise() -> None:
    answers = np.random.default_rng(2).integers(0, 60, 40_000)
    answers[[9, 20_000, 39_999]] = 10**6
    setting: dict[str, Any] = {"k": 3, "epsilon": 1, "monotonic": True}
    batch = fg.sparse_vector(answers, 900, **setting, bits=SeededBits(4))
    asking = fg.SparseVector(900, **setting, bits=SeededBits(4))
    replies = asking.ask_many(answers)
    assert (
        [place for place, reply in enumerate(replies) if reply] == list(batch.indices) == [9, 20_000, 39_999]
    )
    assert tuple(reply.gap for reply in replies if reply) == batch.selected_gaps
    assert asking.spent == batch.spent == 1


@pytest.mark.parametrize("thresholds", [[0.5, 7, "1/3", 2], np.array([0.5, 7.0, 0.1, 2.0]), 0.3, "1/3", 5])
def test_thresholds_of_their_own(thresholds: Any) -> None:
    answers = [3, 2.75, -9, 40]
    each = thresholds if isinstance(thresholds, list | np.ndarray) else [thresholds] * 4
    if isinstance(each, list):
        each = [Fraction(t) if isinstance(t, str) else t for t in each]
    for seed in range(30):
        one, many = (fg.SparseVector(k=4, epsilon=1, bits=SeededBits(seed)) for _ in range(2))
        given_ = each if isinstance(thresholds, list | np.ndarray) else thresholds
        assert many.ask_many(answers, given_) == one_by_one(one, answers, each)


def test_what_is_refused_is_refused_before_anything_is_counted() -> None:
    asking = fg.SparseVector(0, k=2, epsilon=1, bits=SeededBits(1))
    before = last_unpaid_draw()
    for bad in ([1, float("nan")], [1, None], ["7"], "77", {"a": 1}, [[1, 2]], 3, None, [2j]):
        with pytest.raises(InvalidArgument) as caught:
            asking.ask_many(bad)
        assert caught.value.argument == "answers"
    for thresholds in ([1, 2, 3], "x", [1, float("inf")], {"a": 1, "b": 2}):
        with pytest.raises(InvalidArgument) as caught:
            asking.ask_many([1, 2], thresholds)
        assert caught.value.argument == "threshold"
    with pytest.raises(InvalidArgument, match="threshold = None: must be a number"):
        fg.SparseVector(k=1, epsilon=1).ask_many([3])
    assert asking.asked == asking.spent == 0
    assert asking.ask_many([]) == asking.ask_many(np.array([])) == asking.ask_many(iter(())) == []
    assert asking.asked == 0
    assert last_unpaid_draw() is not before  # of the second object's threshold
    before = last_unpaid_draw()
    assert asking.ask_many(answer for answer in (-(10**6), 10**6))[1]
    assert last_unpaid_draw() is not before


def test_after_the_end_and_after_closing_nothing_is_answered() -> None:
    asking = fg.SparseVector(0, k=1, epsilon=1, bits=SeededBits(1))
    assert len(asking.ask_many([-(10**6), 10**6, 5, 6])) == 2
    with pytest.raises(BudgetSpent):
        asking.ask_many([1])
    assert asking.ask_many([]) == []
    closed = fg.SparseVector(0, k=1, epsilon=1, bits=SeededBits(1))
    for answer in (-(10**6), -(10**6)):
        assert not closed.ask(answer)
    closed.close()
    for ask in (lambda: closed.ask(-(10**6)), lambda: closed.ask_many([-(10**6)])):
        with pytest.raises(BudgetSpent, match="closed"):
            ask()


def test_an_interruption_charges_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second above is interrupted: the first is charged at its price, and the rest at the highest."""
    asking = fg.SparseVector(0, k=9, epsilon=1, share="1/10", bits=SeededBits(1))
    one, calls = NoisyThreshold.one, []

    def interrupted(self: NoisyThreshold, *question: Any) -> Any:
        calls.append(question)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return one(self, *question)

    with monkeypatch.context() as patched:
        patched.setattr(NoisyThreshold, "one", interrupted)
        with pytest.raises(KeyboardInterrupt):
            asking.ask_many([-(10**6), 10**6, -(10**6), 10**6, -(10**6), 10**6])
    assert asking.asked == 6
    assert asking.spent == Fraction(1, 10) + Fraction(1, 10) * (1 + 3)  # three of the six were left
    assert asking.ask(10**6)
    assert asking.spent == Fraction(6, 10)
    with monkeypatch.context() as patched:
        patched.setattr(NoisyThreshold, "below", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            asking.ask_many([5] * 10**6)
    assert asking.spent == 1  # never more than there is
    assert asking.exhausted


def test_nothing_quick_where_there_is_more_to_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted question may have used up the budget, however far below the next one is."""
    asking = fg.SparseVector(0, k=1, epsilon=1, bits=SeededBits(1))
    assert not asking.ask(-(10**6))
    with monkeypatch.context() as patched:
        patched.setattr(NoisyThreshold, "one", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            asking.ask(10**6)
    assert asking.exhausted
    with pytest.raises(BudgetSpent):
        asking.ask(-(10**6))
    with pytest.raises(InvalidArgument, match="between 10"):
        fg.SparseVector(0, k=1, epsilon=1, bits=SeededBits(1)).ask(-(10**1001))


def test_each_question_leaves_a_mark() -> None:
    """Quick or not: who keeps account sees that something was drawn for which nobody paid."""
    asking = fg.SparseVector(0, k=1, epsilon=1, bits=SeededBits(1))
    for _ in range(3):
        before = last_unpaid_draw()
        assert not asking.ask(-(10**6))
        assert last_unpaid_draw() is not before


@pytest.mark.parametrize("threshold", [0, 500, "-1/2", 2**63, -(2**63)])
def test_where_noise_is_known_questions_are_answered_refused_and_counted_as_ever(threshold: Any) -> None:
    """Against one that looks at everything, since each question has a threshold of its own; on the same bits.

    What cannot be an answer is refused before it is counted: by either.
    """
    quick, slow = (fg.SparseVector(threshold, k=9, epsilon=1, bits=SeededBits(3)) for _ in range(2))
    bar = Fraction(threshold)
    near = [int(bar) + away for away in (-300, -40, -9, -1, 0, 1, 9, 40, 300)]
    far = [sign * size for size in (2**63 - 1, 2**63, 2**63 + 1, 10**999) for sign in (-1, 1)]
    refused = [sign * 10**1001 for sign in (-1, 1)]
    for answer in [-(10**6), *near, *refused, *far[:4], *near, *refused, *far[4:], *refused]:
        if slow.exhausted:
            break
        if answer in refused:
            for asking, own in ((quick, None), (slow, bar)):
                with pytest.raises(InvalidArgument, match="between 10"):
                    asking.ask(answer, own)
        else:
            assert quick.ask(answer) == slow.ask(answer, bar), answer
        seen = [(asking.asked, asking.spent, asking.remaining, asking.exhausted) for asking in (quick, slow)]
        assert seen[0] == seen[1], answer
    assert slow.asked > 15
