"""The examples of the page on choosing run as printed, and its experiments exist."""

from __future__ import annotations

import doctest
from pathlib import Path

from freegap_evidence.experiments.registry import find

PAGE = Path(__file__).parents[3] / "docs" / "choosing.md"


def test_the_examples_run() -> None:
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted >= 5
    assert result.failed == 0


def test_the_command_names_experiments() -> None:
    command = PAGE.read_text(encoding="utf-8").split("```sh\n", 1)[1].split("\n", 1)[0]
    assert command.startswith("freegap experiment run ")
    assert {e.id for e in find(command.split()[3:])} == {"choosing", "branches", "split", "measures"}
