"""What a release returns: frozen records that a person can look at and a program can read.

Every result knows what was asked (`asked`), what was charged (`spent`, exact) and in which measure, and
whether its noise came from a private source. It renders in a terminal (`print`, rich), in a notebook (HTML)
and as JSON, and it is a table: a class says its columns once, and every form of it follows from them.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from freegap.errors import printable
from freegap.values import export
from freegap.values.columns import Column
from freegap.values.formatted import formatted
from freegap.values.measures import Measure
from freegap.values.plans import ReleasePlan
from freegap.values.written import brief, json_text, jsonable, plain

NOT_PRIVATE = "NOT PRIVATE: the noise came from a seeded or recorded source. For tests and replay only."


@dataclass(frozen=True, kw_only=True)
class Release:
    """What all results share.

    plan: what was asked for, with everything that follows from it; public.
    asked: what was asked for, in its measure: ε, ρ, or ε and δ.
    measure: the name of that: "epsilon", "rho" or "epsilon-delta".
    epsilon: the ε that was asked for; None where the measure is ρ.
    spent: what was charged in that measure, at most what was asked.
    delta: the δ that goes with it; None where the measure has none.
    private: False where the noise came from a seeded or recorded source.
    parameters: the public parameters of the plan, for the record.
    """

    plan: ReleasePlan = field(hash=False)
    spent: Fraction
    private: bool

    def __post_init__(self) -> None:
        fields = vars(self)  # the values of a frozen record, which nobody but itself has seen yet
        for name, value in fields.items():
            kind = type(value)
            if kind is Fraction:
                fields[name] = formatted(value)
            elif kind is tuple and value and type(value[0]) is Fraction:
                fields[name] = tuple(map(formatted, value))

    @property
    def asked(self) -> Measure:
        """The most that the release could be charged, in its measure."""
        return self.plan.asked

    @property
    def measure(self) -> str:
        """What `spent` is measured in: "epsilon", "rho" or "epsilon-delta"."""
        return self.asked.name

    @property
    def epsilon(self) -> Fraction | None:
        """The ε that was asked for; None where the measure has none."""
        return self.asked.arguments().get("epsilon")

    @property
    def delta(self) -> Fraction | None:
        """The δ that was asked for; None where the measure has none."""
        return self.asked.arguments().get("delta")

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters of the plan."""
        return dict(self.plan.parameters)

    @property
    def title(self) -> str:
        """One line that says what this is."""
        raise NotImplementedError

    def columns(self) -> list[Column]:
        """The released table, column by column."""
        raise NotImplementedError

    def footnotes(self) -> list[str]:
        """Lines below the table."""
        notes = [self.cost(brief)]
        if not self.private:
            notes.append(NOT_PRIVATE)
        return notes

    def cost(self, written: Callable[[Fraction], str]) -> str:
        """What was asked and what was spent, in the measure's own words."""
        asked = self.asked
        delta = "" if self.delta is None else f", δ {written(self.delta)}"
        return f"{asked.symbol} asked {written(asked.spent)}, spent {written(self.spent)}{delta}"

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values: rationals as strings such as "1/3", gaps as floats."""
        raise NotImplementedError

    def to_json(self, *, indent: int | None = None) -> str:
        """The release as JSON; `from_json` reads it."""
        return json_text(self.to_dict(), indent=indent)

    @staticmethod
    def from_json(text: str) -> Release:
        """A release that was written by `to_json`, with the same table and everything else that was said.

        What JSON has no kind for, such as dates, comes back as text.

        >>> import freegap as fg
        >>> release = fg.noisy_top_k({"a": 1, "b": 90}, 1, epsilon=9, bits=fg.SeededBits(1))
        >>> again = fg.Release.from_json(release.to_json())
        >>> again.rows(exact=True) == release.rows(exact=True), again.spent
        (True, Fraction(9, 1))
        """
        from freegap.values.kept import read_json

        return read_json(text)

    def __len__(self) -> int:
        return max((len(column.values) for column in self.columns()), default=0)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.rows())

    def rows(self, *, exact: bool = False) -> list[Any]:
        """The table row by row, as named tuples. Numbers are floats; exact: rationals as they were released.

        >>> import freegap as fg
        >>> release = fg.noisy_top_k({"a": 1, "b": 90}, 1, epsilon=9, bits=fg.SeededBits(1))
        >>> [row.item for row in release], release.rows()[0]._fields
        (['b'], ('rank', 'item', 'gap'))
        """
        columns = self._plain(exact=exact, objects=True)
        names = [column.name for column in columns]
        row: Any = namedtuple("Row", names, rename=True)  # type: ignore[misc]  # the names are known when it runs
        return [row(*values) for values in zip(*(column.values for column in columns), strict=True)]

    def to_pandas(self, *, exact: bool = False) -> Any:
        """A pandas DataFrame. exact: `Fraction`s in place of floats.

        >>> import freegap as fg
        >>> release = fg.noisy_top_k({"a": 1, "b": 90}, 1, epsilon=9, bits=fg.SeededBits(1))
        >>> list(release.to_pandas().columns)
        ['rank', 'item', 'gap']
        """
        return export.to_pandas(self._plain(exact=exact, objects=True))

    def to_polars(self, *, exact: bool = False) -> Any:
        """A Polars DataFrame. exact: rationals as texts such as "450211/256" in place of floats."""
        return export.to_polars(self._plain(exact=exact))

    def to_arrow(self, *, exact: bool = False) -> Any:
        """A PyArrow table. exact: as in `to_polars`."""
        return export.to_arrow(self._plain(exact=exact))

    def to_csv(self, path: Any = None, *, exact: bool = False, formulas: bool = False) -> str | None:
        """CSV, in a file or as the text that is returned. exact: as in `to_polars`.

        formulas: write names as they are. Without it those that a spreadsheet would take for formulas stand
            after a quotation mark, and a warning says so; different names stay different.
        """
        text = export.csv_text(self._plain(exact=exact), formulas=formulas)
        if path is None:
            return text
        export.as_path(path).write_text(text, encoding="utf-8", newline="")
        return None

    def to_parquet(self, path: Any, *, exact: bool = False) -> None:
        """A Parquet file. exact: as in `to_polars`."""
        export.writer_for(export.as_path(path), ".parquet")(self._plain(exact=exact), export.as_path(path))

    def to_excel(self, path: Any, *, exact: bool = False) -> None:
        """A sheet for Excel, which takes no name for a formula. exact: as in `to_polars`."""
        export.writer_for(export.as_path(path), ".xlsx")(self._plain(exact=exact), export.as_path(path))

    def plot(self, path: Any = None) -> Any:
        """The chart, as a figure of matplotlib; with a path also in a file, .svg, .png or .pdf."""
        from freegap.report.pictures import require_drawable, save
        from freegap.values.chart import draw

        require_drawable(None if path is None else export.as_path(path))
        figure = draw(self)
        if path is not None:
            save(figure, export.as_path(path))
        return figure

    def _plain(self, *, exact: bool, objects: bool = False) -> list[export.Plain]:
        return [part for column in self.columns() for part in column.plain(exact=exact, objects=objects)]

    def __rich__(self) -> Any:
        """A table for the terminal."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from freegap.report.tables import TitledTable

        table = Table()
        columns = self.columns()
        for column in columns:
            wide: Any = {"justify": "right", "no_wrap": True} if column.numeric else {"overflow": "fold"}
            table.add_column(column.title, **wide)
        for row in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*(Text(printable(cell)) for cell in row))
        notes = [Text(note, style="bold red" if note == NOT_PRIVATE else "dim") for note in self.footnotes()]
        return Group(TitledTable(printable(self.title), table), *notes)

    def __str__(self) -> str:
        """The released table as plain text."""
        columns = self.columns()
        widths = [max(len(printable(c)) for c in (col.title, *col.cells)) for col in columns]
        lines = [self.title]
        for row in zip(*((col.title, *col.cells) for col in columns), strict=True):
            cells = [
                printable(cell).rjust(width) if column.numeric else printable(cell).ljust(width)
                for cell, width, column in zip(row, widths, columns, strict=True)
            ]
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, *self.footnotes()])

    def _repr_html_(self) -> str:
        """The released table for a notebook."""
        import html

        columns = self.columns()
        head = "".join(f"<th>{html.escape(column.title)}</th>" for column in columns)
        rows = "".join(
            "<tr>"
            + "".join(
                f'<td style="text-align:{"right" if column.numeric else "left"}">'
                f"{html.escape(printable(cell))}</td>"
                for cell, column in zip(row, columns, strict=True)
            )
            + "</tr>"
            for row in zip(*(column.cells for column in columns), strict=True)
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.footnotes())
        return (
            f"<div><p><strong>{html.escape(self.title)}</strong></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{notes}</div>"
        )

    def _common(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            **{name: plain(amount) for name, amount in self.asked.arguments().items()},
            "spent": plain(self.spent),
            "private": self.private,
            "parameters": {name: jsonable(value) for name, value in self.parameters.items()},
            "table": {
                "title": self.title,
                "columns": [column.to_dict() for column in self.columns()],
                "notes": self.footnotes(),
            },
        }
