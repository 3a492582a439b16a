"""Databases, groups, unknown domains, other measures, and budgets that are renewed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import freegap as fg
from freegap.receipts.assess import RENEWAL, as_markdown
from freegap.receipts.receipt import Receipt
from freegap.receipts.registry import as_yaml, registry_fields
from freegap.serve.people import Person
from tests.serve.conftest import QUESTION, Service

ANN, BOB, OLGA = Person("ann", "analyst"), Person("bob", "analyst"), Person("olga", "owner")
LIBRARY: dict[str, Any] = {"item": "product", "person": "customer", "k": 1}
DOMAIN = ["tea", "milk", "rice"]


@pytest.fixture
def changed(folder: Path, serving: Callable[..., Service]) -> Callable[..., Service]:
    """The service with other settings, on seeded bits or not."""

    def make(*pairs: tuple[str, str], seed: int | None = None) -> Service:
        text = (folder / "freegap.toml").read_text()
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new, 1)
        (folder / "freegap.toml").write_text(text)
        return serving((lambda: None) if seed is None else (lambda: fg.SeededBits(seed)))

    return make


def made_of(release: Any) -> Any:
    return fg.Release.from_json(release.to_json()).to_dict()


def into_duckdb(folder: Path) -> None:
    with duckdb.connect(str(folder / "shop.duckdb")) as database:
        database.execute(f"CREATE TABLE baskets AS FROM '{folder}/baskets.parquet'")


def into_sqlite(folder: Path) -> None:
    with sqlite3.connect(folder / "shop.db") as database:
        database.execute("CREATE TABLE baskets (product TEXT, customer INTEGER, city TEXT)")
        rows = pl.read_parquet(folder / "baskets.parquet").rows()
        database.executemany("INSERT INTO baskets VALUES (?, ?, ?)", rows)
    database.close()


@pytest.mark.parametrize(
    ("into", "table", "read"),
    [
        (into_duckdb, 'table = "shop.duckdb"\nname = "baskets"', {"name": "baskets"}),
        (
            into_duckdb,
            'table = "duckdb:///shop.duckdb"\n'
            "query = \"SELECT product, customer FROM baskets WHERE city = 'Rome'\"",
            {"name": "baskets", "where": "city = 'Rome'"},
        ),
        (into_sqlite, 'table = "sqlite:///shop.db"\nname = "baskets"', {"name": "baskets"}),
        (
            lambda folder: None,
            'table = "baskets.parquet"\nwhere = "city = \'Rome\'"',
            {"where": "city = 'Rome'"},
        ),
    ],
)
def test_a_table_of_a_database_is_asked_as_the_library_asks(
    folder: Path,
    changed: Callable[..., Service],
    into: Callable[[Path], None],
    table: str,
    read: dict[str, Any],
) -> None:
    into(folder)
    service = changed(('table = "baskets.parquet"', table), seed=1)
    found = service.desk.ask(ANN, QUESTION)
    place = service.settings.sources["shop"].table
    made = fg.top_k(fg.source(place, **read), **LIBRARY, epsilon="1/2", domain=DOMAIN, bits=fg.SeededBits(1))
    assert found["status"] == "released", found
    assert found["release"] == json.loads(made.to_json())
    assert "shop." not in str(service.desk.sources(ANN))


def test_rows_without_persons_must_be_declared(folder: Path, changed: Callable[..., Service]) -> None:
    service = changed(('person = "customer"', 'protect = "rows"'))
    found = service.desk.ask(ANN, QUESTION)
    assert found["release"]["privacy"]["unit"].startswith("one row, as was asked for")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('person = "customer"\n', ""),
        ('person = "customer"', 'person = "customer"\nprotect = "rows"'),
        ('person = "customer"', 'protect = "windows"'),
        ('table = "baskets.parquet"', 'table = "shop.duckdb"'),
        ('table = "baskets.parquet"', 'table = "baskets.parquet"\nname = "baskets"'),
        ('table = "baskets.parquet"', 'table = "shop.duckdb"\nquery = "SELECT * FROM a JOIN b"'),
        ('table = "baskets.parquet"', 'table = "baskets.parquet"\nwhere = "count(*) > 3"'),
        ('product = "products.csv"', 'product = "shop.duckdb"'),
        ('product = "products.csv"', 'product = { domain = "unknown" }'),
        ('product = "products.csv"', 'product = { domain = "products.csv", delta = "1e-9" }'),
        ('product = "products.csv"', 'product = { domain = "unknown", delta = "1e-9", x = 1 }'),
        ('product = "products.csv"', 'product = { domain = "unknown", delta = "1e-9" }'),
        ("[sources.shop.items]", "[sources.shop.groups]\ncity = []\n[sources.shop.items]"),
        ("[sources.shop.items]", '[sources.shop.groups]\ncity = "unknown"\n[sources.shop.items]'),
        (
            "[sources.shop.items]",
            '[sources.shop.groups]\ncity = { groups = ["x"], groups_per_person = 0 }\n[sources.shop.items]',
        ),
        (
            "[sources.shop.items]",
            '[sources.shop.groups]\ncity = { groups = ["Rome"], groups_per_person = 1, '
            "one_group_per_person = true }\n[sources.shop.items]",
        ),
        (
            "[sources.shop.items]",
            '[sources.shop.groups]\ncity = { groups = ["Rome", "Rome"] }\n[sources.shop.items]',
        ),
        ('budget = { epsilon = "5" }', 'budget = { epsilon = "5", renewed = "weekly" }'),
        ('budget = { epsilon = "5" }', 'budget = { renewed = "monthly" }'),
        ('budget = { epsilon = "5" }', 'budget = { epsilon = "5", rho = "1" }'),
        ('budget = { epsilon = "5" }', 'budget = { epsilon = "-5" }'),
        ('epsilon = ["1/100", "1"]', 'rho = ["1"]'),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(
    folder: Path, changed: Callable[..., Service], old: str, new: str
) -> None:
    with pytest.raises(fg.InvalidArgument):
        changed((old, new))
    assert not (folder / "ledger.db").exists()


def test_groups_are_the_owners(folder: Path, changed: Callable[..., Service]) -> None:
    groups = '[sources.shop.groups]\ncity = { groups = ["Rome", "Oslo"], groups_per_person = 1 }\n'
    service = changed(("[sources.shop.items]", groups + "[sources.shop.items]"), seed=1)
    found = service.desk.ask(ANN, QUESTION | {"group": "city"})
    made = fg.top_k(
        folder / "baskets.parquet",
        **LIBRARY,
        epsilon="1/2",
        domain=folder / "products.csv",
        group="city",
        groups=["Rome", "Oslo"],
        groups_per_person=1,
        bits=fg.SeededBits(1),
    )
    assert found["release"]["labels"] == list(made.labels)
    assert found["release"]["gaps"] == made_of(made)["gaps"]
    planned = service.desk.plan(ANN, QUESTION | {"group": "city"})
    assert planned["dry_run"]["groups_per_person"] == 1
    for wrong in ("customer", "product", ["city"], 'city" --'):
        with pytest.raises(fg.InvalidArgument):
            service.desk.ask(ANN, QUESTION | {"group": wrong})
    assert service.desk.sources(ANN)[0]["groups"] == {"city": 1}


RHO = [
    ('budget = { epsilon = "5" }', 'budget = { epsilon = "2", delta = "1e-6" }'),
    ('epsilon = ["1/100", "1"]', 'epsilon = ["1/100", "1"]\nrho = ["1/1000", "1/20"]'),
    ('red = { epsilon = "2" }', 'red = { rho = "1/20" }'),
    ('ann = { epsilon = "3/2" }', 'ann = { rho = "1/10" }'),
]


def test_questions_and_budgets_in_other_measures(folder: Path, changed: Callable[..., Service]) -> None:
    service = changed(*RHO)
    asked = {name: value for name, value in QUESTION.items() if name != "epsilon"} | {"rho": "1/50"}
    ledger = fg.Ledger(service.settings.ledger)
    assert service.desk.ask(ANN, asked)["status"] == "released"
    assert service.desk.ask(ANN, asked | {"mechanism": "above", "threshold": 700})["status"] == "released"
    spent = [ledger.account(name).spent for name in ("shop", "shop / team red", "shop / ann")]
    assert spent == [spent[0]] * 3
    assert Fraction(1, 25) - Fraction(1, 10**6) < spent[0] <= Fraction(1, 25), "√(2ρ) is rounded down"
    assert service.desk.ask(ANN, asked)["status"] == "spent", "the team has 1/100 left"
    assert service.desk.ask(ANN, QUESTION | {"epsilon": "1/10"})["status"] == "released"
    assert ledger.account("shop / team red").spent == spent[0] + Fraction(1, 200)
    charges = service.desk.plan(ANN, QUESTION | {"epsilon": "1/5"})["charges"]
    assert [(one["charged_at_most"], one["fits"]) for one in charges] == [
        ("1/50", True),
        ("1/50", False),
        ("1/50", True),
    ]
    for wrong in ({"rho": "1/10"}, {"epsilon": "1/2"}, {"noise": "laplace"}, {"rho": "1/2000"}):
        with pytest.raises(fg.InvalidArgument):
            service.desk.ask(ANN, asked | wrong)
    in_epsilon = Person("olga", "owner")
    refused = service.desk.ask(in_epsilon, asked)
    assert refused["status"] in ("failed", "refused"), "a quota in ε pays for no ρ"
    assert ledger.account("shop / olga").spent == 0
    assert ledger.verify().ok


def test_items_that_nobody_has_listed(folder: Path, changed: Callable[..., Service]) -> None:
    service = changed(
        *RHO[:1],
        (
            'product = "products.csv"',
            'product = { domain = "unknown", delta = "1e-8", items_per_person = 2 }',
        ),
        ('red = { epsilon = "2" }', 'red = { epsilon = "1", delta = "1e-6" }'),
        ('ann = { epsilon = "3/2" }', 'ann = { epsilon = "1", delta = "1e-6" }'),
    )
    found = service.desk.ask(ANN, QUESTION | {"epsilon": "1/10"})
    assert found["status"] == "released", found
    assert found["release"]["measure"] == "epsilon-delta"
    account = fg.Ledger(service.settings.ledger).account("shop")
    assert account.own_delta_remaining == Fraction(1, 2 * 10**6) - Fraction(1, 10**8)
    assert service.desk.sources(ANN)[0]["unknown"] == {"product": "1/100000000"}
    asked = QUESTION | {"epsilon": "1/10", "mechanism": "above", "threshold": 700}
    assert service.desk.ask(ANN, asked)["status"] == "released"
    planned = service.desk.plan(ANN, QUESTION | {"assume": {"largest": 900, "items": 50}})
    assert planned["status"] == "planned"
    assert service.desk.plan(ANN, QUESTION | {"assume": {"largest": 900}})["status"] == "refused"
    # A quota in ε has no room for a δ: olga cannot pay, and nothing is charged anywhere.
    before = fg.Ledger(service.settings.ledger).account("shop").remaining
    assert service.desk.ask(OLGA, QUESTION | {"epsilon": "1/10"})["status"] in ("failed", "refused")
    assert fg.Ledger(service.settings.ledger).account("shop").remaining == before


MONTHLY = [
    ('budget = { epsilon = "5" }', 'budget = { epsilon = "1", renewed = "monthly" }'),
    ('red = { epsilon = "2" }', 'red = { epsilon = "2" }'),
    ('ann = { epsilon = "3/2" }', 'ann = { epsilon = "1/2", renewed = "monthly" }'),
]


def test_a_budget_is_renewed_each_month_at_its_own_level(
    folder: Path, changed: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)]
    monkeypatch.setattr("freegap.serve.database.now", lambda: now[0])
    service = changed(*MONTHLY)
    ledger = fg.Ledger(service.settings.ledger)
    assert [service.desk.ask(ANN, QUESTION)["status"] for _ in range(2)] == ["released", "spent"]
    assert service.desk.ask(BOB, QUESTION)["status"] == "released"
    assert service.desk.ask(BOB, QUESTION)["status"] == "spent"
    now[0] = datetime(2026, 12, 1, tzinfo=UTC)
    (source, *_) = service.desk.sources(ANN)
    assert source["renewal"] == RENEWAL
    assert [(one["account"], one["left"]) for one in source["accounts"]] == [
        ("shop / month 2026-12", "1"),
        ("shop / team red", "1"),
        ("shop / ann / month 2026-12", "1/2"),
    ]
    last = service.desk.ask(ANN, QUESTION)
    assert last["status"] == "released"
    assert ledger.account("shop / month 2026-11").remaining == 0
    assert ledger.account("shop / month 2026-12").remaining == Fraction(1, 2)
    assert [made["dataset"] for made in service.desk.releases(ANN)] == [
        "shop / month 2026-11",
        "shop / month 2026-12",
    ]
    assert service.desk.release(ANN, last["line"])["release"] == "top_k"
    receipt = Receipt.read(service.desk.receipt(ANN, last["line"]))
    assert receipt.body["asked"]["parameters"]["budget_renewed"] == "monthly"
    entry = as_yaml(registry_fields(receipt, {}))
    assert entry.count("may lose n times the total") == 2, "what is spent, and how it adds up"
    assert "for all releases of one month together" in entry
    assert "may lose n times the total" in as_markdown(receipt, checked=True)
    assert {(one["account"], one["left"]) for one in service.desk.sources(BOB)[0]["accounts"]} == {
        ("shop / month 2026-12", "1/2"),
        ("shop / team red", "1/2"),
    }
    now[0] = datetime(2026, 11, 30, tzinfo=UTC)  # a clock that goes back finds what is left there
    assert service.desk.ask(BOB, QUESTION)["status"] == "spent"
    assert ledger.verify().ok


@pytest.mark.parametrize("order", [1, -1])
def test_a_budget_for_good_does_not_become_one_of_months(
    folder: Path, changed: Callable[..., Service], order: int
) -> None:
    old, new = MONTHLY[0][::order]
    changed(MONTHLY[0]) if order == -1 else changed()
    lines = len(fg.Ledger(f"sqlite:///{folder}/ledger.db").entries())
    with pytest.raises(fg.InvalidArgument, match="renewed where this is not"):
        changed((old, new))
    assert len(fg.Ledger(f"sqlite:///{folder}/ledger.db").entries()) == lines
