from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from freegap.bench import base2 as bench
from freegap.cli.bench_base2 import base2 as command


def test_a_hundred_thousand_questions_a_second() -> None:
    """Measured at twenty million; a loaded machine is not two hundred times slower."""
    result = bench.run(questions=200_000, cases=bench.CASES[:1], rounds=1)
    (row,) = result["rows"]
    assert row["answered"] == 200_000
    assert row["batch_per_second"] >= result["target_per_second"] == 100_000
    assert row["gap_per_second"] >= 100_000
    assert json.loads(json.dumps(result)) == result


def test_the_command_prints_a_table_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    app.command()(command)
    small = bench.run(questions=300, cases=bench.CASES[:1], rounds=1)
    monkeypatch.setattr(bench, "run", lambda **_: small)
    assert json.loads(CliRunner().invoke(app, ["--json"]).stdout) == small
    table = CliRunner().invoke(app, [], env={"COLUMNS": "120"}).stdout
    assert "questions a second" in table
    assert f"{small['rows'][0]['batch_per_second']:,}" in table
