"""How cost grows: time and memory of a release along one size at a time, with fitted exponents.

Each point is measured by a process of its own, on data made there, so that its memory is its own. The
exponent is the slope of a line through the logarithms, from the size on at which the fixed cost of a call
no longer counts; a cost of c·n^p lies on a line of slope p.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from freegap_evidence.bench.peers.workers.harness import forget_peak, peak_mb
from freegap_evidence.bench.tables import generate
from freegap_evidence.bench.timing import record

Release = Callable[[], object]
Progress = Callable[[str, int, int], None]
Row = dict[str, Any]

_ROUNDS = 7
_SECONDS = 3.0
_COUNTED = 0.5
K_OF = 10**6
TOLERANCE = 0.15
"""By how much a fitted exponent may exceed its theory before it is called faster: caches and page faults."""


@dataclass(frozen=True)
class Axis:
    """A size that grows while the others stay.

    settled: the size from which on the line is fitted. theory: the exponent of time that the algorithm has,
    and why.
    """

    name: str
    title: str
    sizes: tuple[int, ...]
    settled: int
    theory: float
    why: str
    prepared: Callable[[int], Any]


@contextmanager
def _answers(n: int) -> Iterator[Release]:
    import freegap as fg

    answers = np.random.default_rng(1).integers(0, K_OF, n)  # from 2²³ steps of the grid on, doubles are used
    yield lambda: fg.noisy_top_k(answers, min(10, n - 1), epsilon=1, monotonic=True)


@contextmanager
def _chosen(k: int) -> Iterator[Release]:
    import freegap as fg

    answers = np.random.default_rng(1).integers(0, K_OF, K_OF)
    yield lambda: fg.noisy_top_k(answers, k, epsilon=1, monotonic=True)


@contextmanager
def _distinct(counts: int) -> Iterator[Release]:
    import freegap as fg

    domain = range(10**12)
    grouped = fg.Counts.over(domain, items=np.arange(counts), values=np.arange(1, counts + 1))
    yield lambda: fg.noisy_top_k(grouped, 5, epsilon=1, monotonic=True)


@contextmanager
def _groups(groups: int) -> Iterator[Release]:
    from freegap.bits import SystemBits
    from freegap.mechanisms.batches import draw_top_k_batch
    from freegap.mechanisms.top_k_plan import TopKPlan

    values = np.random.default_rng(1).integers(0, 1000, 50 * groups)
    offsets = np.arange(0, len(values) + 1, 50)
    plan = TopKPlan.read("noisy_top_k", k=5, epsilon=1, monotonic=True)
    yield lambda: draw_top_k_batch(plan, values, offsets, SystemBits())


@contextmanager
def _rows(rows: int) -> Iterator[Release]:
    import freegap as fg

    with tempfile.TemporaryDirectory(prefix="freegap-growth-") as folder:
        path = Path(folder) / "rows.parquet"
        generate(path, rows=rows, items=1000)
        yield lambda: fg.top_k(str(path), item="item", person="person", k=10, epsilon=1, domain=range(1000))


def _powers(low: int, high: int) -> tuple[int, ...]:
    return tuple(10**power for power in range(low, high + 1))


AXES = (
    Axis(
        "answers",
        "n answers below a million, top 10",
        _powers(1, 8),
        10**5,
        1.0,
        "each answer is looked at once, a few together by one vector operation",
        _answers,
    ),
    Axis(
        "k",
        "k of a million answers",
        _powers(0, 5),
        10**3,
        1.0,
        "the answers are looked at once; sorting and naming what is selected takes k·log k",
        _chosen,
    ),
    Axis(
        "distinct counts",
        "D distinct counts in a domain of 10¹², top 5",
        _powers(1, 7),
        10**5,
        1.0,
        "all items with one count are one draw, so the domain does not matter",
        _distinct,
    ),
    Axis(
        "groups",
        "G groups of 50 answers, top 5 of each",
        _powers(0, 6),
        10**4,
        1.0,
        "all groups in one batch, each the single release on digits of its own",
        _groups,
    ),
    Axis(
        "rows",
        "R rows of a Parquet file, 1,000 items, top 10",
        _powers(3, 7),
        10**6,
        1.0,
        "DuckDB groups the rows by item and person; what is left is a thousand counts",
        _rows,
    ),
)


def point(axis: Axis, size: int) -> Row:
    """One size, measured in this process: median times, and the memory that the releases added."""
    with axis.prepared(size) as release:
        if size != axis.sizes[0]:
            with axis.prepared(axis.sizes[0]) as smallest:
                smallest()  # what is loaded with the first release
        else:
            release()
        forget_peak()
        before = peak_mb()
        times: list[float] = []
        processor: list[float] = []
        system = os.times().system
        while not times or (len(times) < _ROUNDS and sum(times) < _SECONDS):
            used, begin = time.process_time(), time.perf_counter()
            release()
            times.append(time.perf_counter() - begin)
            processor.append(time.process_time() - used)
        system = os.times().system - system
    medians = {"ms": 1000 * median(times), "processor_ms": 1000 * median(processor)}
    # The system counts its own time by its ticks: of a moment that says nothing.
    share = min(system / sum(processor), 1.0) if sum(processor) >= _COUNTED else None
    return {
        "size": size, **medians, "system_share": share, "added_mb": peak_mb() - before, "rounds": len(times)
    }  # fmt: skip


def exponent(points: Sequence[tuple[float, float]]) -> float | None:
    """The slope of the line of least squares through the logarithms; none through fewer than two points.

    >>> round(exponent([(10, 7.0), (100, 700.0), (1000, 70_000.0)]), 9)
    2.0
    """
    if len(points) < 2 or any(value <= 0 for _, value in points):
        return None
    sizes, values = np.log([size for size, _ in points]), np.log([value for _, value in points])
    return float(np.polyfit(sizes, values, 1)[0])


def fitted(axis: Axis, points: Sequence[Row]) -> Row:
    """What the points of an axis say."""
    settled = [row for row in points if row["size"] >= axis.settled]
    time_exponent = exponent([(row["size"], row["processor_ms"]) for row in settled])
    return {
        "axis": axis.name,
        "title": axis.title,
        "theory": axis.theory,
        "why": axis.why,
        "settled": axis.settled,
        "time_exponent": time_exponent,
        "memory_exponent": exponent(
            [(row["size"], row["added_mb"]) for row in settled if row["added_mb"] >= 1]
        ),
        "faster_than_theory": time_exponent is not None and time_exponent > axis.theory + TOLERANCE,
        "points": list(points),
    }


def run(
    *,
    axes: Sequence[Axis] = AXES,
    largest: int | None = None,
    measured: Callable[[Axis, int], Row] | None = None,
    progress: Progress = lambda now, done, total: None,
) -> dict[str, Any]:
    """Measure every point of every axis; the result is what `freegap bench growth --json` prints.

    largest: leave out sizes above. measured: how a point is measured; by a process of its own if left out.
    """
    measure = measured or _in_a_process
    chosen = [(axis, [size for size in axis.sizes if largest is None or size <= largest]) for axis in axes]
    total = sum(len(sizes) for _, sizes in chosen)
    done, rows = 0, []
    for axis, sizes in chosen:
        points = []
        for size in sizes:
            progress(f"{axis.name}: {size:,}", done, total)
            points.append(measure(axis, size))
            done += 1
        rows.append(fitted(axis, points))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return record("growth", rows, date=today, cores=os.cpu_count(), tolerance=TOLERANCE)


def _in_a_process(axis: Axis, size: int) -> Row:
    command = [sys.executable, "-m", "freegap_evidence.bench.growth", axis.name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    measured: Row = json.loads(done.stdout)
    return measured


if __name__ == "__main__":
    (asked,) = (axis for axis in AXES if axis.name == sys.argv[1])
    sys.stdout.write(json.dumps(point(asked, int(sys.argv[2]))))
