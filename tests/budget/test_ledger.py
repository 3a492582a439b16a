"""The ledger's promises on both engines, where nothing goes wrong and where callers err."""

from __future__ import annotations

import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap import BudgetExceeded, InvalidArgument, Ledger, LedgerUnavailable, UnsettledWarning
from freegap.budget.accounting import Balance, Cost
from freegap.budget.arguments import who
from freegap.budget.budgets import Budget
from freegap.budget.records import Account
from freegap.budget.statement import charges
from freegap.values.measures import Pure


def account(spent: str | int | Fraction, reserved: str | int, total: int = 5) -> Account:
    budget = Budget.of(Pure(Fraction(total)))
    return Account("shop", budget, Balance(budget.total, Cost(Fraction(spent)), Cost(Fraction(reserved))))


def test_reserve_then_settle_gives_the_rest_back(ledger: Ledger) -> None:
    reservation = ledger.reserve("shop", 2, what="sparse_vector", parameters={"k": 3})
    assert ledger.account("shop") == account(0, 2)
    reservation.settle(Fraction(1, 3))
    assert ledger.account("shop") == account("1/3", 0)
    assert ledger.account("shop").remaining == Fraction(14, 3)


def test_abandon_gives_everything_back(ledger: Ledger) -> None:
    ledger.reserve("shop", 2, what="top_k").abandon("the file was not there")
    assert ledger.account("shop") == account(0, 0)
    assert ledger.entries("shop")[-1].what == "the file was not there"


def test_amounts_are_exact(ledger: Ledger) -> None:
    for _ in range(3):
        ledger.reserve("shop", "0.1", what="a").settle("0.1")
    ledger.reserve("shop", 0.1, what="a").settle(0.1)
    ledger.reserve("shop", "1/3", what="a").settle("1/3")
    assert ledger.account("shop").spent == Fraction(4, 10) + Fraction(1, 3)


def test_a_budget_can_be_spent_to_the_last_and_no_further(ledger: Ledger) -> None:
    third = Fraction(5, 3)
    for _ in range(3):
        ledger.reserve("shop", third, what="a")
    assert ledger.account("shop").remaining == 0
    before = ledger.entries()
    with pytest.raises(BudgetExceeded, match="'shop' has 0 of ε = 5 left, and 1/1000000 was asked for"):
        ledger.reserve("shop", "0.000001", what="a")
    assert ledger.entries() == before
    assert ledger.verify().ok


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, InvalidArgument])
def test_a_block_that_ends_by_an_error_stays_charged(ledger: Ledger, error: type[BaseException]) -> None:
    arguments = ("k", 0, "is bad", "Mend it.") if error is InvalidArgument else ()
    with pytest.raises(error) as caught, ledger.reserve("shop", 2, what="top_k"):
        raise error(*arguments)
    assert ledger.account("shop") == account(0, 2)
    assert caught.value.__notes__ == ["Reservation 2 (ε = 2 on 'shop', top_k) stays charged in full."]


def test_a_block_without_settle_stays_charged(ledger: Ledger) -> None:
    with ledger.reserve("shop", 2, what="top_k"):
        pass
    assert ledger.account("shop") == account(0, 2)


def test_charge_settles_at_what_the_release_spent(ledger: Ledger) -> None:
    release = ledger.charge(
        "shop",
        lambda: fg.sparse_vector([1, 2, 10**6], 1000, k=5, epsilon=1),
        epsilon=1,
        what="sparse_vector",
        parameters={"k": 5},
    )
    assert release.above == (False, False, True)
    assert 0 < release.spent < 1
    assert ledger.account("shop") == account(release.spent, 0)


def test_charge_refuses_before_the_release_runs(ledger: Ledger) -> None:
    ran = []
    with pytest.raises(BudgetExceeded):
        ledger.charge("shop", lambda: ran.append(1), epsilon=6, what="top_k")
    assert ran == []


def test_charge_keeps_all_charged_where_the_release_fails(ledger: Ledger) -> None:
    with pytest.raises(ZeroDivisionError):
        ledger.charge("shop", lambda: 1 / 0, epsilon=1, what="top_k")
    assert ledger.account("shop") == account(0, 1)


def test_charge_takes_a_result_without_spent_in_full(ledger: Ledger) -> None:
    assert ledger.charge("shop", lambda: 42, epsilon=1, what="own mechanism") == 42
    assert ledger.account("shop") == account(1, 0)


@pytest.mark.parametrize("spent", [Fraction(2), Fraction(1, 2), Fraction(-1), 0.5, None])
def test_what_a_foreign_result_says_it_spent_decides_nothing(file_ledger: Ledger, spent: Any) -> None:
    """Neither an error, which would be an output, nor a lower charge, which nobody has proved."""

    class Release:
        pass

    release = Release()
    release.spent = spent  # type: ignore[attr-defined]
    assert file_ledger.charge("shop", lambda: release, epsilon=1, what="own mechanism") is release
    assert file_ledger.account("shop") == account(1, 0)


def test_a_release_outlives_a_ledger_that_fails_after_it(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    ledger = Ledger(f"sqlite:///{file}")
    ledger.create("shop", epsilon=5)
    away = tmp_path / "away.db"

    def release() -> Any:
        file.rename(away)
        file.mkdir()  # the file of the ledger can no longer be opened
        return fg.noisy_max([1, 2, 3], epsilon=1)

    with pytest.warns(UnsettledWarning, match=r"charged in full, ε = 1\. The ledger .* cannot be opened"):
        assert ledger.charge("shop", release, epsilon=1, what="noisy_max").spent == 1
    file.rmdir()
    away.rename(file)
    assert ledger.account("shop") == account(0, 1)


def test_closing_again_the_same_way_is_harmless_and_otherwise_refused(ledger: Ledger) -> None:
    reservation = ledger.reserve("shop", 2, what="a")
    reservation.settle(1)
    reservation.settle(1)
    assert ledger.account("shop") == account(1, 0)
    assert len(ledger.entries()) == 3
    with pytest.raises(InvalidArgument, match="is closed already: settle at 1"):
        reservation.settle(0)
    with pytest.raises(InvalidArgument, match="is closed already: settle at 1"):
        reservation.abandon("changed my mind")
    assert ledger.account("shop") == account(1, 0)


@pytest.mark.parametrize("spent", ["-1/2", "2.0001", "x", float("nan"), True])
def test_settle_wants_an_amount_within_the_reservation(file_ledger: Ledger, spent: Any) -> None:
    reservation = file_ledger.reserve("shop", 2, what="a")
    with pytest.raises(InvalidArgument, match="spent = "):
        reservation.settle(spent)
    assert file_ledger.account("shop") == account(0, 2)


def test_create_again_with_the_same_total_changes_nothing(ledger: Ledger) -> None:
    ledger.reserve("shop", 2, what="a").settle(1)
    assert ledger.create("shop", epsilon="5.0") == account(1, 0)
    with pytest.raises(InvalidArgument, match="exists with a total of ε = 5"):
        ledger.create("shop", epsilon=6)
    assert len(ledger.entries()) == 3


def test_datasets_do_not_share(ledger: Ledger) -> None:
    ledger.create("Laden „Ü“ 東京", epsilon=1)
    ledger.reserve("Laden „Ü“ 東京", 1, what="naïve [red]").settle(1)
    assert ledger.account("shop") == account(0, 0)
    assert [made.dataset for made in ledger.accounts()] == sorted(["shop", "Laden „Ü“ 東京"])
    assert {entry.dataset for entry in ledger.entries("shop")} == {"shop"}
    assert len(ledger.entries()) == 4
    assert ledger.verify().ok


def test_entries_say_who_when_what(ledger: Ledger) -> None:
    parameters = {"k": 3, "epsilon": Fraction(1, 3), "items": ("a", None, True), "huge": 10**30, "nul": "\0"}
    ledger.reserve("shop", 2, what="top_k", parameters=parameters).settle(1)
    created, reserved, settled = ledger.entries("shop")
    assert [entry.kind for entry in (created, reserved, settled)] == ["create", "reserve", "settle"]
    assert [entry.amount for entry in (created, reserved, settled)] == [5, 2, 1]
    assert [entry.sequence for entry in (created, reserved, settled)] == [1, 2, 3]
    assert (reserved.reservation, settled.reservation) == (None, 2)
    assert "@" in reserved.who
    assert reserved.when.endswith("+00:00")
    assert reserved.parameters == {
        "epsilon": "1/3",
        "huge": str(10**30),
        "items": ["a", None, True],
        "k": 3,
        "nul": "\0",
    }
    (charge,) = charges(ledger.entries("shop"))
    assert charge.state == "settled"
    assert [charge.reserved, charge.charged] == [2, 1]


@pytest.mark.parametrize("dataset", ["", "  ", "shop ", "a\nb", "\0", "x" * 201, 7, None, "\ud800"])
def test_names_must_be_printable(file_ledger: Ledger, dataset: Any) -> None:
    for call in (
        lambda: file_ledger.create(dataset, epsilon=1),
        lambda: file_ledger.account(dataset),
        lambda: file_ledger.reserve(dataset, 1, what="a"),
        lambda: file_ledger.reserve("shop", 1, what=dataset),
    ):
        with pytest.raises(InvalidArgument):
            call()
    assert len(file_ledger.entries()) == 1


@pytest.mark.parametrize(
    "parameters",
    [{"answers": object()}, {"answers": {1: 2}}, [1], {"answers": list(range(10_000))}, {"s": {1}}],
)
def test_parameters_must_be_plain_and_are_not_shown(file_ledger: Ledger, parameters: Any) -> None:
    with pytest.raises(InvalidArgument) as caught:
        file_ledger.reserve("shop", 1, what="a", parameters=parameters)
    assert "9999" not in str(caught.value)
    assert "object at" not in str(caught.value)
    assert len(file_ledger.entries()) == 1


@pytest.mark.parametrize("epsilon", [0, -1, "x", float("inf")])
def test_epsilon_must_be_positive(file_ledger: Ledger, epsilon: Any) -> None:
    with pytest.raises(InvalidArgument, match="epsilon"):
        file_ledger.reserve("shop", epsilon, what="a")
    with pytest.raises(InvalidArgument, match="epsilon"):
        file_ledger.create("new", epsilon=epsilon)


def test_an_unknown_dataset_says_how_to_create_it(ledger: Ledger) -> None:
    for call in (ledger.account, ledger.entries, lambda name: ledger.reserve(name, 1, what="a")):
        with pytest.raises(
            InvalidArgument, match=r"dataset = 'web': is not in the ledger .* budget create web"
        ):
            call("web")


def test_looking_for_a_ledger_does_not_make_one(url: str) -> None:
    ledger = Ledger(url)
    for call in (ledger.accounts, ledger.verify, ledger.entries, lambda: ledger.account("shop")):
        with pytest.raises(LedgerUnavailable, match="There is no ledger at"):
            call()
    if url.startswith("sqlite"):
        assert not Path(url.removeprefix("sqlite:///")).exists()


def test_amounts_may_have_thousands_of_digits(ledger: Ledger) -> None:
    tiny = Fraction(1, 3**4_000)
    ledger.reserve("shop", tiny, what="a").settle(tiny)
    assert ledger.account("shop").spent == tiny
    assert ledger.verify().ok
    with pytest.raises(BudgetExceeded, match=r"has ≈ 5.00000 of ε = 5 left, and ≈ 1.00000e\+400 was"):
        ledger.reserve("shop", 10**400, what="a")


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    refused = []

    def work() -> None:
        for _ in range(4):
            try:
                ledger.reserve("shop", "1/2", what="a").settle("1/2")
            except BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.account("shop") == account(5, 0)
    assert len(refused) == 10
    assert ledger.verify().ok


@pytest.mark.parametrize("head", [5, b"00", ["x"]])
def test_a_head_that_is_not_text_is_refused(ledger: Ledger, head: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"head .*: must be text"):
        ledger.verify(head)


@pytest.mark.parametrize("error", [KeyError("uid"), OSError("no such user"), ImportError("pwd")])
def test_a_user_without_a_name_can_be_charged(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in many containers."""

    def nameless() -> str:
        raise error

    monkeypatch.setattr("getpass.getuser", nameless)
    assert who().startswith("unknown@")


def test_without_sqlalchemy_the_extra_is_named() -> None:
    script = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "import freegap as fg\n"
        "try: fg.Ledger('sqlite:///x.db')\n"
        "except fg.MissingExtra as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "This needs sqlalchemy. Install it with: pip install 'freegap[ledger]'"
