"""An error, a warning, a line in a log is an output: on neighbouring inputs and the same bits it is the same.

What cannot be so is listed in docs/threat-model.md, and is shown here to be so: the two lists are one.
"""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import math
import re
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap import base2
from tests.test_public_surface import RECORDS

THREAT_MODEL = Path(__file__).parents[1] / "docs" / "threat-model.md"
HEADING = "## Errors and warnings that depend on the data: values and tables"

BASE2: dict[str, Any] = {"k": 1, "eta": base2.share_epsilon(1, k=1)}
RANGE: dict[str, Any] = {"low": 0, "high": 9, "width": 9}
ETA = base2.Eta(1, 1, 1)


def outcome(call: Callable[[], Any]) -> tuple[Any, ...]:
    """What a call tells beside its result: the error, the warnings, the log, and what it printed.

    What other tests left behind may log or warn when it is collected (Spark's objects do): not meanwhile.
    """
    lines: list[str] = []
    handler = logging.Handler()
    handler.addFilter(lambda record: not record.name.startswith("py4j"))  # Spark's bridge, not in use here
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    root, printed = logging.getLogger(), io.StringIO()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    error = ""
    gc.disable()
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            call()
    except Exception as raised:
        error = repr(raised)
    finally:
        gc.enable()
        root.removeHandler(handler)
        root.setLevel(level)
    return error, [str(one.message) for one in warned], lines, printed.getvalue()


def _online(asking: Any, answers: Any) -> None:
    for answer in answers:
        if not asking.exhausted:
            asking.ask(answer)
    if hasattr(asking, "ask_many") and not asking.exhausted:
        asking.ask_many(list(answers))


def _candidates(answers: Any, bits: fg.SeededBits) -> dict[str, Any]:
    mechanisms = [lambda source: fg.noisy_max(answers, epsilon=1, bits=source).gaps[0]] * 2
    return {"candidates": mechanisms, "epsilon": 1, "stop": "0.1", "bits": bits}


# Each public callable that looks at private data: answers, bits → a call.
CALLS: dict[str, Callable[[Any, fg.SeededBits], Any]] = {
    "noisy_top_k": lambda a, bits: fg.noisy_top_k(a, 2, epsilon=1, bits=bits),
    "noisy_top_k_each": lambda a, bits: fg.noisy_top_k_each(
        [a, a], 2, epsilon=1, populations_per_person=1, bits=bits
    ),
    "sparse_vector_each": lambda a, bits: fg.sparse_vector_each(
        {"x": a}, 2, k=1, epsilon=1, populations_per_person=1, bits=bits
    ),
    "noisy_max": lambda a, bits: fg.noisy_max(a, epsilon=1, noise="laplace", resolution="1/10", bits=bits),
    "sparse_vector": lambda a, bits: fg.sparse_vector(a, 2, k=1, epsilon=1, bits=bits),
    "adaptive_sparse_vector": lambda a, bits: fg.adaptive_sparse_vector(a, 2, k=2, epsilon=1, bits=bits),
    "hybrid_top_k": lambda a, bits: fg.hybrid_top_k(a, Fraction(5, 2), k=2, epsilon=1, bits=bits),
    "hybrid_sparse_vector": lambda a, bits: fg.hybrid_sparse_vector(a, 2, k=2, epsilon=1, bits=bits),
    "exponential_mechanism": lambda a, bits: fg.exponential_mechanism(a, epsilon=1, bits=bits),
    "measure": lambda a, bits: fg.measure(a, epsilon=1, bits=bits),
    "histogram": lambda a, bits: fg.histogram(a, items_per_person=1, epsilon=1, bits=bits),
    "quantiles": lambda a, bits: fg.quantiles(
        _numbers(a), q=[0.2, 0.7], intervals=True, epsilon=1, bits=bits
    ),
    "select_and_measure": lambda a, bits: fg.select_and_measure(a, 2, epsilon=1, bits=bits),
    "unknown_top_k": lambda a, bits: fg.unknown_top_k(
        a if hasattr(a, "items") else dict(enumerate(a)), 2, epsilon=1, delta="1e-6", bits=bits
    ),
    "unknown_counts": lambda a, bits: fg.unknown_counts(
        a if hasattr(a, "items") else dict(enumerate(_numbers(a))),
        epsilon=1,
        delta="1e-6",
        items_per_person=3,
        bits=bits,
    ),
    "pad_to": lambda a, bits: fg.pad_to(0.01, lambda: fg.noisy_max(a, epsilon=1, bits=bits)),
    "best_private_candidate": lambda a, bits: fg.best_private_candidate(score=float, **_candidates(a, bits)),
    "select_private_candidate": lambda a, bits: fg.select_private_candidate(
        score=float, threshold=1, **_candidates(a, bits)
    ),
    "NoisyScore": lambda a, bits: fg.best_private_candidate(
        score=fg.NoisyScore(lambda _: max(_numbers(a)), epsilon=1, low=0, high=9), **_candidates(a, bits)
    ),
    "Counts": lambda a, bits: fg.noisy_max(
        fg.Counts(_numbers(a), [2] * len(_numbers(a)), name=lambda group, member: member),
        epsilon=1,
        bits=bits,
    ),
    "SparseVector": lambda a, bits: _online(fg.SparseVector(2, k=1, epsilon=1, bits=bits), _numbers(a)),
    "AdaptiveSparseVector": lambda a, bits: _online(
        fg.AdaptiveSparseVector(2, k=1, epsilon=1, bits=bits), _numbers(a)
    ),
    "confidence_intervals": lambda a, bits: fg.confidence_intervals(fg.measure(a, epsilon=1, bits=bits)),
    "lower_bounds": lambda a, bits: fg.lower_bounds(fg.sparse_vector(a, 2, k=1, epsilon=1, bits=bits)),
    "gap_variances": lambda a, bits: fg.gap_variances(fg.hybrid_top_k(a, 2, k=2, epsilon=1, bits=bits)),
    "base2.sparse_vector": lambda a, bits: base2.sparse_vector(a, 2, bits=bits, **BASE2, **RANGE),
    "base2.sparse_vector_with_gap": lambda a, bits: base2.sparse_vector_with_gap(
        a, 2, gaps=[1, 2], bits=bits, **BASE2, **RANGE
    ),
    "base2.unclamped_sparse_vector": lambda a, bits: base2.unclamped_sparse_vector(a, 2, bits=bits, **BASE2),
    "base2.DiscreteSparseVector": lambda a, bits: _online(
        base2.DiscreteSparseVector(2, bits=bits, **BASE2, **RANGE), _numbers(a)
    ),
    "base2.DiscreteSparseVectorWithGap": lambda a, bits: _online(
        base2.DiscreteSparseVectorWithGap(2, gaps=[1, 2], bits=bits, **BASE2, **RANGE), _numbers(a)
    ),
    "base2.lazy_threshold": lambda a, bits: base2.lazy_threshold(ETA, _numbers(a)[0], reach=9, bits=bits),
    "base2.conditional_lazy_threshold": lambda a, bits: base2.conditional_lazy_threshold(
        ETA, _numbers(a)[0], _numbers(a)[1], reach=9, bits=bits
    ),
}

# The same calls in the other measure.
IN_RHO: dict[str, Callable[[Any, fg.SeededBits], Any]] = {
    "noisy_top_k many times": lambda a, bits: fg.noisy_top_k(a, 2, epsilon=1, size=3, bits=bits),
    "sparse_vector many times": lambda a, bits: fg.sparse_vector(a, 2, k=1, epsilon=1, size=3, bits=bits),
    "noisy_top_k in ρ": lambda a, bits: fg.noisy_top_k(a, 2, rho=1, bits=bits),
    "noisy_max in ρ": lambda a, bits: fg.noisy_max(a, rho=1, last_gap=False, resolution="1/10", bits=bits),
    "hybrid_top_k in ρ": lambda a, bits: fg.hybrid_top_k(a, Fraction(5, 2), k=2, rho=1, bits=bits),
    "sparse_vector in ρ": lambda a, bits: fg.sparse_vector(a, 2, k=1, rho=1, bits=bits),
    "adaptive_sparse_vector in ρ": lambda a, bits: fg.adaptive_sparse_vector(a, 2, k=2, rho=1, bits=bits),
    "hybrid_sparse_vector in ρ": lambda a, bits: fg.hybrid_sparse_vector(a, 2, k=2, rho=1, bits=bits),
    "exponential_mechanism in ρ": lambda a, bits: fg.exponential_mechanism(a, rho=1, bits=bits),
    "measure in ρ": lambda a, bits: fg.measure(a, rho=1, resolution=1, bits=bits),
    "histogram in ρ": lambda a, bits: fg.histogram(a, items_per_person=None, rho=1, bits=bits),
    "select_and_measure in ρ": lambda a, bits: fg.select_and_measure(a, 2, rho=1, bits=bits),
    "SparseVector in ρ": lambda a, bits: _online(fg.SparseVector(2, k=1, rho=1, bits=bits), _numbers(a)),
}

# Of public parameters alone, of released records, of made-up inputs; errors and records.
NOT_OF_PRIVATE_DATA = {
    *RECORDS,
    *("Ledger", "RecordedBits", "ReplayedBits", "SeededBits", "SystemBits"),
    *(
        "audit",
        "assert_private",
        "Command",
        "lower_bound",
        "prove",
        "Composition",
        "Ranking",
        "Selection",
        "Stream",
        "base2",
        "expected_gap",
        "plan",
        "PowerLaw",
        "threshold_shift",
    ),
    *(f"base2.{name}" for name in ("Eta", "clamped_laplace", "get_sum", "normalized_sample")),
    *(f"base2.{name}" for name in ("share_epsilon", "symmetric_clamp")),
}
OF_TABLES = {"top_k", "above", "source"}

NEIGHBOURS: dict[str, tuple[Any, Any]] = {
    "whole numbers": ([3, 1, 2], [4, 2, 2]),
    "ties": ([5, 5, 5], [6, 6, 6]),
    "zeros": ([0, 0, 0], [1, 0, 1]),
    "floats": ([0.7, 0.1, 0.5], [1.7, 0.1, 0.5]),
    "minus zero": ([0.0, 1.0, 2.0], [-0.0, 1.0, 2.0]),
    "floats as fine as the grid": ([2.0**52, 0.1, 0.5], [2.0**52 + 1, 0.1, 0.5]),
    "large floats": ([1e16, 1.0, 2.0], [1e16, 2.0, 2.0]),
    "the edge of int64 differences": ([2**62 - 1, 0, -(2**62)], [2**62, 0, -(2**62) + 1]),
    "the edge of int64": ([2**63 - 1, 0, 1], [2**63, 0, 1]),
    "the lower edge": (np.array([-(2**63), 0, 1]), np.array([-(2**63) + 1, 0, 1])),
    "unsigned": (np.array([2**64 - 1, 0, 1], np.uint64), np.array([2**64 - 2, 0, 1], np.uint64)),
    "whole and not": ([3, 1, 2], [3, 1, Fraction(5, 2)]),
    "decimals": ([Decimal(3), 1, 2], [Decimal("3.7"), 1, 2]),
    "single precision": (np.array([3, 1, 2], np.float32), np.array([3.5, 1, 2], np.float32)),
    "labels in the order of rank": ({"b": 3, "a": 2, "c": 1}, {"a": 3, "b": 2, "c": 1}),
    "a Series in the order of rank": (
        pd.Series({"b": 3, "a": 2, "c": 1}),
        pd.Series({"a": 3, "b": 2, "c": 1}),
    ),
    "many": (np.arange(2000) // 2, np.arange(1, 2001) // 2),
    "many at the edge": (
        np.array([2**62 - 1] + [-(2**62)] * 1100),
        np.array([2**62] + [-(2**62)] * 1100),
    ),
}


def _numbers(answers: Any) -> Any:
    return list(answers.values()) if isinstance(answers, dict) else list(answers)[:50]


def test_no_public_callable_is_forgotten() -> None:
    public = {name for name in fg.__all__ if not _is_error(getattr(fg, name))}
    public |= {f"base2.{name}" for name in base2.__all__}
    assert public == {*CALLS, *NOT_OF_PRIVATE_DATA, *OF_TABLES}


def _is_error(thing: Any) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseException)


@pytest.mark.parametrize("name", [*CALLS, *IN_RHO])
@pytest.mark.parametrize("pair", NEIGHBOURS)
def test_neighbours_raise_warn_and_log_alike(name: str, pair: str) -> None:
    one, other = NEIGHBOURS[pair]
    outcomes = [outcome(lambda a=a: (CALLS | IN_RHO)[name](a, fg.SeededBits(1))) for a in (one, other)]  # type: ignore[misc]
    assert outcomes[0] == outcomes[1] == ("", [], [], "")


ROWS = [("tea", float(i)) for i in range(30)] + [("milk", float(i)) for i in range(20)]
PERSONS: dict[str, list[tuple[Any, Any]]] = {
    "one more": [("tea", 99.0), ("rice", 99.0)],
    "outside the domain": [("gin", 99.0)],
    "no item": [(None, 99.0)],
    "no person": [("tea", None)],
    "not a person": [("tea", float("nan"))],
    "minus zero": [("tea", -0.0)],
    "an odd text": [('a "quoted", \n text', 99.0), ("\x00", 99.0), ("é" * 1000, 99.0)],
    "an empty text": [("", 99.0)],
}


def _table(kind: str, rows: list[tuple[Any, Any]], at: Path) -> Any:
    data = {"item": [item for item, _ in rows], "person": [person for _, person in rows]}
    frame = pl.DataFrame(data, schema={"item": pl.String, "person": pl.Float64})
    if kind in ("csv", "parquet", "ndjson"):
        path = at / f"{len(rows)}.{kind}"
        getattr(frame, f"write_{kind}")(path)
        return path
    return {"pandas": frame.to_pandas(), "polars": frame, "lazy": frame.lazy(), "pyarrow": frame.to_arrow()}[
        kind
    ]


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pyarrow", "csv", "parquet", "ndjson"])
@pytest.mark.parametrize("person", PERSONS)
def test_neighbouring_tables_raise_warn_and_log_alike(kind: str, person: str, tmp_path: Path) -> None:
    tables = [_table(kind, rows, tmp_path) for rows in (ROWS, ROWS + PERSONS[person])]
    shared: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "epsilon": 1}
    shared["domain"] = ["tea", "milk", "rice"]
    of_rows = {name: value for name, value in shared.items() if name != "person"}
    in_rho = {name: value for name, value in shared.items() if name != "epsilon"} | {"rho": 1}
    in_groups = {"group": "item", "groups": ["tea", "gin", "rum"], "groups_per_person": 1}
    own = {"groups": None, "domain": {"tea": ["tea", "milk"], "gin": ["milk", "rice", "gin"]}}
    for release in (
        lambda t: fg.top_k(t, measure=True, bits=fg.SeededBits(1), **shared),
        lambda t: fg.above(t, threshold=10, bits=fg.SeededBits(1), **shared),
        lambda t: fg.top_k(t, measure=True, bits=fg.SeededBits(1), **in_rho),
        lambda t: fg.above(t, threshold=10, bits=fg.SeededBits(1), **in_rho),
        lambda t: fg.top_k(t, bits=fg.SeededBits(1), **(shared | in_groups)),
        lambda t: fg.above(t, threshold=3, bits=fg.SeededBits(1), **(shared | in_groups | own)),
        lambda t: fg.top_k(
            t, bits=fg.SeededBits(1), **(shared | {"domain": "unknown", "delta": "1e-6", "pool": 2})
        ),
        lambda t: fg.top_k(
            t, where="item LIKE 't%' OR NOT person < 9", protect="rows", bits=fg.SeededBits(1), **of_rows
        ),
        lambda t: fg.histogram(
            t, items_per_person=1, bits=fg.SeededBits(1), **{n: v for n, v in shared.items() if n != "k"}
        ),
    ):
        outcomes = [outcome(lambda t=t, r=release: r(t)) for t in tables]  # type: ignore[misc]
        assert outcomes[0] == outcomes[1] == ("", [], [], "")


def _csv(at: Path, rows: str) -> Any:
    path = at / "rows.csv"
    path.write_text("item,person\ntea,1\nmilk,2\n" + rows, errors="surrogateescape")
    return lambda: fg.top_k(path, item="item", person="person", k=1, epsilon=1, domain=["tea", "milk"])


def _lines(at: Path, line: str) -> Any:
    path = at / "rows.dat"
    path.write_text("tea milk\n" + line)
    return lambda: fg.top_k(path, k=1, epsilon=1, domain=["tea", "milk"])


def _json_lines(at: Path, item: str) -> Any:
    path = at / "rows.jsonl"
    path.write_text(f'{{"item": "tea", "person": 1}}\n{{"item": "{item}", "person": 2}}\n')
    return lambda: fg.top_k(path, item="item", person="person", k=1, epsilon=1, domain=["tea", "milk"])


def _converted(text: str) -> Any:
    rows = pa.table({"text": [text], "person": [1]})
    table = duckdb.connect().from_arrow(rows).project("CAST(text AS INTEGER) AS item, person")
    return lambda: fg.top_k(table, item="item", person="person", k=1, epsilon=1, domain=[1, 2])


def _max(answers: Any) -> Any:
    return lambda: fg.noisy_max(answers, epsilon=1)


# By the first column of the table in docs/threat-model.md: two inputs of which one alone ends in an error.
EXCEPTIONS: dict[str, Callable[[Path], list[tuple[Any, Any]]]] = {
    "an answer that is no finite number": lambda _: [
        (_max([3, 1]), _max([3, bad])) for bad in (float("nan"), float("inf"), None, "text", pd.NaT)
    ],
    "an answer beyond 10^1000, or closer to 0 than 10^-1000": lambda _: [
        (_max([3, 10**1000]), _max([3, 10**1001])),
        (_max([3, Fraction(1, 10**900)]), _max([3, Fraction(1, 10**1001)])),
    ],
    "an item outside the domain of `Counts.over`": lambda _: [
        (lambda: fg.Counts.over(range(5), {4: 1}), lambda: fg.Counts.over(range(5), {5: 1}))
    ],
    "a row of a CSV or TSV file with more or fewer fields than the header": lambda at: [
        (_csv(at / "a", ""), _csv(at / "b", row)) for row in ("tea,3,4\n", "tea\n")
    ],
    "a line of JSON lines of more than 16 MiB, of a .csv or .dat file of more than 2 MiB": lambda at: [
        (_json_lines(at / "a", "milk"), _json_lines(at / "b", "milk" * 2**23)),
        (_csv(at / "a", "milk,3\n"), _csv(at / "b", "milk" * 2**20 + ",3\n")),
        (_lines(at / "a", "tea\n"), _lines(at / "b", "tea " * 2**20)),
    ],
    "a control character U+0001 in a line of a .dat file": lambda at: [
        (_lines(at / "a", "tea\n"), _lines(at / "b", "tea\x01milk\n"))
    ],
    "a byte that is not UTF-8 in a text file": lambda at: [
        (_csv(at / "a", "tea,3\n"), _csv(at / "b", "tea\udce9,3\n"))
    ],
    "a value that its engine cannot compare or convert": lambda _: [(_converted("1"), _converted("x"))],
}


@pytest.mark.parametrize("exception", EXCEPTIONS)
def test_what_is_documented_is_so(exception: str, tmp_path: Path) -> None:
    for folder in "ab":
        (tmp_path / folder).mkdir()
    for fine, bad in EXCEPTIONS[exception](tmp_path):
        assert outcome(fine)[0] == ""
        assert re.match("InvalidArgument|EngineFailed", outcome(bad)[0])


def test_the_list_of_exceptions_is_the_one_in_the_threat_model() -> None:
    section = THREAT_MODEL.read_text(encoding="utf-8").split(HEADING)[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")]
    assert rows[2:] == list(EXCEPTIONS)


def test_the_comparison_notices_errors_warnings_logs_and_prints() -> None:
    def shout(how: Callable[[], Any]) -> tuple[Any, ...]:
        return outcome(how)

    silent = outcome(lambda: None)
    assert silent == ("", [], [], "")
    for loud in (
        lambda: warnings.warn("a", stacklevel=1),
        lambda: logging.getLogger("freegap").info("a"),
        lambda: print("a"),
        lambda: fg.noisy_max([], epsilon=1),
    ):
        assert shout(loud) != silent


WIDE = np.random.default_rng(3).integers(-(2**60), 2**60, 9000)
NEAR = WIDE % 3

UNDER_A_STRICT_NUMPY: dict[str, Callable[[Any], Any]] = {
    "little noise": lambda bits: fg.noisy_top_k(NEAR, 4, epsilon=10**9, bits=bits),
    "much noise": lambda bits: fg.noisy_top_k(WIDE, 4, epsilon="1e-90", bits=bits),
    "Laplace": lambda bits: fg.noisy_top_k(WIDE, 4, epsilon="1e-9", noise="laplace", bits=bits),
    "in ρ": lambda bits: fg.select_and_measure(WIDE, 4, rho=1, bits=bits),
    "hybrid": lambda bits: fg.hybrid_sparse_vector(WIDE, 5, k=3, epsilon=10**8, bits=bits),
    "utilities": lambda bits: fg.exponential_mechanism(WIDE, epsilon=100, bits=bits),
    "sparse vector": lambda bits: fg.sparse_vector(WIDE, 5, k=3, epsilon="1e-9", bits=bits),
    "online": lambda bits: fg.SparseVector(5, k=9, epsilon="1e-6", bits=bits).ask_many(WIDE[:400]),
    "base 2": lambda bits: _asked_in_base_2(bits),
    "floats": lambda bits: fg.measure([5e-324, 1e-310, 0.5, 1e15], epsilon=1, bits=bits),
    "many at once": lambda bits: fg.noisy_top_k(WIDE[:50], 3, epsilon="1e-12", size=200, bits=bits),
    "groups": lambda bits: fg.noisy_max(fg.Counts(NEAR, NEAR + 2**40, name=max), epsilon=10**6, bits=bits),
}


def _asked_in_base_2(bits: Any) -> list[Any]:
    """Whole numbers, floats and what is out of range, above and below; gaps are drawn too."""
    eta = fg.base2.share_epsilon(5, k=60)
    further: dict[str, Any] = {"k": 60, "eta": eta, "low": -500, "high": 900, "width": 300}
    run = fg.base2.DiscreteSparseVectorWithGap(100, gaps=range(5, 90, 5), bits=bits, **further)
    asked = (0, 95.5, 1e-320, 10**30, -(10**30), math.inf, 120, 101)
    return [run.ask(answer) for answer in asked * 6]


@pytest.mark.parametrize("name", UNDER_A_STRICT_NUMPY)
def test_what_numpy_is_told_to_do_about_small_numbers_changes_nothing(name: str) -> None:
    """Whether something underflows depends on the answers and the noise."""
    call = UNDER_A_STRICT_NUMPY[name]
    with np.errstate(all="raise"):
        strict = call(fg.SeededBits(7))
    assert strict == call(fg.SeededBits(7))
