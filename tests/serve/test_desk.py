"""Who may do what, and that a release is the library's, paid at every level."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap.receipts.keys import SigningKey
from freegap.receipts.receipt import Receipt
from freegap.serve.desk import Desk, Forbidden, NotThere
from freegap.serve.pace import TooMany
from freegap.serve.people import Person
from freegap.serve.questions import read_question
from freegap.serve.settings import QuestionLimits
from freegap.serve.totals import AccountTotal
from tests.serve.conftest import QUESTION, HereWorkers, Service

ANN, BOB = Person("ann", "analyst"), Person("bob", "analyst")
OLGA, AUDITOR = Person("olga", "owner"), Person("ada", "auditor")


@pytest.mark.parametrize(
    ("changed", "arguments"),
    [
        ({}, {}),
        ({"measure": True, "noise": "laplace", "k": 2}, {"measure": True, "noise": "laplace", "k": 2}),
        ({"item": "city", "epsilon": 0.3}, {"item": "city", "epsilon": "3/10"}),
        ({"mechanism": "above", "threshold": 700, "k": 2}, {"threshold": 700, "k": 2}),
    ],
)
def test_it_is_the_release_of_the_library_on_the_same_bits(
    seeded: Service, changed: dict[str, Any], arguments: dict[str, Any]
) -> None:
    question = QUESTION | changed
    domain: Any = ["Rome", "Oslo", "Lima"] if question["item"] == "city" else ["tea", "milk", "rice"]
    function: Any = fg.above if question["mechanism"] == "above" else fg.top_k
    given = {"item": "product", "k": 1, "epsilon": "1/2"} | arguments
    made = function(
        seeded.folder / "baskets.parquet", person="customer", domain=domain, bits=fg.SeededBits(1), **given
    )
    found = seeded.desk.ask(ANN, question)
    assert found["release"] == json.loads(json.dumps(made.to_dict(), default=str))
    ledger = fg.Ledger(seeded.settings.ledger)
    spent = {account.dataset: account.spent for account in ledger.accounts()}
    assert spent["shop"] == spent["shop / team red"] == spent["shop / ann"] == made.spent
    assert ledger.entries("shop")[1].who == "ann"
    assert ledger.verify().ok


def test_quotas_run_out_each_by_itself(service: Service) -> None:
    assert [service.desk.ask(ANN, QUESTION)["status"] for _ in range(4)] == ["released"] * 3 + ["spent"]
    assert service.desk.ask(BOB, QUESTION)["status"] == "released", "the team has 1/2 left, and ann none"
    refused = service.desk.ask(BOB, QUESTION)
    assert (refused["status"], "shop / team red" in refused["error"]) == ("spent", True)
    left = {left["account"]: left["left"] for left in service.desk.sources(BOB)[0]["accounts"]}
    assert left == {"shop": "3", "shop / team red": "0"}
    assert fg.Ledger(service.settings.ledger).account("shop").remaining == Fraction(3)


def test_everybody_sees_what_is_theirs(service: Service) -> None:
    lines = [service.desk.ask(who, QUESTION)["line"] for who in (ANN, BOB, OLGA)]
    seen = {
        who.name: [made["sequence"] for made in service.desk.releases(who)]
        for who in (ANN, BOB, OLGA, AUDITOR, Person("carl", "analyst"))
    }
    assert seen == {"ann": lines[:1], "bob": lines[1:2], "olga": lines, "ada": lines, "carl": []}
    assert service.desk.release(ANN, lines[0])["release"] == "top_k"
    for who, line in ((ANN, lines[1]), (BOB, lines[0]), (Person("carl", "analyst"), lines[0]), (OLGA, 999)):
        with pytest.raises(NotThere, match=f"There is no release {line} for you"):
            service.desk.release(who, line)
        with pytest.raises(NotThere, match=f"There is no release {line} for you"):
            service.desk.receipt(who, line)
    assert [source["name"] for source in service.desk.sources(ANN)] == ["shop"]
    assert [source["name"] for source in service.desk.sources(AUDITOR)] == ["shop", "clinic"]
    receipt = Receipt.read(service.desk.receipt(ANN, lines[0]))
    receipt.check(SigningKey.read(service.settings.key_file).public)
    assert receipt.body["dataset"] == "shop"


def test_a_release_goes_with_the_quota_of_its_source(service: Service) -> None:
    """Whoever may no longer ask about a source sees no more of it, not even what they have asked for."""
    line = service.desk.ask(ANN, QUESTION)["line"]
    shop = replace(service.settings.sources["shop"], team_quotas={}, person_quotas={})
    settings = replace(service.settings, sources={**service.settings.sources, "shop": shop})
    without = Desk(settings, HereWorkers(settings.limits))
    for verb in (without.release, without.release_csv, without.receipt):
        with pytest.raises(NotThere, match=f"There is no release {line} for you"):
            verb(ANN, line)
    assert without.releases(ANN) == []
    assert without.release(OLGA, line) == service.desk.release(ANN, line)


def test_the_journal_is_for_those_who_oversee(service: Service) -> None:
    for verb in (service.desk.journal, service.desk.verification):
        with pytest.raises(Forbidden):
            verb(ANN)
    assert service.desk.verification(AUDITOR)["ok"]
    assert len(service.desk.journal(OLGA)) == 6
    with pytest.raises(Forbidden):
        service.desk.ask(AUDITOR, QUESTION)
    assert len(service.desk.journal(OLGA)) == 6


WRONG: list[Any] = [
    None,
    [],
    "shop",
    {},
    QUESTION | {"sauce": "shop"},
    QUESTION | {"source": "clinic"},
    QUESTION | {"source": ["shop"]},
    QUESTION | {"mechanism": "measure"},
    QUESTION | {"mechanism": "__import__"},
    QUESTION | {"item": "customer"},
    QUESTION | {"item": 'product" UNION SELECT customer FROM t --'},
    QUESTION | {"item": "Product"},
    QUESTION | {"k": 0},
    QUESTION | {"k": 1001},
    QUESTION | {"k": True},
    QUESTION | {"k": "1"},
    QUESTION | {"epsilon": "2"},
    QUESTION | {"epsilon": "1/1000"},
    QUESTION | {"epsilon": -1},
    QUESTION | {"epsilon": "1e-999999999"},
    QUESTION | {"epsilon": "9" * 60 + "/" + "9" * 59},
    QUESTION | {"epsilon": float("nan")},
    QUESTION | {"threshold": 3},
    QUESTION | {"noise": "gumbel"},
    QUESTION | {"measure": 1},
    QUESTION | {"mechanism": "above"},
    QUESTION | {"mechanism": "above", "threshold": 3, "measure": True},
    QUESTION | {"bits": 1},
    QUESTION | {"ledger": "x"},
    QUESTION | {"domain": "observed"},
    QUESTION | {"person": "product"},
]


def test_what_the_owner_does_not_allow_reaches_nothing(service: Service) -> None:
    allowed = {"shop": service.settings.sources["shop"]}
    for asked in WRONG:
        with pytest.raises(fg.InvalidArgument):
            read_question(asked, allowed)
        with pytest.raises(fg.InvalidArgument):
            service.desk.ask(ANN, asked)
    assert len(service.desk.journal(OLGA)) == 6


def test_a_failure_says_nothing_of_its_cause(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    """The table is missing, or cannot be read: one answer. The cause is in the log, the owner's."""
    for content in (None, b"patient,diagnosis\n1,flu,SECRET\n", b"\xff\xfe SECRET"):
        if content is not None:
            (service.folder / "SECRET-clinic.csv").write_bytes(content)
        carl = Person("carl", "analyst")
        asked = {"source": "clinic", "mechanism": "top_k", "item": "diagnosis", "k": 1, "epsilon": "1/10"}
        caplog.clear()
        assert service.desk.ask(carl, asked) == {"status": "failed"}
        assert "A question of carl about clinic has failed." in caplog.text
        assert "freegap.errors." in caplog.text
    left = fg.Ledger(service.settings.ledger).account("clinic").remaining
    assert left == Fraction(9, 10), "no table or no column costs nothing; rows that cannot be read cost all"


def test_what_depends_on_the_question_alone_is_told(service: Service) -> None:
    """And before anything is reserved or counted: nobody learns for nothing how long that takes."""
    lines = len(fg.Ledger(service.settings.ledger).entries())
    above = QUESTION | {"mechanism": "above", "threshold": 1}
    for asked, said in (
        (QUESTION | {"k": 3}, "k = 3: needs a domain of at least 4 items"),
        (above | {"k": 4}, "k = 4: needs a domain of at least 4 items"),
        (above | {"threshold": "1e30"}, "threshold = .*must be a number of people"),
    ):
        for ask in (service.desk.ask, service.desk.start_job, service.desk.plan):
            with pytest.raises(fg.InvalidArgument, match=said):
                ask(ANN, asked)
    assert len(fg.Ledger(service.settings.ledger).entries()) == lines
    assert service.desk.ask(ANN, above | {"k": 3})["status"] == "released"


def test_one_cannot_ask_without_end(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    limits = replace(service.settings.limits, questions_per_minute=2)
    service.desk.settings = replace(service.settings, limits=limits)
    now = [datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)]
    monkeypatch.setattr("freegap.serve.database.now", lambda: now[0])
    for _ in range(2):
        with pytest.raises(fg.InvalidArgument):
            service.desk.ask(ANN, {})
    with pytest.raises(TooMany):
        service.desk.ask(ANN, QUESTION)
    with pytest.raises(fg.InvalidArgument):
        service.desk.ask(BOB, {})
    now[0] += timedelta(seconds=1)
    with pytest.raises(fg.InvalidArgument):
        service.desk.ask(ANN, {})


def test_who_asks_keeps_nobody_waiting_for_good(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question is asked while the one before it runs."""
    running: list[str] = []

    class Nested(HereWorkers):
        def answer(self, task: Any, ticket: Any) -> dict[str, Any]:
            running.append(task.who)
            if task.who == "bob":
                return {"status": "failed"}
            try:
                return desk.ask(ANN, QUESTION)
            except TooMany:
                return desk.ask(BOB, QUESTION)

    desk = Desk(service.settings, Nested(QuestionLimits(workers=9)))
    for _ in range(2):  # there is room again
        assert desk.ask(ANN, QUESTION) == {"status": "failed"}
        assert running == ["ann"] * 4 + ["bob"]
        running.clear()
    monkeypatch.setattr("freegap.serve.desk._AT_ONCE_OF_ALL", 2)
    desk.ask(ANN, QUESTION)
    assert running == ["ann", "ann", "bob"], "bob has room when the second question has ended"


def test_heads_are_noted_where_the_environment_says_unless_the_settings_do(
    folder: Path, serving: Callable[..., Service], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FREEGAP_HEADS", str(folder / "head"))
    service = serving()
    assert service.desk.ask(ANN, QUESTION)["status"] == "released"
    newest = fg.Ledger(service.settings.ledger).entries()[-1]
    assert (folder / "head").read_text() == f"{newest.sequence} {newest.hash}\n"
    (folder / "head").unlink()
    (folder / "freegap.toml").write_text('heads = ["other"]\n' + (folder / "freegap.toml").read_text())
    assert serving().desk.ask(ANN, QUESTION)["status"] == "released"
    assert (folder / "other").exists()
    assert not (folder / "head").exists()


def test_a_ledger_that_is_gone_is_not_begun_anew(
    service: Service, serving: Callable[..., Service], tmp_path: Path
) -> None:
    """Also without heads. Another ledger in its place is none either; with the old one all is as before."""
    assert service.desk.ask(ANN, QUESTION)["status"] == "released"
    file, aside = service.folder / "ledger.db", tmp_path / "aside.db"
    file.rename(aside)
    with pytest.raises(fg.LedgerUnavailable, match="that this service has used is not there"):
        serving()
    assert not file.exists()
    fg.Ledger(service.settings.ledger).create("other", epsilon=5)
    with pytest.raises(fg.LedgerDamaged, match="not the ledger that this service has used"):
        serving()
    aside.replace(file)
    left = serving().desk.sources(ANN)[0]["accounts"][0]["left"]
    assert left == "9/2"


def test_a_total_that_is_changed_in_the_settings_is_refused(service: Service) -> None:
    service.desk.open()
    from dataclasses import replace

    shop = replace(service.settings.sources["shop"], budget=AccountTotal({"epsilon": "50"}))
    changed = Desk(replace(service.settings, sources={"shop": shop}), HereWorkers(service.settings.limits))
    with pytest.raises(fg.InvalidArgument, match="which is fixed"):
        changed.open()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            '["Rome", "Oslo", "Lima"]',
            '["Rome", "Oslo", "Rome"]',
            "items.city = .*must not name an item twice",
        ),
        ('["Rome", "Oslo", "Lima"]', '"5..4"', "items.city = .*has no items"),
        ('"products.csv"', '"empty.csv"', "items.product = .*has no items"),
        ('"products.csv"', '"nameless.csv"', "items.product = .*has no column called 'product'"),
        ('"products.csv"', '"nowhere.csv"', "items.product = .*"),
    ],
)
def test_a_domain_that_no_question_could_use_is_noticed_at_the_start(
    folder: Path, serving: Callable[..., Service], old: str, new: str, said: str
) -> None:
    (folder / "empty.csv").write_text("product,price\n,1\n")
    (folder / "nameless.csv").write_text("tea,1\nmilk,2\n")
    settings = folder / "freegap.toml"
    settings.write_text(settings.read_text().replace(old, new))
    with pytest.raises(fg.InvalidArgument, match=f"^sources.shop.{said}"):
        serving()
    assert not (folder / "ledger.db").exists()
