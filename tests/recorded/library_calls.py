"""Calls of what is beside the mechanisms: laws, estimates, sources, batches, pictures, files."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
import re
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import freegap as fg
from freegap import base2
from freegap.bits import drawn_bytes
from freegap.laws import LAWS
from freegap.laws.law import ExactLaw
from freegap.mechanisms import reference
from freegap.values.chart import draw, drawable
from freegap.values.page import page
from tests.recorded.ledger_calls import every_line, refusals_of_ledgers, two_measures
from tests.recorded.mechanism_calls import COUNTS, NAMED
from tests.recorded.seen import plain, written_to
from tests.recorded.value_calls import (
    measuring,
    ordering_labels,
    reading_counts,
    reading_numbers,
    writing_numbers,
)

__all__ = ["CALLS"]

Thunks = Iterator[Any]
"""Calls without arguments, to be made one after the other."""


def laws() -> Thunks:
    points = np.array([-3.0, -0.4, 0.0, 0.3, 1.0, 7.5])
    for name, law in LAWS.items():
        yield lambda law=law: [
            str(law),
            repr(law),
            law.one_sided,
            law.lattice,
            law.bounded_range,
            law.needs,
            law.price.value,
            law.floor_of,
        ]
        yield lambda law=law: pickle.loads(pickle.dumps(law)) is law  # noqa: S301 (our own)
        yield lambda law=law: law.continuous
        for scale in (Fraction(3, 2), Fraction(20)):
            yield lambda law=law, s=scale: [_number(law.mean(s)), _number(law.variance(s))]
            yield lambda law=law, s=scale: [law.mean(float(s)), law.variance(float(s))]
            yield lambda law=law, s=scale: law.log_moment(np.array([0.01, 0.02, 0.04]), float(s))
            yield lambda law=law, s=scale: law.log_moment(np.array([-0.3, 0.0, 0.65, 0.7, 2.0]), float(s))
            for other in (1.5, 3.0):
                yield lambda law=law, s=scale, o=other: [
                    law.difference_tail(x, float(s), o) for x in points.tolist()
                ]
        yield lambda law=law: law.tail(points)
        yield lambda law=law: law.sample(np.random.default_rng(5), 1.5, 4)
        for shift, step in product((Fraction(0), Fraction(3, 2), Fraction(-7, 3)), (None, Fraction(1, 2))):
            yield lambda law=law, s=shift, t=step: law.price.of(s, Fraction(3), t)
        if isinstance(law, ExactLaw):
            yield lambda law=law: _estimate(law)
            yield lambda law=law: [law.uses_complement, law.exponential_tail]
            yield lambda law=law: _survival(law)
        yield lambda name=name: fg.noisy_max([3, 9], epsilon=1, noise=name, bits=fg.SeededBits(2))


def _estimate(law: Any) -> Any:
    u = np.array([0.001, 0.3, 0.5, 0.9, 0.9999])
    return law.estimate(u, -np.log1p(-u))


def _number(value: Any) -> Any:
    return (
        value
        if isinstance(value, Fraction)
        else f"{float(value.mid() if hasattr(value, 'mid') else value):.9g}"
    )


def _survival(law: Any) -> list[str]:
    rests = np.exp(-np.array([-2.0, -0.5, 0.0, 0.5, 3.0], np.float32))
    law.survival(rests)
    return [f"{rest:.4g}" for rest in rests.tolist()]


def estimating() -> Thunks:
    kinds: list[dict[str, Any]] = [
        {},
        {"monotonic": True},
        {"share": "1/3", "sensitivity": 2},
        {"gap": False},
    ]
    releases: list[Any] = []
    for noise, more in product(
        ("exponential", "laplace", "geometric"),
        kinds,
    ):
        options: dict[str, Any] = {"noise": noise, **more}
        releases.append(fg.sparse_vector(COUNTS, 50, k=3, epsilon=1, bits=fg.SeededBits(6), **options))
        if "gap" not in options:
            releases.append(
                fg.adaptive_sparse_vector(COUNTS, 20, k=3, epsilon=1, bits=fg.SeededBits(6), **options)
            )
            if noise != "geometric":
                releases.append(
                    fg.hybrid_sparse_vector(COUNTS, 50, k=4, epsilon=1, bits=fg.SeededBits(6), **options)
                )
        if noise != "geometric" and not {"gap", "share"} & {*more}:
            releases.append(fg.hybrid_top_k(COUNTS, 50, k=4, epsilon=1, bits=fg.SeededBits(6), **options))
            releases.append(fg.hybrid_top_k(COUNTS, 50, k=1, epsilon=1, bits=fg.SeededBits(6), **options))
    releases += [
        fg.measure(NAMED, sensitivity=s, bits=fg.SeededBits(6), **dict[str, Any]({m: "1/2"}))
        for m, s in product(("epsilon", "rho"), (1, 3))
    ]
    releases += [
        fg.hybrid_top_k(COUNTS, 50, k=4, rho="1/2", bits=fg.SeededBits(6)),
        fg.noisy_max(COUNTS, epsilon=1, bits=fg.SeededBits(6)),
    ]
    releases += [fg.sparse_vector(COUNTS, 9000, k=1, epsilon=9, bits=fg.SeededBits(6))]
    for release in releases:
        yield lambda r=release: fg.gap_variances(r)
        for confidence in (0.95, "0.99", "1/2", 0, 1, "x", None):
            yield lambda r=release, c=confidence: fg.confidence_intervals(r, confidence=c)
            yield lambda r=release, c=confidence: fg.lower_bounds(r, confidence=c)
    for theta in (0, "1/100", "1/2", 1, 3, 40, -1, None):
        yield lambda t=theta: fg.expected_gap(t)
    usual: dict[str, Any] = {"questions": 2000, "k": 3, "epsilon": 1}
    for changed in (
        {},
        {"k": 1},
        {"epsilon": "1/3"},
        {"epsilon": None, "rho": "1/8"},
        {"false_alarms": 5},
        {"false_alarms": "1/10"},
        {"false_alarms": 2000},
        {"false_alarms": 2001},
        {"sensitivity": 2},
        {"monotonic": True},
        {"noise": "laplace"},
        {"noise": "geometric"},
        {"share": "1/3"},
        {"questions": 1},
        {"questions": 0},
        {"noise": "x"},
        {"rho": 1},
        {"false_alarms": 0},
        {"questions": 2, "false_alarms": 1},
        {"sensitivity": "1/3"},
        {"k": 0},
    ):
        yield lambda c=changed: fg.threshold_shift(**{**usual, **c})


def eta() -> Thunks:
    etas = [
        base2.Eta(*xyz)
        for xyz in ((1, 1, 1), (1, 1, 2), (1, 2, 1), (9, 8, 1), (3, 2, 1024), (867, 10, 6), (255, 8, 3))
    ]
    for one in etas:
        yield lambda e=one: [
            repr(e),
            e.base,
            e.ratio,
            e.epsilon,
            e.epsilon_bounds(9),
            float(e),
            hash(e) == hash(e.base),
        ]
        for by in (1, 2, 3, "1/2", 6, 1024, 0, -1, "x"):
            yield lambda e=one, b=by: e.divided(b)
            yield lambda e=one, b=by: e.adjusted(b)
        yield lambda e=one: [[e == o, e < o, e <= o, e > o, e == 3] for o in etas]
        yield lambda e=one: e < 3
    for x, y, z in (
        (0, 1, 1),
        (2, 1, 1),
        (1, 0, 1),
        (1, 1, 0),
        (1, 4096, 1),
        (1, 4097, 1),
        (1.0, 1, 1),
        (True, 2, 1),
        (1, "a", 1),
        (1, 1, None),
        (2**80, 90, 1),
        (-1, 3, 1),
    ):
        yield lambda x=x, y=y, z=z: base2.Eta(x, y, z)
    yield lambda: base2.Eta(1, 4096, 4097).base
    for epsilon, more in product(
        (1, "1/3", 7, "1e-12", Fraction(1, 2**60), Fraction(1, 2**61), 0, 200),
        (
            {},
            {"resolution": "1/4"},
            {"divisor": 6},
            {"digits": 3},
            {"digits": 12},
            {"digits": 0},
            {"divisor": 0},
        ),
    ):
        yield lambda e=epsilon, m=more: base2.Eta.from_epsilon(e, **m)
    for changed in (
        {},
        {"k": 3},
        {"sensitivity": 2},
        {"resolution": "1/4"},
        {"share": "1/4"},
        {"share": 1},
        {"k": 0},
        {"epsilon": "1/5"},
        {"resolution": "2/3"},
        {"sensitivity": "1/3"},
        {"epsilon": 0},
    ):
        yield lambda c=changed: base2.share_epsilon(**{"epsilon": 1, "k": 1, **c})
    for low, high in (
        (0, 3),
        (-2, 2),
        (None, 1),
        (-1, None),
        (None, None),
        (3, 2),
        (2, 5),
        (-5, -2),
        (1.5, 2),
        (True, 2),
    ):
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
        yield lambda r=record: [
            fg.ReplayedBits(r).bits(1),
            fg.ReplayedBits(r).remaining,
            repr(fg.ReplayedBits(r)),
        ]
    yield lambda: [drawn_bytes(fg.SeededBits(3), n).hex() for n in (0, 1, 15, 16, 17, 40)]
    yield lambda: [
        fg.SystemBits().private,
        fg.SystemBits().bits(300) < 2**300,
        len(drawn_bytes(fg.SystemBits(), 33)),
    ]
    yield lambda: pickle.dumps(fg.SystemBits()) == b""
    yield lambda: pickle.loads(pickle.dumps(fg.SeededBits(5))).bits(40)  # noqa: S301 (our own)


def _recorded() -> list[Any]:
    recorded = fg.RecordedBits(fg.SeededBits(3))
    taken = [recorded.bits(n) for n in (3, 8, 1)]
    again = fg.ReplayedBits(recorded.record)
    return [
        recorded.record,
        recorded.private,
        taken,
        [again.bits(n) for n in (3, 8)],
        again.remaining,
        again.private,
    ]


def batches() -> Thunks:
    made = [
        fg.noisy_top_k(COUNTS, 2, epsilon=1, size=14, bits=fg.SeededBits(5)),
        fg.noisy_top_k(NAMED, 2, rho=1, size=3, last_gap=False, bits=fg.SeededBits(5)),
        fg.noisy_top_k(NAMED, 2, epsilon=1, size=11, gap=False, bits=fg.SeededBits(5)),
        fg.noisy_top_k_each(
            {"b": NAMED, "a": {"x": 3, "y": 70, "z": 5}},
            2,
            epsilon=1,
            populations_per_person=1,
            bits=fg.SeededBits(5),
        ),
        fg.sparse_vector(COUNTS, 50, k=2, epsilon=1, size=14, bits=fg.SeededBits(5)),
        fg.sparse_vector(
            NAMED, dict.fromkeys(NAMED, 50), k=2, epsilon=1, size=3, gap=False, bits=fg.SeededBits(5)
        ),
        fg.adaptive_sparse_vector(
            COUNTS, [20] * 6, k=3, epsilon=1, size=12, branches=2, bits=fg.SeededBits(5)
        ),
        fg.sparse_vector_each(
            {"b": NAMED, "a": {"x": 3, "y": 70}},
            40,
            k=2,
            rho=1,
            populations_per_person=2,
            bits=fg.SeededBits(5),
        ),
    ]
    for batch in made:
        yield lambda b=batch: b
        for number in (0, 1, -1, batch.releases - 1, batch.releases, "x"):
            yield lambda b=batch, n=number: b.release(n)
        for number in (0, 1, 2, 100):
            yield lambda b=batch, n=number: b.first(n)
        yield lambda b=batch: b.first(2).first(1)
        yield lambda b=batch: [b == b.first(100), b != b.first(1), b == 3, len(b.rows()), len(b)]


SPOILED: tuple[Any, ...] = (
    None,
    7,
    "x",
    [],
    {},
    True,
    "1e9999999",
    "inf",
    "1/3",
    [None, 1],
    ",.99f",
    ",.100f",
)


def kept_releases() -> Thunks:
    """A record with one part left out, or something else in its place: shown as it is, or refused."""
    for release in (
        fg.select_and_measure({"a": 31, "b": 812, "c": 12}, 2, epsilon=1, bits=fg.SeededBits(2)),
        fg.hybrid_top_k(COUNTS, 50, k=4, rho="1/2", bits=_Private()),
        fg.unknown_counts(NAMED, epsilon=1, delta="1e-6", items_per_person=1, bits=fg.SeededBits(2)),
    ):
        told = json.loads(release.to_json())
        for path in _paths(told):
            for value in (..., *SPOILED):
                yield lambda t=told, p=path, v=value: _kept(_spoiled(t, p, v))
    for text in ("", "{}", "[]", "7", "null", "[" * 10**5, None, b"{}", '{"a": NaN}'):
        yield lambda t=text: fg.Release.from_json(t)


class _Private:
    """Draws nothing but zeros, and says that it is private."""

    private = True

    def bits(self, n: int) -> int:
        word: int = 5 % 2**n
        return word


def _paths(told: Any) -> Iterator[tuple[Any, ...]]:
    parts = told.items() if isinstance(told, dict) else enumerate(told[:2]) if isinstance(told, list) else ()
    for name, part in parts:
        yield (name,)
        yield from ((name, *rest) for rest in _paths(part))


def _spoiled(told: Any, path: tuple[Any, ...], value: Any) -> Any:
    spoiled = copy.deepcopy(told)
    within = spoiled
    for name in path[:-1]:
        within = within[name]
    if value is ...:
        del within[path[-1]]
    else:
        within[path[-1]] = value
    return spoiled


def _kept(told: Any) -> list[Any]:
    release = fg.Release.from_json(json.dumps(told))
    return [str(release), release.asked, release.spent, release.private, release.parameters, release.plan]


def pages() -> Thunks:
    """Releases as pages that stand alone, without what their pictures look like."""
    for release in (
        fg.select_and_measure(HOSTILE, 3, epsilon=11, bits=fg.SeededBits(2)),
        fg.hybrid_top_k(COUNTS, 50, k=4, rho="1/2", bits=_Private()),
        fg.noisy_top_k(COUNTS, 2, epsilon=Fraction(1001, 1000), gap=False, bits=fg.SeededBits(2)),
        fg.unknown_counts(NAMED, epsilon=1, delta="1e-6", items_per_person=1, bits=fg.SeededBits(2)),
    ):
        moment = datetime.datetime(2026, 11, 18, 7, 5, 59, tzinfo=datetime.UTC)
        yield lambda r=release, m=moment: _FIGURE.sub("", page(r, version="<1>", when=m))


_FIGURE = re.compile("<figure>.*</figure>", re.DOTALL)


def references() -> Thunks:
    """The programs of the papers, beside the fast core."""
    for k, refine_by, prune in product((1, 3), (2, 10), (True, False)):
        yield lambda k=k, m=refine_by, p=prune: _secure(k, m, p)
    for k, rate in product((1, 2, 4), (Fraction(1), Fraction(1, 30))):
        yield lambda k=k, r=rate: [
            reference.coin_top_k([5, 9, 9, 3], k, rate=r, source=fg.SeededBits(s)) for s in range(9)
        ]


def _secure(k: int, refine_by: int, prune: bool) -> list[Any]:
    clock = iter((1.0, 3.0, 8.0, 20.0) * 9)
    told: list[Any] = []
    with patch("freegap.mechanisms.reference.time.process_time", lambda: next(clock)):
        for seed in range(9):
            counters = reference.Counters()
            drawn = reference.secure_top_k(
                [5, 9, 9, 3, 9, 8],
                k,
                rate=Fraction(1, 4),
                source=fg.SeededBits(seed),
                refine_by=refine_by,
                prune=prune,
                counters=counters,
            )
            told.append([drawn, counters])
    return told


HOSTILE = {
    "=1+1": 900,
    "a,b": 700,
    'c"d': 600,
    "e\nf": 500,
    "'g": 400,
    "\x1b[31m": 300,
    "<b>": 200,
    "$x$": 100,
    "n" * 60: 50,
    "n" * 61: 40,
    "＝x": 30,
    3: 20,
}


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
        "title": axes.get_title(loc="left"),
        "x": axes.get_xlabel(),
        "ticks": [text.get_text() for text in axes.get_yticklabels()],
        "bars": [
            [bar.get_y(), bar.get_height(), bar.get_width()]
            for bar in axes.patches
            if hasattr(bar, "get_width")
        ][:20],
        "lines": [[line.get_xdata()[:9], line.get_ydata()[:9], line.get_linestyle()] for line in axes.lines],
        "notes": [[note.get_text(), note.xy, getattr(note, "xyann", None)] for note in axes.texts],
        "limits": axes.get_ylim(),
        "size": figure.get_size_inches(),
        "errors": [len(c.get_segments()) for c in axes.collections],
        "form": axes.xaxis.get_major_formatter()(1234.5),
        "math": [text.get_parse_math() for text in axes.get_yticklabels()[:2]],
        "spans": [[segment.tolist() for segment in c.get_segments()[:5]] for c in axes.collections],
    }
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
    "kept releases": kept_releases,
    "pages": pages,
    "programs of papers": references,
    "pictures and files": pictures_and_files,
    "every line of a ledger": every_line,
    "a ledger in two measures": two_measures,
    "refusals of ledgers": refusals_of_ledgers,
}
"""By what they are about: each yields calls, which are made one after the other."""
