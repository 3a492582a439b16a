"""The command line: a wrong argument is one line and exit code 2, and never a traceback."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import freegap as fg
from freegap import cli
from freegap.errors import FreegapError
from tests.fuzz.outcome import FEWER, require_harmless, soon
from tests.fuzz.strategies import NAMES, hostile_texts

words = st.one_of(
    hostile_texts,
    st.sampled_from(
        [
            "1",
            "0",
            "-1",
            "1/3",
            "0.5",
            "1e-999",
            "1e999",
            "nan",
            "inf",
            "9" * 5000,
            "0..9",
            "9..0",
            "0..1e5",
            "0.." + "9" * 40,
            "observed",
            "shop",
            "table.csv",
            "table.csv:x",
            "os:path",
            "os:",
            ":",
            "..x:y",
            "freegap.demo:demo",
            "nowhere.py:f",
            "--json",
            "--csv",
            "--help",
            "--seed",
            "a=b",
            "k=1e999999999",
            "[" * 3000,
            "sqlite://",
            "postgresql://u@127.0.0.1:1/x",
            "mysql://",
        ]
    ),
).filter(lambda word: "\0" not in word)  # which no program can be given as an argument
COMMANDS: dict[str, dict[str, str]] = {
    "top-k": {
        "": "table.csv",
        "--item": "item",
        "--person": "person",
        "--domain": "table.csv",
        "-k": "1",
        "--epsilon": "1",
        "--ledger": "shop",
        "--noise": "laplace",
        "--seed": "1",
        "--domain-column": "item",
    },
    "above": {
        "": "table.csv",
        "--item": "item",
        "--person": "person",
        "--domain": "table.csv",
        "-k": "1",
        "--epsilon": "1",
        "--threshold": "2",
        "--ledger": "shop",
    },
    "quantiles": {
        "": "table.csv",
        "--value": "item",
        "--person": "person",
        "--q": "0.5,0.9",
        "--low": "0",
        "--high": "9",
        "--resolution": "1",
        "--per-person": "largest",
        "--epsilon": "1",
        "--ledger": "shop",
    },
    "watch": {
        "": "table.csv",
        "--item": "item",
        "--of": "a",
        "--person": "person",
        "--threshold": "2",
        "-k": "1",
        "--epsilon": "1",
        "--state": "a.watch",
        "--question": "monday",
        "--ledger": "shop",
    },
    "budget create": {"": "shop", "--epsilon": "1", "--url": "sqlite:///other.db"},
    "budget show": {"": "shop", "--url": "sqlite:///ledger.db"},
    "budget list": {"--url": "sqlite:///ledger.db"},
    "budget verify": {"--head": "abc", "--url": "sqlite:///ledger.db"},
    "prove": {
        "": "mine:mechanism",
        "--alignment": "mine:alignment",
        "--epsilon": "1",
        "--queries": "1",
        "--sensitivity": "1",
        "--neighbours": "each",
        "--parameter": "factor=1",
        "--resolution": "1",
        "--charge": "mine:charge",
    },
    "audit": {
        "": "mine:noisy",
        "--epsilon": "1",
        "--samples": "100",
        "--search-samples": "50",
        "--jobs": "1",
        "--parameter": "x=1",
        "--neighbours": "one",
        "--sensitivity": "1",
        "--confidence": "0.9",
        "--seed": "1",
        "--delta": "0",
        "--run-limit": "5",
    },
}
# What would make a correct command long: that is what it was asked for.
BOUNDED = {"--samples", "--search-samples", "--queries", "--jobs"}
MODULE = """
def mechanism(answers, noise, *, epsilon, factor=1):
    return answers[0] + noise.laplace(factor / epsilon, label=0)
def alignment(answers, neighbour, output, noise):
    return {0: noise[0] + answers[0] - neighbour[0]}
def charge(output, *, epsilon):
    return epsilon
def noisy(answers, epsilon, rng, x=0):
    return round(answers[0] + rng.laplace(scale=1 / epsilon))
"""


@cache
def shop() -> tempfile.TemporaryDirectory[str]:
    """A table, a module and a ledger; one for all examples."""
    made = tempfile.TemporaryDirectory()
    rows = "".join(f"{item},{person}\n" for person, item in enumerate("abca"))
    Path(made.name, "table.csv").write_text("item,person\n" + rows)
    Path(made.name, "mine.py").write_text(MODULE)
    fg.Ledger(f"sqlite:///{made.name}/ledger.db").create("shop", epsilon=10**9)
    return made


@contextmanager
def folder() -> Iterator[None]:
    """Be there, with that ledger."""
    before, environment = Path.cwd(), dict(os.environ)
    os.chdir(shop().name)
    os.environ["FREEGAP_LEDGER"] = f"sqlite:///{shop().name}/ledger.db"
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)


def run(arguments: list[str]) -> Any:
    """As a user would: what freegap raises on purpose is printed, and is exit code 2."""
    with soon():
        done = CliRunner().invoke(cli.app, arguments)
    failed = done.exception is not None and not isinstance(done.exception, SystemExit | FreegapError)
    if failed and done.exception is not None:
        raise done.exception
    assert isinstance(done.exception, FreegapError) or done.exit_code in (0, 1, 2)
    if not done.output.startswith("Usage:"):  # printed by `main`, which cleans it
        require_harmless(done.output.replace("\t", " "))
    return done


def command(name: str) -> Callable[[], None]:
    good = COMMANDS[name]
    free = sorted(set(good) - BOUNDED)
    choice = st.dictionaries(st.sampled_from(free), words, min_size=1, max_size=3)

    @FEWER
    @given(
        choice,
        st.lists(
            st.one_of(words, st.sampled_from(["--json", "--csv", "--measure", "--dry-run"])), max_size=1
        ),
    )
    def check(bad: dict[str, str], more: list[str]) -> None:
        arguments = name.split()
        for option, value in (good | bad).items():
            arguments += [option, value] if option else [value]
        with folder():
            before = fg.Ledger().account("shop")
            done = run([*arguments, *more])
            after = fg.Ledger().account("shop")
            if done.exit_code != 0 or isinstance(done.exception, FreegapError):
                assert (after.spent, after.reserved) == (before.spent, before.reserved)
            assert not Path("owned").exists()

    return check


TARGETS: dict[str, Callable[[], None]] = {f"freegap {name}": command(name) for name in COMMANDS}


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_of_freegap(name: str) -> None:
    TARGETS[name]()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_hostile_names_on_the_way_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger whose names are attacks: as a table, as JSON and as a spreadsheet's CSV."""
    url = f"sqlite:///{tmp_path}/ledger.db"
    monkeypatch.setenv("FREEGAP_LEDGER", url)
    ledger = fg.Ledger(url)
    taken = [name for name in NAMES if name.isprintable() and name == name.strip() and 0 < len(name) < 200]
    for name in taken:
        ledger.create(name, epsilon=1)
        ledger.reserve(name, "1/2", what=name, parameters={"item": name})
    assert {"=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1:9)", "<script>alert(1)</script>"} <= set(taken)
    for arguments in (["budget", "list"], ["budget", "list", "--json"], ["budget", "list", "--csv"]):
        done = run(arguments)
        assert done.exit_code == 0
        rows = list(csv.reader(io.StringIO(done.output))) if "--csv" in arguments else []
        assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]
    assert "[bold red]markup[/]" in run(["budget", "list"]).output.replace("\n", "")
    for name in taken:
        if not name.startswith("-"):
            assert run(["budget", "show", name, "--csv"]).exit_code == 0


def test_an_error_does_not_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is an attack is shown without its control characters, and a header not at all."""
    (tmp_path / "t.csv").write_text("se\x1b[31mcret,person\na,1\n")
    arguments = [
        "top-k",
        str(tmp_path / "t.csv"),
        "--item",
        "it\x1b[31mem",
        "--person",
        "person",
        "-k",
        "1",
        "--epsilon",
        "1",
    ]
    monkeypatch.setattr("sys.argv", ["freegap", *arguments, "--domain", "0..3"])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "it\\x1b[31mem" in said
    assert "cret" not in said
    require_harmless(said)
