from __future__ import annotations

import csv
import io
import json
import sqlite3
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from typer.testing import CliRunner

import freegap as fg
from freegap import cli

runner = CliRunner()


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    return tmp_path / "ledger.db"


@pytest.fixture
def used() -> fg.Ledger:
    """A ledger with a settled, an open and an abandoned reservation."""
    ledger = fg.Ledger()
    ledger.create("shop", epsilon=5)
    ledger.create("[red]web", epsilon="1/3")
    parameters = {"k": 10, "note": "a\x1b[31mb"}
    ledger.reserve("shop", 2, what="noisy_top_k", parameters=parameters).settle("1000001/1000003")
    ledger.reserve("shop", 1, what="sparse_vector")
    ledger.reserve("shop", 1, what="measure").abandon("no file")
    return ledger


def run(*arguments: str) -> str:
    done = runner.invoke(cli.app, ["budget", *arguments], env={"COLUMNS": "80"})
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80 or "--json" in arguments or "--csv" in arguments
    return done.stdout


@pytest.mark.parametrize("command", [[], ["create"], ["show"], ["list"], ["verify"], ["record"]])
def test_help_fits_80_columns(command: list[str]) -> None:
    done = runner.invoke(cli.app, ["budget", *command, "--help"], terminal_width=80)
    assert done.exit_code == 0
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_create() -> None:
    assert (
        "shop: ε = 5 in all: 5 left"
        in runner.invoke(cli.app, ["budget", "create", "shop", "--epsilon", "5"]).output
    )
    made = json.loads(run("create", "web", "--epsilon", "1/3", "--json"))
    assert (made["dataset"], made["total"], made["remaining"]) == ("web", "1/3", "1/3")


def test_show_is_a_table_and_a_bar(used: fg.Ledger) -> None:
    text = run("show", "shop")
    for part in ("noisy_top_k", "k=10", "open", "abandoned", "█ spent ≈ 0.999998", "▒ reserved 1"):
        assert part in text
    assert "\x1b" not in text
    assert "█" * 12 + "▒" * 12 + "░" * 36 in text


def test_show_json_and_csv_are_exact(used: fg.Ledger) -> None:
    shown = json.loads(run("show", "shop", "--json"))
    assert shown["spent"] == "1000001/1000003"
    assert [charge["state"] for charge in shown["charges"]] == ["settled", "open", "abandoned"]
    assert {"who", "when", "what", "parameters", "charged"} <= set(shown["charges"][0])
    rows = list(csv.DictReader(io.StringIO(run("show", "shop", "--csv"))))
    assert [row["charged"] for row in rows] == ["1000001/1000003", "1", "0"]
    assert json.loads(rows[0]["parameters"])["k"] == 10
    both = runner.invoke(cli.app, ["budget", "show", "shop", "--json", "--csv"])
    assert both.exit_code == 2


def test_show_lists_the_newest_or_those_since_a_time(
    used: fg.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(*arguments: str) -> list[str]:
        return [charge["what"] for charge in json.loads(run("show", "shop", "--json", *arguments))["charges"]]

    assert listed() == listed("--last", "9") == ["noisy_top_k", "sparse_vector", "measure"]
    assert listed("--last", "2") == ["sparse_vector", "measure"]
    assert listed("--last", "1", "--since", "2026-01-01") == ["measure"]
    assert listed("--since", "9000-01-01") == []
    assert "The newest 1" in run("show", "shop", "--last", "1")
    assert "The newest" not in run("show", "shop", "--last", "4")
    monkeypatch.setattr("freegap.cli.budget._NEWEST", 2)
    assert "noisy_top_k" not in run("show", "shop")
    for bad in (("--last", "0"), ("--since", "yesterday")):
        refused = runner.invoke(cli.app, ["budget", "show", "shop", *bad])
        assert isinstance(refused.exception, fg.InvalidArgument)


def test_a_time_in_another_zone_is_the_same_moment(used: fg.Ledger) -> None:
    at = datetime.fromisoformat(used.entries("shop")[-1].when)
    there = at.astimezone(timezone(timedelta(hours=5)))
    assert used.entries("shop", since=there)[-1].when == at.isoformat()
    assert used.entries("shop", since=there.isoformat()) == used.entries(
        "shop", since=at.replace(tzinfo=None)
    )
    assert used.entries(since=at + timedelta(seconds=1)) == []


def test_a_small_reservation_is_seen_in_the_bar() -> None:
    ledger = fg.Ledger()
    ledger.create("shop", epsilon=5)
    ledger.reserve("shop", "0.005", what="tiny").settle("0.005")
    ledger.reserve("shop", "0.005", what="tiny")
    assert "█▒" + "░" * 58 in run("show", "shop")


def test_list(used: fg.Ledger) -> None:
    text = run("list")
    assert "[red]web" in text
    assert [row["dataset"] for row in json.loads(run("list", "--json"))["datasets"]] == ["[red]web", "shop"]
    rows = list(csv.DictReader(io.StringIO(run("list", "--csv"))))
    assert rows[1] == {
        "dataset": "shop",
        "measure": "epsilon",
        "unit": "epsilon",
        "total": "5",
        "spent": "1000001/1000003",
        "reserved": "1",
        "remaining": str(4 - used.account("shop").spent),
    }


def test_verify_and_its_exit_codes(used: fg.Ledger, file: Path) -> None:
    assert "The journal is whole: 7 lines." in run("verify")
    head = json.loads(run("verify", "--json"))["head"]
    assert json.loads(run("verify", "--head", head, "--json"))["ok"] is True
    replaced = runner.invoke(cli.app, ["budget", "verify", "--head", "0" * 64])
    assert replaced.exit_code == 1
    assert "an older copy was put back" in replaced.output
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TRIGGER freegap_journal_no_update")
        connection.execute("UPDATE freegap_journal SET amount = '1/5' WHERE sequence = 4")
    connection.close()
    broken = runner.invoke(cli.app, ["budget", "verify"])
    assert broken.exit_code == 1
    assert "broken at line 4: its content does not fit its hash" in broken.output
    shown = runner.invoke(cli.app, ["budget", "verify", "--json"])
    assert (shown.exit_code, json.loads(shown.stdout)["broken"]) == (1, 4)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "nix"], 4, "There is no ledger at"),
        (["create", "shop", "--epsilon", "much"], 2, "freegap: --epsilon 'much': is not a number"),
        (["create", "shop", "--epsilon", "0"], 2, "freegap: --epsilon '0': must be greater than 0"),
        (["list", "--url", "dbname=rubbish"], 2, "freegap: --url: is not a database URL"),
    ],
)
def test_mistakes_are_one_line_and_an_exit_code(
    arguments: list[str],
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["freegap", "budget", *arguments])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == code
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_budget_in_rho_and_one_in_epsilon_and_delta() -> None:
    made = runner.invoke(cli.app, ["budget", "create", "web", "--rho", "1/8"])
    assert "web: ρ = 1/8 in all: 1/8 left" in made.output
    both = json.loads(run("create", "clinic", "--epsilon", "1", "--delta", "1e-6", "--json"))
    assert (both["measure"], both["unit"], both["epsilon"]) == ("epsilon-delta", "rho", "1")
    assert (both["delta"], both["own_delta"]) == ("1/1000000", "1/2000000")
    run("record", "clinic", "--epsilon", "0.1", "--delta", "1e-8", "--by", "opendp", "--what", "ages")
    shown = json.loads(run("show", "clinic", "--json"))
    assert (shown["spent"], shown["own_delta_spent"]) == ("1/200", "1/100000000")
    assert shown["charges"][0]["asked"] == {
        "measure": "epsilon-delta",
        "spent": "1/10",
        "delta": "1/100000000",
    }
    assert shown["charges"][0]["parameters"] == {"by": "opendp"}
    rows = list(csv.DictReader(io.StringIO(run("list", "--csv"))))
    assert [(row["dataset"], row["measure"], row["delta"]) for row in rows] == [
        ("clinic", "epsilon-delta", "1/1000000"),
        ("web", "rho", ""),
    ]
    assert len(list(csv.DictReader(io.StringIO(run("show", "clinic", "--csv"))))) == 1


def test_show_in_the_budgets_own_words() -> None:
    fg.Ledger().create("web", rho="1/8")
    text = run("show", "web")
    assert "ρ = 1/8 in all: 1/8 left" in text
    assert "One more release of ε = 1/10 costs ρ = 1/200 and fits." in text
    assert "One more release of ρ = 1/100 costs ρ = 1/100 and fits." in text
    assert "One more release of ε = 1 costs ρ = 1/2 and does not fit." in run("show", "web", "--epsilon", "1")
    fg.Ledger().create("clinic", epsilon=1, delta="1e-6")
    fg.Ledger().record("clinic", epsilon="1/10", by="opendp", what="ages")
    text = run("show", "clinic")
    assert "ε = 1, δ = 1/1000000 in all" in text
    assert "kept as ρ, of which ≈ 0.0179374 of ≈ 0.0229374 is left" in text
    assert "for ε = 1/10" in text
    fg.Ledger().create("shop", epsilon=1)
    assert "One more release of ρ = 1/100 has no price here: the budget is in epsilon." in run("show", "shop")
    assert json.loads(run("show", "shop", "--json"))["one_more"][1] == {
        "measure": "rho",
        "spent": "1/100",
        "cost": None,
        "unit": "epsilon",
        "fits": False,
    }


def test_record() -> None:
    fg.Ledger().create("shop", epsilon=1)
    assert "shop: ε = 1 in all: 7/10 left" in run(
        "record", "shop", "--epsilon", "0.3", "--by", "opendp", "--what", "histogram of ages"
    )
    assert fg.Ledger().entries("shop")[1].parameters == {"by": "opendp"}
    made = json.loads(run("record", "shop", "--epsilon", "0.3", "--by", "me", "--what", "a", "--json"))
    assert made["remaining"] == "2/5"
