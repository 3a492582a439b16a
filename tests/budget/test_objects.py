"""An object that is asked later holds its reservation until it is closed or exhausted."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap import BudgetExceeded, BudgetSpent, Ledger, base2
from freegap.exact.noisy_threshold import NoisyThreshold
from tests.budget import children
from tests.budget.children import CONTEXT
from tests.budget.mechanisms import HIGH, LOW, OBJECTS, Untouchable, charge, state


@pytest.fixture
def ledger(file_ledger: Ledger) -> Ledger:
    return file_ledger


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("way", ["charge", "ledger"])
def test_a_budget_of_one_has_one_object_of_one(ledger: Ledger, name: str, way: str) -> None:
    account = (ledger, "shop")
    made = []
    for _ in range(5):  # the budget is 5
        made.append(charge(ledger, OBJECTS[name]) if way == "charge" else OBJECTS[name](ledger=account))
    ledger.create("small", epsilon=1)
    asking = OBJECTS[name](ledger=(ledger, "small"))
    for _ in range(4):
        with pytest.raises(BudgetExceeded):
            OBJECTS[name](ledger=(ledger, "small"), bits=Untouchable())
    assert ledger.account("shop").spent == 0
    assert ledger.account("shop").remaining < Fraction(5, 100)
    while not asking.exhausted:
        asking.ask(HIGH)
    assert ledger.account("small").spent == asking.spent > Fraction(1, 2)
    assert ledger.account("small").reserved == 0


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_settles_when_it_is_closed(ledger: Ledger, name: str) -> None:
    with OBJECTS[name](ledger=(ledger, "shop")) as asking:
        whole = ledger.account("shop").reserved
        assert Fraction(9, 10) < whole <= 1
        assert not asking.ask(LOW)
        assert asking.ask(HIGH) not in (None, False)
        assert state(ledger) == (0, whole)
        spent = asking.spent
        assert 0 < spent < whole
    assert state(ledger) == (spent, 0)
    asking.close()
    entries = ledger.entries()
    with pytest.raises(BudgetSpent, match="is closed: no further questions"):
        asking.ask(LOW)
    assert ledger.entries() == entries
    assert asking.spent == spent
    assert entries[1].what == name


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_that_was_never_asked_costs_nothing_once_it_is_closed(ledger: Ledger, name: str) -> None:
    OBJECTS[name](ledger=(ledger, "shop")).close()
    assert state(ledger) == (0, 0)
    free = OBJECTS[name]()
    free.close()
    with pytest.raises(BudgetSpent):
        free.ask(LOW)


@pytest.mark.parametrize("name", OBJECTS)
def test_an_error_in_the_block_settles_what_was_asked(ledger: Ledger, name: str) -> None:
    asking = OBJECTS[name](ledger=(ledger, "shop"))
    asking.ask(HIGH)
    with pytest.raises(ZeroDivisionError), asking:
        print(1 / 0)
    assert state(ledger) == (asking.spent, 0)
    assert 0 < asking.spent < 1


def test_an_interrupted_question_is_settled_at_its_full_price(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    asking = fg.SparseVector(0, k=3, epsilon=1, share="1/4", ledger=(ledger, "shop"))
    asking.ask(LOW)
    monkeypatch.setattr(NoisyThreshold, "one", interrupted)
    with pytest.raises(KeyboardInterrupt), asking:
        asking.ask(LOW)
    assert state(ledger) == (Fraction(1, 2), 0)


@pytest.mark.parametrize("moment", ["ask", "passed"])
@pytest.mark.parametrize("name", ["base2.DiscreteSparseVector", "base2.DiscreteSparseVectorWithGap"])
def test_an_interrupted_question_in_base_2_is_charged_as_well(
    monkeypatch: pytest.MonkeyPatch, name: str, moment: str
) -> None:
    asking = OBJECTS[name]()
    one, two = base2.share_epsilon(1, k=2)
    target = asking._fast if moment == "ask" else asking._fast.run

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(target, moment, interrupted)
        with pytest.raises(KeyboardInterrupt):
            asking.ask(HIGH)
    assert asking.spent == one.epsilon + two.epsilon / 2
    assert asking.release().spent == asking.spent
    assert asking.remaining == 1
    asking.ask(HIGH)
    assert asking.exhausted
    with pytest.raises(BudgetSpent, match="released, or lost to interruptions"):
        asking.ask(HIGH)


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_that_is_lost_stays_charged(ledger: Ledger, name: str) -> None:
    asking = OBJECTS[name](ledger=(ledger, "shop"))
    whole = ledger.account("shop").reserved
    asking.ask(LOW)
    del asking
    gc.collect()
    assert state(ledger) == (0, whole)


def test_an_object_that_dies_with_its_process_stays_charged(ledger: Ledger) -> None:
    child = CONTEXT.Process(target=children.ask_and_die, args=(ledger.url,))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    assert state(ledger) == (0, 1)


def test_a_function_may_close_its_object_and_return_its_record(ledger: Ledger) -> None:
    def release(closing: bool) -> Any:
        asking = OBJECTS["base2.DiscreteSparseVector"]()
        asking.ask(HIGH)
        record = asking.release()
        if closing:
            asking.close()
        return record

    record = charge(ledger, lambda: release(closing=True))
    assert state(ledger) == (record.spent, 0)
    charge(ledger, lambda: release(closing=False))
    assert state(ledger) == (record.spent, 1)


def test_two_objects_of_one_charge_settle_together(ledger: Ledger) -> None:
    made: list[Any] = []

    def release() -> Any:
        made.extend(fg.SparseVector(0, k=1, epsilon="1/2", share="1/4") for _ in range(2))
        return made[0]

    charge(ledger, release)
    made[0].ask(LOW)
    made[0].close()
    assert state(ledger) == (0, 1)
    made[1].ask(HIGH)  # exhausted
    assert state(ledger) == (Fraction(1, 8) + Fraction(1, 2), 0)


def test_a_ledger_that_fails_at_the_settling_leaves_all_charged(tmp_path: Path) -> None:
    file, away = tmp_path / "ledger.db", tmp_path / "away.db"
    ledger = Ledger(f"sqlite:///{file}")
    ledger.create("shop", epsilon=5)
    for ending in ("close", "exhaust"):
        asking = fg.SparseVector(0, k=1, epsilon=1, ledger=(ledger, "shop"))
        assert not asking.ask(LOW)
        file.rename(away)
        file.mkdir()
        end = asking.close if ending == "close" else lambda a=asking: a.ask(HIGH)
        with pytest.warns(fg.UnsettledWarning, match="charged in full, ε = 1") as warned:
            end()
        assert warned[0].filename == __file__
        file.rmdir()
        away.rename(file)
        asking.close()
    assert state(ledger) == (0, 2)


def test_a_ledger_of_ones_own_charges_an_object_in_full() -> None:
    class Own:
        charged = Fraction(0)

        def charge(self, dataset: str, release: Callable[[], Any], **_: Any) -> Any:
            result = release()
            self.charged += result.spent
            return result

    own = Own()
    fg.SparseVector(0, k=1, epsilon=1, ledger=(own, "shop"))
    assert own.charged == 1
    assert fg.noisy_max([1, 2], epsilon="1/2", ledger=(own, "shop")).spent == Fraction(1, 2)
    assert own.charged == Fraction(3, 2)


@pytest.mark.parametrize("name", OBJECTS)
def test_a_subclass_does_not_change_the_charge_by_accident(ledger: Ledger, name: str) -> None:
    made = OBJECTS[name]()
    careless = type(
        "Careless",
        (type(made),),
        {"spent": property(lambda self: Fraction(0)), "exhausted": property(lambda self: False)},
    )
    setting: dict[str, Any] = {"k": 1, "epsilon": 1}
    if name.startswith("base2."):
        setting = {"k": 1, "eta": base2.share_epsilon(1, k=1), "low": 0, "high": 9, "width": 5}
    if name == "base2.DiscreteSparseVectorWithGap":
        setting["gaps"] = [1, 2]
    asking = careless(0, ledger=(ledger, "shop"), **setting)
    for _ in range(20):
        with suppress(BudgetSpent):
            asking.ask(HIGH)
    assert ledger.account("shop").reserved == 0
    assert Fraction(1, 2) < ledger.account("shop").spent <= 1


def test_the_journal_does_not_tell_how_long_a_release_took(ledger: Ledger) -> None:
    fg.noisy_max([1, 2], epsilon=1, ledger=(ledger, "shop"))
    assert all(entry.when[19:] == "+00:00" for entry in ledger.entries())
