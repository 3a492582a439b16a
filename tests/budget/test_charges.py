"""What is charged for what the function of a charge does, and for what goes wrong in it."""

from __future__ import annotations

import contextvars
import os
import pickle
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap import FreegapError, InvalidArgument, Ledger, SeededBits, base2
from tests.budget.mechanisms import ALL, HIGH, LOW, RELEASES, Untouchable, charge, state


@pytest.fixture
def ledger(file_ledger: Ledger) -> Ledger:
    return file_ledger


OUTSIDE = fg.SparseVector(0, k=1, epsilon=1)


class Foreign:
    """A source that freegap did not write."""

    private = False

    def bits(self, n: int) -> int:
        return 0


def test_all_releases_of_a_charge_are_paid_for(ledger: Ledger) -> None:
    made: list[Any] = []

    def release() -> Any:
        made.append(fg.sparse_vector([HIGH, LOW], 0, k=2, epsilon="1/2"))
        made.append(fg.noisy_max([1, 2], epsilon="1/4"))
        return made[-1]

    charge(ledger, release)
    assert state(ledger) == (made[0].spent + Fraction(1, 4), 0)
    assert 0 < made[0].spent < Fraction(1, 2)


def test_what_one_release_leaves_the_next_may_spend_and_no_more(ledger: Ledger) -> None:
    def release(second: str) -> Any:
        first = fg.sparse_vector([HIGH, LOW], 0, k=2, epsilon="1/2", share="1/2")
        assert first.spent == Fraction(3, 8)
        return fg.noisy_max([1, 2], epsilon=second)

    charge(ledger, lambda: release("5/8"))
    assert state(ledger) == (1, 0)
    with pytest.raises(InvalidArgument, match="of the 1 that the ledger has reserved 5/8 is left"):
        charge(ledger, lambda: release("6/8"))
    assert state(ledger) == (1, 1)  # the first release was made: nothing is given back


def test_a_release_that_failed_counts_in_full(ledger: Ledger) -> None:
    def release() -> Any:
        with pytest.raises(fg.BitsExhausted):
            fg.noisy_max([1, 2], epsilon="1/2", bits=fg.ReplayedBits("01"))
        return fg.noisy_max([1, 2], epsilon="1/4")

    charge(ledger, release)
    assert state(ledger) == (Fraction(3, 4), 0)


def test_other_results_are_charged_in_full(ledger: Ledger) -> None:
    early = fg.noisy_max([1, 2], epsilon="1/4")
    asking = fg.SparseVector(0, k=1, epsilon=1)
    results: list[Callable[[], Any]] = [
        lambda: early,
        lambda: [fg.noisy_max([1, 2], epsilon="1/4")],
        lambda: pickle.loads(pickle.dumps(fg.noisy_max([1, 2], epsilon="1/4"))),  # noqa: S301
        lambda: asking.ask(LOW),
        lambda: fg.noisy_max([1, 2], epsilon="1/4", ledger=(ledger, "web")),
    ]
    ledger.create("web", epsilon=1)
    for number, release in enumerate(results, start=1):
        charge(ledger, release)
        assert state(ledger) == (number, 0)
    assert ledger.account("web").spent == Fraction(1, 4)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: fg.SystemBits().bits(1),
        lambda: SeededBits(1).bits(1),
        lambda: fg.RecordedBits(SeededBits(1)).bits(1),
        lambda: fg.ReplayedBits("1").bits(1),
        lambda: base2.lazy_threshold(base2.Eta(1, 1, 1), 0, reach=9),
        lambda: base2.normalized_sample([1, 2], bits=Foreign()),
        lambda: OUTSIDE.ask(LOW),
        lambda: in_a_thread(lambda: fg.noisy_max([1, 2], epsilon=9)),
    ],
)
def test_what_is_drawn_beside_the_releases_is_noticed(ledger: Ledger, draw: Callable[[], Any]) -> None:
    def release(epsilon: Any) -> Any:
        draw()
        return fg.noisy_max([1, 2], epsilon=epsilon)

    charge(ledger, lambda: release("1/4"))
    assert state(ledger) == (1, 0)
    with pytest.raises(InvalidArgument):
        charge(ledger, lambda: release(-1))
    assert state(ledger) == (1, 1)


def in_a_thread(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_what_others_pay_for_disturbs_nobody(ledger: Ledger) -> None:
    ledger.create("web", epsilon=5)

    def release(epsilon: Any) -> Any:
        in_a_thread(lambda: RELEASES["select_private_candidate"](ledger=(ledger, "web")))
        return fg.noisy_max([1, 2], epsilon=epsilon)

    charge(ledger, lambda: release("1/4"))
    assert state(ledger) == (Fraction(1, 4), 0)
    with pytest.raises(InvalidArgument):
        charge(ledger, lambda: release(-1))
    assert state(ledger) == (Fraction(1, 4), 0)
    assert ledger.account("web").spent == 2  # two releases of 2·1/4 + 1/2


def test_a_release_may_be_padded(ledger: Ledger) -> None:
    charge(ledger, lambda: fg.pad_to("0.001", lambda: fg.noisy_max([1, 2], epsilon="1/4")))
    assert state(ledger) == (Fraction(1, 4), 0)
    with pytest.raises(InvalidArgument):
        charge(ledger, lambda: fg.pad_to("0.001", lambda: fg.noisy_max([1, 2], epsilon=-1)))
    assert state(ledger) == (Fraction(1, 4), 0)


def test_candidates_are_covered_by_the_claim_of_the_whole(ledger: Ledger) -> None:
    drawn = []

    def candidate(bits: Any) -> Any:
        drawn.append(1)
        return fg.noisy_max([1, 2], epsilon="1/4", bits=bits)

    release = charge(
        ledger,
        lambda: fg.best_private_candidate(
            [candidate], lambda r: r.gaps[0], epsilon="1/4", stop="1/50", bits=fg.SeededBits(1)
        ),
    )
    assert len(drawn) > 3  # so that the claims of each would not have fitted
    assert state(ledger) == (release.spent, 0) == (Fraction(3, 4), 0)


def test_a_context_that_outlives_the_charge_draws_nothing_on_its_account(ledger: Ledger) -> None:
    kept: list[contextvars.Context] = []

    def release() -> Any:
        kept.append(contextvars.copy_context())
        return fg.noisy_max([1, 2], epsilon="1/4")

    charge(ledger, release)
    with pytest.raises(FreegapError, match="reserved for is over, and nothing more can be drawn"):
        kept[0].run(lambda: fg.noisy_max([1, 2], epsilon="1/4", bits=Untouchable()))


def test_a_mistake_in_an_argument_is_given_back(ledger: Ledger) -> None:
    with pytest.raises(InvalidArgument, match="k = 5") as caught:
        charge(ledger, lambda: fg.noisy_top_k([3, 1], k=5, epsilon=1))
    assert caught.value.__notes__ == [
        "Nothing was drawn: reservation 2 (ε = 1 on 'shop', test) was given back."
    ]
    assert state(ledger) == (0, 0)
    assert ledger.entries()[-1].what == "refused before anything was drawn"
    for make in ALL.values():
        with pytest.raises(InvalidArgument):
            charge(ledger, partial(make, ledger=3))
        assert state(ledger) == (0, 0)


def own_error() -> Any:
    raise InvalidArgument("k", 5, "is what my own program does not like", "Change it.")


def from_a_worker() -> Any:
    try:
        fg.noisy_max([1, 2], epsilon=-1)
    except InvalidArgument as error:
        raise pickle.loads(pickle.dumps(error)) from None  # noqa: S301  as a pool of processes does


def after_a_release() -> Any:
    fg.noisy_max([1, 2], epsilon="1/4")
    return fg.noisy_max([1, 2], epsilon=-1)


def interrupted() -> Any:
    raise KeyboardInterrupt


def sampler_astray() -> Any:
    return fg.exponential_mechanism([1, 2], epsilon=1, sampler=lambda exponents: 7)


@pytest.mark.parametrize(
    ("release", "error"),
    [
        (own_error, InvalidArgument),
        (from_a_worker, InvalidArgument),
        (after_a_release, InvalidArgument),
        (sampler_astray, InvalidArgument),
        (interrupted, KeyboardInterrupt),
        (lambda: 1 / 0, ZeroDivisionError),
        (lambda: fg.noisy_max([1, 2], epsilon=1, bits=fg.ReplayedBits("")), fg.BitsExhausted),
    ],
)
def test_other_errors_leave_all_charged(
    ledger: Ledger, release: Callable[[], Any], error: type[BaseException]
) -> None:
    with pytest.raises(error) as caught:
        charge(ledger, release)
    assert state(ledger) == (0, 1)
    assert caught.value.__notes__ == ["Reservation 2 (ε = 1 on 'shop', test) stays charged in full."]


def test_a_ledger_that_fails_at_giving_back_leaves_all_charged(tmp_path: Path) -> None:
    file, away = tmp_path / "ledger.db", tmp_path / "away.db"
    ledger = Ledger(f"sqlite:///{file}")
    ledger.create("shop", epsilon=5)

    def release() -> Any:
        file.rename(away)
        file.mkdir()
        return fg.noisy_max([1, 2], epsilon=-1)

    with pytest.raises(InvalidArgument, match="epsilon = -1") as caught:
        charge(ledger, release)
    assert caught.value.__notes__ == ["Reservation 2 (ε = 1 on 'shop', test) stays charged in full."]
    file.rmdir()
    away.rename(file)
    assert state(ledger) == (0, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_draws_and_settles_nothing_on_its_parents_account(ledger: Ledger) -> None:
    """The child is a copy of all that the parent has: function, allowance, object, reservation."""
    asking = fg.SparseVector(0, k=2, epsilon=1, ledger=(ledger, "shop"))

    def release() -> Any:
        made = fg.noisy_max([1, 2], epsilon="1/4")
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            return made
        try:
            asking.close()
            fg.noisy_max([1, 2], epsilon="1/4")
        except FreegapError as error:
            code = 0 if "not in a child" in str(error) else 1
        os._exit(code)

    charge(ledger, release)
    assert state(ledger) == (1, 1)  # in full: nobody here knows what the child did
    assert not asking.ask(LOW)
    with pytest.raises(InvalidArgument):
        charge(ledger, lambda: (os.waitpid(os.fork() or os._exit(0), 0), fg.noisy_max([1], epsilon=-1)))
    assert state(ledger) == (1, 2)
    asking.close()
    assert state(ledger) == (1 + asking.spent, 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_returns_from_the_function_settles_nothing(ledger: Ledger) -> None:
    def release() -> Any:
        made = fg.noisy_max([1, 2], epsilon="1/4")
        made_by.append(os.fork())
        return made

    made_by: list[int] = []
    charge(ledger, release)
    if made_by[0] == 0:
        os._exit(0)
    os.waitpid(made_by[0], 0)
    assert state(ledger) == (1, 0)
    assert [entry.kind for entry in ledger.entries()] == ["create", "reserve", "settle"]
