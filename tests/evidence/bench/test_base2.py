from __future__ import annotations

import json
from functools import partial

import pytest
import typer
from freegap_evidence.bench import base2 as bench
from freegap_evidence.bench.timing import interleaved_ms
from freegap_evidence.commands.bench import base2 as command
from typer.testing import CliRunner


def test_medians_of_runs_that_take_turns() -> None:
    """By a given clock: a takes 1, 2 and 9 s, b always 4; the first run of each is not measured."""
    now = 0.0
    order: list[str] = []
    lasting = {"a": iter([100.0, 9.0, 1.0, 2.0]), "b": iter([100.0, 4.0, 4.0, 4.0])}

    def work(name: str) -> None:
        nonlocal now
        order.append(name)
        now += next(lasting[name])

    assert interleaved_ms(
        {"a": partial(work, "a"), "b": partial(work, "b")}, rounds=3, clock=lambda: now
    ) == {"a": 2000, "b": 4000}
    assert order == ["a", "b"] * 4


def test_questions_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each run takes a fourth, a half and one second: what is answered, by that."""
    times = {"plain": 250.0, "gap": 500.0, "online": 1000.0}
    monkeypatch.setattr(bench, "interleaved_ms", lambda contestants, *, rounds: times)
    result = bench.run(questions=30_000, cases=bench.CASES[:1], rounds=1)
    (row,) = result["rows"]
    assert row["answered"] == 30_000
    assert row["batch_per_second"] == 120_000
    assert row["gap_per_second"] == 60_000
    assert row["online_per_second"] == bench.ONLINE_QUESTIONS == 20_000
    assert result["target_per_second"] == 100_000
    assert json.loads(json.dumps(result)) == result


def test_the_command_prints_a_table_or_json(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    app.command()(command)
    small = bench.run(questions=300, cases=bench.CASES[:1], rounds=1)
    monkeypatch.setattr(bench, "run", lambda **_: small)
    assert json.loads(CliRunner().invoke(app, ["--json"]).stdout) == small
    table = CliRunner().invoke(app, [], env={"COLUMNS": "120"}).stdout
    assert "questions per second" in table
    assert f"{small['rows'][0]['batch_per_second']:,}" in table
