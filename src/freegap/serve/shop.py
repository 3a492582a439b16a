"""A folder to try the service with: the demo's synthetic shop, its settings, and a few people."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from freegap.demo import PRODUCTS, generate_baskets
from freegap.serve.database import ServiceDatabase
from freegap.serve.people import People
from freegap.serve.settings import read_settings

_SETTINGS = """\
# A service to look at, over synthetic data: see docs/serve.md for what can stand here.
ledger = "sqlite:///ledger.db"
people = "sqlite:///people.db"

[teams]
sales = ["ann", "bob"]

[sources.shop]
table = "baskets.csv"
person = "customer"
budget = { epsilon = "5" }
epsilon = ["1/100", "2"]
[sources.shop.items]
product = "products.csv"
[sources.shop.quotas.team]
sales = { epsilon = "4" }
[sources.shop.quotas.person]
ann = { epsilon = "3" }
"""
_PEOPLE = {"olga": "owner", "ann": "analyst", "ada": "auditor"}


@dataclass(frozen=True)
class ShopFolder:
    """What was made. tokens: by name, with the role; they are good for a week."""

    config: Path
    tokens: dict[str, tuple[str, str]]


def make_shop(folder: Path) -> ShopFolder:
    """Write what is not there yet, and make new tokens. What was spent there stays spent.

    >>> import tempfile
    >>> made = make_shop(Path(tempfile.mkdtemp()))
    >>> made.config.name, [role for role, _ in made.tokens.values()]
    ('freegap.toml', ['owner', 'analyst', 'auditor'])
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "freegap.toml"
    if not config.exists():
        rows = [
            (number, product)
            for number, basket in enumerate(generate_baskets(), start=1)
            for product in basket
        ]
        _write(folder / "baskets.csv", [("customer", "product"), *rows])
        _write(folder / "products.csv", [("product",), *((product,) for product in PRODUCTS)])
        config.write_text(_SETTINGS, encoding="utf-8")
    people = People(ServiceDatabase(read_settings(config).people))
    return ShopFolder(
        config, {name: (role, people.add(name, role, days=7)) for name, role in _PEOPLE.items()}
    )


def _write(path: Path, rows: list[tuple[object, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
