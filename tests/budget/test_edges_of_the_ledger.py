"""The ledger at its edges: amounts with a δ, the longest names, each error in its words."""

from __future__ import annotations

import json
import os
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError, InvalidRequestError

import freegap as fg
from freegap import (
    BudgetExceeded,
    InvalidArgument,
    Ledger,
    LedgerDamaged,
    LedgerUnavailable,
    UnsettledWarning,
)
from freegap.budget import accounting, store
from freegap.budget.accounting import (
    NOTHING,
    Balance,
    BrokenRule,
    Cost,
    close,
    kept_short,
    opened,
    parsed_amount,
    reserve,
    rounded_up,
    shown,
)
from freegap.budget.arguments import name_argument, own_delta_argument, parameters_text, time_argument, who
from freegap.budget.budgets import Budget
from freegap.budget.chain import GENESIS, Line, verified
from freegap.budget.faults import in_words
from freegap.budget.lines import first_line, lines_of
from freegap.budget.location import locate
from freegap.budget.notes import thread_of
from freegap.budget.once import Once, look_up
from freegap.budget.records import Verification, parameters_from_text
from freegap.budget.statement import charges
from freegap.values.measures import Approximate, Pure, ZeroConcentrated

HALF, TINY = Fraction(1, 2), Fraction(1, 10**6)


def test_costs_are_compared_and_cut_part_by_part() -> None:
    cost = Cost(HALF, TINY)
    assert cost <= cost
    assert not Cost(HALF, TINY * 2) <= cost
    assert not Cost(HALF * 2, TINY) <= cost
    assert cost - Cost(HALF) == Cost(Fraction(0), TINY)
    assert cost + cost == Cost(2 * HALF, 2 * TINY)
    assert cost.at_most(Cost(1, TINY / 2)) == Cost(HALF, TINY / 2)  # type: ignore[arg-type]
    assert cost.at_most(Cost(HALF / 2, TINY * 2)) == Cost(HALF / 2, TINY)
    assert rounded_up(Fraction(1, 2**65)) == Fraction(1, 2**64)
    assert rounded_up(Fraction(2, 3)).denominator == 2**64
    third = Cost(Fraction(1, 3), Fraction(1, 7))
    assert third.rounded_up == Cost(rounded_up(Fraction(1, 3)), rounded_up(Fraction(1, 7)))
    assert Cost(Fraction(0), Fraction(0)) == NOTHING


def test_what_is_left_counts_both_parts() -> None:
    balance = Balance(Cost(Fraction(5), 4 * TINY), Cost(Fraction(1), TINY), Cost(Fraction(2), TINY))
    assert balance.remaining == Cost(Fraction(2), 2 * TINY)
    assert Balance(Cost(HALF)).remaining == Cost(HALF)


def test_a_delta_is_never_less_than_nothing_and_never_more_than_is_left() -> None:
    assert opened(Cost(HALF, Fraction(0))).total == Cost(HALF)
    balance = opened(Cost(HALF, TINY))
    assert reserve(balance, Cost(HALF, TINY)).remaining == NOTHING
    assert reserve(balance, Cost(HALF)).remaining == Cost(Fraction(0), TINY)
    steps: list[Callable[[], Balance]] = [
        lambda: opened(Cost(HALF, -TINY)),
        lambda: opened(Cost(Fraction(0), TINY)),
        lambda: reserve(balance, Cost(HALF, -TINY)),
        lambda: reserve(balance, Cost(Fraction(0), TINY)),
        lambda: reserve(balance, Cost(HALF, TINY * 2)),
        lambda: close(replace(balance, reserved=Cost(HALF, TINY)), Cost(HALF, TINY), Cost(HALF, TINY * 2)),
        lambda: close(replace(balance, reserved=Cost(HALF, TINY)), Cost(HALF, TINY * 2), Cost(HALF)),
        lambda: close(replace(balance, reserved=Cost(HALF, TINY)), Cost(HALF, TINY), Cost(HALF, -TINY)),
    ]
    for broken in steps:
        with pytest.raises(BrokenRule):
            broken()
    closed = close(reserve(balance, Cost(HALF, TINY)), Cost(HALF, TINY), Cost(HALF / 2, TINY / 2))
    assert (closed.spent, closed.reserved) == (Cost(HALF / 2, TINY / 2), NOTHING)


def test_each_part_is_shortened_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounting, "SUM_DIGITS", 10)
    long = Fraction(1, 3**30)
    third = Fraction(1, 3)
    assert kept_short(Cost(third, third), Cost(long, HALF)) == Cost(rounded_up(third), third)
    assert kept_short(Cost(third, third), Cost(HALF, long)) == Cost(third, rounded_up(third))
    assert kept_short(Cost(third, third)) == Cost(third, third)
    # Ten digits are too many, be they above or below the line; nine are not.
    for digits, short in ((9, True), (10, False)):
        nearly = Fraction(int("9" * digits))
        assert (kept_short(Cost(third), Cost(nearly - third)) == Cost(third)) is short
        below = 1 / nearly
        assert (kept_short(Cost(third), Cost(below - third)) == Cost(third)) is short


@pytest.mark.parametrize(
    "text", ["", "1", "1/", "/1", "1/0", "2/4", "01/2", "1/02", "-1/2", "1/2/3", "١/٢", "1 /2"]
)
def test_an_amount_in_any_other_spelling_is_refused(text: str) -> None:
    with pytest.raises(BrokenRule, match="must be stored"):
        parsed_amount(text)


def test_amounts_for_people_at_their_longest() -> None:
    whole = Fraction(10**11)
    assert shown(whole) == str(10**11)
    assert shown(Fraction(123456789, 1000), longest=5) == "≈ 123457"
    assert shown(Fraction(12345), longest=5) == "12345"
    assert shown(Fraction(123456), longest=5) == "≈ 123456"


def test_names_at_their_longest() -> None:
    assert name_argument("dataset", "x" * 200) == "x" * 200
    assert name_argument("dataset", "a b") == "a b"
    for wrong in ("x" * 201, "", " a", "a ", "a\tb", "a\u200bb"):
        with pytest.raises(InvalidArgument, match="must be 1 to 200 printable characters") as caught:
            name_argument("what", wrong)
        assert caught.value.argument == "what"
    with pytest.raises(InvalidArgument, match=r'what = 7: must be text. Pass for example what="shop"'):
        name_argument("what", 7)


def test_parameters_at_their_longest() -> None:
    fits = {"x": "y" * (20_000 - len('{"x":""}'))}
    assert len(parameters_text(fits)) == 20_000
    with pytest.raises(InvalidArgument, match="must fit in 20000 characters"):
        parameters_text({"x": fits["x"] + "y"})
    assert parameters_text(None) == parameters_text({}) == "{}"
    nested: dict[str, Any] = {"b": [1, (None, True)], "a": {"c": Fraction(1, 3), "d": "ä"}}
    text = parameters_text(nested)
    assert json.loads(text) == {"a": {"c": "1/3", "d": "ä"}, "b": [1, [None, True]]}
    assert text.startswith('{"a":{"c":"1/3",')
    for wrong in ([1], {"a": object()}, {"a": [object()]}, {"a": {1: 2}}, {1: 2}, {"a": b"x"}, {"a": 1j}):
        with pytest.raises(InvalidArgument) as caught:
            parameters_text(wrong)  # type: ignore[arg-type]
        assert "object at" not in str(caught.value)


def test_who_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "a\nb")
    monkeypatch.setattr("platform.node", lambda: "")
    assert who() == "a?b@unknown"
    monkeypatch.setattr("platform.node", lambda: "h" * 300)
    assert who() == "a?b@" + "h" * 196


def test_the_part_of_delta_for_releases() -> None:
    total = Approximate(Fraction(1), TINY)
    assert own_delta_argument(None, total) is None
    assert own_delta_argument(0, total) == 0
    assert own_delta_argument(TINY * Fraction(999, 1000), total) == TINY * Fraction(999, 1000)
    for wrong in (TINY, TINY * 2, -TINY):
        with pytest.raises(InvalidArgument, match="own_delta"):
            own_delta_argument(wrong, total)


CODES = {
    "SQLITE_FULL": "cannot grow: the disk is full",
    "SQLITE_IOERR_WRITE": "got an error from the disk",
    "SQLITE_READONLY_DIRECTORY": "is read-only",
    "SQLITE_CANTOPEN": "cannot be opened",
    "SQLITE_PERM": "cannot be opened",
    "SQLITE_AUTH": "cannot be opened",
    "SQLITE_BUSY_SNAPSHOT": "is locked by another process",
    "SQLITE_LOCKED": "is locked by another process",
    "08006": "cannot be reached: the connection failed or was lost",
    "57P01": "cannot be reached: the server is stopping or starting",
    "53100": "cannot grow: the server's disk is full",
    "53300": "cannot be reached: the server has too many connections",
    "25006": "is read-only",
    "25P03": "the server ended a transaction that stood still too long",
    "42501": "may not be used by this user",
    "55P03": "is locked by another process",
    "28P01": "refused the user or the password",
    "3D000": "names a database that does not exist",
    "XYZ99": r"got an error from the database \(XYZ99\)",
}


@pytest.mark.parametrize(("code", "words"), CODES.items())
def test_each_fault_in_its_words(code: str, words: str) -> None:
    error: Any = sqlite3.OperationalError("SECRET") if code.startswith("SQLITE") else psycopg.Error("SECRET")
    if code.startswith("SQLITE"):
        error.sqlite_errorname = code
    else:
        error.sqlstate = code
    with (
        pytest.raises(LedgerUnavailable, match=rf"^The ledger x\.db .*{words}.*stays charged") as caught,
        in_words("x.db"),
    ):
        raise DBAPIError("SELECT 1", None, error)
    assert "SECRET" not in str(caught.value)
    assert isinstance(caught.value.__cause__, DBAPIError)


@pytest.mark.parametrize(
    "code",
    [
        "SQLITE_NOTADB",
        "SQLITE_CORRUPT_INDEX",
        "SQLITE_CONSTRAINT_UNIQUE",
        "SQLITE_MISMATCH",
        "XX001",
        "23505",
        "42P01",
    ],
)
def test_each_damage_in_its_words(code: str) -> None:
    error: Any = psycopg.Error("SECRET")
    error.sqlstate = code
    with (
        pytest.raises(LedgerDamaged, match=rf"is not a ledger or is damaged \({code}\).*stays charged"),
        in_words("x"),
    ):
        raise DBAPIError("SELECT 1", None, error)


def test_faults_that_have_no_code() -> None:
    with pytest.raises(LedgerUnavailable, match="the connection failed or was lost"), in_words("x"):
        raise DBAPIError("SELECT 1", None, psycopg.OperationalError("SECRET"))
    with (
        pytest.raises(LedgerUnavailable, match=r"cannot be used \(InvalidRequestError\).*Check the URL"),
        in_words("x"),
    ):
        raise InvalidRequestError("SECRET")
    with pytest.raises(ZeroDivisionError), in_words("x"):  # what is no fault of a database goes by
        raise ZeroDivisionError


def line(**changes: Any) -> Line:
    """The first line of a journal: a dataset of ε = 5."""
    bare = Line(
        sequence=1, dataset="shop", kind="create", reservation=None, amount="5/1", total="5/1", spent="0/1",
        reserved="0/1", what="create", parameters="{}", who="me", at="2026-01-01T00:00:00+00:00",
        previous=GENESIS,
    )  # fmt: skip
    changed = replace(bare, **changes)
    return replace(changed, hash=changed.digest())


def following(*lines: dict[str, Any]) -> list[Line]:
    """A journal of these lines after the first, linked."""
    journal = [line()]
    for changes in lines:
        journal.append(line(sequence=len(journal) + 1, previous=journal[-1].hash, **changes))
    return journal


def outcome(journal: list[Line]) -> Verification:
    return verified(journal, (journal[-1].sequence, journal[-1].hash))


RESERVE: dict[str, Any] = {"kind": "reserve", "amount": "2/1", "reserved": "2/1"}
SETTLE: dict[str, Any] = {"kind": "settle", "amount": "1/1", "spent": "1/1", "reservation": 2}
ABANDON: dict[str, Any] = {"kind": "abandon", "amount": "0/1", "reservation": 2}
WEB: dict[str, Any] = {"dataset": "web", "total": "3/1"}


def test_a_journal_that_obeys_the_rules() -> None:
    for journal in (
        following(),
        following(RESERVE),
        following(RESERVE, SETTLE),
        following(RESERVE, ABANDON),
        following(RESERVE, SETTLE, RESERVE | {"spent": "1/1"}),
        following(WEB | {"amount": "3/1"}, RESERVE | WEB),
    ):
        found = outcome(journal)
        assert found == Verification(True, len(journal), journal[-1].hash)
        assert (bool(found), found.broken, found.reason) == (True, None, None)


@pytest.mark.parametrize(
    ("journal", "broken", "reason"),
    [
        (following({}), 2, "a dataset must be created once"),
        ([line(amount="4/1")], 1, "a dataset must be created with its total"),
        (following(RESERVE | WEB), 2, "a dataset must be created before it is charged"),
        (following(RESERVE | {"kind": "refund"}), 2, "the kind of a line must be create, reserve, settle, a"),
        (following(RESERVE | {"reservation": 1}), 2, "only a settled or abandoned line may name a reserv"),
        ([line(reservation=1)], 1, "only a settled or abandoned line may name a reservation"),
        (following(RESERVE | {"reserved": "3/1"}), 2, "the account that it states must be what the lines"),
        (following(RESERVE | {"amount": "6/1", "reserved": "6/1"}), 2, "must not exceed what is left"),
        (following(RESERVE, SETTLE | {"reservation": None}), 3, "must name its reservation"),
        (following(RESERVE, SETTLE | {"reservation": 1}), 3, "closes a reservation that is not open"),
        (following(RESERVE, SETTLE, SETTLE), 4, "closes a reservation that is not open"),
        (following(RESERVE, SETTLE | {"amount": "3/1", "spent": "3/1"}), 3, "between 0 and what was"),
        (following(RESERVE, ABANDON | {"amount": "1/1", "spent": "1/1"}), 3, "must have spent nothing"),
        (following(RESERVE | {"total": "6/1"}), 2, "the total and its measure must stay as they were"),
        (
            following(WEB | {"amount": "3/1"}, RESERVE, SETTLE | WEB | {"reservation": 3}),
            4,
            "a reservation must be closed on its own dataset",
        ),
        (following(RESERVE | {"parameters": "[1]"}), 2, "parameters must be stored as a JSON object"),
        (following(RESERVE | {"parameters": "{"}), 2, "parameters must be stored as a JSON object"),
    ],
)  # fmt: skip
def test_a_journal_that_breaks_a_rule(journal: list[Line], broken: int, reason: str) -> None:
    found = outcome(journal)
    assert (bool(found), found.broken, found.entries) == (False, broken, broken - 1)
    assert found.head == (journal[broken - 2].hash if broken > 1 else GENESIS)
    assert reason in str(found.reason)


def test_lines_out_of_order_and_ends_that_do_not_fit() -> None:
    journal = following(RESERVE, SETTLE)
    assert verified([journal[0], journal[2]], (3, journal[2].hash)).reason == (
        "line 2 is missing: after line 1 comes line 3"
    )
    changed = replace(journal[1], what="x")
    assert "does not fit its hash" in str(verified([journal[0], changed], (2, changed.hash)).reason)
    stranger = line(sequence=2, previous="0" * 64, **RESERVE)
    assert "does not follow the line before" in str(
        verified([journal[0], stranger], (2, stranger.hash)).reason
    )
    short = verified(journal[:2], (3, journal[2].hash))
    assert (short.entries, short.broken) == (2, 3)
    assert short.reason == "the journal ends after line 2, but the ledger has recorded 3 lines"
    other = verified(journal, (3, "0" * 64))
    assert (other.broken, other.reason) == (
        4,
        "the last line is not the one that the ledger has recorded as its last",
    )
    odd = replace(line(), dataset=b"shop")  # type: ignore[arg-type]
    assert not odd.intact


def test_a_head_that_was_noted() -> None:
    journal = following(RESERVE, SETTLE)
    end = (3, journal[2].hash)
    for noted in (None, GENESIS, *(one.hash for one in journal)):
        assert verified(journal, end, noted)
    missing = verified(journal, end, "0" * 64)
    assert (missing.ok, missing.broken, missing.entries) == (False, None, 3)
    assert "no line has the hash that was noted earlier" in str(missing.reason)
    assert verified([], (0, GENESIS), GENESIS)
    assert not verified([], (0, GENESIS), journal[0].hash)


@pytest.mark.parametrize(
    "text",
    [
        "", "5", "5/1 delta", "5/1 sigma", "5/1 epsilon", "1/8 rho + 1/9 rho", "1/8 rho + 1/9 delta",
        "1/8 rho + 1/9 delta + 1/7 epsilon within 1/1 epsilon + 1/3 delta", "1/8 rho within 1/1 epsilon",
        "5/1 within 1/1 epsilon + 1/3 delta",
    ],
)  # fmt: skip
def test_budgets_that_are_not_stored_as_they_were_declared(text: str) -> None:
    with pytest.raises(BrokenRule):
        Budget.parsed(text)


def test_amounts_that_are_not_in_the_measure_of_the_budget() -> None:
    rho = Budget.of(ZeroConcentrated(HALF))
    both = Budget.of(Approximate(Fraction(1), TINY))
    assert rho.parsed_cost("1/2 rho") == Cost(HALF)
    assert both.parsed_cost("1/2 rho + 1/9 delta") == Cost(HALF, Fraction(1, 9))
    for budget, text in (
        (rho, "1/2"), (rho, "1/2 epsilon"), (rho, "1/2 rho + 1/9 delta"), (both, "1/2 rho"),
        (both, "1/9 delta + 1/2 rho"), (Budget.of(Pure(HALF)), "1/2 epsilon"),
    ):  # fmt: skip
        with pytest.raises(BrokenRule):
            budget.parsed_cost(text)
    for text in ("1/2 rho for ", "1/2 rho", "1/2 rho for 1/2", "1/2 rho for 1/2 delta"):
        with pytest.raises(BrokenRule):
            rho.parsed_charge(text)


def test_words_about_a_budget() -> None:
    pure, both = Budget.of(Pure(Fraction(5))), Budget.of(Approximate(Fraction(1), TINY))
    assert (pure.sign, pure.kept, both.sign, both.kept) == ("ε", Pure, "ρ", ZeroConcentrated)
    assert pure.cost_in_words(Cost(HALF)) == "ε = 1/2"
    assert both.cost_in_words(Cost(HALF, TINY)) == "ρ = 1/2, δ = 1/1000000"
    assert both.cost_in_words(Cost(HALF)) == "ρ = 1/2"
    assert pure.left_in_words(Cost(HALF)) == "1/2 of ε = 5"
    assert both.left_in_words(Cost(HALF, TINY)).startswith("1/2 of ρ = ")
    assert both.left_in_words(Cost(HALF, TINY)).endswith(" and 1/1000000 of δ = 1/2000000")
    assert pure.asked_in_words(Pure(HALF), Cost(HALF)) == "1/2 was asked for"
    assert both.asked_in_words(Pure(HALF), Cost(HALF)) == "ε = 1/2 was asked for, which costs ρ = 1/2"
    with pytest.raises(InvalidArgument, match=r"declare the budget in rho, or in epsilon and delta\."):
        pure.cost(ZeroConcentrated(HALF))
    with pytest.raises(InvalidArgument, match=r"declare the budget in epsilon and delta\."):
        pure.cost(Approximate(HALF, TINY))


def test_what_is_kept_must_stay_within_what_was_declared() -> None:
    fair = Budget.of(Approximate(Fraction(1), TINY))
    fair.check()
    for unfair in (
        replace(fair, total=Cost(fair.total.amount * 2, fair.total.delta)),
        replace(fair, total=Cost(fair.total.amount, TINY)),
        replace(fair, total=Cost(fair.total.amount, 2 * TINY)),
        replace(fair, total=Cost(fair.total.amount, fair.total.delta * Fraction(3, 2))),
    ):
        with pytest.raises(BrokenRule, match="must be within what was declared"):
            unfair.check()
    rho = Budget.of(ZeroConcentrated(HALF))
    rho.check_charge(Cost(Fraction(1, 3)), ZeroConcentrated(Fraction(1, 3)))
    rho.check_charge(Cost(rounded_up(Fraction(1, 3))), ZeroConcentrated(Fraction(1, 3)))
    above = rounded_up(Fraction(1, 3)) + Fraction(1, 2**65)
    for wrong in (Fraction(1, 4), above):
        with pytest.raises(BrokenRule, match="must be the cost of what was asked for"):
            rho.check_charge(Cost(wrong), ZeroConcentrated(Fraction(1, 3)))
    with pytest.raises(BrokenRule, match="in a measure that the budget can be charged in") as caught:
        rho.check_charge(Cost(HALF), Approximate(HALF, TINY))
    assert caught.value.__suppress_context__


def test_what_a_statement_says(file_ledger: Ledger) -> None:
    settled, abandoned, _ = (file_ledger.reserve("shop", 1, what=what) for what in "abc")
    settled.settle("1/3")
    abandoned.abandon("not run")
    entries = file_ledger.entries("shop")
    found = charges(entries)
    assert [(one.what, one.state, one.reserved, one.charged) for one in found] == [
        ("a", "settled", Fraction(1), Fraction(1, 3)),
        ("b", "abandoned", Fraction(1), Fraction(0)),
        ("c", "open", Fraction(1), Fraction(1)),
    ]
    assert [one.sequence for one in found] == [2, 3, 4]
    first = found[0].to_dict()
    assert (first["reserved"], first["charged"], first["delta"], first["unit"]) == (
        "1",
        "1/3",
        "0",
        "epsilon",
    )
    assert first["asked"] == {"measure": "epsilon", "spent": "1"}
    entry = entries[-2].to_dict()
    assert (entry["kind"], entry["amount"], entry["delta"], entry["reservation"]) == ("settle", "1/3", "0", 2)
    assert parameters_from_text("{}") == {}


def test_an_account_as_plain_values(tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("both", epsilon=1, delta="1e-6", own_delta="5e-7")
    ledger.record("both", epsilon="1/100", delta="1e-7", by="me", what="a")
    ledger.reserve("both", epsilon="1/100", delta="2e-7", what="b")
    account = ledger.account("both")
    found = account.to_dict()
    assert (found["dataset"], found["measure"], found["unit"]) == ("both", "epsilon-delta", "rho")
    assert (found["epsilon"], found["delta"]) == ("1", "1/1000000")
    assert (found["spent"], found["reserved"]) == ("1/20000", "1/20000")
    assert found["own_delta"] == "1/2000000"
    assert found["own_delta_spent"] == "1/10000000"
    assert found["own_delta_reserved"] == "1/5000000"
    assert found["own_delta_remaining"] == "1/5000000"
    assert account.fits(epsilon="1/100", delta="2e-7")
    assert not account.fits(epsilon="1/100", delta="3e-7")
    assert account.fits(rho="1/100")
    assert not account.fits(rho=1)
    assert account.cost(rho="1/100") == Cost(Fraction(1, 100))
    assert ledger.entries("both")[1].to_dict()["asked"] == {
        "measure": "epsilon-delta", "spent": "1/100", "delta": "1/10000000",
    }  # fmt: skip


def test_a_total_that_is_fixed_is_named_by_the_argument_that_was_passed(file_ledger: Ledger) -> None:
    with pytest.raises(InvalidArgument) as caught:
        file_ledger.create("shop", rho=5)
    assert (caught.value.argument, caught.value.value) == ("rho", "5")
    with pytest.raises(InvalidArgument) as caught:
        file_ledger.create("shop", epsilon=6)
    assert (caught.value.argument, caught.value.value) == ("epsilon", "6")


def test_a_reservation_says_what_it_is(file_ledger: Ledger) -> None:
    made = file_ledger.reserve("shop", "1/2", what="noisy_max")
    assert str(made) == "2 (ε = 1/2 on 'shop', noisy_max)"
    assert repr(made) == "<Reservation 2 (ε = 1/2 on 'shop', noisy_max)>"
    with pytest.raises(KeyError) as caught, made:
        raise KeyError
    assert caught.value.__notes__ == [f"Reservation {made} stays charged in full."]
    made.settle("1/3")
    with pytest.raises(KeyError) as caught, made:
        raise KeyError
    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(InvalidArgument, match=r"is closed already: settle at 1/3"):
        made.abandon("x")
    given_back = file_ledger.reserve("shop", "1/2", what="a")
    given_back.abandon("x")
    with pytest.raises(KeyError) as caught, given_back:
        raise KeyError
    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(InvalidArgument, match=r"is closed already: abandon at 0"):
        given_back.settle("1/2")


def test_a_warning_points_at_the_line_of_the_caller(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    ledger = Ledger(f"sqlite:///{file}")
    ledger.create("shop", epsilon=5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ledger.charge("shop", lambda: file.rename(tmp_path / "away"), epsilon=1, what="a")
    (warning,) = [one for one in caught if one.category is UnsettledWarning]
    assert warning.filename == __file__
    assert "is charged in full, ε = 1." in str(warning.message)


@pytest.mark.parametrize(
    ("url", "shown_as"),
    [
        ("postgresql://me:hunter2@host/x", "postgresql+psycopg://me:***@host/x"),
        ("postgresql://me@host/x?password=hunter2", "postgresql+psycopg://me@host/x?password=***"),
        ("postgresql://host/x?sslpassword=hunter2", "postgresql+psycopg://host/x?sslpassword=***"),
        ("postgresql://host/x?sslmode=require", "postgresql+psycopg://host/x?sslmode=require"),
    ],
)
def test_a_url_as_it_may_be_shown(url: str, shown_as: str) -> None:
    assert unquote(str(locate(url))) == shown_as


@pytest.mark.parametrize("url", ["postgresql://host:port/x", "sqlite:///a\ud800.db", "dbname=rubbish"])
def test_what_is_no_url_is_not_shown(url: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a database URL") as caught:
        locate(url)
    assert caught.value.__suppress_context__
    assert caught.value.argument == "url"


def test_an_empty_variable_names_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREEGAP_LEDGER", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    found = locate(None)
    assert (found.file, found.default) == (tmp_path / "freegap" / "ledger.db", True)
    assert not locate(f"sqlite:///{tmp_path}/x.db").default
    assert locate("postgresql://host/x").file is None
    Ledger().create("shop", epsilon=1)
    assert (tmp_path / "freegap").stat().st_mode & 0o777 == 0o700
    Ledger().create("web", epsilon=1)  # the directory is there already
    with pytest.raises(LedgerUnavailable, match="cannot be opened"):  # only the default one's is made
        Ledger(f"sqlite:///{tmp_path}/no/x.db").create("shop", epsilon=1)


def test_how_a_server_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the URL says about the connection is kept; the rest is set so that a lost server is noticed."""
    seen: list[dict[str, Any]] = []
    monkeypatch.setattr(store, "create_engine", lambda url, **options: seen.append(options))
    store._engine(locate("postgresql://host/x?connect_timeout=3"))
    store._engine(locate("postgresql://host/x"))
    without, usual = (one["connect_args"] for one in seen)
    assert set(usual) - set(without) == {"connect_timeout"}
    assert without == {name: value for name, value in usual.items() if name != "connect_timeout"}
    assert all(one["hide_parameters"] is True for one in seen)
    assert {"keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"} < set(usual)


def test_a_file_that_cannot_be_looked_for(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="cannot be read") as caught:
        Ledger(f"sqlite:///{tmp_path}/{'x' * 5000}.db").accounts()
    assert caught.value.__suppress_context__


def test_parts_of_a_journal(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest releases with all that was written after the first of them; or from a time on."""
    seconds = iter(range(100))
    start = datetime(2130, 1, 1, tzinfo=UTC)  # after line 1
    monkeypatch.setattr("freegap.budget.journal.now", lambda: start + timedelta(seconds=next(seconds)))
    ledger.create("web", epsilon=5)  # line 2, at 0 seconds
    first, second = (ledger.reserve("shop", 1, what=what) for what in "ab")  # 3 and 4
    ledger.reserve("web", 1, what="c")  # 5
    second.settle(1)  # 6
    first.settle(1)  # 7, at 5 seconds

    def numbers(dataset: str | None = None, **part: Any) -> list[int]:
        return [entry.sequence for entry in ledger.entries(dataset, **part)]

    assert numbers(last=1) == [5, 6, 7]
    assert numbers(last=2) == [4, 5, 6, 7]
    assert numbers(last=3) == [3, 4, 5, 6, 7]
    assert numbers(last=4) == numbers() == [1, 2, 3, 4, 5, 6, 7]
    assert numbers("shop", last=1) == [4, 6, 7]
    assert numbers("web", last=1) == [5]
    assert numbers(since=start) == [2, 3, 4, 5, 6, 7]
    assert numbers("shop", since=start + timedelta(seconds=2)) == [4, 6, 7]
    assert numbers("web", since=start + timedelta(seconds=1)) == [5]
    assert numbers(since=start + timedelta(seconds=5)) == [7]
    assert numbers(since=start + timedelta(seconds=6)) == []
    assert numbers(last=2, since=start + timedelta(seconds=3)) == [5, 6, 7]
    for wrong in (0, -1, "3", True):
        with pytest.raises(InvalidArgument, match="last"):
            ledger.entries(last=wrong)  # type: ignore[arg-type]


def test_times_as_the_journal_writes_them() -> None:
    for given in ("2026-11-16T08:30", "2026-11-16T09:30+01:00", datetime(2026, 11, 16, 8, 30)):
        assert time_argument("since", given) == "2026-11-16T08:30:00+00:00"
    assert time_argument("since", "2026-11-16") == "2026-11-16T00:00:00+00:00"
    assert time_argument("since", "2026-11-16T08:30:01.999") == "2026-11-16T08:30:01+00:00"
    for wrong in ("yesterday", "", 7, None, "0001-01-01T00:00+23:00"):
        with pytest.raises(InvalidArgument, match=r"since = .*: must be a time"):
            time_argument("since", wrong)


def test_what_would_be_refused_is_refused_and_nothing_is_held(file_ledger: Ledger) -> None:
    file_ledger.reserve("shop", 2, what="a")
    file_ledger.require("shop", epsilon=3)
    with pytest.raises(BudgetExceeded, match="has 3 of ε = 5 left, and 4 was asked for"):
        file_ledger.require("shop", epsilon=4)
    with pytest.raises(InvalidArgument, match="cannot be charged to a budget in epsilon"):
        file_ledger.require("shop", rho="1/8")
    with pytest.raises(InvalidArgument, match="cannot be charged to a budget in epsilon"):
        file_ledger.require("shop", epsilon=1, delta="1e-9")
    with pytest.raises(InvalidArgument, match="is not in the ledger"):
        file_ledger.require("web", epsilon=1)
    assert len(file_ledger.entries()) == 2


def test_a_ledger_is_put_in_its_place_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were it made there, a crash could leave half of one; and made elsewhere, it could not be moved."""
    put: list[list[str]] = []
    link = os.link

    def linked(apart: Path, file: Path) -> None:
        assert apart.parent.parent == tmp_path
        with closing(sqlite3.connect(apart)) as made:
            put.append(
                [name for (name,) in made.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            )
        link(apart, file)

    monkeypatch.setattr("os.link", linked)
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    assert [sorted(tables) for tables in put] == [["freegap_journal", "freegap_ledger"]]
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]  # and nothing of where it was made
    assert ledger.verify().entries == 1


def test_who_only_reads_waits_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_PATIENCE", 0.1)
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    fg.noisy_max([3, 90], epsilon=1, ledger=(ledger, "shop"))
    with closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert ledger.account("shop").total == 5
        assert len(ledger.entries()) == ledger.verify().entries == 3
        assert len(ledger.accounts()) == 1
        ledger.require("shop", epsilon=4)
        assert ledger.release(2)["labels"] == [1]
        first = first_line(ledger)
        assert first is not None
        assert first == lines_of(ledger, 2).first
        assert thread_of(ledger, "shop", "t").first.hash == first.hash
        assert look_up(ledger, "ann", Once("x")) == (None, Once("x", 3))
        with pytest.raises(LedgerUnavailable, match="is locked by another process"):
            ledger.reserve("shop", 1, what="a")


def test_a_line_that_was_changed_is_not_shown_as_if_it_were_right(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    ledger = Ledger(f"sqlite:///{file}")
    ledger.create("shop", epsilon=5)
    ledger.reserve("shop", 1, what="a")
    with closing(sqlite3.connect(file)) as outside:
        outside.execute("DROP TRIGGER freegap_journal_no_update")
        outside.execute("UPDATE freegap_journal SET what = 'b' WHERE sequence = 2")
        outside.commit()
    for look in (ledger.entries, ledger.accounts, lambda: ledger.account("shop")):
        with pytest.raises(LedgerDamaged, match="line 2 does not fit its hash"):
            look()
    assert ledger.verify().broken == 2
