"""Sources that Ibis or a function of the owner opens; and jobs that are ended in the middle of one."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from freegap_evidence.bench import postgres

import freegap as fg
from freegap.serve.desk import Desk
from freegap.serve.people import Person
from freegap.serve.workers import WorkerProcesses
from tests.serve.conftest import QUESTION, Service
from tests.serve.test_sources import into_duckdb

ANN = Person("ann", "analyst")
TABLE = 'table = "baskets.parquet"'


@pytest.fixture
def declared(folder: Path, serving: Callable[..., Service]) -> Iterator[Callable[..., Service]]:
    """The service with another declaration of its table, and a module of the owner's beside the settings."""

    def make(said: str, module: str = "", seed: int | None = 1) -> Service:
        (folder / "freegap.toml").write_text((folder / "freegap.toml").read_text().replace(TABLE, said, 1))
        (folder / f"warehouse_{folder.name}.py").write_text(module)
        return serving((lambda: None) if seed is None else (lambda: fg.SeededBits(seed)))

    before = list(sys.path)
    yield make
    sys.path[:] = before


def module_of(folder: Path) -> str:
    return f"warehouse_{folder.name}"


def same_release(service: Service, **changed: Any) -> None:
    found = service.desk.ask(ANN, QUESTION)
    made = fg.top_k(
        fg.source(service.folder / "baskets.parquet", **changed),
        item="product", person="customer", k=1, epsilon="1/2", domain=["tea", "milk", "rice"],
        bits=fg.SeededBits(1),
    )  # fmt: skip
    assert found["status"] == "released"
    said, expected = found["release"], json.loads(json.dumps(made.to_dict(), default=str))
    assert said["labels"] == expected["labels"]
    assert said == expected
    spent = {account.dataset: account.spent for account in fg.Ledger(service.settings.ledger).accounts()}
    assert spent["shop"] == spent["shop / ann"] == Fraction(1, 2)


def test_duckdb_behind_ibis(folder: Path, declared: Callable[..., Service]) -> None:
    into_duckdb(folder)
    said = 'ibis = "duckdb:///shop.duckdb"\nname = "baskets"\nwhere = "city = \'Rome\'"'
    same_release(declared(said), where="city = 'Rome'")


def test_postgresql_behind_ibis(folder: Path, declared: Callable[..., Service]) -> None:
    import ibis

    programs = postgres.programs()
    if programs is None:
        pytest.skip("no PostgreSQL here")
    server = postgres.Server(programs)
    try:
        url = server.new_schema().replace("postgresql+psycopg", "postgresql")
        into = ibis.connect(url)
        into.create_table("baskets", pl.read_parquet(folder / "baskets.parquet").to_arrow())
        into.disconnect()
        same_release(declared(f'ibis = "{url}"\nname = "baskets"'))
    finally:
        server.close()


def test_a_function_of_the_owner(folder: Path, declared: Callable[..., Service]) -> None:
    module = f"""
import ibis
def baskets():
    return ibis.read_parquet({str(folder / "baskets.parquet")!r})
"""
    same_release(declared(f'function = "{module_of(folder)}:baskets"', module))


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ('function = "nowhere_at_all:baskets"', "function = .*cannot be imported .ModuleNotFoundError"),
        ('function = "json:nothing"', "function = .*is not a function"),
        ('function = "os.system(1)"', "function = .*must be module:function"),
        ('function = "json:__doc__"', "function = .*is not a function"),
        ('function = "json:loads"\ntable = "baskets.parquet"', "function = .*cannot go with table"),
        ('function = "json:loads"\nibis = "duckdb://"', "function = .*cannot go with ibis"),
        ('function = "json:loads"\nname = "x"', "name: is not known here"),
        ('function = "json:loads"\nwhere = "city ="', "where = "),
        ('ibis = "duckdb://"', "name = "),
        ("", "table = "),
    ],
)
def test_what_nobody_could_open_is_noticed_at_the_start(
    folder: Path, declared: Callable[..., Service], said: str, complaint: str
) -> None:
    with pytest.raises(fg.InvalidArgument, match=complaint):
        declared(said)
    assert not (folder / "ledger.db").exists()


def test_what_the_function_says_is_told_to_nobody(folder: Path, declared: Callable[..., Service]) -> None:
    module = "def baskets():\n    raise RuntimeError('SECRET password')\n"
    service = declared(f'function = "{module_of(folder)}:baskets"', module)
    assert service.desk.ask(ANN, QUESTION) == {"status": "failed"}
    assert fg.Ledger(service.settings.ledger).account("shop").reserved == Fraction(1, 2)


def test_a_job_that_is_cancelled_after_it_has_reserved_stays_charged(
    folder: Path, declared: Callable[..., Service]
) -> None:
    """Its process, a real one, is in the middle of the owner's function, and would be there for good."""
    module = "import threading\ndef baskets():\n    threading.Event().wait()\n"
    service = declared(f'function = "{module_of(folder)}:baskets"', module, seed=None)
    desk = Desk(service.settings, WorkerProcesses(service.settings.limits))
    ledger = fg.Ledger(service.settings.ledger)
    job = desk.start_job(ANN, QUESTION, "the-key")["job"]
    while (found := desk.job(ANN, job)).get("line") is None:
        assert found["state"] in ("waiting", "running"), found
        threading.Event().wait(0.01)
    assert (found["state"], found["line"]) == ("running", 7)
    assert [account.reserved for account in map(ledger.account, ("shop", "shop / ann"))] == [
        Fraction(1, 2)
    ] * 2
    desk.cancel_job(ANN, job)
    while (found := desk.job(ANN, job))["state"] == "running":
        threading.Event().wait(0.01)
    assert (found["state"], found["line"], "release" in found) == ("cancelled", 7, False)
    assert [account.reserved for account in map(ledger.account, ("shop", "shop / ann"))] == [
        Fraction(1, 2)
    ] * 2
    assert desk.releases(ANN)[0]["state"] == "open"
    assert desk.ask(ANN, QUESTION, "the-key")["status"] == "unfinished", "and it is not drawn again"
    assert ledger.verify().ok
