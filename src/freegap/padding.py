"""A release that returns at a time fixed in advance, so that its duration tells nothing.

The noise hides the answers in what is released, not in how long that took: near ties need more digits, a
sparse vector ends when its k-th answer is found. `pad_to` waits until a moment that depends on public
numbers and on chance alone. Chance, because no program can return at a given nanosecond: caches and the
scheduler add a trace of what went before. A moment drawn from a span some thousand times as long covers it.

What remains is in docs/timing.md: a release that is not ready in time returns at the next multiple; and the
time that the processor was busy, the memory and the caches are as visible to other users as they were.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from freegap.bits import not_noise, source_or_system
from freegap.errors import InvalidArgument
from freegap.values.rationals import Rational, positive_rational

T = TypeVar("T")

_NANOSECONDS = 10**9
# A sleeper is woken some time after the moment it asked for: the last stretch is waited for awake.
_AWAKE = 1_000_000
# The moment is drawn from an eighth of the time that was asked for.
_SPAN = 8


def pad_to(seconds: Rational, release: Callable[[], T]) -> T:
    """Run a release, and return (or raise) when `seconds`, and by chance up to an eighth more, have passed
    since the call.

    seconds: chosen without looking at the data, and well above what the release takes; where that was not
        enough, it returns one, two, … times `seconds` later, and how often that is shows.
    release: a function without arguments that makes the release, with everything that touches private data.

    >>> import freegap as fg, time
    >>> start = time.perf_counter()
    >>> release = fg.pad_to("0.05", lambda: fg.noisy_max([3, 900, 5], epsilon=1))
    >>> release.indices, time.perf_counter() - start >= 0.05
    ((1,), True)
    """
    start = time.perf_counter_ns()
    step = int(positive_rational("seconds", seconds) * _NANOSECONDS)
    if step < 1:
        raise InvalidArgument("seconds", seconds, "must be at least 1e-9", "Pass for example seconds=0.1.")
    if not callable(release):
        raise InvalidArgument(
            "release", release, "must be a function without arguments", "Pass lambda: noisy_top_k(...)."
        )
    with not_noise():
        chance = source_or_system(None).bits(64)
    first = start + step + (chance * (step // _SPAN + 1) >> 64)
    try:
        return release()
    finally:  # an error tells as much by its time as a result does
        _wait(first, step)


def _wait(first: int, step: int) -> None:
    """Until `first`, or the first whole number of steps later that is not over yet."""
    now = time.perf_counter_ns()
    deadline = first + max(0, -((first - now) // step)) * step
    if deadline - now > _AWAKE:
        time.sleep((deadline - now - _AWAKE) / _NANOSECONDS)
    while time.perf_counter_ns() < deadline:
        pass
