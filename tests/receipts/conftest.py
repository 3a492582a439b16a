from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import freegap as fg
from freegap.receipts.keys import SigningKey
from freegap.receipts.receipt import Receipt, make_receipt


@dataclass(frozen=True)
class Shop:
    """A ledger with two releases (lines 2 and 4), one by hand (6), an open (8) and an abandoned one (9)."""

    folder: Path
    ledger: fg.Ledger
    key: SigningKey
    receipt: Receipt


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    folder = tmp_path_factory.mktemp("shop")
    ledger = fg.Ledger(f"sqlite:///{folder}/ledger.db")
    ledger.create("shop", epsilon=5)
    account = (ledger, "shop")
    fg.noisy_top_k({"tea": 900, "milk": 3, "rice": 1}, 2, epsilon="1/3", ledger=account)
    fg.measure([3, 900], epsilon="1/2", ledger=account)
    ledger.reserve("shop", 1, what="noisy_top_k", parameters={"noise": "laplace"}).settle("1/2")
    ledger.reserve("shop", "1/8", what="open")
    ledger.reserve("shop", "1/8", what="given back").abandon("no file")
    key = SigningKey.made(folder / "key.pem")
    return Shop(folder, ledger, key, make_receipt(ledger, 2, key))
