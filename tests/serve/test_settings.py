from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from freegap import InvalidArgument
from freegap.serve.settings import read_settings


def test_what_the_owner_says(folder: Path) -> None:
    settings = read_settings(folder / "freegap.toml")
    shop = settings.sources["shop"]
    assert settings.ledger == f"sqlite:///{folder}/ledger.db"
    assert shop.table == str(folder / "baskets.parquet")
    assert {name: column.domain for name, column in shop.items.items()} == {
        "product": str(folder / "products.csv"),
        "city": ["Rome", "Oslo", "Lima"],
    }
    assert shop.bounds == {"epsilon": (Fraction(1, 100), Fraction(1))}
    assert shop.mechanisms == ("top_k", "above")
    assert settings.quotas(shop, "ann") == ["shop / team red", "shop / ann"]
    assert settings.quotas(shop, "bob") == ["shop / team red"]
    assert settings.quotas(shop, "eve") is None
    assert list(shop.totals()) == ["shop", "shop / team red", "shop / ann", "shop / olga"]
    assert "baskets" not in str(shop.public())
    assert "customer" not in str(shop.public())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('person = "customer"', 'person = "customer"\nperzon = "x"'),
        ('ledger = "sqlite', 'legder = "x"\nledger = "sqlite'),
        ('ledger = "sqlite:///ledger.db"', ""),
        ('ledger = "sqlite', 'heads = [3]\nledger = "sqlite'),
        ('ledger = "sqlite', 'heads = "head"\nledger = "sqlite'),
        ('product = "products.csv"', 'product = "observed"'),
        ('product = "products.csv"', 'product = "unknown"'),
        ('product = "products.csv"', "product = []"),
        ('product = "products.csv"', "product = 3"),
        ('product = "products.csv"', 'product = { domain = "unknown", delta = "1/2", items_per_person = 1 }'),
        ('diagnosis = ["flu", "cold", "gout"]', ""),
        ('mechanisms = ["top_k"]', "mechanisms = []"),
        ('table = "baskets.parquet"', 'table = ""'),
        ('epsilon = ["1/100", "1"]', 'epsilon = ["1", "1/100"]'),
        ('epsilon = ["1/100", "1"]', 'epsilon = ["0", "1"]'),
        ('epsilon = ["1/100", "1"]', 'epsilon = ["1"]'),
        ('epsilon = ["1/100", "1"]', 'epsilon = "1"'),
        ('budget = { epsilon = "5" }', "budget = { epsilon = 5.0 }"),
        ('budget = { epsilon = "5" }', 'budget = { eps = "5" }'),
        ('budget = { epsilon = "5" }', ""),
        ('red = { epsilon = "2" }', 'blue = { epsilon = "2" }'),
        ('red = ["ann", "bob"]', 'red = ["ann", "b ob"]'),
        ('red = ["ann", "bob"]', 'red = "ann"'),
        ("[sources.shop]", '[sources."shop / team red"]'),
        ('mechanisms = ["top_k"]', 'mechanisms = ["measure"]'),
        ("[teams]", "[limits]\nsecondz = 3\n[teams]"),
        ("[teams]", "[limits]\nseconds = -1\n[teams]"),
        ("[teams]", "[limits]\nseconds = 0\n[teams]"),
        ("[teams]", "[limits]\nseconds = nan\n[teams]"),
        ("[teams]", "[limits]\nseconds = inf\n[teams]"),
        ("[teams]", "[limits]\nseconds = true\n[teams]"),
        ("[teams]", "[limits]\npad_to = 31\n[teams]"),
        ("[teams]", "[limits]\nworkers = 1.5\n[teams]"),
        ("[teams]", "[limits]\nworkers = 0\n[teams]"),
        ("[teams]", "[limits]\nworkers = true\n[teams]"),
        ("[teams]", "[limits]\nmemory_mb = inf\n[teams]"),
        ("[teams]", "[limits]\nquestions_per_minute = nan\n[teams]"),
        ("[teams]", "[teams"),
    ],
)
def test_what_is_unknown_or_wrong_is_an_error(folder: Path, old: str, new: str) -> None:
    file = folder / "freegap.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(InvalidArgument):
        read_settings(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="cannot be read"):
        read_settings(tmp_path / "nowhere.toml")
