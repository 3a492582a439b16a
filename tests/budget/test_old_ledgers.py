"""A ledger that was written when there was only ε: opened, unchanged, and used on.

`schema1.sql` is such a ledger, dumped as text: two datasets, a settled, an open and an abandoned release.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from freegap import Ledger
from freegap.budget.reservation import Reservation
from freegap.values.measures import Pure

HEAD = "5f70ba7908049caed93c1ff7ba53c90e458ef3cd9c2efd2cf00e74f1f6868e3c"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "ledger.db"
    with closing(sqlite3.connect(made)) as connection:
        connection.executescript((Path(__file__).parent / "schema1.sql").read_text(encoding="utf-8"))
    return made


def rows(file: Path, table: str, most: int = 9) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(f"SELECT * FROM {table} LIMIT {most}").fetchall()  # noqa: S608


def test_it_opens_with_its_lines_as_they_were(file: Path) -> None:
    before = rows(file, "freegap_journal")
    ledger = Ledger(f"sqlite:///{file}")
    web, shop = sorted(ledger.accounts(), key=lambda account: account.total)
    assert (shop.measure, shop.unit, shop.total) == ("epsilon", "epsilon", Fraction(5))
    assert (shop.spent, shop.reserved) == (Fraction(2, 5), Fraction(1, 2))
    assert (web.total, web.spent, web.reserved) == (Fraction(1, 3), Fraction(1, 7), Fraction(0))
    assert [entry.asked for entry in ledger.entries("shop")][1:3] == [Pure(Fraction(1)), Pure(Fraction(2, 5))]
    outcome = ledger.verify(HEAD)
    assert (outcome.ok, outcome.head, outcome.entries) == (True, HEAD, 9)
    assert rows(file, "freegap_journal") == before
    assert rows(file, "freegap_ledger") == [(1, 3, 9, HEAD)]


def test_it_is_used_on(file: Path) -> None:
    ledger = Ledger(f"sqlite:///{file}")
    assert ledger.create("shop", epsilon=5).remaining == Fraction(41, 10)
    held = next(entry for entry in ledger.entries() if entry.sequence == 5)
    Reservation(ledger, 5, held.hash, "shop", Pure(Fraction(1, 2)), "noisy_top_k").settle("1/4")
    ledger.reserve("shop", 1, what="measure").settle(1)
    assert ledger.account("shop").spent == Fraction(2, 5) + Fraction(1, 4) + 1
    ledger.create("clinic", rho="1/8")
    ledger.record("clinic", epsilon="1/2", by="opendp", what="histogram")
    assert ledger.account("clinic").remaining == 0
    assert ledger.verify(HEAD).ok
    assert {row[4] for row in rows(file, "freegap_journal", 99)} >= {"1/4", "1/8 rho for 1/2 epsilon"}
