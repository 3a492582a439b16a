"""A release is paid from all levels at once, or from none."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

import freegap as fg
from freegap import BudgetExceeded, InvalidArgument, Ledger
from freegap.budget import accounting
from freegap.budget.levels import LevelledLedger
from freegap.budget.once import KEY, AskedBefore, Once, look_up


@pytest.fixture
def ann(tmp_path: Path) -> LevelledLedger:
    url = f"sqlite:///{tmp_path}/ledger.db"
    for name, total in (("shop", 5), ("shop / red", 2), ("shop / ann", 1)):
        Ledger(url).create(name, epsilon=total)
    return LevelledLedger(url, quotas=["shop / red", "shop / ann"], who="ann")


def spent(ledger: Ledger) -> list[Fraction]:
    return [ledger.account(name).spent for name in ("shop", "shop / red", "shop / ann")]


def left(ledger: Ledger) -> list[Fraction]:
    return [ledger.account(name).remaining for name in ("shop", "shop / red", "shop / ann")]


def test_all_levels_hold_and_settle_together(ann: LevelledLedger) -> None:
    release = fg.sparse_vector([3, 5, 90_000], 1000, k=4, epsilon=1, ledger=(ann, "shop"))
    assert release.spent < 1
    assert spent(ann) == [release.spent] * 3
    assert ann.line == 4
    assert ann.release(4) == release.to_dict()
    kinds = [(entry.kind, entry.dataset, entry.who) for entry in ann.entries()][3:]
    assert kinds == [
        (kind, name, "ann") for kind in ("reserve", "settle") for name in ("shop", "shop / red", "shop / ann")
    ]
    assert [entry.parameters for entry in ann.entries()[4:6]] == [{"dataset": "shop", "line": 4}] * 2
    assert [entry.parameters for entry in ann.entries()[7:9]] == [{}] * 2, "the release is kept once"
    assert ann.verify().ok


def test_what_one_level_cannot_pay_no_level_pays(ann: LevelledLedger) -> None:
    before = left(ann)
    for asked, short in (("3/2", "ann"), ("5/2", "red"), (6, "shop")):
        with pytest.raises(BudgetExceeded, match=short):
            ann.reserve("shop", asked, what="too much")
        with pytest.raises(BudgetExceeded, match=short):
            ann.require("shop", epsilon=asked)
    assert left(ann) == before
    assert len(ann.entries()) == 3, "not a line"


def test_an_error_leaves_all_levels_charged_and_a_mistake_none(ann: LevelledLedger) -> None:
    def fails() -> object:
        fg.noisy_max([3, 1], epsilon="1/4")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ann.charge("shop", fails, epsilon="1/4", what="fails")
    assert left(ann) == [Fraction(19, 4), Fraction(7, 4), Fraction(3, 4)]
    with pytest.raises(InvalidArgument):
        ann.charge("shop", lambda: fg.noisy_max([], epsilon="1/4"), epsilon="1/4", what="mistake")
    assert left(ann) == [Fraction(19, 4), Fraction(7, 4), Fraction(3, 4)]
    assert ann.verify().ok


def test_a_failure_between_the_lines_leaves_none_of_them(
    ann: LevelledLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from freegap.budget.journal import Journal

    append, calls = Journal.append, iter(range(9))

    def breaks(self: Journal, *arguments: object, **more: object) -> object:
        if next(calls) == 2:
            raise KeyboardInterrupt
        return append(self, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Journal, "append", breaks)
    with pytest.raises(KeyboardInterrupt):
        ann.reserve("shop", 1, what="interrupted")
    assert len(ann.entries()) == 3
    assert ann.verify().ok


def test_many_at_once_never_overspend_any_level(ann: LevelledLedger) -> None:
    def ask(_: int) -> bool:
        ledger = LevelledLedger(ann.url, quotas=["shop / red", "shop / ann"], who="ann")
        try:
            ledger.reserve("shop", "1/4", what="one of many").settle("1/4")
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(ask, range(8))) == 4
    assert left(ann) == [4, 1, 0]
    assert ann.verify().ok


def test_levels_in_other_measures_are_charged_by_their_own_rules(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    Ledger(url).create("web", rho="1/8")
    Ledger(url).create("ann", epsilon=1)
    ledger = LevelledLedger(url, quotas=["ann"], who="ann")
    ledger.reserve("web", "1/10", what="in epsilon").settle("1/20")
    assert [ledger.account(name).spent for name in ("web", "ann")] == [Fraction(1, 200), Fraction(1, 20)]
    with pytest.raises(InvalidArgument, match="no theorem"):
        ledger.reserve("web", rho="1/100", what="in rho")
    assert ledger.account("web").reserved == 0
    assert ledger.verify().ok


def test_an_account_pays_once(ann: LevelledLedger) -> None:
    for quotas in (["shop"], ["shop / ann", "shop / ann"]):
        twice = LevelledLedger(ann.url, quotas=quotas, who="ann")
        with pytest.raises(InvalidArgument, match="names an account twice"):
            twice.reserve("shop", "1/4", what="twice")
        with pytest.raises(InvalidArgument, match="names an account twice"):
            twice.require("shop", epsilon="1/4")
    with pytest.raises(InvalidArgument, match="not in the ledger"):
        LevelledLedger(ann.url, quotas=["nobody"], who="ann").reserve("shop", 1, what="a")
    for bad in ("", " ann", "a\nb", 3):
        with pytest.raises(InvalidArgument, match="who"):
            LevelledLedger(ann.url, who=bad)  # type: ignore[arg-type]


def test_what_is_recorded_is_paid_by_all_levels(ann: LevelledLedger) -> None:
    assert ann.record("shop", epsilon="1/4", by="opendp", what="histogram").dataset == "shop"
    assert spent(ann) == [Fraction(1, 4)] * 3
    with pytest.raises(BudgetExceeded, match="ann"):
        ann.record("shop", epsilon=1, by="opendp", what="too much")
    assert left(ann) == [Fraction(19, 4), Fraction(7, 4), Fraction(3, 4)]
    assert ann.verify().ok


def test_a_quota_holds_what_the_dataset_holds_also_where_that_is_rounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums of the dataset are long, those of the quota are not."""
    monkeypatch.setattr(accounting, "SUM_DIGITS", 12)
    url = f"sqlite:///{tmp_path}/ledger.db"
    for name in ("shop", "ann"):
        Ledger(url).create(name, rho=5)
    for denominator in (10_007, 10_009):
        Ledger(url).record("shop", rho=Fraction(1, denominator), by="x", what="y")
    ledger = LevelledLedger(url, quotas=["ann"], who="ann")
    held = ledger.reserve("shop", rho="1/10037", what="rounded")
    assert held.asked.spent > Fraction(1, 10_037)
    assert [one.asked for one in held.beside] == [held.asked]
    held.settle(held.asked.spent)
    held.settle(held.asked.spent)
    assert ledger.account("ann").spent == held.asked.spent
    assert ledger.verify().ok


def test_an_account_spelled_in_two_ways_pays_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    Ledger(url).create("caf\u00e9", epsilon=5)
    ledger = LevelledLedger(url, quotas=["caf\u00e9"], who="ann")
    for use in (ledger.require, lambda name, epsilon: ledger.reserve(name, epsilon, what="twice")):
        with pytest.raises(InvalidArgument, match="names an account twice"):
            use("cafe\u0301", epsilon=1)
    assert ledger.account("caf\u00e9").remaining == 5


def test_a_key_is_found_under_its_name_alone(tmp_path: Path) -> None:
    """A digest that stands in another parameter, which whoever asks may choose, is no release of that key."""
    url, once = f"sqlite:///{tmp_path}/ledger.db", Once.of("ann", "7")
    Ledger(url).create("shop", epsilon=5)
    ledger = LevelledLedger(url, who="ann", once=once)
    ledger.reserve("shop", 1, what="other", parameters={"item": once.digest})
    assert look_up(ledger, "ann", once)[0] is None
    line = ledger.reserve("shop", 1, what="this", parameters={KEY: once.digest}).sequence
    found, rest = look_up(ledger, "ann", once)
    assert (found is not None and found.sequence, rest.after) == (line, line)
    with pytest.raises(AskedBefore, match=rf"reserved before, in line {line}\.") as again:
        ledger.reserve("shop", 1, what="again", parameters={KEY: once.digest})
    assert again.value.line == line
