"""Fitting and showing how cost grows; the measurement itself is `freegap bench growth`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence.bench import growth
from freegap_evidence.bench.growth import AXES, Axis, exponent, fitted, point, run
from freegap_evidence.bench.growth_page import page
from typer.testing import CliRunner

from freegap.cli import app


def quadratic(axis: Axis, size: int) -> dict[str, Any]:
    times = {"ms": 9.0 * size, "processor_ms": 3.0 * size**2}
    return {"size": size, **times, "system_share": 0.625, "added_mb": 2.0 * size**0.5, "rounds": 1}


def test_an_exponent_is_the_slope_of_the_logarithms() -> None:
    assert exponent([(10, 5.0), (1000, 50.0)]) == pytest.approx(0.5)
    assert exponent([(10, 5.0)]) is None
    assert exponent([(10, 5.0), (20, 0.0)]) is None


def test_only_settled_points_are_fitted() -> None:
    """A fixed cost bends the line at small sizes, and does not count."""
    axis = Axis("a", "a", (1, 10, 100, 1000), 100, 1.0, "", AXES[0].prepared)
    points = [{"size": size, "processor_ms": max(50.0, size), "added_mb": 0.0} for size in axis.sizes]
    found = fitted(axis, points)
    assert found["time_exponent"] == pytest.approx(1)
    assert found["memory_exponent"] is None
    assert not found["faster_than_theory"]


def test_what_grows_faster_is_said(tmp_path: Path) -> None:
    result = run(axes=AXES[:2], measured=quadratic)
    assert [row["time_exponent"] for row in result["rows"]] == pytest.approx([2, 2])
    assert [row["memory_exponent"] for row in result["rows"]] == pytest.approx([0.5, 0.5])
    assert all(row["faster_than_theory"] for row in result["rows"])
    assert [[p["size"] for p in row["points"]] for row in result["rows"]] == [
        list(axis.sizes) for axis in AXES[:2]
    ]
    assert json.loads(json.dumps(result)) == result
    text = page(result, command="freegap bench growth", figure="growth.svg")
    assert text.count("at the last size 62% of the processor time is the operating system's") == 2


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_every_axis_can_be_measured(axis: Axis, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, at its smallest size, once."""
    monkeypatch.setattr(growth, "_SECONDS", 0.0)
    if axis.name == "k":
        monkeypatch.setattr(growth, "K_OF", 1000)
    measured = point(axis, axis.sizes[0])
    assert measured["size"] == axis.sizes[0]
    assert measured["rounds"] == 1
    assert measured["ms"] > 0
    assert measured["processor_ms"] >= 0
    assert measured["system_share"] is None  # of so short a time
    assert measured["added_mb"] >= 0


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, Any] = {}
    result = run(axes=AXES[:1], largest=1000, measured=quadratic)
    assert [row["size"] for row in result["rows"][0]["points"]] == [10, 100, 1000]

    def made(**options: Any) -> dict[str, Any]:
        asked.update(options)
        return result

    monkeypatch.setattr(growth, "run", made)
    written = tmp_path / "growth.md"
    command = ["bench", "growth", "--largest", "1e3", "--page", str(written)]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "140"})
    assert done.exit_code == 0, done.output
    assert asked["largest"] == 1000
    assert "n answers below a million, top 10: exponents" in done.output
    assert "3,000,000" in done.output
    text = written.read_text()
    assert "| 1,000 | 9,000 | 3,000,000 | 63.2 |" in text
    assert (tmp_path / "figures" / "growth.svg").exists()
    assert json.loads(CliRunner().invoke(app, ["bench", "growth", "--json"]).stdout) == result
    assert "is not a size" in CliRunner().invoke(app, ["bench", "growth", "--largest", "many"]).output
