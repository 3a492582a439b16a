"""Whatever is released, fails, is asked, closed or lost: the ledger never counts less than was released."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import freegap as fg
from freegap import FreegapError, Ledger, SeededBits, base2
from tests.budget.mechanisms import HIGH, LOW, OBJECTS, RELEASES

TOTAL = 4
AMOUNTS = st.sampled_from([Fraction(1, 4), Fraction(1, 2)])
PARTS = st.sampled_from([Fraction(1, 8), Fraction(1, 4)])

single = st.one_of(
    st.tuples(
        st.just("release"), st.sampled_from(["noisy_max", "sparse_vector", "base2.sparse_vector"]), PARTS
    ),
    st.tuples(st.just("open"), st.sampled_from(["SparseVector", "base2.DiscreteSparseVector"]), PARTS),
    st.tuples(st.just("ask"), st.integers(0, 2), st.sampled_from([HIGH, LOW, float("nan")])),
    st.tuples(st.just("close"), st.integers(0, 2)),
    st.tuples(st.just("fail"), st.sampled_from(["argument", "bits", "own"])),
)
step = st.one_of(
    st.tuples(st.just("charge"), AMOUNTS, st.lists(single, min_size=1, max_size=3), st.integers(0, 3)),
    st.tuples(st.just("alone"), single),
    st.tuples(st.just("lose"), st.integers(0, 2)),
)


class Run:
    """A ledger, and beside it all that was made on its account, with what each has really spent."""

    def __init__(self, folder: str) -> None:
        self.ledger = Ledger(f"sqlite:///{folder}/ledger.db")
        self.ledger.create("shop", epsilon=TOTAL)
        self.spent = Fraction(0)
        self.objects: list[Any] = []
        self.seeds = iter(range(1000))

    def do(self, what: str, *rest: Any) -> None:
        with suppress(FreegapError, ZeroDivisionError):
            getattr(self, what)(*rest)
        counted = self.ledger.account("shop")
        released = self.spent + sum(asking.spent for asking in self.objects)
        assert released <= counted.spent + counted.reserved <= TOTAL

    def alone(self, single: tuple[Any, ...]) -> None:
        self.one(single, ledger=(self.ledger, "shop"))

    def charge(self, epsilon: Fraction, singles: list[tuple[Any, ...]], returned: int) -> None:
        def release() -> Any:
            made = [self.one(single) for single in singles]
            return made[returned] if returned < len(made) else made

        self.ledger.charge("shop", release, epsilon=epsilon, what="several")

    def lose(self, number: int) -> None:
        if number < len(self.objects):
            self.spent += self.objects.pop(number).spent

    def one(self, single: tuple[Any, ...], **ledger: Any) -> Any:
        kind, *rest = single
        single_kinds: dict[str, Callable[..., Any]] = {
            "release": self.release,
            "open": self.open,
            "ask": self.ask,
            "close": self.close,
            "fail": self.fail,
        }
        return single_kinds[kind](*rest, **ledger)

    def release(self, name: str, part: Fraction, **ledger: Any) -> Any:
        made = RELEASES[name](bits=SeededBits(next(self.seeds)), **budget(name, part), **ledger)
        self.spent += made.spent
        return made

    def open(self, name: str, part: Fraction, **ledger: Any) -> Any:
        self.objects.append(OBJECTS[name](bits=SeededBits(next(self.seeds)), **budget(name, part), **ledger))
        return self.objects[-1]

    def ask(self, number: int, answer: Any, **_: Any) -> Any:
        return self.objects[number].ask(answer) if number < len(self.objects) else None

    def close(self, number: int, **_: Any) -> None:
        if number < len(self.objects):
            self.objects[number].close()

    def fail(self, how: str, **ledger: Any) -> Any:
        if how == "own":
            return 1 / 0
        if how == "argument":
            return fg.noisy_top_k([3, 1], k=5, epsilon="1/8", **ledger)
        try:
            return fg.noisy_max([3, 1], epsilon="1/8", bits=fg.ReplayedBits("01"), **ledger)
        except fg.BitsExhausted:
            self.spent += Fraction(1, 8)  # it has begun to draw, and its error shows
            raise


def budget(name: str, part: Fraction) -> dict[str, Any]:
    return {"eta": base2.share_epsilon(part, k=2)} if name.startswith("base2.") else {"epsilon": part}


# Shrinking a failure would take minutes: each step is durable on disk.
@settings(max_examples=15, deadline=None, derandomize=True, phases=[Phase.generate])
@given(st.lists(step, min_size=3, max_size=8))
def test_the_ledger_never_counts_less_than_was_released(steps: list[tuple[Any, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Run(folder)
        for what, *rest in steps:
            run.do(what, *rest)
        assert run.ledger.verify().ok
