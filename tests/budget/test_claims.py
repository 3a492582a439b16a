"""Every mechanism takes a ledger, and claims the most that it can spend before it draws."""

from __future__ import annotations

import inspect
from fractions import Fraction
from functools import partial
from types import ModuleType
from typing import Any

import pytest

import freegap as fg
from freegap import InvalidArgument, Ledger, SeededBits, base2
from tests.budget.mechanisms import ALL, HIGH, LOW, RELEASES, Untouchable, charge, state


@pytest.fixture
def ledger(file_ledger: Ledger) -> Ledger:
    return file_ledger


def test_every_public_callable_that_spends_takes_a_ledger() -> None:
    modules: list[ModuleType] = [fg, base2]
    spending = set()
    for module in modules:
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, type) and issubclass(thing, Exception):
                continue
            arguments = set(inspect.signature(thing).parameters) if callable(thing) else set()
            if "bits" in arguments and arguments & {"epsilon", "eta"}:
                spending.add(name if module is fg else f"base2.{name}")
    building_blocks = {
        "clamped_laplace",
        "conditional_lazy_threshold",
        "lazy_threshold",
    }  # the caller charges
    others = {"above", "top_k", "unknown_counts", "unknown_top_k"}
    assert spending - {f"base2.{name}" for name in building_blocks} == {*ALL, *others}
    for name in {*ALL, *others}:
        thing = getattr(base2, name[6:]) if name.startswith("base2.") else getattr(fg, name)
        assert inspect.signature(thing).parameters["ledger"].default is None


@pytest.mark.parametrize("name", RELEASES)
def test_a_ledger_is_charged_what_the_release_spent(ledger: Ledger, name: str) -> None:
    release = RELEASES[name](ledger=(ledger, "shop"))
    assert state(ledger) == (release.spent, 0)
    _, reserved, settled = ledger.entries("shop")
    mechanism = name.removesuffix("_each")  # of many populations at once
    assert (reserved.what, reserved.amount) == (mechanism, release.epsilon)
    assert settled.kind == "settle"
    assert set(reserved.parameters) == set(release.parameters)
    assert RELEASES[name](bits=SeededBits(3)) == RELEASES[name](bits=SeededBits(3), ledger=(ledger, "shop"))


@pytest.mark.parametrize("name", ALL)
def test_a_bad_argument_reserves_nothing(ledger: Ledger, name: str) -> None:
    bad = {"k": 0} if name.startswith("base2.") else {"epsilon": -1}
    with pytest.raises(InvalidArgument):
        ALL[name](ledger=(ledger, "shop"), **bad)
    assert len(ledger.entries()) == 1
    for wrong in (ledger, ("shop", ledger), (ledger, 7)):
        with pytest.raises(
            InvalidArgument, match=r"ledger = .*: must be a ledger and the name of a data set"
        ):
            ALL[name](ledger=wrong, bits=Untouchable())


@pytest.mark.parametrize("answers", [[], [1.0, float("nan")], ["a"]])
def test_answers_are_read_before_anything_is_reserved(ledger: Ledger, answers: Any) -> None:
    account = (ledger, "shop")
    for call in (
        lambda: fg.noisy_top_k(answers, k=1, epsilon=1, ledger=account),
        lambda: fg.noisy_max(answers, epsilon=1, ledger=account),
        lambda: fg.hybrid_top_k(answers, 1, k=1, epsilon=1, ledger=account),
        lambda: fg.hybrid_sparse_vector(answers, 1, k=1, epsilon=1, ledger=account),
        lambda: fg.exponential_mechanism(answers, epsilon=1, ledger=account),
        lambda: fg.measure(answers, epsilon=1, ledger=account),
        lambda: fg.select_and_measure(answers, 1, epsilon=1, ledger=account),
        lambda: fg.select_and_measure(answers, 1, threshold=[1, 2], epsilon=1, ledger=account),
        lambda: fg.sparse_vector(answers, [1, 2], k=1, epsilon=1, ledger=account),
        lambda: fg.adaptive_sparse_vector(answers, [1, 2], k=1, epsilon=1, ledger=account),
        lambda: base2.sparse_vector(
            [["x"], answers], 1, k=1, eta=base2.share_epsilon(1, k=1), low=0, high=9, width=5, ledger=account
        ),
    ):
        with pytest.raises(InvalidArgument):
            call()
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("name", ALL)
def test_what_does_not_fit_is_refused_before_anything_is_drawn(ledger: Ledger, name: str) -> None:
    with pytest.raises(InvalidArgument, match=r"epsilon = .* may spend, and of the 1/5 that the ledger has"):
        charge(ledger, lambda: ALL[name](bits=Untouchable()), "1/5")
    assert state(ledger) == (0, 0)
    assert [entry.kind for entry in ledger.entries()] == ["create", "reserve", "abandon"]


@pytest.mark.parametrize("answers", [[LOW] * 9, [HIGH] * 9, [400, 401] * 5])
def test_whether_a_release_is_refused_does_not_depend_on_the_answers(ledger: Ledger, answers: Any) -> None:
    """It would have spent less than was reserved for the first, and more for the second."""
    for mechanism in (fg.sparse_vector, fg.adaptive_sparse_vector, fg.hybrid_sparse_vector, fg.hybrid_top_k):
        with pytest.raises(InvalidArgument, match=r"epsilon = '1': is what .* may spend"):
            charge(ledger, partial(mechanism, answers, 400, k=5, epsilon=1, bits=Untouchable()), "0.6")
    assert state(ledger) == (0, 0)


def test_measuring_is_checked_before_the_selection_draws(ledger: Ledger) -> None:
    """Its noise would be beyond bounds. Found out afterwards, the error would tell that an item was above."""
    for threshold in (None, 400):
        with pytest.raises(InvalidArgument, match="gives noise whose scale"):
            fg.select_and_measure(
                [900, 20, 30],
                1,
                epsilon=1,
                split=1 - Fraction(1, 10**101),
                threshold=threshold,
                ledger=(ledger, "shop"),
                bits=Untouchable(),
            )
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("base2.")])
@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"resolution": Fraction(1, 8)}, "on the grid 1/8"),
        ({"sensitivity": Fraction(1, 2)}, "multiple of the resolution 1"),
    ],
)
def test_base2_asks_its_budget_for_the_grid_and_the_sensitivity_that_it_was_given(
    name: str, option: dict[str, Any], match: str
) -> None:
    """The budget of these arguments is for a grid of 1: on another one the noise would not be exact."""
    with pytest.raises(InvalidArgument, match=match):
        ALL[name](**option, bits=Untouchable())


def test_what_is_on_record_of_a_search_among_candidates() -> None:
    found = {
        name: set(RELEASES[name](bits=SeededBits(1)).plan.parameters)
        for name in ("select_private_candidate", "best_private_candidate")
    }
    every = {"candidates", "epsilon_of_each_draw", "stop", "hard_stop", "most_draws"}
    assert found["select_private_candidate"] == every | {"threshold"}
    assert found["best_private_candidate"] == every | {"tries"}
    assert RELEASES["select_private_candidate"](bits=SeededBits(1)).plan.parameters["threshold"] == 20
