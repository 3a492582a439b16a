"""The page and the document."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from freegap_evidence.experiments.registry import EXPERIMENTS
from freegap_evidence.experiments.report import gather
from typer.testing import CliRunner

from freegap.cli import app
from freegap.errors import InvalidArgument
from tests.evidence.experiments.test_run import go, small


@pytest.fixture
def written(tmp_path: Path) -> Path:
    for name in ("fig-5-1", "fig-5-7"):
        go(small(name), tmp_path, runs=20)
    return tmp_path


def test_the_page_stands_alone(written: Path) -> None:
    done = CliRunner().invoke(app, ["experiment", "report", "--out", str(written)], catch_exceptions=False)
    assert done.exit_code == 0
    page = (written / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2
    assert "<script" not in page
    addresses = set(re.findall(r'(?:src|href)="([^"]*)"', page))
    assert all(address.startswith("#") for address in addresses)
    names = re.findall(r'\bid="([^"]*)"', page)
    assert len(names) == len(set(names))  # two figures on one page keep their names apart
    assert {address[1:] for address in addresses} <= set(names)
    assert "does not hold as stated" in page
    assert "made for a test" in page


def test_the_document(written: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    done = CliRunner().invoke(
        app,
        ["experiment", "report", "--out", str(written), "--docs", str(docs), "--figure", "fig-5-7"],
        catch_exceptions=False,
    )
    assert done.exit_code == 0
    text = (docs / "reproduction.md").read_text(encoding="utf-8")
    assert "freegap experiment run all --runs 20 --seed 1" in text
    assert re.findall(r"!\[[^]]*\]\(([^)]*)\)", text) == ["figures/fig-5-7.svg"]
    assert [file.name for file in (docs / "figures").iterdir()] == ["fig-5-7.svg"]
    assert "### fig-5-1" in text


def test_nothing_written_yet(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="run all"):
        gather(tmp_path, EXPERIMENTS)


def test_the_commands(tmp_path: Path) -> None:
    listed = CliRunner().invoke(app, ["experiment", "list", "--json"], catch_exceptions=False)
    assert len(json.loads(listed.output)) == len(EXPERIMENTS)
    assert "fig-5-4" in CliRunner().invoke(app, ["experiment", "list"], catch_exceptions=False).output
    arguments = ["experiment", "run", "fig-5-1", "--out", str(tmp_path), "--runs", "5"]
    lines = CliRunner().invoke(app, arguments, catch_exceptions=False).output
    assert "fig-5-1" in lines
    assert "holds" in lines
    (record,) = json.loads(CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False).stdout)
    assert (record["id"], record["holds"]) == ("fig-5-1", True)
    assert sorted(file.suffix for file in tmp_path.glob("fig-5-1.*")) == [".csv", ".json", ".png", ".svg"]


def test_data_by_path(tmp_path: Path) -> None:
    rows = "\n".join(f"{i},{20_000 // (i + 1)}" for i in range(250))
    (tmp_path / "mine.csv").write_text(f"item,count\n{rows}\n", encoding="utf-8")
    arguments = ["experiment", "run", "fig-5-7", "--runs", "5", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(
        app, [*arguments, "--data", str(tmp_path / "mine.csv"), "--json"], catch_exceptions=False
    )
    (record,) = json.loads(done.stdout)
    assert [data["name"] for data in record["data"]] == ["mine"]


@pytest.mark.long
def test_all_experiments_with_few_runs(tmp_path: Path) -> None:
    """The command of the documentation; every figure is written, and the page gathers all of them."""
    arguments = ["experiment", "run", "all", "--runs", "200", "--out", str(tmp_path), "--json"]
    records = json.loads(CliRunner().invoke(app, arguments, catch_exceptions=False).stdout)
    assert [record["id"] for record in records] == [e.id for e in EXPERIMENTS]
    # These depend on no sample size, or have room for it.
    certain = {"fig-5-1", "fig-5-4", "fig-5-5", "fig-5-6", "fig-5-8", "fig-5-9", "secure-table-6", "choosing"}
    assert {record["id"] for record in records if record["holds"]} >= certain
    done = CliRunner().invoke(app, ["experiment", "report", "--out", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count("<svg") == len(EXPERIMENTS)
