"""Budgets in ε, ρ and (ε, δ): what each release costs each of them, by hand, and that no sum is too small."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap import BudgetExceeded, InvalidArgument, Ledger
from freegap.budget import accounting
from freegap.budget.accounting import NOTHING, BrokenRule, Cost
from freegap.budget.budgets import Budget
from freegap.budget.chain import Line
from freegap.mechanisms.unknown_domain import UnknownPlan
from freegap.values.measures import (
    Approximate,
    ApproximateConcentrated,
    Measure,
    Pure,
    ZeroConcentrated,
    rho_within,
)
from tests.budget.test_tampering import lines, outside, rewrite

TENTH = Fraction(1, 10)
TINY = Fraction(1, 10**8)
PURE, RHO = Budget.of(Pure(Fraction(5))), Budget.of(ZeroConcentrated(Fraction(1, 8)))
BOTH = Budget.of(Approximate(Fraction(1), Fraction(1, 10**6)))


@pytest.fixture
def three(tmp_path: Path) -> Ledger:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("pure", epsilon=5)
    ledger.create("rho", rho="1/8")
    ledger.create("both", epsilon=1, delta="1e-6")
    return ledger


@pytest.mark.parametrize(
    ("budget", "asked", "cost"),
    [
        (PURE, Pure(TENTH), Cost(TENTH)),
        (RHO, Pure(TENTH), Cost(Fraction(1, 200))),
        (RHO, Pure(Fraction(3)), Cost(Fraction(3))),  # above 2 it is ε itself
        (RHO, ZeroConcentrated(TENTH), Cost(TENTH)),
        (BOTH, Pure(TENTH), Cost(Fraction(1, 200))),
        (BOTH, ZeroConcentrated(TENTH), Cost(TENTH)),
        (BOTH, Approximate(TENTH, TINY), Cost(Fraction(1, 200), TINY)),
    ],
)
def test_what_a_release_costs(budget: Budget, asked: Measure, cost: Cost) -> None:
    assert budget.cost(asked) == cost


@pytest.mark.parametrize(
    ("dataset", "asked", "message"),
    [
        ("pure", {"rho": "1/100"}, "measure = 'rho': cannot be charged to a budget in epsilon: no theorem"),
        (
            "pure",
            {"epsilon": "1/9", "delta": "1e-9"},
            "'epsilon-delta': cannot be charged to a budget in eps",
        ),
        ("rho", {"epsilon": "1/9", "delta": "1e-9"}, "'epsilon-delta': cannot be charged to a budget in rho"),
        ("rho", {}, "exactly one of epsilon and rho must be given, and neither is given"),
        ("rho", {"epsilon": 1, "rho": 1}, "exactly one of epsilon and rho must be given, and both are given"),
        ("rho", {"rho": "1/100", "delta": "1e-9"}, "'rho-delta': cannot be charged to a budget in rho"),
        ("both", {"epsilon": "1/9", "delta": 1}, "delta = 1: must lie strictly between 0 and 1"),
        ("rho", {"rho": 0}, "rho = 0: must be greater than 0"),
    ],
)
def test_what_has_no_price_is_refused_and_nothing_is_written(
    three: Ledger, dataset: str, asked: dict[str, Any], message: str
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: three.reserve(dataset, what="a", **asked),
        lambda: three.charge(dataset, lambda: pytest.fail("it ran"), what="a", **asked),
        lambda: three.record(dataset, by="me", what="a", **asked),
    ]
    for call in calls:
        with pytest.raises(InvalidArgument, match=message):
            call()
    assert len(three.entries()) == 3


def test_a_budget_in_rho_can_be_spent_to_the_last_and_no_further(three: Ledger) -> None:
    three.reserve("rho", epsilon="1/4", what="a")  # 1/32
    assert three.account("rho").remaining == Fraction(3, 32)
    with pytest.raises(
        BudgetExceeded, match="has 3/32 of ρ = 1/8 left, and ε = 1/2 was asked for, which costs"
    ):
        three.reserve("rho", epsilon="1/2", what="a")
    with pytest.raises(BudgetExceeded, match="and 2/21 was asked for"):
        three.reserve("rho", rho="2/21", what="a")
    three.reserve("rho", rho="3/32", what="a")
    assert three.account("rho").remaining == 0
    assert three.verify().ok


def test_delta_is_kept_beside(three: Ledger) -> None:
    account = three.account("both")
    half = Fraction(1, 2 * 10**6)
    assert (account.own_delta, account.total) == (half, rho_within(1, half))
    held = three.reserve("both", epsilon="1/100", delta="4e-7", what="a")
    assert three.account("both").own_delta_remaining == TENTH * half * 2
    with pytest.raises(
        BudgetExceeded, match=r"and 1/10000000 of δ = 1/2000000 left, and ε = 1/100, δ = 1/5000000 "
    ):
        three.reserve("both", epsilon="1/100", delta="2e-7", what="a")
    three.reserve("both", epsilon="1/100", delta="1e-7", what="a").abandon("not run")
    held.settle("1/1000")  # which says nothing of what it costs in ρ
    assert three.account("both").balance.spent == Cost(Fraction(1, 20_000), Fraction(4, 10**7))
    assert three.account("both").balance.reserved == NOTHING
    assert three.verify().ok


def test_all_of_delta_for_rho_leaves_none_for_releases(three: Ledger) -> None:
    account = three.create("web", epsilon=1, delta="1e-6", own_delta=0)
    assert account.total == rho_within(1, "1e-6") > three.account("both").total
    with pytest.raises(BudgetExceeded, match="0 of δ = 0 left"):
        three.reserve("web", epsilon="1/100", delta="1e-20", what="a")
    for own in ("1e-6", -1):
        with pytest.raises(InvalidArgument, match="less than the delta of the budget"):
            three.create("other", epsilon=1, delta="1e-6", own_delta=own)
    with pytest.raises(InvalidArgument, match="less than the delta of the budget"):
        three.create("other", rho=1, own_delta=0)


def test_a_total_is_fixed_with_its_measure(three: Ledger) -> None:
    assert three.create("both", epsilon=1, delta="1e-6") == three.account("both")
    assert three.create("rho", rho="0.125") == three.account("rho")
    for other in (
        {"epsilon": 1},
        {"epsilon": 1, "delta": "1e-5"},
        {"epsilon": 1, "delta": "1e-6", "own_delta": 0},
    ):
        with pytest.raises(
            InvalidArgument, match="exists with a total of ε = 1, δ = 1/1000000, which is fixed"
        ):
            three.create("both", **other)
    with pytest.raises(
        InvalidArgument, match="epsilon = '1/8': dataset 'rho' exists with a total of ρ = 1/8"
    ):
        three.create("rho", epsilon="1/8")


def test_what_is_settled(three: Ledger) -> None:
    three.reserve("rho", rho="1/16", what="a").settle("1/20")
    assert three.account("rho").spent == Fraction(1, 20)
    held = three.reserve("rho", epsilon="1/10", what="a")
    held.settle("1/20")  # what a release in ε has spent may depend on its output
    held.settle("1/20")  # as after a lost connection
    assert three.account("rho").spent == Fraction(1, 20) + Fraction(1, 200)
    with pytest.raises(InvalidArgument, match="must lie between 0 and the 1/10 that was reserved"):
        three.reserve("rho", epsilon="1/10", what="a").settle("1/9")
    assert three.verify().ok


def test_foreign_charges(three: Ledger) -> None:
    three.record("pure", epsilon="0.3", by="opendp", what="histogram")
    three.record("rho", rho="1/50", by="tumult", what="mean")
    three.record("both", epsilon="1/100", delta="1e-9", by="google", what="partitions")
    assert three.account("pure").spent == Fraction(3, 10)
    assert three.account("rho").spent == Fraction(1, 50)
    assert three.account("both").balance.spent == Cost(Fraction(1, 20_000), Fraction(1, 10**9))
    reserved, settled = three.entries("both")[1:]
    assert (reserved.kind, settled.kind, reserved.parameters) == ("reserve", "settle", {"by": "google"})
    assert reserved.asked == settled.asked == Approximate(Fraction(1, 100), Fraction(1, 10**9))
    with pytest.raises(BudgetExceeded):
        three.record("rho", rho=1, by="tumult", what="mean")
    assert len(three.entries()) == 9
    assert three.verify().ok


def test_releases_on_a_budget_in_rho(three: Ledger) -> None:
    fg.noisy_max([812, 790, 31], epsilon="1/10", ledger=(three, "rho"))
    assert three.account("rho").spent == Fraction(1, 200)
    found = fg.sparse_vector([3, 5, 90_000], 1000, k=4, epsilon="1/10", ledger=(three, "rho"))
    assert found.spent < TENTH
    assert three.account("rho").spent == 2 * Fraction(1, 200)
    with fg.SparseVector(1000, k=4, epsilon="1/10", ledger=(three, "both")) as asking:
        asking.ask(90_000)
    assert three.account("both").spent == Fraction(1, 200)


def test_releases_in_epsilon_under_a_reservation_in_rho(three: Ledger) -> None:
    def two(epsilon: str) -> object:
        fg.noisy_max([812, 790, 31], epsilon="1/10")
        return fg.sparse_vector([3, 5, 90_000], 1000, k=4, epsilon=epsilon)

    three.charge("rho", lambda: two("1/10"), rho="1/10", what="two")
    assert three.account("rho").spent == 2 * Fraction(1, 200)
    with pytest.raises(
        InvalidArgument, match="epsilon = '1/4': is what sparse_vector may spend, and of the 1/100"
    ):
        three.charge("rho", lambda: two("1/4"), rho="1/100", what="two")
    three.create("wide", rho=5)
    found = three.charge(
        "wide", lambda: fg.sparse_vector([3, 5, 90_000], 1000, k=4, epsilon=2), rho=4, what="one"
    )
    assert found.spent < 2 == three.account("wide").spent  # ε²/2, whatever it spent
    three.charge("both", lambda: two("1/10"), epsilon="1/5", delta="1e-9", what="two")
    assert three.account("both").balance.spent == Cost(Fraction(1, 50), Fraction(1, 10**9))


def at(number: int, **changes: str) -> Callable[[list[Line]], list[Line]]:
    return lambda made: [replace(line, **changes) if line.sequence == number else line for line in made]  # type: ignore[arg-type]


MADE = "1/10 rho + 1/2000000 delta within 1/1 epsilon + 1/1000000 delta"


@pytest.mark.parametrize(
    ("forge", "broken", "reason"),
    [
        (at(1, total="1/8", amount="1/8", spent="0/1", reserved="0/1"), 3, "stay as they were declared"),
        (at(1, total="1/8 epsilon", amount="1/8 epsilon"), 1, "as it was declared and as it is kept"),
        (at(1, total="1/8 tau"), 1, "must be stored with its measure"),
        (at(2, total=MADE, amount=MADE), 2, "kept as must be within what was declared"),
        (at(2, amount="1/8 rho"), 2, "must be created with its total"),
        (at(3, amount="1/200 rho for 1/20 epsilon"), 3, "must be the cost of what was asked for"),
        (at(3, amount="1/200 rho for 1/5 epsilon"), 3, "must be the cost of what was asked for"),
        (at(3, amount="1/200 rho for 1/200 rho"), 4, "closed in its own measure"),
        (at(3, amount="1/200 rho for 1/10 epsilon + 1/1000 delta"), 3, "a measure that the budget can be"),
        (at(3, amount="1/200"), 3, "must be stored with its measure"),
        (at(4, amount="1/800 rho for 1/20 epsilon", spent="1/800 rho"), 4, "must be settled in full"),
        (at(5, amount="1/200 rho + 0/1 delta for 1/10 epsilon + 1/100000000 delta"), 5, "must be the cost"),
        (at(5, reserved="1/200 rho + 0/1 delta"), 5, "must be what the lines before it add up to"),
        (at(6, spent="1/200 rho + 0/1 delta"), 6, "must be what the lines before it add up to"),
        (at(6, spent="1/200 rho"), 6, "in the measure in which the budget is kept"),
        (at(6, spent="1/1 rho + 1/1 delta + 1/1 epsilon"), 6, "one measure, and a delta beside it"),
    ],
)
def test_a_forged_measure_or_delta_shows(
    tmp_path: Path, forge: Callable[[list[Line]], list[Line]], broken: int, reason: str
) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("rho", rho="1/8")
    ledger.create("both", epsilon=1, delta="1e-6")
    ledger.record("rho", epsilon="1/10", by="me", what="a")
    ledger.record("both", epsilon="1/10", delta="1e-8", by="me", what="a")
    assert ledger.verify().ok
    with outside(ledger.url) as connection:
        rewrite(connection, forge(lines(connection)))
    outcome = ledger.verify()
    assert (outcome.ok, outcome.broken) == (False, broken), outcome
    assert reason in (outcome.reason or "")


def test_every_stored_text_reads_back() -> None:
    for budget, asked in itertools.product((PURE, RHO, BOTH), (Pure(TENTH), ZeroConcentrated(TENTH))):
        assert Budget.parsed(budget.text()) == budget
        if budget is not PURE or asked == Pure(TENTH):
            text = budget.charge_text(budget.cost(asked), asked)
            assert budget.parsed_charge(text) == (budget.cost(asked), asked)
    for text in ("", "1/8 rho within 1/8 rho", "1/2 epsilon + 1/9 delta", "1/9 delta", "2/16 rho"):
        with pytest.raises(BrokenRule):
            Budget.parsed(text)


def test_long_sums_of_rho_and_delta_are_rounded_up(three: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounting, "SUM_DIGITS", 24)
    exact = NOTHING
    for prime in (10_007, 10_009, 10_037, 10_039, 10_061, 10_067, 10_069):
        three.record("both", epsilon=Fraction(1, prime), delta=Fraction(1, 10**5 * prime), by="me", what="a")
        exact += Cost(Fraction(1, 2 * prime**2), Fraction(1, 10**5 * prime))
    spent = three.account("both").balance.spent
    assert exact <= spent <= exact + Cost(Fraction(7, 2**64), Fraction(7, 2**64))
    assert spent.amount > exact.amount
    assert spent.delta > exact.delta
    assert three.verify().ok


def leaky_responses(epsilons: list[float], deltas: list[float], epsilon: float) -> float:
    """The exact δ at ε of coins of odds e^εᵢ that give all away with probability δᵢ: no release is worse."""
    losses = {0.0: 1.0}
    for each in epsilons:
        truth, moved = 1 / (1 + math.exp(-each)), dict[float, float]()
        for (loss, mass), (step, chance) in itertools.product(
            losses.items(), ((each, truth), (-each, 1 - truth))
        ):
            moved[loss + step] = moved.get(loss + step, 0.0) + mass * chance
        losses = moved
    kept = math.prod(1 - each for each in deltas)
    above = sum(mass * -math.expm1(epsilon - loss) for loss, mass in losses.items() if loss > epsilon)
    return 1 - kept + kept * above


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([("1", "1/100"), ("1/2", "1/1000"), ("4", "1/10")]),
    st.fractions(0, Fraction(9, 10), max_denominator=10),
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20)), min_size=1, max_size=9),
)
def test_what_fits_into_a_budget_stays_within_it(
    declared: tuple[str, str], share: Fraction, wanted: list[tuple[int, int]]
) -> None:
    """Direct composition of the worst releases, as many as fit, never needs more than was declared."""
    total = Approximate(Fraction(declared[0]), Fraction(declared[1]))
    budget = Budget.of(total, share * total.delta)
    balance = accounting.opened(budget.total)
    asked: list[Approximate] = []
    for size, leak in itertools.islice(itertools.cycle(wanted), 12):
        release = Approximate(total.epsilon * size / 100, total.delta * leak / 100)
        if budget.cost(release) <= balance.remaining:
            balance = accounting.reserve(balance, budget.cost(release))
            asked.append(release)
    needed = leaky_responses(
        [float(release.epsilon) for release in asked],
        [float(release.delta) for release in asked],
        float(total.epsilon),
    )
    assert needed <= float(total.delta) * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.fractions(Fraction(1, 50), 3, max_denominator=50), min_size=1, max_size=6))
def test_the_sum_of_rho_covers_direct_composition(epsilons: list[Fraction]) -> None:
    """Coins of odds e^ε, whose Rényi divergences add up exactly, are the largest that ε allows."""
    charged = sum((RHO.cost(Pure(epsilon)).amount for epsilon in epsilons), Fraction(0))
    for alpha in (1.01, 1.5, 2, 8, 40):
        direct = 0.0
        for epsilon in map(float, epsilons):
            truth = 1 / (1 + math.exp(-epsilon))
            moment = truth * math.exp(epsilon * (alpha - 1)) + (1 - truth) * math.exp(-epsilon * (alpha - 1))
            direct += math.log(moment) / (alpha - 1)
        assert direct <= alpha * float(charged) * (1 + 1e-9)


def test_rho_with_a_delta_costs_both_and_is_no_budget(three: Ledger) -> None:
    """What a release in (ρ, δ) costs is neither ε²/2 nor nothing; a dataset cannot be opened in it."""
    before = three.account("both")
    three.reserve("both", rho="1/1000", delta="1e-9", what="a")
    after = three.account("both")
    assert before.remaining - after.remaining == Fraction(1, 1000)
    assert before.own_delta_remaining - after.own_delta_remaining == Fraction(1, 10**9)
    assert str(three.entries("both")[-1].asked) == "ρ = 1/1000, δ = 1/1000000000"
    assert three.verify().ok
    with pytest.raises(InvalidArgument, match="no meaning with rho in a budget"):
        three.create("other", rho=1, delta="1e-6")
    for text in ("1/8 rho + 1/9 delta", "1/8 rho + 1/9 delta within 1/8 rho + 1/9 delta"):
        with pytest.raises(BrokenRule):
            Budget.parsed(text)


def test_a_release_is_charged_by_its_price_where_that_is_less(three: Ledger) -> None:
    """Gumbel noise in an unknown domain: ρ of its scale and half of δ, in place of ε²/2 and δ."""
    asked: dict[str, Any] = {"epsilon": "1/2", "delta": "1e-8", "noise": "gumbel"}
    price = UnknownPlan.read(k=20, **asked).price
    assert isinstance(price, ApproximateConcentrated)
    assert price.rho < Fraction(1, 8) / 10
    three.create("large", epsilon=9, delta="1e-6")
    before = three.account("large")
    fg.unknown_top_k({"a": 10**5}, 20, ledger=(three, "large"), **asked)
    after = three.account("large")
    assert before.remaining - after.remaining == price.rho
    assert before.own_delta_remaining - after.own_delta_remaining == Fraction(1, 2 * 10**8)
    release = lambda: fg.unknown_top_k({"a": 10**5}, 20, **asked)  # noqa: E731
    three.charge("large", release, epsilon="1/2", delta="1e-8", what="as it is asked")
    three.charge("large", release, **price.arguments(), what="at its price")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="has reserved"):
        three.charge("large", release, rho=price.rho / 2, delta="1e-8", what="too little")
