"""What is shown while a command works, and where nothing may be shown."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest

from freegap.tables import progress
from freegap.tables.files import open_connection

FREEGAP = [sys.executable, "-c", "from freegap.cli import main; main()"]
ASK = "top-k rows.parquet --item item --person person --domain 0..999 -k 3 --epsilon 1".split(" ")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rows")
    query = "SELECT i * i % 1000 AS item, hash(i) % 3000 AS person FROM range(10000) t(i)"
    connection = duckdb.connect()
    connection.query(query).write_parquet(str(made / "rows.parquet"))
    return made


class Looks:
    """Stands in for the end of a query: it comes after so many looks."""

    def __init__(self, number: int) -> None:
        self.waits = iter([False] * number + [True])
        self.pauses: set[float] = set()

    def wait(self, seconds: float) -> bool:
        self.pauses.add(seconds)
        return next(self.waits)


class Engine:
    """Tells these percents, one at a time, and keeps what it was told to do."""

    def __init__(self, *percents: float) -> None:
        self.percents = iter(percents)
        self.told: list[str] = []

    def execute(self, statement: str) -> None:
        self.told.append(statement)

    def query_progress(self) -> float:
        return next(self.percents, -1)


def test_percents_become_shares_and_what_does_not_run_is_not_shown() -> None:
    seen: list[float] = []
    looks = Looks(6)
    progress._follow(Engine(-1, 0, 25, 100, 100.5, -1), seen.append, looks)  # type: ignore[arg-type]
    assert seen == [0, 0.25, 1, 1]
    assert looks.pauses == {0.1}


def test_somebody_watches_from_another_thread_until_the_query_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LOOKS", 0)
    engine, shown = Engine(50), threading.Event()
    seen: list[tuple[float, threading.Thread]] = []

    def show(done: float) -> None:
        seen.append((done, threading.current_thread()))
        shown.set()

    before = set(threading.enumerate())
    with progress.watched(show), progress.followed(engine):
        assert shown.wait(60)  # as long as the query runs, somebody looks: whenever that is
    ((done, thread),) = seen
    assert done == 0.5
    assert thread is not threading.main_thread()
    assert not set(threading.enumerate()) - before
    assert engine.told == ["SET enable_progress_bar_print = false", "SET enable_progress_bar = true"]


def test_nobody_watches_unless_asked() -> None:
    engine, before = Engine(50), set(threading.enumerate())
    with progress.watched(lambda done: None):
        pass
    with progress.followed(engine):
        assert not set(threading.enumerate()) - before
    assert engine.told == ["SET enable_progress_bar_print = false", "SET enable_progress_bar = false"]


def test_the_engine_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """A query of DuckDB that does not end before somebody was told how far it is."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LOOKS", 0.001)
    shown = threading.Event()
    seen: list[float] = []

    def show(done: float) -> None:
        seen.append(done)
        shown.set()

    def patient(number: int) -> int:
        if number == 100_000:
            shown.wait(60)
        return number

    with progress.watched(show), open_connection() as connection:
        connection.execute("SET threads = 1")
        connection.create_function("patient", patient, ["BIGINT"], "BIGINT")
        query = "SELECT sum(patient(i)) FROM range(150000) t(i)"
        assert connection.execute(query).fetchone() == (150_000 * 149_999 // 2,)
    assert shown.is_set()
    assert all(0 <= done <= 1 for done in seen)


def on_a_terminal(*arguments: str, directory: Path) -> tuple[str, str]:
    """Standard output, and what a terminal on standard error was shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(  # noqa: S603
        [*FREEGAP, *arguments], cwd=directory, stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            some = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not some:
            break
        shown += some
    os.close(ours)
    output, _ = process.communicate()
    assert process.returncode == 0, shown
    return output, shown.decode()


def test_a_bar_on_a_terminal_and_none_with_json(directory: Path) -> None:
    output, shown = on_a_terminal(*ASK, directory=directory)
    assert "counting people" in shown
    assert "━" in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert all(int(number) <= 100 for number in re.findall(r"\d+", plain)), "percents and seconds alone"
    assert "counting" not in output
    output, shown = on_a_terminal(*ASK, "--json", directory=directory)
    assert output.startswith("{")
    assert shown == ""


def test_no_bar_where_there_is_no_terminal(directory: Path) -> None:
    done = subprocess.run(  # noqa: S603
        [*FREEGAP, *ASK], cwd=directory, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "counting" not in done.stdout
