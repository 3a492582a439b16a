"""How the benchmarks measure, and what they print for programs."""

from __future__ import annotations

import ctypes
import platform
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # glibc's numbers for mallopt
_KEPT, _LARGEST_ARRAY = 2**30, 2**25

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


def keep_freed_memory() -> bool:
    """Let this process keep what it frees; False where the C library has no such setting.

    With arrays of megabytes, one that frees many makes the allocator give its memory back to the system, and
    whoever comes next pays for thousands of new pages: four times what a release of a million items takes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if platform.libc_ver()[0] == "glibc" else None
    if mallopt is None:
        return False
    return bool(mallopt(_TRIM_THRESHOLD, _KEPT) and mallopt(_MMAP_THRESHOLD, _LARGEST_ARRAY))


def secure_and_insecure(contestants: Contestants, *, rounds: int) -> dict[str, float]:
    """The times of these two, and their ratio; those of further contestants under their names."""
    times = interleaved_ms(contestants, rounds=rounds)
    return {f"{name}_ms": time for name, time in times.items()} | {
        "ratio": times["secure"] / times["insecure"]
    }


def record(benchmark: str, rows: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """What `freegap bench … --json` prints: the rows, and where they were measured."""
    machine = {"python": platform.python_version(), "numpy": np.__version__}
    return {"benchmark": benchmark, **more, "rows": rows, "machine": machine}


def number(value: float) -> str:
    """Three digits or so.

    >>> number(0.01234), number(12345.6), number(1.0)
    ('0.0123', '12,346', '1')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
