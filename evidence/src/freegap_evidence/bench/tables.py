"""How the cost of a private top-k from a table grows: time, memory, and what leaves the engine.

Each case is generated as Parquet, then released by a process of its own, so that its peak memory is its
own. Inside, every call into the engine is timed, and every frame that comes back from it is weighed.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

CASES: tuple[tuple[int, int], ...] = (
    (10**5, 10**3),
    (10**6, 10**3),
    (10**7, 10**3),
    (10**7, 10**4),
    (10**7, 10**5),
    (10**7, 10**6),
    (10**7, 10**7),
)
"""(rows, items of the domain); the command can ask for others."""

_ROWS_PER_PERSON = 20


def run(
    *, cases: tuple[tuple[int, int], ...] = CASES, progress: Callable[[str], object] = lambda _: None
) -> dict[str, Any]:
    """Generate and measure each case."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="freegap-bench-") as directory:
        for n, items in cases:
            progress(f"{n:,} rows, {items:,} items: generating")
            path = Path(directory) / "rows.parquet"
            generate(path, rows=n, items=items)
            progress(f"{n:,} rows, {items:,} items: measuring")
            command = [sys.executable, "-m", "freegap_evidence.bench.tables", str(path), str(items)]
            begin = time.perf_counter()
            done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
            wall = time.perf_counter() - begin
            rows.append(
                {
                    "rows": n,
                    "items": items,
                    "file_mb": path.stat().st_size / 1e6,
                    "command_s": wall,
                    **json.loads(done.stdout),
                }
            )
    return {"cores": os.cpu_count(), "rows": rows}


def generate(path: Path, *, rows: int, items: int) -> None:
    """Items by a power law over the domain, persons uniformly; about twenty rows per person."""
    import duckdb

    connection = duckdb.connect(config={"threads": "1"})
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SELECT setseed(0.5)").fetchall()
    persons = max(rows // _ROWS_PER_PERSON, 1)
    relation = connection.table_function("range", [rows]).project(
        f"CAST(floor({items} * pow(random(), 3)) AS BIGINT) AS item, "
        f"CAST(floor({persons} * random()) AS BIGINT) AS person"
    )
    relation.write_parquet(str(path))


def measure(path: str, items: int) -> dict[str, Any]:
    """Release the top ten of a generated file, with measurements, and report what that took.

    Libraries are loaded before the clock starts; the time of the whole command includes that.
    """
    import duckdb
    import narwhals.stable.v2 as nw

    import freegap
    from freegap.tables import domains, fetched, in_engine, people, readers, sources

    connection = duckdb.connect()  # held, because older DuckDBs close one that nobody holds
    warm = connection.sql("SELECT unnest([0, 0, 1]) AS item, unnest([1, 2, 1]) AS person")
    freegap.top_k(warm, item="item", person="person", k=1, epsilon=1, measure=True, domain=range(9))
    engine = _Clock()
    for module in (people, domains, readers, in_engine, sources):
        module.ask_engine = engine.timed(module.ask_engine)  # type: ignore[attr-defined]
    left = [0]
    collect = nw.LazyFrame.collect

    def weighed(frame: Any, *arguments: Any, **options: Any) -> Any:
        collected = collect(frame, *arguments, **options)
        left[0] += collected.to_arrow().nbytes
        return collected

    all_rows = fetched.all_rows

    def weighed_rows(relation: Any) -> Any:
        rows = all_rows(relation)
        left[0] += sum(len(value.encode()) if isinstance(value, str) else 8 for row in rows for value in row)
        return rows

    nw.LazyFrame.collect = weighed  # type: ignore[assignment,method-assign]
    fetched.all_rows = weighed_rows
    tracemalloc.start()
    begin = time.perf_counter()
    freegap.top_k(path, item="item", person="person", k=10, epsilon=1, measure=True, domain=range(items))
    seconds = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "outside_share": 1 - engine.seconds / seconds,
        "bytes_left": left[0],
        "driver_mb": tracemalloc.get_traced_memory()[1] / 1e6,
        "process_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


class _Clock:
    """Time spent in calls, nested ones counted once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            self._depth += 1
            begin = time.perf_counter()
            try:
                return call(*arguments)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self.seconds += time.perf_counter() - begin

        return timed


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
