"""Amounts of any length and names in any spelling: refused, shortened or found; never slow, never two."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from freegap import BudgetExceeded, InvalidArgument, Ledger
from freegap.budget import accounting
from freegap.budget.accounting import (
    AMOUNT_DIGITS,
    SUM_DIGITS,
    Balance,
    Cost,
    amount_text,
    kept_short,
    rounded_up,
)
from freegap.budget.budgets import Budget
from freegap.values.measures import Pure

COMPOSED, DECOMPOSED = "Cafés", unicodedata.normalize("NFD", "Cafés")


@pytest.mark.parametrize(
    "huge",
    [
        Fraction(1, 10**400_000),
        Fraction(10**400_000, 3),
        10**400_000,
        Decimal("0." + "1" * 400_000),
        Decimal(f"1e-{AMOUNT_DIGITS}"),
        Fraction(1, 10**AMOUNT_DIGITS + 1) / 1000,
    ],
    ids=["denominator", "numerator", "whole", "long decimal", "small decimal", "just too long"],
)
def test_an_amount_with_too_many_digits_is_refused_at_once(
    file_ledger: Ledger, huge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservation = file_ledger.reserve("shop", 1, what="a")

    def slow(amount: Fraction) -> str:
        raise AssertionError("turned into text, which takes minutes")

    for call in (
        lambda: file_ledger.reserve("shop", huge, what="a"),
        lambda: file_ledger.create("web", epsilon=huge),
        lambda: reservation.settle(huge),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(accounting, "amount_text", slow)
            with pytest.raises(InvalidArgument, match="must not have more than"):
                call()
    assert len(file_ledger.entries()) == 2


def test_a_sum_stays_short_by_rounding_up(file_ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounting, "SUM_DIGITS", 40)
    exact = Fraction(0)
    primes = (10007, 10009, 10037, 10039, 10061, 10067, 10069, 10079, 10091, 10093, 10099, 10103)
    for prime in primes:
        reservation = file_ledger.reserve("shop", Fraction(2, prime), what="a")
        assert 0 <= reservation.asked.spent - Fraction(2, prime) < Fraction(1, 2**64)
        reservation.settle(Fraction(1, prime))
        reservation.settle(Fraction(1, prime))  # the same again is harmless
        with pytest.raises(InvalidArgument, match="is closed already"):
            reservation.settle(Fraction(1, 2 * prime))
        exact += Fraction(1, prime)
    account = file_ledger.account("shop")
    assert 0 < account.spent - exact < Fraction(len(primes), 2**64)
    assert account.reserved == 0
    assert len(amount_text(account.spent)) < 2 * (40 + 25)
    assert file_ledger.verify().ok


def test_what_is_settled_never_exceeds_what_was_reserved(
    file_ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    reservation = file_ledger.reserve("shop", Fraction(1, 10007), what="a")
    monkeypatch.setattr(accounting, "SUM_DIGITS", 2)
    reservation.settle(Fraction(1, 10007))
    assert file_ledger.account("shop").spent == Fraction(1, 10007)


def test_rounding_up_is_to_the_next_multiple() -> None:
    assert rounded_up(Fraction(1, 3)) - Fraction(1, 3) < Fraction(1, 2**64)
    assert rounded_up(Fraction(1, 3)) > Fraction(1, 3)
    assert rounded_up(Fraction(3, 2**64)) == Fraction(3, 2**64)
    assert SUM_DIGITS == 10_000
    seventh = Cost(Fraction(1, 7))
    long = Fraction(1, 3**20_980)  # 10,010 digits
    assert kept_short(seventh, Cost(Fraction(1, 5)), Cost(long)) == Cost(rounded_up(Fraction(1, 7)))
    short = Fraction(1, 3**20_900)
    assert kept_short(seventh, Cost(Fraction(1, 5)), Cost(short)) == seventh


def test_two_spellings_are_one_account(ledger: Ledger) -> None:
    assert COMPOSED != DECOMPOSED
    assert ledger.create(DECOMPOSED, epsilon=1).dataset == COMPOSED
    assert ledger.create(COMPOSED, epsilon=1).total == 1
    reservation = ledger.reserve(DECOMPOSED, "3/4", what=f"for {DECOMPOSED}")
    assert (reservation.dataset, reservation.what) == (COMPOSED, f"for {COMPOSED}")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(COMPOSED, "3/4", what="a")
    reservation.settle("1/2")
    assert ledger.account(DECOMPOSED) == ledger.account(COMPOSED)
    assert ledger.entries(DECOMPOSED) == ledger.entries(COMPOSED)
    assert [account.dataset for account in ledger.accounts()] == [COMPOSED, "shop"]
    with pytest.raises(InvalidArgument, match="exists with a total of ε = 1"):
        ledger.create(DECOMPOSED, epsilon=2)


def written_by_an_older_version(ledger: Ledger, dataset: str, total: int) -> None:
    with ledger._store.journal(write=True) as journal:
        budget = Budget.of(Pure(Fraction(total)))
        journal.append(
            "create", dataset, budget.text(), budget, Balance(budget.total), what="create", who="me"
        )


def test_a_name_that_an_older_version_kept_decomposed_is_found(ledger: Ledger) -> None:
    written_by_an_older_version(ledger, DECOMPOSED, 2)
    for name in (COMPOSED, DECOMPOSED):
        assert ledger.account(name).dataset == DECOMPOSED
        ledger.reserve(name, "1/2", what="a").settle("1/2")
        assert ledger.create(name, epsilon=2).dataset == DECOMPOSED
    assert ledger.account(COMPOSED).spent == 1
    assert len(ledger.accounts()) == 2
    assert ledger.verify().ok


def test_two_accounts_of_an_older_version_are_told_apart_by_their_spelling(ledger: Ledger) -> None:
    other = unicodedata.normalize("NFD", "é") + "é"
    for number, dataset in enumerate((unicodedata.normalize("NFD", "éé"), other), start=1):
        written_by_an_older_version(ledger, dataset, number)
        assert ledger.account(dataset).total == number
    with pytest.raises(
        InvalidArgument, match=r"is the name of 2 datasets .*'e\\u0301e\\u0301', 'e\\u0301\\xe9'"
    ):
        ledger.account("éé")
    with pytest.raises(InvalidArgument, match="is the name of 2 datasets"):
        ledger.create("éé", epsilon=3)
