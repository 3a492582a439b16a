"""A folder with a table, its settings, and a team of analysts: what the service is started on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from freegap.serve.database import ServiceDatabase
from freegap.serve.people import People

DATASET, TEAM = "shop", "everybody"
LEAST = Fraction(1, 100)
_STEP = Fraction(1, 10**7)
_MOST = 10**6
_PRODUCTS = ("tea", "milk", "rice", "salt", "bread", "soap")
_CUSTOMERS = 600
"""A small table: its own time should hide nothing of the service's."""


@dataclass(frozen=True)
class Team:
    """Who asks, and on what. tokens: by name. total: the one budget that all of them pay from."""

    config: Path
    database: str
    total: Fraction
    tokens: dict[str, str]

    @property
    def table(self) -> Path:
        """The table."""
        return self.config.with_name("baskets.parquet")

    @property
    def quotas(self) -> dict[str, str]:
        """The account of each analyst."""
        return {name: f"{DATASET} / {name}" for name in self.tokens}


def amount(number: int) -> Fraction:
    """The ε of a question. No two questions have the same, so that each line of the ledger names its own.

    >>> amount(0), amount(7)
    (Fraction(1, 100), Fraction(100007, 10000000))
    """
    if not 0 <= number < _MOST:
        raise ValueError(f"there are at most {_MOST} questions in a run")
    return LEAST + number * _STEP


def question(epsilon: Fraction) -> dict[str, Any]:
    """As it is sent."""
    return {"source": DATASET, "mechanism": "top_k", "item": "product", "k": 3, "epsilon": str(epsilon)}


def make_team(folder: Path, database: str, *, analysts: int, total: Fraction, workers: int = 2) -> Team:
    """Write everything, and make a token for each analyst. Nothing slows them down but the work itself."""
    folder.mkdir(parents=True)
    bought = [(who, what) for who in range(_CUSTOMERS) for what in _PRODUCTS[: 1 + who % len(_PRODUCTS)]]
    columns = {"customer": [who for who, _ in bought], "product": [what for _, what in bought]}
    pq.write_table(pa.table(columns), folder / "baskets.parquet")
    (folder / "products.csv").write_text("\n".join(["product", *_PRODUCTS, ""]), encoding="utf-8")
    names = [f"analyst{number:03}" for number in range(analysts)]
    total_text = f'{{ epsilon = "{total}" }}'
    lines = [
        f"ledger = {json.dumps(database)}",
        f"people = {json.dumps(database)}",
        "[limits]",
        "seconds = 600",
        f"workers = {workers}",
        "questions_per_minute = 1000000",
        "requests_per_minute = 1000000",
        "[teams]",
        f"{TEAM} = {json.dumps(names)}",
        f"[sources.{DATASET}]",
        'table = "baskets.parquet"',
        'person = "customer"',
        f"budget = {total_text}",
        'epsilon = ["1/1000", "1"]',
        f"[sources.{DATASET}.items]",
        'product = "products.csv"',
        f"[sources.{DATASET}.quotas.team]",
        f"{TEAM} = {total_text}",
        f"[sources.{DATASET}.quotas.person]",
        *(f"{name} = {total_text}" for name in names),
    ]
    config = folder / "freegap.toml"
    config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    people = People(ServiceDatabase(database))
    return Team(config, database, total, {name: people.add(name, "analyst", days=1) for name in names})
