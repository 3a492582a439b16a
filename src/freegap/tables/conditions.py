"""What `where=` may say: conditions on the values of one row, in a language in which nothing can fail.

    ward = 'B'   age >= 18   icd10 LIKE 'F%'   day BETWEEN DATE '2026-01-01' AND DATE '2026-01-31'
    ward IN ('A', 'B')   left IS NULL   left > entered   and these with AND, OR, NOT and parentheses

There are no functions, no arithmetic and no subqueries. So whether a row stays depends on that row alone:
adding a person's rows adds those of them that stay, and changes nothing about the others, whatever the engine
does. And no value can make the engine fail, as a division by zero or a text that is no number would: kinds
are compared by the schema, before a row is read.

Logic is SQL's: a comparison with a missing value is neither true nor false, and rows stay where the condition
is true. NaN is a missing value. Engines differ on all that, so it is spelt out for them: each condition
becomes two expressions, where it is true and where it is false.
"""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

Value = str | int | float | datetime.date
Verdict = tuple[nw.Expr, nw.Expr]
"""Where a condition is true, and where it is false; elsewhere it is neither."""

Looked = tuple[str, Value | None, bool]
"""A column, the value that it is compared with if there is one, and whether their order matters."""

Look = Callable[[str, Value | None], tuple[nw.Expr, Any]]
"""A column and a value that it is compared with, as the engine is asked to compare them."""

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
KEYWORDS = frozenset("AND OR NOT IN BETWEEN IS NULL LIKE TRUE FALSE DATE TIMESTAMP".split())
_PLAIN = re.compile(r"[^\W\d]\w*")


class RowCondition:
    """A condition on one row; the classes below are all that there are."""

    def looks(self) -> Iterator[Looked]:
        """The columns that it looks at, and what for."""
        raise NotImplementedError

    def verdict(self, look: Look) -> Verdict:
        """The condition in an engine."""
        raise NotImplementedError


@dataclass(frozen=True)
class Compared(RowCondition):
    """A column against a value."""

    column: str
    operator: str
    value: Value

    def __str__(self) -> str:
        return f"{written_name(self.column)} {self.operator} {written_value(self.value)}"

    def looks(self) -> Iterator[Looked]:
        """One column."""
        yield self.column, self.value, self.operator not in ("=", "<>")

    def verdict(self, look: Look) -> Verdict:
        """Neither, where the column has no value."""
        column, value = look(self.column, self.value)
        return _where_present(column, OPERATORS[self.operator](column, nw.lit(value)))


@dataclass(frozen=True)
class ComparedColumns(RowCondition):
    """A column against another one of the same row."""

    left: str
    operator: str
    right: str

    def __str__(self) -> str:
        return f"{written_name(self.left)} {self.operator} {written_name(self.right)}"

    def looks(self) -> Iterator[Looked]:
        """Two columns; `freegap.tables.filters` sees that they are of one kind."""
        for column in (self.left, self.right):
            yield column, None, self.operator not in ("=", "<>")

    def verdict(self, look: Look) -> Verdict:
        """Neither, where one of the two has no value."""
        (left, _), (right, _) = look(self.left, None), look(self.right, None)
        true, false = _where_present(left, OPERATORS[self.operator](left, right))
        present = _present(right)
        return present & true, present & false


@dataclass(frozen=True)
class Among(RowCondition):
    """A column that has one of some values, all of one kind."""

    column: str
    values: tuple[Value, ...]

    def __str__(self) -> str:
        return f"{written_name(self.column)} IN ({', '.join(map(written_value, self.values))})"

    def looks(self) -> Iterator[Looked]:
        """One column, compared with each."""
        for value in self.values:
            yield self.column, value, False

    def verdict(self, look: Look) -> Verdict:
        """As one comparison after the other, which every engine does alike."""
        return Some(tuple(Compared(self.column, "=", value) for value in self.values)).verdict(look)


@dataclass(frozen=True)
class Matching(RowCondition):
    """A column of texts that begin with, end with or contain a text."""

    column: str
    place: str
    text: str

    def __str__(self) -> str:
        before, after = self.place in ("end", "anywhere"), self.place in ("start", "anywhere")
        return f"{written_name(self.column)} LIKE {written_value('%' * before + self.text + '%' * after)}"

    def looks(self) -> Iterator[Looked]:
        """One column of texts."""
        yield self.column, self.text, True

    def verdict(self, look: Look) -> Verdict:
        """Byte by byte, as texts are compared."""
        column, _ = look(self.column, self.text)
        if self.place == "start":
            return _where_present(column, column.str.starts_with(self.text))
        if self.place == "end":
            return _where_present(column, column.str.ends_with(self.text))
        return _where_present(column, column.str.contains(self.text, literal=True))


@dataclass(frozen=True)
class Missing(RowCondition):
    """A column without a value."""

    column: str

    def __str__(self) -> str:
        return f"{written_name(self.column)} IS NULL"

    def looks(self) -> Iterator[Looked]:
        """One column, of any kind."""
        yield self.column, None, False

    def verdict(self, look: Look) -> Verdict:
        """Always true or false."""
        present = _present(look(self.column, None)[0])
        return ~present, present


@dataclass(frozen=True)
class Opposite(RowCondition):
    """NOT."""

    part: RowCondition

    def __str__(self) -> str:
        return f"NOT ({self.part})"

    def looks(self) -> Iterator[Looked]:
        """Those of the part."""
        return self.part.looks()

    def verdict(self, look: Look) -> Verdict:
        """True where the part is false."""
        true, false = self.part.verdict(look)
        return false, true


@dataclass(frozen=True)
class Every(RowCondition):
    """AND."""

    parts: tuple[RowCondition, ...]

    def __str__(self) -> str:
        return " AND ".join(f"({part})" if isinstance(part, Some) else str(part) for part in self.parts)

    def looks(self) -> Iterator[Looked]:
        """Those of all parts."""
        return (look for part in self.parts for look in part.looks())

    def verdict(self, look: Look) -> Verdict:
        """True where all are, false where one is."""
        true, false = zip(*(part.verdict(look) for part in self.parts), strict=True)
        return _joined(true, operator.and_), _joined(false, operator.or_)


@dataclass(frozen=True)
class Some(RowCondition):
    """OR."""

    parts: tuple[RowCondition, ...]

    def __str__(self) -> str:
        return " OR ".join(map(str, self.parts))

    def looks(self) -> Iterator[Looked]:
        """Those of all parts."""
        return (look for part in self.parts for look in part.looks())

    def verdict(self, look: Look) -> Verdict:
        """True where one is, false where all are."""
        true, false = zip(*(part.verdict(look) for part in self.parts), strict=True)
        return _joined(true, operator.or_), _joined(false, operator.and_)


def written_name(column: str) -> str:
    """A column as SQL writes it.

    >>> written_name("age"), written_name("date of birth"), written_name("in")
    ('age', '"date of birth"', '"in"')
    """
    if _PLAIN.fullmatch(column) and column.upper() not in KEYWORDS:
        return column
    return '"' + column.replace('"', '""') + '"'


def written_value(value: Value) -> str:
    """A value as SQL writes it.

    >>> written_value("it's"), written_value(True), written_value(datetime.date(2026, 1, 31))
    ("'it''s'", 'TRUE', "DATE '2026-01-31'")
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value}'"
    return repr(value)


def _present(column: nw.Expr) -> nw.Expr:
    return ~column.is_null()


def _where_present(column: nw.Expr, holds: nw.Expr) -> Verdict:
    present = _present(column)
    return present & holds, present & ~holds


def _joined(parts: Sequence[nw.Expr], join: Callable[[nw.Expr, nw.Expr], nw.Expr]) -> nw.Expr:
    """A balanced tree: engines recurse into what they are asked."""
    while len(parts) > 1:
        parts = [join(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]
