"""Limits of arguments, from both sides: the last that is allowed is, and the next is refused by its name."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.mechanisms.exponential import Choice
from freegap.mechanisms.histogram import HistogramPlan
from freegap.mechanisms.many_populations import _size_argument, _spent
from freegap.mechanisms.populations import _offsets_argument, read_populations
from freegap.mechanisms.quantiles import Grid, QuantilesPlan
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.mechanisms.unknown_domain import UnknownPlan, delta_argument
from freegap.mechanisms.unknown_slots import occurring, slots_of
from freegap.values.measures import Pure

ONE = Pure(Fraction(1))
UNKNOWN: dict[str, Any] = {"k": 3, "epsilon": 1, "delta": "1e-6", "noise": "exponential"}


def pure_top_k(**options: Any) -> TopKPlan:
    return TopKPlan.read("noisy_top_k", **({"k": 1, "epsilon": 1} | options))


def quantiles(q: Any) -> QuantilesPlan:
    return QuantilesPlan.read(q, ONE, False, Fraction(0))


def candidates(**options: Any) -> Any:
    given: dict[str, Any] = {"threshold": 0, "epsilon": 1, "bits": fg.SeededBits(1)}
    return fg.select_private_candidate([lambda bits: 5], lambda value: value, **(given | options))


LIMITS: dict[str, tuple[Callable[[Any], Any], list[Any], list[Any], str]] = {
    "numbers of a grid": (lambda n: Grid.read(0, n, 1), [2**18 - 1], [2**18, 2**18 + 1], "resolution"),
    "the upper end of a grid": (lambda n: Grid.read(n - 9, n, 1), [2**50], [2**50 + 1], "high"),
    "the lower end of a grid": (lambda n: Grid.read(n, n + 9, 1), [-(2**50)], [-(2**50) - 1], "low"),
    "the step of a grid": (
        lambda n: Grid.read(0, Fraction(1, n), Fraction(1, n)),
        [2**50 - 1, 2**50],
        [2**50 + 1],
        "high",
    ),
    "an end with digits behind the point": (
        lambda n: Grid.read(Fraction(n - 9, 3), Fraction(n, 3), Fraction(1, 3)),
        [2**50 - 1],
        [2**50 + 2],
        "high",
    ),
    "numbers of quantiles": (
        lambda n: quantiles([Fraction(i, 1009) for i in range(1, n + 1)]),
        [1, 1000],
        [0, 1001],
        "q",
    ),
    "the denominator of a quantile": (
        lambda n: quantiles(Fraction(1, n)),
        [2, 10**6 - 1, 10**6],
        [1, 10**6 + 1],
        "q",
    ),
    "a quantile": (
        lambda n: quantiles(Fraction(n, 1000)),
        [1, 999],
        [-1, 0, 1000, 1001],
        "q",
    ),
    "a pool": (lambda n: UnknownPlan.read(**UNKNOWN, pool=n), [3, 4, 2**62 - 1], [0, 1, 2, 2**62], "pool"),
    "a delta": (lambda n: delta_argument(Fraction(n, 10**9), None), [1, 999, 1000], [0, 1001], "delta"),
    "a delta of some people": (
        lambda n: delta_argument(Fraction(1, 20), n),
        [1, 19, 20],
        [21],
        "delta",
    ),
    "people": (lambda n: delta_argument("1e-9", n), [1], [0, -1], "people"),
    "releases of a batch": (_size_argument, [1, 10**7], [0, 10**7 + 1], "size"),
    "halvings": (
        lambda n: ThresholdPlan.read("adaptive", k=1, epsilon=1, branches=n),
        [0, 1, 64],
        [-1, 65],
        "branches",
    ),
    "a margin": (
        lambda n: ThresholdPlan.read("adaptive", k=1, epsilon=1, branches=1, margin=n),
        [0, "1/9", 9],
        ["-1/9", -1],
        "margin",
    ),
    "stopping after some": (
        lambda n: ThresholdPlan.read("adaptive", k=1, epsilon=1, stop_after=n),
        [None, 1, 2],
        [0, -1],
        "stop_after",
    ),
    "the scale of top k": (
        lambda n: pure_top_k(epsilon=Fraction(10) ** -n, monotonic=True),
        [100, -100],
        [101, -101],
        "epsilon",
    ),
    "the scale of a histogram": (
        lambda n: HistogramPlan.read(bins=2, items_per_person=1, epsilon=Fraction(10) ** -n),
        [100, -100],
        [101, -101],
        "epsilon",
    ),
    "how many answers top k needs": (lambda n: pure_top_k(k=3).require_enough(n), [4, 5], [3, 2, 0], "k"),
    "and without the last gap": (
        lambda n: pure_top_k(k=3, last_gap=False).require_enough(n),
        [3, 4],
        [2, 0],
        "k",
    ),
    "the chance of giving up": (lambda n: candidates(stop=n), ["1/9", 1], [0, "10/9", -1], "stop"),
    "a hard stop": (lambda n: candidates(hard_stop=n, stop=1), ["1/9", 1], [0, "10/9"], "hard_stop"),
    "the ends of a score": (
        lambda n: fg.NoisyScore(max, epsilon=1, low=0, high=n),
        [1, 2],
        [0, -1],
        "low",
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_that_is_allowed_and_the_next(name: str) -> None:
    call, allowed, refused, argument = LIMITS[name]
    for value in allowed:
        call(value)
    for value in refused:
        with pytest.raises(fg.InvalidArgument) as caught:
            call(value)
        assert caught.value.argument == argument, value


def test_the_advice_for_too_few_answers_can_be_followed() -> None:
    for n, advice in ((0, "at least two answers"), (1, "at least two answers"), (2, "k=1"), (3, "k=2")):
        with pytest.raises(fg.InvalidArgument, match=advice):
            pure_top_k(k=4).require_enough(n)
    with pytest.raises(fg.InvalidArgument, match="Pass k=3"):
        pure_top_k(k=4, last_gap=False).require_enough(3)


def test_a_grid_from_end_to_end() -> None:
    grid = Grid.read("-1/2", 2, "1/4")
    assert (grid.cells, grid.first) == (11, -2)
    assert [grid.value(1024 * cell) for cell in (0, 1, 10, 11)] == [
        Fraction(-1, 2),
        Fraction(-1, 4),
        Fraction(2),
        Fraction(2),  # behind all cells is the last one
    ]
    assert [grid.value(place) for place in (1023, 1024, 2047, 2048)] == [
        Fraction(-1, 2),
        Fraction(-1, 4),
        Fraction(-1, 4),
        Fraction(0),
    ]


@pytest.mark.parametrize("halvings", [0, 1, 30, 57, 58, 59, 60, 61, 62, 63, 64])
@pytest.mark.parametrize("charged", [1, 2, 3])
def test_what_many_runs_have_spent_is_added_up_whatever_the_branches_cost(
    halvings: int, charged: int
) -> None:
    """The dearest branch costs 2^halvings of the cheapest: sums of that do not fit 64 bits for long."""
    each = ThresholdPlan.read("adaptive", k=9, epsilon=1, branches=halvings)
    runs = [[0] * 5, [halvings] * 4, [halvings], [0, halvings]]  # by number of the branch, cheapest first
    drawn: Any = SimpleNamespace(
        branches=np.array([branch for run in runs for branch in run]),
        starts=np.cumsum([0, *map(len, runs)]),
        answered=np.array([9] * len(runs)),
    )
    plan: Any = SimpleNamespace(each=each, charged=charged)
    spent = sorted(sum(each.branches[branch].budget for branch in run) for run in runs)
    assert _spent(plan, drawn) == charged * each.threshold_budget + sum(spent[-charged:])


@pytest.mark.parametrize("gap", [0, 1, 699, 700, 701, 745])
def test_a_p_value_where_doubles_end(gap: int) -> None:
    choice: Any = SimpleNamespace(gap=Fraction(gap))
    p_value = Choice.p_value.fget(choice)  # type: ignore[attr-defined]
    assert p_value == pytest.approx(
        2 / (1 + math.exp(min(gap, 705))) * math.exp(-max(gap - 705, 0)), rel=1e-9
    )


@pytest.mark.parametrize("pool", [1, 2, 3, 4, 5, 6])
def test_a_pool_with_ties_at_its_edge(pool: int) -> None:
    """As many as fit, by count and then by name; outside is the first that did not."""
    counts = {"e": 7, "a": 5, "d": 5, "b": 5, "c": 2}
    order = ["e", "a", "b", "d", "c"]
    slots = slots_of(counts, counts.values(), pool)
    assert slots.labels == order[:pool]
    assert slots.counts == [counts[name] for name in order[:pool]]
    assert slots.outside == (counts[order[pool]] if pool < 5 else 0)


def test_what_occurs_at_least_once_and_by_its_larger_count() -> None:
    entries = [("a", 0), ("b", 1), ("a", -3), ("b", 4), ("b", 2), (object(), 9), ("c", 1)]
    found = {label: count for count, label in occurring(entries).values()}
    assert found == {"b": 4, "c": 1}


@pytest.mark.parametrize("noise", ["exponential", "gumbel", None])
def test_of_several_groups_each_has_its_part_of_what_one_person_costs(noise: Any) -> None:
    whole = UnknownPlan.read(k=3, epsilon=1, delta="1e-6", noise=noise)
    parts = whole.in_parts(4, noise, Fraction(1, 2))
    assert (parts.touched, parts.epsilon, parts.delta) == (4, Fraction(1, 2), Fraction(1, 2 * 10**6))
    half = UnknownPlan.read(k=3, epsilon="1/2", delta="5e-7", noise=parts.law.name)
    assert parts.share.spent * 4 == half.share.spent
    assert parts.scale > half.scale
    assert parts.lift > half.lift


def test_populations_with_offsets_are_numbered() -> None:
    values = [5, 1, 4, 2, 3]
    assert read_populations(values, [0, 2, 5], Fraction(1)).names == range(2)
    assert read_populations(values, np.array([0, 5]), Fraction(1)).names == range(1)
    with pytest.raises(InvalidArgument):
        _offsets_argument([0], 0)  # a beginning without an end
