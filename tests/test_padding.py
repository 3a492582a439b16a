"""When a padded release returns, to the nanosecond, on a clock and a chance that are given."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import freegap as fg
from tests.clock import Clock, Drawn

MILLISECOND = 10**6
LOOKS = 4  # the clock moves by 1 ns with each: at the start, before the wait, and one or two at its end


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    given = Clock()
    monkeypatch.setattr("freegap.padding.time", given)
    return given


def chance(monkeypatch: pytest.MonkeyPatch, share: Fraction) -> None:
    monkeypatch.setattr("freegap.padding.source_or_system", lambda _: Drawn(share))


def taken(clock: Clock, seconds: Any, release: Callable[[], Any]) -> int:
    """How many nanoseconds it took, by that clock."""
    start = clock.now
    fg.pad_to(seconds, release)
    return clock.now - start


def test_it_returns_what_the_release_returns_and_never_early() -> None:
    """By the real clock as well: however busy the machine is, it cannot be too early."""
    start = time.perf_counter_ns()
    assert fg.pad_to("0.002", lambda: 7) == 7
    assert time.perf_counter_ns() - start >= 2 * MILLISECOND


def test_an_error_is_raised_as_late(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        clock.work(3 * MILLISECOND)
        raise fg.BudgetSpent("nothing left")

    chance(monkeypatch, Fraction(0))
    start = clock.now
    with pytest.raises(fg.BudgetSpent):
        fg.pad_to("0.05", fails)
    assert 50 * MILLISECOND <= clock.now - start <= 50 * MILLISECOND + LOOKS


def test_the_moment_is_the_first_multiple_that_is_not_over(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 ns of work end at 20, 21 and 40 ns at 40, 41 ns at 60; with 2 ns by chance, 2 ns later."""
    for late in (0, 2):
        chance(monkeypatch, Fraction(2 * late + 1, 6))  # the middle of one of the three that are possible
        for extra, end in ((-5, 20), (-1, 20), (0, 40), (19, 40), (20, 60)):
            # One look at the clock comes before the work, so that work of 19 ns ends at 20.
            took = taken(clock, Fraction(20, 10**9), lambda e=extra, n=late: clock.work(20 + n + e))  # type: ignore[misc]
            assert end + late <= took <= end + late + 2


def test_a_long_wait_is_slept_but_for_its_last_millisecond(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """30 ms of work at 20 ms: it ends at 40 ms, of which the last is waited for awake."""
    chance(monkeypatch, Fraction(0))
    took = taken(clock, "0.02", lambda: clock.work(30 * MILLISECOND))
    assert 40 * MILLISECOND <= took <= 40 * MILLISECOND + LOOKS
    (slept,) = clock.slept
    assert 9 * MILLISECOND - LOOKS <= slept <= 9 * MILLISECOND
    clock.slept.clear()
    assert taken(clock, "0.001", lambda: None) >= MILLISECOND
    assert clock.slept == []


def test_chance_has_an_eighth_of_the_time_and_is_drawn_before_the_release(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[Any] = []

    def system(_: None) -> Drawn:
        order.append("chance")
        return Drawn(1 - Fraction(1, 2**60))

    monkeypatch.setattr("freegap.padding.source_or_system", system)
    took = taken(clock, "0.008", lambda: order.append("release"))
    assert 9 * MILLISECOND <= took <= 9 * MILLISECOND + LOOKS
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
