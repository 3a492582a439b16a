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

import freegap as fg
from freegap.tables.watching import watched

FREEGAP = [sys.executable, "-c", "from freegap.cli import main; main()"]
ASK = "top-k rows.parquet --item item --person person --domain 0..999 -k 3 --epsilon 1".split(" ")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rows")
    query = "SELECT i * i % 1000 AS item, hash(i) % 300000 AS person FROM range(1000000) t(i)"
    connection = duckdb.connect()
    connection.query(query).write_parquet(str(made / "rows.parquet"))
    return made


def test_the_engine_tells_how_far_it_is(directory: Path) -> None:
    seen: list[tuple[float, bool]] = []
    with watched(lambda done: seen.append((done, threading.current_thread() is threading.main_thread()))):
        for _ in range(100):
            if seen:  # else the machine was too quick for the watch, and is asked again
                break
            fg.top_k(
                str(directory / "rows.parquet"),
                item="item",
                person="person",
                k=3,
                epsilon=1,
                domain=range(1000),
            )
    assert seen
    assert all(0 <= done <= 1 for done, _ in seen)
    assert not any(main for _, main in seen)
    assert not [thread for thread in threading.enumerate() if "_follow" in thread.name]


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
