"""Calls of what is below and beside the mechanisms: numbers, labels, laws, estimates, sources, batches, files."""

from __future__ import annotations

import datetime
import math
import pickle
import tempfile
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import freegap as fg
from freegap import base2
from freegap.bits import drawn_bytes
from freegap.laws import LAWS
from freegap.laws.law import ExactLaw
from freegap.values import answers, counts, extremes, floats, labels, measures, rationals, thresholds, written
from freegap.values.chart import draw, drawable
from freegap.values.columns import Column, items_in_parts, names_of
from freegap.values.neighbours import directions_of, neighbours_argument
from freegap.values.plans import PlainPlan, price_of
from freegap.values.processes import processes
from freegap.values.remarks import remarks_on
from tests.recorded.ledger_calls import every_line, refusals_of_ledgers, two_measures
from tests.recorded.mechanism_calls import COUNTS, NAMED
from tests.recorded.seen import plain, written_to

__all__ = ["CALLS"]

Thunks = Iterator[Callable[[], Any]]

NUMBERS: tuple[Any, ...] = (
    0, 1, -3, True, np.bool_(False), np.int8(5), np.timedelta64(3, "s"), 0.1, -0.0, 1e-300, 1e300, np.float32(0.7), np.float16(0.1),
    np.longdouble("0.5"), float("nan"), float("inf"), Fraction(1, 3), Fraction(-7, 1024), Decimal("0.25"), Decimal("NaN"),
    Decimal("1e499"), Decimal("1e501"), Decimal("1e-502"), Decimal("1." + "3" * 600), "0.7", "1/3", "-2/6", "1e3", "1e-1000", "1e1001", "1/0", "x", "", " 5 ",
    "1_000", "7" * 1001, 10**499, 10**500, 10**501, Fraction(1, 10**500), Fraction(1, 10**501), None, b"1", [1], 2**62, 2**62 + 1,
    pd.NaT, np.datetime64("NaT"), 1 + 2j, 10**1000, 10**1001, Fraction(1, 10**1001), Decimal("1e1000"), Decimal("1e1001"),
)  # fmt: skip


def reading_numbers() -> Thunks:
    for value in NUMBERS:
        yield lambda v=value: rationals.rational("epsilon", v)
        yield lambda v=value: rationals.rational("epsilon", v, digits=3)
        yield lambda v=value: rationals.positive_rational("epsilon", v)
        yield lambda v=value: rationals.private_rational("answer", v)
        yield lambda v=value: rationals.proper_fraction("share", v, "Pass one.")
        yield lambda v=value: rationals.count_argument("k", v)
        yield lambda v=value: rationals.count_argument("k", v, least=0)
        yield lambda v=value: rationals.whole(v)
        yield lambda v=value: rationals.resolution_argument(v)
        yield lambda v=value: rationals.sensitivity_argument(v, Fraction(1, 12))
        yield lambda v=value: answers.exact_number(v, "answer", Fraction(1, 10))
        yield lambda v=value: answers.is_missing_number(v)
        yield lambda v=value: labels.key_of_label(v)
        yield lambda v=value: written.jsonable(v)
        yield lambda v=value: written.text_of(v)
        yield lambda v=value: thresholds.read_threshold(v, discrete=True)
        yield lambda v=value: thresholds.read_own_threshold(v, Fraction(1, 8), discrete=False)
        yield lambda v=value: thresholds.read_own_threshold(v, Fraction(1), discrete=True)
        yield lambda v=value: processes(v) if v != 0 else None
    for square in (Fraction(2), Fraction(9, 4), Fraction(1, 3), Fraction(10**20 + 1), Fraction(1, 10**31), Fraction(99999, 7)):
        yield lambda s=square: [rationals.root_above(s), rationals.root_below(s)]
    for scale in (Fraction(10) ** 100, Fraction(10) ** 100 + 1, Fraction(1, 10**100), Fraction(1, 10**100 + 1)):
        yield lambda s=scale: rationals.require_scale(s, 5)
        yield lambda s=scale: rationals.require_scale(s, 5, "rho")
    for number in (Fraction(10) ** 400, -(Fraction(10) ** 400), Fraction(1, 3)):
        yield lambda n=number: rationals.double(n)
    for x, per_unit in product((0.7, 0.5, 0.3, -0.7, 2.0**52, 1e15, 123456.789, np.float32(0.7), np.float16(0.1)), (1, 3, 10, 1024, 10**16, 2**53 + 1)):
        yield lambda x=x, n=per_unit: floats.meant_by_float(x, n)
        yield lambda x=x, n=per_unit: [*floats.floats_on_grid(np.array([x, 0.1, -0.1], type(x)), n)]
    yield lambda: [extremes.certainly_finite(np.array([1e308] * n)) for n in (1, 2, 32, 33)]
    yield lambda: [extremes.certainly_finite(np.append(np.zeros(n), math.inf)) for n in (1, 31, 32, 40)]


def writing_numbers() -> Thunks:
    numbers = [Fraction(n, d) for n, d in product((0, 1, -7, 10**15 - 1, 10**15, -(10**15), 10**30, 10**400), (1, 3, 999, 1000, 1001, 10**25 + 1))]
    for number in numbers:
        yield lambda n=number: [written.brief(n), written.plain(n), written.as_double(n), written.jsonable(n)]
        yield lambda n=number: written.readable(n)
        yield lambda n=number: Column("a", (n, None), float).cells
        yield lambda n=number: Column("a", ((n, n + 1), (None, n), (n, None), (None, None)), tuple).cells
        yield lambda n=number: Column("a", ((float(n), math.inf), (-math.inf, float(n))), tuple, form=",.1f").cells
    yield lambda: written.plain(Fraction(7**6000, 3**6000))
    yield lambda: [written.decimal_of(Fraction(1, 3), digits) for digits in (1, 8, 12)]
    yield lambda: [written.json_text({"a": ["\x9b\u202e\ud800\x7f\x1f é\n", 1e400, 2**53, 2**53 + 1]}, indent=indent) for indent in (None, 1)]
    yield lambda: [written.jsonable(n) for n in (2**53, 2**53 + 1, -(2**53), -(2**53) - 1, np.int64(2**53 + 1), Fraction(4, 2))]
    for column in (
        Column("a b", (1, None, 2**63 - 1), int, form="d"), Column("a", (1, 2**63), int, form=",d"), Column("a", (-(2**63), 0), int, form="d"),
        Column("gap to next", (Fraction(1, 3), None, Fraction(10) ** 400, -(Fraction(10) ** 400)), float, "gap"), Column("a", (0.1, 1e300), float, unit="kg"),
        Column("95 %", ((Fraction(1, 3), 2.5), (None, 1), (1, None)), tuple), Column("95 %", (), tuple), Column("", ()),
        Column("item", ("a", 1, "1", "b\x01", "b\x02", "a", None)), Column("item", (1, 2)), Column("item", (0.5, 2.5)), Column("item", (1, 2**63)),
        Column("item", (np.int64(3), np.float64(0.5))), Column("item", (np.int64(3), np.int8(4))), Column("item", ("\ud800", "é")), Column("item", (True, False)),
    ):  # fmt: skip
        yield lambda c=column: [c.numeric, c.cells, c.to_dict()]
        for exact, objects in product((True, False), repeat=2):
            yield lambda c=column, e=exact, o=objects: [[p.name, p.kind, p.values] for p in c.plain(exact=e, objects=o)]
    for parts in (None, ("ward", "rank"), ("item_rank", "rank"), ("rank", "item_rank"), ("a", "a"), ("gap", "gap", "item_gap")):
        yield lambda p=parts: [[c.name, c.values] for c in items_in_parts((("A", 7, 1)[: len(p or "ab")],) * 2, p)]
        yield lambda p=parts: [[c.name, c.values] for c in items_in_parts((), p)]
    yield lambda: names_of(("b\x01", "b\\x01", "c", "c"))


def ordering_labels() -> Thunks:
    today = datetime.date(2026, 11, 18)
    kinds: tuple[Any, ...] = (
        "tea", "", 3, True, 0.5, -0.0, float("nan"), Decimal("0.5"), Decimal("1e1000"), Decimal("1e1001"), Fraction(1, 2), b"x", today,
        datetime.timedelta(3), datetime.time(4), uuid.UUID(int=5), (1, "a"), (1, object()), None, frozenset({1}), np.int8(3), np.float32(0.1), np.str_("z"),
        np.longdouble("0.1"), float("inf"), 2**2000,
    )  # fmt: skip
    for kind in kinds:
        yield lambda k=kind: labels.key_of_label(k)
    for these in (
        ["tea", "milk", "rice"], ["b", 2, "a"], [3, 1, 2], [2, "b", (1, 2), None], [(2, "a"), (1, "b"), (1, "a")], [0.5, 1, Decimal("0.7")],
        ["a", "a"], [[1], [2]], [object(), object()], [float("nan"), 1.0], [frozenset({1}), frozenset({2})], [], [today, "a", b"b"], [1 + 2j, 2 + 1j],
    ):  # fmt: skip
        yield lambda t=these: labels.order_of_labels("answers", t)
        yield lambda t=these: sorted((t for t in t), key=labels.key_of_label)
    for word in ("each", "monotonic", "one", "increasing", "all", None):
        yield lambda w=word: neighbours_argument(w)
        yield lambda w=word: neighbours_argument(w, ("one",))
        yield lambda w=word: directions_of(w)


def measuring() -> Thunks:
    third, tiny = Fraction(1, 3), Fraction(1, 10**9)
    values = [
        kind.of(amount, tiny) for kind, amount in product(
            (measures.Pure, measures.ZeroConcentrated, measures.Approximate, measures.ApproximateConcentrated), (third, Fraction(5), Fraction(0), Fraction(3, 10**8)),
        )
    ]  # fmt: skip
    for value in values:
        yield lambda v=value: [str(v), repr(v), v.to_dict(), v.arguments(), v.spent, v.delta, remarks_on(v)]
        for kind, delta in product((measures.Pure, measures.ZeroConcentrated, measures.Approximate, measures.ApproximateConcentrated), (None, "1e-6", 0, 2)):
            yield lambda v=value, k=kind, d=delta: measures.converted(v, k, delta=d)
        for other in values[::3]:
            yield lambda v=value, o=other: v + o
            yield lambda v=value, o=other: v <= o
    for epsilon, rho, delta in product((None, 1, "1/3", 0, "x"), (None, "1/8", -1), (None, "1e-6", 0, 1)):
        yield lambda e=epsilon, r=rho, d=delta: measures.measure_argument(epsilon=e, rho=r, delta=d)
        yield lambda e=epsilon, r=rho, d=delta: measures.measure_argument(epsilon=e, rho=r, delta=d, digits=1)
    for rho in ("1/8", "1/3", 2, 3, 10, "1e-30"):
        yield lambda r=rho: measures.pure_within(measures.measure_argument(rho=r))
        yield lambda r=rho: remarks_on(measures.measure_argument(rho=r))
    for epsilon, delta in product((1, "1/100", 30, "1e-12", 10**201), ("1e-6", "1/2", "1e-300")):
        yield lambda e=epsilon, d=delta: f"{float(measures.rho_within(e, d)):.9g}"
    for asked in (Fraction(10), Fraction(10) + tiny, Fraction(12)):
        yield lambda a=asked: [remarks_on(measures.Pure(a)), remarks_on(measures.Approximate(a, tiny))]
    yield lambda: price_of(PlainPlan("a", measures.Pure(third), {}))
    yield lambda: price_of(PlainPlan("a", measures.Pure(third), {}, measures.ZeroConcentrated(tiny)))


def reading_counts() -> Thunks:
    name = "{}/{}".format
    for values, sizes in (
        ([5, 3], [1, 2]), ([5], [2**62]), ([5], [2**62 + 1]), ([5, 6], [2**61, 2**61]), ([5, 6], [2**62, 1]), ([], []), ([5], [1, 2]), ([5], [0]), ([5], [-1]),
        ([5], [1.5]), ([5], ["a"]), ([5], [True]), ([5], None), (None, [1]), ([5.5, 0.1], [1, 3]), ([2**80, 1], [1, 3]), (iter([1]), [1]), ([5], np.array([3], np.uint64)),
        ([5], [[1]]), ([1, 2], np.array([1.0, 2.0])), (np.array([1, 2]), np.array([3, 4])),
    ):  # fmt: skip
        yield lambda v=values, s=sizes: fg.Counts(v, s, name=name).items
        yield lambda v=values, s=sizes: fg.noisy_top_k(fg.Counts(v, s, name=name), 1, epsilon=1, bits=fg.SeededBits(4))
    yield lambda: fg.Counts([1], [1], name=3)
    for domain in (
        range(9), range(10**15), range(-(2**62), 2**62), range(0, 90, 10), range(9, 0, -3), range(2**63 - 5, 2**63 + 5), range(-(2**63) - 3, 5), ["a", "b", "c"], ["a", "a"],
        [[1], [2]], [], "abc", {1, 2}, None, iter([1]), np.arange(5), (3, "x", (1, 2)),
    ):  # fmt: skip
        for given in ({3: 7}, {"a": 7, "b": 2}, {}, {99: 1}, {(1, 2): 4}, {True: 3}, {0.5: 1}, {30: 5, 60: 6}, None, [3], {9: 3, 3: 1}, {np.int64(3): 7}):
            if _is_quick(domain, given):
                yield lambda d=domain, g=given: _over(fg.Counts.over(d, g))
        yield lambda d=domain: _over(fg.Counts.over(d, items=np.array([3, 0]), values=[7, 9]))
        yield lambda d=domain: _over(fg.Counts.over(d, items=[3, 3], values=[7, 9]))
        yield lambda d=domain: _over(fg.Counts.over(d, items=[3, 0], values=[7]))
        yield lambda d=domain: _over(fg.Counts.over(d, {3: 7}, items=[3], values=[7]))
        yield lambda d=domain: _over(fg.Counts.over(d, items=[3]))
    read = answers.read_answers([31, 812, 12], Fraction(1))
    fine = answers.read_answers([0.5, 812, 12], Fraction(1, 1024))
    huge = answers.read_answers([2**70, 812, 12], Fraction(1, 1024))
    for of, bar in product((read, fine, huge), (20, "20.5", [5, 6, 7], [0.5, 6, 7], [2**62, 5, 1], np.array([5, 6, 7]), -(2**62), 2**61, 2**63, "1/3", [2**80, 1, 2])):
        for discrete in (True, False):
            yield lambda o=of, b=bar, d=discrete: _offsets(thresholds.subtract_threshold(o, b, Fraction(1, 1024), discrete=d))
    named = answers.read_answers(NAMED, Fraction(1))
    for bars in (NAMED, dict.fromkeys(NAMED, 3), pd.Series(COUNTS), COUNTS, {"tea": 1}):
        yield lambda b=bars: _offsets(thresholds.subtract_threshold(named, b, Fraction(1), discrete=False))
    for column in (pa.array([1, 2, 3]), pa.chunked_array([[1, 2], [3]]), pd.Series([1, 2], dtype="Int64"), pd.Series([1, None], dtype="Int64"), pd.Index([3, 4])):
        yield lambda c=column: [*answers.read_answers(c, Fraction(1)).values]
    yield lambda: counts.MOST_ITEMS


def _is_quick(domain: Any, given: Any) -> bool:
    whole = all(isinstance(item, int | np.integer) for item in given or ())
    return whole or not isinstance(domain, range) or abs(domain[-1] - domain[0]) < 10**6


def _over(of: fg.Counts) -> list[Any]:
    release = fg.noisy_top_k(of, 2, epsilon="1/10", gap=False, bits=fg.SeededBits(3))
    return [of.items, release, fg.noisy_max(of, epsilon=30, bits=fg.SeededBits(5)).labels]


def _offsets(of: thresholds.Offsets) -> list[Any]:
    part = of.part(1, 3)
    each = [[o.exact(i) for i in range(len(o.values))] for o in (of, part)]
    bars = [[o.threshold(i) for i in range(len(o.values))] for o in (of, part)]
    return [*each, *bars, of.doubles(0, 9).tolist(), of.doubles(1, 2).tolist(), of.grain, of.constant, len(part.values)]


def laws() -> Thunks:
    points = np.array([-3.0, -0.4, 0.0, 0.3, 1.0, 7.5])
    for name, law in LAWS.items():
        yield lambda law=law: [str(law), repr(law), law.one_sided, law.lattice, law.bounded_range, law.needs, law.price.value, law.floor_of]
        yield lambda law=law: pickle.loads(pickle.dumps(law)) is law  # noqa: S301 (our own)
        yield lambda law=law: law.continuous
        for scale in (Fraction(3, 2), Fraction(20)):
            yield lambda law=law, s=scale: [_number(law.mean(s)), _number(law.variance(s))]
            yield lambda law=law, s=scale: [law.mean(float(s)), law.variance(float(s))]
            yield lambda law=law, s=scale: law.log_moment(np.array([0.01, 0.02, 0.04]), float(s))
            yield lambda law=law, s=scale: law.log_moment(np.array([-0.3, 0.0, 0.65, 0.7, 2.0]), float(s))
            for other in (1.5, 3.0):
                yield lambda law=law, s=scale, o=other: [law.difference_tail(x, float(s), o) for x in points.tolist()]
        yield lambda law=law: law.tail(points)
        yield lambda law=law: law.sample(np.random.default_rng(5), 1.5, 4)
        for shift, step in product((Fraction(0), Fraction(3, 2), Fraction(-7, 3)), (None, Fraction(1, 2))):
            yield lambda law=law, s=shift, t=step: law.price.of(s, Fraction(3), t)
        if isinstance(law, ExactLaw):
            u = np.array([0.001, 0.3, 0.5, 0.9, 0.9999])
            yield lambda law=law: law.estimate(u, -np.log1p(-u))
            yield lambda law=law: [law.uses_complement, law.exponential_tail]
            yield lambda law=law: _survival(law)
        yield lambda name=name: fg.noisy_max([3, 9], epsilon=1, noise=name, bits=fg.SeededBits(2))


def _number(value: Any) -> Any:
    return value if isinstance(value, Fraction) else f"{float(value.mid() if hasattr(value, 'mid') else value):.9g}"


def _survival(law: Any) -> list[str]:
    rests = np.exp(-np.array([-2.0, -0.5, 0.0, 0.5, 3.0], np.float32))
    law.survival(rests)
    return [f"{rest:.4g}" for rest in rests.tolist()]


def estimating() -> Thunks:
    releases = []
    for noise, more in product(("exponential", "laplace", "geometric"), ({}, {"monotonic": True}, {"share": "1/3", "sensitivity": 2}, {"gap": False})):
        options: dict[str, Any] = {"noise": noise, **more}
        releases.append(fg.sparse_vector(COUNTS, 50, k=3, epsilon=1, bits=fg.SeededBits(6), **options))
        if "gap" not in options:
            releases.append(fg.adaptive_sparse_vector(COUNTS, 20, k=3, epsilon=1, bits=fg.SeededBits(6), **options))
            if noise != "geometric":
                releases.append(fg.hybrid_sparse_vector(COUNTS, 50, k=4, epsilon=1, bits=fg.SeededBits(6), **options))
        if noise != "geometric" and not {"gap", "share"} & {*more}:
            releases.append(fg.hybrid_top_k(COUNTS, 50, k=4, epsilon=1, bits=fg.SeededBits(6), **options))
            releases.append(fg.hybrid_top_k(COUNTS, 50, k=1, epsilon=1, bits=fg.SeededBits(6), **options))
    releases += [fg.measure(NAMED, **{m: "1/2"}, sensitivity=s, bits=fg.SeededBits(6)) for m, s in product(("epsilon", "rho"), (1, 3))]
    releases += [fg.hybrid_top_k(COUNTS, 50, k=4, rho="1/2", bits=fg.SeededBits(6)), fg.noisy_max(COUNTS, epsilon=1, bits=fg.SeededBits(6))]
    releases += [fg.sparse_vector(COUNTS, 9000, k=1, epsilon=9, bits=fg.SeededBits(6))]
    for release in releases:
        yield lambda r=release: fg.gap_variances(r)
        for confidence in (0.95, "0.99", "1/2", 0, 1, "x", None):
            yield lambda r=release, c=confidence: fg.confidence_intervals(r, c)
            yield lambda r=release, c=confidence: fg.lower_bounds(r, c)
    for theta in (0, "1/100", "1/2", 1, 3, 40, -1, None):
        yield lambda t=theta: fg.expected_gap(t)
    usual: dict[str, Any] = {"questions": 2000, "k": 3, "epsilon": 1}
    for changed in (
        {}, {"k": 1}, {"epsilon": "1/3"}, {"epsilon": None, "rho": "1/8"}, {"false_alarms": 5}, {"false_alarms": "1/10"}, {"false_alarms": 2000}, {"false_alarms": 2001}, {"sensitivity": 2},
        {"monotonic": True}, {"noise": "laplace"}, {"noise": "geometric"}, {"share": "1/3"}, {"questions": 1}, {"questions": 0}, {"noise": "x"}, {"rho": 1}, {"false_alarms": 0},
        {"questions": 2, "false_alarms": 1}, {"sensitivity": "1/3"}, {"k": 0},
    ):  # fmt: skip
        yield lambda c=changed: fg.threshold_shift(**{**usual, **c})


def eta() -> Thunks:
    etas = [base2.Eta(*xyz) for xyz in ((1, 1, 1), (1, 1, 2), (1, 2, 1), (9, 8, 1), (3, 2, 1024), (867, 10, 6), (255, 8, 3))]
    for one in etas:
        yield lambda e=one: [repr(e), e.base, e.ratio, e.epsilon, e.epsilon_bounds(9), float(e), hash(e) == hash(e.base)]
        for by in (1, 2, 3, "1/2", 6, 1024, 0, -1, "x"):
            yield lambda e=one, b=by: e.divided(b)
            yield lambda e=one, b=by: e.adjusted(b)
        yield lambda e=one: [[e == o, e < o, e <= o, e > o, e == 3] for o in etas]
        yield lambda e=one: e < 3
    for x, y, z in ((0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 1, 0), (1, 4096, 1), (1, 4097, 1), (1.0, 1, 1), (True, 2, 1), (1, "a", 1), (1, 1, None), (2**80, 90, 1), (-1, 3, 1)):
        yield lambda x=x, y=y, z=z: base2.Eta(x, y, z)
    yield lambda: base2.Eta(1, 4096, 4097).base
    for epsilon, more in product((1, "1/3", 7, "1e-12", Fraction(1, 2**60), Fraction(1, 2**61), 0, 200), ({}, {"resolution": "1/4"}, {"divisor": 6}, {"digits": 3}, {"digits": 12}, {"digits": 0}, {"divisor": 0})):
        yield lambda e=epsilon, m=more: base2.Eta.from_epsilon(e, **m)
    for changed in ({}, {"k": 3}, {"sensitivity": 2}, {"resolution": "1/4"}, {"share": "1/4"}, {"share": 1}, {"k": 0}, {"epsilon": "1/5"}, {"resolution": "2/3"}, {"sensitivity": "1/3"}, {"epsilon": 0}):
        yield lambda c=changed: base2.share_epsilon(**{"epsilon": 1, "k": 1, **c})
    for low, high in ((0, 3), (-2, 2), (None, 1), (-1, None), (None, None), (3, 2), (2, 5), (-5, -2), (1.5, 2), (True, 2)):
        for base in (Fraction(1, 2), Fraction(3, 4), 1, 0, 2, "1/2"):
            yield lambda b=base, lo=low, hi=high: base2.get_sum(b, lo, hi)
    for rho, x, w in product((-5, 0, 3), (-4, 0, 4), (0, 2, 5)):
        yield lambda r=rho, x=x, w=w: base2.symmetric_clamp(r, x, w)


def sources() -> Thunks:
    for seed in (0, 7, -1, 2**64, "seven", b"seven", "", 1.5, None, True):
        yield lambda s=seed: [fg.SeededBits(s).bits(n) for n in (1, 7, 8, 64, 200, 0, 5)]
        yield lambda s=seed: [repr(fg.SeededBits(s)), fg.SeededBits(s).private]
    for n in (-1, 1.5, "3", None, True, 2**70):
        yield lambda n=n: fg.SeededBits(1).bits(n)
        yield lambda n=n: fg.SystemBits().bits(n) < 2
        yield lambda n=n: fg.ReplayedBits("0101").bits(n)
    yield lambda: _recorded()
    for record in ("", "01", "2", "0 1", None, 5, "01\n10"):
        yield lambda r=record: [fg.ReplayedBits(r).bits(1), fg.ReplayedBits(r).remaining, repr(fg.ReplayedBits(r))]
    yield lambda: [drawn_bytes(fg.SeededBits(3), n).hex() for n in (0, 1, 15, 16, 17, 40)]
    yield lambda: [fg.SystemBits().private, fg.SystemBits().bits(300) < 2**300, len(drawn_bytes(fg.SystemBits(), 33))]
    yield lambda: pickle.dumps(fg.SystemBits()) == b""
    yield lambda: pickle.loads(pickle.dumps(fg.SeededBits(5))).bits(40)  # noqa: S301 (our own)


def _recorded() -> list[Any]:
    recorded = fg.RecordedBits(fg.SeededBits(3))
    taken = [recorded.bits(n) for n in (3, 8, 1)]
    again = fg.ReplayedBits(recorded.record)
    return [recorded.record, recorded.private, taken, [again.bits(n) for n in (3, 8)], again.remaining, again.private]


def batches() -> Thunks:
    made = [
        fg.noisy_top_k(COUNTS, 2, epsilon=1, size=14, bits=fg.SeededBits(5)),
        fg.noisy_top_k(NAMED, 2, rho=1, size=3, last_gap=False, bits=fg.SeededBits(5)),
        fg.noisy_top_k(NAMED, 2, epsilon=1, size=11, gap=False, bits=fg.SeededBits(5)),
        fg.noisy_top_k_each({"b": NAMED, "a": {"x": 3, "y": 70, "z": 5}}, 2, epsilon=1, populations_per_person=1, bits=fg.SeededBits(5)),
        fg.sparse_vector(COUNTS, 50, k=2, epsilon=1, size=14, bits=fg.SeededBits(5)),
        fg.sparse_vector(NAMED, dict.fromkeys(NAMED, 50), k=2, epsilon=1, size=3, gap=False, bits=fg.SeededBits(5)),
        fg.adaptive_sparse_vector(COUNTS, [20] * 6, k=3, epsilon=1, size=12, branches=2, bits=fg.SeededBits(5)),
        fg.sparse_vector_each({"b": NAMED, "a": {"x": 3, "y": 70}}, 40, k=2, rho=1, populations_per_person=2, bits=fg.SeededBits(5)),
    ]  # fmt: skip
    for batch in made:
        yield lambda b=batch: b
        for number in (0, 1, -1, batch.releases - 1, batch.releases, "x"):
            yield lambda b=batch, n=number: b.release(n)
        for number in (0, 1, 2, 100):
            yield lambda b=batch, n=number: b.first(n)
        yield lambda b=batch: b.first(2).first(1)
        yield lambda b=batch: [b == b.first(100), b != b.first(1), b == 3, len(b.rows()), len(b)]


HOSTILE = {"=1+1": 900, "a,b": 700, 'c"d': 600, "e\nf": 500, "'g": 400, "\x1b[31m": 300, "<b>": 200, "$x$": 100, "n" * 60: 50, "n" * 61: 40, "＝x": 30, 3: 20}


def pictures_and_files() -> Thunks:
    releases = [
        fg.noisy_top_k(HOSTILE, 11, epsilon=9, bits=fg.SeededBits(1)),
        fg.noisy_top_k(HOSTILE, 3, epsilon=9, gap=False, bits=fg.SeededBits(1)),
        fg.hybrid_top_k(COUNTS, 50, k=4, epsilon=3, bits=fg.SeededBits(1)),
        fg.select_and_measure(HOSTILE, 4, epsilon=3, bits=fg.SeededBits(1)),
        fg.sparse_vector(COUNTS, 50, k=3, epsilon=3, bits=fg.SeededBits(1)),
        fg.measure(dict.fromkeys(range(501), 5), epsilon=1, bits=fg.SeededBits(1)),
        fg.measure({f"{place:050}": place for place in range(3)}, epsilon=1, bits=fg.SeededBits(1)),
        fg.sparse_vector(COUNTS, 9000, k=1, epsilon=9, bits=fg.SeededBits(6)),
        fg.noisy_top_k(COUNTS, 2, epsilon=1, size=3, bits=fg.SeededBits(5)),
    ]
    for release in releases:
        yield lambda r=release: drawable(r)
        yield lambda r=release: _drawn(draw(r))
        yield lambda r=release: _drawn(draw(r, titled=False))
    with tempfile.TemporaryDirectory() as folder:
        for release in releases:
            yield lambda r=release: written_to(Path(folder), r)
        for wrong in ("a.txt", "a.csv", "A.PARQUET", "a.xlsx"):
            for write in ("to_parquet", "to_excel", "to_csv"):
                yield lambda w=wrong, how=write: getattr(releases[2], how)(Path("nowhere", w))
        yield lambda: releases[2].to_csv(Path(folder, "b.csv"), exact=True)
        yield lambda: Path(folder, "b.csv").read_text(encoding="utf-8")
        yield lambda: _written(releases[2], Path(folder, "b.parquet"))


def _written(release: fg.Release, path: Path) -> Any:
    release.to_excel(path.with_suffix(".xlsx"), exact=True)
    return written_to(path.parent, release)


def _drawn(figure: Any) -> dict[str, Any]:
    """What is in a picture, without how it looks."""
    import matplotlib.pyplot as plt

    (axes,) = figure.axes
    told = {
        "title": axes.get_title(loc="left"), "x": axes.get_xlabel(), "ticks": [text.get_text() for text in axes.get_yticklabels()],
        "bars": [[bar.get_y(), bar.get_height(), bar.get_width()] for bar in axes.patches if hasattr(bar, "get_width")][:20],
        "lines": [[line.get_xdata()[:9], line.get_ydata()[:9], line.get_linestyle()] for line in axes.lines],
        "notes": [[note.get_text(), note.xy, getattr(note, "xyann", None)] for note in axes.texts],
        "limits": axes.get_ylim(), "size": figure.get_size_inches(), "errors": [len(c.get_segments()) for c in axes.collections],
        "form": axes.xaxis.get_major_formatter()(1234.5), "math": [text.get_parse_math() for text in axes.get_yticklabels()[:2]],
        "spans": [[segment.tolist() for segment in c.get_segments()[:5]] for c in axes.collections],
    }  # fmt: skip
    plt.close(figure)
    return dict(plain(told))


CALLS: dict[str, Callable[[], Thunks]] = {
    "numbers are read": reading_numbers,
    "numbers are written": writing_numbers,
    "labels are ordered": ordering_labels,
    "measures": measuring,
    "counts and thresholds are read": reading_counts,
    "laws": laws,
    "estimates": estimating,
    "η": eta,
    "sources of bits": sources,
    "batches": batches,
    "pictures and files": pictures_and_files,
    "every line of a ledger": every_line,
    "a ledger in two measures": two_measures,
    "refusals of ledgers": refusals_of_ledgers,
}
"""By what they are about: each yields calls, which are made one after the other."""
