"""Tables for the terminal: nothing in them is shortened, and words stay whole as long as there is room."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Column, Table
from rich.text import Text

_NO_LIMIT = 10_000


@dataclass(frozen=True)
class TitledTable:
    """A table below its title.

    The title has the whole line: as a part of the table it would be broken where that ends. A cell that is
    too long is folded and not cut: two that begin alike could not be told apart. No column is narrower than
    the longest word of its heading, or than its `min_width`; where there is no room for that the lines go,
    and then the words.
    """

    title: str
    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """The title, and the table as this terminal has room for it."""
        columns = self.table.columns
        wide = options.update_width(_NO_LIMIT)
        wanted = [_widest(column, console, wide) for column in columns]
        widths = [
            most if column.no_wrap else _longest_word(column)
            for column, most in zip(columns, wanted, strict=True)
        ]
        between = 2 * len(columns) - 2 if self.table.box is None else 3 * len(columns) + 1
        if sum(widths) + between > options.max_width:
            self.table.box, self.table.pad_edge, self.table.padding = None, False, (0, 1, 0, 0)
            between = len(columns) - 1
        room = options.max_width - between
        fits = sum(widths) <= room < sum(wanted)
        for _ in range(room - sum(widths) if fits else 0):  # what is left goes where most is missing
            missing = [most - width for most, width in zip(wanted, widths, strict=True)]
            widths[missing.index(max(missing))] += 1
        for column, width in zip(columns, widths, strict=True):
            column.overflow = column.overflow if column.no_wrap else "fold"
            column.width = width if fits else None
        yield Text(self.title, style="bold")
        yield self.table


def _widest(column: Column, console: Console, options: ConsoleOptions) -> int:
    return max(console.measure(cell, options=options).maximum for cell in (column.header, *column.cells))


def _longest_word(column: Column) -> int:
    heading = column.header.plain if isinstance(column.header, Text) else str(column.header)
    return max((column.min_width or 1, *map(len, heading.split())))
