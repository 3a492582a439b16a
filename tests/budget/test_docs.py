"""The examples of the page on the ledger run as printed."""

from __future__ import annotations

import doctest
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from freegap import cli

PAGE = Path(__file__).parent.parent.parent / "docs" / "budget.md"


def test_the_examples_in_python() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted >= 8
    assert result.failed == 0


def test_the_examples_in_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    block = PAGE.read_text(encoding="utf-8").split("```sh\n", 1)[1].split("```", 1)[0]
    commands = [line for line in block.splitlines() if line.startswith("freegap ")]
    assert len(commands) == 4
    for command in commands:
        done = CliRunner().invoke(cli.app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
