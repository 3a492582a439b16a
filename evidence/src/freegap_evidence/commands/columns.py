"""Records as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from freegap.report.tables import TitledTable

Record = dict[str, Any]


def table_of(
    title: str, rows: Sequence[Record], columns: Mapping[str, str], left: Sequence[str] = ()
) -> TitledTable:
    """columns: the heading of each, and how it shows a row. left: those that are words."""
    table = Table()
    for heading in columns:
        table.add_column(heading, justify="left" if heading in left else "right")
    for row in rows:
        table.add_row(*(form.format_map(row) for form in columns.values()))
    return TitledTable(title, table)
