"""The accounting against a simple model, under any sequence of calls from several programs."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from freegap import BudgetExceeded, InvalidArgument, Ledger
from freegap.budget.accounting import (
    NOTHING,
    Balance,
    BrokenRule,
    Cost,
    amount_text,
    close,
    opened,
    parsed_amount,
    reserve,
    shown,
)
from freegap.budget.reservation import Reservation

DATASETS = st.sampled_from(["shop", "web"])
TOTALS = {"shop": Fraction(5), "web": Fraction(1, 3)}
AMOUNTS = st.fractions(Fraction(1, 50), 2, max_denominator=50)


def cost(numerator: int, denominator: int = 1) -> Cost:
    return Cost(Fraction(numerator, denominator))


BALANCE = Balance(cost(5), cost(1), cost(2))
SHARES = st.fractions(0, 1, max_denominator=20)


class LedgerAndModel(RuleBasedStateMachine):
    """The model: a dict of what is charged for each reservation that was made. Nothing else."""

    reservations: Bundle[Reservation] = Bundle("reservations")

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.mkdtemp(prefix="freegap-")
        self.charged: dict[int, tuple[str, Fraction, bool]] = {}

    @initialize()
    def create(self) -> None:
        self.program = Ledger(f"sqlite:///{self.directory}/ledger.db")
        for dataset, total in TOTALS.items():
            self.program.create(dataset, epsilon=total)

    def left(self, dataset: str) -> Fraction:
        return TOTALS[dataset] - sum(amount for name, amount, _ in self.charged.values() if name == dataset)

    @rule()
    def go_on_in_another_program(self) -> None:
        self.program = Ledger(f"sqlite:///{self.directory}/ledger.db")

    @rule(target=reservations, dataset=DATASETS, epsilon=AMOUNTS)
    def reserve(self, dataset: str, epsilon: Fraction) -> Reservation | MultipleResults[Reservation]:
        amount = min(epsilon, self.left(dataset)) or epsilon
        if amount > self.left(dataset):
            return multiple()  # nothing is left; the next rule asks for more than that
        made = self.program.reserve(dataset, amount, what="model", parameters={"epsilon": amount})
        self.charged[made.sequence] = (dataset, amount, True)
        return made

    @rule(dataset=DATASETS, excess=AMOUNTS)
    def reserve_too_much(self, dataset: str, excess: Fraction) -> None:
        with pytest.raises(BudgetExceeded):
            self.program.reserve(dataset, self.left(dataset) + excess, what="model")

    @rule(reservation=reservations, share=SHARES)
    def settle(self, reservation: Reservation, share: Fraction) -> None:
        spent = reservation.asked.spent * share
        dataset, amount, is_open = self.charged[reservation.sequence]
        if is_open or amount == spent:
            reservation.settle(spent)
            self.charged[reservation.sequence] = (dataset, spent, False)
        else:
            with pytest.raises(InvalidArgument):
                reservation.settle(spent)

    @rule(reservation=consumes(reservations))
    def abandon(self, reservation: Reservation) -> None:
        dataset, _, is_open = self.charged[reservation.sequence]
        if is_open:
            reservation.abandon("model")
            self.charged[reservation.sequence] = (dataset, Fraction(0), False)
        else:
            with pytest.raises(InvalidArgument):
                reservation.abandon("model")

    @invariant()
    def accounts_are_those_of_the_model(self) -> None:
        if not hasattr(self, "program"):
            return
        for dataset, total in TOTALS.items():
            account = self.program.account(dataset)
            mine = [entry for entry in self.charged.values() if entry[0] == dataset]
            assert account.total == total
            assert account.reserved == sum(amount for _, amount, is_open in mine if is_open)
            assert account.spent == sum(amount for _, amount, is_open in mine if not is_open)
            assert account.remaining == self.left(dataset) >= 0

    def teardown(self) -> None:
        if hasattr(self, "program"):
            outcome = self.program.verify()
            assert outcome.ok, outcome
            assert outcome.entries == len(self.program.entries())
        shutil.rmtree(self.directory)


TestLedgerAndModel = LedgerAndModel.TestCase
TestLedgerAndModel.settings = settings(
    max_examples=15,
    stateful_step_count=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)


@pytest.mark.parametrize(
    ("step", "rule"),
    [
        (lambda: opened(cost(0)), "a total must be greater than 0"),
        (lambda: reserve(BALANCE, cost(0)), "a reservation must be greater than 0"),
        (lambda: reserve(BALANCE, cost(-1)), "a reservation must be greater than 0"),
        (lambda: reserve(BALANCE, cost(21, 10)), "must not exceed what is left"),
        (lambda: close(BALANCE, cost(1), cost(-1, 10)), "between 0 and what was reserved"),
        (lambda: close(BALANCE, cost(1), cost(11, 10)), "between 0 and what was reserved"),
        (lambda: close(BALANCE, cost(21, 10), cost(1)), "must be open to be closed"),
    ],
)
def test_no_rule_is_broken_by_a_hair(step: Callable[[], Balance], rule: str) -> None:
    with pytest.raises(BrokenRule, match=rule):
        step()


def test_each_step_at_its_very_limit() -> None:
    assert opened(cost(1, 10)) == Balance(cost(1, 10))
    assert reserve(BALANCE, cost(2)) == Balance(cost(5), cost(1), cost(4))
    assert reserve(BALANCE, cost(2)).remaining == NOTHING
    assert close(BALANCE, cost(2), cost(2)) == Balance(cost(5), cost(3), cost(0))
    assert close(BALANCE, cost(2), cost(0)) == Balance(cost(5), cost(1), cost(0))
    assert close(BALANCE, cost(1), cost(1, 3)) == Balance(cost(5), cost(4, 3), cost(1))


def test_amounts_for_people() -> None:
    assert shown(Fraction(10**11)) == "1" + 11 * "0"
    assert shown(Fraction(10**12)) == "≈ 1.00000e+12"
    assert shown(Fraction(1, 10**9)) == "1/1" + 9 * "0"
    assert shown(Fraction(1, 10**10)) == "≈ 1e-10"
    assert shown(Fraction(37496257, 10485760)) == "≈ 3.57592"


@given(st.fractions(min_value=0))
def test_amounts_survive_storage(amount: Fraction) -> None:
    assert parsed_amount(amount_text(amount)) == amount


@given(st.text("0123456789/-+. e_٣", max_size=8))
def test_an_amount_has_one_spelling(text: str) -> None:
    try:
        amount = parsed_amount(text)
    except ValueError:
        return
    assert amount_text(amount) == text
