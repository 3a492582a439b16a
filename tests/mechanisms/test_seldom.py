"""What seldom happens to a mechanism: noise that leaves the bar behind, a run that is over."""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap import BudgetSpent, base2
from freegap.base2.batch import FastRun
from freegap.base2.plan import Base2Plan
from freegap.bits import source_or_system
from freegap.estimate.fusion import inverse_variance
from freegap.exact.digits import KeyedDigits
from freegap.exact.ranking import Ranked
from freegap.mechanisms import unknown_populations
from freegap.mechanisms.top_k import tied_form
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.mechanisms.unknown_populations import draw_unknown_each
from freegap.mechanisms.unknown_slots import Slots


@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_where_noise_leaves_the_bar_behind_more_places_are_looked_at(k: int) -> None:
    """Few counts are above the bar, and so few places are asked for at first; the same as asking for all."""
    plan = UnknownPlan.read(k=k, epsilon="1/2", delta="1e-6", pool=20)
    pools = [
        Slots(list("abcdefgh"), [far, *range(int(plan.lift) + 3, int(plan.lift) - 4, -1)], 4)
        for far in range(150, 450, 10)
    ]
    drawn = draw_unknown_each(plan, pools, fg.SeededBits(k))
    batch = unknown_populations._batch(plan, pools)
    rows = np.arange(len(pools))
    digits = KeyedDigits(fg.SeededBits(k), batch.streams)
    places, gaps = unknown_populations._ranked(plan, batch, rows, digits, k + 1)
    for own, all_places, all_gaps in zip(drawn, places, gaps, strict=True):
        named = next((at for at, place in enumerate(all_places[:k]) if place >= 8), k)
        assert (own.places, own.gaps) == (all_places[:named], all_gaps[:named])
    assert k < 2 or max(len(own.places) for own in drawn) == k


def test_ties_are_kept_by_shifts_of_the_selected_alone() -> None:
    plan = TopKPlan.read("noisy_top_k", k=3, epsilon=1, noise="geometric", gap=False, sensitivity=2)
    for monotonic in (False, True):
        form = tied_form(replace(plan, monotonic=monotonic))
        assert form.direction == ("monotonic" if monotonic else "each")
        assert (form.k, form.law, form.scale) == (3, "geometric", 6 if monotonic else 12)
        assert form.item_charge == Fraction(1, 3)
        assert [form.shift(direction, 7, 5) for direction in ("decreasing", "increasing", "each")] == [
            2,
            4,
            4,
        ]


def test_a_run_that_is_over_refuses_the_next_question() -> None:
    plan = Base2Plan.read(
        0, k=2, eta=base2.share_epsilon(8, k=2), low=-60, high=60, width=60, sensitivity=1, resolution=1
    )
    run = FastRun(plan, fg.SeededBits(1))
    while not run.run.exhausted:
        run.ask(60)
    for ask in (run.ask, run.run.ask):
        with pytest.raises(BudgetSpent, match="this run has released its 2 answers above the threshold"):
            ask(60)


class Foreign:
    """A source that somebody else wrote, with more than a source has."""

    private = True
    note = "of a machine in the cellar"

    def bits(self, n: int) -> int:
        return 0


def test_a_source_of_somebody_else_keeps_what_it_knows() -> None:
    source: Any = source_or_system(Foreign())
    assert (source.note, source.private, source.bits(3)) == (Foreign.note, True, 0)
    with pytest.raises(AttributeError, match="_hidden"):
        _ = source._hidden
    with pytest.raises(AttributeError, match="unknown"):
        _ = source.unknown
    assert copy.copy(source).note == Foreign.note


def test_an_estimate_without_variance_is_taken_as_it_is() -> None:
    pairs = [(Fraction(10), Fraction(1)), (Fraction(4), Fraction(0)), (Fraction(5), Fraction(0))]
    assert inverse_variance(pairs) == (Fraction(4), Fraction(0))


def test_a_ranking_is_equal_to_rankings_alone() -> None:
    one, other = (Ranked(np.array([2, 0]), None, np.array([5, last])) for last in (3, 4))
    assert one == Ranked(np.array([2, 0]), None, np.array([5, 3]))
    assert one != other
    assert one != ([2, 0], [1, 1], [5, 3])


@pytest.mark.parametrize("gap", [False, True])
def test_many_answers_beyond_the_machine(gap: bool) -> None:
    """Numbers that fit no 64 bits: the same ranking as that of the same answers moved to where they fit."""
    generator = np.random.default_rng(7)
    near = (generator.integers(0, 400, 9000) + 1000 * (generator.random(9000) < 0.001)).tolist()
    far = [answer + 2**70 for answer in near]
    options: dict[str, Any] = {"epsilon": 3, "monotonic": True, "gap": gap}
    released = [fg.noisy_top_k(answers, 5, bits=fg.SeededBits(9), **options) for answers in (near, far)]
    assert released[0].indices == released[1].indices
    assert released[0].gap_multiples == released[1].gap_multiples
