from __future__ import annotations

import dataclasses
import json
import logging
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import freegap as fg
from freegap.errors import BudgetExceeded, EngineFailed, InvalidArgument
from freegap.laws import ContinuousNoiseName
from freegap.tables.forecast import forecast_above, forecast_top_k
from tests.tables.engines import ENGINES, arrow, counts_of

# Item i has 7919·i people, a number that would be seen if it leaked.
HEAVY = pd.DataFrame(
    {
        "item": np.repeat(np.arange(4), 7919 * np.arange(4)),
        "person": np.concatenate([np.arange(7919 * i) for i in range(4)]),
    }
)
ASK: dict[str, Any] = {"item": "item", "person": "person", "domain": range(6)}


def test_the_statement_of_privacy_is_in_every_rendering() -> None:
    for release in (
        fg.top_k(HEAVY, k=2, epsilon=1, **ASK),
        fg.top_k(HEAVY, k=2, epsilon=1, measure=True, **ASK),
        fg.above(HEAVY, k=2, threshold=9000, epsilon=1, **ASK),
    ):
        assert release.private
        assert "NOT PRIVATE" not in str(release)
        for text in (str(release), release._repr_html_()):
            assert "one value of the column" in text
            assert "all rows of one more person" in text
            assert "6 public items" in text
        privacy = json.loads(release.to_json())["privacy"]
        assert privacy["unit"] == "one value of the column 'person'"
        assert "at most one" in privacy["neighbours"]
        assert pickle.loads(pickle.dumps(release)) == release  # noqa: S301


def test_estimates_are_near_and_spending_is_exact() -> None:
    top = fg.top_k(HEAVY, k=2, epsilon=2, measure=True, bits=fg.SeededBits(1), **ASK)
    assert top.labels == (3, 2)
    assert top.spent == 2
    assert top.estimates is not None
    assert top.intervals is not None
    for estimate, (low, high), truth in zip(top.estimates, top.intervals, (3 * 7919, 2 * 7919), strict=True):
        assert low < truth < high
        assert abs(estimate - truth) < 30
    found = fg.above(HEAVY, k=4, threshold=9000, epsilon=2, bits=fg.SeededBits(1), **ASK)
    assert found.labels == (3, 2)
    assert found.complete
    assert found.threshold == 9000
    assert 0 < found.spent < 2
    full = fg.above(HEAVY, k=1, threshold=9000, epsilon=2, bits=fg.SeededBits(1), **ASK)
    assert full.labels == (3,)
    assert not full.complete
    assert full.spent == 2
    none = fg.above(HEAVY, k=4, threshold=10**6, epsilon=2, bits=fg.SeededBits(1), **ASK)
    assert none.labels == ()
    assert none.complete
    assert none.threshold == 10**6
    assert "0 items with more than 1000000 people" in str(none)


def test_intervals_cover() -> None:
    """200 seeded releases: at 95 % about 10 misses of 200; 25 is 4.9 σ."""
    misses = {"top": 0, "above": 0}
    table = pd.DataFrame({"item": [3] * 300, "person": range(300)})
    for seed in range(200):
        top = fg.top_k(table, k=1, epsilon=1, measure=True, bits=fg.SeededBits(seed), **ASK)
        found = fg.above(table, k=1, threshold=150, epsilon=1, bits=fg.SeededBits(seed), **ASK)
        for name, release in (("top", top), ("above", found)):
            assert release.intervals is not None
            ((low, high),) = release.intervals
            misses[name] += not low <= 300 <= high
    assert max(misses.values()) <= 25, misses
    assert min(misses.values()) >= 1, "a 95 % interval that never misses is too wide"


def test_a_release_does_not_carry_where_its_items_stood() -> None:
    """The place of an item among the distinct counts is a function of private counts."""
    release = fg.top_k(HEAVY, k=2, epsilon="0.00001", measure=True, **ASK)
    names = {field.name for field in dataclasses.fields(release)}
    assert names == {
        *("plan", "spent", "private", "labels", "gap_multiples", "resolution"),
        *("estimates", "standard_errors", "intervals", "privacy", "complete", "counted", "groups"),
    }
    assert "indices" not in release.to_json()
    assert set(release.parameters) <= {"k", "split", "noise", "monotonic", "scale", "sensitivity"}


@pytest.mark.parametrize("engine", ["pandas", "polars lazy", "duckdb", "ibis", "csv"])
def test_nothing_private_is_printed_or_logged(
    engine: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    rows = [(3, person) for person in range(7919)]
    table = ENGINES[engine](rows, tmp_path)
    with caplog.at_level(logging.DEBUG):
        fg.top_k(table, k=1, epsilon=1, **ASK)
        with pytest.raises(InvalidArgument):
            fg.top_k(table, k=6, epsilon=1, **ASK)
    assert "7919" not in "".join(capfd.readouterr()) + caplog.text


def test_objects_that_cannot_be_counted_are_nobody() -> None:
    class Person:
        def __init__(self, secret: str) -> None:
            self.secret = secret

        def __hash__(self) -> int:
            raise TypeError(self.secret)

    people = [Person("SECRET"), Person("SECRET"), "ann"]
    odd = pd.DataFrame({"item": [1, 2, 2], "person": people}, dtype=object)
    found, without = (fg.top_k(t, k=1, epsilon=1, bits=fg.SeededBits(1), **ASK) for t in (odd, odd[2:]))
    assert found == without


def test_an_engine_that_fails_says_nothing_private() -> None:
    connection = duckdb.connect()
    failing = connection.sql("SELECT CAST(v AS INTEGER) AS item, 1 AS person FROM (VALUES ('SECRET')) t(v)")
    with pytest.raises(EngineFailed) as caught:
        fg.top_k(failing, k=1, epsilon=1, **ASK)
    assert caught.value.__context__ is None
    assert "SECRET" not in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301


def test_collations_do_not_merge_items() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (item VARCHAR COLLATE NOCASE, person INTEGER)")
    connection.execute("INSERT INTO t VALUES ('a', 1), ('A', 2), ('A', 3)")
    domain = ["A", "a", "b"]
    assert counts_of(connection.table("t"), domain) == {"A": 2, "a": 1, "b": 0}
    held = connection.sql("SELECT unnest(['b', 'a', 'A']) AS item")
    assert counts_of(connection.table("t"), held) == {"A": 2, "a": 1, "b": 0}
    connection.execute("SET default_collation = 'nocase'")
    assert counts_of(connection.table("t"), held) == {"A": 2, "a": 1, "b": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k = 0: must be at least 1"),
        ({"k": 6}, "k = 6: needs a domain of at least 7 items, and this one has 6"),
        ({"epsilon": 0}, "epsilon = 0: must be greater than 0"),
        ({"noise": "gauss"}, "is not a known noise"),
        ({"measure": 1}, "must be True or False"),
        ({"item": "x"}, "item = 'x': is not a column of the table. Its columns are: item, person."),
        ({"person": None}, "person = None: must name a column"),
        ({"ledger": "shop"}, "must be a ledger and the name of a data set"),
        ({"table": 7}, "must be a dataframe or the path of a file"),
        ({"table": [1, 2]}, "must be a dataframe or the path of a file"),
        ({"table": pd.Series([1, 2])}, "must be a dataframe or the path of a file"),
    ],
    ids=str,
)
def test_bad_arguments(change: dict[str, Any], message: str) -> None:
    arguments = {"table": HEAVY, "k": 2, "epsilon": 1, **ASK} | change
    with pytest.raises(InvalidArgument) as caught:
        fg.top_k(arguments.pop("table"), **arguments)
    assert message in str(caught.value)


def test_lists_as_items_are_refused_by_the_schema() -> None:
    import polars as pl

    table = pl.DataFrame({"item": [[1], [2]], "person": [1, 2]})
    with pytest.raises(InvalidArgument, match="lists or structures"):
        fg.top_k(table, k=1, epsilon=1, **ASK)


def test_a_real_ledger(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=2)
    top = fg.top_k(HEAVY, k=2, epsilon=1, ledger=(ledger, "shop"), **ASK)
    assert ledger.account("shop").remaining == 1
    found = fg.above(HEAVY, k=4, threshold=9000, epsilon=1, ledger=(ledger, "shop"), **ASK)
    assert top.spent == 1
    assert found.spent < 1
    assert ledger.account("shop").remaining == 1 - found.spent
    with pytest.raises(BudgetExceeded):
        fg.top_k(HEAVY, k=2, epsilon=1, ledger=(ledger, "shop"), **ASK)
    with pytest.raises(InvalidArgument):
        fg.top_k(HEAVY, k=9, epsilon="0.1", ledger=(ledger, "shop"), **ASK)
    assert ledger.account("shop").remaining == 1 - found.spent, "a bad argument costs nothing"


class Watching:
    """A ledger that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def charge(self, dataset: str, release: Callable[[], Any], **said: Any) -> Any:
        self.told.append({"dataset": dataset, **said})
        return release()


def test_what_the_ledger_is_told_is_public() -> None:
    ledger = Watching()
    fg.above(HEAVY, k=3, threshold="1/2", epsilon=1, ledger=(ledger, "shop"), **ASK)
    parameters: dict[str, Any] = {"item": "item", "person": "person", "domain": "6 public items"}
    parameters |= {"k": 3, "threshold": Fraction(1, 2), "noise": "exponential"}
    assert ledger.told == [{"dataset": "shop", "epsilon": 1, "what": "above", "parameters": parameters}]


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize("k", [1, 3])
def test_forecasts_come_true(noise: ContinuousNoiseName, k: int) -> None:
    plan = forecast_top_k(k=k, epsilon="0.7", measure=True, noise=noise)
    release = fg.top_k(HEAVY, k=k, epsilon="0.7", measure=True, noise=noise, **ASK)
    assert release.standard_errors is not None
    assert plan.estimate_error == plan.most_error == pytest.approx(release.standard_errors[0], rel=1e-4)
    assert plan.most == release.spent
    assert plan.bars is not None
    assert release.intervals is not None
    for low, high in release.intervals:
        assert high - low == pytest.approx(plan.bars.below + plan.bars.above, rel=1e-9)
    below = forecast_above(k=k, epsilon="0.7", noise=noise)
    found = fg.above(HEAVY, k=k, threshold=9000, epsilon="0.7", noise=noise, **ASK)
    assert found.standard_errors is not None
    assert below.estimate_error == pytest.approx(found.standard_errors[0])
    assert below.bars is not None
    assert found.intervals is not None
    assert found.estimates is not None
    for estimate, gap, (low, high) in zip(found.estimates, found.gaps, found.intervals, strict=True):
        assert high - float(estimate) == pytest.approx(below.bars.above, abs=0.001)
        if gap - (found.gaps[-1] if len(found.gaps) == k else 0) > below.bars.excess + 1:
            assert float(estimate) - low == pytest.approx(below.bars.below, abs=0.001)
    assert below.least < found.spent <= below.most == Fraction(7, 10)


@pytest.mark.parametrize("k", [5, 12])
def test_forecasts_of_fused_estimates_come_true(k: int) -> None:
    """Counts that are far apart: the root mean square error is within a few percent of the one promised."""
    counts = [30_000 - 1000 * i for i in range(k + 1)]
    errors, bits = [], fg.SeededBits(1)
    for _ in range(300):
        found = fg.select_and_measure(counts, k, epsilon=1, monotonic=True, bits=bits)
        errors += [float(e) - counts[i] for e, i in zip(found.estimates, found.indices, strict=True)]
    plan = forecast_top_k(k=k, epsilon=1, measure=True)
    assert plan.estimate_error is not None
    assert plan.most_error is not None
    assert math.sqrt(np.mean(np.square(errors))) == pytest.approx(plan.estimate_error, rel=0.12)
    assert math.sqrt(np.mean(np.square(errors))) < 0.85 * plan.most_error


@pytest.mark.parametrize("package", ["narwhals", "duckdb"])
def test_a_missing_package_is_named_with_its_extra(package: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("item,person\n")
    script = (
        f"import sys; sys.modules[{package!r}] = None; import freegap as fg\n"
        f"try: fg.top_k({str(path)!r}, item='item', person='person', k=1, epsilon=1, domain=range(9))\n"
        "except fg.MissingExtra as missing: print(missing)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == f"This needs {package}. Install it with: pip install 'freegap[tables]'"


def test_arrow_helper_has_the_types_that_tests_mean() -> None:
    assert str(arrow([(None, 1), ("a", 2)]).schema.field("item").type) == "string"
