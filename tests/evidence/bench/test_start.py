from __future__ import annotations

import json
from typing import Any

import pytest
import typer
from freegap_evidence.bench import start as bench
from freegap_evidence.commands.bench import start as command
from typer.testing import CliRunner


def test_each_start_is_timed_and_compared_with_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the processes: what they are started with, and what is made of their times."""
    started: list[list[str]] = []

    def run(arguments: list[str], **_: Any) -> None:
        started.append(arguments[1:])

    monkeypatch.setattr("freegap_evidence.bench.start.subprocess.run", run)

    def timed(contestants: Any, *, rounds: int) -> dict[str, float]:
        for contestant in contestants.values():
            contestant()
        return {name: 10.0 * (place + 1) for place, name in enumerate(contestants)}

    monkeypatch.setattr(bench, "interleaved_ms", timed)
    result = bench.run(rounds=1)
    ratios = {row["start"]: row["to_numpy"] for row in result["rows"]}
    assert ratios["import numpy"] == 1
    assert ratios["freegap top-k"] == 3
    assert ["-m", "freegap", "--help"] in started
    assert json.loads(json.dumps(result)) == result
    app = typer.Typer()
    app.command()(command)
    assert json.loads(CliRunner().invoke(app, ["--json", "--rounds", "1"]).stdout) == result
    assert "to import numpy" in CliRunner().invoke(app, [], env={"COLUMNS": "120"}).stdout
