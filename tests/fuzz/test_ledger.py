"""The ledger: whatever it is told, its journal stays whole, and what fails costs nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import freegap as fg
from tests.fuzz.outcome import FEWER, attempt, require_harmless
from tests.fuzz.strategies import anything, hostile_texts, numbers

value = st.one_of(numbers, hostile_texts, anything)
small = st.one_of(st.fractions(0, 2), numbers)
name = st.one_of(st.just("shop"), hostile_texts, anything)
step = st.one_of(
    st.tuples(st.just("create"), name, small),
    st.tuples(st.just("reserve"), name, small, st.one_of(st.just("test"), value), value),
    st.tuples(st.just("charge"), name, small, st.one_of(st.just("test"), value), value),
    st.tuples(st.just("settle"), small),
    st.tuples(st.just("abandon"), st.one_of(st.just("not drawn"), value)),
    st.tuples(st.just("read"), name),
    st.tuples(st.just("verify"), value),
)


@FEWER
@given(st.lists(step, max_size=6))
def calls(steps: list[tuple[Any, ...]]) -> None:
    """A sequence of calls, good and bad."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = fg.Ledger(f"sqlite:///{folder}/ledger.db")
        ledger.create("shop", epsilon=100)
        held: Any = None
        for kind, *rest in steps:
            before = [account.to_dict() for account in ledger.accounts()]
            result, error = attempt(CALLS[kind], ledger, held, *rest)
            if kind == "reserve" and error is None:
                held = result
            if error is not None:
                assert [account.to_dict() for account in ledger.accounts()] == before
        assert ledger.verify()
        for account in ledger.accounts():
            assert 0 <= account.remaining <= account.total
            require_harmless(account.dataset)


CALLS: dict[str, Callable[..., Any]] = {
    "create": lambda ledger, held, dataset, epsilon: ledger.create(dataset, epsilon=epsilon),
    "reserve": lambda ledger, held, dataset, epsilon, what, parameters: ledger.reserve(
        dataset, epsilon, what=what, parameters=parameters
    ),
    "charge": lambda ledger, held, dataset, epsilon, what, parameters: ledger.charge(
        dataset,
        lambda: fg.noisy_max([1, 900], epsilon="1/2"),
        epsilon=epsilon,
        what=what,
        parameters=parameters,
    ),
    "settle": lambda ledger, held, spent: held and held.settle(spent),
    "abandon": lambda ledger, held, reason: held and held.abandon(reason),
    "read": lambda ledger, held, dataset: (ledger.account(dataset), ledger.entries(dataset)),
    "verify": lambda ledger, held, head: ledger.verify(head),
}


@FEWER
@given(
    st.one_of(
        anything,
        st.builds(
            lambda head, tail: head + tail,
            st.sampled_from(
                [
                    "sqlite:///",
                    "sqlite://",
                    "postgresql://u:secret@127.0.0.1:1/",
                    "mysql://",
                    "sqlite:////proc/",
                    "",
                ]
            ),
            hostile_texts,
        ),
    )
)
def url(place: Any) -> None:
    """An address that is none, or that leads nowhere."""
    with tempfile.TemporaryDirectory() as folder:
        if isinstance(place, str) and place.startswith("sqlite:///") and not place.startswith("sqlite:////"):
            place = f"sqlite:///{folder}/{place[10:]}"
        if place is None:
            return
        ledger, error = attempt(fg.Ledger, place)
        assert error is None or "secret" not in str(error)
        if ledger is not None:
            _, error = attempt(ledger.account, "shop")
            assert error is not None
            assert "secret" not in str(error)


TARGETS: dict[str, Callable[[], None]] = {"ledger": calls, "ledger url": url}


@pytest.mark.parametrize("target", TARGETS)
def test_only_errors_of_freegap(target: str) -> None:
    TARGETS[target]()


def test_names_are_data_to_the_database(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    for dataset in ("'; DROP TABLE freegap_journal; --", '" OR "1"="1', "%", "_", "=1+1"):
        ledger.create(dataset, epsilon=1)
        ledger.reserve(dataset, "1/2", what="x'; DELETE FROM freegap_ledger; --", parameters={"a": dataset})
    assert {account.dataset: str(account.remaining) for account in ledger.accounts()} == dict.fromkeys(
        ("'; DROP TABLE freegap_journal; --", '" OR "1"="1', "%", "_", "=1+1"), "1/2"
    )
    assert ledger.verify()
