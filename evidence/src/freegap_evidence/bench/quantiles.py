"""Nine quantiles of a Parquet file, against the engine's own query for the same histogram of people.

The query is what one would write by hand: one number of each person, its cell, and how many people each cell
has. It draws nothing. It counts the same people: `NOT isnan` would count NaN where a Parquet file states the
least and the largest number of a column, by a mistake of DuckDB 2.0, so it asks otherwise. Both run in this
process on a DuckDB of their own, in turns, by processor time, which counts the work of all cores and not what
else the machine does.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from freegap.tables.files import open_connection
from freegap.tables.quantiles import quantiles
from freegap_evidence.bench.timing import interleaved_ms

ROWS = 10**7
_ROWS_PER_PERSON = 10
_HIGH = 1000
_NUMBERS: dict[str, str] = {
    "largest": "SELECT max(cost) AS cost FROM rows WHERE {} GROUP BY person",
    "median": "SELECT quantile_disc(cost, 0.5) AS cost FROM rows WHERE {} GROUP BY person",
    "rows": "SELECT cost FROM rows WHERE {}",
    "rows in tenths": "SELECT cost FROM rows WHERE {}",
}
FORMS = tuple(_NUMBERS)
_PRESENT = "(isfinite(cost) OR isinf(cost)) AND person IS NOT NULL"
_ASKED: dict[str, dict[str, Any]] = {
    "largest": {"person": "person", "per_person": "largest", "resolution": "1/10"},
    "median": {"person": "person", "resolution": "1/10"},
    "rows": {"protect": "rows", "resolution": 1},
    "rows in tenths": {"protect": "rows", "resolution": "1/10"},
}


def generate(path: Path, *, rows: int) -> None:
    """Costs in cents, log-normal, as doubles; persons uniformly, about ten rows each."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET preserve_insertion_order = false; SET enable_progress_bar = false")
        uniform = [f"((hash(range + {shift}) % 1000003 + 1) / 1000004)" for shift in (0, 7)]
        normal = "sqrt(-2 * ln({})) * cos(2 * pi() * {})".format(*uniform)
        connection.table_function("range", [rows]).project(
            f"round(exp(3.5 + 1.2 * {normal}), 2) AS cost, "
            f"CAST(hash(31 * range + 5) % {max(rows // _ROWS_PER_PERSON, 1)} AS INTEGER) AS person"
        ).write_parquet(str(path))


def run(
    *,
    rows: int = ROWS,
    forms: Sequence[str] = FORMS,
    rounds: int = 3,
    progress: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Time both; the result is what `freegap bench quantiles --json` prints.

    forms: of which numbers: the largest or the median of each person, or all rows.
    """
    with tempfile.TemporaryDirectory(prefix="freegap-bench-") as folder:
        path = Path(folder) / "rows.parquet"
        progress(f"{rows:,} rows: generating")
        generate(path, rows=rows)
        measured = []
        for name in forms:
            progress(f"{rows:,} rows, {name}: measuring")
            measured.append({"of": name, **_measure(str(path), name, rounds)})
        return {
            "cores": os.cpu_count(),
            "rows": rows,
            "file_mb": path.stat().st_size / 1e6,
            "measured": measured,
        }


def _measure(path: str, name: str, rounds: int) -> dict[str, float]:
    asked = _ASKED[name]
    parts = Fraction(asked["resolution"]).denominator
    cell = f"CAST(floor(least(greatest(cost, 0), {_HIGH}) * {parts}) AS BIGINT)"
    numbers = _NUMBERS[name].format(_PRESENT)

    def engine() -> object:
        with open_connection() as connection:
            table = connection.read_parquet(path)
            query = f"SELECT {cell} AS cell, count(*) FROM ({numbers}) GROUP BY 1"  # noqa: S608 (all ours)
            return table.query("rows", query).fetchall()

    def released() -> object:
        nine = [f"0.{tenths}" for tenths in range(1, 10)]
        return quantiles(path, value="cost", q=nine, low=0, high=_HIGH, epsilon=1, **asked)

    times = interleaved_ms({"engine": engine, "quantiles": released}, rounds=rounds, clock=time.process_time)
    return {f"{who}_ms": ms for who, ms in times.items()} | {"ratio": times["quantiles"] / times["engine"]}
