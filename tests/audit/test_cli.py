"""`freegap audit` on the command line: verdicts, exit codes, files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app

SMALL = ["--samples", "4000", "--search-samples", "1000", "--seed", "1", "--jobs", "1"]

MECHANISMS = """
import math

def right(answers, epsilon, rng):
    return math.floor(16 * (sum(answers) + rng.laplace(scale=1 / epsilon)))

def wrong(answers, factor, epsilon, rng):
    return sum(answers)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "audited_mechanisms.py"
    path.write_text(MECHANISMS)
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.syspath_prepend(str(tmp_path))
    return path


def test_a_function_passes_or_fails_with_its_exit_code(module: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    passed = run(app, ["audit", "audited_mechanisms:right", "-e", "1", "--neighbours", "one", *SMALL])
    assert passed.exit_code == 0
    assert "No violation found" in passed.output
    page, picture = tmp_path / "r.html", tmp_path / "c.svg"
    files = ["--html", str(page), "--plot", str(picture), "--parameter", "factor=2"]
    failed = run(app, ["audit", f"{module}:wrong", "-e", "1", "--json", *files, *SMALL])
    assert failed.exit_code == 1
    assert json.loads(failed.output)["violated"] is True
    assert page.exists()
    assert picture.exists()


def test_the_catalogue_as_json() -> None:
    words = ["audit", "--catalogue", "--json", "--entries", "laplace,laplace_half_noise", "-e", "1.5", *SMALL]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    record = json.loads(result.stdout)
    assert record["as_expected"] is True
    assert [row["violated"] for row in record["rows"]] == [False, True]
    assert record["rows"][1]["wrong_line"]


def test_lengths_inputs_and_other_claims(module: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke
    pairs = tmp_path / "pairs.json"
    pairs.write_text("[[[0], [1]]]")
    base = ["audit", "audited_mechanisms:right", "--parameter", "epsilon=1", *SMALL]
    for more in (["--rho", "1/2", "--inputs", str(pairs)], ["--rho", "0.5", "--inputs", "[[[0], [1]]]"]):
        found = run(app, [*base, *more])
        assert found.exit_code == 0, found.output
        assert "claims ρ = 0.5" in found.output
    refuted = run(app, [*base, "-e", "0.1", "--delta", "0.01", "--lengths", "1", "--json"])
    assert refuted.exit_code == 1, refuted.output
    record = json.loads(refuted.output)
    assert record["delta_lower_bound"] > 0.01
    assert len(record["counterexample"]["first"]) == 1
    for wrong, argument in ((["--inputs", "no-such-file"], "inputs"), (["--lengths", "many"], "lengths")):
        result = run(app, [*base, "-e", "1", *wrong])
        assert isinstance(result.exception, fg.InvalidArgument)
        assert result.exception.argument == argument


@pytest.mark.parametrize(
    ("words", "argument"),
    [
        (["mod:function"], "epsilon"),
        (["-e", "1"], "target"),
        (["nonsense", "-e", "1"], "target"),
        (["no.such.module:f", "-e", "1"], "target"),
        (["--catalogue", "--entries", "unknown"], "entries"),
        (["audited_mechanisms:right", "-e", "1", "--parameter", "factor"], "parameter"),
    ],
)
def test_a_mistake_is_named(words: list[str], argument: str, module: Path) -> None:
    result = CliRunner().invoke(app, ["audit", *words])
    assert isinstance(result.exception, fg.InvalidArgument)
    assert result.exception.argument == argument
