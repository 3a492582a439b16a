"""How the benchmarks measure."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

__all__ = ["Contestants", "interleaved_ms"]

Contestants = dict[str, Callable[[], object]]


def interleaved_ms(
    contestants: Contestants, *, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The median time of each contestant in milliseconds.

    clock: `time.process_time` counts only what this process itself did, on a machine that others use too.

    They take turns, so that what else the machine does meanwhile strikes all of them alike; each is
    run once before the clock counts.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    for _ in range(rounds):
        for name, run in contestants.items():
            begin = clock()
            run()
            times[name].append(clock() - begin)
    return {name: 1000 * median(measured) for name, measured in times.items()}
