"""Calls of every mechanism: some usual ones of each, and each of them with one argument changed.

A mechanism that is not here, or one of its parameters without values, fails a test (`test_mechanism_calls`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import freegap as fg
from freegap import base2

__all__ = ["MECHANISMS", "OUT", "VALUES", "calls", "parameters"]

OUT = object()
"""Stands for an argument that is left out."""


class Made:
    """Stands for an argument that is made anew for each call: it changes with use."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


COUNTS = [31, 812, 12, 640, 55, 7]
NAMED = dict(zip(("tea", "milk", "rice", "salt", "gin", "rum"), COUNTS, strict=True))


def _groups() -> fg.Counts:
    return fg.Counts([40, 12, 0], [2, 3, 10**6], name=lambda group, member: f"{group}/{member}")


def _online(cls: Any) -> Callable[..., list[Any]]:
    """An object that is asked one question after the other, and what it says of itself in between."""

    def asked(answers: Any, own: Any = None, many: Any = False, **arguments: Any) -> list[Any]:
        run = cls(**arguments)
        told: list[Any] = [repr(run), run.remaining, run.spent, run.exhausted]
        if many:
            told += [run.ask_many(answers, own), run.asked]
        for answer in () if many else answers:
            if run.exhausted:
                told.append(_refused(lambda: run.ask(3)))
                break
            told += [run.ask(answer) if own is None else run.ask(answer, own), run.remaining]
        told += [run, run.spent]
        with run:
            told.append(repr(run))
        told += [repr(run), _refused(lambda: run.ask(3))]
        return told

    return asked


def _base2_online(cls: Any) -> Callable[..., list[Any]]:
    def asked(answers: Any, **arguments: Any) -> list[Any]:
        run = cls(**arguments)
        told: list[Any] = [repr(run), run.spent, run.exhausted]
        for answer in answers:
            if run.exhausted:
                told.append(_refused(lambda: run.ask(3)))
                break
            told += [run.ask(answer), run.spent]
        return [*told, run, run.release(), repr(run)]

    return asked


def _refused(call: Callable[[], Any]) -> str:
    try:
        return f"{call()!r}"
    except fg.FreegapError as error:
        return f"{type(error).__name__}: {error}"


def _largest(exponents: Any) -> int:
    return max(range(len(exponents)), key=exponents.__getitem__)


def _candidates(answers: Any = NAMED) -> dict[str, Callable[[Any], Any]]:
    def candidate(epsilon: str) -> Callable[[Any], Any]:
        return lambda bits: fg.noisy_max(answers, epsilon=epsilon, bits=bits)

    return {epsilon: candidate(epsilon) for epsilon in ("1/10", "1/2")}


def _gap(release: Any) -> Any:
    return release.gaps[0]


_ETA = base2.share_epsilon(1, k=2)
_FINER = base2.share_epsilon(1, k=2, sensitivity=2, resolution="1/4")
_NEAR = [395, 402, 399, 401, 397, 405, 400, 391, 409]
_BASE2 = {"threshold": 400, "k": 2, "eta": _ETA, "low": 300, "high": 500, "width": 100}
_FINE = {**_BASE2, "eta": _FINER, "sensitivity": 2, "resolution": "1/2"}
_CANDIDATES = {"candidates": _candidates(), "score": _gap, "epsilon": "1/2", "stop": "1/4"}
_EACH = {"populations": [COUNTS, [5, 90, 3, 800]], "populations_per_person": 1}

MECHANISMS: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "noisy_top_k": (
        fg.noisy_top_k,
        [
            {"answers": COUNTS, "k": 2, "epsilon": 1},
            {"answers": NAMED, "k": 3, "rho": "1/20"},
            {"answers": _groups(), "k": 4, "epsilon": "1/2", "noise": "laplace", "monotonic": True},
            {"answers": COUNTS, "k": 2, "epsilon": 1, "noise": "geometric", "gap": False, "size": 3},
        ],
    ),
    "noisy_max": (
        fg.noisy_max,
        [{"answers": NAMED, "epsilon": "1/10"}, {"answers": COUNTS, "rho": 1, "size": 2}],
    ),
    "sparse_vector": (
        fg.sparse_vector,
        [
            {"answers": COUNTS, "threshold": 500, "k": 2, "epsilon": 1},
            {"answers": NAMED, "threshold": 50, "k": 1, "rho": "1/20", "noise": "laplace"},
            {"answers": COUNTS, "threshold": 50, "k": 2, "epsilon": 1, "noise": "geometric", "size": 3},
        ],
    ),
    "adaptive_sparse_vector": (
        fg.adaptive_sparse_vector,
        [
            {"answers": COUNTS, "threshold": 20, "k": 3, "epsilon": 1},
            {"answers": NAMED, "threshold": 50, "k": 2, "rho": "1/2", "branches": 2, "noise": "laplace"},
            {"answers": COUNTS, "threshold": 20, "k": 3, "epsilon": 2, "noise": "geometric", "size": 2},
        ],
    ),
    "hybrid_top_k": (
        fg.hybrid_top_k,
        [
            {"answers": COUNTS, "threshold": 50, "k": 4, "epsilon": 1},
            {"answers": NAMED, "threshold": "20.5", "k": 2, "rho": "1/2"},
            {"answers": _groups(), "threshold": 30, "k": 4, "epsilon": 8, "noise": "laplace"},
        ],
    ),
    "hybrid_sparse_vector": (
        fg.hybrid_sparse_vector,
        [
            {"answers": COUNTS, "threshold": 50, "k": 4, "epsilon": 1},
            {"answers": NAMED, "threshold": "20.5", "k": 2, "rho": "1/2"},
            {"answers": _groups(), "threshold": 30, "k": 4, "epsilon": 8, "noise": "laplace"},
        ],
    ),
    "exponential_mechanism": (
        fg.exponential_mechanism,
        [
            {"utilities": COUNTS, "epsilon": "1/50"},
            {"utilities": NAMED, "rho": "1/8"},
            {"utilities": COUNTS, "epsilon": 1, "sampler": _largest},
            {"utilities": NAMED, "epsilon": "1/20", "gap": False, "monotonic": True},
        ],
    ),
    "measure": (fg.measure, [{"answers": COUNTS, "epsilon": 1}, {"answers": NAMED, "rho": "1/8"}]),
    "select_and_measure": (
        fg.select_and_measure,
        [
            {"answers": COUNTS, "k": 2, "epsilon": 1},
            {"answers": NAMED, "k": 3, "epsilon": 2, "threshold": 50, "noise": "laplace"},
            {"answers": COUNTS, "k": 2, "rho": "1/2"},
            {"answers": COUNTS, "k": 3, "rho": "1/2", "threshold": 50},
        ],
    ),
    "histogram": (
        fg.histogram,
        [
            {"table": COUNTS, "items_per_person": 1, "epsilon": 1},
            {"table": NAMED, "items_per_person": None, "rho": "1/8"},
        ],
    ),
    "quantiles": (
        fg.quantiles,
        [
            {"table": [*range(0, 90, 3), 40, 41], "q": [0.25, 0.5, 0.9], "low": 0, "high": 100, "epsilon": 2},
            {"table": [*range(90)], "q": 0.5, "low": 0, "high": 100, "rho": 1, "intervals": True},
        ],
    ),
    "noisy_top_k_each": (
        fg.noisy_top_k_each,
        [
            {**_EACH, "k": 2, "epsilon": 1},
            {
                "populations": {"b": NAMED, "a": {"x": 3, "y": 70, "z": 5}},
                "k": 2,
                "rho": 1,
                "populations_per_person": 2,
            },
            {"populations": [_groups(), _groups()], "k": 2, "epsilon": 1, "populations_per_person": 2},
        ],
    ),
    "sparse_vector_each": (
        fg.sparse_vector_each,
        [
            {**_EACH, "k": 1, "epsilon": 1, "threshold": 50},
            {
                "populations": {"b": NAMED, "a": {"x": 3, "y": 70}},
                "k": 2,
                "rho": 1,
                "threshold": 40,
                "populations_per_person": 2,
                "noise": "laplace",
            },
        ],
    ),
    "unknown_top_k": (
        fg.unknown_top_k,
        [
            {"counts": NAMED, "k": 2, "epsilon": 1, "delta": "1e-6"},
            {"counts": NAMED, "k": 2, "epsilon": 1, "delta": "1e-7", "items_per_person": 2, "people": 2000},
        ],
    ),
    "unknown_counts": (
        fg.unknown_counts,
        [{"counts": NAMED, "epsilon": 1, "delta": "1e-6", "items_per_person": 1}],
    ),
    "select_private_candidate": (
        fg.select_private_candidate,
        [
            {**_CANDIDATES, "threshold": 150},
            {
                **_CANDIDATES,
                "threshold": 5,
                "candidates": list(_candidates().values()),
                "score": fg.NoisyScore(lambda release: 7, epsilon="1/2", low=0, high=9),
                "hard_stop": "1/2",
            },
        ],
    ),
    "best_private_candidate": (
        fg.best_private_candidate,
        [
            {**_CANDIDATES},
            {**_CANDIDATES, "hard_stop": "1/2", "candidates": list(_candidates().values())},
            {**_CANDIDATES, "tries": "logarithmic", "stop": "1/10"},
        ],
    ),
    "NoisyScore": (
        lambda **a: (lambda s: [s.epsilon, s.steps, s.grid, s.weights.base])(fg.NoisyScore(**a)),
        [{"function": _gap, "epsilon": "1/2", "low": 0, "high": 9}],
    ),
    "SparseVector": (
        _online(fg.SparseVector),
        [
            {"answers": COUNTS, "threshold": 50, "k": 2, "epsilon": 1},
            {"answers": COUNTS, "k": 2, "rho": "1/2", "own": 50, "noise": "laplace"},
            {"answers": COUNTS, "threshold": 50, "k": 2, "epsilon": 1, "many": True, "noise": "geometric"},
        ],
    ),
    "AdaptiveSparseVector": (
        _online(fg.AdaptiveSparseVector),
        [
            {"answers": COUNTS, "threshold": 20, "k": 2, "epsilon": 1},
            {"answers": COUNTS, "k": 2, "rho": "1/2", "own": 50, "branches": 2, "many": True},
        ],
    ),
    "base2.sparse_vector": (
        base2.sparse_vector,
        [{**_BASE2, "answers": _NEAR}, {**_FINE, "answers": NAMED}, {**_FINE, "answers": _NEAR}],
    ),
    "base2.sparse_vector_with_gap": (
        base2.sparse_vector_with_gap,
        [{**_BASE2, "answers": _NEAR, "gaps": [1, 3, 9]}, {**_FINE, "answers": _NEAR, "gaps": ["1/2", 2, 5]}],
    ),
    "base2.unclamped_sparse_vector": (
        base2.unclamped_sparse_vector,
        [
            {"answers": _NEAR, "threshold": 400, "k": 2, "eta": _ETA},
            {
                "answers": _NEAR,
                "threshold": 400,
                "k": 2,
                "eta": _FINER,
                "sensitivity": 2,
                "resolution": "1/2",
            },
        ],
    ),
    "base2.DiscreteSparseVector": (
        _base2_online(base2.DiscreteSparseVector),
        [{**_BASE2, "answers": _NEAR}, {**_FINE, "answers": _NEAR}],
    ),
    "base2.DiscreteSparseVectorWithGap": (
        _base2_online(base2.DiscreteSparseVectorWithGap),
        [{**_BASE2, "answers": _NEAR, "gaps": [1, 5]}, {**_FINE, "answers": _NEAR, "gaps": [1, 5]}],
    ),
    "base2.clamped_laplace": (
        lambda **a: [base2.clamped_laplace(**a) for _ in range(40)],
        [{"eta": base2.Eta(1, 1, 1), "low": -8, "high": 8}],
    ),
    "base2.lazy_threshold": (
        lambda **a: [base2.lazy_threshold(**a) for _ in range(40)],
        [{"eta": base2.Eta(15, 4, 4), "threshold": 1, "reach": 9}],
    ),
    "base2.conditional_lazy_threshold": (
        lambda **a: [base2.conditional_lazy_threshold(**a) for _ in range(40)],
        [{"eta": base2.Eta(15, 4, 4), "threshold": 6.5, "condition": -2, "reach": 9}],
    ),
    "base2.normalized_sample": (
        lambda **a: [base2.normalized_sample(**a) for _ in range(40)],
        [{"weights": [1, Fraction(1, 3), 5]}],
    ),
}
"""Each with its usual calls. `bits` is a seeded source in all of them."""

_RATIONALS = (
    0,
    -1,
    True,
    "x",
    None,
    float("nan"),
    "1e-400",
    "1e999999999",
    Fraction(1, 3**2000),
    10**600,
    b"1",
)
_WHOLE = (0, 1, 3, 5, 6, 7, True, 2.0, "2", None, -1, 2**62 + 1, np.int8(2))
_FLAGS = (True, False, 1, None, "yes", np.bool_(True))
_ROWS: tuple[Any, ...] = (
    COUNTS,
    tuple(COUNTS),
    NAMED,
    np.array(COUNTS),
    np.array(COUNTS, np.uint8 if max(COUNTS) < 256 else np.uint16),
    np.array(COUNTS) / 8,
    np.array(COUNTS, np.float32) / 10,
    [0.7, 0.1, 31.25, 31],
    [Fraction(1, 3), 7, Decimal("0.1")],
    pd.Series(NAMED),
    pd.Series(COUNTS),
    pl.Series(COUNTS),
    pa.array(COUNTS),
    np.array([True, False, True]),
    [2**62, 1, -(2**62)],
    [2**80, 5, 2**80 + 1],
    np.array([2**63 - 1, 3, 4]),
    np.array([2**64 - 1, 3], np.uint64),
    {2: 30, 10: 31, "b": 32},
    {("b", 1): 30, ("a", 2): 29, ("a", 1): 900},
    Made(lambda: iter(COUNTS)),
    _groups(),
    fg.Counts.over(range(10**6), {17: 300, 99: 512}),
    fg.Counts([5, 2], [1, 1], name=lambda g, m: g),
    [],
    {},
    [7],
    [3, 9],
    "abc",
    b"abc",
    {1, 2},
    7,
    None,
    [1, None],
    [1, "a"],
    [1.0, float("nan")],
    [1, float("inf")],
    np.array([[1, 2], [3, 4]]),
    np.ma.masked_array([1, 2, 3], [False, True, False]),
    [1, 10**1001],
    [Decimal("1e2000"), 1],
    pd.Series([1, 2], index=["a", "a"]),
    pd.Series([1, None, 3]),
    pa.array([1, None]),
    [np.timedelta64(3), 2],
    [pd.NaT, 1],
    {object(): 1, object(): 2},
    {(1, (2,)): 1, "x": 4},
    range(6),
    [1 + 2j, 3],
    [[1], [2]],
)
_THRESHOLDS: tuple[Any, ...] = (
    20,
    "20.5",
    20.25,
    Fraction(61, 3),
    -5,
    10**30,
    [9, 10, 600, 700, 50, 60],
    [9.5, 10.1, 600.0, 700, 50, 60],
    dict.fromkeys(NAMED, 30),
    pd.Series(dict.fromkeys(NAMED, 30)),
    np.array([9, 10, 600, 700, 50, 60]),
    [1, 2],
    {"tea": 1},
    {},
    [],
    True,
    None,
    "x",
    float("nan"),
    [1, "x", 2, 3, 4, 5],
    np.array([[1]]),
)

VALUES: dict[str, tuple[Any, ...]] = {
    "answers": _ROWS,
    "utilities": _ROWS,
    "table": (*_ROWS[:24], [], {}, None, [1, None], [1.0, float("nan")]),
    "counts": (
        *_ROWS[2:8],
        _ROWS[9],
        _ROWS[18],
        _ROWS[19],
        [],
        {},
        {"a": 3},
        {"a": -1},
        {"a": 1.5},
        None,
        {"a": "x"},
        {"a": 9, 7: 9, None: 9},
    ),
    "populations": (
        [COUNTS, COUNTS],
        [NAMED, NAMED],
        {"a": COUNTS, "b": [4, 5, 6]},
        [[1, 2, 3], [4.5, 5, 6]],
        np.array([COUNTS, COUNTS]),
        np.empty((0, 3)),
        np.empty((3, 0)),
        np.array(COUNTS),
        [],
        {},
        [[]],
        [COUNTS, {"a": 1}],
        None,
        7,
        "ab",
        [[1, None], [2, 3]],
        [[1], [2]],
        [COUNTS, fg.Counts([3, 4], [1, 5], name=lambda g, m: g)],
        [[2**80, 1, 2], [3, 4, 5]],
    ),
    "offsets": (OUT, [0, 3, 6], [0, 6], [0, 7], [1, 6], [0, 4, 3, 6], [], None, [0, 0, 6], "x", [0.5, 6]),
    "threshold": _THRESHOLDS,
    "own": (20, "20.5", 20.25, None, [9, 10, 600, 700, 50, 60], "x", True),
    "many": (True, False),
    "k": _WHOLE,
    "epsilon": (
        1,
        "1/3",
        2.5,
        0.1,
        Decimal("0.7"),
        np.float32(0.1),
        12,
        "1e-90",
        "1e-101",
        "1e101",
        OUT,
        *_RATIONALS,
    ),
    "rho": ("1/8", 2, "1/3", "0.001", "1e-190", "1e-210", OUT, *_RATIONALS),
    "delta": ("1e-6", "1/1000", "0.5", 1, OUT, *_RATIONALS),
    "sensitivity": (2, "1/2", 1, 3, "1/1024", "1/3000", *_RATIONALS),
    "monotonic": _FLAGS,
    "gap": _FLAGS,
    "last_gap": _FLAGS,
    "intervals": _FLAGS,
    "noise": ("exponential", "laplace", "geometric", "gumbel", "logistic", "gauss", None, 3, OUT),
    "resolution": (
        1,
        "1/2",
        "1/4",
        "1/10",
        "1/2048",
        "1/3",
        Fraction(1, 2**70),
        "1e-61",
        "2/3",
        2,
        *_RATIONALS,
    ),
    "size": (1, 4, 0, True, None, 2**40, 2.0, "x"),
    "share": ("1/3", 0.25, "top", "middle", 1, *_RATIONALS),
    "split": ("1/3", 0.25, 1, *_RATIONALS),
    "branches": (0, 1, 2, 3, 64, 65, -1, True, None, "x"),
    "margin": (0, 1, "5/2", 3, -1, None, "x", True),
    "stop_after": (1, 2, 0, None, True, "x"),
    "sampler": (_largest, lambda exponents: 0, lambda exponents: 99, lambda exponents: "a", 3, None),
    "bits": (Made(lambda: fg.SeededBits(8)), Made(lambda: fg.ReplayedBits("00")), 7, "x", object()),
    "ledger": ("shop", ("a",), (1, "shop"), 7),
    "items_per_person": (1, 2, 6, 7, 0, None, OUT, True, "x"),
    "people": (100, 10**9, 0, True, "x", None),
    "pool": (2, 3, 5, 100, 0, None, True, "x"),
    "populations_per_person": (1, 2, 3, 0, None, True, "x"),
    "candidates": (
        _candidates(),
        list(_candidates().values()),
        [],
        {},
        [3],
        None,
        {"a": 3},
        "ab",
        _candidates([3, 1, 2]),
        {2: _candidates()["1/2"], "b": _candidates()["1/10"]},
    ),
    "score": (
        _gap,
        lambda release: 150,
        lambda release: 150.5,
        lambda release: None,
        lambda release: float("nan"),
        lambda release: float("inf"),
        lambda release: "x",
        lambda release: np.timedelta64(3),
        3,
        None,
        fg.NoisyScore(lambda release: 140, epsilon="1/4", low=0, high=200, resolution="1/2"),
        lambda release: np.float32(0.1),
        lambda release: np.int8(3),
        lambda release: Decimal("0.1"),
    ),
    "stop": ("1/2", 1, "1/10", "3/2", 0, -1, True, "x", None, float("nan")),
    "hard_stop": ("1/2", 1, "1/10", "3/2", 0, -1, True, "x", float("nan")),
    "tries": ("geometric", "logarithmic", "x", None),
    "function": (_gap, 3, None),
    "low": (0, 2, -3, "1/2", 5, 1000, *_RATIONALS),
    "high": (9, 11, "17/2", 0, -5, 900, *_RATIONALS),
    "width": (100, 50, 1, 1000, "1/2", *_RATIONALS),
    "gaps": ([10, 50], [1], range(2, 40, 2), [], [50, 10], [0, 5], [-1], [10, 10], "x", None, [0.5], 7),
    "eta": (
        _ETA,
        base2.share_epsilon("1/2", k=2),
        (base2.Eta(1, 1, 1),),
        base2.Eta(1, 1, 2),
        base2.Eta(3, 2, 4),
        (base2.Eta(1, 1, 1), base2.Eta(1, 1, 2)),
        None,
        3,
        (1, 2),
        _FINER,
    ),
    "reach": (9, 4, 0, -1, "x", None, True, "1/2"),
    "condition": (0, 1, 3, "1/2", None, "x", -20, 20),
    "weights": ([1, 2], [1], [], [0, 1], [0, 0], [-1, 2], ["1/3", 2], [Fraction(1, 7)] * 3, "x", None),
    "q": (0.5, [0.1, 0.9], [0.5, 0.5], [0.9, 0.1], [], 0, 1, 1.5, "x", None, ["1/3", "2/3"], 0.001),
    **dict.fromkeys(("item", "domain", "domain_column", "unit"), (None, "x")),
    **dict.fromkeys(("normalize", "observed_keys_are_public", "mean"), (False, True, None)),
    "value": (None, "x"),
    "person": (None, "x"),
    "protect": (None, "rows", "x"),
    "where": (None, "x > 3"),
    "per_person": ("median", "x"),
    "group": (None, "x"),
    "groups": (None, ["x"]),
    "groups_per_person": (None, 1),
    "one_group_per_person": (False, True),
}
"""By the name of a parameter: what takes the place of its usual value, one after the other."""

_ALONE = {"epsilon": "rho", "rho": "epsilon"}
"""Of two only one may be given: where the other one is, both ways are tried."""


def parameters(name: str) -> list[str]:
    """Of a mechanism, and what its object is asked."""
    public = getattr(base2, name[6:]) if name.startswith("base2.") else getattr(fg, name)
    _, usual = MECHANISMS[name]
    return list(
        dict.fromkeys([*inspect.signature(public).parameters, *(part for call in usual for part in call)])
    )


def calls(name: str) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """The parameter that is changed ("" for the usual call), the number of the usual call, and the call."""
    function, usual_calls = MECHANISMS[name]
    for number, usual in enumerate(usual_calls):
        yield "", number, _call(function, usual)
        for parameter in parameters(name):
            for value in VALUES[parameter]:
                yield parameter, number, _call(function, {**usual, parameter: value})
                if _ALONE.get(parameter) in usual:
                    yield (
                        parameter,
                        number,
                        _call(function, {**usual, parameter: value, _ALONE[parameter]: OUT}),
                    )


def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Callable[[], Any]:
    def call() -> Any:
        given = {
            name: value.make() if isinstance(value, Made) else value
            for name, value in arguments.items()
            if value is not OUT
        }
        return function(**{"bits": fg.SeededBits(20), **given} if function is not _SCORE else given)

    return call


_SCORE = MECHANISMS["NoisyScore"][0]
