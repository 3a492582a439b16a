"""The benchmark of quantiles: both sides count the same people, and what it says is what was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence.bench import quantiles as bench
from typer.testing import CliRunner

from freegap.cli import app
from freegap.mechanisms.quantiles_node import Spread
from freegap.tables import quantiles as releasing


@pytest.mark.parametrize("form", bench.FORMS)
def test_both_count_the_same_people(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.parquet"
    bench.generate(path, rows=3000)
    seen: list[dict[int, int]] = []

    def counted(contestants: Any, **_: Any) -> dict[str, float]:
        contestants["quantiles"]()
        assert seen == [dict(contestants["engine"]())]
        return {"engine": 2.0, "quantiles": 3.0}

    def spread(cells: Any, counts: Any, size: int) -> Spread:
        seen.append(dict(zip(cells.tolist(), counts.tolist(), strict=True)))
        return Spread(cells, counts, size)

    monkeypatch.setattr(bench, "interleaved_ms", counted)
    monkeypatch.setattr(releasing, "Spread", spread)
    assert bench._measure(str(path), form, 1)["ratio"] == 1.5
    assert sum(seen[0].values()) > 250


def test_the_command() -> None:
    run = CliRunner()
    asked = ["bench", "quantiles", "--rows", "2000", "--rounds", "1", "--of", "largest"]
    (measured,) = json.loads(run.invoke(app, [*asked, "--json"]).stdout)["measured"]
    assert measured["ratio"] == pytest.approx(measured["quantiles_ms"] / measured["engine_ms"])
    assert "Nine quantiles of 2,000 rows" in run.invoke(app, asked).stdout
    assert run.invoke(app, [*asked, "--of", "mean"]).exit_code == 2
