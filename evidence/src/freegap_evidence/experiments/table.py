"""A table of numbers: what an experiment computes, what is kept, written and drawn."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Rows under named columns.

    >>> table = Table.of([{"k": 2, "answers": 3.5}, {"k": 4, "answers": 6.0}])
    >>> table.where(k=4).numbers("answers")
    array([6.])
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> Table:
        """From records with the same names; NumPy's numbers become Python's."""
        listed = list(records)
        columns = tuple(listed[0]) if listed else ()
        return cls(columns, tuple(tuple(_plain(record[name]) for name in columns) for record in listed))

    def column(self, name: str) -> list[Cell]:
        """The values of one column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    def numbers(self, name: str) -> NDArray[np.float64]:
        """The values of one column as an array."""
        return np.array(self.column(name), dtype=np.float64)

    def where(self, **conditions: Cell) -> Table:
        """The rows in which these columns have these values."""
        wanted = [(self.columns.index(name), value) for name, value in conditions.items()]
        return Table(self.columns, tuple(row for row in self.rows if all(row[i] == v for i, v in wanted)))

    def distinct(self, name: str) -> list[Any]:
        """The different values of a column, in the order of their first appearance."""
        return list(dict.fromkeys(self.column(name)))

    def records(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def to_csv(self) -> str:
        """The table as text; numbers have the digits they need, so that equal tables are equal bytes."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return text.getvalue()


def _plain(value: Any) -> Cell:
    plain: Cell = value.item() if isinstance(value, np.generic) else value
    return plain
