"""`freegap plan`: from each kind of assumption, as a table, as JSON, and into files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from freegap.cli import app
from freegap.errors import InvalidArgument


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["plan", *words], catch_exceptions=True)


LAW = ("-k", "3", "--items", "50", "--largest", "900")


def test_a_power_law_as_a_table_and_in_files(tmp_path: Path) -> None:
    page = tmp_path / "new" / "plan.html"
    shown = run(*LAW, "--out", str(page))
    assert shown.exit_code == 0, shown.exception
    assert "is enough: exactly the right items come out with a chance of 95 %" in shown.output
    assert "<svg" in page.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").count("<table>") == 2


def test_the_other_assumptions(tmp_path: Path) -> None:
    file = tmp_path / "public.csv"
    file.write_text("item,people\na,300\nb,200\nc,7\n")
    by_file = run("-k", "1", "--public-file", str(file), "--count-column", "people", "--json")
    listed = run("-k", "1", "--counts", "300,200,7", "--json")
    assert json.loads(by_file.stdout)["suggested"] == json.loads(listed.stdout)["suggested"]
    above = run("-k", "2", "--counts", "300,200,7", "--threshold", "100", "--rho", "0.1", "--json")
    assert json.loads(above.stdout)["at"]["recall"] > 0.9


@pytest.mark.parametrize(("words", "argument"), [
    (("-k", "1"), "largest"),
    ((*LAW, "--counts", "1,2"), "largest"),
    (("-k", "1", "--largest", "5"), "items"),
    (("-k", "1", "--counts", "5,x"), "counts"),
    (("-k", "1", "--release", "nowhere.json"), "counts"),
    ((*LAW, "--out", "plan.txt"), "path"),
    ((*LAW, "--out", "/dev/null/plan.svg"), "out"),
])  # fmt: skip
def test_what_is_refused(words: tuple[str, ...], argument: str) -> None:
    refused = run(*words).exception
    assert isinstance(refused, InvalidArgument)
    assert refused.argument == argument
