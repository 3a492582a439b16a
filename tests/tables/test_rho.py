"""Releases from a table under ρ: what is charged, shown and journalled, and what has no theorem."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app
from freegap.errors import InvalidArgument
from freegap.tables.forecast import forecast_above, forecast_top_k
from freegap.values.measures import ZeroConcentrated, pure_within
from freegap.values.page import page

SIZES = {"tea": 600, "milk": 300, "rice": 100, "salt": 20}
TABLE = pd.DataFrame(
    {"product": [name for name, size in SIZES.items() for _ in range(size)], "customer": range(1020)}
)
COLUMNS: dict[str, Any] = {"item": "product", "person": "customer", "domain": list(SIZES)}


def test_top_k_in_rho_is_the_mechanism_on_the_counts() -> None:
    found = fg.top_k(TABLE, **COLUMNS, k=3, rho="1/2", bits=fg.SeededBits(1))
    assert found.labels == ("tea", "milk", "rice")
    assert (found.spent, found.measure, len(found.gaps)) == (Fraction(1, 2), "rho", 3)
    assert found.parameters["noise"] == "gumbel"
    assert "ρ asked 1/2, spent 1/2" in str(found)
    assert "ρ spent" in page(found, version="0")
    assert json.loads(found.to_json())["rho"] == "1/2"


def test_measuring_in_rho_leaves_the_last_gap_out() -> None:
    found = fg.top_k(TABLE, **COLUMNS, k=4, rho=1, measure=True, bits=fg.SeededBits(1))
    assert (found.spent, len(found.gaps), len(found.labels)) == (Fraction(1), 3, 4)
    assert found.estimates is not None
    assert all(abs(e - SIZES[name]) < 20 for e, name in zip(found.estimates, found.labels, strict=True))
    assert len(str(found).splitlines()) == 2 + 4 + 5 + 1
    with pytest.raises(InvalidArgument, match="needs a domain of at least 5 items"):
        fg.top_k(TABLE, **COLUMNS, k=4, rho=1, bits=fg.SeededBits(1))


def test_above_in_rho_charges_the_same_whatever_is_found() -> None:
    for threshold in (50, 5000):
        found = fg.above(TABLE, **COLUMNS, threshold=threshold, k=3, rho=2, bits=fg.SeededBits(1))
        assert (found.spent, found.measure) == (Fraction(2), "rho")


@pytest.mark.parametrize("measure", [False, True])
def test_a_ledger_keeps_it_in_rho(tmp_path: Path, measure: bool) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", rho=1)
    shared: dict[str, Any] = {**COLUMNS, "ledger": (ledger, "shop"), "bits": fg.SeededBits(1)}
    found = fg.top_k(TABLE, k=3, rho="1/3", measure=measure, **shared)
    assert ledger.account("shop").spent == found.spent
    with pytest.raises(fg.BudgetExceeded):
        fg.top_k(TABLE, k=3, rho=1, **shared)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one of epsilon and rho must be given, and neither is given"),
        ({"epsilon": 1, "rho": 1}, "exactly one of epsilon and rho must be given, and both are given"),
        ({"rho": 1, "noise": "exponential"}, "has no theorem here for the measure rho"),
        ({"epsilon": 1, "noise": "gumbel"}, "has no theorem here for the measure epsilon"),
        ({"epsilon": 1, "noise": "geometric"}, "is not a known noise"),
        ({"rho": 1, "domain": "unknown"}, "there is no theorem for it in the measure rho"),
        ({"rho": 1, "delta": "1e-8"}, "has a meaning only where the items are not known"),
    ],
)
def test_what_top_k_refuses(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        fg.top_k(TABLE, **{**COLUMNS, "k": 2, **options})


def test_what_above_refuses() -> None:
    with pytest.raises(InvalidArgument, match="exactly one of epsilon and rho"):
        fg.above(TABLE, **COLUMNS, threshold=5, k=2)
    with pytest.raises(InvalidArgument, match="has no theorem here for the measure rho"):
        fg.above(TABLE, **COLUMNS, threshold=5, k=2, rho=1, noise="gumbel")  # type: ignore[arg-type]


@pytest.mark.parametrize("measure", [False, True])
def test_a_dry_run_in_rho_says_what_the_release_will(measure: bool) -> None:
    found = fg.top_k(TABLE, **COLUMNS, k=3, rho="1/3", measure=measure, bits=fg.SeededBits(1))
    made = forecast_top_k(k=3, rho="1/3", measure=measure)
    assert made.least == made.most == found.spent
    assert made.to_dict()["measure"] == "rho"
    assert any(line.startswith("ρ charged") for line in made.lines())
    if measure:
        assert found.standard_errors is not None
        assert made.estimate_error == pytest.approx(found.standard_errors[0], rel=1e-6)
    assert made.instead is not None
    assert made.instead.asked == pure_within(ZeroConcentrated(Fraction(1, 3)))
    pure = forecast_top_k(k=3, epsilon="0.816496", measure=measure)  # √(2/3), rounded down
    assert (made.instead.gap_error, made.instead.estimate_error) == (pure.gap_error, pure.estimate_error)
    assert made.lines()[-1].startswith("with ε = 0.816496 instead, which costs ρ = 1/3: standard error")
    bar = forecast_above(k=3, rho=2)
    assert bar.least == bar.most == 2


def test_the_command_line_takes_rho(tmp_path: Path) -> None:
    file = tmp_path / "shop.csv"
    TABLE.to_csv(file, index=False)
    (tmp_path / "items.csv").write_text("product\n" + "\n".join(SIZES), encoding="utf-8")
    words = [str(file), "--item", "product", "--person", "customer", "--domain", str(tmp_path / "items.csv")]
    ran = CliRunner().invoke(app, ["top-k", *words, "-k", "3", "--rho", "1/2", "--seed", "1", "--json"])
    told = json.loads(ran.stdout)
    assert (told["measure"], told["rho"], told["spent"]) == ("rho", "1/2", "1/2")
    more = ["above", *words, "--threshold", "50", "-k", "3", "--rho", "2", "--seed", "1", "--json"]
    assert json.loads(CliRunner().invoke(app, more).stdout)["spent"] == "2"
    dry = CliRunner().invoke(app, ["top-k", *words, "-k", "3", "--rho", "1/2", "--dry-run"])
    assert "ρ charged: 1/2" in dry.stdout
    none = CliRunner().invoke(app, ["top-k", *words, "-k", "3"])
    assert isinstance(none.exception, InvalidArgument)


@pytest.mark.parametrize(
    "option", [{"pool": 5}, {"items_per_person": 2}, {"delta": "1e-8"}, {"people": 9}], ids=str
)
def test_a_dry_run_refuses_what_the_release_refuses(option: dict[str, Any]) -> None:
    match = f"^{next(iter(option))} = .*only where the items are not known"
    with pytest.raises(InvalidArgument, match=match):
        fg.top_k(TABLE, **{**COLUMNS, "k": 2, "epsilon": 1, **option})
    with pytest.raises(InvalidArgument, match=match):
        forecast_top_k(k=2, epsilon=1, **option)
    if "pool" not in option:
        with pytest.raises(InvalidArgument, match=match):
            fg.above(TABLE, **{**COLUMNS, "threshold": 5, "k": 2, "epsilon": 1, **option})
        with pytest.raises(InvalidArgument, match=match):
            forecast_above(k=2, epsilon=1, **option)


@pytest.mark.parametrize("k", [0, -1, "two", 1.5, True])
@pytest.mark.parametrize(
    "unknown", [{}, {"domain": "unknown", "delta": "1e-6", "items_per_person": 1}], ids=str
)
def test_a_dry_run_refuses_a_number_of_items_that_is_none(unknown: dict[str, Any], k: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"^k = "):
        forecast_above(k=k, epsilon=1, **unknown)
