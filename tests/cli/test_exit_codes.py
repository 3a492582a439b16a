"""What ends a command is said in a line and in the exit code, whatever runs at that moment."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import freegap as fg
from freegap import cli
from freegap.cli.letters import spell_out
from freegap.tables.engine_errors import ask_engine

TABLE = "item,person\ntea,1\nmilk,2\n"


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs a release of ε = 1 from a data set with so much budget; its exit code."""
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    (tmp_path / "rows.csv").write_text(TABLE)
    (tmp_path / "items.csv").write_text("item\ntea\nmilk\nrice\n")

    def run(budget: str = "5", dataset: str = "shop") -> int:
        fg.Ledger().create("shop", epsilon=budget)
        line = f"top-k {tmp_path}/rows.csv --item item --person person -k 1 --epsilon 1 --ledger {dataset}"
        monkeypatch.setattr(sys, "argv", ["freegap", *line.split(), "--domain", f"{tmp_path}/items.csv"])
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background may lack
        try:
            cli.main()
        except SystemExit as stopped:
            return int(stopped.code or 0)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return 0

    return run


def _fail(kind: BaseException) -> Callable[..., None]:
    def work(*_: object, **more: object) -> None:
        raise kind

    return work


def test_too_little_budget_is_3_and_noticed_before_a_row_is_counted(
    command: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command() == 0
    monkeypatch.setattr("freegap.tables.releases.counted", _fail(AssertionError("counted")))
    fg.Ledger().record("shop", epsilon=4, by="us", what="the rest")
    assert command() == 3
    assert "has 0 of ε = 5 left" in capsys.readouterr().err
    assert command(dataset="unknown") == 2
    assert "is not in the ledger" in capsys.readouterr().err


def test_an_engine_that_fails_is_5_and_costs_nothing(
    command: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("freegap.tables.people.count_people", _fail(OSError("a private row")))
    assert command() == 5
    assert fg.Ledger().account("shop").remaining == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_engine_counts(
    command: Callable[..., int],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    number: signal.Signals,
) -> None:
    """DuckDB swallows the error of the signal's handler and raises one of its own."""

    def interrupted(_: object) -> None:
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            raise RuntimeError("Query interrupted") from None

    monkeypatch.setattr("freegap.tables.people.count_people", interrupted)
    assert command() == 128 + number
    assert capsys.readouterr().err == "freegap: interrupted.\n"
    assert fg.Ledger().account("shop").remaining == 5


def test_a_signal_after_the_reservation_says_that_it_stays_charged(
    command: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("freegap.tables.releases.noisy_top_k", _fail(KeyboardInterrupt()))
    assert command() == 130
    assert "stays charged in full" in capsys.readouterr().err
    assert fg.Ledger().account("shop").remaining == 4


def test_a_release_that_cannot_be_written_is_kept(
    command: Callable[..., int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("freegap.cli.release.print_release", _fail(OSError(28, "No space left on device")))
    assert command() == 2
    assert "`freegap budget release LINE` prints it again" in capsys.readouterr().err
    kept = fg.Ledger().release(2)
    monkeypatch.setattr(sys, "argv", ["freegap", "budget", "release", "2", "--json"])
    cli.main()
    assert json.loads(capsys.readouterr().out) == kept
    monkeypatch.setattr(sys, "argv", ["freegap", "budget", "release", "2"])
    cli.main()
    shown = capsys.readouterr().out
    assert all(str(part) in shown for part in (kept["table"]["title"], *kept["labels"], "ε asked 1, spent 1"))


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_letters_that_the_output_cannot_take_are_spelt(encoding: str) -> None:
    taken = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    spell_out(taken, None)
    taken.write("ε ≈ 1/3: é, 茶, 苶, \udc80")
    taken.flush()
    expected = {
        "ascii": "epsilon ~ 1/3: \\xe9, \\u8336, \\u82f6, \\udc80",
        "cp1252": "epsilon ~ 1/3: é, \\u8336, \\u82f6, \\udc80",
        "utf-8": "ε ≈ 1/3: é, 茶, 苶, \\udc80",
    }
    assert taken.buffer.getvalue().decode(encoding) == expected[encoding]


def test_the_help_page_in_ascii() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", "from freegap.cli import main; main()", "above", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, "")
    assert "--threshold" in done.stdout


@pytest.mark.long
def test_duckdb_is_interrupted_in_these_words() -> None:
    """The text by which the engine's error is known, from the engine itself."""
    slow = "SELECT count(*) FROM (SELECT DISTINCT i * 7919 % 100000007 FROM range(50000000) t(i))"
    program = f"""
import duckdb, os, signal, threading
threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    duckdb.sql({slow!r}).fetchall()
except Exception as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)  # noqa: S603
    with pytest.raises(KeyboardInterrupt):
        ask_engine(_fail(RuntimeError(done.stdout.strip())))
