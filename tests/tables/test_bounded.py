"""At most m items of each person: the same choice in every engine, and nobody's depends on anybody else."""

from __future__ import annotations

import datetime
import hashlib
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.laws import LAPLACE, NORMAL
from freegap.mechanisms.measurement import measuring_noise
from freegap.mechanisms.unknown_counts import UnknownCountsPlan, draw_counts
from freegap.mechanisms.unknown_domain import UnknownPlan, draw_unknown
from freegap.mechanisms.unknown_slots import occurring, slots_of
from freegap.tables import unknown
from freegap.tables.bounded import chosen_here, chosen_in_engine
from freegap.tables.people import pairs_of
from freegap.tables.sources import open_source
from freegap.tables.unknown_above import intervals_above
from freegap.values.measures import rho_within
from tests.tables.engines import ENGINES, Row, arrow

NUMBERS = [(i * i % 37, i % 23) for i in range(400)] + [(i, i % 23) for i in range(9)]
TEXTS = [(f"Ítem {item:02}" if item % 2 else f"item {item:02}", f"p{person}") for item, person in NUMBERS]
ASK: dict[str, Any] = {"item": "item", "person": "person", "domain": "unknown"}
MOST = 3


def kept(rows: list[Row], most: int) -> set[Row]:
    """The rule, once more."""
    chosen = set()
    for person in {person for _, person in rows}:
        items = {item for item, one in rows if one == person}
        chosen |= {(item, person) for item in sorted(items, key=lambda i: _digest(person, i))[:most]}
    return chosen


def _digest(person: Any, item: Any) -> str:
    return hashlib.md5(f"{person}\n{item}".encode()).hexdigest()  # noqa: S324


def counted(table: Any, most: int | None = MOST) -> dict[Any, int]:
    with open_source(table, "item", "person") as source:
        return dict(zip(*unknown.largest_counts(source, 10**6, most), strict=True))


@pytest.mark.parametrize("engine", [name for name in ENGINES if name not in ("csv.gz", "json lines")])
@pytest.mark.parametrize("rows", [NUMBERS, TEXTS], ids=["numbers", "texts"])
def test_every_engine_counts_for_the_same_items(engine: str, rows: list[Row], tmp_path: Path) -> None:
    wanted = dict(Counter(item for item, _ in kept(rows, MOST)))
    assert sum(wanted.values()) == 23 * MOST < len(set(rows))
    if rows is NUMBERS and engine == "csv":  # where all is text
        wanted = {str(item): people for item, people in wanted.items()}
    assert counted(ENGINES[engine](rows, tmp_path)) == wanted


@pytest.mark.parametrize("engine", ["pandas", "duckdb"])
def test_one_person_changes_nobody_elses_items(engine: str, tmp_path: Path) -> None:
    """Another person of many items, some that nobody has: every other pair of item and person stays."""
    more = [(f"{'Ítem' if i % 2 else 'item'} {i:02}", "p99") for i in range(60)]
    if engine == "duckdb":
        few, many = (
            chosen_pairs(ENGINES[engine](rows, tmp_path)) for rows in (TEXTS, [*more[:30], *TEXTS, *more])
        )
        assert {pair for pair in many if pair[1] != "p99"} == few
        assert len(many - few) == MOST
    before, after = (counted(ENGINES[engine](rows, tmp_path)) for rows in (TEXTS, TEXTS + more))
    moved = [item for item in after if after[item] != before.get(item, 0)]
    assert len(moved) == MOST
    assert all(after[item] == before.get(item, 0) + 1 for item in moved)
    assert before.keys() <= after.keys()


def chosen_pairs(table: Any) -> set[Row]:
    with open_source(table, "item", "person") as source:
        rows = nw.to_native(chosen_in_engine(pairs_of(source), MOST)).fetchall()
    assert len(rows) == len(set(rows))
    return set(rows)


def test_one_line_changes_no_other_lines_items(tmp_path: Path) -> None:
    """The number of a line is told by the lines before it, so it must not tell what the line counts for."""
    lines = [" ".join(str(item) for item, one in NUMBERS if one == person) for person in range(23)]

    def of(some: list[str]) -> Counter[Any]:
        (tmp_path / "lines.dat").write_text("\n".join(some))
        with open_source(tmp_path / "lines.dat", None, None) as source:
            return Counter(dict(zip(*unknown.largest_counts(source, 10**6, MOST), strict=True)))

    whole = of(lines)
    assert whole == of(lines[::-1])
    assert sum(whole.values()) == 23 * MOST
    for gone in (0, 11):
        less = of(lines[:gone] + lines[gone + 1 :])
        assert not less - whole
        assert sorted((whole - less).values()) == [1] * MOST


def test_order_and_repetition_of_rows_change_nothing(tmp_path: Path) -> None:
    again = [*TEXTS[::-1], *TEXTS[:50]]
    for engine in ("pandas", "duckdb"):
        assert counted(ENGINES[engine](again, tmp_path)) == counted(ENGINES[engine](TEXTS, tmp_path))


def test_equal_numbers_and_odd_kinds() -> None:
    """17, 17.0 and Decimal("17.00") are one person; what has no text of its own is chosen by its item."""
    items = [*range(5), 2.5, Decimal("0.1"), datetime.date(2020, 1, 2), b"x", True, None, (1, 2)]
    for odd in (17.0, Decimal("17.00"), Fraction(17)):
        alike = chosen_here([(item, odd) for item in items], 3)
        assert alike == chosen_here([(item, 17) for item in reversed(items)], 3)
    nameless = object()
    assert chosen_here([(i, nameless) for i in range(9)], 2) == chosen_here([(i, "") for i in range(9)], 2)
    assert chosen_here([(1, "a"), (2, "a"), (object(), "a")], 5) == ([1, 2], [1, 1])


def test_of_what_one_person_has_for_equal_items_the_larger_counts() -> None:
    """However often, and whatever comes first; less than nothing is a number too."""
    pairs = [("a", 7), ("b", 7), ("a", 7), ("a", 8), ("b", 7)]
    for most in (None, 2):
        assert chosen_here(pairs, most) == (["a", "b"], [2, 1])
        assert chosen_here(pairs, most, [2, -4, 3, 5, -6]) == (["a", "b"], [8, -4])
        assert chosen_here(pairs, most, [3, -6, 2, 5, -4]) == (["a", "b"], [8, -4])


def test_how_an_item_is_written_is_not_for_one_person_to_say() -> None:
    """pandas takes equal objects for one and names it by the first; so they are told apart by their types."""
    for usual, odd in ((1, True), (1, 1.0), (0.0, -0.0), (Decimal("1.0"), Decimal("1.00"))):

        def table(firsts: int, usual: Any = usual, odd: Any = odd) -> pd.DataFrame:
            values = pd.Series([odd] * firsts + [usual] * 400, dtype=object)
            return pd.DataFrame({"item": values, "person": range(400 + firsts)})

        asked = ASK | {"epsilon": 20, "delta": "1e-6", "bits": SeededBits(1)}
        assert str(fg.top_k(table(1), k=1, **asked).labels[0]) == str(usual)
        assert str(fg.above(table(1), k=1, threshold=1, items_per_person=1, **asked).labels[0]) == str(usual)
        both = fg.top_k(table(900), k=2, measure=True, **asked)
        assert [str(label) for label in both.labels] == [str(odd), str(usual)]
        assert both.estimates is not None
        assert [round(estimate, -2) for estimate in both.estimates] == [900, 400]


@pytest.mark.parametrize("person", ["float", "date"])
def test_persons_that_engines_write_differently_travel(person: str) -> None:
    start = datetime.date(2020, 1, 1)
    persons = [
        float(p) + 0.5 if person == "float" else start + datetime.timedelta(days=p) for _, p in NUMBERS
    ]
    table = pa.table({"item": [item for item, _ in NUMBERS], "person": persons})
    connection = duckdb.connect()
    connection.register("rows", table)
    assert counted(connection.sql("SELECT * FROM rows")) == counted(table)
    assert sum(counted(table).values()) == 23 * MOST


def test_persons_that_only_the_engine_tells_apart() -> None:
    """A nanosecond, or the hour that clocks are set back, apart: each counts for itself, and once."""
    half_past_two = [1_603_585_800, 1_603_585_800 + 3600]  # in summer time, and in winter time
    columns = (
        pa.array([1, 2], pa.timestamp("ns")),
        pa.array(half_past_two, pa.timestamp("s", "Europe/Paris")),
        pa.array([1, 2], pa.duration("ns")),
        pa.array([1, 2], pa.time64("ns")),
    )
    for column in columns:
        for items in (["a", "a"], ["b", "a"]):
            table = pa.table({"item": items, "person": column})
            assert counted(table, 1) == counted(pl.from_arrow(table), 1) == dict(Counter(items))
        assert set(counted(pa.table({"item": column, "person": [7, 7]}), 2).values()) == {1}


def released(table: Any) -> list[Any]:
    asked: dict[str, Any] = ASK | {"epsilon": 9, "delta": "1/5", "people": 5, "items_per_person": MOST}
    kinds: list[tuple[bool, Any]] = [(False, None), (True, "gumbel")]
    top = [
        fg.top_k(table, k=6, pool=20, measure=measure, noise=noise, bits=SeededBits(3), **asked).to_dict()
        for measure, noise in kinds
    ]
    lines = [
        fg.above(table, k=k, threshold=bar, bits=SeededBits(3), **asked).to_dict()
        for k, bar in ((2, 0), (30, "5.5"))
    ]
    assert [line["complete"] for line in lines] == [False, True]
    return [*top, *lines]


@pytest.fixture(scope="module")
def wanted() -> list[Any]:
    releases = released(arrow(TEXTS))
    assert all(release["labels"] for release in releases)
    return releases


@pytest.mark.parametrize("engine", ["pandas", "polars lazy", "duckdb", "ibis", "csv"])
def test_every_engine_releases_the_same(engine: str, wanted: list[Any], tmp_path: Path) -> None:
    assert released(ENGINES[engine](TEXTS, tmp_path)) == wanted


def test_what_comes_out_is_measured_with_fresh_noise() -> None:
    """The selection first, then noise for each count, from the same bits."""
    for noise, law in (("exponential", LAPLACE), ("gumbel", NORMAL)):
        asked: dict[str, Any] = {"epsilon": 9, "delta": "1/5", "people": 5, "items_per_person": MOST}
        release = fg.top_k(arrow(TEXTS), k=6, measure=True, noise=noise, bits=SeededBits(3), **ASK, **asked)  # type: ignore[arg-type]
        plan = UnknownPlan.read(k=6, noise=noise, measured=True, **asked)
        people = counted(arrow(TEXTS))
        bits = SeededBits(3)
        found = draw_unknown(plan, slots_of(people, people.values(), plan.pool), bits)
        scale = plan.measuring(len(found.labels))[1]
        steps = measuring_noise(law, len(found.labels), scale / plan.resolution, bits)
        truth = [people[label] for label in found.labels]
        assert release.labels == found.labels
        assert release.estimates == tuple(
            count + step * plan.resolution for count, step in zip(truth, steps, strict=True)
        )
        assert release.spent == 9
        assert release.parameters["measure"]
        assert release.intervals is not None
        assert all(
            low < e < high for (low, high), e in zip(release.intervals, release.estimates, strict=True)
        )


def test_measuring_and_selecting_share_the_budget() -> None:
    """k/(ε/2) for the names, min(found, m)/(ε/2) for the counts; in ρ each half of what (ε, δ/2) allows."""
    asked: dict[str, Any] = {"k": 8, "epsilon": 1, "delta": "1e-8", "measured": True}
    exponential = UnknownPlan.read(noise="exponential", **asked)
    assert exponential.scale == 16
    assert exponential.measuring(5) == (LAPLACE, Fraction(10))
    bounded = UnknownPlan.read(noise="exponential", items_per_person=2, **asked)
    assert [bounded.measuring(found)[1] for found in (1, 2, 5)] == [2, 4, 4]
    gumbel = UnknownPlan.read(noise="gumbel", items_per_person=3, **asked)
    rho = rho_within(1, Fraction(1, 2 * 10**8))
    for found, changing in ((2, 2), (7, 3)):
        law, scale = gumbel.measuring(found)
        assert law is NORMAL
        assert Fraction(99, 100) * rho < Fraction(9, 8) / gumbel.scale**2 + changing / (2 * scale**2) <= rho


def test_above_counts_nobody_for_more() -> None:
    """With so large an ε that there is no noise to speak of."""
    asked: dict[str, Any] = {"epsilon": 10**4, "delta": "1e-9", "items_per_person": MOST, "k": 99}
    release = fg.above(arrow(TEXTS), threshold=0, bits=SeededBits(1), **ASK, **asked)
    people = {item: count for item, count in counted(arrow(TEXTS)).items() if count > release.threshold}
    assert dict(zip(release.labels, release.estimates or (), strict=True)) == people
    assert people.keys() < counted(arrow(TEXTS)).keys()


def test_above_raises_its_threshold_and_says_so() -> None:
    asked: dict[str, Any] = ASK | {"epsilon": 1, "delta": "1e-6", "items_per_person": 1, "k": 5}
    release = fg.above(arrow(TEXTS), threshold=2, bits=SeededBits(1), **asked)
    assert (release.labels, release.threshold, release.complete) == ((), Fraction(14), True)
    assert "Everything else: items whose noisy count is 14 or less; how many there are is not said." in str(
        release
    )
    assert "Clipped: each person to at most 1 of their items, those with the least digests." in str(release)
    assert fg.above(arrow(TEXTS), threshold=40, bits=SeededBits(1), **asked).threshold == 40


def test_a_raised_bar_is_the_end_of_the_release_at_the_lower_one() -> None:
    """Above K the threshold is post-processing: noise for all, and then a cut, has the same law."""
    plan = UnknownCountsPlan.read(epsilon=2, delta="1/10", items_per_person=1, people=10)
    found = occurring([("a", 30), ("b", plan.reach + 2), ("c", 2)])
    bits = SeededBits("cut")
    cut = [draw_counts(plan, found, plan.reach + 2, bits) for _ in range(300)]
    assert all(count > plan.reach + 2 for one in cut for count in one.counts)
    assert {one.labels for one in cut} == {("a",), ("a", "b")}  # "c" cannot get there, whatever its noise


def test_intervals_given_that_an_item_was_shown() -> None:
    """Coverage of every count, exactly: among the outputs above the bar, 95 % or more lie in the interval."""
    plan = UnknownCountsPlan.read(epsilon="1/2", delta="1e-6", items_per_person=1)
    rate, bar = float(plan.rate), plan.reach + 5
    for people in range(6, 3 * plan.reach, 7):
        noisy = range(max(bar + 1, people - plan.reach), people + plan.reach + 1)
        weights = [2.718281828459045 ** (-rate * abs(y - people)) for y in noisy]
        intervals = intervals_above(plan, noisy, bar, bar)
        inside = sum(w for w, (low, high) in zip(weights, intervals, strict=True) if low <= people <= high)
        assert inside >= 0.9499 * sum(weights)
        assert all(low >= 1 for low, _ in intervals)


def test_intervals_where_all_that_were_asked_for_were_shown() -> None:
    """One item, by far the largest, and k = 1: no bar decided, and its noise is as low as high."""
    plan = UnknownCountsPlan.read(epsilon="1/50", delta="1e-6", items_per_person=1)
    rate, people = float(plan.rate), 10 * plan.reach
    table = pd.DataFrame({"item": ["a"] * people, "person": range(people)})
    inside = total = 0.0
    for x in range(-plan.reach, plan.reach + 1, 10):
        drawn = people + x
        weight = 2.718281828459045 ** (-rate * abs(x))
        ((low, high),) = intervals_above(plan, [drawn], plan.reach, drawn)
        total, inside = total + weight, inside + weight * (low <= people <= high)
    assert inside >= 0.95 * total
    asked = ASK | {"epsilon": "1/50", "delta": "1e-6", "items_per_person": 1}
    shown = fg.above(table, threshold=1, k=1, bits=SeededBits(1), **asked)
    assert shown.intervals is not None
    assert shown.estimates is not None
    assert not shown.complete
    assert shown.intervals[0][1] > shown.estimates[0] + 100
    # Of the last one nothing tells how high the bar was: its noise may be as high as there is.
    assert shown.intervals[0][0] == shown.estimates[0] - plan.reach
    more = fg.above(table, threshold=1, k=2, bits=SeededBits(1), **asked)
    assert more.complete
    assert more.intervals is not None
    assert more.intervals[0][0] > shown.intervals[0][0] + 100
    grouped = table.assign(shop="x")
    given: dict[str, Any] = asked | {"group": "shop", "groups": ["x"], "bits": SeededBits(1)}
    assert fg.above(grouped, threshold=1, k=1, **given).intervals == shown.intervals


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"items_per_person": None}, "items_per_person"),
        ({"items_per_person": 0}, "items_per_person"),
        ({"delta": None}, "delta"),
        ({"epsilon": None, "rho": 1}, "rho.*no theorem"),
        ({"noise": "laplace"}, "noise.*two-sided"),
        ({"resolution": 1}, "resolution.*whole number"),
        ({"domain_column": "item"}, "domain_column"),
        ({"threshold": 2**63}, "threshold"),
        ({"k": 0}, "k"),
        ({"domain": ["a"]}, "items are not known"),
    ],
)
def test_errors_come_before_the_table_is_read(options: dict[str, Any], names: str) -> None:
    asked: dict[str, Any] = {"k": 3, "epsilon": 1, "delta": "1e-7", "threshold": 1, "items_per_person": 1}
    with pytest.raises(fg.InvalidArgument, match=names):
        fg.above("nowhere.csv", **(asked | ASK | options))


def test_missing_values_and_nobody_at_all() -> None:
    empty = pd.DataFrame({"item": ["a", None, "b"], "person": [None, 1.0, None]})
    asked: dict[str, Any] = ASK | {"epsilon": 1, "delta": "1e-7", "items_per_person": 2, "k": 2}
    assert fg.above(empty, threshold=1, **asked).labels == ()
    measured = fg.top_k(empty, measure=True, **asked)
    assert (measured.labels, measured.estimates, measured.spent) == ((), (), Fraction(1))
