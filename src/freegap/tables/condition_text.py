"""Conditions and queries written as SQL: of that language, what says something about one row and cannot fail.

    condition   comparison, [NOT] IN, [NOT] BETWEEN, [NOT] LIKE with % at the ends, IS [NOT] NULL, a column of
                truth values; AND, OR, NOT, parentheses
    value       'text'  12  -0.5  TRUE  FALSE  DATE '2026-01-31'  TIMESTAMP '2026-01-31 12:00:00'
    query       SELECT columns (or *) FROM table [WHERE condition]

Anything else is refused, with the place where it begins: a function could look at other rows, or at the
clock, or fail on a value.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from freegap.errors import InvalidArgument
from freegap.tables.conditions import (
    KEYWORDS,
    MIRRORED,
    Among,
    Compared,
    ComparedColumns,
    Every,
    Matching,
    Missing,
    Opposite,
    RowCondition,
    Some,
    Value,
)

_MOST_LETTERS = 20_000
_DEEPEST = 40
_LARGEST = 2**63 - 1
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")+")
      | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?!\w))
      | (?P<word>[^\W\d]\w*)
      | (?P<sign><>|!=|<=|>=|[=<>(),+\-*.])
      | (?P<end>\Z)
    )""",
    re.VERBOSE,
)
_REMEDY = (
    "A condition compares columns with values: =, <>, <, <=, >, >=, IN, BETWEEN, LIKE with % at the ends, "
    "IS NULL, joined by AND, OR, NOT. What needs a function or another row is for the engine that holds the "
    "table: compute a column there."
)
_QUERY = "A query is SELECT columns FROM table WHERE condition."


class SqlWord(NamedTuple):
    """A word of a condition, what it is, and where it begins."""

    kind: str
    text: str
    place: int


class ColumnName(NamedTuple):
    """A column, where a value could stand as well."""

    name: str


Operand = ColumnName | Value


@dataclass(frozen=True)
class RowQuery:
    """SELECT columns FROM table WHERE condition: rows by themselves.

    columns: None for all of them.
    """

    table: str
    columns: tuple[str, ...] | None
    where: RowCondition | None


def read_condition_text(text: str, argument: str = "where") -> RowCondition:
    """The condition that a text states.

    >>> str(read_condition_text("ward in ('A','B') and not age<18"))
    "ward IN ('A', 'B') AND NOT (age < 18)"
    """
    reader = _Reader(text, argument)
    condition = reader.either(0)
    reader.expect_end()
    return condition


def read_query(text: str) -> RowQuery:
    """The query that a text states.

    >>> query = read_query("SELECT icd10, patient FROM stays WHERE age >= 18")
    >>> query.table, query.columns, str(query.where)
    ('stays', ('icd10', 'patient'), 'age >= 18')
    """
    reader = _Reader(text, "query")
    reader.need_word("SELECT")
    columns = None if reader.take("*") else reader.columns()
    reader.need_word("FROM")
    table = ".".join(reader.names("."))
    where = reader.either(0) if reader.word("WHERE") else None
    reader.expect_end()
    return RowQuery(table, columns, where)


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str, argument: str) -> None:
        self.text, self.argument = text, argument
        if len(text) > _MOST_LETTERS:
            raise InvalidArgument(
                argument,
                text,
                f"must have at most {_MOST_LETTERS:,} letters",
                "Compute a column in the engine.",
            )
        self.tokens: list[SqlWord] = []
        place = 0
        while not self.tokens or self.tokens[-1].kind != "end":
            found = _TOKEN.match(text, place)
            if found is None or found.lastgroup is None:
                raise self.refused(place)
            self.tokens.append(SqlWord(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup)))
            place = found.end()
        self.at = 0

    @property
    def next(self) -> SqlWord:
        """The token that is to be read."""
        return self.tokens[self.at]

    def refused(self, place: int, why: str = "is not understood") -> InvalidArgument:
        """What begins here cannot be used."""
        rest = self.text[place : place + 30] + ("…" if len(self.text) > place + 30 else "")
        shown = f"what begins at {rest!r}" if rest.strip() else "its end"
        remedy = _REMEDY if self.argument == "where" else " ".join((_QUERY, _REMEDY))
        return InvalidArgument(self.argument, self.text, f"{shown} {why}", remedy)

    def take(self, sign: str) -> bool:
        """Read this sign, if it is next."""
        if self.next.kind == "sign" and self.next.text == sign:
            self.at += 1
            return True
        return False

    def word(self, keyword: str) -> bool:
        """Read this keyword, if it is next."""
        if self.next.kind == "word" and self.next.text.upper() == keyword:
            self.at += 1
            return True
        return False

    def need(self, sign: str) -> None:
        """Read this sign."""
        if not self.take(sign):
            raise self.refused(self.next.place, f"should be {sign!r}")

    def need_word(self, keyword: str) -> None:
        """Read this keyword."""
        if not self.word(keyword):
            raise self.refused(self.next.place, f"should be {keyword}")

    def expect_end(self) -> None:
        """Nothing may follow."""
        if self.next.kind != "end":
            raise self.refused(self.next.place)

    def either(self, depth: int) -> RowCondition:
        """Conditions joined by OR."""
        parts = [self.both(depth)]
        while self.word("OR"):
            parts.append(self.both(depth))
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def both(self, depth: int) -> RowCondition:
        """Conditions joined by AND."""
        parts = [self.single(depth)]
        while self.word("AND"):
            parts.append(self.single(depth))
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def single(self, depth: int) -> RowCondition:
        """One condition."""
        if depth > _DEEPEST:
            raise self.refused(self.next.place, "is nested too deeply")
        if self.word("NOT"):
            return Opposite(self.single(depth + 1))
        if self.take("("):
            condition = self.either(depth + 1)
            self.need(")")
            return condition
        start = self.next.place
        left = self.operand()
        sign = {"!=": "<>"}.get(self.next.text, self.next.text)
        if self.next.kind == "sign" and sign in MIRRORED:
            self.at += 1
            return self.compared(start, left, sign, self.operand())
        if not isinstance(left, ColumnName):
            raise self.refused(start, "is a value, where a column should be")
        return self.about(left.name)

    def compared(self, start: int, left: Operand, sign: str, right: Operand) -> RowCondition:
        """A comparison, with the column on the left."""
        if isinstance(left, ColumnName):
            if isinstance(right, ColumnName):
                return ComparedColumns(left.name, sign, right.name)
            return Compared(left.name, sign, right)
        if isinstance(right, ColumnName):
            return Compared(right.name, MIRRORED[sign], left)
        raise self.refused(start, "compares two values, and no column")

    def about(self, column: str) -> RowCondition:
        """What follows a column that is not compared by a sign."""
        if self.word("IS"):
            present = self.word("NOT")
            self.need_word("NULL")
            return Opposite(Missing(column)) if present else Missing(column)
        negated = self.word("NOT")
        if self.word("IN"):
            condition: RowCondition = Among(column, self.values())
        elif self.word("BETWEEN"):
            low = self.value()
            self.need_word("AND")
            condition = Every((Compared(column, ">=", low), Compared(column, "<=", self.value())))
        elif self.word("LIKE"):
            condition = self.like(column)
        elif negated:
            raise self.refused(self.next.place)
        else:
            return Compared(column, "=", True)
        return Opposite(condition) if negated else condition

    def like(self, column: str) -> RowCondition:
        """A pattern: % at its ends, and nowhere else."""
        start = self.next.place
        pattern = self.value()
        if not isinstance(pattern, str):
            raise self.refused(start, "should be a pattern in quotation marks")
        text = pattern.removeprefix("%").removesuffix("%") if pattern != "%" else ""
        if "%" in text or "_" in text or "\\" in text:
            raise self.refused(start, "may have % at its ends, and no other %, no _ and no backslash")
        if not text and pattern:
            return Opposite(Missing(column))
        if pattern == text:
            return Compared(column, "=", text)
        place = "start" if not pattern.startswith("%") else "end" if not pattern.endswith("%") else "anywhere"
        return Matching(column, place, text)

    def values(self) -> tuple[Value, ...]:
        """A list in parentheses."""
        self.need("(")
        values = [self.value()]
        while self.take(","):
            values.append(self.value())
        self.need(")")
        return tuple(values)

    def operand(self) -> Operand:
        """A column or a value."""
        token = self.next
        if token.kind == "quoted" or (token.kind == "word" and not self.is_value()):
            return ColumnName(self.names("")[0])
        return self.value()

    def is_value(self) -> bool:
        """Whether a word begins a value: a column may be called date."""
        token, after = self.next, self.tokens[self.at + 1]
        upper = token.text.upper()
        return upper in ("TRUE", "FALSE") or (upper in ("DATE", "TIMESTAMP") and after.kind == "text")

    def names(self, separator: str) -> list[str]:
        """A name, or several with separators between them."""
        found = []
        while True:
            token = self.next
            if token.kind == "word" and token.text.upper() in KEYWORDS - {"DATE", "TIMESTAMP"}:
                raise self.refused(token.place, "should be a name; a name that is a word of SQL is quoted")
            if token.kind not in ("word", "quoted"):
                raise self.refused(token.place, "should be a name")
            self.at += 1
            if self.next.text == "(":
                raise self.refused(token.place, "is a function, and may look at other rows, or fail")
            found.append(token.text if token.kind == "word" else token.text[1:-1].replace('""', '"'))
            if not separator or not self.take(separator):
                return found

    def columns(self) -> tuple[str, ...]:
        """The columns of a query."""
        return tuple(self.names(","))

    def value(self) -> Value:
        """A value."""
        token = self.next
        self.at += 1
        if token.kind == "text":
            return token.text[1:-1].replace("''", "'")
        if token.kind == "number":
            return self.number(token, 1)
        if token.text in ("-", "+") and self.next.kind == "number":
            self.at += 1
            return self.number(self.tokens[self.at - 1], -1 if token.text == "-" else 1)
        upper = token.text.upper()
        if token.kind == "word" and upper in ("TRUE", "FALSE"):
            return upper == "TRUE"
        if token.kind == "word" and upper in ("DATE", "TIMESTAMP") and self.next.kind == "text":
            self.at += 1
            read = datetime.date if upper == "DATE" else datetime.datetime
            try:
                return read.fromisoformat(self.tokens[self.at - 1].text[1:-1])
            except ValueError:
                raise self.refused(token.place, "is no date as ISO 8601 writes it") from None
        raise self.refused(token.place, "should be a value")

    def number(self, token: SqlWord, sign: int) -> int | float:
        """A number, whole where it is written so."""
        if token.text.isdigit():
            if len(token.text) > 30 or int(token.text) > _LARGEST:
                raise self.refused(token.place, "is beyond the whole numbers of most engines")
            return sign * int(token.text)
        number = float(token.text)
        if not math.isfinite(number):
            raise self.refused(token.place, "is beyond all doubles")
        return sign * number
