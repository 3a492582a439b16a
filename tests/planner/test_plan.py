"""What a plan is made from, what it answers, what it refuses, and how it is shown."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import freegap as fg
from freegap.values.measures import Approximate, Pure, ZeroConcentrated
from freegap.values.remarks import remarks_on

LAW = fg.PowerLaw(items=200, largest=3000)


@pytest.fixture(scope="module")
def planned() -> fg.BudgetPlan:
    return fg.plan(LAW, k=5, measure=True)


def test_the_suggested_budget_is_the_least_of_two_digits(planned: fg.BudgetPlan) -> None:
    assert isinstance(planned.suggested, Pure)
    epsilon = planned.suggested.epsilon
    digits = epsilon * 10 ** (1 - math.floor(math.log10(epsilon)))
    assert digits.denominator == 1
    assert planned.at is not None
    assert planned.at.exact is not None
    assert planned.at.exact >= 0.95
    less = fg.plan(LAW, k=5, measure=True, epsilon=epsilon - Fraction(1, 10) ** len(str(digits))).at
    assert less is not None
    assert less.exact is not None
    assert less.exact < 0.95
    assert f"ε = {float(epsilon):g} is enough" in planned.answer


def test_figures_get_better_with_the_budget(planned: fg.BudgetPlan) -> None:
    for name in ("exact", "share", "first"):
        values = [getattr(release, name) for release in planned.curve]
        assert values == sorted(values)
        assert all(0 <= value <= 1 for value in values)
    widths = [release.width or 0 for release in planned.curve]
    assert widths == sorted(widths, reverse=True)
    assert planned.at in planned.curve


def test_goals_differ() -> None:
    goals: tuple[Any, ...] = ("first", "share", "exact")
    found = [fg.plan(LAW, k=5, goal=goal).suggested for goal in goals]
    spent = [measure.spent for measure in found if measure is not None]
    assert len(spent) == 3
    assert spent == sorted(set(spent))


def test_the_width_of_intervals_as_the_goal() -> None:
    planned = fg.plan(LAW, k=5, measure=True, goal="width", target=60)
    assert planned.at is not None
    assert planned.at.width is not None
    assert 55 < planned.at.width <= 60
    with pytest.raises(fg.InvalidArgument, match="how many people"):
        fg.plan(LAW, k=5, measure=True, goal="width")
    with pytest.raises(fg.InvalidArgument, match="measure=True"):
        fg.plan(LAW, k=5, goal="width", target=20)


@pytest.mark.parametrize("amount", [{"epsilon": "1/2"}, {"rho": "1/20"}], ids=str)
def test_intervals_are_as_wide_as_planned(amount: dict[str, Any]) -> None:
    counts = [20_000 - 3000 * rank for rank in range(6)]  # clearly apart, and clearly above
    measured = fg.select_and_measure(counts, 3, monotonic=True, bits=fg.SeededBits(1), **amount)
    planned = fg.plan(counts, k=3, measure=True, **amount).at
    found = fg.hybrid_sparse_vector(counts, 4000, k=6, monotonic=True, bits=fg.SeededBits(1), **amount)
    above = fg.plan(counts, k=6, threshold=4000, **amount).at
    assert planned is not None
    assert above is not None
    for low, high in measured.intervals():
        assert high - low == pytest.approx(planned.width, rel=0.01)
    widths = [
        high - low for low, high in fg.confidence_intervals(found) if low is not None and high is not None
    ]
    assert len(widths) == 6
    assert widths[:5] == pytest.approx([above.width] * 5, rel=0.01)


def test_a_budget_in_rho() -> None:
    planned = fg.plan(LAW, k=40, budget="rho", goal="share")
    assert isinstance(planned.suggested, ZeroConcentrated)
    assert planned.best is not None
    assert planned.best.noise == "gumbel"  # for many items noise for ρ is narrower
    assert [release.asked.name for release in planned.alternatives].count("epsilon") == 2


def test_one_choice_is_better_in_pure_epsilon() -> None:
    best = fg.plan(LAW, k=1, epsilon="0.01").best
    assert best is not None
    assert (best.noise, best.asked.name) == ("exponential", "epsilon")


@pytest.mark.parametrize(("counts", "k", "goal", "most"), [
    ([500, 200, 200, 200, 10], 3, "exact", "33.3 %"),
    ([500, 500, 200, 10], 2, "first", "50 %"),
])  # fmt: skip
def test_no_budget_tells_what_is_tied(counts: list[int], k: int, goal: Any, most: str) -> None:
    planned = fg.plan(counts, k=k, goal=goal)
    assert planned.suggested is None
    assert planned.at is None
    assert planned.reason == planned.answer
    assert "tied" in planned.answer
    assert most in planned.answer
    assert fg.plan(counts, k=k, goal=goal, target="0.3").suggested is not None
    largest = getattr(fg.plan(counts, k=k, goal=goal, epsilon=100).at, goal)
    assert largest == pytest.approx(float(most.removesuffix(" %")) / 100, abs=0.002)


def test_a_tie_inside_of_the_top_k_is_no_tie() -> None:
    assert fg.plan([500, 500, 300, 10], k=2).suggested is not None
    assert fg.plan([500, 500, 300, 10], k=3).suggested is not None


def test_a_goal_that_no_budget_in_the_range_reaches() -> None:
    planned = fg.plan([2, 1.99, 0], k=1)
    assert planned.suggested is None
    assert "No ε from 0.001 to 100" in planned.answer
    assert "at the most" in planned.answer


def test_nothing_above_the_threshold() -> None:
    planned = fg.plan([5, 4, 3], k=2, threshold=10, epsilon=1)
    assert planned.at is not None
    assert planned.at.recall is None
    assert planned.at.exact is not None
    assert planned.at.exact > 0.5  # nothing comes out
    assert "Nothing is above the threshold" in planned.answer
    assert "nothing is above" in fg.plan([5, 4, 3], k=2, threshold=10).answer


def test_private_looking_data_is_refused_without_a_word(tmp_path: Path) -> None:
    file = tmp_path / "counts.csv"
    file.write_text("item,people\na,30\nb,20\nc,7\n")
    table = pd.DataFrame({"item": list("aab"), "person": [1, 2, 1]})
    columns = (pd.Series([31, 4]), pl.Series([31, 4]), np.array([31, 4]), pd.Series([31, 4]).to_numpy())
    for source in (str(file), file, table, {"a": 31, "b": 4}, *columns, iter([31, 4]), object()):
        with pytest.raises(fg.InvalidArgument, match="public=True") as refused:
            fg.plan(source, k=1, epsilon=1)
        assert "31" not in str(refused.value)
        assert refused.value.argument == "public"
    for column in columns:
        assert fg.plan(column, k=1, epsilon=1, public=True).at == fg.plan([31, 4], k=1, epsilon=1).at
    by_count = fg.plan(file, k=1, epsilon=1, public=True, count="people")
    assert "counts.csv, declared public: 3 items" in by_count.assumed
    assert by_count.at == fg.plan([7, 30, 20], k=1, epsilon=1).at
    assert by_count.at == fg.plan({"a": 30, "b": 20, "c": 7}, k=1, epsilon=1, public=True).at
    of_people = fg.plan(table, k=1, epsilon=1, public=True, item="item", person="person")
    assert of_people.at == fg.plan([2, 1], k=1, epsilon=1).at
    with pytest.raises(fg.InvalidArgument, match="no column of numbers"):
        fg.plan(file, k=1, epsilon=1, public=True, count="item")


@pytest.mark.parametrize("counts", [[], [[1, 2]], ["x"], [math.nan, 1], [math.inf, 1], [10**400, 1], [None]])
def test_odd_counts(counts: Any) -> None:
    with pytest.raises(fg.InvalidArgument, match="one finite number"):
        fg.plan(counts, k=1, epsilon=1)


def test_other_items_have_nobody() -> None:
    few, many = (
        fg.plan([60, 30], k=1, epsilon="0.1").at,
        fg.plan([60, 30], k=1, epsilon="0.1", items=10**9).at,
    )
    assert few is not None
    assert many is not None
    assert few.exact is not None
    assert many.exact is not None
    assert many.exact < 0.1 < 0.9 < few.exact
    listed = fg.plan([60, 30] + [0] * 8, k=1, epsilon="0.1").at
    assert listed == fg.plan([60, 30], k=1, epsilon="0.1", items=10).at
    assert fg.plan([5000, 900], k=1, items=2**62).suggested is not None


def test_extreme_budgets() -> None:
    """Much noise makes it a lottery, and little makes it certain, but for ties."""
    for epsilon, chance in (("1e-90", 1 / 3), ("1e90", 1.0)):
        at = fg.plan([900, 800, 5], k=2, epsilon=epsilon).at
        assert at is not None
        assert at.exact == pytest.approx(chance, abs=1e-3)
    tied = fg.plan([10**17, 10**17 - 64, 10**17 - 64], k=2, epsilon="1e90").at
    assert tied is not None
    assert tied.exact == pytest.approx(0.5, abs=1e-3)


def test_an_old_release_as_the_assumption(tmp_path: Path) -> None:
    counts = {f"{i:03}": int(9000 / (i + 1)) for i in range(300)}

    class Private(fg.SeededBits):  # as if it were
        private = True

    old = fg.select_and_measure(counts, 8, epsilon=4, monotonic=True, bits=Private(2))
    planned = fg.plan(old, k=5)
    truth = fg.plan(list(counts.values()), k=5)
    assert planned.suggested is not None
    assert truth.suggested is not None
    assert planned.suggested.spent == pytest.approx(truth.suggested.spent, rel=0.2)
    assert any("left out" in remark for remark in planned.remarks)
    file = tmp_path / "old.json"
    file.write_text(old.to_json())
    assert fg.plan(file, k=5) == planned == fg.plan(json.loads(old.to_json()), k=5)
    longer = fg.plan(old, k=5, items=300)
    assert "power law of exponent 1.0" in longer.assumed
    assert longer.suggested is not None
    assert longer.suggested.spent == pytest.approx(truth.suggested.spent, rel=0.2)
    gaps = fg.noisy_top_k(counts, 8, epsilon=4, monotonic=True, bits=Private(3))
    by_gaps = fg.plan(gaps, k=5)
    assert by_gaps.suggested is not None
    assert by_gaps.suggested.spent == pytest.approx(truth.suggested.spent, rel=0.2)
    with pytest.raises(fg.InvalidArgument, match="how far items are apart"):
        fg.plan(gaps, k=5, threshold=400)
    seeded = fg.noisy_top_k(counts, 8, epsilon=4, monotonic=True, bits=fg.SeededBits(3))
    with pytest.raises(fg.InvalidArgument, match="protects nobody"):
        fg.plan(seeded, k=5)
    assert fg.plan(seeded, k=5, public=True).at is not None
    file.write_text('{"a": 5, "b": 9}')
    with pytest.raises(fg.InvalidArgument, match="not a release"):
        fg.plan(file, k=1, public=True)


def test_every_kind_of_old_release_is_understood() -> None:
    """What the gaps are to differs: the next item, or the threshold."""

    class Private(fg.SeededBits):
        private = True

    counts = [600 // rank for rank in range(1, 21)]
    shared: dict[str, Any] = {"epsilon": 20, "monotonic": True, "bits": Private(1)}
    labelled = {f"{rank:02}": count for rank, count in enumerate(counts)}
    of_unknown: dict[str, Any] = {"epsilon": 20, "delta": "1e-8", "bits": Private(1)}
    releases: list[Any] = [
        fg.sparse_vector(counts, 80, k=7, **shared),
        fg.hybrid_sparse_vector(counts, 80, k=7, **shared),
        fg.hybrid_top_k(counts, 80, k=9, **shared),
        fg.select_and_measure(counts, 7, **shared),
        fg.noisy_top_k(counts, 7, **shared),
        fg.unknown_top_k(labelled, 7, **of_unknown),
        fg.unknown_counts(labelled, items_per_person=3, **of_unknown),
        fg.measure(counts, epsilon=50, bits=Private(1)),
    ]
    truth = fg.plan(counts, k=3, epsilon="0.1").at
    assert truth is not None
    for release in releases:
        for given in (release, fg.Release.from_json(release.to_json())):
            at = fg.plan(given, k=3, epsilon="0.1").at
            assert at is not None
            assert at.share == pytest.approx(truth.share, abs=0.06)
    with pytest.raises(fg.InvalidArgument, match="tells of no counts"):
        fg.plan(fg.sparse_vector(counts, 80, k=7, gap=False, **shared), k=3)


@pytest.mark.parametrize(("arguments", "argument"), [
    ({"k": 0}, "k"), ({"k": 200}, "k"), ({"k": 10**5}, "k"),
    ({"k": 300, "threshold": 5}, "k"), ({"threshold": 10**400}, "threshold"),
    ({"goal": "error"}, "goal"), ({"goal": "recall"}, "goal"), ({"target": 1}, "target"),
    ({"epsilon": 1, "rho": 1}, "epsilon"), ({"epsilon": 0}, "epsilon"), ({"budget": "delta"}, "budget"),
    ({"noise": "gauss"}, "noise"), ({"noise": "gumbel"}, "noise"), ({"items": 5}, "items"),
    ({"domain": "observed"}, "domain"), ({"domain": "unknown"}, "delta"),
    ({"domain": "unknown", "delta": "1e-6", "rho": 1}, "rho"),
    ({"domain": "unknown", "delta": "1e-6", "measure": True}, "measure"),
    ({"threshold": 5, "measure": True}, "measure"), ({"threshold": "x"}, "threshold"),
    ({"delta": 2, "epsilon": 1}, "delta"), ({"public": "yes"}, "public"), ({"measure": 1}, "measure"),
])  # fmt: skip
def test_bad_arguments(arguments: dict[str, Any], argument: str) -> None:
    with pytest.raises(fg.InvalidArgument) as refused:
        fg.plan(LAW, **({"k": 5} | arguments))
    assert refused.value.argument == argument


@pytest.mark.parametrize("law", [
    {"items": 0, "largest": 1}, {"items": 2, "largest": 0}, {"items": 2, "largest": 10**30},
    {"items": 2, "largest": 5, "exponent": -1}, {"items": "x", "largest": 5},
])  # fmt: skip
def test_bad_power_laws(law: dict[str, Any]) -> None:
    with pytest.raises(fg.InvalidArgument):
        fg.PowerLaw(**law)


def test_a_domain_of_any_size() -> None:
    """Ranks in blocks stand for the ranks themselves."""
    listed = fg.plan((5000.0 / np.arange(1, 30_001) ** 0.5).tolist(), k=3, epsilon="0.05").at
    blocks = fg.plan(fg.PowerLaw(30_000, 5000, "0.5"), k=3, epsilon="0.05").at
    assert listed is not None
    assert blocks is not None
    assert blocks.share == pytest.approx(listed.share, abs=0.002)
    assert fg.plan(fg.PowerLaw(2**62, 10**6), k=3, epsilon=1).at is not None


def test_it_is_shown_and_read(planned: fg.BudgetPlan, tmp_path: Path) -> None:
    text = str(planned)
    assert text.startswith("The top 5, measured\nAssumed: a power law of 200 items")
    assert "▸" in text
    assert "Nothing private was looked at, and nothing is charged." in text
    assert max(map(len, text.splitlines())) <= 110
    record = json.loads(planned.to_json())
    assert planned.suggested is not None
    assert Fraction(record["suggested"]["spent"]) == planned.suggested.spent
    assert len(record["curve"]) == len(planned.curve)
    assert record["at"]["exact"] == planned.at.exact if planned.at else False
    assert hash(planned) == hash(fg.plan(LAW, k=5, measure=True))
    planned.plot(tmp_path / "plan.svg")
    assert "share" in (tmp_path / "plan.svg").read_text()
    assert planned._repr_html_().count("<table>") == 2
    with pytest.raises(fg.InvalidArgument, match=r"\.svg"):
        planned.plot(tmp_path / "plan.txt")


@pytest.mark.parametrize("asked", [
    Pure(Fraction(10)), ZeroConcentrated(Fraction(3, 2)), Approximate(Fraction(10), Fraction(1, 10**6)),
])  # fmt: skip
def test_a_remark_above_ten(asked: Any) -> None:
    assert remarks_on(asked) == []
    (remark,) = remarks_on(asked.of(asked.spent + Fraction(1, 2), asked.delta))
    assert "above 10" in remark
    assert "hardly anybody" in remark
    assert remarks_on(asked.of(Fraction(10) ** 100, asked.delta))


def test_remarks_of_plans_and_tables() -> None:
    assert any("above 10" in remark for remark in fg.plan(LAW, k=5, epsilon=11).remarks)
    assert not fg.plan(LAW, k=5, epsilon=10).remarks
    table = pd.DataFrame({"item": list("aab"), "person": [1, 2, 1]})
    shared: dict[str, Any] = {"item": "item", "person": "person", "k": 1, "domain": ["a", "b"]}
    for epsilon, number in ((10, 0), (11, 1)):
        for release in (
            fg.top_k(table, epsilon=epsilon, bits=fg.SeededBits(1), **shared),
            fg.above(table, epsilon=epsilon, threshold=1, bits=fg.SeededBits(1), **shared),
        ):
            assert len(release.to_dict()["remarks"]) == number
            assert ("above 10" in str(release)) == bool(number)
