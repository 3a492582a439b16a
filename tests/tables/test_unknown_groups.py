"""Items that nobody has listed, in groups: each group is the ungrouped release on its part of the budget."""

from __future__ import annotations

import datetime
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app
from freegap.exact.digits import KeyedDigits
from freegap.exact.parts import DigitsPart
from freegap.laws import EXPONENTIAL, GUMBEL
from freegap.mechanisms import unknown_domain
from freegap.mechanisms.unknown_counts import UnknownCountsPlan
from freegap.mechanisms.unknown_domain import UnknownPlan, draw_unknown
from freegap.mechanisms.unknown_populations import draw_unknown_each
from freegap.mechanisms.unknown_slots import Slots, slots_of
from freegap.tables.forecast import forecast_above, forecast_top_k
from freegap.tables.grouping import GroupArguments
from freegap.tables.groups import read_groups
from freegap.tables.sources import open_source
from freegap.tables.unknown_groups import _counts, naming_of
from freegap.values.measures import Approximate, ApproximateConcentrated

ROWS = [
    (ward, f"c{code}", f"p{person % 400}")
    for person in range(900)
    for ward, code in (("nse"[person % 3], person % 7 % 4), ("sn"[person % 2], person % 5))
]
TABLE = pd.DataFrame(ROWS, columns=["ward", "code", "patient"])
COLUMNS: dict[str, Any] = {"item": "code", "person": "patient", "domain": "unknown", "delta": "1e-6"}
WARDS: dict[str, Any] = {"group": "ward", "groups": ["n", "s", "west"]}


def plan(**options: Any) -> UnknownPlan:
    return UnknownPlan.read(**({"k": 3, "epsilon": 2, "delta": "1e-6", "pool": 20} | options))


def pools(number: int) -> list[Slots]:
    """Of no items, of few, of as many as the pool holds and more, near the bar and far from it."""
    counts = [
        [],
        [3, 1],
        [90] * 25,
        [400, 399, 60, 2],
        list(range(0, 120, 4)),
        [10**6, 5],
        [45, 44],
        [400, 90],
    ]
    return [
        slots_of([f"i{i}" for i in range(len(own))], own, 20)
        for own in (counts[place % len(counts)] for place in range(number))
    ]


# The mechanism -----------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
@pytest.mark.parametrize("pool", [20, 10**9])
def test_each_population_has_the_release_that_it_has_alone(
    noise: str, pool: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a pool of a billion one slot without a name is above the bar: what comes after it is not told."""
    asked = plan(noise=noise, pool=pool, items_per_person=None if pool == 20 else 1)
    some = pools(40)
    drawn = draw_unknown_each(asked, some, fg.SeededBits(4))
    lengths = [len(slots.labels) + (len(slots.labels) < asked.pool) + 1 for slots in some]
    whole, begin = KeyedDigits(fg.SeededBits(4), sum(lengths)), 0
    for slots, own, length in zip(some, drawn, lengths, strict=True):
        part = DigitsPart(whole, begin, length)
        monkeypatch.setattr(unknown_domain, "KeyedDigits", lambda *_, part=part: part)
        alone = draw_unknown(asked, slots, fg.SeededBits(0))
        assert tuple(slots.labels[place] for place in own.places) == alone.labels
        assert tuple(own.gaps) == alone.gap_multiples
        begin += length
    assert {len(own.places) for own in drawn} == {0, 1, 2, 3}


def test_a_batch_of_none_and_of_huge_numbers() -> None:
    assert draw_unknown_each(plan(), [], fg.SeededBits(1)) == []
    fine = plan(resolution=Fraction(1, 10**30))
    (own,) = draw_unknown_each(fine, [Slots(["a", "b"], [10**9, 7], 0)], fg.SeededBits(1))
    assert own.places == [0]


@pytest.mark.parametrize("measured", [False, True])
def test_two_groups_have_half_of_epsilon_and_delta_each(measured: bool) -> None:
    """By hand: s = k·m/ε, twice that with half for measuring, and c = s·ln(r·m/2δ)."""
    whole = plan(noise="exponential", items_per_person=1, measured=measured)
    each = whole.in_parts(2, "exponential")
    half = plan(noise="exponential", items_per_person=1, measured=measured, epsilon=1, delta="5e-7")
    scale = 6 if measured else 3
    assert each.scale == half.scale == scale
    assert each.lift == half.lift
    assert math.isclose(float(each.lift), 1 + scale * math.log(2 / 2e-6), abs_tol=0.001)
    assert each.measuring(3)[1] == half.measuring(3)[1] == (2 if measured else 1)
    assert whole.asked == each.asked
    assert each.price == whole.asked


@pytest.mark.parametrize("measured", [False, True])
def test_with_gumbel_noise_groups_share_rho(measured: bool) -> None:
    whole = plan(noise="gumbel", measured=measured)
    each = whole.in_parts(3, "gumbel")
    assert each.share.spent * 3 == whole.share.spent
    assert isinstance(each.price, ApproximateConcentrated)
    # (k + 1)/8s² in each of three groups, and as much again for measuring, within what ε and δ/2 allow.
    assert each.price.rho == 3 * (Fraction(4) / (8 * each.scale**2) + (each.share.spent if measured else 0))
    assert each.price.rho <= whole.share.spent * (2 if measured else 1)
    assert each.price.delta == whole.delta / 2
    scale, odds = float(each.scale), 20 / (1e-6 / 3 / 2)
    assert math.isclose(float(each.lift), 1 + scale * math.log(odds), abs_tol=0.001)


def test_the_noise_with_the_lower_bar_is_chosen_for_the_groups() -> None:
    whole = plan(k=8)
    for touched in (1, 40):
        laws = [plan(k=8, noise=n).in_parts(touched, n) for n in ("exponential", "gumbel")]
        assert whole.in_parts(touched, None).lift == min(law.lift for law in laws)
    assert whole.in_parts(40, None).law is GUMBEL
    assert plan(k=8, noise="exponential").in_parts(40, "exponential").law is EXPONENTIAL


def test_counts_of_two_groups_by_hand() -> None:
    """θ = ε/mr and P(X = K) ≤ δ/mr: two groups of one item are one group of two."""
    each = UnknownCountsPlan.read(epsilon=2, delta="1e-6", items_per_person=1).in_parts(2, Fraction(1))
    two = UnknownCountsPlan.read(epsilon=2, delta="1e-6", items_per_person=2)
    assert [each.rate, each.reach] == [two.rate, two.reach]
    q, most = math.exp(-1), each.reach

    def edge(k: int) -> float:
        return (1 - q) * q**k / (1 + q - 2 * q ** (k + 1))

    assert edge(most) <= 5e-7 < edge(most - 1)


# Tables ------------------------------------------------------------------------------------------


def engines(table: pd.DataFrame) -> dict[str, Any]:
    arrow = pl.from_pandas(table).to_arrow()
    return {
        "pandas": table,
        "objects": table.astype(object),
        "polars": pl.from_pandas(table),
        "pyarrow": arrow,
        "duckdb": duckdb.connect().from_arrow(arrow),
        "sqlite": ibis.sqlite.connect().create_table("visits", arrow),
    }


@pytest.mark.parametrize(("most", "items"), [(None, None), (1, None), (2, 1), (1, 2)])
def test_every_engine_counts_the_same_and_one_person_changes_nobody_elses(
    most: int | None, items: int | None
) -> None:
    many = [(ward, f"c{code}", "p7") for ward in "ns" for code in range(6)]  # more than may count
    visits = pd.DataFrame(ROWS + many, columns=["ward", "code", "patient"])
    seen: dict[str | None, set[Any]] = {}
    for gone in (None, "p7"):
        for table in engines(visits[visits.patient != gone]).values():
            with open_source(table, "code", "patient", "ward") as opened:
                groups, source = read_groups(["n", "s", "west"], opened, normalize=False)
                counted = _counts(source, groups, most, items, 0)
            pairs = {
                (g, item, people) for g, own in enumerate(counted) for item, people in zip(*own, strict=True)
            }
            assert seen.setdefault(gone, pairs) == pairs
    before, after = ({(g, item): n for g, item, n in seen[gone]} for gone in (None, "p7"))
    changed = {pair: n - after.get(pair, 0) for pair, n in before.items() if n != after.get(pair, 0)}
    assert set(changed.values()) == {1}
    assert len({g for g, _ in changed}) == (most or 2)
    assert all(sum(1 for h, _ in changed if h == g) == (items or 6) for g, _ in changed)
    assert not any(g == 2 for g, _, _ in seen[None])


def test_in_groups_that_only_the_engine_tells_apart_a_person_has_one_share_of_items() -> None:
    """Python's times have no nanoseconds: what DuckDB takes for two groups is one, with one item a person."""
    table = duckdb.connect().sql(
        "SELECT CAST('00:00:00.00000000' || ward AS TIME_NS) AS ward, code, patient "
        "FROM (VALUES (1, 'a', 1), (2, 'b', 1), (2, 'b', 2)) AS visits(ward, code, patient)"
    )
    with open_source(table, "code", "patient", "ward") as opened:
        groups, source = read_groups([datetime.time()], opened, normalize=False)
        ((_, people),) = _counts(source, groups, None, 1, 0)
    assert sum(people) == 2


@pytest.mark.parametrize("unknown", [False, True])
def test_every_engine_releases_the_same(unknown: bool) -> None:
    groups = WARDS | {"groups_per_person": 1} | ({"groups": "unknown"} if unknown else {})
    top: dict[str, Any] = {"k": 3, "epsilon": 4, "measure": True, "items_per_person": 2}
    over: dict[str, Any] = {"k": 2, "epsilon": 4, "threshold": 20, "items_per_person": 2}
    made = {
        (
            json.dumps(fg.top_k(table, **COLUMNS, **groups, **top, bits=fg.SeededBits(2)).to_dict()),
            json.dumps(fg.above(table, **COLUMNS, **groups, **over, bits=fg.SeededBits(2)).to_dict()),
        )
        for name, table in engines(TABLE).items()
        if name in ("pandas", "polars", "duckdb")
    }
    ((first, second),) = made
    released = json.loads(first)
    labels = released["groups"]["labels"]
    assert labels == (["e", "n", "s"] if unknown else ["n", "s", "west"])
    assert max(released["groups"]["sizes"]) == 3
    assert released["complete"] is False
    assert len(released["estimates"]) == len(released["labels"]) == len(released["gaps"])
    assert max(json.loads(second)["groups"]["sizes"]) == 2


def test_one_group_is_the_ungrouped_release() -> None:
    table = TABLE.assign(ward="n")
    alone: dict[str, Any] = {"group": "ward", "groups": ["n"]}
    for asked in ({"k": 3, "epsilon": 2, "measure": True}, {"k": 3, "epsilon": 2, "noise": "gumbel"}):
        grouped = fg.top_k(table, **COLUMNS, **alone, **asked, bits=fg.SeededBits(5))
        plain = fg.top_k(table, **COLUMNS, **asked, bits=fg.SeededBits(5))
        assert [grouped.labels, grouped.gaps, grouped.intervals] == [
            plain.labels,
            plain.gaps,
            plain.intervals,
        ]
    over: dict[str, Any] = {"k": 9, "threshold": 30, "epsilon": 2, "items_per_person": 2}
    grouped_above = fg.above(table, **COLUMNS, **alone, **over, bits=fg.SeededBits(5))
    plain_above = fg.above(table, **COLUMNS, **over, bits=fg.SeededBits(5))
    assert grouped_above.labels == plain_above.labels
    assert grouped_above.intervals == plain_above.intervals
    assert grouped_above.threshold == plain_above.threshold


def test_the_charge_and_the_noise_follow_the_groups(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("clinic", epsilon=30, delta="1e-5")
    scales = {}
    rules: dict[str, dict[str, Any]] = {
        "any": {},
        "one": {"groups_per_person": 1},
        "declared": {"one_group_per_person": True},
    }
    for name, said in rules.items():
        release = fg.top_k(
            TABLE, **COLUMNS, **WARDS, **said, k=1, epsilon=2, noise="exponential", ledger=(ledger, "clinic")
        )
        scales[name] = release.parameters["scale"]
        assert [release.spent, release.delta] == [2, Fraction(1, 10**6)]
    assert scales == {"any": Fraction(3, 2), "one": Fraction(1, 2), "declared": Fraction(1, 2)}
    over = fg.above(TABLE, **COLUMNS, **WARDS, k=1, epsilon=2, threshold=1, items_per_person=2)
    assert over.parameters["scale"] == 3
    rows = fg.above(
        TABLE, item="code", protect="rows", domain="unknown", delta="1e-6", **WARDS, k=1, epsilon=2,
        threshold=1, items_per_person=1,
    )  # fmt: skip
    assert rows.parameters["scale"] == Fraction(1, 2)


def test_a_person_counts_in_one_group() -> None:
    """Everybody is in both wards, and there are as many in both together as there are people."""
    table = pd.DataFrame(
        [(ward, "flu", f"p{p}") for ward in "ns" for p in range(600)], columns=["ward", "code", "patient"]
    )
    asked: dict[str, Any] = {"k": 1, "epsilon": 50, "threshold": 1, "items_per_person": 1}
    bounded = fg.above(table, **COLUMNS, **WARDS, **asked, groups_per_person=1, bits=fg.SeededBits(1))
    assert sum(bounded.estimates or ()) == 600
    both = fg.above(table, **COLUMNS, **WARDS, **asked, groups_per_person=2, bits=fg.SeededBits(1))
    assert list(both.estimates or ()) == [600, 600]


def test_nobody_brings_in_more_groups_than_count() -> None:
    """Thirty people in each of thirty groups: enough to name them all, if each did not count in one alone."""
    rows = [(group, "flu", person) for group in range(30) for person in range(30)]
    table = pd.DataFrame(rows, columns=["ward", "code", "patient"])
    named: dict[str, Any] = {"group": "ward", "groups": "unknown", "groups_per_person": 1, "epsilon": 2}
    release = fg.top_k(table, **COLUMNS, **named, k=1, bits=fg.SeededBits(1))
    over = fg.above(table, **COLUMNS, **named, k=1, threshold=1, items_per_person=1, bits=fg.SeededBits(1))
    for groups in (release.groups, over.groups):
        assert groups is not None
        assert len(groups.labels) == 0


def test_halves_where_groups_are_named() -> None:
    named = WARDS | {"groups": "unknown", "groups_per_person": 1}
    release = fg.top_k(TABLE, **COLUMNS, **named, k=1, epsilon=2, noise="exponential")
    assert [release.parameters["scale"], release.spent, release.delta] == [1, 2, Fraction(1, 10**6)]
    assert math.isclose(float(release.parameters["lift"]), 1 + math.log(1000 / 1e-6), abs_tol=0.001)
    over = fg.above(TABLE, **COLUMNS, **named, k=1, epsilon=2, threshold=1, items_per_person=1)
    assert [over.parameters["scale"], over.spent, over.delta] == [1, 2, Fraction(1, 10**6)]
    asked = Approximate(Fraction(2), Fraction(1, 10**6))
    naming = naming_of(GroupArguments.read("ward", "unknown", 3, False), asked, None)
    assert naming is not None
    assert [naming.epsilon, naming.delta, naming.items_per_person] == [1, Fraction(1, 2 * 10**6), 3]


def test_windows_of_time_are_groups_here_too() -> None:
    dated = TABLE.assign(day=pd.to_datetime("2026-01-05"))
    months = fg.source(dated, every="month", time="day", since="2026-01-01", until="2026-03-01")
    release = fg.top_k(months, **COLUMNS, k=2, epsilon=8, groups_per_person=1, bits=fg.SeededBits(1))
    assert [row.group for row in release] == ["2026-01", "2026-01"]


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"domain_group": "ward"}, "domain_group"),
        ({"groups": None}, "groups"),
        ({"groups": []}, "groups"),
        ({"groups": "unknown"}, "groups_per_person"),
        ({"groups": "observed"}, "groups"),
        ({"delta": None}, "delta"),
        ({"rho": 1, "epsilon": None}, "rho"),
        ({"value": "cost", "low": 0, "high": 1}, "value"),
        ({"epsilon": "2e-100", "noise": "exponential"}, "epsilon"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_charged(
    options: dict[str, Any], argument: str, tmp_path: Path
) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("clinic", epsilon=10, delta="1e-5")
    asked = {**COLUMNS, **WARDS, "k": 1, "epsilon": 1, "ledger": (ledger, "clinic")} | options
    with pytest.raises(fg.InvalidArgument) as caught:
        fg.top_k(TABLE, **asked)
    assert caught.value.argument == argument
    assert ledger.account("clinic").spent == 0


def test_the_dry_run_says_what_groups_do() -> None:
    asked: dict[str, Any] = {"epsilon": 1, "domain": "unknown", "delta": "1e-6", "group": "ward"}
    alone = forecast_top_k(k=3, **asked, groups_per_person=1)
    many = forecast_top_k(k=3, **asked, groups_per_person=2, noise="exponential")
    assert alone.unknown is not None
    assert isinstance(many.unknown, UnknownPlan)
    assert many.unknown.scale == 6
    assert "each group has 1/2 of it; δ: " in "\n".join(many.lines())
    named = forecast_above(k=3, **asked, groups="unknown", groups_per_person=1, items_per_person=1)
    assert named.to_dict()["delta"] == "1/1000000"
    assert named.unknown is not None
    assert [named.unknown.epsilon, named.unknown.delta] == [Fraction(1, 2), Fraction(1, 2 * 10**6)]


def test_on_the_command_line(tmp_path: Path) -> None:
    TABLE.to_csv(tmp_path / "visits.csv", index=False)
    (tmp_path / "wards.csv").write_text("ward\nn\ns\n")
    said = f"{tmp_path}/visits.csv --item code --person patient --domain unknown --delta 1e-6 --group ward"
    said += f" --groups {tmp_path}/wards.csv --groups-per-person 1 -k 2 --epsilon 4 --seed 1 --json"
    for command in ("top-k", "above --threshold 20 --items-per-person 2"):
        ran = CliRunner().invoke(app, f"{command} {said}".split())
        assert ran.exit_code == 0, ran.output
        assert json.loads(ran.stdout)["groups"]["sizes"] == [2, 2]


@pytest.mark.parametrize("measure", [False, True])
def test_where_no_group_is_named_nothing_comes_out(measure: bool) -> None:
    """An error would tell that no group has many people, after the budget was spent."""
    few = TABLE.iloc[:4]
    named: dict[str, Any] = {"group": "ward", "groups": "unknown", "groups_per_person": 1}
    release = fg.top_k(few, k=2, epsilon=1, measure=measure, bits=fg.SeededBits(1), **named, **COLUMNS)
    assert (release.labels, release.by_group, release.complete) == ((), {}, True)
    assert release.spent == 1
    for said in (release.estimates, release.standard_errors, release.intervals):
        assert said == (() if measure else None)
