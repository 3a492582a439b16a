"""How a benchmark is shown: as the record of it, or as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from freegap.cli.terminal import print_json, spinner
from freegap.report.tables import TitledTable

Record = dict[str, Any]
Tables = Sequence[TitledTable]


def show(
    run: Callable[..., Record], as_json: bool, tables: Callable[[Record], Sequence[TitledTable]]
) -> None:
    """Measure, with a word on what is being measured; then print the record, or tables of it."""
    with spinner("measuring", quiet=as_json) as status:
        result = run(progress=status.update)
    if as_json:
        print_json(result)
    else:
        Console().print(*tables(result))


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
