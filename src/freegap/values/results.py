"""What a release returns: frozen records that a person can look at and a program can read.

Every result knows what was asked (`asked`), what was charged (`spent`, exact) and in which measure, and
whether its noise came from a private source. It renders in a terminal (`print`, rich), in a notebook (HTML)
and as JSON.
"""

from __future__ import annotations

import html
import json
import math
import numbers
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from freegap.errors import printable
from freegap.values.measures import Measure
from freegap.values.plans import ReleasePlan

__all__ = [
    "NOT_PRIVATE",
    "Column",
    "HybridTopK",
    "Release",
    "TopK",
    "aligned",
    "as_double",
    "json_text",
    "jsonable",
    "one_each",
    "text_of",
]

NOT_PRIVATE = "NOT PRIVATE: the noise came from a seeded or recorded source. For tests and replay only."

_JSON_SAFE_INTEGER = 2**53
_LARGEST_IN_FULL = 10**15


@dataclass(frozen=True)
class Column:
    """One column of a rendered table."""

    title: str
    cells: tuple[str, ...]
    numeric: bool = False


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

    plan: ReleasePlan
    spent: Fraction
    private: bool

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
        notes = [self.cost(_brief)]
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
        """The release as JSON."""
        return json_text(self.to_dict(), indent=indent)

    def __rich__(self) -> Any:
        """A table for the terminal."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(self.title), title_justify="left")
        columns = self.columns()
        for column in columns:
            table.add_column(column.title, justify="right" if column.numeric else "left")
        for row in zip(*(column.cells for column in columns), strict=True):
            table.add_row(*(Text(printable(cell)) for cell in row))
        notes = [Text(note, style="bold red" if note == NOT_PRIVATE else "dim") for note in self.footnotes()]
        return Group(table, *notes)

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
            **{name: _plain(amount) for name, amount in self.asked.arguments().items()},
            "spent": _plain(self.spent),
            "private": self.private,
            "parameters": {name: jsonable(value) for name, value in self.parameters.items()},
        }


@dataclass(frozen=True, kw_only=True)
class TopK(Release):
    """The selected items from the largest down, each with its gap to the next.

    labels: the selected items (by position, where the answers are a list or an array).
    indices: their positions in a list or an array. There are none for labelled answers and for `Counts`,
        whose order or grouping can be private.
    gap_multiples: the gaps as whole multiples of `resolution`, or None without gaps.
    gaps: the gaps as exact rationals; the last one is the gap to the first item not selected, where that was
        asked for.
    """

    indices: tuple[int, ...]
    labels: tuple[Any, ...]
    gap_multiples: tuple[int, ...] | None
    resolution: Fraction

    @cached_property
    def gaps(self) -> tuple[Fraction, ...]:
        """The gap of each selected item to the next in rank, rounded down to the resolution; or none."""
        return tuple(multiple * self.resolution for multiple in self.gap_multiples or ())

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"Private top {len(self.labels)}" + (" with gaps" if self.gap_multiples is not None else "")

    def columns(self) -> list[Column]:
        """Rank, label and gap."""
        ranks = tuple(str(rank) for rank in range(1, len(self.labels) + 1))
        columns = [
            Column("rank", ranks, numeric=True),
            Column("item", tuple(text_of(label) for label in self.labels)),
        ]
        if self.gap_multiples is not None:
            columns.append(Column("gap to next", one_each(aligned(self.gaps), len(ranks)), numeric=True))
        return columns

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        return {
            "mechanism": "noisy_top_k",
            "indices": [jsonable(index) for index in self.indices],
            "labels": [jsonable(label) for label in self.labels],
            "gaps": None if self.gap_multiples is None else [as_double(gap) for gap in self.gaps],
            "resolution": _plain(self.resolution),
            **self._common(),
        }


@dataclass(frozen=True, kw_only=True)
class HybridTopK(TopK):
    """The largest items above a threshold.

    gaps: of each item to the next; one more where the threshold was reached, its own gap to the next item.

    reached: whether the threshold was reached, so that no further items are above it.
    """

    threshold: Fraction
    reached: bool

    @cached_property
    def estimates(self) -> tuple[Fraction, ...] | None:
        """The threshold plus the gaps down to it: an estimate of each answer; None if it was not reached."""
        if not self.reached:
            return None
        estimates: list[Fraction] = []
        total = self.threshold
        for gap in reversed(self.gaps[:-1]):
            total += gap
            estimates.append(total)
        return tuple(reversed(estimates))

    @property
    def title(self) -> str:
        """One line that says what this is."""
        below = "all that are" if self.reached else "the first"
        return f"{len(self.labels)} above the threshold {self.threshold} ({below}), with gaps"

    def columns(self) -> list[Column]:
        """Rank, label and gap, and estimates where the threshold was reached."""
        own = len(self.labels)
        columns = [
            Column("rank", tuple(str(rank) for rank in range(1, own + 1)), numeric=True),
            Column("item", tuple(text_of(label) for label in self.labels)),
            Column("gap to next", aligned(self.gaps[:own]), numeric=True),
        ]
        if self.estimates is not None:
            columns.append(Column("estimate", aligned(self.estimates), numeric=True))
        return columns

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        estimates = None if self.estimates is None else [as_double(e) for e in self.estimates]
        return super().to_dict() | {
            "mechanism": "hybrid_top_k",
            "threshold": str(self.threshold),
            "reached": self.reached,
            "estimates": estimates,
        }


def aligned(numbers_: Iterable[Fraction]) -> tuple[str, ...]:
    """Numbers with three decimals, so that a column lines up; huge ones as powers of ten."""
    return tuple(
        f"{float(number):,.3f}" if abs(number) < _LARGEST_IN_FULL else f"{_decimal(number, 8):.6E}"
        for number in numbers_
    )


def one_each(cells: tuple[str, ...], rows: int) -> tuple[str, ...]:
    """A cell for each row: empty ones at the end, where there are too few."""
    return cells + ("",) * (rows - len(cells))


def as_double(number: Fraction) -> float | str:
    """A rational as the nearest double, and as its exact text where it is beyond all doubles."""
    try:
        return float(number)
    except OverflowError:
        return _plain(number)


def json_text(value: Any, *, indent: int | None = None) -> str:
    """JSON that people can read and no terminal obeys: what is not printable is escaped.

    JSON itself escapes only the characters below the blank; a terminal also obeys some above it, and a lone
    surrogate cannot even be printed.

    >>> print(json_text({"naïve": "\\x9b31m\\u202e"}))
    {"naïve": "\\u009b31m\\u202e"}
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return re.sub(r"[^\n\x20-\x7e]", lambda c: c[0] if c[0].isprintable() else json.dumps(c[0])[1:-1], text)


def jsonable(value: Any) -> Any:
    """A value that JSON can hold: rationals and integers beyond doubles as strings."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value) if abs(int(value)) <= _JSON_SAFE_INTEGER else _plain(Fraction(int(value)))
    if isinstance(value, Fraction):
        return _plain(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else str(value)
    return text_of(value)


def _brief(number: Fraction) -> str:
    """A rational as it is, or to nine decimals and upwards where that would fill the line."""
    exact = _plain(number)
    if len(exact) <= 24:
        return exact
    if number >= _LARGEST_IN_FULL:
        return f"{_decimal(number, 12):.9E}"
    return f"{math.ceil(number * 10**9) / 10**9:.9f}"


def _decimal(number: Fraction, digits: int) -> Decimal:
    """A rational to so many digits, upwards: for sizes that doubles do not have."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _plain(number: Fraction) -> str:
    """A rational as text; to 30 digits where it has more than Python would turn into text."""
    try:
        return str(number)
    except ValueError:
        return str(_decimal(number, 30))


def text_of(value: Any) -> str:
    """What a label is called; the kind of thing it is where it has no text."""
    try:
        return str(value)
    except Exception:  # a label may be any object, and a release that was paid for must be shown
        return f"<{type(value).__name__}>"
