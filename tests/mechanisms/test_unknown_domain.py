"""The top k of an unknown domain: its pairs of slots by enumeration, its chances exactly, in balls."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pandas as pd
import pytest
from flint import arb, arb_poly, fmpq
from freegap_evidence.assurance.densities import NoiseDensity
from freegap_evidence.assurance.gumbel_law import gumbel_cells
from freegap_evidence.assurance.top_k_law import top_k_cells
from hypothesis import given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import InvalidArgument
from freegap.laws import GUMBEL, Law
from freegap.mechanisms.unknown_domain import UNKNOWN_NOISES, UnknownPlan
from freegap.mechanisms.unknown_slots import Slots, read_slots, slots_of
from freegap.values.labels import key_of_label
from freegap.values.measures import (
    Approximate,
    ApproximateConcentrated,
    ZeroConcentrated,
    converted,
    rho_within,
)

PRECISION = 300
ITEMS = "abcd"


def _plan(**given: Any) -> UnknownPlan:
    return UnknownPlan.read(**{"k": 1, "epsilon": 1, "delta": "1e-8", "noise": "exponential"} | given)


def _ball(number: Fraction | int) -> Any:
    exact = Fraction(number)
    return arb(fmpq(exact.numerator, exact.denominator))


# By hand --------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1/100", "1", "7.3", "40"])
@pytest.mark.parametrize("delta", ["1e-6", "1/3000000", "1e-30", "1e-400"])
@pytest.mark.parametrize("k", [1, 10])
def test_the_item_of_one_person_alone_comes_out_with_probability_at_most_delta(
    epsilon: str, delta: str, k: int
) -> None:
    """One item with the count 1 and the bar, by hand: P(1 + sX > 1 + c + sY) = e^(−c/s)/2. And not by much:
    with the bar one person lower it would be more than δ."""
    plan = _plan(k=k, epsilon=epsilon, delta=delta, items_per_person=1)

    def chance(lift: Fraction) -> Any:
        return (_ball((1 - lift) / plan.scale)).exp() / 2

    with flint.ctx.workprec(2000):
        assert chance(plan.lift) <= _ball(plan.delta)
        assert chance(plan.lift - 1) > _ball(plan.delta)


@pytest.mark.parametrize("pool", [1, 2, 100])
@pytest.mark.parametrize("delta", ["1e-6", "1/3000000"])
def test_someone_who_alone_has_everything_comes_out_with_probability_at_most_delta(
    pool: int, delta: str
) -> None:
    """Where a pool of r items hangs on one person: with q = e^(−c/s), and as e^−Y is uniform, P(any is above
    the bar) = 1 − ∫₀¹ (1 − qu)^r du."""
    plan = _plan(pool=pool, delta=delta)

    def chance(lift: Fraction) -> Any:
        q, r = _ball((1 - lift) / plan.scale).exp(), pool
        return 1 - (1 - (1 - q) ** (r + 1)) / (q * (r + 1))

    with flint.ctx.workprec(2000):
        assert chance(plan.lift) <= _ball(plan.delta)
        assert chance(plan.lift - 1) > _ball(plan.delta)


@pytest.mark.parametrize("epsilon", ["1/100", "1", "7.3"])
@pytest.mark.parametrize("delta", ["1e-6", "1/3000000", "1e-30"])
@pytest.mark.parametrize(("k", "pool"), [(1, 1), (30, 1000)])
def test_gumbel_noise_has_half_of_delta_for_its_names_and_half_for_its_rho(
    epsilon: str, delta: str, k: int, pool: int
) -> None:
    """The difference of two Gumbel variables is logistic: r/(1 + e^(c/s)) for r slots. And s is about the
    least for which (k + 1)/8s² converts to ε at δ/2."""
    plan = _plan(k=k, epsilon=epsilon, delta=delta, pool=pool, noise="gumbel")

    def chance(lift: Fraction) -> Any:
        return pool / (1 + _ball((lift - 1) / plan.scale).exp())

    def converts(scale: Fraction) -> bool:
        rho = ZeroConcentrated(Fraction(k + 1) / (8 * scale**2))
        return converted(rho, Approximate, delta=plan.delta / 2).epsilon <= plan.epsilon

    with flint.ctx.workprec(2000):
        assert chance(plan.lift) <= _ball(plan.delta / 2)
        assert chance(plan.lift - Fraction(1, 100) * plan.scale - 1) > _ball(plan.delta / 2)
    assert converts(plan.scale)
    assert not converts(plan.scale * Fraction(999, 1000))


# The pairs of slots ---------------------------------------------------------------------------


def _databases(items: str, most: int) -> Iterable[dict[str, int]]:
    for counts in itertools.product(range(most + 1), repeat=len(items)):
        yield {item: count for item, count in zip(items, counts, strict=True) if count}


def _without_one_person(counts: Mapping[str, int]) -> Iterable[dict[str, int]]:
    for held in itertools.product((0, 1), repeat=len(counts)):
        left = {item: counts[item] - has for item, has in zip(counts, held, strict=True)}
        yield {item: count for item, count in left.items() if count}


@pytest.mark.parametrize("pool", [1, 2, 3, 5])
def test_the_slots_of_neighbours_are_monotonic_answers_of_sensitivity_one(pool: int) -> None:
    """The lemma of docs/mathematics/unknown.md, on every database of four items with counts up to 3."""
    for counts in _databases(ITEMS, 3):
        one = read_slots(counts, pool)
        for fewer in _without_one_person(counts):
            other = read_slots(fewer, pool)
            before, after = (dict(zip(s.labels, s.counts, strict=True)) for s in (one, other))
            assert one.outside - other.outside in (0, 1)
            assert all(before[item] - after[item] in (0, 1) for item in before.keys() & after.keys())
            lost = [before[item] for item in before.keys() - after.keys()]
            gained = [after[item] for item in after.keys() - before.keys()]
            gained += [0] * (len(lost) - len(gained))  # slots without a name
            held = sum(counts.values()) - sum(fewer.values())
            assert len(gained) == len(lost) <= min(pool, held)
            assert all(a - b in (0, 1) for a in lost for b in gained)  # whatever the pairs
            assert all(a <= one.outside + 1 for a in lost)
            assert all(b <= other.outside + 1 for b in gained)


# The whole law, exactly -----------------------------------------------------------------------


def _wins_by(law: Law, values: Sequence[Fraction], item: int, least: Fraction) -> Any:
    """P(the item's noisy value is the largest, by at least this much), noise of scale 1.

    Gumbel: the choice of the exponential mechanism, in which this item's value is less by so much.
    Exponential: with M the largest of the others, w_j = e^(v_j), G(z) = ∏(1 − w_j z) = P(M ≤ −ln z) for
    z ≤ e^−max v: E[min(1, e^(a − M))] = e^a ∫ G from 0 to e^−max(a, max v), where a = v_i − least.
    """
    others = [value for j, value in enumerate(values) if j != item]
    start = values[item] - least
    if law is GUMBEL:
        weights = [_ball(value).exp() for value in (start, *others)]
        return weights[0] / sum(weights)
    product = arb_poly([1])
    for value in others:
        product *= arb_poly([1, -_ball(value).exp()])
    end = (-_ball(max(start, *others))).exp()
    return _ball(start).exp() * product.integral()(end)


def _law(plan: UnknownPlan, slots: Slots, lift: Fraction, cells: int) -> dict[Any, Any]:
    """P(nothing) and P(name, gap cell of a quarter of the scale), k = 1."""
    missing = [Fraction(0)] * (plan.pool - len(slots.labels))
    answers: list[Any] = [*slots.counts, *missing, slots.outside + lift]
    values = [Fraction(answer) / plan.scale for answer in answers]
    law: dict[Any, Any] = {}
    for i, label in enumerate(slots.labels):
        above = [_wins_by(plan.law, values, i, Fraction(j, 4)) for j in range(cells)]
        for j in range(cells):
            law[label, j] = above[j] - (above[j + 1] if j + 1 < cells else 0)
    law[None] = 1 - sum(law.values(), arb(0))
    return law


def _excess(p: Mapping[Any, Any], q: Mapping[Any, Any], epsilon: Fraction) -> Any:
    """The least δ with P(S) ≤ e^ε·Q(S) + δ for all S: the sum of the positive parts, from above."""
    factor = _ball(epsilon).exp()
    differences = [p[o] - factor * q.get(o, arb(0)) for o in p]
    return sum((d for d in differences if not d <= 0), arb(0)).upper()


NEIGHBOURS = [
    # One item alone, and everything at once.
    ({"a": 1}, {}, 1),
    ({"a": 1}, {}, 3),
    ({"a": 1, "b": 1, "c": 1}, {}, 3),
    ({"a": 1, "b": 1, "c": 1}, {}, 2),
    # An item that leaves, another that enters, by the order of labels.
    ({"a": 3, "b": 3}, {"a": 2, "b": 3}, 1),
    ({"a": 3, "b": 2, "c": 2, "d": 2}, {"a": 2, "b": 1, "c": 2, "d": 2}, 2),
    ({"a": 4, "b": 4, "c": 4, "d": 4}, {"a": 3, "b": 3, "c": 4, "d": 4}, 2),
    # All counts move.
    ({"a": 5, "b": 4, "c": 4}, {"a": 4, "b": 3, "c": 3}, 2),
]


@pytest.mark.parametrize(("more", "fewer", "pool"), NEIGHBOURS)
@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1/10"), ("3", "1/10"), ("1", "1e-3")])
@pytest.mark.parametrize("noise", UNKNOWN_NOISES)
def test_no_set_of_outputs_has_more_than_its_share(
    more: dict[str, int], fewer: dict[str, int], pool: int, epsilon: str, delta: str, noise: str
) -> None:
    plan = _plan(epsilon=epsilon, delta=delta, people=10, pool=pool, noise=noise)
    with flint.ctx.workprec(PRECISION):
        p, q = (_law(plan, read_slots(counts, pool), plan.lift, 60) for counts in (more, fewer))
        assert _excess(p, q, plan.epsilon) <= _ball(plan.delta)
        assert _excess(q, p, plan.epsilon) <= _ball(plan.delta)


@pytest.mark.parametrize("more", [{"a": 1}, {"a": 1, "b": 1, "c": 1}])
def test_one_person_less_in_the_bar_would_be_too_much(more: dict[str, int]) -> None:
    """So would a slightly smaller scale with the same bar, where counts move together."""
    plan = _plan(epsilon=1, delta="1e-3", people=1000, pool=len(more))
    with flint.ctx.workprec(PRECISION):
        p, q = (_law(plan, read_slots(counts, plan.pool), plan.lift - 1, 60) for counts in (more, {}))
        assert _excess(p, q, plan.epsilon) > _ball(plan.delta)


def test_slightly_less_noise_would_be_too_much() -> None:
    """ε is used up as well: between tables far above the bar the ratio is e^ε."""
    plan = _plan(epsilon=1, delta="1e-3", people=1000, pool=2)
    more, fewer = {"a": 40, "b": 40, "c": 2}, {"a": 40, "b": 39, "c": 2}
    with flint.ctx.workprec(PRECISION):
        p, q = (_law(plan, read_slots(counts, 2), plan.lift, 60) for counts in (more, fewer))
        assert _excess(p, q, plan.epsilon) <= _ball(plan.delta)
        assert _excess(p, q, plan.epsilon * Fraction(9, 10)) > _ball(plan.delta)


def _cells_of_two(plan: UnknownPlan, slots: Slots, lift: Fraction) -> dict[Any, float]:
    """The same for k = 2 and a pool of 2, in doubles: names as far as there are any, and gaps in cells."""
    values = [*map(float, slots.counts), *[0.0] * (2 - len(slots.labels)), float(slots.outside + lift)]
    law: dict[Any, float] = {}
    for (order, gaps), p in top_k_cells(values, 2, NoiseDensity("exponential", 2.0), 3.0, 5).items():
        stop = next((place for place, item in enumerate(order) if item >= len(slots.labels)), 2)
        cell = (tuple(slots.labels[i] for i in order[:stop]), gaps[:stop])
        law[cell] = law.get(cell, 0.0) + p
    return law


@pytest.mark.parametrize(
    ("more", "fewer"),
    [
        ({"a": 1, "b": 1}, {}),
        ({"a": 4, "b": 4, "c": 4}, {"a": 3, "b": 4, "c": 4}),
        ({"a": 3, "b": 1}, {"a": 2}),
    ],
)
def test_two_names_with_their_gaps_have_no_more_than_their_share(
    more: dict[str, int], fewer: dict[str, int]
) -> None:
    plan = _plan(k=2, epsilon=1, delta="1/20", people=10, pool=2)
    excess = {}
    for less in (0, 3) if not fewer else (0,):
        p, q = (_cells_of_two(plan, read_slots(c, 2), plan.lift - less) for c in (more, fewer))
        sides = ((p, q), (q, p))
        excess[less] = max(sum(max(a[o] - np.e * b.get(o, 0), 0) for o in a) for a, b in sides)
    assert excess[0] <= 0.05 + 1e-9
    if not fewer:
        assert excess[3] > 0.05


# The release ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    counts=st.dictionaries(st.integers(0, 40), st.integers(0, 60), max_size=12),
    k=st.integers(1, 4),
    more=st.integers(0, 8),
    epsilon=st.fractions(Fraction(1, 4), 40, max_denominator=8),
    noise=st.sampled_from(UNKNOWN_NOISES),
    seed=st.integers(0, 2**32),
)
def test_the_release_is_the_hybrid_top_k_of_its_slots(
    counts: dict[int, int], k: int, more: int, epsilon: Fraction, noise: str, seed: int
) -> None:
    """The same bits, on the pool, the slots without a name, and the bar as threshold."""
    options: dict[str, Any] = {"epsilon": epsilon, "bits": SeededBits(seed)}
    rest: dict[str, Any] = {"delta": "1/4", "people": 4, "pool": k + more, "noise": noise}
    plan = _plan(k=k, epsilon=epsilon, **rest)
    found = fg.unknown_top_k(counts, k, **rest, **options)
    order = sorted((item for item in counts if counts[item]), key=lambda item: (-counts[item], item))
    pool, outside = order[: plan.pool], order[plan.pool :]
    sizes = [1] * len(pool) + [plan.pool - len(pool)] * (plan.pool > len(pool))
    answers = [counts[item] for item in pool] + [0] * (plan.pool > len(pool))
    slots = fg.Counts(answers, sizes, name=lambda group, _: pool[group] if group < len(pool) else None)
    bar = (counts[outside[0]] if outside else 0) + plan.lift
    asked: dict[str, Any] = (
        {"epsilon": epsilon} if noise == "exponential" else {"rho": Fraction(k + 1) / (8 * plan.scale**2)}
    )
    hybrid = fg.hybrid_top_k(slots, bar, k=k, monotonic=True, bits=SeededBits(seed), **asked)
    labels = list(itertools.takewhile(lambda label: label is not None, hybrid.labels))
    assert list(found.labels) == labels
    assert found.gaps == hybrid.gaps[: len(labels)]
    assert found.complete == (len(labels) < k)
    assert (found.measure, found.spent, found.delta) == ("epsilon-delta", epsilon, Fraction(1, 4))


def test_the_order_in_which_counts_come_says_nothing() -> None:
    counts: dict[Any, int] = dict.fromkeys(["b", 10, 9, "a", (1, "x"), b"y", Decimal("9.5")], 400)
    options: dict[str, Any] = {"epsilon": 20, "delta": "1e-6", "pool": 5}
    first = fg.unknown_top_k(counts, 5, bits=SeededBits(1), **options)
    again = fg.unknown_top_k(dict(reversed(counts.items())), 5, bits=SeededBits(1), **options)
    assert first == again
    assert read_slots(counts, 5).labels == [9, Decimal("9.5"), 10, "a", "b"]


def test_a_label_of_one_person_does_not_change_the_order_of_the_others() -> None:
    """Were there one rule for all labels, a text among numbers would turn 9 < 10 into "10" < "9"."""
    numbers = {item: 5 for item in range(8, 13)}
    alone: dict[Any, int] = {**numbers, "text": 1, object(): 1, (1, None): 1, float("nan"): 1}
    assert read_slots(numbers, 3).labels == read_slots(alone, 3).labels == [8, 9, 10]


def test_what_has_no_order_is_left_out_and_is_no_error() -> None:
    class Odd(str):
        __slots__ = ()

    assert [key_of_label(label) for label in (None, object(), frozenset({1}), [1], float("inf"))] == [
        None
    ] * 5
    assert key_of_label(Odd("a")) != key_of_label("a")
    counts = pd.Series([500, 400, 300, 300], index=["a", None, "b", "b"])
    found = fg.unknown_top_k(counts, 3, epsilon=20, delta="1e-6", bits=SeededBits(1))
    assert found.labels == ("a", "b")


def test_series_and_dicts_give_the_same() -> None:
    counts = {"x": 900, "y": 700, "z": 2}
    options: dict[str, Any] = {"epsilon": 2, "delta": "1e-9"}
    one = fg.unknown_top_k(counts, 2, bits=SeededBits(3), **options)
    other = fg.unknown_top_k(pd.Series(counts), 2, bits=SeededBits(3), **options)
    assert one == other
    assert one.labels == ("x", "y")


@pytest.mark.parametrize("noise", UNKNOWN_NOISES)
@pytest.mark.parametrize("pool", [None, 3])  # with three, nothing but the bar stands between the names
def test_what_is_below_the_bar_is_not_named(noise: Any, pool: int | None) -> None:
    for seed in range(5):
        options: dict[str, Any] = {"epsilon": 1, "delta": "1e-8", "noise": noise, "pool": pool}
        found = fg.unknown_top_k({"a": 5000, "b": 3, "c": 2}, 3, **options, bits=SeededBits(seed))
        assert (found.labels, len(found.gaps), found.complete) == (("a",), 1, True)


def test_nothing_at_all() -> None:
    found = fg.unknown_top_k({}, 2, epsilon=1, delta="1e-6", bits=SeededBits(1))
    assert (found.labels, found.gaps, found.complete) == ((), (), True)
    assert "fewer than 2 items stood out" in str(found)


def test_what_the_release_says_of_itself() -> None:
    found = fg.unknown_top_k({"a": 5000, "b": 4000}, 1, epsilon=1, delta="1e-6", bits=SeededBits(1))
    assert "of an unknown domain" in found.title
    assert "no more than 1 items were asked for" in str(found)
    plain = found.to_dict()
    assert (plain["mechanism"], plain["measure"], plain["delta"]) == (
        "unknown_top_k",
        "epsilon-delta",
        "1/1000000",
    )
    assert plain["parameters"]["pool"] == 1000
    assert found.indices == ()


def test_the_ledger_is_charged_epsilon_and_delta(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=2, delta="1e-5")
    asked: dict[str, Any] = {"epsilon": "1/4", "delta": "1e-6"}
    fg.unknown_top_k({"a": 5000}, 1, ledger=(ledger, "shop"), **asked)
    entry = ledger.entries("shop")[-1]
    assert (entry.kind, entry.asked) == ("settle", Approximate(Fraction(1, 4), Fraction(1, 10**6)))
    ledger.create("pure", epsilon=2)
    with pytest.raises(InvalidArgument, match="epsilon-delta"):
        fg.unknown_top_k({"a": 5000}, 1, ledger=(ledger, "pure"), **asked)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"delta": None}, "delta"),
        ({"delta": 0}, "delta"),
        ({"delta": "1e-5"}, "one over the number of people"),
        ({"delta": "1/3", "people": 2.5}, "people"),
        ({"delta": "1e-7", "people": 10**8}, "1/100000000"),
        ({"pool": 2}, "pool"),
        ({"pool": 2**62}, "pool"),
        ({"items_per_person": 0}, "items_per_person"),
        ({"k": 0}, "k"),
        ({"epsilon": "1e-200", "noise": "exponential"}, "epsilon"),
        ({"noise": "laplace"}, "noise"),
        ({"counts": [3, 1]}, "counts"),
        ({"counts": {"a": float("nan")}}, "counts"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: dict[str, Any], names: str) -> None:
    call: dict[str, Any] = {"counts": {"a": 3}, "k": 3, "epsilon": 1, "delta": "1e-8"} | arguments
    with pytest.raises(InvalidArgument, match=names):
        fg.unknown_top_k(bits=SeededBits(1), **call)


def test_without_a_noise_the_lower_bar_is_taken() -> None:
    for k, noise in ((1, "exponential"), (9, "exponential"), (10, "gumbel"), (100, "gumbel")):
        both = [_plan(k=k, noise=one) for one in UNKNOWN_NOISES]
        chosen = _plan(k=k, noise=None)
        assert (chosen.law.name, chosen.lift) == (noise, min(plan.lift for plan in both))
    assert _plan(epsilon="1e-200", noise=None).law.name == "gumbel"  # δ alone has a ρ
    assert _plan(epsilon="1e-99", delta="1e-450", noise=None).law.name == "exponential"  # there is none


def test_more_people_and_fewer_items_of_each_change_the_bar() -> None:
    assert _plan(delta="1e-3", people=1000).delta == Fraction(1, 1000)
    assert _plan(pool=100).lift == _plan(pool=1000, items_per_person=100).lift < _plan(pool=1000).lift
    assert _plan(delta="2/3", people=1, pool=1, items_per_person=1).lift == 1  # c is never below 0


def test_the_pool_is_found_among_the_largest_counts() -> None:
    """With ties at the edge, labels twice and labels without a key: as if keys were made for all of them."""
    rng = np.random.default_rng(4)
    for _ in range(60):
        size, pool = int(rng.integers(0, 14)), int(rng.integers(1, 9))
        labels: list[Any] = [
            object() if rng.random() < 0.3 else f"item {rng.integers(8)}" for _ in range(size)
        ]
        counts = rng.integers(0, 4, size).tolist()
        largest: dict[str, int] = {}
        for label, count in zip(labels, counts, strict=True):
            if isinstance(label, str) and count > 0:
                largest[label] = max(count, largest.get(label, 0))
        order = sorted(largest, key=lambda label: (-largest[label], label))
        found = slots_of(labels, counts, pool)
        assert found.labels == order[:pool]
        assert found.counts == [largest[label] for label in order[:pool]]
        assert found.outside == (largest[order[pool]] if len(order) > pool else 0)


def test_the_price_in_rho_covers_every_divergence_but_for_names_of_pairs() -> None:
    """The laws of one name with its gap, at neighbours; a quarter of the price would not."""
    asked: dict[str, Any] = {"epsilon": 1, "delta": "1/20", "people": 20, "pool": 2, "noise": "gumbel"}
    plan = UnknownPlan.read(k=1, resolution=1, **asked)
    price = plan.price
    assert price == ApproximateConcentrated(1 / (4 * plan.scale**2), Fraction(1, 40))
    assert price.spent <= rho_within(1, Fraction(1, 40))
    lift, scale = float(plan.lift), float(plan.scale)
    worst = 0.0
    for here, there in (((lift, 3), (lift - 1, 3)), ((lift, lift), (lift - 1, lift - 1))):
        laws = [gumbel_cells([*counts, lift], 1, scale, 60) for counts in (here, there)]
        named = [
            {cell: p for cell, p in law.items() if cell[0] != (2,)}
            | {None: sum(p for (i, _), p in law.items() if i == (2,))}
            for law in laws
        ]
        for p, q in (named, named[::-1]):
            for alpha in (1.05, 1.5, 2.0, 4.0, 16.0):
                moment = sum(
                    p[cell] ** alpha * q[cell] ** (1 - alpha) for cell in p if min(p[cell], q[cell]) > 1e-12
                )
                worst = max(worst, math.log(moment) / (alpha - 1) / alpha)
    assert float(price.spent) / 4 < worst <= float(price.spent)
    measured = UnknownPlan.read(k=1, resolution=1, measured=True, **asked)
    both = measured.price.spent
    assert both == 1 / (4 * measured.scale**2) + measured.share.spent <= rho_within(1, Fraction(1, 40))
    assert UnknownPlan.read(k=1, **asked | {"noise": "exponential"}).price == plan.asked
