"""Results of a few rows, fetched from an engine as Python's own numbers and texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw


def few_rows(frame: nw.LazyFrame[Any]) -> Mapping[str, Sequence[Any]]:
    """The columns of a result, by name.

    DuckDB hands out numbers and texts as Python's own. By way of narwhals they would come through PyArrow,
    whose import takes longer than the counting of a small file. Dates and all else that engines spell in
    their own ways do come so, so that an item is the same object whichever engine held it.
    """
    schema = frame.collect_schema()
    if frame.implementation.is_duckdb() and all(
        kind.is_integer() or kind == nw.String for kind in schema.values()
    ):
        rows = all_rows(nw.to_native(frame))
        return {name: [row[place] for row in rows] for place, name in enumerate(schema)}
    collected = frame.collect()
    return {name: collected[name].to_list() for name in schema}


def all_rows(relation: Any) -> list[tuple[Any, ...]]:
    """The rows of a relation of DuckDB."""
    rows: list[tuple[Any, ...]] = relation.fetchall()
    return rows
