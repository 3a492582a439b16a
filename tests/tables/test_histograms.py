"""Histograms of tables: for how many items a person counts, and what another person changes."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

import freegap as fg
from freegap.tables import categories
from freegap.tables.categories import bins_of
from freegap.tables.histogram_forecast import MeansForecast, forecast_histogram
from freegap.tables.histograms import reach_of
from freegap.tables.means import NoisyMeans
from freegap.tables.values import ClippedValue
from tests.tables.engines import ENGINES, Row, arrow

NUMBERS = [(i * i % 37, i % 23) for i in range(300)]
TEXTS = [(f"item {item:02}", f"p{person}") for item, person in NUMBERS]
DOMAIN = [f"item {i:02}" for i in range(0, 40, 2)]
ASK: dict[str, Any] = {"item": "item", "person": "person", "domain_column": None, "value": None}
ASK |= {"observed_keys_are_public": True, "normalize": False}


def by_hand(rows: list[Row], domain: Any, most: int | None) -> dict[Any, int]:
    """The rule, once more."""
    counts = dict.fromkeys(domain, 0)
    for person in {person for _, person in rows}:
        items = {item for item, one in rows if one == person and item in counts}
        for item in sorted(items, key=lambda item: _digest(person, item))[:most]:
            counts[item] += 1
    return counts


def _digest(person: Any, item: Any) -> str:
    return hashlib.md5(f"{person}\n{item}".encode()).hexdigest()  # noqa: S324


def counts_of(table: Any, domain: Any, most: int | None, **more: Any) -> dict[Any, int]:
    bins = bins_of(table, domain=domain, most=most, **(ASK | more))
    return dict(zip(bins.labels, bins.totals, strict=True))


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "duckdb", "ibis", "csv"])
def test_every_engine_counts_each_person_for_the_same_items(engine: str, tmp_path: Path) -> None:
    table = ENGINES[engine](TEXTS, tmp_path)
    for most in (1, 3, None):
        assert counts_of(table, DOMAIN, most) == by_hand(TEXTS, DOMAIN, most)
    numbers = ENGINES[engine](NUMBERS, tmp_path)
    assert counts_of(numbers, range(5, 30), 2) == by_hand(NUMBERS, range(5, 30), 2)


def test_duckdb_chooses_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the pairs travelled")

    monkeypatch.setattr(categories, "chosen_here", refuse)
    connection = duckdb.connect()
    connection.register("rows", arrow(TEXTS))
    connection.register("items", arrow([(item, "x") for item in DOMAIN]))
    table, held = connection.sql("FROM rows"), connection.sql("SELECT item FROM items")
    assert counts_of(table, DOMAIN, 2) == counts_of(table, held, 2) == by_hand(TEXTS, DOMAIN, 2)
    with pytest.raises(fg.EngineFailed, match="AssertionError"):
        counts_of(arrow(TEXTS), DOMAIN, 2)


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
@pytest.mark.parametrize("most", [1, 4])
def test_one_person_changes_no_more_bins_and_nobody_elses(engine: str, most: int, tmp_path: Path) -> None:
    more = [(f"item {i:02}", "p99") for i in range(60)]
    before = counts_of(ENGINES[engine](TEXTS, tmp_path), DOMAIN, most)
    after = counts_of(ENGINES[engine]([*more[:30], *TEXTS, *more[30:]], tmp_path), DOMAIN, most)
    changes = [after[item] - before[item] for item in DOMAIN]
    assert sorted(changes) == [0] * (len(DOMAIN) - most) + [1] * most


def test_values_of_the_items_that_count(tmp_path: Path) -> None:
    """Which items count does not depend on the values, so a sum is that of the same people."""
    by = ClippedValue.read("cost", -2, 3, 1)
    table = pd.DataFrame(TEXTS, columns=["item", "person"]).astype("string")
    table["cost"] = [i % 11 - 5 for i in range(len(table))]
    sums: dict[tuple[Any, Any], int] = {}
    for (item, person), cost in zip(TEXTS, table["cost"], strict=True):
        sums[item, person] = sums.get((item, person), 0) + max(-3, min(3, int(cost)))
    wanted = dict.fromkeys(DOMAIN, 0)
    for person in {person for _, person in TEXTS}:
        own = sorted(
            (item for item, one in sums if one == person and item in wanted), key=lambda i: _digest(person, i)
        )
        for item in own[:2]:
            wanted[item] += max(-2, min(3, sums[item, person]))
    connection = duckdb.connect()
    connection.register("rows", table)
    for frame in (table, pl.from_pandas(table), connection.sql("FROM rows")):
        assert counts_of(frame, DOMAIN, 2, value=by) == wanted


def test_lines_of_a_file_are_people(tmp_path: Path) -> None:
    (tmp_path / "a.dat").write_text("1 2 3\n2 3\n3\n")
    asked: dict[str, Any] = {"domain": range(1, 5), "epsilon": 10**4, "bits": fg.SeededBits(1)}
    release = fg.histogram(tmp_path / "a.dat", items_per_person=None, **asked)
    assert [*map(int, release.values)] == [1, 2, 3, 0]
    single = fg.histogram(tmp_path / "a.dat", items_per_person=1, **asked)
    assert sum(single.values) == 3


def test_one_line_more_changes_one_bin_whoever_chooses(tmp_path: Path) -> None:
    """The number of a line is told by the lines before it: here as in the engine it must choose nothing."""
    lines = [" ".join(str(item) for item, one in NUMBERS if one == person) for person in range(23)]
    path = tmp_path / "lines.dat"
    asked = ASK | {"item": None, "person": None, "most": 1}

    def of(some: list[str], domain: Any) -> list[int]:
        path.write_text("\n".join(some))
        return bins_of(path, domain=domain, **asked).totals[:37]

    in_engine = of(lines, range(37))
    for domain in ([*range(20_000)], [float(item) for item in range(37)], [str(i) for i in range(20_000)]):
        assert sum(abs(a - b) for a, b in zip(of(lines[1:], domain), of(lines, domain), strict=True)) == 1
    assert of(lines, [*range(20_000)]) == in_engine


def test_the_release_is_that_of_the_counts_and_says_so() -> None:
    asked: dict[str, Any] = {"items_per_person": 2, "epsilon": 1}
    named: dict[str, Any] = {"item": "item", "person": "person", "domain": DOMAIN}
    release = fg.histogram(arrow(TEXTS), bits=fg.SeededBits(3), **named, **asked)
    counts = by_hand(TEXTS, DOMAIN, 2)
    assert release.values == fg.histogram(list(counts.values()), bits=fg.SeededBits(3), **asked).values
    assert release.labels == tuple(DOMAIN)
    assert [release.scale, release.spent] == [2, 1]
    assert "Clipped: each person to at most 2 of their items" in str(release)
    assert all(low >= 0 for low, _ in release.intervals())
    free = fg.histogram(arrow(TEXTS), bits=fg.SeededBits(3), **named, **(asked | {"items_per_person": None}))
    assert free.scale == len(DOMAIN)
    assert "Clipped: nothing." in str(free)


def test_items_that_occur_come_out_also_where_nobody_counts_for_them() -> None:
    """Else which items a digest left over would be told, and that was not declared."""
    rows = [(item, "one") for item in "abcdef"]
    asked: dict[str, Any] = {"item": "item", "person": "person", "items_per_person": 1, "epsilon": 10**4}
    release = fg.histogram(arrow(rows), domain="observed", observed_keys_are_public=True, **asked)
    assert release.labels == tuple("abcdef")
    assert sorted(release.values) == [0] * 5 + [1]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"domain": None}, "domain"),
        ({"domain": []}, "domain"),
        ({"domain": range(10**12)}, "domain.*10,000,000"),
        ({"domain": "observed"}, "observed"),
        ({"items_per_person": 0}, "items_per_person"),
        ({"value": "cost"}, "low.*missing"),
        ({"low": 1}, "low"),
        ({"epsilon": 1, "rho": 1}, "epsilon"),
    ],
)
def test_bad_arguments_charge_nothing(options: dict[str, Any], names: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"item": "item", "person": "person", "domain": range(3), "items_per_person": 1}
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=2)
    with pytest.raises(fg.InvalidArgument, match=names):
        fg.histogram(arrow(NUMBERS), ledger=(ledger, "shop"), **({"epsilon": 1} | asked | options))
    assert ledger.account("shop").spent == 0


def test_a_ledger_is_charged(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=2)
    named: dict[str, Any] = {"item": "item", "person": "person", "domain": range(40)}
    fg.histogram(arrow(NUMBERS), items_per_person=1, epsilon="1/2", ledger=(ledger, "shop"), **named)
    assert ledger.account("shop").spent == fg.histogram([1], items_per_person=1, epsilon="1/2").spent
    with pytest.raises(fg.BudgetExceeded):
        fg.histogram("nowhere.csv", items_per_person=1, epsilon=5, ledger=(ledger, "shop"), **named)


# Means ------------------------------------------------------------------------------------------------

COSTS = pd.DataFrame({
    "item": ["a", "a", "b", "a", "b", "b", "a"],
    "person": [1, 1, 1, 2, 3, 4, 5],
    "cost": [2.0, 3.0, 9.0, 40.0, -7.0, None, 1.0],
}).astype({"item": "string"})  # fmt: skip
MEANS: dict[str, Any] = {"item": "item", "person": "person", "value": "cost", "low": 0, "high": 10, "unit": 1}


def means(table: Any = COSTS, **more: Any) -> NoisyMeans:
    asked = {"domain": ["a", "b", "c"], "items_per_person": None, "epsilon": 10**6, "mean": True}
    release = fg.histogram(table, **(MEANS | asked | more))
    assert isinstance(release, NoisyMeans)
    return release


def test_means_by_hand() -> None:
    """a: 5, 10 (of 40) and 1; b: 9 and 0 (of -7), and one row without a value. The middle is 5."""
    connection = duckdb.connect()
    connection.register("rows", COSTS)
    for table in (COSTS, pl.from_pandas(COSTS), connection.sql("FROM rows")):
        release = means(table)
        assert release.counts == (3, 2, 0)
        assert [*release.values] == [16 - 15, 9 - 10, 0]
        assert [*release.means] == [Fraction(16, 3), Fraction(9, 2), 5]
        assert sum(means(table, items_per_person=1).counts) == 4


def test_half_of_the_budget_for_each_and_all_of_it_charged() -> None:
    release = means(epsilon=1, items_per_person=2, bits=fg.SeededBits(4))
    assert [release.of_counts.scale, release.scale, release.spent] == [4, 2 * 5 * 2, 1]
    bits = fg.SeededBits(4)
    asked: dict[str, Any] = {"items_per_person": 2, "epsilon": "1/2", "bits": bits}
    counts = fg.histogram([3, 2, 0], **asked)
    assert [*counts.values] == [*release.counts]
    assert release.values == fg.histogram([1, -1, 0], sensitivity=5, **asked).values
    in_rho = means(epsilon=None, rho=1, low=1, bits=fg.SeededBits(4))
    assert in_rho.centre == 5  # the middle is 5.5: one side is longer
    assert in_rho.plan.sensitivity == 5
    assert Fraction(999, 1000) < in_rho.spent <= 1
    lopsided = means(low=0, high=9, bits=fg.SeededBits(4))
    assert [lopsided.centre, lopsided.plan.sensitivity] == [4, 5]


@pytest.mark.parametrize("budget", [{"epsilon": 2}, {"rho": 1}])
def test_a_dry_run_of_means(budget: dict[str, Any]) -> None:
    """What is charged is what would be; no interval of a release without noise reaches further than said."""
    bounds: dict[str, Any] = {"value": "cost", "low": 1, "high": 10, "unit": 1}
    said = forecast_histogram(items_per_person=1, mean=True, **bounds, **budget)
    assert isinstance(said, MeansForecast)
    release = means(**({"epsilon": None} | budget), low=1, items_per_person=1, bits=fg.SeededBits(1))
    assert said.charge == release.spent
    assert said.interval(3) is None
    for people in (40, 100, 1000):
        within = said.interval(people)
        assert within is not None
        reaches = []
        for value in (1, 4, 5, 7, 10):
            sums = ((value - 5) * people,) * 3
            for low, high in replace(release, counts=(people,) * 3, multiples=sums).intervals():
                reaches += [value - low, high - value]
        assert within / 4 < max(reaches) <= within


def test_the_interval_of_a_mean_has_every_ratio_of_what_may_be() -> None:
    release = means(epsilon=2, bits=fg.SeededBits(5))
    ends = zip(release.intervals(), release.values, release.counts, strict=True)
    people, width = reach_of(release.of_counts, 0.025), reach_of(release.plan, 0.025)
    assert width >= 5 * people > 0
    for (low, high), value, count in ends:
        ratios = [
            min(max(5 + Fraction(s) / c, Fraction(0)), Fraction(10))
            for s in range(int(value - width), int(value + width) + 1)
            for c in range(max(int(count - people), 1), max(int(count + people), 1) + 1)
        ]
        assert low <= min(ratios) < low + 0.001
        assert high - 0.001 < max(ratios) <= high


def test_each_part_of_a_mean_may_miss_with_half_of_the_error() -> None:
    """Of many people the bounds do not hide it: the reach of the sum over the fewest people there may be."""
    release = means(epsilon=2, bits=fg.SeededBits(5))
    many = replace(release, counts=(1000,) * len(release.labels), multiples=(0,) * len(release.labels))
    people, width = reach_of(release.of_counts, 0.025), reach_of(release.plan, 0.025)
    reach = width / (1000 - people)
    assert reach > reach_of(release.plan, 0.05) / (1000 - people)
    for low, high in many.intervals():
        assert (low, high) == pytest.approx((float(5 - reach), float(5 + reach)), rel=1e-9)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"value": None, "low": None, "high": None, "unit": None}, "mean.*value"),
        ({"low": 10}, "mean.*bounds that differ"),
        ({"mean": "yes"}, "mean"),
        ({"table": COSTS.astype({"item": object})}, "mean.*astype"),
    ],
)
def test_means_that_cannot_be(options: dict[str, Any], names: str) -> None:
    with pytest.raises(fg.InvalidArgument, match=names):
        means(**options)
    with pytest.raises(fg.InvalidArgument, match=r"mean.*is for a table"):
        fg.histogram([1, 2], mean=True, items_per_person=1, epsilon=1)


def test_what_a_release_of_means_says() -> None:
    release = means(bits=fg.SeededBits(1))
    assert "the number of people by one and the sum about 5 by at most 5." in str(release)
    assert list(release.to_pandas().columns) == ["item", "people", "mean", "low", "high"]
    assert fg.Release.from_json(release.to_json()).rows() == release.rows()


@pytest.mark.parametrize(
    "option",
    [{"domain": ["a"]}, {"domain_column": "a"}, {"value": "cost"}, {"low": 0}, {"high": 50}, {"unit": 1}],
    ids=str,
)
def test_counts_have_no_columns(option: dict[str, Any]) -> None:
    with pytest.raises(fg.InvalidArgument, match=f"^{next(iter(option))} = .*is for a table"):
        fg.histogram([5, 6], items_per_person=1, epsilon=1, **option)
