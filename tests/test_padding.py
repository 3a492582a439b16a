from __future__ import annotations

import time
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg


class Drawn:
    """A source whose bits come out as this share of what is possible."""

    def __init__(self, share: Fraction) -> None:
        self.share = share

    def bits(self, n: int) -> int:
        return int(self.share * 2**n)


def elapsed(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def test_it_returns_what_the_release_returns_and_never_early() -> None:
    assert fg.pad_to("0.01", lambda: 7) == 7
    assert elapsed(lambda: fg.pad_to(Fraction(1, 20), lambda: None)) >= 0.05


def test_a_late_release_returns_at_a_multiple() -> None:
    """Not when it is ready: that moment is what must not show."""
    for work in (0.03, 0.05):
        assert elapsed(lambda work=work: fg.pad_to("0.02", lambda: time.sleep(work))) >= 0.02 * (
            2 if work == 0.03 else 3
        )


def test_an_error_is_raised_as_late() -> None:
    def fails() -> None:
        raise fg.BudgetSpent("nothing left")

    start = time.perf_counter()
    with pytest.raises(fg.BudgetSpent):
        fg.pad_to("0.05", fails)
    assert time.perf_counter() - start >= 0.05


def test_the_moment_is_the_first_multiple_that_is_not_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock and a chance that are given: 20 ns of work end at 20, 21 and 40 ns at 40, 41 ns at 60.
    With 2 ns by chance all of that is 2 ns later."""
    for chance in (0, 2):
        for extra, end in ((0, 20), (1, 40), (20, 40), (21, 60)):
            work = 20 + chance + extra
            now = [1_000]

            def tick(now: list[int] = now) -> int:
                now[0] += 1
                return now[0] - 1

            def busy(work: int = work, now: list[int] = now) -> None:
                now[0] = 1_000 + work

            monkeypatch.setattr("freegap.padding.time.perf_counter_ns", tick)
            drawn = Drawn(Fraction(2 * chance + 1, 6))  # the middle of one of the three that are possible
            monkeypatch.setattr("freegap.padding.source_or_system", lambda _, drawn=drawn: drawn)
            fg.pad_to(Fraction(20, 10**9), busy)
            assert end + chance <= now[0] - 1_000 <= end + chance + 2


def test_chance_has_an_eighth_of_the_time_and_is_drawn_before_the_release(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[Any] = []

    def system(_: None) -> Drawn:
        order.append("chance")
        return Drawn(1 - Fraction(1, 2**60))

    monkeypatch.setattr("freegap.padding.source_or_system", system)
    start = time.perf_counter()
    fg.pad_to("0.008", lambda: order.append("release"))
    assert time.perf_counter() - start >= 0.009
    assert order == ["chance", "release"]


@pytest.mark.parametrize(
    ("seconds", "release", "message"),
    [
        (0, lambda: 1, "seconds = 0: must be greater than 0"),
        ("1e-12", lambda: 1, "must be at least 1e-9"),
        (1, 3, "release = 3: must be a function without arguments"),
    ],
)
def test_bad_arguments(seconds: Any, release: Any, message: str) -> None:
    with pytest.raises(fg.InvalidArgument) as caught:
        fg.pad_to(seconds, release)
    assert message in str(caught.value)
